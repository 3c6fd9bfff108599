"""The log, observations.md: read into entries whose bytes are kept, added to, measured."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Optional

from _likeness import WIDE
from _observations.line import (
    MARKS,
    Observation,
    is_date,
    is_hook,
    parse_line,
    render_line,
    split_comment,
    with_comment,
)

_ABOUT = "Written by Total Recall. Edit freely: lines of any other shape are kept as they are."
HEAD = f"# Observations Log\n\n{_ABOUT}\n\n---\n"

_METADATA_LINE = re.compile(r"^\s*<!--.*-->\s*$")
_DATE_LINE = re.compile(
    r"^(?:#{1,6}\s*)?\**Date:?\**:?\s*(\d{4}-\d{2}-\d{2})\b.*$|^#{1,6}\s*(\d{4}-\d{2}-\d{2})\s*$"
)
_FENCE = re.compile(r"^(`{3,}|~{3,})(?!.*`)")
_ID = re.compile(r"^OBS-(\d{8})-(\d{3,9})$")


@dataclass(frozen=True)
class Entry:
    """A stretch of the log: one observation with its children and metadata line, one heading, or other text.

    `raw` is its exact text without the last newline; bytes that are not UTF-8 are kept as surrogates. `kind` is one of
    "observation", "hook", "date", "heading", "other".
    """

    raw: str
    kind: str
    observation: Optional[Observation] = None


@functools.lru_cache(maxsize=2)
def parse_log(text: str) -> "tuple[Entry, ...]":
    """Read a whole observations.md. Joining the entries' `raw` with newlines gives the text back, to the byte.

    The last two texts are remembered: one commit looks at the same log several times.
    """
    entries: "list[Entry]" = []
    day = day_inside = ""
    lines = text.split("\n")
    quoted = _quoted(lines)
    for number, line in enumerate(lines):
        clean = line.rstrip("\r")
        heading = _day_of(clean)
        if number in quoted and not (entries[-1].observation and _belongs_to_entry_above(clean)):
            day_inside = heading or day_inside if number - 1 in quoted else heading or day
            entries.append(_read_quoted(line, clean, day_inside))
        elif heading:
            day = heading
            entries.append(Entry(line, "date"))
        elif entries and entries[-1].observation and _belongs_to_entry_above(clean):
            entries[-1] = _extend(entries[-1], line)
        elif clean.startswith("#"):
            entries.append(Entry(line, "heading"))
        elif is_hook(clean):
            entries.append(Entry(line, "hook"))
        else:
            entries.append(_read_entry(line, clean, day))
    return tuple(entries)


def _quoted(lines: Sequence[str]) -> "set[int]":
    """The numbers of lines that stand between a person's code fences, or in a comment of several lines. What is never
    closed hides nothing."""
    found: "set[int]" = set()
    opened, closing = -1, ""
    for number, line in enumerate(lines):
        clean = line.strip()
        if opened < 0:
            fence = _FENCE.match(clean)
            if fence or clean.startswith("<!--") and "-->" not in clean:
                opened, closing = number, fence.group(1) if fence else "-->"
        elif _closes(clean, closing):
            found.update(range(opened + 1, number))
            opened = -1
    return found


def _closes(line: str, closing: str) -> bool:
    """Whether a stripped line ends what `closing` ends: a comment, or a fence of at least as many signs."""
    if closing == "-->":
        return closing in line
    return line.startswith(closing) and not line.strip(closing[0])


def _read_quoted(line: str, clean: str, day: str) -> Entry:
    """A line that is quoted counts as an observation only when it has our metadata or one of our marks: models of the
    shell edition put whole lists into fences."""
    if any(mark in clean for mark in MARKS) or "<!-- dc:" in clean:
        return _read_entry(line, clean, day)
    return Entry(line, "other")


def _day_of(line: str) -> str:
    """The date that a date line opens; "" for any other line, and for a day that no calendar has."""
    found = _DATE_LINE.match(line)
    day = (found.group(1) or found.group(2)) if found else ""
    return day if is_date(day) else ""


def _belongs_to_entry_above(line: str) -> bool:
    return bool(re.match(r"^(?:\s{2,}|\t)\S", line)) or bool(re.match(r"^\s*<!--.*\bdc:\w+=.*-->\s*$", line))


def _extend(entry: Entry, line: str) -> Entry:
    """Add a child line, or a metadata comment that stands on a line of its own, to the observation above it."""
    observation = entry.observation
    before, comment = split_comment(line)
    if observation and comment and not before.strip() and not observation.id:
        observation = with_comment(observation, comment)
    return Entry(entry.raw + "\n" + line, entry.kind, observation)


def _read_entry(line: str, clean: str, day: str) -> Entry:
    observation = parse_line(clean)
    if observation is None or not (
        day or observation.id or "dc:" in clean or any(mark in clean for mark in MARKS)
    ):
        return Entry(line, "other")
    if not observation.date and day:
        observation = replace(observation, date=day)
    return Entry(line, "observation", observation)


def observations_in(entries: Iterable[Entry]) -> "list[Observation]":
    """The observations of a parsed log, in the order of the file."""
    return [entry.observation for entry in entries if entry.observation]


def children_of(entry: Entry) -> "list[str]":
    """The lines below an observation that say more about it, as they stand: not those of its metadata."""
    return [line for line in entry.raw.split("\n")[1:] if not _METADATA_LINE.match(line)]


def last_heading(entries: Iterable[Entry]) -> str:
    """The date of the last date line ("YYYY-MM-DD"); "" when another heading comes after it, or there is none."""
    found = ""
    for entry in entries:
        if entry.kind == "date":
            found = _day_of(entry.raw.rstrip("\r"))
        elif entry.kind == "heading":
            found = ""
    return found


def render_addition(text: str, observations: "Iterable[Observation]") -> str:
    """What to append to the log `text` so that it also holds `observations`, under their dates; "" for none of them.

    The head of a new file is part of it. Nothing that is there is moved: an observation of an earlier day comes
    under a second heading of that day.
    """
    day = last_heading(parse_log(text))
    parts = [] if text.strip() else [HEAD]
    if text and not text.endswith("\n"):
        parts.append("\n")
    for observation in observations:
        if observation.date != day:
            day = observation.date
            parts.append(f"\nDate: {day}\n\n")
        parts.append(render_line(observation) + "\n")
    return "".join(parts) if any(part.startswith("- ") for part in parts) else ""


def next_ids(day: str, count: int, used: Iterable[str], highest: int = 0) -> "list[str]":
    """`count` new ids of a day ("YYYY-MM-DD"), above `highest` and above every id of that day in `used`."""
    compact = day.replace("-", "")
    for known in used:
        found = _ID.match(known)
        if found and found.group(1) == compact:
            highest = max(highest, int(found.group(2)))
    return [f"OBS-{compact}-{highest + step:03d}" for step in range(1, count + 1)]


def estimate_tokens(text: str) -> int:
    """Characters / 4 for scripts with spaces; one token a character for those without (SPEC of the shell edition)."""
    wide = sum(len(run) for run in WIDE.findall(text))
    return wide + (len(text) - wide + 3) // 4


def count_words(text: str) -> int:
    """Words separated by white space, as `wc -w` counts; a run without spaces counts a word per two characters."""
    wide = sum(len(run) for run in WIDE.findall(text))
    return len(WIDE.sub(" ", text).split()) + wide // 2
