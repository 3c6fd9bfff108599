"""The rows of one session in OpenClaw's store, read like the lines of a file."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from _transcripts.entry import entry_id, parse_entry
from _transcripts.history import BIG_LINE, Line, glance
from _transcripts.message import Cursor
from _transcripts.packed import ZSTD_MAGIC, unpack
from _transcripts.session import Problem, Session
from _transcripts.shrink import shrink
from _transcripts.sqlite import opened, tables_of

if TYPE_CHECKING:
    import sqlite3

PAGE_ROWS = 200
_CHUNK = 4 << 20


@contextmanager
def opened_rows(session: Session) -> "Iterator[SqliteHistory]":
    """One session of a store, opened for reading. Raises StoreBusy and SourceError."""
    with opened(session.path) as connection:
        yield SqliteHistory(connection, session)


class SqliteHistory:
    """The rows of one session. Positions are seqs."""

    def __init__(self, connection: "sqlite3.Connection", session: Session) -> None:
        self._connection = connection
        self._session = session
        self._tables = tables_of(connection)
        self._columns = self._tables.get("transcript_events", frozenset())
        self._problems: "list[Problem]" = []
        self.changed_at_ms = session.changed_at_ms
        self.generation = self._value(
            "transcript_rewrite_watermarks",
            "generation",
            "SELECT generation FROM transcript_rewrite_watermarks",
        )
        # Text as bytes from here on: rows are looked at as lines are, and decoding 1 MB of tool output is a waste.
        connection.text_factory = bytes

    def beginning(self) -> int:
        return -1

    def problems(self) -> "list[Problem]":
        return self._problems

    def line_number(self, position: int) -> int:
        return position

    def resume(self, cursor: Cursor) -> "tuple[int, bool]":
        if cursor.source == "jsonl":  # the host moved this session from its file into the store
            moved_to = self._seq_of(cursor.entry_id)
            return (-1, False) if moved_to is None else (moved_to, True)
        if cursor.position < 0:
            return -1, True
        if cursor.generation and cursor.generation != self.generation:
            return -1, False
        if self.id_at(cursor.position) == cursor.entry_id and cursor.position <= self._last_seq():
            return cursor.position, True
        moved_to = self._seq_of(cursor.entry_id)
        return (-1, False) if moved_to is None else (moved_to, True)

    def lines(self, after: int) -> Iterator[Line]:
        if self._is_tombstoned():
            return
        yield from self._cold_lines(after)
        active_to = self._active_to()
        query = self._page_query(active_to >= 0)
        while True:
            page = self._connection.execute(query, (self._session.session_id, after))
            count = 0
            for seq, text, packed, is_message, inactive in page:
                after, count = seq, count + 1
                if is_message is not None:
                    line = self._unpacked(seq, packed)
                elif text is None:
                    line = self._big_row(seq)
                else:
                    kind = glance(text)
                    line = Line(seq, kind, text if kind == "message" else b"")
                abandoned = inactive and seq <= active_to and line.kind == "message"
                yield Line(seq, "inactive") if abandoned else line
            if count < PAGE_ROWS:
                return

    def id_at(self, position: int) -> str:
        rows = self._connection.execute(
            "SELECT seq FROM transcript_events WHERE session_id = ? AND seq <= ? ORDER BY seq DESC LIMIT 20",
            (self._session.session_id, position),
        ).fetchall()
        for (seq,) in rows:
            found = self._identity(seq) or entry_id(parse_entry(self._whole_row(seq)))
            if found:
                return found
        return ""

    def _identity(self, seq: int) -> str:
        """The id of one row, from OpenClaw's own index of them; "" when it is not in there."""
        if "seq" not in self._tables.get("transcript_event_identities", ()):
            return ""
        row = self._connection.execute(
            "SELECT event_id FROM transcript_event_identities WHERE session_id = ? AND seq = ?",
            (self._session.session_id, seq),
        ).fetchone()
        return _text(row[0]) if row else ""

    def _page_query(self, with_active: bool) -> str:
        """Rows after a seq: JSON where it is small, and of the packed ones those that hold messages."""
        packed, is_message = "NULL", "NULL"
        if "event_zstd" in self._columns:
            speaks = "1"
            if "navigation_json" in self._columns:
                nav = "e.navigation_json"
                speaks = f'({nav} IS NULL OR instr({nav}, \'"role":"user"\') OR instr({nav}, \'"role":"assistant"\'))'
            packed = f"CASE WHEN e.event_zstd IS NOT NULL AND {speaks} THEN e.event_zstd END"
            is_message = f"CASE WHEN e.event_zstd IS NOT NULL THEN {speaks} END"
        join, inactive = "", "0"
        if with_active:
            join = (
                " LEFT JOIN session_transcript_active_events a"
                " ON a.session_id = e.session_id AND a.event_seq = e.seq"
            )
            inactive = "a.event_seq IS NULL"
        return (
            # One look at the length: each further one would load a 50 MB text once more.
            f"SELECT e.seq, CASE WHEN length(e.event_json) <= {BIG_LINE} THEN e.event_json END,"
            f" {packed}, {is_message}, {inactive}"
            f" FROM transcript_events e{join} WHERE e.session_id = ? AND e.seq > ? ORDER BY e.seq LIMIT {PAGE_ROWS}"
        )

    def _active_to(self) -> int:
        """Up to which seq OpenClaw knows which rows are on the active path; -1 when it does not."""
        state = self._tables.get("session_transcript_index_state", frozenset())
        if not {"indexed_seq", "needs_rebuild"} <= state or "event_seq" not in self._tables.get(
            "session_transcript_active_events", ()
        ):
            return -1
        row = self._connection.execute(
            "SELECT indexed_seq FROM session_transcript_index_state"
            " WHERE session_id = ? AND needs_rebuild = 0 AND active_event_count > 0"
            if "active_event_count" in state
            else "SELECT indexed_seq FROM session_transcript_index_state WHERE session_id = ? AND needs_rebuild = 0",
            (self._session.session_id,),
        ).fetchone()
        return int(row[0]) if row else -1

    def _unpacked(self, seq: int, packed: Optional[bytes]) -> Line:
        """A compressed row; `packed` is None when its navigation says that it holds no message."""
        if packed is None:
            return Line(seq, "tools")
        try:
            raw = unpack(packed)
        except ValueError as problem:
            self._problems.append(
                Problem(self._session.session_id, f"row {seq} could not be unpacked: {problem}")
            )
            return Line(seq, "broken")
        return _small(seq, raw)

    def _big_row(self, seq: int) -> Line:
        chunks = self._chunks(seq)
        first = next(chunks, b"")
        kind = glance(first + b"}") if first else "broken"
        if kind in ("tools", "broken"):
            return Line(seq, kind)
        raw, shortened = shrink(itertools.chain([first], chunks))
        kind = glance(raw)
        return Line(seq, kind, raw if kind == "message" else b"", shortened)

    def _chunks(self, seq: int) -> Iterator[bytes]:
        """The JSON of one row in pieces, so that it is never whole in this process twice."""
        at = 1
        while True:
            row = self._connection.execute(
                "SELECT substr(CAST(event_json AS BLOB), ?, ?) FROM transcript_events WHERE session_id = ? AND seq = ?",
                (at, _CHUNK, self._session.session_id, seq),
            ).fetchone()
            if not row or not row[0]:
                return
            yield row[0]
            at += _CHUNK

    def _whole_row(self, seq: int) -> bytes:
        packed = "event_zstd" if "event_zstd" in self._columns else "NULL"
        row = self._connection.execute(
            f"SELECT event_json IS NULL, {packed} FROM transcript_events WHERE session_id = ? AND seq = ?",
            (self._session.session_id, seq),
        ).fetchone()
        if not row:
            return b""
        if not row[0]:
            return shrink(self._chunks(seq))[0]
        try:
            return unpack(row[1]) if row[1] else b""
        except ValueError:
            return b""

    def _seq_of(self, wanted: str) -> Optional[int]:
        """Where the entry with this id stands now, or None."""
        if not wanted:
            return None
        if "seq" in self._tables.get("transcript_event_identities", ()):
            row = self._connection.execute(
                "SELECT seq FROM transcript_event_identities WHERE session_id = ? AND event_id = ?",
                (self._session.session_id, wanted),
            ).fetchone()
            return int(row[0]) if row else None
        rows = self._connection.execute(
            "SELECT seq FROM transcript_events WHERE session_id = ? AND instr(event_json, ?) ORDER BY seq DESC",
            (self._session.session_id, f'"id":"{wanted}"'),
        ).fetchall()
        return next((seq for (seq,) in rows if entry_id(parse_entry(self._whole_row(seq))) == wanted), None)

    def _last_seq(self) -> int:
        row = self._connection.execute(
            "SELECT max(seq) FROM transcript_events WHERE session_id = ?", (self._session.session_id,)
        ).fetchone()
        return max(-1 if row[0] is None else int(row[0]), self._session.end)

    def _is_tombstoned(self) -> bool:
        if "session_id" not in self._tables.get("memory_session_tombstones", ()):
            return False
        return bool(
            self._connection.execute(
                "SELECT 1 FROM memory_session_tombstones WHERE session_id = ?", (self._session.session_id,)
            ).fetchone()
        )

    def _value(self, table: str, column: str, query: str) -> str:
        if column not in self._tables.get(table, ()):
            return ""
        row = self._connection.execute(
            query + " WHERE session_id = ?", (self._session.session_id,)
        ).fetchone()
        return _text(row[0]) if row and row[0] is not None else ""

    def _cold_lines(self, after: int) -> Iterator[Line]:
        """Events that OpenClaw moved into a compressed archive, when some of them are new."""
        columns = self._tables.get("session_transcript_cold_archives", frozenset())
        if not {"last_seq", "event_count", "archive_name", "archive_blob"} <= columns:
            return
        row = self._connection.execute(
            "SELECT archive_name, event_count, last_seq, archive_blob FROM session_transcript_cold_archives"
            " WHERE session_id = ? AND last_seq > ?",
            (self._session.session_id, after),
        ).fetchone()
        if not row:
            return
        name, count, last_seq, blob = _text(row[0]), int(row[1]), int(row[2]), row[3]
        try:
            packed = blob if blob is not None else _archive_file(self._session.path, name)
            lines = unpack(packed).splitlines() if packed[:4] == ZSTD_MAGIC else packed.splitlines()
        except (OSError, ValueError) as problem:
            self._problems.append(
                Problem(
                    self._session.session_id,
                    f"its cold archive {name} could not be read: {problem}",
                    waits=True,
                )
            )
            return
        for index, raw in enumerate(lines):
            seq = last_seq - (count - 1) + index
            if seq > after:
                yield _small(seq, raw)


def _small(position: int, raw: bytes) -> Line:
    """A line that is in memory already, shrunk when it is big."""
    shortened = False
    if len(raw) > BIG_LINE:
        raw, shortened = shrink(raw[at : at + BIG_LINE] for at in range(0, len(raw), BIG_LINE))
    kind = glance(raw) if raw else "other"
    return Line(position, kind, raw if kind == "message" else b"", shortened)


def _archive_file(store: Path, name: str) -> bytes:
    """A cold archive, in the folders where OpenClaw may keep it."""
    if "/" in name or "\\" in name or name in ("", ".", ".."):
        raise ValueError(f"{name!r} is no file name")
    agent = store.parent.parent
    for folder in (
        agent / "sessions",
        store.parent,
        agent / "sessions" / "cold",
        agent / "session-cold-storage",
    ):
        if (folder / name).is_file():
            return (folder / name).read_bytes()
    raise FileNotFoundError(f"there is no {name} in {agent / 'sessions'}")


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
