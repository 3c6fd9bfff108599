"""Observations that belong together: at least three within a few days that share a word which is rare there, and more
words besides, and do not contradict each other.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from _dream.notes import Note
from _gate.wording import stems
from _likeness import features, words_of

SMALLEST, LARGEST = 3, 8
WITHIN_DAYS = 14
SHARED_WORDS = 3
# Two that share this much of their words are about the same thing.
_SAME_SHARE = 0.5


@dataclass(frozen=True)
class _Said:
    """What a note is compared by: its day, stems without numbers, numbers, names, and whether it denies something."""

    note: Note
    day: int
    words: "frozenset[str]"
    numbers: "frozenset[str]"
    names: "frozenset[str]"
    negated: bool


def clusters_of(notes: "Sequence[Note]", most: int) -> "list[tuple[Note, ...]]":
    """Up to `most` groups of notes, no note in two, the largest first and then the newest. Pure and deterministic."""
    dated = [note for note in notes if note.item.observation.date and not note.protected]
    said = sorted(_read(dated), key=lambda one: (one.day, one.note.item.position))
    by_word: "dict[str, list[int]]" = {}
    for place, one in enumerate(said):
        for word in one.words:
            by_word.setdefault(word, []).append(place)
    days = [one.day for one in said]
    groups = [_around(place, said, days, by_word) for place in range(len(said))]
    chosen: "list[tuple[int, ...]]" = []
    taken: "set[int]" = set()
    for group in sorted(filter(None, groups), key=lambda group: (-len(group), -group[-1], group)):
        if taken.isdisjoint(group) and len(chosen) < most:
            chosen.append(group)
            taken.update(group)
    return [
        tuple(sorted((said[place].note for place in group), key=lambda note: note.item.position))
        for group in chosen
    ]


def _read(notes: "Sequence[Note]") -> "list[_Said]":
    found = [features(note.text) for note in notes]
    # A word that opens a sentence is a name when it is one elsewhere.
    names = frozenset().union(*(one.names for one in found))
    return [
        _Said(
            note,
            date.fromisoformat(note.item.observation.date).toordinal(),
            frozenset(word for word in stems(note.text) if not any(map(str.isdecimal, word))),
            one.numbers,
            frozenset(words_of(note.text)) & names,
            one.negated,
        )
        for note, one in zip(notes, found)
    ]


def _around(
    place: int, said: "Sequence[_Said]", days: "Sequence[int]", by_word: "Mapping[str, list[int]]"
) -> "tuple[int, ...]":
    """The notes that belong to one of them; none when they are too few."""
    own = said[place]
    first = bisect_left(days, own.day - WITHIN_DAYS)
    behind = bisect_right(days, own.day + WITHIN_DAYS)
    near: "set[int]" = set()
    for word in own.words:
        found = by_word[word]
        begin, end = bisect_left(found, first), bisect_left(found, behind)
        if end - begin <= LARGEST:  # rare in these days
            near.update(found[begin:end])
    group = [place]
    for other in sorted(near - {place}, key=lambda other: (-len(own.words & said[other].words), other)):
        if (
            len(group) < LARGEST
            and _is_close(own, said[other])
            and not any(_in_conflict(said[other], said[one]) for one in group)
        ):
            group.append(other)
    return tuple(sorted(group)) if len(group) >= SMALLEST else ()


def _is_close(one: _Said, other: _Said) -> bool:
    """Whether two share enough words: three, or of a short one two that are half of it."""
    shared, smaller = len(one.words & other.words), min(len(one.words), len(other.words))
    return shared >= SHARED_WORDS or (shared == SHARED_WORDS - 1 and 2 * shared >= smaller)


def in_conflict(one: Note, other: Note) -> bool:
    """Whether two are not to be made one: they say different things about the same (other numbers, or one of them a
    "not"), or the same about different people and places."""
    return _in_conflict(*_read([one, other]))


def _in_conflict(one: _Said, other: _Said) -> bool:
    if one.names - other.names and other.names - one.names:
        return True
    if one.negated == other.negated and one.numbers == other.numbers:
        return False
    smaller = min(len(one.words), len(other.words))
    return bool(smaller) and len(one.words & other.words) >= _SAME_SHARE * smaller
