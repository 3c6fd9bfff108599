"""Counting what is new in transcripts: whole lines of files, rows of the store, of main sessions only."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _errors import SourceError
from _transcripts import find_sessions
from _transcripts.sqlite import StoreBusy
from _watch.keys import Keys
from _watch.lines import FolderLines
from _watch.rows import StoreRows
from _watch.seen import Seen
from transcript_builders import SID, SID_2, SID_3, JsonlStore, SqliteStore
from transcript_testing import config_at

OTHER = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def store(tmp_path: Path) -> JsonlStore:
    return JsonlStore(tmp_path / "sessions")


def begun(store: JsonlStore) -> FolderLines:
    """A count that has noted what is there."""
    lines = FolderLines(store.folder)
    assert lines.look() == Seen()
    return lines


def names(*sessions: str) -> "set[str]":
    return {f"{session}.jsonl" for session in sessions}


# Files ---------------------------------------------------------------------------------------------------------------


def test_a_hundred_thousand_lines_in_odd_pieces_are_counted_exactly(store: JsonlStore) -> None:
    dice = random.Random(3)
    store.start()
    lines = begun(store)
    text = b"".join(b"x" * dice.randrange(60) + b"\n" for _ in range(100_000))
    at, counted = 0, 0
    with open(store.path(SID), "ab", buffering=0) as file:
        while at < len(text):
            piece = text[at : at + dice.choice((1, 7, 1_000, 99_999))]
            at += file.write(piece)
            counted += lines.look_at(names(SID)).lines
    assert counted == 100_000


def test_a_line_counts_when_its_newline_is_there(store: JsonlStore) -> None:
    store.start()
    store.raw(SID, b'{"half":', newline=b"")
    lines = begun(store)
    assert lines.look_at(names(SID)).lines == 0
    store.raw(SID, b"1}")
    assert lines.look_at(names(SID)).lines == 1
    assert lines.look().lines == 0


def test_a_file_that_was_cut_off_is_counted_from_its_start(store: JsonlStore) -> None:
    store.start()
    store.user(SID, "one")
    lines = begun(store)
    os.truncate(store.path(SID), 0)
    store.raw(SID, b"{}")
    assert lines.look_at(names(SID)).lines == 1


def test_a_file_written_anew_to_more_than_its_old_size_is_counted_from_its_start(store: JsonlStore) -> None:
    store.start()
    lines = begun(store)
    store.user(SID, "one")
    assert lines.look_at(names(SID)).lines == 1
    with open(store.path(SID), "r+b") as file:  # copied away and cut off, as log rotation does it
        file.truncate(0)
    for number in range(20):
        store.user(SID, f"number {number}")
    assert lines.look_at(names(SID)).lines == 20


def test_another_file_under_the_same_name_is_counted_from_its_start(store: JsonlStore) -> None:
    store.start()
    lines = begun(store)
    path = store.path(SID)
    new = path.with_suffix(".new")
    new.write_bytes(path.read_bytes() + b"{}\n{}\n")
    new.replace(path)
    assert lines.look_at(names(SID)).lines == 3


def test_a_file_that_was_removed_in_between_is_new_even_with_the_same_start(store: JsonlStore) -> None:
    store.start()
    lines = begun(store)
    with open(store.path(SID), "ab") as file:
        file.write(b"{}\n")
    assert lines.look_at(names(SID), gone=names(SID)).lines == 2


def test_what_is_no_live_transcript_does_not_count(store: JsonlStore) -> None:
    store.start()
    lines = begun(store)
    for name in (
        f"{SID}.trajectory.jsonl",
        f"{SID}.jsonl.deleted.2026-11-30T08-00-00.000Z",
        f"{SID}.jsonl.lock",
        "notes.jsonl",
        "sessions.json",
    ):
        (store.folder / name).write_bytes(b"{}\n{}\n")
    (store.folder / "0f0e0d0c-0b0a-4987-8654-321000000008.jsonl").mkdir()
    os.mkfifo(store.folder / "0f0e0d0c-0b0a-4987-8654-321000000009.jsonl")
    assert lines.look() == Seen()
    assert lines.look_at(os.listdir(store.folder)) == Seen()


def test_a_transcript_of_another_name_counts_when_it_says_that_it_is_one(store: JsonlStore) -> None:
    lines = begun(store)
    store.start("telegram-42", "")
    store.start(f"{SID}-topic-7", "")
    assert lines.look().lines == 2


def test_a_reset_is_noticed_once_and_its_lines_do_not_count(store: JsonlStore) -> None:
    store.start(OTHER, "agent:main:old")
    store.reset(OTHER)
    store.start()
    lines = begun(store)
    store.user(SID, "late")
    name = store.reset(SID).name
    assert lines.look_at({name, f"{SID}.jsonl"}) == Seen(0, 1)
    assert lines.look() == Seen()


def test_sessions_of_machines_do_not_count(store: JsonlStore) -> None:
    store.start()
    store.start(SID_2, "agent:main:subagent:1")
    store.start(SID_3, "agent:main:helper", spawnedBy="agent:main:main")
    lines = begun(store)
    for session in (SID, SID_2, SID_3):
        store.user(session, "hello")
    assert lines.look().lines == 1


def test_a_session_that_turns_out_to_be_a_machines_is_taken_back(store: JsonlStore) -> None:
    lines = begun(store)
    store.start(SID_2, "")  # the file is there before sessions.json tells of it
    store.user(SID_2, "hello")
    assert lines.look().lines == 2
    store.index["agent:main:cron:job"] = {"sessionId": SID_2}
    store.write_index()
    assert lines.look_at({"sessions.json"}).lines == -2
    store.user(SID_2, "more")
    assert lines.look().lines == 0


def test_ten_thousand_old_files_are_not_read(store: JsonlStore) -> None:
    for number in range(300):
        (store.folder / f"0f0e0d0c-0b0a-4987-8654-{number:012d}.jsonl").write_bytes(b"{}\n")
    lines = FolderLines(store.folder)
    with mock.patch("builtins.open", side_effect=AssertionError("a file was opened")):
        lines.look()
        assert lines.look() == Seen()


def test_a_folder_that_is_not_there_is_empty_and_what_comes_then_is_new(tmp_path: Path) -> None:
    lines = FolderLines(tmp_path / "sessions")
    assert lines.look() == Seen()
    JsonlStore(tmp_path / "sessions").start()
    assert lines.look().lines == 1


def test_a_folder_that_cannot_be_listed_is_not_taken_for_an_empty_one(store: JsonlStore) -> None:
    store.start()
    lines = begun(store)
    refused = mock.patch("os.scandir", side_effect=PermissionError(13, "Permission denied"))
    with refused, pytest.raises(SourceError, match="cannot be listed: Permission denied"):
        lines.look()
    store.user(SID, "one")
    assert lines.look().lines == 1


def test_a_file_that_cannot_be_read_is_told_and_does_not_hide_the_others(store: JsonlStore) -> None:
    store.start()
    store.start(SID_2, "agent:main:two")
    lines = begun(store)
    store.user(SID, "one")
    store.user(SID_2, "two")
    honest = open

    def locked(path: Any, *args: Any, **kwargs: Any) -> Any:
        if os.path.basename(path) == f"{SID_2}.jsonl":
            raise PermissionError(13, "Permission denied")
        return honest(path, *args, **kwargs)

    with mock.patch("builtins.open", locked):
        seen = lines.look()
    assert seen.lines == 1
    assert seen.problem.endswith(f"{SID_2}.jsonl cannot be read: Permission denied")
    assert lines.look() == Seen(1)


@pytest.mark.parametrize("target", [f"{SID_2}.jsonl", "x" * 300], ids=["to itself", "to no possible name"])
def test_a_link_that_leads_nowhere_is_told_and_does_not_hide_the_others(
    store: JsonlStore, target: str
) -> None:
    store.start()
    os.symlink(target, store.path(SID_2))
    lines = FolderLines(store.folder)
    name = f"{SID_2}.jsonl cannot be read: "
    assert name in lines.look().problem
    store.user(SID, "one")
    seen = lines.look()
    assert (seen.lines, name in seen.problem) == (1, True)
    store.user(SID, "two")
    seen = lines.look_at(names(SID, SID_2))
    assert (seen.lines, name in seen.problem) == (1, True)
    store.path(SID_2).unlink()
    assert lines.look() == Seen()


def test_what_is_not_known_yet_asks_for_sessions_json_once_in_a_look(store: JsonlStore) -> None:
    store.start()
    lines = begun(store)
    for number in range(20):
        store.start(f"0f0e0d0c-0b0a-4987-8654-{number:012d}", "")
    asked: "list[Path]" = []
    with mock.patch("_watch.keys.stamp", side_effect=asked.append):
        assert lines.look().lines == 20
        assert len(asked) == 1
        store.user(SID, "one")
        assert lines.look().lines == 1
    assert len(asked) == 2


def test_lines_of_a_session_that_was_deleted_are_not_kept_to_be_taken_back(store: JsonlStore) -> None:
    lines = begun(store)
    for session in (SID, SID_2):
        store.start(session, "")
    assert lines.look().lines == 2
    store.delete(SID)
    assert lines.look_at({store.path(SID).name}, gone=names(SID)) == Seen()
    store.delete(SID_2)
    assert lines.look() == Seen()
    store.index = {f"agent:main:cron:{name}": {"sessionId": name} for name in (SID, SID_2)}
    store.write_index()
    assert lines.look_at({"sessions.json"}) == Seen()


def test_a_poll_with_nothing_new_does_not_list_the_folder(store: JsonlStore) -> None:
    store.start()
    lines = FolderLines(store.folder)
    for _ in range(3):
        lines.look_if_changed()
    with mock.patch("os.scandir", side_effect=AssertionError("the folder was listed")):
        assert lines.look_if_changed() == Seen()
        with open(store.path(SID), "ab") as file:
            file.write(b"{}\n")
        assert lines.look_if_changed() == Seen(1)
    store.reset(SID, SID_2)
    assert lines.look_if_changed() == Seen(1, 1)


def test_a_poll_does_not_miss_what_came_in_the_same_tick_of_the_clock_as_the_last_look(
    store: JsonlStore,
) -> None:
    lines = FolderLines(store.folder)
    lines.look_if_changed()
    before = os.stat(store.folder)
    store.start()
    os.utime(store.folder, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert lines.look_if_changed() == Seen(1)


# sessions.json -------------------------------------------------------------------------------------------------------


def test_sessions_json_is_read_in_pieces_of_any_size(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    deep = {"sessionId": OTHER, "spawnedBy": "x", "text": 'a "quote" \\ {"spawnedBy":"y"} ][ ü'}
    content = {
        "agent:main:main": {"report": [deep, [deep]], "sessionId": SID, "spawnedBy": None},
        'agent:main:cron:"ü\\': {"sessionId": "x", "sessionFile": f"/s/{SID_2}-topic-7.jsonl", "list": []},
        "agent:main:helper": {"spawnedBy": "agent:main:main", "nested": {"a": {}}, "sessionId": SID_3},
        "agent:main:text": "no entry",
    }
    for indent in (None, 2):
        path.write_text(json.dumps(content, indent=indent, ensure_ascii=indent is None), encoding="utf-8")
        for size in (1, 2, 3, 5, 17, 64, 100_000):
            with mock.patch("_watch.keys._PIECE", size):
                keys = Keys(path)
                found = [keys.is_machine(name) for name in (SID, f"{SID_2}-topic-7", SID_3, OTHER, "x")]
            assert found == [False, True, True, None, True], (indent, size)


PREFIXES = ("main", "telegram:direct:7", "cron:job", "subagent:x", "heartbeat", "hook:y", "x:group:cron")
FILES = (
    "/home/me/.openclaw/agents/main/sessions/{}.jsonl",
    "C:\\agents\\{}-topic-7.jsonl",
    "{}.trajectory.jsonl",
    "sqlite:main:{}:/home/me/agent/openclaw-agent.sqlite",
    "",
    None,
)
ENTRIES = st.dictionaries(
    st.sampled_from([f"agent:main:{prefix}" for prefix in PREFIXES]),
    st.one_of(
        st.none(),
        st.fixed_dictionaries(
            {},
            optional={
                "sessionId": st.sampled_from([SID, SID_2, SID_3, "telegram-42", "", None]),
                "sessionFile": st.builds(
                    lambda file, name: file and file.format(name),
                    st.sampled_from(FILES),
                    st.sampled_from([SID, SID_2, "telegram-42"]),
                ),
                "spawnedBy": st.sampled_from(["", None, "agent:main:main"]),
                "skills": st.just({"prompt": '"sessionId":"x"', "list": [{"spawnedBy": "y"}]}),
            },
        ),
    ),
)


@settings(max_examples=60)
@given(ENTRIES)
def test_sessions_json_says_the_same_to_the_watcher_as_to_the_observer(entries: "dict[str, Any]") -> None:
    stems = (SID, SID_2, SID_3, f"{SID}-topic-7", f"{SID_2}-topic-7", "telegram-42", "telegram-42-topic-7")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for stem in stems:
            (folder / f"{stem}.jsonl").write_bytes(b'{"type":"session"}\n')
        (folder / "sessions.json").write_text(json.dumps(entries), encoding="utf-8")
        listed = {one.session_id: one.machine for one in find_sessions(config_at(folder)).sessions}
        keys = Keys(folder / "sessions.json")
        for stem in listed:
            assert bool(keys.is_machine(stem)) is listed[stem], stem
        # One whose name is no uuid is a transcript when sessions.json names it.
        assert {stem for stem in stems if keys.is_machine(stem) is not None} <= set(listed)


def test_a_session_under_a_person_s_key_as_well_is_no_machine_s(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    path.write_text(
        json.dumps({"agent:main:cron:a": {"sessionId": SID}, "agent:main:main": {"sessionId": SID}})
    )
    assert Keys(path).is_machine(SID) is False


@pytest.mark.parametrize("content", [b"", b"null", b"[1, 2]", b'{"a":', b"\xff\xfe", b'"' * 1001])
def test_a_broken_sessions_json_says_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "sessions.json"
    path.write_bytes(content)
    assert Keys(path).is_machine(SID) is None


def test_sessions_json_is_read_again_only_when_it_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    path.write_text(json.dumps({"agent:main:main": {"sessionId": SID}}))
    keys = Keys(path)
    assert keys.is_machine(SID) is False
    with mock.patch("builtins.open", side_effect=AssertionError("it was opened")):
        assert keys.is_machine(SID_2) is None
    path.write_text(json.dumps({"agent:main:cron:a": {"sessionId": SID_2}}))
    assert keys.is_machine(SID_2) is True


# The store -----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=[19, 23])
def rows(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    with SqliteStore(tmp_path / "agent" / "openclaw-agent.sqlite", schema=request.param) as found:
        yield found


def counted(store: SqliteStore) -> StoreRows:
    found = StoreRows(store.path)
    assert found.look() == Seen()
    return found


def test_new_rows_are_counted_and_those_of_machines_are_not(rows: SqliteStore) -> None:
    rows.start()
    rows.start(SID_2, "agent:main:cron:job", created_via="cron")
    count = counted(rows)
    rows.user(SID, "one")
    rows.user(SID_2, "two")
    rows.start(SID_3, "agent:main:telegram:direct:7")
    assert count.look() == Seen(2)
    assert count.look() == Seen()


def test_a_hundred_thousand_rows_are_counted_exactly(rows: SqliteStore) -> None:
    rows.start()
    count, found = counted(rows), 0
    for piece in (1, 9_999, 90_000):
        first = rows.next_seq(SID)
        rows.db.execute("BEGIN")
        rows.db.executemany(
            "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES (?,?,'{}',0)",
            ((SID, seq) for seq in range(first, first + piece)),
        )
        rows.db.execute("COMMIT")
        found += count.look().lines
    assert found == 100_000


def test_seqs_that_were_left_out_do_not_count(rows: SqliteStore) -> None:
    rows.start()
    count = counted(rows)
    rows.db.execute(
        "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES (?,90,'{}',0)", (SID,)
    )
    assert count.look() == Seen(1)


def test_a_reset_row_is_noticed_once_and_a_quoted_one_is_not(rows: SqliteStore) -> None:
    rows.start()
    rows.reset(SID)
    count = counted(rows)
    rows.user(SID, 'I wrote {"type":"reset"} there.')
    rows.entry(SID, "custom", data={"type": "reset"})
    assert count.look() == Seen(2)
    rows.reset(SID, reason="idle")
    assert count.look() == Seen(1, 1)
    assert count.look() == Seen()


def test_a_reset_of_a_machine_s_session_is_none(rows: SqliteStore) -> None:
    rows.start(SID, "agent:main:subagent:1", spawned_by="agent:main:main")
    count = counted(rows)
    rows.reset(SID)
    assert count.look() == Seen()


def test_a_history_that_became_shorter_is_counted_anew(rows: SqliteStore) -> None:
    rows.start()
    for number in range(9):
        rows.user(SID, f"number {number}")
    count = counted(rows)
    rows.db.execute("DELETE FROM transcript_events WHERE session_id=? AND seq>4", (SID,))
    assert count.look() == Seen(5)


def test_a_store_that_appears_later_is_all_new(tmp_path: Path) -> None:
    path = tmp_path / "agent" / "openclaw-agent.sqlite"
    count = StoreRows(path)
    assert count.look() == Seen()
    with SqliteStore(path) as rows:
        rows.start()
        rows.user(SID, "one")
        assert count.look() == Seen(2)


def test_another_store_under_the_same_name_is_all_new(tmp_path: Path) -> None:
    path = tmp_path / "agent" / "openclaw-agent.sqlite"
    with SqliteStore(path) as rows:
        rows.start()
        count = counted(rows)
    path.rename(path.with_name("aside"))
    with SqliteStore(path) as rows:
        rows.start()
        rows.user(SID, "one")
        assert count.look() == Seen(2)


def test_a_store_without_transcripts_has_none(tmp_path: Path) -> None:
    path = tmp_path / "openclaw-agent.sqlite"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE auth (a)")
    database.commit()
    database.close()
    assert StoreRows(path).look() == Seen()


def test_what_a_busy_store_hid_is_found_by_the_next_look(rows: SqliteStore) -> None:
    rows.start()
    count = counted(rows)
    rows.user(SID, "one")
    with mock.patch("_watch.rows.opened", side_effect=StoreBusy("busy")), pytest.raises(StoreBusy):
        count.look()
    assert count.look() == Seen(1)


def test_a_row_that_is_no_utf8_does_not_hide_the_others(rows: SqliteStore) -> None:
    rows.start()
    count = counted(rows)
    rows.db.execute(
        "INSERT INTO transcript_events (session_id, seq, event_json, created_at)"
        " VALUES (?,1,CAST(x'7B2274797065223A227265736574FF227D' AS TEXT),0)",
        (SID,),
    )
    rows.reset(SID)
    assert count.look() == Seen(2, 1)


def test_a_poll_opens_the_store_only_when_its_files_have_changed(rows: SqliteStore) -> None:
    rows.start()
    count = StoreRows(rows.path)
    for _ in range(3):
        count.look_if_changed()
    with mock.patch("_watch.rows.index_store", side_effect=AssertionError("the store was opened")):
        assert count.look_if_changed() == Seen()
    rows.user(SID, "one")
    assert count.look_if_changed() == Seen(1)


def test_reading_leaves_no_trace_that_would_wake_the_reader(rows: SqliteStore) -> None:
    inotify_simple = pytest.importorskip("inotify_simple")
    rows.start()
    count = counted(rows)
    rows.close()
    inotify = inotify_simple.INotify()
    flags = inotify_simple.flags
    inotify.add_watch(rows.path.parent, flags.MODIFY | flags.MOVED_TO | flags.MOVED_FROM)
    count.look()
    written = {event.name for event in inotify.read(timeout=0)}
    inotify.close()
    assert written & {rows.path.name, rows.path.name + "-wal"} == set()
