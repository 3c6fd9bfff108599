"""The archives of an older edition: lists of lines, most of them without an id. Nothing of ours is written there.

A line is known by its words: its name is made from them, so that it stays the same when lines above it go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from _compat import sha256_hex
from _files import decode, read_bytes
from _likeness import fingerprint
from _observations import Entry, parse_line, parse_log, tidy

OLD_ARCHIVES = ("archived-observations.md", "archive/archived-observations.md")
LINE = "line-"
_NAME_DIGITS = 12


class OldLine(NamedTuple):
    """A line of such an archive: its id or else its name, the start of the SHA-256 of its words, the file below
    memory/."""

    name: str
    fp: str
    where: str
    entry: Entry

    @property
    def is_note(self) -> bool:
        """False for what is no item of a list, such as a remark: nobody counts on it."""
        return bool(self.entry.observation or parse_line(self.entry.raw.split("\n")[0].rstrip("\r")))


def name_of_print(fp: str) -> str:
    """The name of a line of which only that is known."""
    return LINE + fp[:_NAME_DIGITS]


def names_of(entries: "Iterable[Entry]") -> "list[str]":
    """What each entry goes by: its id, or else a name. One in the same words as another above it has a number behind
    that."""
    times: "dict[str, int]" = {}
    found = []
    for entry in entries:
        name = entry.observation.id if entry.observation else ""
        if not name:
            name = name_of_print(print_of(entry))
            times[name] = times.get(name, 0) + 1
            name = name if times[name] == 1 else f"{name}-{times[name]}"
        found.append(name)
    return found


def print_of(entry: Entry) -> str:
    """The start of the SHA-256 of what an entry says."""
    said = entry.observation.text if entry.observation else tidy(entry.raw)
    return sha256_hex((fingerprint(said) or entry.raw.strip()).encode("utf-8", "replace"))[:16]


def read_old_lines(memory: Path) -> "list[OldLine]":
    """All that such archives below the memory folder hold, but blank lines, headings and hooks."""
    found: "list[OldLine]" = []
    for where in OLD_ARCHIVES:
        told = [entry for entry in parse_log(decode(read_bytes(memory / where) or b"")) if says_more(entry)]
        found += [OldLine(name, print_of(entry), where, entry) for name, entry in zip(names_of(told), told)]
    return found


def says_more(entry: Entry) -> bool:
    """Whether an entry is an observation, or other text that can be looked for."""
    return bool(entry.observation) or (entry.kind == "other" and len(entry.raw.strip()) > 3)


def by_name(lines: "Sequence[OldLine]") -> "dict[str, OldLine]":
    """The lines by their names; of two in the same words in two files the first."""
    return {line.name: line for line in reversed(lines)}
