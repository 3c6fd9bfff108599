"""OpenClaw's JSONL transcripts (up to 2026.7): which files belong together, and reading them line by line."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, Optional

from _errors import SourceError
from _transcripts.entry import entry_id, parse_entry
from _transcripts.history import BIG_LINE, Line, glance
from _transcripts.message import Cursor
from _transcripts.session import Problem
from _transcripts.shrink import shrink

_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_RESET = r"(\.reset\.[0-9TZ:.\-]+)?"
# "<uuid>.trajectory.jsonl" and its topic twin are debugging sidecars that hold whole prompts.
_NAME = re.compile(rf"({_UUID}(?:-topic-(?:(?!\.trajectory\.).)+?)?)\.jsonl{_RESET}", re.DOTALL)
_OTHER_NAME = re.compile(rf"((?:(?!\.trajectory\.|\.jsonl).)+)\.jsonl{_RESET}", re.DOTALL)
_BLOCK = 1 << 16
_LIVE = "~"  # sorts after every ".reset.<time>"


if TYPE_CHECKING:
    # One file of a transcript: (order, name, size in bytes, mtime in nanoseconds); `order` sorts the files of one stem
    # as they were written. A plain tuple: a folder may hold 10,000, and a run with nothing new does little but count.
    Part = tuple[str, str, int, int]


class Folder(NamedTuple):
    """A sessions folder: files by stem, oldest first; those whose stem is no uuid; stems that were deleted; and the
    transcripts that could not be looked at."""

    path: Path
    stems: "dict[str, list[Part]]"
    others: "dict[str, list[Part]]"
    deleted: "set[str]"
    problems: "list[Problem]"


def scan_folder(folder: Path) -> Folder:
    """Look at every name in a sessions folder, one stat for each transcript and no content read.

    Raises FileNotFoundError when there is no such folder, SourceError when it cannot be listed.
    """
    found = Folder(folder, {}, {}, set(), [])
    try:
        descriptor = os.open(folder, os.O_RDONLY)  # names are looked up from it, not along the path each time
        try:
            with os.scandir(descriptor) as entries:
                _sort_in(entries, found)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        raise
    except OSError as problem:
        raise SourceError(
            f"the sessions folder {folder} cannot be listed: {problem.strerror}",
            "make it readable for this user, or set SESSIONS_DIR to the right folder",
        ) from problem
    for parts in (*found.stems.values(), *found.others.values()):
        if len(parts) > 1:
            parts.sort()
    return found


def name_stem(name: str) -> str:
    """The stem of a transcript's file name, "" when the name is not one of a transcript."""
    match = _NAME.fullmatch(name) or _OTHER_NAME.fullmatch(name)
    return match.group(1) if match else ""


def has_session_header(path: Path) -> bool:
    """Whether a file's first line is a transcript's: {"type":"session",...}."""
    try:
        with open(path, "rb") as file:
            return b'"type":"session"' in file.read(200).replace(b'": "', b'":"')
    except OSError:
        return False


def _sort_in(entries: "Iterator[os.DirEntry[str]]", found: Folder) -> None:
    is_transcript, stems = _NAME.fullmatch, found.stems
    for entry in entries:
        name = entry.name
        match = is_transcript(name)
        target = stems
        if match is None:
            match, target = _other_name(name, found), found.others
            if match is None:
                continue
        try:
            seen = entry.stat()
        except FileNotFoundError:
            continue  # renamed or removed since the listing, or a dangling link
        except OSError as problem:  # it must not hide the others
            found.problems.append(_unreachable(found.path / name, problem))
            continue
        if stat.S_ISREG(seen.st_mode):
            stem, reset = match.groups()
            part = (reset or _LIVE, name, seen.st_size, seen.st_mtime_ns)
            if stem in target:
                target[stem].append(part)
            else:
                target[stem] = [part]


def _unreachable(path: Path, problem: OSError) -> Problem:
    """A link that leads to itself, or to no possible name, is no transcript and never will be; what else is out of
    reach is waited for."""
    what = f"the transcript cannot be looked at: {problem.strerror}"
    return Problem(str(path), what, waits=problem.errno not in (errno.ELOOP, errno.ENAMETOOLONG))


def _other_name(name: str, found: Folder) -> "Optional[re.Match[str]]":
    """The match of a name that may be a transcript's although its stem is no uuid; deleted ones are noted."""
    if ".jsonl.deleted." in name:
        found.deleted.add(name.split(".jsonl.", 1)[0])
        return None
    return _OTHER_NAME.fullmatch(name) if ".jsonl" in name else None


class JsonlHistory:
    """The files of one stem, read as one: positions count bytes from the start of the oldest file."""

    generation = ""

    def __init__(self, stem: str, paths: "tuple[Path, ...]") -> None:
        """Raises SourceError when the transcript is gone or may not be read."""
        self.stem = stem
        self._looked_elsewhere = False  # a file's offset is not where lines() left it
        self._files = _open_all(stem, paths)
        sizes = [os.fstat(file.fileno()) for file in self._files]
        self._bases = [sum(size.st_size for size in sizes[:index]) for index in range(len(sizes) + 1)]
        self.changed_at_ms = max(size.st_mtime_ns for size in sizes) // 1_000_000

    def close(self) -> None:
        for file in self._files:
            file.close()

    def beginning(self) -> int:
        return 0

    def resume(self, cursor: Cursor) -> "tuple[int, bool]":
        position = cursor.position
        if cursor.source != "jsonl":
            return 0, False
        if position <= 0:
            return 0, True
        if position > self._bases[-1] or not self._at_line_end(position):
            return 0, False
        return (position, True) if self.id_at(position) == cursor.entry_id else (0, False)

    def lines(self, after: int) -> Iterator[Line]:
        for index, file in enumerate(self._files):
            last = index == len(self._files) - 1
            base, following = self._bases[index], self._bases[index + 1]
            if after < following or last:
                yield from self._file_lines(file, base, max(0, after - base), not last)

    def _file_lines(self, file: "IO[bytes]", base: int, offset: int, complete: bool) -> Iterator[Line]:
        """One file's lines from an offset on. `complete`: nothing follows, so a last line without newline counts."""
        file.seek(offset)
        position = base + offset
        while True:
            if self._looked_elsewhere:
                file.seek(position - base)
                self._looked_elsewhere = False
            raw = file.readline(BIG_LINE)
            if not raw:
                return
            if raw[-1:] != b"\n" and len(raw) == BIG_LINE:
                line, used, ended = _big_line(file, raw)
                if not ended and not complete:
                    return
                position += used
                yield line._replace(position=position)
                continue
            if raw[-1:] != b"\n" and not complete:
                return  # still being written: the next run sees it whole
            position += len(raw)
            kind = glance(raw) if len(raw) > 2 else "other"
            yield Line(position, kind, raw if kind == "message" else b"")

    def id_at(self, position: int) -> str:
        for _ in range(64):  # lines without an id are broken ones: a few at a time
            if position <= 0:
                break
            file, base, end = self._locate(position)
            start = _line_start(file, end)
            found = entry_id(parse_entry(_read_line(file, start, end)))
            if found:
                return found
            position = base + start
        return ""

    def line_number(self, position: int) -> int:
        file, _base, end = self._locate(position)
        file.seek(0)
        count, left = 0, end
        while left > 0:
            block = file.read(min(_BLOCK, left))
            if not block:
                break
            count += block.count(b"\n")
            left -= len(block)
        return count

    def problems(self) -> "list[Problem]":
        return []

    def _locate(self, position: int) -> "tuple[IO[bytes], int, int]":
        """(file, where it begins, offset in it) of the byte before a position."""
        self._looked_elsewhere = True
        index = max(i for i in range(len(self._files)) if self._bases[i] < position or i == 0)
        return self._files[index], self._bases[index], position - self._bases[index]

    def _at_line_end(self, position: int) -> bool:
        if position in self._bases[1:-1]:
            return True  # the end of a file that a reset put aside
        file, _base, end = self._locate(position)
        file.seek(end - 1)
        return file.read(1) == b"\n"


def _open_all(stem: str, paths: "tuple[Path, ...]") -> "list[IO[bytes]]":
    """Open every file; when one was renamed since it was listed, look for its stem again."""
    for attempt in range(3):
        opened: "list[IO[bytes]]" = []
        try:
            for path in paths:
                opened.append(open(path, "rb", buffering=1 << 18))  # noqa: SIM115
            return opened
        except FileNotFoundError as problem:
            for file in opened:
                file.close()
            folder = paths[-1].parent
            found = scan_folder(folder) if folder.is_dir() else Folder(folder, {}, {}, set(), [])
            parts = found.stems.get(stem) or found.others.get(stem)
            if not parts or attempt == 2:
                raise SourceError(f"the transcript {paths[-1]} is gone") from problem
            paths = tuple(folder / name for _order, name, _size, _mtime in parts)
        except OSError as problem:
            for file in opened:
                file.close()
            raise SourceError(
                f"the transcript {paths[-1]} cannot be read: {problem.strerror}",
                "make it readable for this user",
            ) from problem
    raise SourceError(f"the transcript {paths[-1]} is gone")


def _big_line(file: "IO[bytes]", head: bytes) -> "tuple[Line, int, bool]":
    """A line longer than BIG_LINE: (the line made small, its length in bytes, whether it ends in a newline)."""
    used, ended = [len(head)], [False]

    def chunks() -> Iterator[bytes]:
        yield head
        while not ended[0]:
            chunk = file.readline(BIG_LINE)
            if not chunk:
                return
            used[0] += len(chunk)
            ended[0] = chunk[-1:] == b"\n"
            yield chunk.rstrip(b"\r\n") if ended[0] else chunk

    kind = glance(head + b"}")
    if kind != "tools":
        raw, shortened = shrink(chunks())
        kind = glance(raw)
        return Line(0, kind, raw if kind == "message" else b"", shortened), used[0], ended[0]
    for _ in chunks():
        pass
    return Line(0, kind), used[0], ended[0]


def _line_start(file: "IO[bytes]", end: int) -> int:
    """Offset of the line that ends at `end` (just after its newline)."""
    at = max(0, end - 1)
    while at > 0:
        begin = max(0, at - _BLOCK)
        file.seek(begin)
        newline = file.read(at - begin).rfind(b"\n")
        if newline >= 0:
            return begin + newline + 1
        at = begin
    return 0


def _read_line(file: "IO[bytes]", start: int, end: int) -> bytes:
    """The bytes of one line, made small when it is big."""
    file.seek(start)
    if end - start <= BIG_LINE:
        return file.read(end - start).rstrip(b"\r\n")

    def chunks() -> Iterator[bytes]:
        left = end - start
        while left > 0:
            chunk = file.read(min(BIG_LINE, left))
            if not chunk:
                return
            left -= len(chunk)
            yield chunk if left else chunk.rstrip(b"\r\n")

    return shrink(chunks())[0]
