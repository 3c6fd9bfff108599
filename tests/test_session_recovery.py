"""Session recovery as the watcher, cron and a person meet it: what was said just before /new is in the next brief."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Callable, Optional, Union

import pytest

import fake_model
import session_recovery
from fake_model import fails, says
from observer_testing import SCRIPTS, Ended, Home, at, cite, minutes, tags_in
from patience import until
from transcript_builders import SID, SID_2, SID_3, JsonlStore, SqliteStore, iso

FACT = "My daughter Lea starts school on 24 August."
ANSWER = "- 🔴 09:20 Daughter Lea starts school on 24 August <!-- dc:type=event dc:importance=8 -->"
ERAS = ("jsonl", "sqlite")
Store = Union[JsonlStore, SqliteStore]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def stores(home: Home) -> "Iterator[Callable[[str], Store]]":
    """Makes the store of an era; the database is closed in the end."""
    made: "list[SqliteStore]" = []

    def make(era: str) -> Store:
        if era == "jsonl":
            return home.jsonl()
        made.append(home.sqlite())
        return made[-1]

    yield make
    for store in made:
        store.close()


def begun(home: Home, store: Store) -> Store:
    """A session that has been observed so far."""
    store.start(SID, at=at("09:00"))
    store.user(SID, "ok thanks, see you", at=at("09:01"))
    assert home.run(now=at("09:10")).code == 0
    return store


def command(home: Home, *flags: str, now: Optional[datetime] = None, scripts: Path = SCRIPTS) -> "list[str]":
    stamp = ["--now", iso(now)] if now else []
    return [sys.executable, str(scripts / "session_recovery.py"), *stamp, *flags]


def recover(home: Home, *flags: str, clock: str = "09:30", scripts: Path = SCRIPTS, **environ: str) -> Ended:
    """Run session recovery as a process."""
    done = subprocess.run(
        command(home, *flags, now=at(clock), scripts=scripts),
        env={**home.environ, **environ},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return Ended(done.returncode, json.loads(done.stdout), done.stderr)


def recover_here(home: Home, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> "dict[str, Any]":
    """Run session recovery in this process."""
    for name in os.environ:
        monkeypatch.delenv(name)
    for name, value in home.environ.items():
        monkeypatch.setenv(name, value)
    session_recovery.main(["--now", iso(at("09:30"))])
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def mark(home: Home, number: int = 1, **fields: Any) -> Path:
    """A marker as the gateway hook leaves it."""
    folder = home.memory / ".total-recall" / "markers"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{number}-abc.json"
    path.write_text(json.dumps({"schema": 1, "event": "command:new", "at_ms": number, **fields}), "utf-8")
    return path


def markers(home: Home) -> "list[str]":
    return sorted(path.name for path in (home.memory / ".total-recall" / "markers").glob("*"))


def observer_runs(home: Home) -> int:
    log = home.state_dir / "workspace" / "logs" / "observer.log"
    return len(log.read_text("utf-8").splitlines()) if log.exists() else 0


def reset(store: Store, reason: str = "new") -> None:
    """What /new or an idle or daily reset does in the era."""
    if isinstance(store, JsonlStore):
        store.reset(SID, SID_2)
    else:
        store.reset(SID, reason)


# Before the new session ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
def test_a_fact_said_before_new_is_in_the_brief_while_the_model_still_thinks(
    home: Home, stores: "Callable[[str], Store]", era: str
) -> None:
    store = begun(home, stores(era))
    thought = threading.Event()

    def slowly(request: fake_model.Request) -> Any:
        thought.wait(30)
        return says(ANSWER)

    with fake_model.FakeModel(slowly) as server:
        home.model(server)
        store.user(SID, FACT, at=at("09:20"))
        mark(home)
        reset(store)
        with subprocess.Popen(
            command(home, "--trigger", "watcher", now=at("09:21")),
            env=home.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                # The hook waits for the marker to go; then the brief is read.
                until(lambda: markers(home) == [], "the end of the marker")
                assert FACT[:-1] in home.brief
                assert process.poll() is None
            finally:
                thought.set()
            out, _err = process.communicate(timeout=30)
    result = json.loads(out)
    assert (result["status"], result["reason"], result["messages_covered"]) == ("ok", "recovered", 1)
    assert (result["provisional"], result["messages_pending"]) == (0, 0)
    assert home.log.count("24 August") == 1 and "provisional" not in home.log
    assert "Daughter Lea starts school on 24 August" in home.brief


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("reason", ["idle", "daily"])
def test_a_reset_that_nobody_announced_is_recovered(
    home: Home, stores: "Callable[[str], Store]", era: str, reason: str
) -> None:
    store = begun(home, stores(era))
    store.user(SID, FACT, at=at("09:20"))
    reset(store, reason)
    ended = recover(home, "--trigger", "cron")
    # In files the new session, which has only its header yet, counts as one with something new.
    sessions = 2 if era == "jsonl" else 1
    assert (ended.code, ended.result["reason"], ended.result["sessions"]) == (0, "recovered", sessions)
    assert FACT[:-1] in home.brief
    assert recover(home, clock="09:40").result["reason"] == "nothing_new"


def test_several_sessions_are_recovered_by_one_observer(home: Home) -> None:
    store = home.jsonl()
    for number, session in enumerate((SID, SID_2, SID_3)):
        store.start(session, f"agent:main:telegram:direct:{number}", at=at("09:00"))
        store.user(
            session, f"My flight number {number} leaves on {number + 1} March at 10:00.", at=at("09:01")
        )
    ended = recover(home)
    assert (ended.result["sessions"], ended.result["messages_covered"]) == (3, 3)
    assert home.log.count("My flight number") == 3
    assert observer_runs(home) == 1


def test_one_session_can_be_asked_for(home: Home) -> None:
    store = home.jsonl()
    for session, text in ((SID, FACT), (SID_2, "My sister's wedding is on 14 June in Porto.")):
        store.start(session, f"agent:main:telegram:direct:{session}", at=at("09:00"))
        store.user(session, text, at=at("09:01"))
    mine, other = mark(home, 1, session_id=SID), mark(home, 2, session_id=SID_2)
    ended = recover(home, "--session", SID)
    assert ended.code == 0
    assert "24 August" in home.log and "14 June" not in home.log
    assert not mine.exists() and other.exists()


# Nothing to do -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
def test_with_nothing_to_do_no_observer_is_started(
    home: Home, stores: "Callable[[str], Store]", era: str
) -> None:
    begun(home, stores(era))
    ended = recover(home)
    assert (ended.code, ended.result["reason"], ended.result["messages_pending"]) == (0, "nothing_new", 0)
    assert ended.result["last_good_run"] == "2026-11-30T09:10:00Z"
    assert ended.result["budget"] == {
        "calls": 0,
        "calls_limit": 200,
        "tokens": 0,
        "tokens_limit": 2000000,
    }
    assert "all that was said is in memory" in ended.said and "2026-11-30T09:10:00Z" in ended.said
    assert "waiting for an answer: nothing" in ended.said
    assert observer_runs(home) == 1


def test_a_marker_with_nothing_behind_it_is_settled_without_an_observer(home: Home) -> None:
    begun(home, home.jsonl())
    mark(home)
    mark(home, 2).rename(home.memory / ".total-recall" / "markers" / "2-abc.taken")
    (home.memory / ".total-recall" / "markers" / "3-a.json").write_text("no marker", "utf-8")
    ended = recover(home)
    assert (ended.result["reason"], ended.result["markers"], markers(home)) == ("nothing_new", 3, [])
    assert observer_runs(home) == 1


def test_talk_of_machines_is_no_reason_to_run(home: Home) -> None:
    store = begun(home, home.jsonl())
    store.start(SID_2, "agent:main:cron:1", at=at("09:20"))
    store.user(SID_2, "[cron:1 nightly] Run it", at=at("09:20"))
    assert recover(home).result["reason"] == "nothing_new"
    assert observer_runs(home) == 1


def test_looking_loads_neither_the_model_nor_the_gate_nor_a_lock(home: Home) -> None:
    begun(home, home.jsonl())
    line = [sys.executable, "-X", "importtime", *command(home, now=at("09:30"))[1:]]
    done = subprocess.run(line, env=home.environ, capture_output=True, text=True, check=True)
    loaded = {row.rsplit("|", 1)[1].strip() for row in done.stderr.splitlines() if "import time:" in row}
    assert "_markers" in loaded
    assert not loaded & {"_settle", "_window", "_answer", "_llm", "_gate", "_extract", "filelock", "requests"}
    assert not loaded & {"dataclasses", "inspect"}  # they take as long as Python itself


def test_a_dry_run_takes_nothing_and_writes_nothing(home: Home) -> None:
    store = begun(home, home.jsonl())
    store.user(SID, FACT, at=at("09:20"))
    mark(home)
    before = {path: path.read_bytes() for path in home.state_dir.rglob("*") if path.is_file()}
    ended = recover(home, "--dry-run")
    assert (ended.code, ended.result["reason"], ended.result["sessions"]) == (0, "dry_run", 1)
    assert ended.said.startswith("session_recovery: 1 session holds something new; nothing was done; ")
    assert "waiting for an answer: what is new in 1 session\n" in ended.said
    assert {path: path.read_bytes() for path in home.state_dir.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("ago, reason", [(230, "recovered"), (250, "nothing_new")])
def test_a_session_from_before_the_installation_is_looked_at_as_the_observer_does(
    home: Home, ago: int, reason: str
) -> None:
    store = home.jsonl()
    store.start(SID, at=at("12:00") - minutes(ago + 1))
    store.user(SID, FACT, at=at("12:00") - minutes(ago))
    assert recover(home, clock="12:00").result["reason"] == reason


# What goes wrong -----------------------------------------------------------------------------------------------------


def test_without_a_model_provisional_lines_do_until_it_is_back(home: Home) -> None:
    store = begun(home, home.jsonl())
    store.user(SID, FACT, at=at("09:20"))
    mark(home)
    with fake_model.FakeModel(fails(402, "no credit")) as server:
        home.model(server)
        ended = recover(home)
        assert (ended.code, ended.result["reason"], ended.result["observer"]) == (
            0,
            "captured",
            "model_failed",
        )
        assert (ended.result["provisional"], ended.result["messages_pending"]) == (1, 1)
        assert (ended.result["failures_in_row"], ended.result["last_failure"]) == (1, "model_failed")
        assert "and it has failed once (model_failed)" in ended.said
        assert ended.said.endswith("waiting for an answer: 1 message and 1 provisional observation\n")
        assert markers(home) == [] and FACT[:-1] in home.brief
        again = recover(home, clock="09:40")
        assert again.result["reason"] == "captured" and home.log.count("24 August") == 1
    with fake_model.FakeModel(says(ANSWER)) as server:
        home.model(server)
        assert home.run(now=at("23:10")).result["provisional_replaced"] == 1
    assert home.log.count("24 August") == 1 and "provisional" not in home.log


def test_what_a_killed_observer_had_begun_is_in_memory_once(home: Home) -> None:
    store = begun(home, home.jsonl())
    store.user(SID, FACT, at=at("09:20"))
    with fake_model.FakeModel(fake_model.Reply(then="hang")) as server:
        home.model(server)
        with home.start("--recover", "all", now=at("09:21")) as process:
            until(lambda: "24 August" in home.log, "the provisional line")
            process.send_signal(signal.SIGKILL)
    with fake_model.FakeModel(says(ANSWER)) as server:
        home.model(server)
        assert recover(home).result["reason"] == "recovered"
    assert home.log.count("24 August") == 1 and "provisional" not in home.log


def test_a_commit_that_was_cut_short_is_finished_although_nothing_new_was_said(home: Home) -> None:
    begun(home, home.jsonl())
    private = home.memory / ".total-recall"
    state = json.loads((private / "state.json").read_text("utf-8"))
    line = (
        f"- 🔴 09:20 {FACT} <!-- dc:type=event dc:importance=8 dc:date=2026-11-30 dc:id=OBS-20261130-900 -->"
    )
    size = (home.memory / "observations.md").stat().st_size if home.log else 0
    journal = {
        "schema": 1,
        "commit": "0123456789abcdef",
        "lines": [line],
        "removed": {},
        "before": {"size": size, "sha256": ""},
        "rows": [],
        "state": state,
    }
    (private / "journal.json").write_text(json.dumps(journal), "utf-8")
    assert recover(home).code == 0
    assert FACT[:-1] in home.brief


def test_an_observer_that_does_not_end_is_stopped_and_what_it_captured_stays(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    store = begun(home, home.jsonl())
    store.user(SID, FACT, at=at("09:20"))
    mark(home)
    with fake_model.FakeModel(fake_model.Reply(then="hang")) as server:
        home.model(server)
        monkeypatch.setattr(session_recovery, "OBSERVER_TIMEOUT_SECONDS", 4.0)
        result = recover_here(home, monkeypatch, capsys)
    assert (result["reason"], result["observer"], result["raw"]) == ("captured", "configuration", 0)
    assert FACT[:-1] in home.brief and markers(home) == []


def test_an_observer_in_the_way_does_not_keep_the_fact_out(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    import filelock

    store = begun(home, home.jsonl())
    store.user(SID, FACT, at=at("09:20"))
    mark(home)
    monkeypatch.setattr(session_recovery, "OBSERVER_TIMEOUT_SECONDS", 4.0)
    with filelock.FileLock(str(home.memory / ".total-recall" / "observer.lock")):
        result = recover_here(home, monkeypatch, capsys)
    assert result["reason"] == "captured"
    assert FACT[:-1] in home.brief and markers(home) == []


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """The scripts of a skill whose observer crashes and whose prompts are gone."""
    scripts = tmp_path / "skill" / "scripts"
    shutil.copytree(SCRIPTS, scripts, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    (scripts / "observer.py").write_text("raise SystemExit('out of order')\n", "utf-8")
    return scripts


@pytest.mark.parametrize("era", ERAS)
def test_when_the_observer_is_out_of_order_what_people_said_is_noted_as_it_is(
    home: Home, broken: Path, stores: "Callable[[str], Store]", era: str
) -> None:
    store = begun(home, stores(era))
    key = "sk-" + "a1B2" * 8
    store.user(SID, f"{FACT} The deploy key is {key}.", at=at("09:20"))
    store.assistant(SID, "I will keep the boat in mind.", at=at("09:21"))
    store.user(SID, "Take the long road. " * 100 + "The hotel is called Adler.", at=at("09:22"))
    mark(home)
    cursors = home.state["cursors"]
    ended = recover(home, scripts=broken)
    assert (ended.code, ended.result["reason"], ended.result["raw"]) == (0, "captured_raw", 2)
    assert ended.result["observer"] == "configuration" and "out of order" not in ended.said
    assert f"User said: {FACT}" in home.brief and "The hotel is called Adler." in home.brief
    assert home.log.count("dc:type=context") == home.log.count("dc:source=provisional") == 2
    assert key not in home.log and "boat" not in home.log
    assert max(map(len, home.log.splitlines())) < 700
    assert (home.state["cursors"], markers(home)) == (cursors, [])
    again = recover(home, clock="09:40", scripts=broken)
    assert (again.result["reason"], again.result["raw"]) == ("captured", 0)
    with fake_model.FakeModel(says(ANSWER)) as server:
        home.model(server)
        home.run(now=at("10:00"))
    assert home.log.count("24 August") == 1 and "provisional" not in home.log


def test_the_last_resort_works_for_a_memory_that_was_never_observed(home: Home, broken: Path) -> None:
    store = home.jsonl()
    store.start(SID, at=at("09:00"))
    store.user(SID, FACT, at=at("09:20"))
    assert recover(home, scripts=broken).result["reason"] == "captured_raw"
    assert FACT[:-1] in home.brief
    home.run(now=at("09:40"))
    assert home.log.count("24 August") == 1 and "provisional" not in home.log


def test_when_nothing_can_be_written_it_says_so_and_the_marker_stays(home: Home) -> None:
    store = begun(home, home.jsonl())
    store.user(SID, FACT, at=at("09:20"))
    mark(home)
    (home.memory / "observations.md").unlink(missing_ok=True)
    (home.memory / "observations.md").mkdir()
    ended = recover(home)
    assert (ended.code, ended.result["error"]["code"]) == (1, "storage")
    assert ended.result["last_good_run"] == "2026-11-30T09:10:00Z"
    assert "not all that was said is in memory" in ended.said
    assert markers(home) == ["1-abc.taken"]
    (home.memory / "observations.md").rmdir()
    assert recover(home, clock="09:40").code == 0
    assert FACT[:-1] in home.brief and markers(home) == []


def test_a_store_out_of_reach_is_no_silence(home: Home) -> None:
    with SqliteStore(home.sessions.parent / "agent" / "openclaw-agent.sqlite", wal=False) as store:
        begun(home, store)
        store.user(SID, FACT, at=at("09:20"))
        mark(home)
        store.db.execute("BEGIN EXCLUSIVE")
        ended = recover(home)
        store.db.execute("ROLLBACK")
        assert (ended.code, ended.result["error"]["code"], markers(home)) == (4, "busy", ["1-abc.taken"])
        assert recover(home, clock="09:40").code == 0
    assert FACT[:-1] in home.brief and markers(home) == []


def break_store(home: Home) -> Path:
    path = home.sessions.parent / "agent" / "openclaw-agent.sqlite"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    return path


def test_looking_only_says_when_it_could_not_look(home: Home) -> None:
    begun(home, home.jsonl())
    store = break_store(home)
    ended = recover(home, "--dry-run")
    assert (ended.code, ended.result["error"]["code"]) == (3, "source_unreadable")
    assert (ended.result["sessions"], ended.result["dry_run"]) == (None, True)
    assert ended.result["last_good_run"] == "2026-11-30T09:10:00Z"
    assert str(store) in ended.said and "sessions hold something new" not in ended.said


def test_looking_only_says_when_one_transcript_is_out_of_reach(home: Home) -> None:
    with SqliteStore(home.sessions.parent / "agent" / "openclaw-agent.sqlite", wal=False) as store:
        begun(home, home.jsonl())
        home.jsonl().start(SID_2, at=at("09:20"))
        home.jsonl().user(SID_2, FACT, at=at("09:20"))
        store.db.execute("BEGIN EXCLUSIVE")
        ended = recover(home, "--dry-run")
        store.db.execute("ROLLBACK")
    assert (ended.code, ended.result["error"]["code"], ended.result["sessions"]) == (4, "busy", 1)
    assert "not all could be looked at" in ended.said


def test_looking_only_says_when_there_is_nowhere_to_look(home: Home) -> None:
    ended = recover(home, "--dry-run")
    assert (ended.code, ended.result["error"]["code"]) == (3, "configuration")


def test_a_marker_stays_while_one_transcript_is_still_out_of_reach(home: Home) -> None:
    with SqliteStore(home.sessions.parent / "agent" / "openclaw-agent.sqlite", wal=False) as store:
        begun(home, home.jsonl())
        home.jsonl().start(SID_2, at=at("09:20"))
        home.jsonl().user(SID_2, FACT, at=at("09:20"))
        mark(home)
        store.db.execute("BEGIN EXCLUSIVE")
        ended = recover(home)
        store.db.execute("ROLLBACK")
        assert (ended.code, ended.result["messages_covered"], markers(home)) == (0, 1, ["1-abc.taken"])
        assert "is busy" in ended.said
        assert recover(home, clock="09:40").code == 0
    assert markers(home) == []


@pytest.mark.parametrize("flags", [(), ("--dry-run",)], ids=["recovery", "dry run"])
@pytest.mark.parametrize("new", [False, True], ids=["nothing new", "something new"])
def test_markers_that_cannot_be_listed_are_not_counted_as_none(
    home: Home, new: bool, flags: "tuple[str, ...]"
) -> None:
    store = begun(home, home.jsonl())
    if new:
        store.user(SID, FACT, at=at("09:20"))
    (home.memory / ".total-recall" / "markers").write_text("a file in the way", "utf-8")
    ended = recover(home, *flags)
    assert (ended.code, ended.result["error"]["code"], ended.result["markers"]) == (1, "storage", None)
    assert "markers cannot be listed" in ended.said
    assert (FACT[:-1] in home.log) == (new and not flags)


def test_markers_of_another_agent_are_left_to_it(home: Home) -> None:
    begun(home, home.jsonl())
    mark(home, 1, agent_id="main")
    mark(home, 2, agent_id="tess")
    assert recover(home).result["markers"] == 1
    assert markers(home) == ["2-abc.json"]


def test_where_there_are_no_transcripts_it_says_so(home: Home) -> None:
    ended = recover(home)
    assert (ended.code, ended.result["error"]["code"]) == (3, "configuration")
    assert "no transcripts" in ended.result["error"]["message"]


def test_a_session_that_does_not_exist_is_named(home: Home) -> None:
    begun(home, home.jsonl())
    ended = recover(home, "--session", "no-such-session")
    assert ended.code == 3 and "no-such-session" in ended.result["error"]["message"]
    assert recover(home, "--session", " ").code == 2


def test_the_log_holds_counts_and_no_words(home: Home) -> None:
    store = begun(home, home.jsonl())
    store.user(SID, FACT, at=at("09:20"))
    recover(home)
    log = (home.state_dir / "workspace" / "logs" / "session-recovery.log").read_text("utf-8")
    assert '"reason":"recovered"' in log and "Lea" not in log


def test_two_recoveries_at_once_write_everything_once(home: Home) -> None:
    store = begun(home, home.jsonl())
    with fake_model.FakeModel(cite) as server:
        home.model(server)
        for number in range(6):
            store.user(SID, f"The item is #note-{number}", at=at("09:20"))
        lines = [
            subprocess.Popen(
                command(home, now=at("09:30")),
                env=home.environ,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            for _ in range(2)
        ]
        for line in lines:
            line.communicate(timeout=60)
        assert [line.returncode for line in lines] == [0, 0]
    assert tags_in(home.log) == {f"#note-{n}": 1 for n in range(6)}
    assert "provisional" not in home.log


def test_a_mistyped_name_is_told_and_says_nothing_about_memory(home: Home) -> None:
    store = home.jsonl()
    store.user(store.start(), "My sister's wedding is on 14 June in Porto.")
    assert home.run(now=at("09:30")).code == 0
    for command in (["session_recovery.py", "--session", "nosuch"], ["observer.py", "--recover", "nosuch"]):
        done = subprocess.run(
            [sys.executable, str(SCRIPTS / command[0]), *command[1:]],
            env=home.environ,
            capture_output=True,
            text=True,
        )
        told = json.loads(done.stdout)
        assert (done.returncode, told["error"]["code"]) == (3, "unknown_session")
        assert "no session is named 'nosuch'" in done.stderr
        assert "not all" not in done.stderr
    assert home.state["failures_in_row"] == 0
