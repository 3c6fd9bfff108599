"""Counting rows in OpenClaw's SQLite store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from _compat import stamp
from _transcripts.session import Session
from _transcripts.sqlite import Brief, index_store, opened
from _watch.seen import Seen

if TYPE_CHECKING:
    import sqlite3

_LARGEST_RESET = 4_000  # characters; those seen have some 150
WAL = "-wal"


class StoreRows:
    """The sessions of one store. The first look only notes where they end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ends: "Optional[dict[str, int]]" = None
        self._inode = 0
        self._stamps: Any = None
        self._just_changed = False

    def look(self) -> Seen:
        """Look at what is new. Raises StoreBusy and SourceError; then the next look finds it."""
        first = self._ends is None
        found = stamp(self._path)
        if found is None or found.size == 0:
            self._ends, self._inode = {}, 0
            return Seen()
        known = (self._ends or {}) if self._inode in (0, found.inode) else {}
        ends: "dict[str, int]" = {}

        def grew(brief: Brief) -> bool:
            ends[brief.session_id] = brief.end
            return not first and known.get(brief.session_id, -1) != brief.end

        index = index_store(self._path, grew)
        seen = self._count(index.sessions, known) if index else Seen()
        self._ends = {name: end for name, end in ends.items() if index and name in index.ids}
        self._inode = found.inode
        return seen

    def look_if_changed(self) -> Seen:
        """For polling: look when the store's files have changed, and once more after that: a change right after the
        look may bear the same time."""
        wal = stamp(self._path.with_name(self._path.name + WAL))
        stamps = (stamp(self._path), wal if wal and wal.size else None)  # a reader leaves an empty one behind
        changed = stamps != self._stamps
        if not (changed or self._just_changed or self._ends is None):
            return Seen()
        seen = self.look()
        self._stamps, self._just_changed = stamps, changed
        return seen

    @property
    def sessions(self) -> "tuple[Session, ...]":
        """All sessions. Raises as `look` does."""
        found = stamp(self._path)
        index = index_store(self._path, lambda brief: True) if found and found.size else None
        return tuple(index.sessions) if index else ()

    def _count(self, grown: "list[Session]", known: "dict[str, int]") -> Seen:
        """The new rows of main sessions. A history that has become shorter was rewritten, and is counted anew."""
        seen = Seen()
        main = [session for session in grown if not session.machine]
        if not main:
            return seen
        with opened(self._path) as connection:
            connection.text_factory = bytes  # one row that is no UTF-8 must not hide the others
            for session in main:
                start = known.get(session.session_id, -1)
                seen = seen.plus(_rows_after(connection, session, start if start < session.end else -1))
        return seen


def _rows_after(connection: "sqlite3.Connection", session: Session, start: int) -> Seen:
    """How many rows a session has after a seq, and how many of them say that it was reset."""
    bounds = (session.session_id, start, session.end)
    where = "WHERE session_id = ? AND seq > ? AND seq <= ?"
    count = connection.execute(f"SELECT count(*) FROM transcript_events {where}", bounds).fetchone()[0]
    # The text narrows it down; what was said stands in it with its quotes escaped.
    candidates = connection.execute(
        f"SELECT event_json FROM transcript_events {where} AND length(event_json) <= {_LARGEST_RESET}"
        ' AND event_json LIKE \'%"type"%"reset"%\'',
        bounds,
    )
    return Seen(count, sum(_is_reset(text) for (text,) in candidates))


def _is_reset(text: bytes) -> bool:
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(entry, dict) and entry.get("type") == "reset"
