"""The JSONL transcripts of OpenClaw up to 2026.7: which files count, and reading them exactly once."""

from __future__ import annotations

import base64
import errno
import json
import os
import random
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _errors import ConfigError, SourceError
from _transcripts import Cursor, Session, find_sessions, read_new, resolve
from _transcripts.shrink import shrink
from transcript_builders import BEGIN, MAIN, SID, SID_2, SID_3, JsonlStore, dump, ms
from transcript_testing import all_texts, config_at, read_all, read_one, texts

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
# Prints the most memory this process ever had, in bytes. getrusage would count what its parent had before exec.
PEAK = """
def peak():
    import os, resource, sys
    if os.path.exists("/proc/self/status"):
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "agents" / "main" / "sessions"


@pytest.fixture
def store(folder: Path) -> JsonlStore:
    return JsonlStore(folder)


def only_session(folder: Path) -> Session:
    (session,) = find_sessions(config_at(folder)).sessions
    return session


def only_session_named(folder: Path, session_id: str) -> Session:
    (session,) = [s for s in find_sessions(config_at(folder)).sessions if s.session_id == session_id]
    return session


def conversation(store: JsonlStore, session_id: str = SID) -> "list[str]":
    """A session with machine turns, tools and five messages; returns their texts."""
    store.start(session_id)
    store.user(session_id, "I like mint tea.")
    store.tool(session_id, "x" * 30)
    store.assistant(session_id, "Noted: mint tea.")
    store.user(session_id, "[OpenClaw heartbeat poll]", __openclaw={"senderIsOwner": False})
    store.assistant(session_id, "All is quiet.")
    store.user(session_id, "Anna moves to Porto on 4 May. 🌍")
    store.assistant(session_id, "HEARTBEAT_OK")
    store.user(session_id, "/model x")
    store.user(session_id, [{"type": "text", "text": "[Mon 2026-11-30 08:00 UTC] 我喜欢绿茶"}])
    store.assistant(session_id, "好的")
    return ["I like mint tea.", "Noted: mint tea.", "Anna moves to Porto on 4 May. 🌍", "我喜欢绿茶", "好的"]


# Which files count


def test_sidecars_locks_temporary_and_deleted_files_are_left_alone(store: JsonlStore, folder: Path) -> None:
    expected = conversation(store)
    line = (
        dump({"type": "message", "id": "x", "message": {"role": "user", "content": "from a sidecar"}}) + b"\n"
    )
    for name in (
        f"{SID}.trajectory.jsonl", f"{SID}-topic-4.trajectory.jsonl", f"{SID}.trajectory-path.json",
        f"{SID}.jsonl.lock", f"{SID_2}.jsonl.deleted.2026-11-30T02-34-53.578Z", "sessions.json.12.ab.tmp",
        f"{SID_2}.jsonl.deleted.2026-11-30T02-34-53.578Z.ab12.zst", f"{SID_2}.jsonl.tmp", "usage.jsonl",
        f"{SID_3}.jsonl.bak",
    ):  # fmt: skip
        (folder / name).write_bytes(line)
    (folder / f"{SID_3}.jsonl").mkdir()
    assert all_texts(folder) == expected


@pytest.mark.parametrize("stem", [SID, "my-session"])
@pytest.mark.parametrize("known", [False, True])
def test_a_deleted_session_is_left_alone_whatever_its_name_and_cursor(
    store: JsonlStore, folder: Path, stem: str, known: bool
) -> None:
    store.start(stem, "agent:main:explicit:mine")
    store.user(stem, "hello")
    (session,) = find_sessions(config_at(folder)).sessions
    cursors = {session.key: replace(read_new(session, None, 0).end, position=1)} if known else {}
    assert len(find_sessions(config_at(folder), cursors).sessions) == 1
    (folder / f"{stem}.jsonl.deleted.2026-11-30T02-34-53.578Z").write_bytes(b"")
    assert find_sessions(config_at(folder), cursors).sessions == ()


def test_the_files_of_a_stem_that_is_no_uuid_are_one_transcript_once_it_has_a_cursor(
    store: JsonlStore, folder: Path
) -> None:
    store.start("my-session", "agent:main:explicit:mine")
    store.user("my-session", "hello")
    (session,) = find_sessions(config_at(folder)).sessions
    end = read_new(session, None, 0).end
    (folder / "my-session.jsonl").rename(folder / "my-session.jsonl.reset.2026-11-30T02-34-53.578Z")
    store.path("my-session").write_bytes(b'{"type":"session"}\n')
    (session,) = find_sessions(config_at(folder), {session.key: end}).sessions
    assert [path.name for path, _size in session.parts] == [
        "my-session.jsonl.reset.2026-11-30T02-34-53.578Z",
        "my-session.jsonl",
    ]


def test_what_was_reset_and_goes_on_under_its_name_is_compared_as_a_whole(
    store: JsonlStore, folder: Path
) -> None:
    store.start(SID)
    store.user(SID, "before the reset")
    size = store.path(SID).stat().st_size
    store.path(SID).rename(folder / f"{SID}.jsonl.reset.2026-11-30T02-34-53.578Z")
    store.path(SID).write_bytes(b" " * size)
    (session,) = find_sessions(config_at(folder)).sessions
    whole = Cursor("jsonl", SID, 2 * size)
    half = Cursor("jsonl", SID, size)  # as long as the newer file alone
    assert find_sessions(config_at(folder), {whole.key: whole}).sessions == ()
    assert find_sessions(config_at(folder), {half.key: half}).sessions == (session,)


def test_reset_archives_and_topics_are_read(store: JsonlStore, folder: Path) -> None:
    topic = f"{SID_3}-topic-42"
    store.start(SID)
    store.user(SID, "before the reset")
    store.reset(SID, SID_2)
    store.user(SID_2, "after the reset")
    store.start(topic, "agent:main:telegram:group:-100:topic:42")
    store.user(topic, "in the topic")
    assert all_texts(folder) == ["before the reset", "after the reset", "in the topic"]
    sessions = {s.session_id: s for s in find_sessions(config_at(folder)).sessions}
    assert sessions[topic].group and sessions[SID_2].session_key == MAIN and sessions[SID].session_key == ""


def test_a_stem_that_is_no_uuid_counts_when_the_index_names_it(store: JsonlStore, folder: Path) -> None:
    store.start("my-session", "agent:main:explicit:mine")
    store.user("my-session", "hello")
    (folder / "notes.jsonl").write_bytes(b'{"type":"session"}\n')
    assert [s.session_id for s in find_sessions(config_at(folder)).sessions] == ["my-session"]


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b"\xff\xfe{}"])
def test_without_a_usable_index_every_transcript_is_still_found(
    store: JsonlStore, folder: Path, content: "bytes | None"
) -> None:
    store.start(SID)
    store.user(SID, "hello")
    store.start("my-session", "agent:main:explicit:mine")
    store.user("my-session", "hello too")
    store.start(SID_2, "agent:main:cron:job-1")
    store.user(SID_2, "[cron:8a82aebc-7bf2-43cb-bb58-6a4f2150f2a6 job] Run")
    store.assistant(SID_2, "ran")
    store.user(SID_2, "a subagent may ask again")
    (folder / "sessions.json").unlink()
    if content is not None:
        (folder / "sessions.json").write_bytes(content)
    assert all_texts(folder) == ["hello", "hello too"]
    problems = find_sessions(config_at(folder)).problems
    assert [problem.where for problem in problems] == (
        [str(folder / "sessions.json")] if content is not None else []
    )


def test_machine_sessions_are_passed_over_at_once(store: JsonlStore, folder: Path) -> None:
    store.start(SID, "agent:main:subagent:1", spawnedBy=MAIN)
    store.user(SID, "Say hi")
    store.start(SID_2, "agent:main:odd", spawnedBy=MAIN)
    store.user(SID_2, "Say hi")
    listing = find_sessions(config_at(folder))
    assert [s.machine for s in listing.sessions] == [True, True]
    readings = [read_new(s, None, 0) for s in listing.sessions]
    assert [r.messages for r in readings] == [(), ()]
    cursors = {r.end.key: r.end for r in readings}
    assert find_sessions(config_at(folder), cursors).sessions == ()


def test_only_what_is_new_is_listed(store: JsonlStore, folder: Path) -> None:
    for session_id in (SID, SID_2, SID_3):
        store.start(session_id, f"agent:main:{session_id}")
        store.user(session_id, "hello")
    os.utime(store.path(SID_2), (1_700_000_000, 1_700_000_000))
    sessions = {s.session_id: s for s in find_sessions(config_at(folder)).sessions}
    cursors = {f"jsonl:{SID}": read_new(sessions[SID], None, 0).end}
    listing = find_sessions(config_at(folder), cursors, since_ms=1_700_000_000_001)
    assert [s.session_id for s in listing.sessions] == [SID_3]
    assert dict(listing.counts) == {"unchanged": 1, "older": 1, "deleted": 0}
    assert (listing.stems, listing.row_ids) == ({SID, SID_2, SID_3}, set())
    assert listing.sources == (str(folder),) and listing.found_any


@pytest.mark.parametrize(
    "code, waits",
    [(errno.ELOOP, False), (errno.EACCES, True), (errno.EIO, True), (errno.ENAMETOOLONG, False)],
)
def test_an_entry_that_cannot_be_looked_at_is_told_and_hides_no_other(
    store: JsonlStore, folder: Path, code: int, waits: bool
) -> None:
    conversation(store)
    scandir = os.scandir

    class Entry:
        name = f"{SID_2}.jsonl"

        def stat(self) -> Any:
            raise OSError(code, os.strerror(code))

    @contextmanager
    def one_more(where: Any) -> Any:
        with scandir(where) as entries:
            yield [Entry(), *entries]

    with mock.patch("os.scandir", one_more):
        listing = find_sessions(config_at(folder))
    assert [session.session_id for session in listing.sessions] == [SID]
    (problem,) = listing.problems
    assert (problem.where, problem.waits) == (str(store.path(SID_2)), waits)
    assert os.strerror(code) in problem.what


@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.ENOENT])
def test_a_live_file_that_goes_out_of_reach_beside_its_older_ones_hides_no_other(
    store: JsonlStore, folder: Path, code: int
) -> None:
    store.start(SID)
    store.user(SID, "before the reset")
    older = store.reset(SID, SID_2)
    cursor = read_new(only_session_named(folder, SID), None, 0).end
    store.user(SID_2, "hello")
    live = store.path(SID)
    live.write_bytes(older.read_bytes())  # as long as the cursor says: settled at first sight
    stat = os.stat

    def no_stat(path: Any, **options: Any) -> os.stat_result:
        if "dir_fd" in options and path == live.name:
            raise OSError(code, os.strerror(code))
        return stat(path, **options)

    with mock.patch("os.stat", no_stat):
        listing = find_sessions(config_at(folder), {cursor.key: cursor})
    assert SID_2 in [session.session_id for session in listing.sessions] and SID in listing.stems
    if code != errno.ENOENT:
        (problem,) = listing.problems
        assert problem.waits and problem.where == str(live) and os.strerror(code) in problem.what
        assert SID not in [session.session_id for session in listing.sessions]


def test_a_link_to_itself_hides_no_other_transcript(store: JsonlStore, folder: Path) -> None:
    conversation(store)
    os.symlink(f"{SID_2}.jsonl", store.path(SID_2))
    listing = find_sessions(config_at(folder))
    assert [session.session_id for session in listing.sessions] == [SID]
    assert [problem.where for problem in listing.problems] == [str(store.path(SID_2))]


def test_no_folder_and_no_store_is_said(tmp_path: Path) -> None:
    listing = find_sessions(config_at(tmp_path / "agents" / "main" / "sessions"))
    assert (listing.sessions, listing.sources, listing.found_any) == ((), (), False)


def test_a_folder_that_is_none_is_an_error_not_an_empty_answer(tmp_path: Path) -> None:
    (tmp_path / "main").mkdir()
    (tmp_path / "main" / "sessions").write_text("")
    with pytest.raises(SourceError, match="cannot be listed"):
        find_sessions(config_at(tmp_path / "main" / "sessions"))


# Reading lines


def test_cut_at_every_byte_each_message_is_read_exactly_once(store: JsonlStore, folder: Path) -> None:
    expected = conversation(store)
    session = only_session(folder)
    whole = store.path(SID).read_bytes()
    cut_file = folder / "cut" / f"{SID}.jsonl"
    cut_file.parent.mkdir()
    with open(cut_file, "wb", buffering=0) as growing:
        for cut in range(len(whole) + 1):
            first = read_new(session._replace(path=cut_file, parts=()), None, 0)
            rest = read_new(session, first.end, 0)
            assert texts(first.messages + rest.messages) == expected, cut
            assert not rest.rescanned and not first.problems and not rest.problems
            assert rest.end.position == len(whole)
            growing.write(whole[cut : cut + 1])


def test_a_line_being_written_waits_for_its_newline(store: JsonlStore, folder: Path) -> None:
    store.start()
    line = dump({"type": "message", "id": "1", "message": {"role": "user", "content": "hello"}})
    store.raw(SID, line, b"")
    first = read_one(folder)
    assert first.messages == ()
    store.raw(SID, b"")
    assert texts(read_one(folder, first.end).messages) == ["hello"]


def test_every_messages_cursor_goes_on_with_the_rest(store: JsonlStore, folder: Path) -> None:
    expected = conversation(store)
    session = only_session(folder)
    messages = read_all(session)
    assert texts(messages) == expected
    for index, message in enumerate(messages):
        kept = Cursor.from_row(message.after.key, message.after.as_row())
        assert kept == message.after
        assert read_all(session, kept) == messages[index + 1 :]


def test_an_answer_to_a_machine_stays_out_across_runs(store: JsonlStore, folder: Path) -> None:
    store.start()
    store.user(SID, "[OpenClaw heartbeat poll]")
    first = read_one(folder)
    assert first.end.machine_turn
    store.tool(SID, "output")
    second = read_one(folder, first.end)
    store.assistant(SID, "The disk is at 40 %.")
    store.user(SID, "thanks")
    store.assistant(SID, "You are welcome.")
    third = read_one(folder, second.end)
    assert texts(third.messages) == ["thanks", "You are welcome."]
    assert third.counts["machine"] == 1


def test_broken_lines_are_counted_and_named(store: JsonlStore, folder: Path) -> None:
    store.start()
    for number in range(145):
        if number in (3, 70, 140):
            store.raw(SID, b'{"type":"message","id":"b","message":{"role":"user","content":"cut')
        store.user(SID, f"message {number}")
    reading = read_one(folder)
    assert len(reading.messages) == 145
    assert reading.counts["broken"] == 3
    assert reading.problems[0].what == "3 broken lines were skipped: 5, 73, 144"
    later = read_new(only_session(folder), reading.messages[100].after, 0)
    assert later.problems[0].what == "1 broken line was skipped: 144"


def test_an_entry_glued_to_a_cut_one_is_found(store: JsonlStore, folder: Path) -> None:
    store.start()
    store.raw(SID, b'{"type":"message","id":"b","message":{"role":"user","content":"cu', b"")
    store.user(SID, "the next one")
    store.user(SID, "and another")
    assert texts(read_one(folder).messages) == ["the next one", "and another"]


def test_byte_order_mark_crlf_nul_and_bad_utf8(folder: Path) -> None:
    folder.mkdir(parents=True)
    said = [{"role": "user", "content": text} for text in ("first", "second", "third", "bad @ byte")]
    lines = [dump({"type": "message", "id": f"{n}", "message": message}) for n, message in enumerate(said)]
    content = b"\xef\xbb\xbf" + lines[0] + b"\r\n" + b"\0" * 50 + lines[1] + b"\r\n\r\n" + lines[2] + b"\n"
    content += lines[3].replace(b"@", b"\xff") + b"\n"
    (folder / f"{SID}.jsonl").write_bytes(content)
    assert all_texts(folder) == ["first", "second", "third", "bad \ufffd byte"]


def test_any_key_order_and_spacing_is_read(folder: Path) -> None:
    folder.mkdir(parents=True)
    message = {"content": [{"text": "hello", "type": "text"}], "role": "user"}
    entry = {"message": message, "timestamp": "2026-11-30T08:00:00.000Z", "id": "a1", "type": "message"}
    (folder / f"{SID}.jsonl").write_text(json.dumps(entry) + "\n", encoding="utf-8")
    assert all_texts(folder) == ["hello"]
    assert read_one(folder, read_one(folder).end).messages == ()


def test_times_before_and_after_the_asked_ones_are_counted(store: JsonlStore, folder: Path) -> None:
    store.start()
    for hour in range(4):
        store.user(SID, f"hour {hour}", at=BEGIN + timedelta(hours=hour))
    session = only_session(folder)
    since, until = ms(BEGIN + timedelta(hours=1)), ms(BEGIN + timedelta(hours=3))
    reading = read_new(session, None, since, until)
    assert texts(reading.messages) == ["hour 1", "hour 2"]
    assert (reading.counts["before"], reading.counts["after"]) == (1, 1)
    assert reading.end.position == session.end and reading.end.since_ms == since


def test_an_entry_without_a_time_has_the_one_before_it(store: JsonlStore, folder: Path) -> None:
    store.start()
    store.user(SID, "with a time", at=BEGIN)
    store.raw(SID, dump({"type": "message", "id": "z", "message": {"role": "user", "content": "without"}}))
    assert [m.at for m in read_one(folder).messages] == [BEGIN, BEGIN]


# Cursors


def test_a_long_message_is_taken_in_parts(store: JsonlStore, folder: Path) -> None:
    store.start()
    long = " ".join(f"word{n}" for n in range(30_000))
    store.user(SID, "short")
    store.user(SID, long)
    store.user(SID, "last")
    session = only_session(folder)
    first = read_new(session, None, 0, max_chars=1000)
    assert texts(first.messages) == ["short"] and first.more
    part = replace(first.end, chars=100_000)
    second = read_new(session, part, 0, max_chars=1000)
    assert [(m.text, m.first_char) for m in second.messages] == [(long[100_000:], 100_000)]
    assert second.messages[0].after.chars == 0
    assert texts(read_new(session, second.end, 0).messages) == ["last"]


def test_a_rename_continues_where_the_cursor_was(store: JsonlStore, folder: Path) -> None:
    store.start()
    store.user(SID, "one")
    first = read_one(folder)
    store.user(SID, "two")
    store.reset(SID)
    reading = read_one(folder, first.end)
    assert texts(reading.messages) == ["two"] and not reading.rescanned


def test_a_file_renamed_between_listing_and_reading_is_found_again(store: JsonlStore, folder: Path) -> None:
    store.start()
    for number in range(33):
        store.user(SID, f"message {number}")
    session = only_session(folder)
    store.reset(SID, SID_2)
    assert texts(read_all(session)) == [f"message {number}" for number in range(33)]


def test_a_file_that_is_gone_is_a_problem_and_the_cursor_stays(store: JsonlStore, folder: Path) -> None:
    store.start()
    store.user(SID, "one")
    session = only_session(folder)
    end = read_new(session, None, 0).end
    store.delete(SID)
    reading = read_new(session, end, 0)
    assert reading.end == end and reading.messages == () and not reading.more
    assert "is gone" in reading.problems[0].what


def test_files_of_one_stem_are_one_history(store: JsonlStore, folder: Path) -> None:
    store.start()
    store.user(SID, "one")
    store.user(SID, "two")
    middle = read_one(folder).messages[0].after
    store.reset(SID)
    store.start()
    store.user(SID, "three")
    session = only_session(folder)
    assert session.may_repeat and len(session.parts) == 2
    reading = read_new(session, middle, 0)
    assert texts(reading.messages) == ["two", "three"] and not reading.rescanned
    assert reading.end.position == session.end
    store.reset(SID)
    assert read_one(folder, reading.end).messages == ()
    assert texts(read_all(only_session(folder), reading.messages[0].after)) == ["three"]


@pytest.mark.parametrize("kept", [0, 1])
def test_another_history_under_the_same_name_is_read_from_its_start(
    store: JsonlStore, folder: Path, kept: int
) -> None:
    store.start()
    for number in range(5):
        store.user(SID, f"old {number}")
    end = read_one(folder).end
    lines = store.path(SID).read_bytes().split(b"\n")[: kept + 1]
    store.path(SID).write_bytes(b"\n".join(lines) + b"\n")
    for number in range(kept * 8):
        store.user(SID, f"new {number}")
    reading = read_one(folder, end)
    assert reading.rescanned
    assert len(reading.messages) == kept * 9


def test_a_cursor_in_the_middle_of_a_line_is_not_followed(store: JsonlStore, folder: Path) -> None:
    expected = conversation(store)
    session = only_session(folder)
    cursor = replace(read_all(session)[1].after, position=400)
    reading = read_new(session, cursor, 0)
    assert reading.rescanned and texts(reading.messages) == expected


# Huge lines


def test_shrinking_keeps_the_sentence_next_to_an_image() -> None:
    image = base64.b64encode(random.Random(1).randbytes(3_000_000)).decode()
    line = dump({"content": [{"type": "image", "data": image}, {"type": "text", "text": "Look at my house"}]})
    small, shortened = shrink(line[at : at + 10_007] for at in range(0, len(line), 10_007))
    assert not shortened
    assert json.loads(small) == {
        "content": [{"type": "image", "data": "[base64 data]"}, {"type": "text", "text": "Look at my house"}]
    }


@pytest.mark.parametrize("unit", ['word \\ "quoted" é ', "漢字かな", "\\\\\\", "\U0001f600\n", "aB3"])
@pytest.mark.parametrize("step", [997, 65_536])
def test_a_string_that_is_too_long_is_cut_in_its_middle(unit: str, step: int) -> None:
    text = "HEAD " + unit * (9_000_000 // len(unit.encode())) + " TAIL"
    if unit == "aB3":
        text = text.replace(" ", "-/")[:-1]
    line = json.dumps({"a": text, "b": "after"}, ensure_ascii=unit == "漢字かな").encode()
    small, _cut = shrink(line[at : at + step] for at in range(0, len(line), step))
    found = json.loads(small)
    assert found["b"] == "after" and len(small) < 9_000_000
    if unit != "aB3":
        assert found["a"].startswith("HEAD ") and "[shortened]" in found["a"]


def test_runs_just_under_the_limit_cost_no_more_than_their_length() -> None:
    line = b'{"a":"' + (b"aB3" * 1365 + b" ") * 2000 + b'"}'
    assert len(shrink([line])[0]) < 5_000_000


def test_a_line_of_60_mb_is_read_in_little_memory(store: JsonlStore, folder: Path) -> None:
    store.start()
    store.user(SID, "before")
    path = store.path(SID)
    block = base64.b64encode(random.Random(2).randbytes(750_000))
    prose = b"all work and no play makes a dull boy " * 26_000
    with open(path, "ab") as file:
        file.write(b'{"type":"message","id":"0000aaaa","timestamp":"2026-11-30T08:00:05.000Z",')
        file.write(b'"message":{"role":"user","content":[{"type":"image","data":"')
        for _ in range(40):
            file.write(block)
        file.write(b'"},{"type":"text","text":"Look at my house"},{"type":"text","text":"')
        for _ in range(20):
            file.write(prose)
        file.write(b'"}]}}\n')
    store.user(SID, "after")
    assert path.stat().st_size > 59_000_000
    program = PEAK + (
        "import json, sys\n"
        "from pathlib import Path\n"
        "from _transcripts import Session, read_new\n"
        "path = Path(sys.argv[1])\n"
        f"session = Session('jsonl', '{SID}', 'agent:main:main', path, path.stat().st_size, 0)\n"
        "reading = read_new(session, None, 0, max_chars=10**9)\n"
        "again = read_new(session, reading.end, 0)\n"
        "print(json.dumps([[m.text[:24] for m in reading.messages], len(again.messages),\n"
        "    dict(reading.counts), peak()]))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        env={**os.environ, "PYTHONPATH": str(SCRIPTS)},
        stdout=subprocess.PIPE,
        check=True,
    )
    said, again, counts, peak = json.loads(run.stdout)
    assert said == ["before", "[image]\nLook at my house", "after"] and again == 0
    assert counts["shortened"] == 1
    assert peak < 100_000_000


# Naming a session


def test_a_session_is_found_by_any_of_its_names(store: JsonlStore, folder: Path) -> None:
    store.start()
    store.user(SID, "hello")
    store.start(SID_2, "agent:main:other")
    archived = store.reset(SID_2, SID_3, "agent:main:other")
    config = config_at(folder)
    for name in (
        SID,
        f"{SID}.jsonl",
        str(store.path(SID)),
        MAIN,
        f"sqlite:main:{SID}:{folder}/sessions.json",
    ):
        assert [s.session_id for s in resolve(config, name)] == [SID], name
    for name in (str(store.path(SID_2)), str(archived), archived.name, SID_2):
        assert [s.session_id for s in resolve(config, name)] == [SID_2], name


def test_a_transcript_elsewhere_is_found_by_its_path(store: JsonlStore, folder: Path, tmp_path: Path) -> None:
    store.start()
    store.user(SID, "hello")
    (session,) = resolve(config_at(tmp_path / "other" / "sessions"), str(store.path(SID)))
    assert texts(read_all(session)) == ["hello"]


@pytest.mark.parametrize(
    "name",
    [
        "nobody",
        "/nowhere/at/all.jsonl",
        "/etc/passwd",
        SID_2,
        f"{SID}.jsonl.deleted.2026-11-30T02-34-53.578Z",
        f"{SID}.trajectory.jsonl",
        f"sqlite:main:{SID_2}:/x/sessions.json",
    ],
)
def test_what_is_not_there_or_not_to_be_read_is_named(store: JsonlStore, folder: Path, name: str) -> None:
    store.start()
    with pytest.raises(ConfigError) as caught:
        resolve(config_at(folder), name)
    assert os.path.basename(name) in str(caught.value)


# Properties

TURN = st.one_of(
    st.tuples(st.just("user"), st.text(max_size=60)),
    st.tuples(st.just("assistant"), st.text(max_size=60)),
    st.tuples(st.just("tool"), st.text(max_size=60)),
    st.tuples(st.just("user"), st.just("[OpenClaw heartbeat poll]")),
    st.tuples(st.just("raw"), st.just("{broken")),
)


@settings(max_examples=60, deadline=None)
@given(turns=st.lists(TURN, max_size=25), max_chars=st.integers(1, 200))
def test_reading_in_any_steps_gives_the_same_messages(turns: "list[tuple[str, str]]", max_chars: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        store = JsonlStore(Path(name) / "agents" / "main" / "sessions")
        store.start()
        for kind, text in turns:
            if kind == "raw":
                store.raw(SID, text.encode())
            else:
                getattr(store, kind)(SID, text.encode("utf-8", "replace").decode())
        session = only_session(store.folder)
        at_once = read_new(session, None, 0, max_chars=10**9)
        stepwise, cursor = [], None
        while True:
            reading = read_new(session, cursor, 0, max_chars=max_chars)
            stepwise.extend(reading.messages)
            cursor = reading.end
            if not reading.more:
                break
        assert stepwise == list(at_once.messages)
        assert cursor == at_once.end
