"""OpenClaw's JSONL transcripts (up to 2026.7), read line by line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from _errors import SourceError
from _transcripts.entry import entry_id, parse_entry
from _transcripts.folder import no_folder, scan_folder
from _transcripts.history import BIG_LINE, Line, glance
from _transcripts.message import Cursor
from _transcripts.session import Problem
from _transcripts.shrink import shrink

_BLOCK = 1 << 16


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
            found = scan_folder(folder) if folder.is_dir() else no_folder(folder)
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
