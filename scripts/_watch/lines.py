"""Counting whole lines in a folder of JSONL transcripts."""

from __future__ import annotations

import heapq
import os
import re
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple, Optional

from _errors import SourceError
from _transcripts.folder import has_session_header, name_stem
from _watch.keys import Keys
from _watch.seen import Seen

_BLOCK = 1 << 18
_TAIL = 64  # bytes before the place up to which a file was counted: whether it is still the same file
_SESSION_ID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?:-topic-|$)")
_ACTIVE = 100  # files that a poll looks at each time: those that changed last


class _Known(NamedTuple):
    """Up to where a file was counted. `tail`: what stood before that place, b"" when it was never read."""

    inode: int
    offset: int
    tail: bytes = b""


class FolderLines:
    """The transcripts of a sessions folder. The first look only notes where they end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._prefix = os.path.join(folder, "")
        self._keys = Keys(folder / "sessions.json")
        self._files: "Optional[dict[str, _Known]]" = None
        self._resets: "set[str]" = set()
        self._unsure: "dict[str, int]" = {}
        self._active: "list[tuple[int, str]]" = []
        self._folder_mtime: Optional[int] = None
        self._just_changed = False

    @property
    def stems(self) -> "list[str]":
        """The sessions with a live file."""
        return [name_stem(name) for name in self._files or ()]

    def is_machine(self, stem: str) -> bool:
        """Whether nobody speaks in a session, as far as sessions.json says."""
        return bool(self._keys.is_machine(stem))

    def look(self) -> Seen:
        """Look at every file. Raises SourceError when the folder cannot be listed; one that is not there is empty."""
        mtime = self._mtime_of_folder()
        self._active.clear()
        files: "dict[str, _Known]" = {}
        changed, resets = [], set()
        problems: "list[str]" = []
        for name, seen in self._list(problems):
            if seen is None:
                resets.add(name)
                continue
            self._note_active(name, seen.st_mtime_ns)
            known = self._files.get(name) if self._files is not None else None
            if self._files is None and self._is_transcript(name):
                known = _Known(seen.st_ino, seen.st_size)
            if known is not None:
                files[name] = known
            if not _is_same(known, seen):
                changed.append(name)
        self._just_changed, self._folder_mtime = mtime != self._folder_mtime, mtime
        if self._files is None:
            self._files, self._resets = files, resets
            return Seen(problem="".join(problems[:1]))
        self._files = files
        found = self._count(changed).plus(self._note_resets(resets))
        self._resets = resets
        alive = {name_stem(name) for name in files} if self._unsure else set()
        self._unsure = {stem: lines for stem, lines in self._unsure.items() if stem in alive}
        return found.plus(Seen(problem="".join(problems[:1])))

    def look_at(self, names: Collection[str], gone: Collection[str] = ()) -> Seen:
        """Look at some files. `gone`: names that vanished in the meantime, so that what has one of them is new."""
        if self._files is None:
            return self.look()
        for name in gone:
            self._files.pop(name, None)
            self._unsure.pop(name_stem(name), None)
        seen = self._note_resets([name for name in names if _is_reset(name)])
        return seen.plus(self._count([name for name in names if _is_live(name)]))

    def look_if_changed(self) -> Seen:
        """For polling: list the folder when it has changed, else look at the files that changed last."""
        # A change right after a look may bear the same time: so list it once more.
        if self._just_changed or self._files is None or self._mtime_of_folder() != self._folder_mtime:
            return self.look()
        return self.look_at([name for _mtime, name in self._active if not self._is_unchanged(name)])

    def _mtime_of_folder(self) -> Optional[int]:
        try:
            return os.stat(self._folder).st_mtime_ns
        except OSError:
            return None

    def _is_unchanged(self, name: str) -> bool:
        try:
            return _is_same((self._files or {}).get(name), os.stat(self._prefix + name))
        except OSError:
            return False

    def _list(self, problems: "list[str]") -> "Iterator[tuple[str, Optional[os.stat_result]]]":
        """Name by name the live transcripts, and, with None, those that a reset put aside. One by one: there may be
        10,000, and all their stats together would take more memory than the rest of the watcher. What one of them
        hides, such as a link to itself, goes to `problems` and hides no other."""
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    if _is_live(entry.name):
                        try:
                            seen = _stat(entry)
                        except OSError as problem:
                            problems.append(self._unreadable(entry.name, problem))
                            continue
                        if seen is not None:
                            yield entry.name, seen
                    elif _is_reset(entry.name):
                        yield entry.name, None
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as problem:
            raise SourceError(
                f"the sessions folder {self._folder} cannot be listed: {problem.strerror}",
                "make it readable for this user, or set SESSIONS_DIR to the right folder",
            ) from problem

    def _note_active(self, name: str, mtime_ns: int) -> None:
        """Keep the names of the files that changed last."""
        if len(self._active) < _ACTIVE:
            heapq.heappush(self._active, (mtime_ns, name))
        else:
            heapq.heappushpop(self._active, (mtime_ns, name))

    def _note_resets(self, names: Collection[str]) -> Seen:
        """How many of these were not there before, but for machines' sessions."""
        fresh = [name for name in names if name not in self._resets]
        self._resets.update(fresh)
        return Seen(0, sum(not self.is_machine(name_stem(name)) for name in fresh))

    def _count(self, names: Collection[str]) -> Seen:
        """Count these files' new lines, and take back those of sessions that turned out to be a machine's."""
        new: "dict[str, int]" = {}
        problem = ""
        for name in names:
            try:
                number = self._new_lines(name)
            except OSError as found:
                problem = self._unreadable(name, found)
                continue
            if number:
                new[name_stem(name)] = number
        return Seen(self._of_people(new), 0, problem)

    def _of_people(self, new: "dict[str, int]") -> int:
        """How many of these new lines, by session, are not a machine's; less those that sessions.json did not know when
        they were counted, and now calls a machine's."""
        machine = self._keys.are_machines([*new, *self._unsure])
        taken_back = sum(lines for stem, lines in self._unsure.items() if machine[stem])
        self._unsure = {
            stem: self._unsure.get(stem, 0) + new.get(stem, 0) for stem in machine if machine[stem] is None
        }
        return sum(lines for stem, lines in new.items() if not machine[stem]) - taken_back

    def _unreadable(self, name: str, problem: OSError) -> str:
        return f"the transcript {self._folder / name} cannot be read: {problem.strerror}"

    def _new_lines(self, name: str) -> int:
        """The lines of a file that ended since it was counted last; one that is gone has none. Raises OSError."""
        assert self._files is not None
        known = self._files.get(name)
        path = self._folder / name
        try:
            # Before it is opened: a pipe of that name would keep us waiting for a writer.
            if not stat.S_ISREG(os.stat(path).st_mode) or not (known or self._is_transcript(name)):
                return 0
            with open(path, "rb", buffering=0) as file:
                seen = os.fstat(file.fileno())
                start = known.offset if known and _continues(file.fileno(), seen, known) else 0
                count, end = _newlines(file.fileno(), start)
                tail = os.pread(file.fileno(), min(_TAIL, end), max(0, end - _TAIL))
        except FileNotFoundError:
            self._files.pop(name, None)
            return 0
        self._files[name] = _Known(seen.st_ino, end, tail)
        return count

    def _is_transcript(self, name: str) -> bool:
        """A session id as a name is enough; with another one sessions.json or the first line tells."""
        stem = name_stem(name)
        if _SESSION_ID.match(stem) or self._keys.is_machine(stem) is not None:
            return True
        return has_session_header(self._folder / name)


def _is_live(name: str) -> bool:
    return name.endswith(".jsonl") and bool(name_stem(name))


def _is_reset(name: str) -> bool:
    return ".jsonl.reset." in name and bool(name_stem(name))


def _stat(entry: "os.DirEntry[str]") -> "Optional[os.stat_result]":
    """None for one that is gone again, and for what is no file."""
    try:
        seen = entry.stat()
    except FileNotFoundError:
        return None
    return seen if stat.S_ISREG(seen.st_mode) else None


def _is_same(known: Optional[_Known], seen: "os.stat_result") -> bool:
    return known is not None and (known.inode, known.offset) == (seen.st_ino, seen.st_size)


def _continues(descriptor: int, seen: "os.stat_result", known: _Known) -> bool:
    """Whether a file is the one that was counted, with more behind it: not another, nor written anew from its start."""
    if seen.st_ino != known.inode or seen.st_size < known.offset:
        return False
    return os.pread(descriptor, len(known.tail), known.offset - len(known.tail)) == known.tail


def _newlines(descriptor: int, start: int) -> "tuple[int, int]":
    """(newlines after `start`, where the file ended): a line that is still being written counts with its newline."""
    count, at = 0, start
    while True:
        block = os.pread(descriptor, _BLOCK, at)
        if not block:
            return count, at
        count += block.count(b"\n")
        at += len(block)
