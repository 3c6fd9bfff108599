"""Clauses and what they weigh: how much a person would want to find them again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

from _extract.shorten import NEGATION, TRAILING_GUARD, is_speaker, shorten, without_subject
from _extract.text import TOKEN, WIDE, Utterance, telling_sentences
from _lexicon import Lexicon, commonness, language_of, lexicons
from _observations import count_words

# What a word is worth, in rare words.
NUMBER, NAME, RARE, SHORT, CHAT = 2.1, 2.0, 1.0, 0.3, 0.2
WIDE_PAIR = 0.7  # two characters of a script without spaces are about one word
# What a clause's worth is multiplied by.
SECOND_PERSON, QUESTION, ANSWER, ASSISTANT = 0.4, 0.2, 1.3, 0.6
# What a sign adds, in rare words. Fitted by least squares to which turns of LoCoMo's first two conversations are asked
# about, and rounded.
SIGN_WORTH: "Mapping[str, float]" = {
    "when": 2.0, "now": 1.5, "habit": 1.5, "rule": 1.5, "past": 1.0, "preference": 0.6, "goal": 0.6,
    "matters": 0.6, "first": 0.7,
}  # fmt: skip
SHORT_ANSWER, LONGEST_QUESTION = 4, 9  # words
MAX_SENTENCES = 300  # of one message that are weighed
LANGUAGE_CHARS = 300  # enough to tell a language by
MAX_SEGMENTS = 8

_BEGINS = (
    r"(?:i|we|it|they|he|she|you|that|this|there|my|our|which|who|because|cause|cuz|since|but|so|and|then|"
    r"hope|can't)"
)
_SEGMENT = re.compile(
    rf"(?:,\s+(?=['’]?{_BEGINS}\b)|;\s+|\s*[-–—]+\s+|[–—]|，|、|؛\s*|،\s*|"
    r"\s+(?=(?:(?:and|but|so)\s+(?:i|we|it|they|he|she|you|that|there|my|our)|which|because|['’]?cause|"
    r"cuz|since)\b))",
    re.IGNORECASE,
)
_STRONG = re.compile(r"^(?:;|\s*[-–—])")
_NEW_SUBJECT = re.compile(
    r"^(?:and|but|so)\s+(?:i|we|my|our|he|she|they|it|there)\b|^(?:i|we|my|our)(?:'\w+)?\s", re.IGNORECASE
)
_QUOTED = re.compile(r"\"[^\"]{1,400}\"|“[^”]{1,400}”|«[^»]{1,400}»|「[^」]{1,400}」|„[^“”]{1,400}[“”]")
_ADDRESS = re.compile(r"[@_]|\w\.\w")  # of a person, a place on the web, a file
_WRITTEN_DATE = re.compile(
    r"\b\d{4}-\d\d-\d\d\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b\d{1,2}:\d{2}\b|\b\d{1,2}(?:st|nd|rd|th)\b|"
    r"\b\d{1,2} May\b|\bMay \d|\d月\d{1,2}日"
)
_ASKS = re.compile(r"[?？؟]")


@dataclass(frozen=True)
class Clause:
    """A clause somebody said. `text` is ready to be stored, apart from dates. `worth` sums what its words are
    worth; `words` holds that worth by word; `signs` names the kinds of sign that it shows."""

    order: "tuple[int, int, int, int]"  # utterance, sentence, first and last segment
    utterance: Utterance
    text: str
    language: str
    words: "Mapping[str, float]"
    factor: float
    size: int
    signs: "frozenset[str]"
    asks: bool
    question: str = ""  # what a short answer answers

    @property
    def bare_size(self) -> int:
        """Its words without the speaker's name."""
        return self.size - len(self.utterance.label.split())

    @property
    def said(self) -> float:
        """What its words are worth, small talk apart."""
        return sum(worth for worth in self.words.values() if worth > CHAT)

    @property
    def numbered(self) -> bool:
        return NUMBER in self.words.values()

    @property
    def named(self) -> bool:
        return NAME in self.words.values()

    @property
    def shown(self) -> float:
        """What its signs are worth."""
        return sum(SIGN_WORTH.get(sign, 0.0) for sign in self.signs)

    def density(self, covered: "Mapping[str, float]") -> float:
        """Worth per word, where a word that is covered already counts for the share in `covered`."""
        new = sum(worth * covered.get(word, 1.0) for word, worth in self.words.items())
        return self.factor * (new + self.shown) / (self.size + 2)


def clauses_of(said: Sequence[Utterance]) -> Iterator[Clause]:
    """Every clause of a window that may be kept, with its weight."""
    names = frozenset(part.casefold() for one in said for part in one.label.split())
    question, language = "", ""
    for position, utterance in enumerate(said):
        last = ""
        for number, (sentence, line) in enumerate(telling_sentences(utterance.text, MAX_SENTENCES)):
            language = language_of(line[:LANGUAGE_CHARS]) or language
            answers = question if number < 2 else ""
            yield from _spans(sentence, _Context((position, number), utterance, language, answers, names))
            last = sentence
        question = last if _ASKS.search(last[-3:]) else ""


@dataclass(frozen=True)
class _Context:
    """Where a sentence stands. `question` is what was asked just before it."""

    order: "tuple[int, int]"
    utterance: Utterance
    language: str
    question: str
    names: "frozenset[str]"


def _spans(sentence: str, context: _Context) -> Iterator[Clause]:
    """The sentence and the parts of it that can stand alone."""
    segments = _segments(sentence)
    asks = bool(_ASKS.search(sentence[-3:]))
    for first, (start, _end, strong) in enumerate(segments):
        if first and not _may_begin_at(sentence, start, strong, context.language):
            continue
        for last in range(first, len(segments)):
            if last + 1 < len(segments) and not _may_end_before(
                sentence[segments[last + 1][0] :], context.language
            ):
                continue
            text = shorten(sentence[start : segments[last][1]], context.language, context.names)
            clause = _weigh(text, (*context.order, first, last), context, asks)
            if clause is not None:
                yield clause


def _segments(sentence: str) -> "list[tuple[int, int, bool]]":
    """Start and end of each part of a sentence, and whether a strong separator stands before it."""
    found, start, strong = [], 0, True
    for gap in _SEGMENT.finditer(sentence):
        if gap.start() > start:
            found.append((start, gap.start(), strong))
        start, strong = gap.end(), bool(_STRONG.match(gap.group()))
    if start < len(sentence):
        found.append((start, len(sentence), strong))
    return found if len(found) <= MAX_SEGMENTS else [(found[0][0], len(sentence), True)]


# Only English is known well enough to cut a sentence. A negation is never cut off, nor what limits the rest.
def _may_begin_at(sentence: str, start: int, strong: bool, language: str) -> bool:
    opens = strong or _NEW_SUBJECT.match(sentence[start:])
    return language == "en" and bool(opens) and not NEGATION.search(sentence[:start])


def _may_end_before(rest: str, language: str) -> bool:
    return language == "en" and not TRAILING_GUARD.match(rest) and not NEGATION.search(rest)


def _weigh(
    text: str, order: "tuple[int, int, int, int]", context: _Context, asks: bool
) -> "Optional[Clause]":
    words = TOKEN.findall(text)
    if not words:
        return None
    lexicon = lexicons().get(context.language)
    folded = [word.casefold().replace("’", "'") for word in words]
    worth = _worth_of(words, folded, context.language, context.names)
    signs = _signs_of(text, lexicon) if lexicon else frozenset()
    factor = QUESTION if asks else ANSWER if context.question else 1.0
    if "second" in signs and "first" not in signs:
        factor *= SECOND_PERSON
    if context.utterance.from_assistant:
        factor *= ASSISTANT
    if context.utterance.label and context.language == "en":
        text = without_subject(text)
    size = count_words(text)
    question = "" if asks or order[1:3] != (0, 0) or size > SHORT_ANSWER else context.question
    if question:
        question = _short_question(question, context)
        size += count_words(question)
    size += len(context.utterance.label.split())
    return Clause(
        order, context.utterance, text, context.language, worth, factor, size, signs, asks, question
    )


def _signs_of(text: str, lexicon: Lexicon) -> "frozenset[str]":
    """The signs of a clause outside of what it quotes: "he said 'never again'" is nobody's rule."""
    text = _QUOTED.sub(" ", text)
    signs = lexicon.signs_in(text, [word.casefold().replace("’", "'") for word in TOKEN.findall(text)])
    return signs | {"when"} if _WRITTEN_DATE.search(text) else signs


def _short_question(question: str, context: _Context) -> str:
    """The question that a short answer needs beside it; "" when it is too long to be of use."""
    text = shorten(question, context.language, context.names).rstrip("?？؟ ")
    return text + "?" if 0 < count_words(text) <= LONGEST_QUESTION else ""


def _worth_of(
    words: Sequence[str], folded: Sequence[str], language: str, names: "frozenset[str]"
) -> "dict[str, float]":
    """What each word of a clause is worth, by its case-folded form."""
    found: "dict[str, float]" = {}
    for place, (word, form) in enumerate(zip(words, folded)):
        if WIDE.search(word):
            found.update(_wide_worth(word, language))
        elif not is_speaker(form, names):
            found[form] = max(found.get(form, 0.0), _word_worth(word, form, language, place == 0))
    return found


def _word_worth(word: str, form: str, language: str, opens: bool) -> float:
    if not form.isalpha() and any(character.isdigit() for character in form):
        return NUMBER
    common = commonness(language, form)
    if common:
        return CHAT if common < 1.0 else 0.0
    if len(form) < 3:
        return SHORT
    if len(form) > 5 and _ADDRESS.search(form):
        return NAME
    # German writes every noun with a capital.
    return NAME if word[0].isupper() and not opens and language != "de" else RARE


def _wide_worth(word: str, language: str) -> "dict[str, float]":
    """Pairs of characters, once the common words between them are out."""
    found = {}
    lexicon = lexicons().get(language)
    for run in (lexicon.wide_common.sub(" ", word) if lexicon else word).split():
        for place in range(0, len(run), 2):
            pair = run[place : place + 2]
            found[pair] = NUMBER if any(c.isdigit() for c in pair) else WIDE_PAIR * len(pair) / 2
    return found
