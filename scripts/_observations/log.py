"""The log, observations.md: read into entries whose bytes are kept, added to, measured."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, Optional

from _likeness import WIDE
from _observations.line import (
    BOM,
    MARKS,
    READ_MAX_CHARS,
    Observation,
    full_text,
    is_date,
    is_hook,
    parse_line,
    render_line,
    split_comment,
    with_comment,
)

_ABOUT = "Written by Total Recall. Edit freely: lines of any other shape are kept as they are."
HEAD = f"# Observations Log\n\n{_ABOUT}\n\n---\n"

# Nothing but metadata: a comment that says anything else is a person's.
_METADATA_LINE = re.compile(r"^\s*<!--\s*dc:\w+=[^\s<>]+(?:\s+dc:\w+=[^\s<>]+)*\s*-->\s*$")
_DATE_LINE = re.compile(
    r"^(?:#{1,6}\s*)?\**Date:?\**:?\s*([0-9]{4}-[0-9]{2}-[0-9]{2})\b.*$|^#{1,6}\s*([0-9]{4}-[0-9]{2}-[0-9]{2})\s*$"
)
_DAY = re.compile(rf"{BOM}?[#*\s]*(?:Date:?)?[*:\s]*[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}")
_ENDING = re.compile(r"[*\s]*")
_HEADING = re.compile(r"^(#{1,6})(?:\s|$)")
_INDENTED = re.compile(r"^(?:\s{2,}|\t)\S")
_FENCE = re.compile(r"^(`{3,}|~{3,})(?!.*`)")
_ID = re.compile(r"OBS-([0-9]{8})-([0-9]{3,9})")


class Entry(NamedTuple):
    """A stretch of the log: one observation with its children and metadata line, one heading, or other text.

    `raw` is its exact text without the last newline; bytes that are not UTF-8 are kept as surrogates. `kind` is one of
    "observation", "hook", "date", "heading", "other".
    """

    raw: str
    kind: str
    observation: Optional[Observation] = None


@functools.lru_cache(maxsize=2)
def parse_log(text: str) -> "tuple[Entry, ...]":
    """Read a whole observations.md. Joining the entries' `raw` with newlines gives the text back, to the byte. How the
    others are read does not change when an observation is taken out.

    The last two texts are remembered: one commit looks at the same log several times.
    """
    entries: "list[Entry]" = []
    days, days_inside = _Days(), _Days()
    lines = text.split("\n")
    never_closed: "set[str]" = set()
    number, closing = 0, -1
    while number < len(lines):
        line = lines[number]
        clean = _clean(line)
        if number < closing:
            days_inside.sees(clean)
            entry = _read_quoted(line, clean, days_inside.day)
        elif number == closing:
            entry = Entry(line, "other")
        else:
            entry = Entry(line, "date") if days.sees(clean) else _read(line, clean, days)
            if entry.kind == "other" and _opened_by(line):
                closing, days_inside = _closing_of(lines, number, never_closed), _Days(days.day)
        end = _end_of(lines, number) if entry.observation else number + 1
        entries.append(_extended(entry, lines[number + 1 : end]) if end > number + 1 else entry)
        number = end
    return tuple(entries)


def _clean(line: str) -> str:
    """A line without what editors put around it."""
    return line.rstrip("\r").lstrip(BOM)


class _Days:
    """The day that the date lines above a line tell, and whether an unmarked bullet is a note of that day."""

    def __init__(self, day: str = "") -> None:
        self.day = day
        self._level = 0  # of the heading that the date line is; 0 when it is none
        self._is_ended = False

    @property
    def takes_bullets(self) -> bool:
        """False below a heading without a date, unless the date line is a heading above it."""
        return bool(self.day) and not self._is_ended

    def sees(self, line: str) -> bool:
        """Go on to a line; whether it is a date line."""
        heading, day = _HEADING.match(line), _day_of(line)
        level = len(heading.group(1)) if heading else 0
        if day:
            self.day, self._level, self._is_ended = day, level, False
        elif level:
            self._is_ended = self._is_ended or not 0 < self._level < level
        return bool(day)


def _read(line: str, clean: str, days: _Days) -> Entry:
    if clean.startswith("#"):
        return Entry(line, "heading")
    return Entry(line, "hook") if is_hook(clean) else _read_entry(line, clean, days.day, days.takes_bullets)


def _read_quoted(line: str, clean: str, day: str) -> Entry:
    """A line that is quoted counts as an observation only when it has our metadata or one of our marks: models of the
    shell edition put whole lists into fences."""
    if any(mark in clean for mark in MARKS) or "<!-- dc:" in clean:
        return _read_entry(line, clean, day, takes_bullets=False)
    return Entry(line, "other")


def _opened_by(line: str) -> str:
    """What closes the quotation that a line opens, a code fence or a comment of several lines; "" when it opens none.
    An indented line opens none: it may be a child of an observation, which takes it along when it leaves."""
    if _INDENTED.match(line):
        return ""
    line = line.strip()
    fence = _FENCE.match(line)
    if fence:
        return fence.group(1)
    return "-->" if line.startswith("<!--") and "-->" not in line else ""


def _closes(line: str, closing: str) -> bool:
    """Whether a line ends what `closing` ends: a comment, or a fence of at least as many signs."""
    line = line.strip()
    if closing == "-->":
        return closing in line
    return line.startswith(closing) and not line.strip(closing[0])


def _closing_of(lines: Sequence[str], start: int, never_closed: "set[str]") -> int:
    """The number of the line that closes what line `start` opens; -1 when nothing does: then it hides nothing. An
    observation closes nothing, for it may leave. `never_closed` holds what was looked for in vain."""
    closing = _opened_by(lines[start])
    if any(closing.startswith(known) for known in never_closed):
        return -1
    number = start + 1
    while number < len(lines):
        if _read_quoted(lines[number], _clean(lines[number]), "").observation:
            number = _end_of(lines, number)
        elif _closes(lines[number], closing):
            return number
        else:
            number += 1
    never_closed.add(closing)
    return -1


def _end_of(lines: Sequence[str], start: int) -> int:
    """The number of the line behind the observation that begins on line `start` and all that belongs to it."""
    end = start + 1
    while end < len(lines) and _belongs_to_entry_above(_clean(lines[end])):
        end += 1
    return end


def _day_of(line: str) -> str:
    """The date that a date line opens; "" for any other line, and for a day that no calendar has."""
    found = _DATE_LINE.match(line)
    day = (found.group(1) or found.group(2)) if found else ""
    return day if is_date(day) else ""


def _belongs_to_entry_above(line: str) -> bool:
    return bool(_INDENTED.match(line)) or bool(re.match(r"^\s*<!--.*\bdc:\w+=.*-->\s*$", line))


def _extended(entry: Entry, children: Sequence[str]) -> Entry:
    """The observation with its child lines, and the metadata of comments that stand on a line of their own."""
    observation = entry.observation
    for line in children:
        before, comment = split_comment(line)
        if observation and comment and not before.strip() and not observation.id:
            observation = with_comment(observation, comment)
    return Entry("\n".join([entry.raw, *children]), entry.kind, observation)


def _read_entry(line: str, clean: str, day: str, takes_bullets: bool) -> Entry:
    observation = parse_line(clean)
    if observation is None or not (
        takes_bullets or observation.id or "dc:" in clean or any(mark in clean for mark in MARKS)
    ):
        return Entry(line, "other")
    if not observation.date and day:
        observation = replace(observation, date=day)
    return Entry(line, "observation", observation)


def observations_in(entries: Iterable[Entry]) -> "list[Observation]":
    """The observations of a parsed log, in the order of the file."""
    return [entry.observation for entry in entries if entry.observation]


def text_of(entry: Entry) -> str:
    """All that the line of an observation says, however long it is; "" for any other entry."""
    if entry.observation is None:
        return ""
    line = entry.raw.partition("\n")[0]
    return full_text(line) if len(line) > READ_MAX_CHARS else entry.observation.text


def children_of(entry: Entry) -> "list[str]":
    """The lines below an observation that say more about it, as they stand: not those of its metadata."""
    return [line for line in entry.raw.split("\n")[1:] if not _METADATA_LINE.match(line)]


def bare_day(raw: str) -> str:
    """A date line without what somebody wrote behind its day."""
    day, end = _DAY.match(raw), _ENDING.match(raw[::-1])  # from the end: a search would try every place
    return day.group() + end.group()[::-1] if day and end and day.end() <= len(raw) - end.end() else raw


def is_bare_day(raw: str) -> bool:
    """False for a date line that says more than its day, such as "Date: 2026-03-02 (first day at work)"."""
    return bare_day(raw) == raw


def last_heading(entries: Iterable[Entry]) -> str:
    """The date of the last date line ("YYYY-MM-DD"); "" when another heading comes after it, or there is none."""
    found = ""
    for entry in entries:
        if entry.kind == "date":
            found = _day_of(_clean(entry.raw))
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
        found = _ID.fullmatch(known)
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
