"""OpenClaw's SQLite store since 2026.8.1: read beside its writer, never written, each entry once."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _errors import BusyError, MissingPackage, SourceError, UnknownSession
from _transcripts import Cursor, Session, cursor_for, find_sessions, read_new, resolve, waiting
from _transcripts.sqlite import index_store
from test_transcripts_jsonl import PEAK, SCRIPTS, TURN
from transcript_builders import BEGIN, MAIN, SID, SID_2, SID_3, JsonlStore, SqliteStore, ms
from transcript_testing import all_texts, config_at, read_all, texts


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    return tmp_path / "agents" / "main"


@pytest.fixture(params=[19, 23])
def store(request: pytest.FixtureRequest, agent: Path) -> Iterator[SqliteStore]:
    with SqliteStore(agent / "agent" / "openclaw-agent.sqlite", request.param) as made:
        yield made


@pytest.fixture
def store_23(agent: Path) -> Iterator[SqliteStore]:
    with SqliteStore(agent / "agent" / "openclaw-agent.sqlite") as made:
        yield made


def sessions_of(agent: Path, cursors: "dict[str, Cursor] | None" = None) -> "list[Session]":
    return list(find_sessions(config_at(agent / "sessions"), cursors).sessions)


def only(agent: Path) -> Session:
    (session,) = sessions_of(agent)
    return session


def conversation(store: SqliteStore, session_id: str = SID, **start: str) -> "list[str]":
    """Machine turns, tools, a reset and long (in schema 23: compressed) messages; returns what was said."""
    long = "I went to the market and bought " + "apples and pears, " * 100
    store.start(session_id, **start)
    store.user(session_id, "I like mint tea.", __openclaw={"senderIsOwner": True})
    store.tool(session_id, "output " * 500)
    store.assistant(session_id, "Noted: mint tea.")
    store.user(session_id, "[OpenClaw heartbeat poll]", provenance={"kind": "internal_system"})
    store.assistant(session_id, "All is quiet. " * 200)
    store.user(session_id, long)
    store.reset(session_id)
    store.entry(session_id, "custom", customType="openclaw.cache-ttl", data={"note": "user" * 900})
    store.message(session_id, "custom", "", customType="openclaw.nested-tool.v1", details={"x": "y" * 2000})
    store.user(session_id, "Anna moves to Porto.")
    return ["I like mint tea.", "Noted: mint tea.", long.strip(), "Anna moves to Porto."]


def test_a_store_alone_is_read_in_both_schemas(store: SqliteStore, agent: Path) -> None:
    expected = conversation(store)
    session = only(agent)
    assert (session.source, session.session_key, session.end) == ("sqlite", MAIN, 11)
    assert texts(read_all(session)) == expected
    reading = read_new(session, None, 0)
    assert reading.end.position == session.end and reading.counts["machine"] == 2
    assert sessions_of(agent, {session.key: reading.end}) == []
    if store.schema == 23:
        packed = store.db.execute(
            "SELECT count(*) FROM transcript_events WHERE event_json IS NULL"
        ).fetchone()
        assert packed == (5,)


def test_the_source_is_named_and_the_bytes_stay(store: SqliteStore, agent: Path) -> None:
    conversation(store)
    store.close()
    path = store.path
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    listing = find_sessions(config_at(agent / "sessions"))
    assert listing.sources == (str(path),) and listing.found_any
    assert len(read_all(listing.sessions[0])) == 4
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before


def test_the_events_table_alone_is_enough(agent: Path) -> None:
    path = agent / "agent" / "openclaw-agent.sqlite"
    path.parent.mkdir(parents=True)
    db = sqlite3.connect(str(path))
    db.execute(
        "CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, created_at INTEGER,"
        " PRIMARY KEY (session_id, seq))"
    )
    for seq in range(5):
        entry = {
            "type": "message",
            "id": f"{seq}" * 8,
            "message": {"role": "user", "content": f"message {seq}"},
        }
        db.execute("INSERT INTO transcript_events VALUES (?,?,?,0)", (SID, seq, json.dumps(entry)))
    db.commit()
    db.close()
    session = only(agent)
    messages = read_all(session)
    assert texts(messages) == [f"message {n}" for n in range(5)]
    assert texts(read_all(session, messages[2].after)) == ["message 3", "message 4"]


@pytest.mark.parametrize("content", ["tables", "empty"])
def test_a_store_without_transcripts_is_passed_over_quietly(agent: Path, content: str) -> None:
    path = agent / "agent" / "openclaw-agent.sqlite"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    if content == "tables":
        db = sqlite3.connect(str(path))
        db.execute("CREATE TABLE auth_profile_store (id TEXT)")
        db.close()
    jsonl = JsonlStore(agent / "sessions")
    jsonl.start()
    jsonl.user(SID, "hello")
    listing = find_sessions(config_at(agent / "sessions"))
    assert listing.problems == () and listing.sources == (str(agent / "sessions"),)
    assert all_texts(agent / "sessions") == ["hello"]


def test_every_messages_cursor_goes_on_with_the_rest(store: SqliteStore, agent: Path) -> None:
    conversation(store)
    session = only(agent)
    messages = read_all(session)
    for index, message in enumerate(messages):
        assert Cursor.from_row(message.after.key, message.after.as_row()) == message.after
        reading = read_new(session, message.after, 0)
        assert list(reading.messages) == messages[index + 1 :] and not reading.rescanned


def test_several_windows_of_one_key_are_several_sessions(store: SqliteStore, agent: Path) -> None:
    store.start(SID)
    store.user(SID, "in the first window")
    store.start(SID_2, previous=SID, reason="rollover")
    store.user(SID_2, "in the second window")
    found = sessions_of(agent)
    assert [(s.session_id, s.session_key, s.may_repeat) for s in found] == [
        (SID, MAIN, False),
        (SID_2, MAIN, True),
    ]
    assert [texts(read_all(s)) for s in found] == [["in the first window"], ["in the second window"]]


def test_machine_sessions_are_told_by_key_origin_and_parent(store: SqliteStore, agent: Path) -> None:
    people = "00000000-0000-4000-8000-00000000000a"
    store.start(SID, "agent:main:cron:job", created_via="cron")
    store.start(SID_2, "agent:main:odd", created_via="spawn")
    store.start(SID_3, "agent:main:odd2", spawned_by=MAIN)
    store.start(people, "agent:main:run", created_via="run")
    assert {s.session_id: s.machine for s in sessions_of(agent)} == {
        SID: True, SID_2: True, SID_3: True, people: False,
    }  # fmt: skip


def test_group_sessions_trust_only_the_owner(store: SqliteStore, agent: Path) -> None:
    store.start(SID, "agent:main:telegram:group:-100", chat_type=None)
    store.user(SID, "from anyone")
    store.user(SID, "from the owner", __openclaw={"senderIsOwner": True})
    store.start(SID_2, "agent:main:room", chat_type="channel")
    store.user(SID_2, "from anyone else")
    assert [(m.text, m.trusted) for s in sessions_of(agent) for m in read_all(s)] == [
        ("from anyone", False),
        ("from the owner", True),
        ("from anyone else", False),
    ]


def test_tombstoned_and_deleted_sessions_are_never_read(store_23: SqliteStore, agent: Path) -> None:
    for session_id in (SID, SID_2, SID_3):
        store_23.start(session_id, f"agent:main:{session_id}")
        store_23.user(session_id, f"said in {session_id}")
    sessions = sessions_of(agent)
    store_23.tombstone(SID)
    store_23.delete(SID_2)
    jsonl = JsonlStore(agent / "sessions")
    for session_id in (SID, SID_2):
        jsonl.start(session_id)
        jsonl.user(session_id, "the copy in a file")
    assert all_texts(agent / "sessions") == [f"said in {SID_3}"]
    assert read_new(sessions[0], None, 0).messages == () and read_new(sessions[1], None, 0).messages == ()


def test_abandoned_branches_are_left_out_where_the_index_is_complete(
    store_23: SqliteStore, agent: Path
) -> None:
    store_23.start()
    store_23.user(SID, "first")
    wrong = store_23.user(SID, "taken back")
    store_23.user(SID, "second")
    store_23.abandon(SID, wrong)
    reading = read_new(only(agent), None, 0)
    assert texts(reading.messages) == ["first", "second"] and reading.counts["inactive"] == 1
    store_23.db.execute("UPDATE session_transcript_index_state SET indexed_seq=1")
    assert texts(read_all(only(agent))) == ["first", "taken back", "second"]
    store_23.db.execute("UPDATE session_transcript_index_state SET indexed_seq=9, needs_rebuild=1")
    assert texts(read_all(only(agent))) == ["first", "taken back", "second"]


def test_rewritten_history_is_read_from_its_start(store_23: SqliteStore, agent: Path) -> None:
    store_23.start()
    for number in range(5):
        store_23.user(SID, f"old {number}")
    end = read_new(only(agent), None, 0).end
    store_23.rewrite(SID, [f"new {number}" for number in range(5)])
    (session,) = sessions_of(agent, {end.key: end})
    reading = read_new(session, end, 0)
    assert reading.rescanned and texts(reading.messages) == [f"new {number}" for number in range(5)]
    assert reading.end.generation == "b" * 32
    assert sessions_of(agent, {end.key: reading.end}) == []


def test_rows_that_moved_are_found_by_the_entry_at_the_cursor(store: SqliteStore, agent: Path) -> None:
    store.start()
    for number in range(4):
        store.user(SID, f"message {number}")
    cursor = read_new(only(agent), None, 0).messages[1].after
    store.db.execute("UPDATE transcript_events SET seq = seq + 10 WHERE seq > 0")
    store.db.execute("UPDATE transcript_event_identities SET seq = seq + 10 WHERE seq > 0")
    reading = read_new(only(agent), cursor, 0)
    assert texts(reading.messages) == ["message 2", "message 3"] and not reading.rescanned


def test_a_cursor_whose_entry_is_gone_starts_over(store: SqliteStore, agent: Path) -> None:
    store.start()
    store.user(SID, "hello")
    reading = read_new(only(agent), Cursor("sqlite", SID, 77, "1234abcd"), 0)
    assert reading.rescanned and texts(reading.messages) == ["hello"]


def test_a_fork_repeats_the_same_uids(store: SqliteStore, agent: Path) -> None:
    store.start(SID)
    for number in range(3):
        store.user(SID, f"message {number}")
    store.fork(SID, SID_2)
    store.user(SID_2, "in the fork")
    first, fork = sessions_of(agent)
    assert (first.may_repeat, fork.may_repeat) == (False, True)
    seen = {m.uid for m in read_all(first)}
    assert [m.text for m in read_all(fork) if m.uid not in seen] == ["in the fork"]


def test_a_migration_goes_on_where_the_file_was_left(store: SqliteStore, agent: Path) -> None:
    jsonl = JsonlStore(agent / "sessions")
    jsonl.start()
    for number in range(20):
        jsonl.user(SID, f"message {number}")
    sessions = sessions_of(agent)
    in_file = read_all(sessions[0])
    half = in_file[9].after
    store.start(SID)
    for line in jsonl.path(SID).read_text(encoding="utf-8").splitlines()[1:]:
        store.append(SID, json.loads(line))
    both = {s.source: s for s in sessions_of(agent)}
    assert both["jsonl"].may_repeat and both["sqlite"].may_repeat
    assert [m.uid for m in read_all(both["sqlite"])] == [m.uid for m in in_file]
    jsonl.path(SID).unlink()
    store.user(SID, "after the migration")
    session = only(agent)
    cursor = cursor_for(session, {half.key: half})
    reading = read_new(session, cursor, 0)
    assert texts(reading.messages) == [*(f"message {n}" for n in range(10, 20)), "after the migration"]
    assert not reading.rescanned and reading.end.key == f"sqlite:{SID}"
    assert read_new(session, reading.end, 0).messages == ()


def test_reset_archives_that_a_migration_left_need_no_index(store: SqliteStore, agent: Path) -> None:
    jsonl = JsonlStore(agent / "sessions")
    jsonl.start(SID)
    jsonl.user(SID, "before the migration")
    jsonl.reset(SID)
    (agent / "sessions" / "sessions.json").unlink()
    store.start(SID_2)
    store.user(SID_2, "after the migration")
    assert find_sessions(config_at(agent / "sessions")).problems == ()
    assert sorted(all_texts(agent / "sessions")) == ["after the migration", "before the migration"]


def test_cold_storage_is_read_from_its_archive(store_23: SqliteStore, agent: Path) -> None:
    for session_id, key in ((SID, MAIN), (SID_2, "agent:main:two"), (SID_3, "agent:main:three")):
        store_23.start(session_id, key)
        store_23.user(session_id, "one")
        store_23.user(session_id, "two")
    middle = read_new(sessions_of(agent)[0], None, 0).messages[0].after
    store_23.freeze(SID)
    store_23.freeze(SID_2, agent / "sessions")
    store_23.freeze(SID_3, agent / "elsewhere")
    first, second, lost = sessions_of(agent)
    assert texts(read_all(first, middle)) == ["two"]
    assert texts(read_all(second)) == ["one", "two"]
    reading = read_new(lost, None, 0)
    assert reading.messages == () and "cold archive" in reading.problems[0].what
    done = read_new(first, None, 0).end
    assert SID not in [s.session_id for s in sessions_of(agent, {done.key: done})]


def test_a_damaged_compressed_row_is_a_problem_and_the_rest_is_read(
    store_23: SqliteStore, agent: Path
) -> None:
    store_23.start()
    store_23.user(SID, "long " * 1000)
    store_23.user(SID, "short")
    store_23.db.execute(
        "UPDATE transcript_events SET event_zstd = substr(event_zstd, 1, 20) WHERE event_zstd NOTNULL"
    )
    reading = read_new(only(agent), None, 0)
    assert texts(reading.messages) == ["short"] and reading.counts["broken"] == 1
    assert "row 1 could not be unpacked" in reading.problems[0].what


def test_a_big_plain_row_yields_its_sentence(store: SqliteStore, agent: Path) -> None:
    image = "aB3" * 1_500_000
    store.start()
    store.user(SID, [{"type": "image", "data": image}, {"type": "text", "text": "Look at my house"}])
    store.tool(SID, "noise " * 300_000)
    store.user(SID, "and my garden")
    store.db.execute("UPDATE transcript_events SET event_json = event_json")
    assert texts(read_all(only(agent))) == ["[image]\nLook at my house", "and my garden"]


# Beside a writer


def test_reading_beside_an_open_transaction_sees_what_is_committed(store: SqliteStore, agent: Path) -> None:
    store.start()
    store.user(SID, "committed")
    store.db.execute("BEGIN IMMEDIATE")
    store.user(SID, "not yet")
    session = only(agent)
    first = read_new(session, None, 0)
    assert texts(first.messages) == ["committed"]
    store.db.execute("COMMIT")
    assert texts(read_new(session, first.end, 0).messages) == ["not yet"]


def test_a_writer_at_work_loses_nothing(store: SqliteStore, agent: Path) -> None:
    store.start()
    path, schema = store.path, store.schema
    done = threading.Event()

    def write() -> None:
        writer = SqliteStore.__new__(SqliteStore)
        writer.__dict__.update(
            store.__dict__, db=sqlite3.connect(str(path), isolation_level=None, timeout=30)
        )
        for number in range(150):
            writer.user(SID, f"message {number} " + "x" * (schema * 50))
        writer.close()
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    found, cursor = [], None
    session = only(agent)
    while True:
        finished = done.is_set()
        reading = read_new(session, cursor, 0)
        assert not reading.problems and not reading.rescanned
        found.extend(reading.messages)
        cursor = reading.end
        if finished:
            break
    thread.join()
    assert [text.split()[1] for text in texts(found)] == [str(number) for number in range(150)]


def test_a_busy_store_is_a_problem_for_the_next_run(agent: Path) -> None:
    with SqliteStore(agent / "agent" / "openclaw-agent.sqlite", wal=False) as store:
        store.start()
        store.user(SID, "hello")
        session = only(agent)
        store.db.execute("BEGIN EXCLUSIVE")
        listing = find_sessions(config_at(agent / "sessions"))
        assert listing.sessions == () and listing.found_any and "busy" in listing.problems[0].what
        reading = read_new(session, None, 0)
        assert reading.messages == () and reading.end.position == -1 and "busy" in reading.problems[0].what
        store.db.execute("ROLLBACK")
        assert texts(read_all(session)) == ["hello"]


def damaged(path: Path, damage: str) -> None:
    """What is there of a store once this has happened to it."""
    whole = path.read_bytes()
    place = whole.index(b"CREATE TABLE transcript_events") + 8
    path.write_bytes(
        {
            "text": b"this is no database " * 500,
            "cut": whole[:8192],
            "definition": whole[:place] + b"\xff" + whole[place + 1 :],
        }[damage]
    )


@pytest.mark.parametrize("damage", ["text", "cut", "definition"])
def test_a_damaged_store_does_not_hide_the_folder(agent: Path, damage: str) -> None:
    path = agent / "agent" / "openclaw-agent.sqlite"
    with SqliteStore(path, wal=False) as store:
        conversation(store)
    damaged(path, damage)
    files = JsonlStore(agent / "sessions")
    files.start(SID_2)
    files.user(SID_2, "hello")
    listing = find_sessions(config_at(agent / "sessions"))
    assert [session.session_id for session in listing.sessions] == [SID_2]
    (problem,) = listing.problems
    assert problem.waits and "cannot be read" in problem.what and str(path) in listing.sources


@pytest.mark.parametrize("damage", ["text", "cut", "definition"])
def test_a_damaged_store_is_an_error_not_an_empty_answer(agent: Path, damage: str) -> None:
    path = agent / "agent" / "openclaw-agent.sqlite"
    with SqliteStore(path, wal=False) as store:
        conversation(store)
    damaged(path, damage)
    with pytest.raises(SourceError, match="cannot be read"):
        find_sessions(config_at(agent / "sessions"))


def left_by_a_migration(agent: Path, *session_ids: str, index: bool = False) -> None:
    files = JsonlStore(agent / "sessions")
    for session_id in session_ids:
        files.start(session_id, f"agent:main:{session_id}" if index else "")
        files.user(session_id, f"the copy of {session_id} in a file")


@pytest.mark.parametrize("seen_before", [True, False], ids=["rows seen before", "no sessions.json"])
@pytest.mark.parametrize("how", ["busy", "text", "definition"])
def test_while_the_store_is_out_of_reach_what_it_may_have_deleted_waits(
    agent: Path, how: str, seen_before: bool
) -> None:
    config = config_at(agent / "sessions")
    with SqliteStore(agent / "agent" / "openclaw-agent.sqlite", wal=False) as store:
        store.start(SID_3)
        store.tombstone(SID)
        left_by_a_migration(agent, SID, SID_2, index=seen_before)
        cursor = read_new(next(s for s in sessions_of(agent) if s.source == "sqlite"), None, 0).end
        cursors = {cursor.key: cursor} if seen_before else {}
        whole = store.path.read_bytes()
        if how == "busy":
            store.db.execute("BEGIN EXCLUSIVE")
        else:
            damaged(store.path, how)
        listing = find_sessions(config, cursors)
        assert listing.sessions == () and listing.stems == {SID, SID_2}
        store_problem, folder_problem = listing.problems
        assert store_problem.waits and folder_problem.waits
        assert (
            folder_problem.where == str(config.sessions_dir)
            and "2 of its transcripts wait" in folder_problem.what
        )
        for name in (SID, SID_2):
            with pytest.raises(BusyError if how == "busy" else SourceError) as caught:
                resolve(config, name)
            assert str(store.path) in str(caught.value)
        if how == "busy":
            store.db.execute("ROLLBACK")
        else:
            store.path.write_bytes(whole)
    assert [s.session_id for s in find_sessions(config, cursors).sessions if s.source == "jsonl"] == [SID_2]
    with pytest.raises(UnknownSession):
        resolve(config, SID)


def test_what_could_not_be_looked_at_is_not_told_as_unknown(agent: Path) -> None:
    with SqliteStore(agent / "agent" / "openclaw-agent.sqlite", wal=False) as store:
        conversation(store)
    damaged(store.path, "text")
    left_by_a_migration(agent, SID_2, index=True)
    with pytest.raises(SourceError, match="cannot be read"):
        resolve(config_at(agent / "sessions"), SID)


@pytest.mark.parametrize("damage", ["text", "cut"])
def test_a_damaged_store_is_told_as_a_store_with_what_to_do(agent: Path, damage: str) -> None:
    with SqliteStore(agent / "agent" / "openclaw-agent.sqlite", wal=False) as store:
        conversation(store)
    damaged(store.path, damage)
    left_by_a_migration(agent, SID_2, index=True)
    error = waiting(find_sessions(config_at(agent / "sessions")).problems)
    assert isinstance(error, SourceError) and not isinstance(error, BusyError)
    assert str(error).startswith(f"the store {store.path} cannot be read") and "transcripts" not in str(error)
    assert "openclaw doctor" in error.hint and "the next run tries again" in error.hint


def test_damaged_rows_hide_neither_the_folder_nor_other_sessions(agent: Path) -> None:
    with SqliteStore(agent / "agent" / "openclaw-agent.sqlite", schema=19, wal=False) as store:
        store.start(SID)
        for number in range(40):
            store.user(SID, f"{number} is a number " + "and on " * 300)
        store.start(SID_2, "agent:main:two")
        store.user(SID_2, "hello")
    left_by_a_migration(agent, SID_3)
    whole = store.path.read_bytes()
    place = whole.index(b"20 is a number") // 4096 * 4096
    store.path.write_bytes(whole[:place] + b"\xff" * 4096 + whole[place + 4096 :])
    told = {s.session_id: read_new(s, None, 0) for s in sessions_of(agent)}
    (problem,) = told[SID].problems
    assert problem.waits and not problem.busy and "openclaw doctor" in problem.hint
    assert (told[SID].messages, told[SID].end.position, told[SID].more) == ((), -1, False)
    assert texts(told[SID_2].messages) == ["hello"]
    assert texts(told[SID_3].messages) == [f"the copy of {SID_3} in a file"]


def test_a_wal_that_goes_while_the_store_is_opened_stops_nothing(agent: Path) -> None:
    with SqliteStore(agent / "agent" / "openclaw-agent.sqlite") as store:
        store.start()
        store.user(SID, "hello")
    wal, exists, connect = store.path.with_name(store.path.name + "-wal"), Path.exists, sqlite3.connect

    class Unwritable(sqlite3.Connection):
        """As in a folder where nothing may be created."""

        def execute(self, *_: Any) -> Any:
            raise sqlite3.OperationalError("unable to open database file")

    def connected(database: str, **options: Any) -> sqlite3.Connection:
        return connect(database, **options, **({} if "immutable" in database else {"factory": Unwritable}))

    def was_there(path: Path) -> bool:
        return path == wal or exists(path)

    with mock.patch("sqlite3.connect", connected), mock.patch.object(Path, "exists", was_there):
        index = index_store(store.path, lambda brief: True)
    assert index is not None and index.ids == {SID} and not exists(wal)


def test_paths_with_every_kind_of_character(tmp_path: Path) -> None:
    agent = tmp_path / "a b?mode=rw#x%20'\"é中" / "agents" / "main"
    with SqliteStore(agent / "agent" / "openclaw-agent.sqlite") as store:
        store.start()
        store.user(SID, "hello")
        assert all_texts(agent / "sessions") == ["hello"]


def test_a_session_is_found_by_id_key_and_marker(store: SqliteStore, agent: Path, tmp_path: Path) -> None:
    store.start(SID)
    store.user(SID, "hello")
    store.start(SID_2, previous=SID, reason="rollover")
    config = config_at(agent / "sessions")
    marker = f"sqlite:main:{SID}:{agent}/sessions/sessions.json"
    for name in (SID, marker, str(agent / "sessions" / f"{SID}.jsonl")):
        assert [s.session_id for s in resolve(config, name)] == [SID], name
    assert [s.session_id for s in resolve(config, MAIN)] == [SID, SID_2]
    elsewhere = config_at(tmp_path / "agents" / "other" / "sessions")
    assert [s.session_id for s in resolve(elsewhere, marker)] == [SID]


def test_only_what_is_new_is_listed(store: SqliteStore, agent: Path) -> None:
    store.start(SID, at=BEGIN)
    store.user(SID, "old", at=BEGIN)
    store.start(SID_2, "agent:main:two", at=BEGIN + timedelta(hours=2))
    store.user(SID_2, "new", at=BEGIN + timedelta(hours=2))
    listing = find_sessions(config_at(agent / "sessions"), {}, ms(BEGIN + timedelta(hours=1)))
    assert [s.session_id for s in listing.sessions] == [SID_2] and listing.counts["older"] == 1
    assert (listing.stems, listing.row_ids) == (set(), {SID, SID_2})


def test_a_row_of_50_mb_is_read_in_little_memory(store: SqliteStore, agent: Path) -> None:
    store.start()
    store.user(SID, "before")
    parts = [{"type": "image", "data": "aB3/" * 12_500_000}, {"type": "text", "text": "Look at my house"}]
    store.user(SID, parts)
    store.user(SID, "after")
    store.close()
    program = PEAK + (
        "import json, sys\n"
        "from pathlib import Path\n"
        "from _transcripts import Session, read_new\n"
        f"session = Session('sqlite', '{SID}', 'agent:main:main', Path(sys.argv[1]), 3, 0)\n"
        "reading = read_new(session, None, 0)\n"
        "print(json.dumps([[m.text for m in reading.messages], peak()]))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(store.path)],
        env={**os.environ, "PYTHONPATH": str(SCRIPTS)},
        stdout=subprocess.PIPE,
        check=True,
    )
    said, peak = json.loads(run.stdout)
    assert said == ["before", "[image]\nLook at my house", "after"]
    assert peak < 150_000_000


@settings(max_examples=40, deadline=None)
@given(turns=st.lists(TURN, max_size=20), max_chars=st.integers(1, 200), schema=st.sampled_from([19, 23]))
def test_reading_in_any_steps_gives_the_same_messages(
    turns: "list[tuple[str, str]]", max_chars: int, schema: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        agent = Path(name) / "agents" / "main"
        with SqliteStore(agent / "agent" / "openclaw-agent.sqlite", schema) as store:
            store.start()
            for kind, text in turns:
                if kind != "raw":
                    getattr(store, kind)(SID, text.encode("utf-8", "replace").decode() * 30)
            session = only(agent)
            at_once = read_new(session, None, 0, max_chars=10**9)
            assert read_all(session, max_chars=max_chars) == list(at_once.messages)
            assert replace(at_once.end, entry_id="").position == session.end


def test_compressed_rows_without_the_package_name_it(
    store_23: SqliteStore, agent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_23.start()
    store_23.user(SID, "long " * 1000)
    session = only(agent)
    for name in ("zstandard", "compression"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackage, match="zstandard"):
        read_new(session, None, 0)
