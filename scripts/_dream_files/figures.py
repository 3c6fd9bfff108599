"""A note that stands for several which differ in their numbers: none of these is said as if it were always so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from _numbers import ascii_digits, mentions, spelled

_PART = re.compile(r"(?<![^\W_])(?:\d+(?:[.,:]\d+)*|[^\W\d_]+)")
_DIGITS = re.compile(r"\d+")
_DECIMAL, _CLOCK = re.compile(r"\d+(?:[.,]\d+)?"), re.compile(r"(\d\d?):(\d\d)")
_LEFT_OUT = "…"


@dataclass(frozen=True)
class _Figure:
    """A number in a text: its place, how it is shown, what it counts (the word behind it, or the one before it), and
    its value: None for what has no place in a row, such as a date."""

    start: int
    end: int
    shown: str
    counts: str
    value: "float | None"


def settled(texts: "Sequence[str]") -> "list[int]":
    """The places of the texts that have no numbers but those which all have that have any, if that is half of them."""
    numbers = [frozenset(one.shown for one in _figures(text)) | set(_DIGITS.findall(text)) for text in texts]
    told = [found for found in numbers if found]
    shared = frozenset.intersection(*told) if told and 2 * len(told) >= len(texts) else frozenset()
    return [place for place, found in enumerate(numbers) if found <= shared]


def in_general(text: str, others: "Sequence[str]") -> str:
    """The text with a range in the place of each number that is another in the others, or with the number left out
    where they give no range."""
    every = [list(_figures(other)) for other in others]
    for figure in sorted(_figures(text), key=lambda one: one.start, reverse=True):
        if all(figure.shown in {one.shown for one in found} for found in every if found):
            continue
        row = {one.value: one.shown for found in every for one in found if one.counts == figure.counts}
        known = sorted(value for value in row if value is not None)
        is_range = len(known) == len(row) > 1
        general = f"{row[known[0]]}–{row[known[-1]]}" if is_range else _LEFT_OUT
        text = text[: figure.start] + general + text[figure.end :]
    return text


def _figures(text: str) -> "Iterator[_Figure]":
    text = ascii_digits(text)  # sign for sign
    days = {(one.start, one.end) for one in mentions(text) if one.sure and one.month}
    for start, end in days:
        yield _Figure(start, end, text[start:end], "a day", None)
    parts = list(_PART.finditer(text))
    words = [part.group().lower() for part in parts]
    for place, part in enumerate(parts):
        is_day = any(start <= part.start() < end for start, end in days)
        if is_day or not (words[place][0].isdecimal() or _in_words(words[place])):
            continue
        beside = (*words[place + 1 : place + 2], *words[max(0, place - 1) : place], "")
        counts = "an hour" if _CLOCK.fullmatch(words[place]) else beside[0]
        yield _Figure(part.start(), part.end(), part.group(), counts, _value(words[place]))


def _in_words(word: str) -> "list[str]":
    """What a word such as "four" counts; the words for one are articles, too."""
    return [value for value in spelled(word) if int(value) > 1]


def _value(word: str) -> "float | None":
    clock = _CLOCK.fullmatch(word)
    if clock:
        return 60.0 * int(clock.group(1)) + int(clock.group(2))
    if _DECIMAL.fullmatch(word):
        return float(word.replace(",", "."))
    return float(_in_words(word)[-1]) if _in_words(word) else None
