"""OpenClaw's SQLite store (2026.8.1 and newer), read beside a running gateway and never written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional

from _errors import BusyError, SourceError
from _transcripts.keys import is_group_key, is_machine_key, is_machine_origin
from _transcripts.session import Session

if TYPE_CHECKING:
    import sqlite3

BUSY_SECONDS = 1.0
_WINDOW_COLUMNS = (
    "session_id",
    "session_key",
    "previous_session_id",
    "reason",
    "session_scope",
    "chat_type",
    "spawned_by",
    "hook_external_content_source",
)


class StoreBusy(BusyError, SourceError):
    """Another process held the store for longer than BUSY_SECONDS. The next run tries again."""


_COLD_IDS = " SELECT session_id FROM session_transcript_cold_archives"


class Brief(NamedTuple):
    """What tells whether a session in the store has something new. `end` is its highest seq."""

    session_id: str
    end: int
    changed_at_ms: int
    generation: str


class StoreIndex(NamedTuple):
    """What a store holds: those sessions that were asked for, all ids, and the ids that must not be read."""

    sessions: "list[Session]"
    ids: "set[str]"
    forbidden: "set[str]"


@contextmanager
def opened(path: Path) -> "Iterator[sqlite3.Connection]":
    """A read-only connection. Raises StoreBusy, or SourceError when this is no readable SQLite database."""
    import sqlite3

    try:
        connection = _connect(path)
        try:
            yield connection
        finally:
            connection.close()
    except (sqlite3.DatabaseError, UnicodeDecodeError) as problem:
        # sqlite3 cannot even put into words what is wrong with a table whose definition is no UTF-8.
        raise _typed(path, problem) from problem


def _connect(path: Path) -> "sqlite3.Connection":
    """Open with mode=ro; in a folder where nothing may be created, a store in WAL mode only opens as immutable."""
    import sqlite3

    uri = path.absolute().as_uri() + "?mode=ro"
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except sqlite3.OperationalError as problem:
        connection.close()
        if "unable to open" not in str(problem) and "readonly" not in str(problem) or not _is_at_rest(path):
            raise
        return sqlite3.connect(uri + "&immutable=1", uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        connection.close()
        raise
    return connection


def _is_at_rest(path: Path) -> bool:
    """Whether all that was written to a store is in the file itself, and nothing in its -wal."""
    try:
        return path.with_name(path.name + "-wal").stat().st_size == 0
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _typed(path: Path, problem: Exception) -> SourceError:
    text = str(problem)
    if "locked" in text or "busy" in text:
        return StoreBusy(f"the store {path} is busy ({text}); the next run tries again")
    return SourceError(
        f"the store {path} cannot be read: {text}",
        "check its permissions; if OpenClaw cannot open it either, run: openclaw doctor",
    )


def tables_of(connection: "sqlite3.Connection") -> "dict[str, frozenset[str]]":
    """The columns of every table, by table. Versions are not asked: what is there is looked at."""
    names = connection.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
    wanted = [name for (name,) in names if re.fullmatch(r"(?:session|transcript|memory_session)_\w+", name)]
    return {
        name: frozenset(row[1] for row in connection.execute(f'PRAGMA table_info("{name}")'))
        for name in wanted
    }


def index_store(path: Path, wanted: "Callable[[Brief], bool]") -> Optional[StoreIndex]:
    """The sessions of a store that are `wanted`, without reading any event.

    None when the file holds no transcripts (before 2026.8.1 it has only credentials in it). Raises StoreBusy and
    SourceError. Two index look-ups a session: 1 GB of events costs what an empty store does.
    """
    with opened(path) as connection:
        tables = tables_of(connection)
        if "transcript_events" not in tables:
            return None
        forbidden = _forbidden(connection, tables)
        briefs = [brief for brief in _briefs(connection, tables) if brief.session_id not in forbidden]
        sessions = [_session(path, b, _window(connection, tables, b.session_id)) for b in briefs if wanted(b)]
    return StoreIndex(sessions, {brief.session_id for brief in briefs}, forbidden)


def _briefs(connection: "sqlite3.Connection", tables: "dict[str, frozenset[str]]") -> "list[Brief]":
    """Every session with its highest seq: from session to session in the index, not over all rows.

    Archives in cold storage count with their last seq.
    """
    window = tables.get("session_windows", frozenset())
    changed, joins = "0", ""
    if {"session_id", "updated_at"} <= window:
        joins += " LEFT JOIN session_windows w ON w.session_id = ids.id"
        changed = "max(w.updated_at, coalesce(w.transcript_updated_at, 0))"
        if "transcript_updated_at" not in window:
            changed = "w.updated_at"
    generation = "NULL"
    if "generation" in tables.get("transcript_rewrite_watermarks", ()):
        joins += " LEFT JOIN transcript_rewrite_watermarks g ON g.session_id = ids.id"
        generation = "g.generation"
    cold = _cold_ends(connection, tables)
    rows = connection.execute(
        "WITH RECURSIVE steps(id) AS (SELECT min(session_id) FROM transcript_events UNION ALL"
        " SELECT (SELECT min(session_id) FROM transcript_events WHERE session_id > steps.id)"
        " FROM steps WHERE steps.id IS NOT NULL),"
        f" ids(id) AS (SELECT id FROM steps WHERE id IS NOT NULL{' UNION' + _COLD_IDS if cold else ''})"
        " SELECT ids.id, (SELECT max(seq) FROM transcript_events WHERE session_id = ids.id),"
        f" {changed}, {generation} FROM ids{joins}"
    )
    return [
        Brief(
            session_id,
            max(-1 if end is None else end, cold.get(session_id, -1)),
            changed or 0,
            generation or "",
        )
        for session_id, end, changed, generation in rows
    ]


def _cold_ends(connection: "sqlite3.Connection", tables: "dict[str, frozenset[str]]") -> "dict[str, int]":
    if "last_seq" not in tables.get("session_transcript_cold_archives", ()):
        return {}
    return dict(connection.execute("SELECT session_id, last_seq FROM session_transcript_cold_archives"))


def _window(
    connection: "sqlite3.Connection", tables: "dict[str, frozenset[str]]", session_id: str
) -> "dict[str, Any]":
    """What is known about a session: its window, with what its node says about where it came from."""
    window, node = tables.get("session_windows", frozenset()), tables.get("session_nodes", frozenset())
    if "session_id" not in window:
        return {}
    wanted = [f"w.{name}" for name in _WINDOW_COLUMNS if name in window]
    join = ""
    if {"session_key", "created_via"} <= node and "session_key" in window:
        join = " LEFT JOIN session_nodes n ON n.session_key = w.session_key"
        wanted += ["n.created_via"]
        wanted += [
            f"n.{name} AS node_{name}" for name in ("spawned_by", "fork_source_session_id") if name in node
        ]
    cursor = connection.execute(
        f"SELECT {', '.join(wanted)} FROM session_windows w{join} WHERE w.session_id = ?", (session_id,)
    )
    row = cursor.fetchone()
    return dict(zip((column[0] for column in cursor.description), row)) if row else {}


def _forbidden(connection: "sqlite3.Connection", tables: "dict[str, frozenset[str]]") -> "set[str]":
    """Sessions that the person deleted: never read, in no source."""
    found: "set[str]" = set()
    if "session_id" in tables.get("memory_session_tombstones", ()):
        found.update(row[0] for row in connection.execute("SELECT session_id FROM memory_session_tombstones"))
    if {"session_id", "reason"} <= tables.get("session_transcript_archives", frozenset()):
        found.update(
            row[0]
            for row in connection.execute(
                "SELECT session_id FROM session_transcript_archives WHERE reason = 'deleted'"
            )
        )
    return found


def _session(path: Path, brief: Brief, window: "dict[str, Any]") -> Session:
    key = window.get("session_key") or ""
    spawned = window.get("spawned_by") or window.get("node_spawned_by")
    external = window.get("hook_external_content_source")
    forked = window.get("previous_session_id") or window.get("node_fork_source_session_id")
    return Session(
        source="sqlite",
        session_id=brief.session_id,
        session_key=key,
        path=path,
        end=brief.end,
        changed_at_ms=brief.changed_at_ms,
        generation=brief.generation,
        machine=bool(
            is_machine_key(key) or is_machine_origin(window.get("created_via") or "") or spawned or external
        ),
        group=is_group_key(key)
        or window.get("chat_type") in ("group", "channel")
        or window.get("session_scope") in ("group", "channel"),
        may_repeat=bool(
            forked or window.get("reason") in ("fork", "rewind", "rollover", "switch", "recovery")
        ),
    )
