"""Which transcripts there are, and which of them hold something new."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional

from _compat import sha256_hex
from _config import Config
from _errors import ConfigError, SourceError, UnknownSession
from _transcripts.cursors import Cursors
from _transcripts.folder import has_session_header, name_stem, no_folder, scan_folder
from _transcripts.keys import is_group_key, is_machine_key
from _transcripts.reach import waiting
from _transcripts.session import Listing, Problem, Session
from _transcripts.sqlite import Brief, StoreBusy, index_store

if TYPE_CHECKING:
    from _transcripts.folder import Part
    from _transcripts.message import Cursor

_LARGEST_INDEX = 200_000_000  # bytes of sessions.json


class _Known(NamedTuple):
    """What sessions.json says about one session id."""

    key: str
    machine: bool
    group: bool


def find_sessions(
    config: Config, cursors: Optional[Mapping[str, Cursor]] = None, since_ms: int = 0
) -> Listing:
    """The transcripts with something after their cursor, and those without one that changed since `since_ms`.

    `cursors` are by `Cursor.key`. Both `config.sessions_dir` and `config.store_path` are looked at, and nothing that
    was said is read; sessions.json only when a file is new. Raises SourceError when nothing of what is there can be
    read (permission, damaged database); where one source can, the other is a Problem, as a busy store is. Only the
    store says which of the files that a migration left were deleted: while it is out of reach, they wait.
    """
    known = Cursors.of(cursors or {})
    search = _Search(config)
    counts = {"unchanged": 0, "older": 0}
    search.look_everywhere(lambda brief: _is_new(brief, known, since_ms, counts), known)
    stems, settled = search.folder.stems, search.folder.settled
    counts["unchanged"] += len(settled)
    fresh = [
        _marked(session, session.session_id in stems or session.session_id in settled)
        for session in search.rows
    ]
    files = search.without_waiting(list(_new_files(stems, known, since_ms, counts)), known)
    fresh += [search.file_session(stem) for stem in files]
    return Listing(
        sessions=tuple(sorted(fresh, key=lambda session: (session.changed_at_ms, session.key))),
        problems=tuple(search.problems),
        sources=tuple(search.sources),
        found_any=bool(search.sources),
        stems=frozenset(settled.union(stems)),
        row_ids=frozenset(search.row_ids),
        counts={**counts, "deleted": len(search.forbidden)},
    )


def resolve(config: Config, name: str) -> "tuple[Session, ...]":
    """The sessions that a person or a hook names, at least one, new or not.

    `name` is a path, a file name, a session id, a session key, or OpenClaw's marker "sqlite:<agent>:<id>:<path>".
    Raises ConfigError naming what was not found, or when it names a deleted transcript or a debugging sidecar;
    SourceError when it is there, or may be, but cannot be read.
    """
    marker = re.fullmatch(r"sqlite:([^:]*):([^:]+):(.*)", name, re.DOTALL)
    if marker:
        config = _at_store(config, marker.group(1), marker.group(3))
        return _named(config, marker.group(2), name)
    base = os.path.basename(name)
    if ".deleted." in base or ".trajectory" in base:
        raise ConfigError(f"{base!r} is not read", "name a transcript that was neither deleted nor a sidecar")
    if os.sep in name:
        return _at_path(config, Path(os.path.expanduser(name)))
    return _named(config, name_stem(base) or base, name)


class _Search:
    """One look at the folder and the store of an agent."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._known: "Optional[dict[str, _Known]]" = None
        self._index_read = False
        self.folder = no_folder(config.sessions_dir)
        self.rows: "list[Session]" = []
        self.row_ids: "set[str]" = set()
        self.forbidden: "set[str]" = set()
        self.unread_store: Optional[SourceError] = None
        self.problems: "list[Problem]" = []
        self.sources: "list[str]" = []

    def look_everywhere(self, wanted: "Callable[[Brief], bool]", cursors: Cursors) -> None:
        """The store and the folder: one that cannot be read does not hide the other."""
        failed: "list[tuple[Path, SourceError]]" = []
        try:
            self.look_into_store(wanted)
        except SourceError as problem:
            self.unread_store = problem
            failed.append((self._config.store_path, problem))
        try:
            self.look_into_folder(cursors)
        except SourceError as problem:
            failed.append((self._config.sessions_dir, problem))
        unreadable = [why for _path, why in failed if not isinstance(why, StoreBusy)]
        if unreadable and not self.row_ids and not self.folder.stems and not self.folder.settled:
            raise unreadable[0]
        for path, why in failed:
            self.sources.append(str(path))
            self.problems.append(_out_of_reach(path, str(why), why))

    def look_into_store(self, wanted: "Callable[[Brief], bool]") -> None:
        path = self._config.store_path
        try:
            if not path.is_file():
                return
            index = index_store(path, wanted)
        except PermissionError as problem:
            raise SourceError(
                f"the store {path} cannot be reached: {problem.strerror}",
                "make its folder readable for this user",
            ) from problem
        if index is not None:
            self.sources.append(str(path))
            self.rows, self.row_ids, self.forbidden = index

    def look_into_folder(self, cursors: Cursors) -> None:
        try:
            self.folder = scan_folder(self._config.sessions_dir, cursors.positions)
        except FileNotFoundError:
            return
        self.sources.append(str(self._config.sessions_dir))
        self.problems += self.folder.problems
        for stem in self.folder.deleted | self.forbidden:
            self.folder.stems.pop(stem, None)
            self.folder.others.pop(stem, None)
            self.folder.settled.discard(stem)
        for stem, parts in self.folder.others.items():
            if self._names(stem, parts):
                self.folder.stems[stem] = parts

    def without_waiting(self, files: "list[str]", cursors: Cursors) -> "list[str]":
        """Those of the new files that may be read now. A host of before 2026.8, whose store says nothing of them, has
        sessions.json and no cursor in the store."""
        if not files or self.unread_store is None:
            return files
        folder = self._config.sessions_dir
        if "sqlite" not in cursors.sources and os.path.isfile(folder / "sessions.json"):
            return files
        what = f"{len(files)} of its transcripts wait for the store, which says whether they were deleted"
        self.problems.append(_out_of_reach(folder, what, self.unread_store))
        return []

    def file_session(self, stem: str) -> Session:
        parts = self.folder.stems[stem]
        known = self._sessions_json().get(stem) or self._sessions_json().get(stem[:36])
        key = known.key if known else ""
        return Session(
            source="jsonl",
            session_id=stem,
            session_key=key,
            path=self.folder.path / parts[-1][1],
            end=sum(size for _order, _name, size, _mtime in parts),
            changed_at_ms=max(mtime_ns for _order, _name, _size, mtime_ns in parts) // 1_000_000,
            machine=bool(known and known.machine),
            group=bool(known and known.group),
            may_repeat=len(parts) > 1 or stem in self.row_ids or stem[:36] in self.row_ids,
            parts=tuple((self.folder.path / name, size) for _order, name, size, _mtime in parts),
        )

    def _names(self, stem: str, parts: "list[Part]") -> bool:
        """Whether a file whose name is no uuid is a transcript: sessions.json says so, or else its first line."""
        if stem in self._sessions_json():
            return True
        return self._known is None and has_session_header(self.folder.path / parts[0][1])

    def _sessions_json(self) -> "dict[str, _Known]":
        if not self._index_read:
            self._index_read = True
            path = self._config.sessions_dir / "sessions.json"
            try:
                self._known = _read_index(path)
            except FileNotFoundError:
                pass  # machine sessions are told by their first prompt; with the store there is no such file
            except (OSError, ValueError) as problem:
                self.problems.append(
                    Problem(
                        str(path),
                        f"sessions.json could not be read ({problem}); machine sessions are told by their first prompt",
                    )
                )
        return self._known or {}


def _out_of_reach(path: Path, what: str, why: SourceError) -> Problem:
    return Problem(str(path), what, waits=True, busy=isinstance(why, StoreBusy), hint=why.hint)


def _is_new(brief: Brief, cursors: Cursors, since_ms: int, counts: "dict[str, int]") -> bool:
    key = "sqlite:" + brief.session_id
    if key in cursors.positions:
        same = cursors.unchanged(key, brief.end, brief.generation)
        counts["unchanged"] += same
        return not same
    older = brief.changed_at_ms < since_ms and "jsonl:" + brief.session_id not in cursors.positions
    counts["older"] += older
    return not older


def _new_files(
    stems: "dict[str, list[Part]]", cursors: Cursors, since_ms: int, counts: "dict[str, int]"
) -> Iterator[str]:
    """The stems of transcripts with something new. Nothing but comparing: there may be 10,000."""
    since_ns = since_ms * 1_000_000
    positions = cursors.positions
    unchanged = older = 0
    for stem, parts in stems.items():
        position = positions.get("jsonl:" + stem)
        _order, _name, size, mtime_ns = parts[-1]
        if position is not None:
            if position == (size if len(parts) == 1 else sum(part[2] for part in parts)):
                unchanged += 1
                continue
        elif mtime_ns < since_ns:
            older += 1
            continue
        yield stem
    counts["unchanged"] += unchanged
    counts["older"] += older


def _marked(session: Session, in_folder: bool) -> Session:
    return session._replace(may_repeat=True) if in_folder else session


def _read_index(path: Path) -> "dict[str, _Known]":
    """What sessions.json says, by session id and by file stem. Raises OSError, ValueError."""
    if path.stat().st_size > _LARGEST_INDEX:
        raise ValueError("it is too large")
    content = path.read_bytes()
    if not content.strip():
        raise ValueError("it is empty")
    try:
        data = json.loads(content.decode("utf-8-sig", "replace"), strict=False)
    except RecursionError as problem:
        raise ValueError("it is nested too deeply") from problem
    if not isinstance(data, dict):
        raise ValueError("it holds no object")
    found: "dict[str, _Known]" = {}
    for key, entry in data.items():
        if isinstance(entry, dict):
            for name in names_of(entry.get("sessionId"), entry.get("sessionFile")):
                found[name] = _merged(found.get(name), _known(key, entry))
    return found


def names_of(session_id: object, file: object) -> "set[str]":
    """The names of an entry in sessions.json: the session id, and the stem of its file, which may be a marker of the
    SQLite store."""
    names = {session_id} if isinstance(session_id, str) else set()
    if isinstance(file, str):
        marker = re.fullmatch(r"sqlite:[^:]*:([^:]+):.*", file, re.DOTALL)
        names.add(marker.group(1) if marker else name_stem(re.split(r"[/\\]", file)[-1]))
    return {name for name in names if name}


def _known(key: str, entry: "dict[str, Any]") -> _Known:
    return _Known(
        key,
        is_machine_key(key) or bool(entry.get("spawnedBy")),
        is_group_key(key) or entry.get("chatType") in ("group", "channel"),
    )


def _merged(first: Optional[_Known], second: _Known) -> _Known:
    """One session under two keys is a machine's only when both are."""
    if first is None or (first.machine and not second.machine):
        return second
    return first


def _at_store(config: Config, agent: str, path: str) -> Config:
    """The configuration with which a marker's session is looked up: its own agent's folders, when they are there."""
    if agent in ("", config.agent_id) and config.store_path.is_file():
        return config
    folder = Path(path).parent
    if Path(path).is_absolute() and Path(path).suffix in (".json", ".sqlite"):
        sessions = folder if folder.name == "sessions" else folder.parent / "sessions"
        candidate = config._replace(sessions_dir=sessions)
        if candidate.store_path.is_file():
            return candidate
    return config


def _at_path(config: Config, path: Path) -> "tuple[Session, ...]":
    stem = name_stem(path.name)
    if not stem:
        raise ConfigError(f"{str(path)!r} is no transcript", "name a .jsonl file, or a session id")
    path = Path(os.path.abspath(path))
    if path.parent != config.sessions_dir:
        elsewhere = config._replace(sessions_dir=path.parent)
        if path.parent.is_dir():
            found = _matching(elsewhere, stem)
            if found:
                return tuple(_apart(session, path.parent) for session in found)
    return _named(config, stem, str(path))


def _apart(session: Session, folder: Path) -> Session:
    """A transcript from another folder, which may be a copy: it has a cursor of its own, and its uids are compared."""
    mark = sha256_hex(str(folder).encode("utf-8", "surrogateescape"))[:8]
    return session._replace(session_id=f"{session.session_id}@{mark}", may_repeat=True)


def _named(config: Config, wanted: str, shown: str) -> "tuple[Session, ...]":
    found = _matching(config, wanted)
    if not found:
        raise UnknownSession(
            f"no session is named {shown!r}",
            f"looked in {config.sessions_dir} and {config.store_path}; give a file, a session id or a session key",
        )
    return found


def _matching(config: Config, wanted: str) -> "tuple[Session, ...]":
    """Every session with this id or key, oldest change first. Raises SourceError when not all could be looked at, and
    it is not in the rest; and while the store is out of reach, which says whether it was deleted."""
    search = _Search(config)
    search.look_everywhere(lambda brief: True, Cursors({}))
    out_of_reach = waiting(search.problems)
    if out_of_reach and search.unread_store:
        raise out_of_reach
    stems = search.folder.stems
    found = [
        _marked(session, session.session_id in stems)
        for session in search.rows
        if wanted in (session.session_id, session.session_key)
    ]
    for stem in stems:
        if wanted in (stem, stem[:36]) or (":" in wanted and search.file_session(stem).session_key == wanted):
            found.append(search.file_session(stem))
    if not found and wanted in search.folder.others:
        stems[wanted] = search.folder.others[wanted]
        found.append(search.file_session(wanted))
    if out_of_reach and not found:
        raise out_of_reach
    return tuple(sorted(found, key=lambda session: session.changed_at_ms))
