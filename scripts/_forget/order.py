"""What is to be forgotten, and whether a text is about it."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from _likeness import WIDE, fingerprint
from _tombstones import folded, word_pattern, words_in

_METADATA = re.compile(r"\bdc:[a-z_]+=[^\s<>]+")
_ID = re.compile(r"\b(?:OBS|CHUNK)-\d{8}-\d{3,9}(?!\d)")
# What a fingerprint leaves out within a word.
_QUOTES = re.compile(r"[`*_~#>\[\]()\"“”‘’'«»]")
# A shorter text is only looked for as a whole line: "Yes" stands in many.
_FEW_IDS = 16  # so many are looked for one after the other
_FEWEST_WORDS, _FEWEST_CHARS = 3, 12


@dataclass(frozen=True)
class Order:
    """What is to be forgotten: observations and chunks by id, all that has the `words` (a word that ends in "*" stands
    for its beginning), and whatever says one of the `texts`. `prints` are the first parts of the SHA-256 of
    fingerprints that the ledger has of them."""

    ids: "frozenset[str]"
    words: "tuple[str, ...]" = ()
    texts: "tuple[str, ...]" = ()
    prints: "frozenset[str]" = frozenset()

    def has(self, text: str) -> bool:
        """Whether a text, without its metadata, has all the words or says one of the texts."""
        plain = _METADATA.sub(" ", text)
        return self._has_words(plain) or self._says(plain)

    def names(self, text: str) -> bool:
        """Whether a text mentions one of the ids."""
        return any(name in self.ids for name in ids_in(text))

    def is_about(self, text: str) -> bool:
        """Whether a text is about any of it."""
        return self.names(text) or self.has(text)

    def may_be_in(self, content: str) -> bool:
        """A quick look at a whole file: False when nothing in it can be about any of it."""
        if mentions(content, self.ids):
            return True
        plain = folded(content)
        if self.words and all(word.rstrip("*") in plain for word in self.words):
            return True
        bare = _QUOTES.sub("", plain) if self.texts else ""
        return any(all(word in bare for word in words) for words in _needles(self.texts))

    def _has_words(self, text: str) -> bool:
        if not self.words or not text:
            return False
        there = words_in(text)
        return all(
            any(one.startswith(word[:-1]) for one in there) if word.endswith("*") else word in there
            for word in self.words
        )

    def _says(self, text: str) -> bool:
        if not self.texts:
            return False
        said = fingerprint(folded(text))
        for wanted in _fingerprints(self.texts):
            long = len(wanted.split()) >= _FEWEST_WORDS or (
                len(wanted) >= _FEWEST_CHARS and WIDE.search(wanted)
            )
            if f" {wanted} " in f" {said} " if long else _is_line(wanted, said):
                return True
        return False

    def as_json(self) -> "dict[str, Any]":
        return {
            "ids": sorted(self.ids),
            "words": list(self.words),
            "texts": list(self.texts),
            "prints": sorted(self.prints),
        }

    @classmethod
    def from_json(cls, found: "Mapping[str, Any]") -> "Order":
        """The inverse of `as_json`."""
        return cls(
            frozenset(map(str, found["ids"])),
            tuple(map(str, found["words"])),
            tuple(map(str, found["texts"])),
            frozenset(map(str, found["prints"])),
        )


def mentions(content: str, ids: "frozenset[str]") -> bool:
    """A quick look for ids in a whole file; True also for longer ids that begin like one of them."""
    return bool(ids_present(content, ids))


def ids_present(content: str, ids: "frozenset[str]") -> "frozenset[str]":
    """Which of the ids a text has, or longer ones that begin so."""
    if len(ids) <= _FEW_IDS:
        return frozenset(name for name in ids if name in content)
    return ids.intersection(ids_in(content))


def ids_in(text: str) -> "list[str]":
    """The ids of observations and chunks that a text mentions."""
    return _ID.findall(text) if "-" in text else []


def is_id(text: str) -> bool:
    """Whether a text is the id of an observation or chunk, and nothing else."""
    return ids_in(text) == [text]


def query_of(text: str) -> "tuple[str, ...]":
    """The words that somebody wants forgotten, each once."""
    plain = folded(text)
    found = word_pattern(r"\*?").findall(WIDE.sub(" ", plain))
    for run in WIDE.findall(plain):
        found += [run] if len(run) == 1 else [run[start : start + 2] for start in range(len(run) - 1)]
    return tuple(dict.fromkeys(found))


@functools.lru_cache(maxsize=8)
def _fingerprints(texts: "tuple[str, ...]") -> "tuple[str, ...]":
    return tuple(filter(None, (fingerprint(folded(text)) for text in texts)))


@functools.lru_cache(maxsize=8)
def _needles(texts: "tuple[str, ...]") -> "tuple[tuple[str, ...], ...]":
    """Of each text its words, the longest first: they stand in every text that says the same."""
    found = (set(re.findall(r"[^\W_]+", one)) or {one} for one in _fingerprints(texts))
    return tuple(tuple(sorted(words, key=len, reverse=True)) for words in found)


def _is_line(wanted: str, said: str) -> bool:
    """Whether a line says just that, behind a bullet, mark and time."""
    return said == wanted or bool(re.fullmatch(rf"(?:[^\w\s]+ )*(?:\d\d:\d\d )?{re.escape(wanted)}", said))
