"""Transcripts as OpenClaw writes them, for tests: JSONL folders (2026.3, 2026.7) and SQLite stores (schema 19, 23).

    jsonl = JsonlStore(tmp_path / "agents/main/sessions")
    jsonl.start(SID)
    jsonl.user(SID, "I like mint tea.")
    store = SqliteStore(tmp_path / "agents/main/agent/openclaw-agent.sqlite", schema=23)

Both have start, user, assistant, tool and entry; each returns the id of the entry it wrote. Time begins at
2026-11-30 08:00 UTC and goes on by a second an entry, unless `at` (a datetime) is given.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Optional

BEGIN = datetime(2026, 11, 30, 8, 0, tzinfo=timezone.utc)
SID = "0f0e0d0c-0b0a-4987-8654-321000000001"
SID_2 = "0f0e0d0c-0b0a-4987-8654-321000000002"
SID_3 = "0f0e0d0c-0b0a-4987-8654-321000000003"
MAIN = "agent:main:main"


def iso(at: datetime) -> str:
    """ "2026-11-30T08:00:00.000Z", as OpenClaw writes it."""
    return at.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def dump(entry: "dict[str, Any]") -> bytes:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


class _Writer:
    """What both eras share: a clock, ids, and the shape of entries."""

    def __init__(self, prefix: str) -> None:
        self.now = BEGIN
        self._prefix = prefix
        self._count = 0
        self._last: "dict[str, Optional[str]]" = {}

    def append(self, session_id: str, entry: "dict[str, Any]") -> None:
        raise NotImplementedError

    def new_id(self) -> str:
        raise NotImplementedError

    def tick(self, at: Optional[datetime]) -> datetime:
        self.now = at if at is not None else self.now + timedelta(seconds=1)
        return self.now

    def entry(
        self,
        session_id: str,
        kind: str,
        at: Optional[datetime] = None,
        id: Optional[str] = None,
        **fields: Any,
    ) -> str:
        """Any entry: type, id, parentId, timestamp and the given fields."""
        at = self.tick(at)
        entry_id = self.new_id() if id is None else id
        entry = {
            "type": kind,
            "id": entry_id,
            "parentId": self._last.get(session_id),
            "timestamp": iso(at),
            **fields,
        }
        self._last[session_id] = entry_id
        self.append(session_id, {name: value for name, value in entry.items() if value != ""})
        return entry_id

    def message(
        self,
        session_id: str,
        role: str,
        content: Any,
        at: Optional[datetime] = None,
        id: Optional[str] = None,
        **extra: Any,
    ) -> str:
        """A message entry; `extra` are further fields of the message itself."""
        stamp = ms(at if at is not None else self.now + timedelta(seconds=1))
        message = {"role": role, "content": content, "timestamp": stamp, **extra}
        return self.entry(session_id, "message", at, id, message=message)

    def user(self, session_id: str, text: Any, at: Optional[datetime] = None, **extra: Any) -> str:
        return self.message(session_id, "user", text, at, **extra)

    def assistant(self, session_id: str, text: str, at: Optional[datetime] = None, **extra: Any) -> str:
        extra = {"provider": "test", "model": "test-1", "stopReason": "stop", **extra}
        return self.message(session_id, "assistant", [{"type": "text", "text": text}], at, **extra)

    def tool(self, session_id: str, output: str, name: str = "exec", at: Optional[datetime] = None) -> str:
        """A tool call by the assistant and its result."""
        call = {
            "type": "toolCall",
            "id": f"call_{self._count}",
            "name": name,
            "arguments": {"command": "run"},
        }
        self.message(
            session_id, "assistant", [call], at, provider="test", model="test-1", stopReason="toolUse"
        )
        return self.message(
            session_id,
            "toolResult",
            [{"type": "text", "text": output}],
            at,
            toolCallId=call["id"],
            toolName=name,
            isError=False,
        )


class JsonlStore(_Writer):
    """A sessions folder as OpenClaw keeps it up to 2026.7."""

    def __init__(self, folder: Path) -> None:
        super().__init__("")
        self.folder = folder
        self.index: "dict[str, dict[str, Any]]" = {}
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, session_id: str) -> Path:
        return self.folder / f"{session_id}.jsonl"

    def new_id(self) -> str:
        self._count += 1
        return f"{self._count:08x}"

    def start(
        self, session_id: str = SID, key: str = MAIN, at: Optional[datetime] = None, **index: Any
    ) -> str:
        """The session's first line, and its place in sessions.json (key "" for none). Returns the session id."""
        self.tick(at)
        self.raw(
            session_id, dump({"type": "session", "version": 3, "id": session_id, "timestamp": iso(self.now)})
        )
        if key:
            self.index[key] = {
                "sessionId": session_id,
                "sessionFile": str(self.path(session_id)),
                "updatedAt": ms(self.now),
                **index,
            }
            self.write_index()
        return session_id

    def write_index(self) -> None:
        (self.folder / "sessions.json").write_text(json.dumps(self.index), encoding="utf-8")

    def append(self, session_id: str, entry: "dict[str, Any]") -> None:
        self.raw(session_id, dump(entry))

    def raw(self, session_id: str, line: bytes, newline: bytes = b"\n") -> None:
        with open(self.path(session_id), "ab") as file:
            file.write(line + newline)

    def reset(self, session_id: str, new_id: str = "", key: str = MAIN) -> Path:
        """What /new does: the file is renamed, and the key goes on with `new_id`. Returns the new name."""
        stamp = iso(self.now).replace(":", "-")
        target = self.folder / f"{session_id}.jsonl.reset.{stamp}"
        self.path(session_id).rename(target)
        self.index.pop(key, None)
        self.write_index()
        if new_id:
            self.start(new_id, key)
        return target

    def delete(self, session_id: str) -> Path:
        stamp = iso(self.now).replace(":", "-")
        target = self.folder / f"{session_id}.jsonl.deleted.{stamp}"
        self.path(session_id).rename(target)
        return target


# The columns that matter of the real tables; STRICT and foreign keys are left out, since old SQLites lack the former.
_TABLES_19 = """
CREATE TABLE session_nodes (session_key TEXT NOT NULL PRIMARY KEY, current_session_id TEXT NOT NULL,
  entry_json TEXT NOT NULL, updated_at INTEGER NOT NULL, status TEXT, created_via TEXT, parent_session_key TEXT,
  spawned_by TEXT, fork_source_session_key TEXT, fork_source_session_id TEXT, fork_source_entry_id TEXT);
CREATE TABLE session_windows (session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL,
  previous_session_id TEXT, reason TEXT, session_scope TEXT NOT NULL DEFAULT 'conversation',
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, transcript_updated_at INTEGER DEFAULT NULL,
  chat_type TEXT, channel TEXT, parent_session_key TEXT, spawned_by TEXT, hook_external_content_source TEXT);
CREATE TABLE transcript_event_identities (session_id TEXT NOT NULL, event_id TEXT NOT NULL, seq INTEGER NOT NULL,
  event_type TEXT, parent_id TEXT, message_idempotency_key TEXT, created_at INTEGER NOT NULL,
  PRIMARY KEY (session_id, event_id));
"""
_EVENTS_19 = """
CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT NOT NULL,
  created_at INTEGER NOT NULL, PRIMARY KEY (session_id, seq));
"""
_EVENTS_23 = """
CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT,
  created_at INTEGER NOT NULL, event_zstd BLOB, event_utf8_bytes INTEGER, navigation_json TEXT,
  PRIMARY KEY (session_id, seq));
CREATE TABLE transcript_rewrite_watermarks (session_id TEXT NOT NULL PRIMARY KEY, generation TEXT NOT NULL,
  updated_at INTEGER NOT NULL);
CREATE TABLE session_transcript_index_state (session_id TEXT NOT NULL PRIMARY KEY, indexed_seq INTEGER NOT NULL,
  leaf_event_id TEXT, needs_rebuild INTEGER NOT NULL DEFAULT 0, active_event_count INTEGER NOT NULL DEFAULT 0,
  active_message_count INTEGER NOT NULL DEFAULT 0, updated_at INTEGER NOT NULL);
CREATE TABLE session_transcript_active_events (session_id TEXT NOT NULL, active_position INTEGER NOT NULL,
  event_seq INTEGER NOT NULL, message_position INTEGER, context_eligible INTEGER,
  PRIMARY KEY (session_id, active_position));
CREATE UNIQUE INDEX idx_active_seq ON session_transcript_active_events(session_id, event_seq);
CREATE TABLE memory_session_tombstones (session_id TEXT NOT NULL PRIMARY KEY, agent_id TEXT NOT NULL,
  reason TEXT NOT NULL, created_at INTEGER NOT NULL);
CREATE TABLE session_transcript_archives (session_id TEXT NOT NULL, generation TEXT NOT NULL,
  session_key TEXT NOT NULL, reason TEXT NOT NULL, encoding TEXT NOT NULL, archive_blob BLOB NOT NULL,
  archive_sha256 TEXT NOT NULL, archive_name TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL,
  PRIMARY KEY (session_id, generation));
CREATE TABLE session_transcript_cold_archives (session_id TEXT NOT NULL PRIMARY KEY, generation TEXT NOT NULL,
  archive_name TEXT NOT NULL UNIQUE, archive_sha256 TEXT NOT NULL, event_count INTEGER NOT NULL,
  raw_bytes INTEGER NOT NULL, archive_bytes INTEGER NOT NULL, last_seq INTEGER NOT NULL,
  archived_at INTEGER NOT NULL, storage TEXT NOT NULL, archive_blob BLOB);
"""
_COMPRESS_FROM = 1024  # bytes: 2026.9.6 compresses rows of at least 1 KiB


class SqliteStore(_Writer):
    """A per-agent store as OpenClaw keeps it since 2026.8.1 (schema 19) and 2026.9.6 (schema 23)."""

    def __init__(self, path: Path, schema: int = 23, wal: bool = True) -> None:
        super().__init__("")
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.schema = schema
        self.db = sqlite3.connect(str(path), isolation_level=None)
        self.db.execute(f"PRAGMA journal_mode={'WAL' if wal else 'DELETE'}")
        self.db.execute("PRAGMA synchronous=OFF")
        self.db.executescript(_TABLES_19 + (_EVENTS_19 if schema < 23 else _EVENTS_23))
        self.db.execute(f"PRAGMA user_version={schema}")

    def close(self) -> None:
        self.db.close()

    def __enter__(self) -> "SqliteStore":
        return self

    def __del__(self) -> None:
        self.db.close()  # a test that leaves that to Python gets a warning, or another test does

    def __exit__(self, *_: object) -> None:
        self.close()

    def new_id(self) -> str:
        self._count += 1
        return str(uuid.UUID(int=(0xABCDEF << 96) + (4 << 76) + (8 << 60) + self._count))

    def start(
        self,
        session_id: str = SID,
        key: str = MAIN,
        at: Optional[datetime] = None,
        created_via: Optional[str] = None,
        spawned_by: Optional[str] = None,
        previous: Optional[str] = None,
        reason: Optional[str] = None,
        chat_type: Optional[str] = "direct",
    ) -> str:
        """A window with its node and its first row. A second window under the same key is the key's current one."""
        now = ms(self.tick(at))
        self.db.execute(
            "INSERT OR REPLACE INTO session_nodes (session_key, current_session_id, entry_json, updated_at,"
            " created_via, spawned_by) VALUES (?,?,?,?,?,?)",
            (key, session_id, json.dumps({"sessionId": session_id}), now, created_via, spawned_by),
        )
        self.db.execute(
            "INSERT INTO session_windows (session_id, session_key, previous_session_id, reason, created_at,"
            " updated_at, transcript_updated_at, chat_type, spawned_by) VALUES (?,?,?,?,?,?,?,?,?)",
            (session_id, key, previous, reason, now, now, now, chat_type, spawned_by),
        )
        if self.schema >= 23:
            self.db.execute(
                "INSERT INTO transcript_rewrite_watermarks VALUES (?,?,?)", (session_id, "a" * 32, now)
            )
            self.db.execute(
                "INSERT INTO session_transcript_index_state VALUES (?,-1,NULL,0,0,0,?)", (session_id, now)
            )
        self.append(
            session_id,
            {"type": "session", "version": 4, "id": session_id, "timestamp": iso(self.now), "cwd": "/ws"},
        )
        return session_id

    def next_seq(self, session_id: str) -> int:
        row = self.db.execute(
            "SELECT max(seq) FROM transcript_events WHERE session_id=?", (session_id,)
        ).fetchone()
        return 0 if row[0] is None else int(row[0]) + 1

    def append(self, session_id: str, entry: "dict[str, Any]", active: bool = True) -> None:
        """One row and all that OpenClaw writes beside it, in one transaction."""
        if self.db.in_transaction:
            self._append(session_id, entry, active)
            return
        self.db.execute("BEGIN IMMEDIATE")
        self._append(session_id, entry, active)
        self.db.execute("COMMIT")

    def _append(self, session_id: str, entry: "dict[str, Any]", active: bool) -> None:
        seq, raw, now = self.next_seq(session_id), dump(entry), ms(self.now)
        self._insert(session_id, seq, entry, raw, now)
        if entry.get("id"):
            self.db.execute(
                "INSERT OR REPLACE INTO transcript_event_identities VALUES (?,?,?,?,?,NULL,?)",
                (session_id, entry["id"], seq, entry["type"], entry.get("parentId"), now),
            )
        self.db.execute(
            "UPDATE session_windows SET updated_at=?, transcript_updated_at=? WHERE session_id=?",
            (now, now, session_id),
        )
        if self.schema >= 23:
            self._index(session_id, seq, active and entry["type"] != "session")

    def reset(self, session_id: str = SID, reason: str = "new") -> str:
        """What /new does: an event, and the session goes on."""
        self._count += 1
        return self.entry(session_id, "reset", id=f"{self._count:08x}", reason=reason)

    def tombstone(self, session_id: str) -> None:
        self.db.execute(
            "INSERT INTO memory_session_tombstones VALUES (?,'main','deleted',?)", (session_id, ms(self.now))
        )

    def delete(self, session_id: str) -> None:
        """The session's rows go, and an archive of them stays."""
        for table in ("transcript_events", "transcript_event_identities", "session_windows"):
            self.db.execute(f"DELETE FROM {table} WHERE session_id=?", (session_id,))
        self.db.execute(
            "INSERT INTO session_transcript_archives VALUES (?,?,?,'deleted','identity',x'00',?,?,?)",
            (session_id, "d" * 32, MAIN, "0" * 64, f"{session_id}.jsonl.deleted.x.zst", ms(self.now)),
        )

    def rewrite(self, session_id: str, texts: "list[str]", generation: str = "b" * 32) -> None:
        """Another history takes the place of this one, in the same seqs and under a new generation."""
        self.db.execute("DELETE FROM transcript_events WHERE session_id=? AND seq>0", (session_id,))
        self.db.execute("DELETE FROM transcript_event_identities WHERE session_id=? AND seq>0", (session_id,))
        self.db.execute("DELETE FROM session_transcript_active_events WHERE session_id=?", (session_id,))
        self.db.execute(
            "UPDATE transcript_rewrite_watermarks SET generation=? WHERE session_id=?",
            (generation, session_id),
        )
        for text in texts:
            self.user(session_id, text)

    def fork(self, source: str, target: str, key: str = "agent:main:fork") -> None:
        """A copy of a session under another id, with the same entries."""
        self.start(target, key, previous=source, reason="fork")
        for seq, raw in self.db.execute(
            "SELECT seq, event_json FROM transcript_events WHERE session_id=? AND seq>0 ORDER BY seq",
            (source,),
        ).fetchall():
            assert raw is not None, f"row {seq} is compressed"
            self.append(target, json.loads(raw))

    def abandon(self, session_id: str, entry_id: str) -> None:
        """A rewind: the entry stays as a row and leaves the active path."""
        self.db.execute(
            "DELETE FROM session_transcript_active_events WHERE session_id=? AND event_seq IN"
            " (SELECT seq FROM transcript_event_identities WHERE session_id=? AND event_id=?)",
            (session_id, session_id, entry_id),
        )

    def freeze(self, session_id: str, to_file: Optional[Path] = None) -> None:
        """Cold storage: the rows become one compressed archive, in the store or in a file."""
        import zstandard

        rows = self.db.execute(
            "SELECT seq, event_json FROM transcript_events WHERE session_id=? ORDER BY seq", (session_id,)
        ).fetchall()
        raw = b"".join(text.encode() + b"\n" for _seq, text in rows)
        blob = zstandard.ZstdCompressor().compress(raw)
        name = f"{session_id}.jsonl.zst"
        if to_file is not None:
            to_file.mkdir(parents=True, exist_ok=True)
            (to_file / name).write_bytes(blob)
        self.db.execute(
            "INSERT INTO session_transcript_cold_archives VALUES (?,?,?,?,?,?,?,?,?,?,?)",
            (
                session_id, "a" * 32, name, "0" * 64, len(rows), len(raw), len(blob), rows[-1][0], ms(self.now),
                "file" if to_file else "sqlite", None if to_file else blob,
            ),
        )  # fmt: skip
        self.db.execute("DELETE FROM transcript_events WHERE session_id=?", (session_id,))

    def _insert(self, session_id: str, seq: int, entry: "dict[str, Any]", raw: bytes, now: int) -> None:
        if self.schema < 23:
            self.db.execute(
                "INSERT INTO transcript_events VALUES (?,?,?,?)", (session_id, seq, raw.decode("utf-8"), now)
            )
            return
        packed = _packed(raw)
        if packed is None:
            self.db.execute(
                "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES (?,?,?,?)",
                (session_id, seq, raw.decode("utf-8"), now),
            )
            return
        self.db.execute(
            "INSERT INTO transcript_events VALUES (?,?,NULL,?,?,?,?)",
            (session_id, seq, now, packed, len(raw), _navigation(entry, len(raw))),
        )

    def _index(self, session_id: str, seq: int, active: bool) -> None:
        if active:
            self.db.execute(
                "INSERT INTO session_transcript_active_events SELECT ?, coalesce(max(active_position) + 1, 0), ?,"
                " NULL, 1 FROM session_transcript_active_events WHERE session_id=?",
                (session_id, seq, session_id),
            )
        self.db.execute(
            "UPDATE session_transcript_index_state SET indexed_seq=?, active_event_count="
            " (SELECT count(*) FROM session_transcript_active_events WHERE session_id=?) WHERE session_id=?",
            (seq, session_id, session_id),
        )


def _packed(raw: bytes) -> Optional[bytes]:
    """The row as a zstd frame, or None where OpenClaw leaves it as it is."""
    if not _COMPRESS_FROM <= len(raw) <= 4 << 20:
        return None
    import zstandard

    packed = zstandard.ZstdCompressor().compress(raw)
    return packed if len(packed) < len(raw) * 0.8 else None


def _navigation(entry: "dict[str, Any]", size: int) -> str:
    short = {name: entry.get(name) for name in ("type", "id", "parentId", "timestamp")}
    role = {"message": {"role": entry["message"]["role"]}} if "message" in entry else {}
    return json.dumps(
        {
            "version": 1,
            "report": {"kind": "canonical", "entry": short},
            "navigation": {**short, **role},
            "reset": {**short, **role},
            "model": {**short, **role},
            "modelBytes": size,
            "modelWithoutCheckpointBytes": size,
            "withoutCustomDataBytes": size,
        },
        separators=(",", ":"),
    )
