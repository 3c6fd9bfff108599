"""The words of an item by what they are good for: names, numbers, terms, and all else that tells nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from _lexicon import commonness, grammar_words, languages_of, stem_of
from _likeness import WIDE

_TOKEN = re.compile(r"[^\W_]+(?:[.,:/'’@_-][^\W_]+)*")
_WORD = re.compile(r"[^\W_]+")
_PATH = re.compile(r"(?:https?://|[~.]?/)\S+|\S+@\S+\.\S+")
_POSSESSIVE = re.compile(r"['’]s$")
_KANJI_OR_KATAKANA = re.compile(r"[\u30a0-\u30ff]{2,}|[\u3400-\u9fff]{2,}")
_KANA = re.compile(r"[\u3040-\u309f]")


@dataclass(frozen=True)
class Words:
    """What a text says, each in the order of the text and once. `terms` are its words that tell something, lower case;
    `names` keep their capitals; `pieces` are stretches of scripts without spaces."""

    languages: "tuple[str, ...]"
    names: "tuple[str, ...]"
    numbers: "tuple[str, ...]"
    terms: "tuple[str, ...]"
    pieces: "tuple[str, ...]"

    @property
    def own(self) -> "tuple[str, ...]":
        """All of them."""
        return (*self.names, *self.terms, *self.pieces, *self.numbers)


def words_in(text: str) -> Words:
    """The Words of a text."""
    languages = languages_of(text)
    stop = frozenset().union(*(grammar_words().get(code, frozenset()) for code in languages))
    names: "dict[str, None]" = {}
    numbers: "dict[str, None]" = {}
    terms: "dict[str, None]" = {}
    begins = True
    for found in _TOKEN.finditer(WIDE.sub(" ", text)):
        word = _POSSESSIVE.sub("", found.group())
        low = word.lower()
        after = text[found.end() : found.end() + 1]
        if any(character.isdigit() for character in word):
            numbers[word] = None
        elif low in stop or len(word) < 2:
            pass
        elif _is_name(word, begins and after != ":", languages):
            names[word] = None
        else:
            terms[low] = None
        begins = text[found.end() : found.end() + 2].rstrip() in (".", "!", "?", ":", ";")
    return Words(languages, tuple(names), tuple(numbers), tuple(terms), tuple(_pieces(text)))


def _is_name(word: str, begins: bool, languages: "Sequence[str]") -> bool:
    if any(character.isupper() for character in word[1:]):
        return True
    # In German every noun has a capital.
    return word[0].isupper() and not begins and languages[0] != "de"


def _pieces(text: str) -> "list[str]":
    """Chinese, Japanese, Korean and Thai: the stretches between words of grammar and between kinds of writing."""
    found: "dict[str, None]" = {}
    code = "ja" if _KANA.search(text) else "zh"
    grammar = sorted(grammar_words()[code], key=len, reverse=True)
    apart = re.compile("|".join(map(re.escape, grammar)))
    for run in WIDE.findall(text):
        if code == "ja":
            found.update(dict.fromkeys(_KANJI_OR_KATAKANA.findall(run)))
        elif "\u4e00" <= run[0] <= "\u9fff":
            found.update((piece, None) for piece in apart.split(run) if len(piece) > 1)
        else:
            found[run] = None
    return list(found)


def content_stems(text: str, languages: "Sequence[str]") -> "set[str]":
    """What the words of a phrase that tell something have in common with their other forms; pairs of characters of
    scripts without spaces."""
    stop = frozenset().union(*(grammar_words().get(code, frozenset()) for code in languages))
    found = {
        stem_of(word, languages[0])
        for word in _WORD.findall(WIDE.sub(" ", text).lower())
        if word not in stop and len(word) > 1
    }
    for run in WIDE.findall(text):
        found.update(run[start : start + 2] for start in range(max(1, len(run) - 1)))
    return found


def is_telling(word: str, languages: "Sequence[str]") -> bool:
    """False for small talk, which nobody would search for."""
    return all(commonness(code, word) < 0.5 for code in languages[:1])


def paths_in(text: str) -> "set[str]":
    """Paths, links and mail addresses."""
    return set(_PATH.findall(text))
