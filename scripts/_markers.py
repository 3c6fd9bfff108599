"""Markers: small files that OpenClaw's gateway hook leaves where the watcher and the next run find them.

The hook may start no program, so it writes what happened into memory/.total-recall/markers/NAME.json and, where a
watcher takes it up, waits a moment for the brief. A marker has three lives: `NAME.json` (left), `NAME.taken` (somebody
works on it), gone (what was said before it is in memory).
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Optional

from _errors import StorageError
from _files import read_bytes, remove_file, rename_file

LEFT, TAKEN = ".json", ".taken"
# The hook's names: <epoch milliseconds>-<random>. Whatever else lies there is not ours to read or remove.
_NAME = re.compile(r"\d{1,20}-[0-9A-Za-z]{1,40}\.(?:json|taken)")
LARGEST = 100_000  # bytes; the hook writes some hundred
# What a session's end is called by the hook (hooks/total-recall); the first three are followed by a new session.
ENDS = ("command:new", "command:reset", "session:auto-reset")
COMPACTS = ("session:compact:before",)


class Marker(NamedTuple):
    """One marker. `event` is OpenClaw's name for what happened. `session_id`, `session_key` and `session_file` name the
    session that ended or is to be compacted, `agent_id` whose session it is, "" where the host did not say. `at_ms` is
    epoch milliseconds."""

    path: Path
    event: str
    at_ms: int = 0
    session_id: str = ""
    session_key: str = ""
    session_file: str = ""
    agent_id: str = ""

    @property
    def taken(self) -> bool:
        """Whether somebody works on it, or did when it was killed."""
        return self.path.suffix == TAKEN


def read_markers(folder: Path, agent_id: str = "") -> "list[Marker]":
    """The markers in a folder, oldest first; none when there is no such folder. With `agent_id` those of other agents
    are left out, who may share the memory: what they said is not ours to take in. One that cannot be read as a marker
    is told by event "" and is there to be removed. Raises StorageError when the folder cannot be listed."""
    try:
        if folder.is_symlink():
            raise StorageError(f"{folder} is a link", "remove it: what lies behind it is not ours")
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise StorageError(f"{folder} cannot be listed: {problem.strerror}", "check its mode") from problem
    paths = [folder / name for name in names if _NAME.fullmatch(name) and _is_file(folder / name)]
    found = [_read(path) for path in paths]
    ours = [marker for marker in found if not agent_id or marker.agent_id in ("", agent_id)]
    return sorted(ours, key=lambda marker: (marker.at_ms, marker.path.name))


def take(marker: Marker) -> Optional[Marker]:
    """Say that it is worked on; None when it is gone meanwhile."""
    if marker.taken:
        return marker
    path = marker.path.with_suffix(TAKEN)
    return marker._replace(path=path) if rename_file(marker.path, path) else None


def clear(markers: Iterable[Marker]) -> int:
    """Remove markers whose matter is settled, under either name; returns how many. Raises StorageError, once all were
    tried, when one cannot be removed."""
    count, trouble = 0, None
    for marker in markers:
        try:
            remove_file(marker.path)
            remove_file(marker.path.with_suffix(TAKEN))
            count += 1
        except StorageError as problem:
            trouble = problem
    if trouble:
        raise trouble
    return count


def _is_file(path: Path) -> bool:
    """Whether it is a plain file: to open a pipe would wait for ever."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _read(path: Path) -> Marker:
    try:
        data = read_bytes(path) if os.lstat(path).st_size <= LARGEST else None
        found = json.loads(data) if data is not None else None
    except (ValueError, RecursionError, OSError, StorageError):
        found = None
    if not isinstance(found, dict):
        return Marker(path, "")

    def text(name: str) -> str:
        value: Any = found.get(name)
        return value if isinstance(value, str) else ""

    at_ms = found.get("at_ms")
    at = at_ms if isinstance(at_ms, int) and not isinstance(at_ms, bool) else 0
    names = ("session_id", "session_key", "session_file", "agent_id")
    return Marker(path, text("event"), at, *map(text, names))
