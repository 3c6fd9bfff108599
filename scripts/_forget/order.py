"""What is to be forgotten, and whether a text is about it."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from _gate.wording import ORDINARY
from _likeness import WIDE, fingerprint
from _tombstones import folded, word_pattern, words_in

_METADATA = re.compile(r"\bdc:[a-z_]+=[^\s<>]+")
# What we write into it is nothing that anybody said.
_OUR_METADATA = re.compile(
    r"\bdc:(?:(?:type|importance|date|id|ttl|confidence|decayed|from)=[^\s<>]+|source=provisional(?![^\s<>]))"
)
_FIELD_NAME = re.compile(r"\bdc:[a-z_]+=")
_MARKS = "*_~`"  # of emphasis
_ID = re.compile(r"\b(?:OBS|CHUNK)-[0-9]{8}-[0-9]{3,9}(?![0-9])")
_LINE_NAME = re.compile(r"line-[0-9a-f]{12}(?:-[0-9]+)?")
# What a fingerprint leaves out within a word.
_QUOTES = re.compile(r"[`*_~#>\[\]()\"“”‘’'«»]")
# A shorter text is only looked for as a whole line: "Yes" stands in many.
_FEW_IDS = 16  # so many are looked for one after the other
_FEWEST_WORDS, _FEWEST_LOOSE, _FEWEST_CHARS = 3, 5, 12
_RUN = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Order:
    """What is to be forgotten: observations and chunks by id, all that has the `words` (a word that ends in "*" stands
    for its beginning), and whatever says one of the `texts`. `prints` are the first parts of the SHA-256 of
    fingerprints that the ledger has of them. `loose` are texts that stood with them: lines below an observation, hooks,
    topics, what was made of it and others, and what was proposed because of it. They are looked for only where no
    observation stands, such as in the log of a night: no other observation goes because it says one of them. `lines`
    are names of lines without an id."""

    ids: "frozenset[str]"
    words: "tuple[str, ...]" = ()
    texts: "tuple[str, ...]" = ()
    prints: "frozenset[str]" = frozenset()
    loose: "tuple[str, ...]" = ()
    lines: "tuple[str, ...]" = ()

    def has(self, text: str) -> bool:
        """Whether a text has all the words or says one of the texts. Of its metadata only values that are not ours
        count, and they only for the words."""
        return self._has_words(_FIELD_NAME.sub(" ", _OUR_METADATA.sub(" ", text))) or self._says(
            _METADATA.sub(" ", text)
        )

    def names(self, text: str) -> bool:
        """Whether a text mentions one of the ids, or one of the lines by its name."""
        return any(name in self.ids for name in ids_in(text)) or any(name in text for name in self.lines)

    def tells(self, text: str) -> bool:
        """Whether a note that stands by itself has all the words, or says one of the texts: word for word, or with all
        of its telling words in whatever order. One that names an id is about that, and has to say it word for word."""
        return self.has(text) or (not ids_in(text) and self._tells_loosely(_METADATA.sub(" ", text)))

    def is_about(self, text: str) -> bool:
        """Whether a note is about any of it. One that puts it in other words and names no id cannot be told."""
        return self.names(text) or self.tells(text)

    def may_be_in(self, content: str) -> bool:
        """A quick look at a whole file: False when nothing in it can be about any of it."""
        if mentions(content, self.ids) or any(name in content for name in self.lines):
            return True
        plain = folded(content)
        if self.words:
            joined = _without_marks(plain)
            if all(word.rstrip("*") in joined for word in self.words):
                return True
        bare = _QUOTES.sub("", plain) if self.texts or self.loose else ""
        needles = (*_needles(self.texts), *_needles(self.loose))
        return any(all(word in bare for word in words) for words in needles)

    def _has_words(self, text: str) -> bool:
        if not self.words or not text:
            return False
        there = _words_in(text)
        return all(
            any(one.startswith(word[:-1]) for one in there) if word.endswith("*") else word in there
            for word in self.words
        )

    def _says(self, text: str) -> bool:
        return bool(self.texts) and _stands_in(self.texts, fingerprint(folded(text)), _FEWEST_WORDS)

    def _tells_loosely(self, text: str) -> bool:
        if self.loose and _stands_in(self.loose, fingerprint(folded(text)), _FEWEST_LOOSE):
            return True
        telling = _telling(self.texts)
        there = _words_in(text) if telling else set()
        return any(words <= there for words in telling)

    def as_json(self) -> "dict[str, Any]":
        return {
            "ids": sorted(self.ids),
            "words": list(self.words),
            "texts": list(self.texts),
            "prints": sorted(self.prints),
            "loose": list(self.loose),
            "lines": list(self.lines),
        }

    @classmethod
    def from_json(cls, found: "Mapping[str, Any]") -> "Order":
        """The inverse of `as_json`."""
        return cls(
            frozenset(map(str, found["ids"])),
            tuple(map(str, found["words"])),
            tuple(map(str, found["texts"])),
            frozenset(map(str, found["prints"])),
            tuple(map(str, found.get("loose", ()))),
            tuple(map(str, found.get("lines", ()))),
        )


def _words_in(text: str) -> "set[str]":
    """The words of a text, also those that emphasis cuts in two: "Zo**ë**"."""
    found, joined = words_in(text), _without_marks(text)
    return found if joined == text else found | words_in(joined)


def _without_marks(text: str) -> str:
    for mark in _MARKS:
        text = text.replace(mark, "")
    return text


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


def is_line_name(text: str) -> bool:
    """Whether a text is the name of a line that has no id, as `recall.py search` tells it."""
    return bool(_LINE_NAME.fullmatch(text))


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
    """Of each text its telling words, or all where these are few, the longest first: they stand in every text that
    says the same."""
    found: "list[frozenset[str]]" = list(_telling(texts))
    found += [frozenset(_RUN.findall(one)) or frozenset([one]) for one in _fingerprints(texts)]
    return tuple(tuple(sorted(words, key=len, reverse=True)) for words in dict.fromkeys(found))


@functools.lru_cache(maxsize=8)
def _telling(texts: "tuple[str, ...]") -> "tuple[frozenset[str], ...]":
    """Of each text the words that tell something, where there are enough of them to know it by."""
    found = ((one, frozenset(words_in(one) - ORDINARY)) for one in texts)
    return tuple(
        words for one, words in found if len(words) >= (_FEWEST_CHARS if WIDE.search(one) else _FEWEST_WORDS)
    )


@functools.lru_cache(maxsize=8)
def _by_word(texts: "tuple[str, ...]") -> "dict[str, list[str]]":
    """The fingerprints of texts by the longest word of each, which stands in all that says it."""
    found: "dict[str, list[str]]" = {}
    for one in _fingerprints(texts):
        found.setdefault(max(_RUN.findall(one), key=len, default=""), []).append(one)
    return found


def _stands_in(texts: "tuple[str, ...]", said: str, fewest: int) -> bool:
    """Whether a line, by its fingerprint, says one of the texts; of fewer than so many words it has to be one."""
    known = _by_word(texts)
    for wanted in (one for word in {"", *_RUN.findall(said)} for one in known.get(word, ())):
        long = len(wanted.split()) >= fewest or (len(wanted) >= _FEWEST_CHARS and WIDE.search(wanted))
        if f" {wanted} " in f" {said} " if long else _is_line(wanted, said):
            return True
    return False


def _is_line(wanted: str, said: str) -> bool:
    """Whether a line says just that, behind a bullet, mark and time."""
    return said == wanted or bool(re.fullmatch(rf"(?:[^\w\s]+ )*(?:\d\d:\d\d )?{re.escape(wanted)}", said))
