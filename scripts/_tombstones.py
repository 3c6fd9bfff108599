"""What was forgotten stays forgotten: tombstones keep it out when old transcripts are read again.

A tombstone says nothing that could be read: it has the uids of messages, and of words only what a hash with a secret
key leaves of them: one byte of each word of a line, which every 256th word of a language shares, two of a word that was
asked for. It is about what was said before the person asked: who says a thing again afterwards wants it remembered.
"""

from __future__ import annotations

import functools
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Optional

from _compat import keyed_hash, parse_instant
from _errors import DAMAGED, StorageError
from _files import read_bytes, replace_file
from _gate.wording import sentences
from _likeness import WIDE, features
from _observations import Candidate
from _state import Places
from _transcripts import Message

SCHEMA = 1
KEY_BYTES = 32
# The assistant says "I have forgotten all about Anna": that is not the person saying it again.
ECHO = timedelta(days=1)
# Of the words of the shorter one of two texts, so many have to be in the other; fewer where both came of one message.
_ALIKE, _ALIKE_NEAR, _LEAST = 0.75, 0.5, 3
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_ESCAPE = re.compile(r"(?:\\u[0-9a-fA-F]{4})+")
# What is never drawn, and could stand within a name: soft hyphens, zero-width signs, marks of direction, variation
# selectors, tags.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# What a link makes of letters beyond ASCII.
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2})+")
# Signs that are written or left out: strokes through letters, points of Hebrew and Arabic, the Arabic stretch.
_OPTIONAL = re.compile(
    "[\u0334-\u0338\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u20d0-\u20f0]"
)
_GREEK, _ACCENT = re.compile("[\u0370-\u03ff\u1f00-\u1fff]+"), re.compile("[\u0300-\u036f]")
# Where letters have signs of their own, such as the vowels of India: parts of a word that Python takes for none.
_SIGNED = (range(0x300, 0x370), range(0x900, 0xE00), range(0xE80, 0x1D00), range(0xA800, 0xAC00))


@dataclass(frozen=True)
class Tombstone:
    """One thing that was forgotten. `at` is when (UTC). Of the messages `uids` nothing else was ever remembered, of
    those in `near` something was. `marks` are bytes of hashes of the words of a line (hexadecimal). `asked` are words
    that the person named, each as (length of a beginning, 0 for the whole word; hash): what has all of them is meant.
    """

    at: str
    uids: "tuple[str, ...]" = ()
    near: "tuple[str, ...]" = ()
    marks: str = ""
    asked: "tuple[tuple[int, str], ...]" = ()


def folded(text: str) -> str:
    r"""The text without differences of case, width and spelling of the same letters, without signs that nobody sees or
    that may be left out, and with what JSON wrote as \u escapes and links as percent signs."""
    if "\\u" in text:
        text = _ESCAPE.sub(_unescaped, text)
    if "%" in text:
        text = _PERCENT.sub(_unquoted, text)
    if text.isascii():
        return text.casefold()
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()
    # Turkish has an i with a dot and one without, each with its capital; Greek capitals have no accents.
    text = text.replace("i\u0307", "i").replace("\u0131", "i")
    return unicodedata.normalize("NFKC", _GREEK.sub(_without_accents, _OPTIONAL.sub("", text)))


def _unescaped(found: "re.Match[str]") -> str:
    units = bytes.fromhex("".join(found.group().split("\\u")))
    return units.decode("utf-16-be", "replace")


def _unquoted(found: "re.Match[str]") -> str:
    data = bytes.fromhex(found.group().replace("%", ""))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return found.group()


def _without_accents(found: "re.Match[str]") -> str:
    return _ACCENT.sub("", unicodedata.normalize("NFD", found.group()))


@functools.lru_cache(maxsize=2)
def word_pattern(end: str = "") -> "re.Pattern[str]":
    """A word of a folded text, whatever its script, with `end`, a pattern, behind it."""
    signs = "".join(
        chr(code) for block in _SIGNED for code in block if unicodedata.category(chr(code)) in ("Mn", "Mc")
    )
    return re.compile(rf"(?:[^\W_]|[{signs}])+{end}")


def words_in(text: str) -> "set[str]":
    """The words of a text, parts of compounds by themselves ("Anna's" has "anna"); scripts without spaces as single
    characters and pairs of them."""
    plain = folded(text)
    if plain.isascii():
        return set(_ASCII_WORD.findall(plain))
    found = set(word_pattern().findall(WIDE.sub(" ", plain)))
    for run in WIDE.findall(plain):
        found.update(run)
        found.update(run[start : start + 2] for start in range(len(run) - 1))
    return found


@dataclass
class Tombstones:
    """All of them, with the key that their hashes were made with."""

    stones: "tuple[Tombstone, ...]" = ()
    key: bytes = b""
    _known: "dict[tuple[str, int], str]" = field(default_factory=dict, compare=False)
    _stone_marks: "dict[str, frozenset[str]]" = field(default_factory=dict, compare=False)

    def for_line(self, at: str, text: str, uids: "Iterable[str]", near: "Iterable[str]") -> Tombstone:
        """The tombstone of one observation."""
        return Tombstone(at, tuple(sorted(uids)), tuple(sorted(near)), "".join(sorted(self._marks(text))))

    def for_words(self, at: str, words: "Iterable[str]") -> Tombstone:
        """The tombstone of all that has these words; one that ends in "*" stands for its beginning."""
        asked = {(len(word) - 1 if word.endswith("*") else 0, word.rstrip("*")) for word in words}
        return Tombstone(at, asked=tuple(sorted((length, self._hash(word, 2)) for length, word in asked)))

    def shown(self, messages: "Sequence[Message]") -> "tuple[Message, ...]":
        """The messages as a model or the extractor may see them: forgotten ones and forgotten sentences left out."""
        buried = {uid for stone in self.stones for uid in stone.uids}
        asked = [stone for stone in self.stones if stone.asked]
        kept = []
        for message in messages:
            stones = [stone for stone in asked if _is_before(message, stone)]
            if message.uid in buried or any(self._has(stone, message.sender) for stone in stones):
                continue
            text = self._without(message.text, stones) if stones else message.text
            if text.strip():
                kept.append(message if text == message.text else replace(message, text=text))
        return tuple(kept)

    def allows(self, candidate: Candidate, messages: "Sequence[Message]") -> bool:
        """Whether a line may enter memory that was found in these messages."""
        sources = [message for message in messages if message.uid in candidate.uids] or list(messages)
        text = candidate.observation.text
        for stone in self.stones:
            if all(message.uid in stone.uids for message in sources):
                return False
            if not all(_is_before(message, stone) for message in sources):
                continue
            if self._has(stone, text) or self._resembles(
                stone, text, any(m.uid in stone.near for m in sources)
            ):
                return False
        return True

    def _without(self, text: str, stones: "Sequence[Tombstone]") -> str:
        """The text without the sentences that have the words of a tombstone."""
        if not any(self._has(stone, text) for stone in stones):
            return text
        lines = []
        for line in text.split("\n"):
            parts = [part for part in sentences(line) if not any(self._has(stone, part) for stone in stones)]
            lines.append(" ".join(parts))
        kept = "\n".join(lines)
        # Words that only together are meant may stand in several sentences.
        return "" if any(self._has(stone, kept) for stone in stones) else kept

    def _has(self, stone: Tombstone, text: str) -> bool:
        """Whether a text has all the words that were asked for."""
        if not stone.asked or not text:
            return False
        words = words_in(text)
        hashes: "dict[int, set[str]]" = {}
        for length, wanted in stone.asked:
            if length not in hashes:
                pieces = {word[:length] for word in words if len(word) >= length} if length else words
                hashes[length] = {self._hash(piece, 2) for piece in pieces}
            if wanted not in hashes[length]:
                return False
        return True

    def _resembles(self, stone: Tombstone, text: str, near: bool) -> bool:
        there = self._marks_of(stone)
        marks = self._marks(text)
        if not there or not marks:
            return False
        fewest = min(len(there), len(marks))
        if fewest < _LEAST:
            return there == marks
        return len(there & marks) >= (_ALIKE_NEAR if near else _ALIKE) * fewest

    def _marks_of(self, stone: Tombstone) -> "frozenset[str]":
        found = self._stone_marks.get(stone.marks)
        if found is None:
            found = frozenset(stone.marks[place : place + 2] for place in range(0, len(stone.marks), 2))
            self._stone_marks[stone.marks] = found
        return found

    def _marks(self, text: str) -> "set[str]":
        return {self._hash(word, 1) for word in features(text).words}

    def _hash(self, word: str, size: int) -> str:
        found = self._known.get((word, size))
        if found is None:
            found = keyed_hash(self.key, word.encode("utf-8", "replace"), size).hex()
            self._known[word, size] = found
        return found


@functools.lru_cache(maxsize=4096)
def _moment(at: str) -> Optional[datetime]:
    return parse_instant(at)


def _is_before(message: Message, stone: Tombstone) -> bool:
    """Whether a message was said before its content was forgotten; the assistant's words of the day after count as
    well."""
    moment = _moment(stone.at)
    later = ECHO if message.role == "assistant" else timedelta(0)
    return moment is not None and message.at <= moment + later


def load_tombstones(places: Places) -> Tombstones:
    """All tombstones. Raises StorageError when they are damaged: nothing may be read without them."""
    data = read_bytes(places.tombstones)
    if data is None:
        return Tombstones()
    try:
        found = json.loads(data)
        stones = tuple(
            Tombstone(
                str(one["at"]),
                tuple(map(str, one.get("uids", ()))),
                tuple(map(str, one.get("near", ()))),
                str(one.get("marks", "")),
                tuple((int(length), str(hashed)) for length, hashed in one.get("asked", ())),
            )
            for one in found["stones"]
        )
        return Tombstones(stones, bytes.fromhex(found["key"]))
    except DAMAGED as problem:
        raise StorageError(
            f"{places.tombstones} is damaged ({type(problem).__name__})",
            "restore it from a backup; without it what was forgotten may come back when old transcripts are read",
        ) from problem


def with_key(found: Tombstones) -> Tombstones:
    """The tombstones with a key, a new one when there is none yet."""
    return found if found.key else Tombstones(found.stones, os.urandom(KEY_BYTES))


def save_tombstones(places: Places, found: Tombstones) -> None:
    """Replace the file; the caller holds the memory lock."""
    stones = [{name: value for name, value in asdict(stone).items() if value} for stone in found.stones]
    told = {"schema": SCHEMA, "key": found.key.hex(), "stones": stones}
    replace_file(places.tombstones, json.dumps(told, separators=(",", ":")).encode())
