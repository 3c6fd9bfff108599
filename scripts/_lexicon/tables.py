"""The word tables, ready for use: which language a text is in, how common a word is, which signs a clause
shows."""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

TABLES = "words.ini"
UNSPACED = ("zh", "ja")
OPENING = "opens_rule"  # the kind whose signs count at the beginning of a clause only
_ENDINGS = ("'s", "s", "es", "ed", "d", "ing", "ly", "er")
_WORD_LISTS = ("grammar", "chat")


class Lexicon(NamedTuple):
    """One language. `common` has the weight of its common words: 1.0 for those that say nothing by themselves,
    0.5 for small talk. Signs are found by their first word, or by `affixes` and `unspaced` patterns, one for
    each kind."""

    code: str
    common: "dict[str, float]"
    phrases: "dict[str, list[tuple[str, str]]]"
    affixes: "dict[str, re.Pattern[str]]"
    unspaced: "dict[str, re.Pattern[str]]"
    wide_common: "re.Pattern[str]"

    def signs_in(self, text: str, words: Sequence[str]) -> "frozenset[str]":
        """The kinds of sign that a clause shows. `words` are its words, case folded."""
        if self.code in UNSPACED:
            text = text.casefold()
            return frozenset(
                kind
                for kind, pattern in self.unspaced.items()
                if (pattern.match(text) if kind == OPENING else pattern.search(text))
            )
        return frozenset(self._spaced_signs(words))

    def _spaced_signs(self, words: Sequence[str]) -> Iterator[str]:
        padded = f"{' '.join(words)} "
        for word in set(words):
            for kind, phrase in self.phrases.get(word, ()):
                if padded.startswith(phrase) or (kind != OPENING and f" {phrase}" in padded):
                    yield kind
        for kind, pattern in self.affixes.items():
            if pattern.search(padded):
                yield kind


@lru_cache(maxsize=50_000)
def commonness(code: str, word: str) -> float:
    """1.0 for a word (case folded) that says nothing by itself, 0.5 for small talk, 0.0 for any other."""
    lexicon = lexicons().get(code)
    if lexicon is None:
        return 0.0
    return max(lexicon.common.get(form, 0.0) for form in (_forms(word) if code == "en" else (word,)))


def _forms(word: str) -> "list[str]":
    """An English word and what may be left of it without its ending."""
    forms = [word]
    for ending in _ENDINGS:
        stem = word[: -len(ending)]
        if word.endswith(ending) and len(stem) >= 3:
            forms += [stem, stem + "e"]
            if len(stem) > 3 and stem[-1] == stem[-2]:
                forms.append(stem[:-1])
    return forms


@lru_cache(maxsize=1)
def _tables() -> configparser.ConfigParser:
    tables = configparser.ConfigParser(interpolation=None, delimiters=("=",), comment_prefixes=("#",))
    tables.read_string(Path(__file__).with_name(TABLES).read_text(encoding="utf-8"))
    return tables


@lru_cache(maxsize=1)
def grammar_words() -> "dict[str, frozenset[str]]":
    """By language, the words that say nothing by themselves."""
    tables = _tables()
    return {code: frozenset(tables[code]["grammar"].split()) for code in tables.sections() if code != "notes"}


@lru_cache(maxsize=1)
def lexicons() -> "dict[str, Lexicon]":
    """Every language that has a table, by its code."""
    tables = _tables()
    return {code: _build(code, tables[code]) for code in tables.sections() if code != "notes"}


def _build(code: str, table: "Mapping[str, str]") -> Lexicon:
    common = dict.fromkeys(table["chat"].split(), 0.5)
    common.update(dict.fromkeys(table["grammar"].split(), 1.0))
    phrases: "dict[str, list[tuple[str, str]]]" = {}
    affixes, unspaced = {}, {}
    for kind in sorted(set(table) - set(_WORD_LISTS)):
        signs = [" ".join(sign.replace(",", " ").split()) for sign in table[kind].split("|") if sign.strip()]
        if code in UNSPACED:
            unspaced[kind] = _any_of(signs)
            continue
        for sign in signs:
            if "*" not in sign:
                phrases.setdefault(sign.split()[0], []).append((kind, sign + " "))
        cut = [sign for sign in signs if "*" in sign]
        if cut:
            affixes[kind] = _affix_pattern(cut)
    wide = sorted(common, key=lambda word: (-len(word), word)) if code in UNSPACED else []
    return Lexicon(code, common, phrases, affixes, unspaced, _any_of(wide))


def _any_of(words: Sequence[str]) -> "re.Pattern[str]":
    return re.compile("|".join(map(re.escape, words)) or r"(?!)")


def _affix_pattern(signs: Sequence[str]) -> "re.Pattern[str]":
    """ "heirat*" is any word that begins so, "*acağım" any that ends so."""
    begins = [re.escape(sign[:-1]) for sign in signs if sign.endswith("*")]
    ends = [re.escape(sign[1:]) for sign in signs if sign.startswith("*")]
    forms = [rf"(?<!\S)(?:{'|'.join(begins)})"] if begins else []
    if ends:
        forms.append(rf"(?:{'|'.join(ends)})(?!\S)")
    return re.compile("|".join(forms))


@lru_cache(maxsize=1)
def _languages_of_words() -> "dict[str, tuple[str, ...]]":
    found: "dict[str, list[str]]" = {}
    for code, lexicon in lexicons().items():
        if code not in UNSPACED:
            for word in lexicon.common:
                found.setdefault(word, []).append(code)
    return {word: tuple(codes) for word, codes in found.items()}


def is_common_anywhere(word: str) -> bool:
    """True for a common word of any language that has a table."""
    word = word.casefold().replace("’", "'")
    return any(form in _languages_of_words() for form in (word, word.rstrip("s")))


@lru_cache(maxsize=1)
def note_heads() -> "frozenset[str]":
    """Words that head a note and name no person ("Update: ...")."""
    return frozenset(_tables()["notes"]["heads"].split())


_KANA = re.compile(r"[\u3040-\u30ff]")
_HAN = r"[\u3400-\u9fff]"  # two milliseconds to compile
_WORDS = re.compile(r"\w+(?:['’-]\w+)*")
_LETTERS = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")


@lru_cache(maxsize=256)
def language_of(text: str) -> str:
    """The code of the language with the most common words in `text`; "" when none is recognised."""
    if _KANA.search(text):
        return "ja"
    votes: "dict[str, int]" = {}
    languages = _languages_of_words()
    for word in _LETTERS.findall(text.casefold().replace("’", "'")):
        for code in languages.get(word, ()):
            votes[code] = votes.get(code, 0) + 1
    han = len(re.findall(_HAN, text))
    if han and han >= sum(votes.values()):
        return "zh"
    return max(votes, key=lambda code: votes[code]) if votes else _language_by_signs(text)


def _language_by_signs(text: str) -> str:
    """For a text without common words: the language of which it shows the most kinds of sign."""
    words = [word.casefold().replace("’", "'") for word in _WORDS.findall(text)]
    shown = {
        code: len(lexicon.signs_in(text, words))
        for code, lexicon in lexicons().items()
        if code not in UNSPACED
    }
    best = max(shown, key=lambda code: shown[code])
    return best if shown[best] else ""
