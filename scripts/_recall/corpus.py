"""All files of memory in one piece of bytes, lower case, the newest file first."""

from __future__ import annotations

import bisect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from _archive import OLD_ARCHIVES, ArchivedObservation, names_of, render_observations, says_more
from _errors import StorageError
from _files import decode, encode, read_bytes
from _observations import parse_log
from _recall.hit import ARCHIVED, CHUNKED, LIVE, MERGED

HEADING = b"\n## "
# Where the items lie, below the memory folder. Files of the shell edition are lists of lines, as the log is.
FOLDERS = (
    ("archive/observations", ARCHIVED),
    ("archive/chunks", CHUNKED),
    ("archive/reflections", MERGED),
)
LISTS = (("observations.md", LIVE), *((name, ARCHIVED) for name in OLD_ARCHIVES))
# One of these stands in every file of items; what has none of them is read as a list of lines.
_OF_ITEMS = (b"\n**Original date**:", b"\n**Impact**:", b"\n**Archived", b"\n**Date range**:", b"\n**Source")

_PIECE = 65_536
_SAMPLE = 20_000


class Source(NamedTuple):
    """One file: where its bytes begin in the corpus. `content` is kept only where it is not that of the file."""

    name: str
    kind: str
    start: int
    content: bytes = b""


class Corpus(NamedTuple):
    """Everything to search in. `low` holds the sources one behind the other, each after a newline; `problems` say what
    could not be read."""

    folder: Path
    low: bytearray
    sources: "tuple[Source, ...]"
    problems: "tuple[str, ...]"
    starts: "list[int]"

    @property
    def sample(self) -> str:
        """Some of the newest text: enough to tell its language."""
        return self.low[:_SAMPLE].decode("utf-8", "ignore")

    def source_at(self, place: int) -> int:
        """The number of the source that holds a byte."""
        return bisect.bisect_right(self.starts, place) - 1

    def end_of(self, number: int) -> int:
        """Where a source ends."""
        return self.starts[number + 1] - 1 if number + 1 < len(self.starts) else len(self.low)

    def text_of(self, number: int, start: int, end: int) -> str:
        """The original text of a stretch of a source; "" when the file has gone since."""
        source = self.sources[number]
        content = source.content or read_bytes(self.folder / source.name) or b""
        return decode(content[max(0, start - source.start) : end - source.start])


def read_corpus(folder: Path) -> Corpus:
    """Read all that memory holds below `folder`, the memory folder. Missing folders are no problem, unreadable files
    are told."""
    low = bytearray()
    sources: "list[Source]" = []
    problems: "list[str]" = []
    for name, kind, content, own in _contents(folder, problems):
        low += b"\n"
        sources.append(Source(name, kind, len(low), content if own else b""))
        low += content.lower()
    return Corpus(folder, low, tuple(sources), tuple(problems), [source.start for source in sources])


def _contents(folder: Path, problems: "list[str]") -> "Iterator[tuple[str, str, bytes, bool]]":
    """Name, kind and content of each file, and whether the content was made from what is there."""
    for name, kind in LISTS:
        try:
            content = read_bytes(folder / name)
        except StorageError as problem:
            problems.append(str(problem))
            continue
        if content:
            yield name, kind, _as_items(content), True
    for name, kind in FOLDERS:
        for file, content in _files_in(folder / name, problems):
            if any(mark in content for mark in _OF_ITEMS):
                yield f"{name}/{file}", kind, content, False
            elif content.strip():
                yield f"{name}/{file}", ARCHIVED, _as_items(content), True


def _files_in(folder: Path, problems: "list[str]") -> "Iterator[tuple[str, bytes]]":
    """Name and content of each file, the newest first. Names are looked up from the folder, not along the path each
    time: there is a file for each day of years."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return
    except OSError as problem:
        problems.append(f"{folder} cannot be read: {problem.strerror}")
        return
    try:
        for name in sorted((name for name in os.listdir(descriptor) if name.endswith(".md")), reverse=True):
            try:
                yield name, _read(descriptor, name)
            except OSError as problem:
                problems.append(f"{folder / name} cannot be read: {problem.strerror}")
    except OSError as problem:
        problems.append(f"{folder} cannot be read: {problem.strerror}")
    finally:
        os.close(descriptor)


def _read(folder: int, name: str) -> bytes:
    """As `read_bytes`, by fewer calls. Raises OSError."""
    descriptor = os.open(name, os.O_RDONLY, dir_fd=folder)
    try:
        parts = [os.read(descriptor, _PIECE)]
        while len(parts[-1]) == _PIECE:
            parts.append(os.read(descriptor, _PIECE))
    finally:
        os.close(descriptor)
    return b"".join(parts) if len(parts) > 1 else parts[0]


def _as_items(content: bytes) -> bytes:
    """A list of lines in the form that archived items have, so that one search does for both. Hooks are left out: the
    items that they lead to have them."""
    told = [entry for entry in parse_log(decode(content)) if says_more(entry)]
    items = []
    for name, entry in zip(names_of(told), told):
        one = entry.observation
        items.append(
            ArchivedObservation(name, entry.raw, one.date, one.importance, type=one.type)
            if one
            else ArchivedObservation(name, entry.raw)
        )
    return encode(render_observations(items))
