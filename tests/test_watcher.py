"""The watcher as the real process: what makes it start a layer, and what it survives."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import _cli
import fake_model
import watcher
from _compat import epoch_ms, utc_now
from _errors import MissingPackage
from patience import until
from transcript_builders import SID, SID_2, SID_3, JsonlStore, SqliteStore
from watcher_testing import SCRIPTS, Machine, Make, copy_scripts, machines

NEW, COMPACT = "command:new", "session:compact:before"
FAKE_INOTIFY = '''"""inotify_simple whose instances are used up."""
import errno, os
flags = None
class INotify:
    def __init__(self):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
'''


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_scripts(tmp_path_factory.mktemp("copy"))


@pytest.fixture
def make(tmp_path: Path, scripts: Path) -> Iterator[Make]:
    with machines(tmp_path, scripts) as one:
        yield one


def talk(store: "JsonlStore | SqliteStore", lines: int, session: str = SID) -> None:
    for number in range(lines):
        store.user(session, f"The shop on the corner has {number} kinds of tea.")


def busy(make: Make) -> "tuple[Machine, JsonlStore]":
    """A machine whose observer, started by forty lines, runs until a file "go" is in the workspace."""
    machine = make()
    store = machine.jsonl()
    store.start()
    machine.begin()
    machine.order("observer.py", until="go")
    talk(store, 40)
    until(lambda: len(machine.started("observer.py")) == 2, "the observer")
    return machine, store


MODES = pytest.mark.parametrize("flags", [(), ("--poll", "0.2")], ids=["inotify", "poll"])


# Counting and starting -----------------------------------------------------------------------------------------------


@MODES
@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_the_observer_starts_at_the_fortieth_line_and_not_before(
    make: Make, kind: str, flags: "tuple[str, ...]"
) -> None:
    machine = make()
    store: Any = machine.jsonl() if kind == "jsonl" else machine.sqlite()
    store.start()
    talk(store, 50)
    machine.begin(*flags)
    talk(store, 39)
    machine.until_counted(39)
    assert len(machine.started()) == 1  # the one at the start
    talk(store, 1)
    until(lambda: len(machine.events("ended")) == 2, "the observer")
    (_first, second) = machine.started()
    assert second["script"] == "observer.py"
    expected = ["--trigger", "watcher", "--quiet", "--workspace", str(machine.workspace)]
    assert second["args"] == expected
    code, result, said = machine.end()
    assert (code, result["status"], result["reason"]) == (0, "ok", "stopped")
    counts = {name: result[name] for name in ("triggers", "recoveries", "flushes", "lines_counted", "errors")}
    assert counts == {"triggers": 2, "recoveries": 0, "flushes": 0, "lines_counted": 40, "errors": 0}
    assert result["mode"] == ("poll" if flags else "inotify")
    if kind == "sqlite":
        store.close()


def test_lines_that_come_while_an_observer_runs_count_for_the_next(make: Make) -> None:
    machine, store = busy(make)
    talk(store, 39)
    machine.until_counted(79)
    (machine.workspace / "go").touch()
    until(lambda: len(machine.events("ended")) == 2, "its end")
    machine.hang_up()
    assert len(machine.started()) == 2
    talk(store, 1)
    until(lambda: len(machine.started()) == 3, "the next observer")


def test_machine_sessions_do_not_count(make: Make) -> None:
    machine = make()
    files, rows = machine.jsonl(), machine.sqlite()
    files.start()
    files.start(
        SID_2, "agent:main:subagent:0f0e0d0c-0b0a-4987-8654-321000000002", spawnedBy="agent:main:main"
    )
    rows.start(SID_3, "agent:main:cron:job-1", created_via="cron")
    machine.begin()
    talk(files, 100, SID_2)
    talk(rows, 100, SID_3)
    (machine.sessions / f"{SID}.trajectory.jsonl").write_bytes(b"{}\n" * 100)
    talk(files, 1)
    machine.until_counted(1)
    assert len(machine.started()) == 1
    rows.close()


def test_an_observer_that_somebody_else_ran_is_respected(make: Make) -> None:
    machine = make(OBSERVER_COOLDOWN_SECS="3600")
    store = machine.jsonl()
    store.start()
    machine.memory.mkdir()
    (machine.memory / ".observer-last-run").write_text(f"{epoch_ms(utc_now()) // 1000}\n")
    machine.start()
    until(lambda: machine.events("watching"), "the watcher")
    talk(store, 45)
    machine.until_counted(45)
    assert machine.started() == []
    code, result, _said = machine.end()
    assert (code, result["triggers"]) == (0, 0)


def test_the_observer_starts_when_the_cooldown_ends(make: Make) -> None:
    machine = make(OBSERVER_COOLDOWN_SECS="2")
    store = machine.jsonl()
    store.start()
    machine.begin()
    talk(store, 45)
    until(lambda: len(machine.started()) == 2, "the observer")
    first, second = machine.started()
    assert second["at"] - first["at"] >= 1  # its mark is in whole seconds


def test_a_run_of_somebody_else_puts_off_one_that_waits(make: Make) -> None:
    machine = make(OBSERVER_COOLDOWN_SECS="2")
    store = machine.jsonl()
    store.start()
    machine.begin()
    talk(store, 45)
    machine.until_counted(45)
    mark = machine.memory / ".observer-last-run"
    later = epoch_ms(utc_now()) // 1000 + 1
    mark.write_text(f"{later}\n")
    until(lambda: len(machine.started()) == 2, "the observer")
    assert machine.started()[1]["at"] >= later + 2


def test_what_was_said_since_the_last_run_is_observed_when_the_cooldown_ends(make: Make) -> None:
    machine = make(OBSERVER_COOLDOWN_SECS="2")
    store = machine.jsonl()
    store.start()
    talk(store, 3)
    machine.memory.mkdir()
    ran = epoch_ms(utc_now()) // 1000
    (machine.memory / ".observer-last-run").write_text(f"{ran}\n")
    machine.begin()
    (found,) = machine.started("observer.py")
    assert found["at"] >= ran + 2


def test_an_observer_that_goes_on_failing_is_started_ever_later(make: Make) -> None:
    machine = make()
    machine.order("observer.py", told={"status": "error", "reason": "storage"}, code=1)
    machine.begin()
    until(lambda: len(machine.started()) == 4, "four tries")
    second, third, fourth = (row["at"] for row in machine.started()[1:])
    assert third - second >= 1.7 and fourth - third >= 3.7  # 2 and 4 s, less what a start takes


def test_after_a_failed_observer_the_lines_are_kept_and_it_is_said_once(make: Make) -> None:
    machine = make(OBSERVER_COOLDOWN_SECS="1")
    store = machine.jsonl()
    store.start()
    machine.begin()
    machine.order("observer.py", told={"status": "error", "reason": "storage"}, code=1)
    talk(store, 40)
    until(lambda: len(machine.events("ended", status="error")) >= 3, "three tries")
    machine.order("observer.py")
    until(lambda: machine.events("mended", about="observe"), "a good run")
    assert [event["lines"] for event in machine.events("started")][1:4] == [40, 40, 40]
    code, result, said = machine.end()
    assert said.count("observer.py failed (storage, exit code 1)") == 1
    assert said.count("in order again") == 1
    assert result["errors"] >= 3


# The end of a session ------------------------------------------------------------------------------------------------


@MODES
def test_a_renamed_transcript_starts_recovery_at_once(make: Make, flags: "tuple[str, ...]") -> None:
    machine = make(OBSERVER_COOLDOWN_SECS="3600")
    store = machine.jsonl()
    store.start()
    machine.begin(*flags)
    store.reset(SID, SID_2)
    until(lambda: machine.started("session_recovery.py"), "recovery")
    (found,) = machine.started("session_recovery.py")
    assert found["args"] == ["--trigger", "watcher", "--quiet", "--workspace", str(machine.workspace)]


@MODES
@pytest.mark.parametrize("schema", [19, 23])
def test_a_reset_in_the_store_starts_recovery(make: Make, schema: int, flags: "tuple[str, ...]") -> None:
    machine = make(OBSERVER_COOLDOWN_SECS="3600")
    with machine.sqlite(schema) as store:
        store.start()
        store.start(SID_2, "agent:main:cron:job-1", created_via="cron")
        store.reset(SID)
        machine.begin(*flags)
        store.reset(SID_2)
        store.user(SID, 'The text {"type":"reset"} is only quoted.')
        machine.until_counted(1)
        assert machine.started("session_recovery.py") == []
        store.reset(SID)
        until(lambda: machine.started("session_recovery.py"), "recovery")


@MODES
def test_a_marker_is_taken_and_recovery_started(make: Make, flags: "tuple[str, ...]") -> None:
    machine = make()
    machine.order("session_recovery.py", until="go", clears=True)
    machine.begin(*flags)
    marker = machine.leave_marker("1-a", NEW)
    until(lambda: marker.with_suffix(".taken").exists(), "the marker to be taken")
    (machine.workspace / "go").touch()
    until(lambda: machine.events("ended", job="recovery"), "recovery")
    machine.hang_up()
    assert list(machine.markers.iterdir()) == []
    assert len(machine.started("session_recovery.py")) == 1


@pytest.mark.parametrize(
    "event, script, flag",
    [(NEW, "session_recovery.py", "--trigger"), (COMPACT, "observer.py", "--flush")],
)
def test_who_cannot_wait_goes_beside_an_observer_that_runs(
    make: Make, event: str, script: str, flag: str
) -> None:
    machine, _store = busy(make)
    machine.leave_marker("1-a", event)
    until(lambda: len(machine.started()) == 3, "the job beside it")
    assert machine.started()[2] in machine.started(script, flag)
    assert len(machine.events("ended", job="observe")) == 1
    (machine.workspace / "go").touch()
    until(lambda: len(machine.events("ended", status="ok")) == 3, "the end of both")
    assert machine.end()[0] == 0


def test_one_observer_waits_until_a_recovery_has_ended(make: Make) -> None:
    machine = make()
    store = machine.jsonl()
    store.start()
    machine.begin()
    machine.order("session_recovery.py", until="go", clears=True)
    machine.leave_marker("1-a", NEW)
    until(lambda: machine.started("session_recovery.py"), "recovery")
    talk(store, 40)
    machine.until_counted(40)
    assert len(machine.started("observer.py")) == 1
    (machine.workspace / "go").touch()
    until(lambda: len(machine.started("observer.py")) == 2, "the observer")
    assert machine.events("started")[-1]["lines"] == 40


def test_what_a_recovery_only_captured_still_waits_for_an_observer(make: Make) -> None:
    machine = make()
    store = machine.jsonl()
    store.start()
    machine.begin()
    machine.order("session_recovery.py", clears=True, told={"reason": "captured", "observer": "model_failed"})
    talk(store, 39)
    machine.until_counted(39)
    machine.leave_marker("1-a", NEW)
    until(lambda: machine.events("ended", job="recovery"), "recovery")
    talk(store, 1)
    until(lambda: len(machine.started("observer.py")) == 2, "the observer")
    assert machine.events("started")[-1]["lines"] == 40


def test_a_recovery_that_fails_beside_an_observer_is_stood_in_for_after_it(make: Make) -> None:
    machine = make(OBSERVER_COOLDOWN_SECS="3600")
    machine.order("observer.py", until="go")
    machine.order("session_recovery.py", code=1, told={"status": "error", "reason": "unexpected"})
    machine.jsonl().start()
    machine.start()
    until(machine.started, "the observer")
    machine.leave_marker("1-a", NEW)
    until(lambda: machine.events("ended", job="recovery"), "recovery")
    assert len(machine.started("observer.py")) == 1
    (machine.workspace / "go").touch()
    until(lambda: len(machine.events("ended", job="observe")) == 2, "the observer instead")
    machine.hang_up()
    assert list(machine.markers.iterdir()) == []


def test_a_marker_from_before_the_start_is_acted_on(make: Make) -> None:
    machine = make()
    machine.markers.mkdir(parents=True)
    machine.leave_marker("1-a", NEW).rename(machine.markers / "1-a.taken")
    machine.order("session_recovery.py", clears=True)
    machine.begin()
    until(lambda: machine.started("session_recovery.py"), "recovery")


def test_a_marker_that_recovery_leaves_is_tried_again_after_the_cooldown(make: Make) -> None:
    machine = make(OBSERVER_COOLDOWN_SECS="1")
    machine.begin()
    machine.leave_marker("1-a", NEW)
    until(lambda: len(machine.started("session_recovery.py")) == 3, "three tries")
    first, second, third = (row["at"] for row in machine.started("session_recovery.py"))
    assert min(second - first, third - second) >= 1


@pytest.mark.parametrize("how", ["missing", "failing"])
def test_an_observer_stands_in_for_a_recovery_that_fails(
    make: Make, tmp_path: Path, scripts: Path, how: str
) -> None:
    if how == "missing":
        scripts = Path(shutil.copytree(scripts, tmp_path / "less"))
        (scripts / "session_recovery.py").unlink()
    machine = make(scripts=scripts, OBSERVER_COOLDOWN_SECS="3600")
    machine.order("session_recovery.py", code=1, told={"status": "error", "reason": "unexpected"})
    machine.begin()
    machine.leave_marker("1-a", NEW)
    until(lambda: len(machine.events("ended", job="observe")) == 2, "the observer")
    machine.hang_up()
    assert list(machine.markers.iterdir()) == []  # what was said is in memory
    _code, result, said = machine.end()
    assert (result["recoveries"], result["triggers"]) == (1, 2)
    assert said.count("session_recovery.py is missing" if how == "missing" else "recovery.py failed") == 1


@pytest.mark.parametrize(
    "code, told, cleared",
    [
        (0, {}, True),
        (4, {"status": "error", "reason": "busy", "provisional": 2}, True),
        (4, {"status": "error", "reason": "busy"}, False),
    ],
)
def test_before_a_compaction_the_observer_flushes(
    make: Make, code: int, told: "dict[str, Any]", cleared: bool
) -> None:
    machine = make(OBSERVER_COOLDOWN_SECS="3600")
    machine.begin()
    machine.order("observer.py", code=code, told=told)
    machine.leave_marker("1-a", COMPACT)
    until(lambda: machine.events("ended", job="flush"), "the flush")
    machine.hang_up()
    (found,) = machine.started("observer.py", "--flush")
    assert found["args"] == ["--flush", "--quiet", "--workspace", str(machine.workspace)]
    assert (list(machine.markers.iterdir()) == []) is cleared


def test_what_is_no_marker_is_removed(make: Make) -> None:
    machine = make()
    machine.begin()
    (machine.markers / "1-a.tmp").write_text("no json")
    (machine.markers / "1-a.tmp").rename(machine.markers / "1-a.json")
    until(lambda: list(machine.markers.iterdir()) == [], "its removal")


# What it survives ----------------------------------------------------------------------------------------------------


@MODES
def test_transcripts_that_are_written_anew_are_counted_from_their_start(
    make: Make, flags: "tuple[str, ...]"
) -> None:
    machine = make(OBSERVER_LINE_THRESHOLD="1")
    store = machine.jsonl()
    store.start()
    talk(store, 10)
    machine.begin(*flags)
    with open(store.path(SID), "r+b") as file:
        file.truncate(0)
    talk(store, 3)
    machine.until_handed_over(3)
    store.path(SID).unlink()
    talk(store, 5)
    machine.until_handed_over(8)
    copy = store.path(SID).with_suffix(".new")
    copy.write_bytes(b'{"type":"session"}\n{}\n')
    copy.replace(store.path(SID))
    machine.until_handed_over(10)
    store.delete(SID)
    talk(store, 2, SID_2)
    machine.until_handed_over(12)
    assert machine.started("session_recovery.py") == []


@MODES
def test_folders_may_come_go_and_come_back(make: Make, flags: "tuple[str, ...]") -> None:
    machine = make(OBSERVER_LINE_THRESHOLD="1")
    machine.start(*flags)  # no folder of the agent is there yet
    until(lambda: machine.events("watching"), "the watch")
    talk(machine.jsonl(), 3)
    machine.until_handed_over(3)
    shutil.rmtree(machine.sessions)
    talk(machine.jsonl(), 4, SID_2)
    machine.until_handed_over(7)
    agent = machine.sessions.parent
    agent.rename(agent.with_name("aside"))
    with machine.sqlite() as store:
        store.start()
        talk(store, 4)
        machine.until_handed_over(12)


def test_without_inotify_instances_it_polls_and_says_so_once(make: Make, tmp_path: Path) -> None:
    (tmp_path / "inotify_simple.py").write_text(FAKE_INOTIFY)
    machine = make(PYTHONPATH=str(tmp_path), OBSERVER_COOLDOWN_SECS="3600")
    store = machine.jsonl()
    store.start()
    machine.begin()
    machine.hang_up()
    talk(store, 2)
    machine.until_counted(2)
    _code, result, said = machine.end()
    assert result["mode"] == "poll"
    assert said.count("inotify cannot be used (Too many open files); looking every 5 s instead") == 1


def test_a_memory_folder_that_cannot_be_written_is_waited_for(make: Make) -> None:
    machine = make()
    machine.jsonl().start()
    machine.memory.mkdir()
    (machine.memory / ".total-recall").write_text("a file in the way")
    process = machine.start()
    until(lambda: machine.events("trouble", about="lock"), "the trouble")
    process.send_signal(signal.SIGHUP)
    (machine.memory / ".total-recall").unlink()
    process.send_signal(signal.SIGHUP)
    until(lambda: machine.events("ended"), "the first observer")
    code, _result, said = machine.end()
    assert (code, said.count("in the way"), said.count("lock: in order again")) == (0, 1, 1)


@pytest.mark.skipif(
    not hasattr(resource, "prlimit"), reason="limits of another process are set on Linux only"
)
def test_a_full_disk_is_said_once_and_outlived(make: Make) -> None:
    machine = make(OBSERVER_COOLDOWN_SECS="1")
    store = machine.jsonl()
    store.start()
    process = machine.begin()
    with open(machine.log, "a", encoding="utf-8") as log:
        log.write("x" * 10_000 + "\n")
    machine.order("observer.py", code=1, told={"status": "error", "reason": "storage"})
    unlimited = resource.RLIM_INFINITY
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (5_000, unlimited))  # less than the log has
    talk(store, 40)
    until(lambda: "observer.py failed" in machine.said, "the failure")
    machine.order("observer.py")
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))
    until(lambda: machine.events("mended", about="observe"), "a good run")
    assert machine.events("started")[-1]["lines"] == 40
    code, _result, said = machine.end()
    assert (code, said.count("no log written"), said.count("observer.py failed")) == (0, 1, 1)


def test_a_broken_env_file_changes_nothing_until_it_is_mended(make: Make) -> None:
    machine = make()
    del machine.environ["OBSERVER_COOLDOWN_SECS"]
    settings = machine.workspace / ".env"
    settings.write_text("OBSERVER_COOLDOWN_SECS=0\n")
    store = machine.jsonl()
    store.start()
    machine.begin()
    talk(store, 7)
    machine.until_counted(7)
    settings.write_text("OBSERVER_LINE_THRESHOLD=many\n")
    machine.hang_up()
    machine.hang_up()
    assert len(machine.events("trouble", about="configuration")) == 1
    settings.write_text("OBSERVER_COOLDOWN_SECS=0\nOBSERVER_LINE_THRESHOLD=8\n")
    machine.hang_up()
    assert len(machine.started()) == 1
    talk(store, 1)  # the eighth: those from before the reload are kept
    until(lambda: len(machine.started()) == 2, "the observer")
    assert len(machine.events("mended", about="configuration")) == 1


def test_another_memory_folder_after_sighup_is_watched_from_then_on(make: Make, tmp_path: Path) -> None:
    machine = make()
    machine.begin()
    (machine.workspace / ".env").write_text(f"MEMORY_DIR={tmp_path / 'elsewhere'}\n")
    machine.hang_up()
    until(lambda: (tmp_path / "elsewhere" / ".total-recall" / "markers").is_dir(), "the new markers folder")
    assert machine.end()[0] == 0


def test_beside_an_openclaw_nobody_has_talked_to_no_observer_is_started(make: Make) -> None:
    machine = make()
    machine.start()
    until(lambda: machine.events("watching"), "the watch")
    machine.hang_up()
    store = machine.jsonl()
    session = store.start()
    for number in range(40):
        store.user(session, f"line {number}")
    until(lambda: machine.started("observer.py"), "the observer")
    (first,) = machine.events("started")
    assert first["lines"] >= 40


def test_a_second_watcher_of_the_same_memory_ends_at_once(make: Make) -> None:
    machine = make()
    first = machine.begin()
    machine.start()
    code, result, said = machine.ended()
    assert (code, result["status"], result["reason"]) == (0, "skipped", "locked")
    assert "watcher-main.lock is held by another run" in said
    assert first.poll() is None
    machine.process = first


@pytest.mark.parametrize("place", ["workspace", "workspace-tess"], ids=["shared", "each its own"])
def test_two_agents_of_one_home_are_watched_side_by_side(make: Make, place: str) -> None:
    one, two = make(), make(agent="tess", place=place)
    for machine in (one, two):
        machine.jsonl().start()
        machine.order("session_recovery.py", clears=True)
        machine.begin()
    talk(one.jsonl(), 40)
    until(lambda: len(one.started("observer.py")) == 2, "the observer of the first")
    two.leave_marker("1-a", NEW, agent_id="tess")
    until(lambda: two.events("ended", job="recovery"), "the recovery of the second")
    one.leave_marker("2-b", NEW, agent_id="main")
    until(lambda: one.events("ended", job="recovery"), "the recovery of the first")
    counts = []
    for machine in (one, two):
        machine.hang_up()
        assert list(machine.markers.iterdir()) == []
        code, result, _said = machine.end()
        counts.append((code, result["status"], result["lines_counted"], result["recoveries"]))
    assert counts == [(0, "ok", 40, 1), (0, "ok", 0, 1)]


def test_a_killed_watcher_leaves_nothing_in_the_way_of_the_next(make: Make) -> None:
    machine, _store = busy(make)
    assert machine.process is not None
    machine.process.kill()
    machine.process.communicate()
    (machine.workspace / "go").touch()
    machine.start()
    until(lambda: len(machine.started()) == 3, "the observer of the next")
    assert machine.end()[0] == 0


def test_stopping_ends_the_child_in_order(make: Make) -> None:
    machine = make()
    machine.jsonl().start()
    machine.order("observer.py", until="never")
    machine.start()
    until(machine.started, "the observer")
    code, result, _said = machine.end()
    assert (code, result["reason"], result["errors"]) == (0, "stopped", 0)
    with pytest.raises(ProcessLookupError):
        os.killpg(machine.started()[0]["group"], 0)


def test_each_child_has_a_group_of_its_own(make: Make) -> None:
    machine = make()
    machine.begin()
    (row,) = machine.started()
    assert row["group"] == row["pid"]


# The command line ----------------------------------------------------------------------------------------------------


def test_dry_run_says_what_would_be_watched_and_writes_nothing(make: Make) -> None:
    machine = make()
    store = machine.jsonl()
    store.start()
    store.start(SID_2, "agent:main:cron:job-1")
    before = sorted(machine.folder.rglob("*"))
    machine.start("--dry-run")
    code, result, said = machine.ended()
    assert (code, result["reason"], result["mode"]) == (0, "dry_run", "inotify")
    assert (result["sessions"], result["machine_sessions"]) == (1, 1)
    assert result["sessions_dir"] == str(machine.sessions)
    assert result["missing"] == ["store_path", "markers"]
    assert "would watch" in said
    assert sorted(machine.folder.rglob("*")) == before


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "1e9", "soon"])
def test_a_poll_of_no_sense_is_refused(make: Make, seconds: str) -> None:
    machine = make()
    machine.start("--poll", seconds)
    code, result, _said = machine.ended()
    assert (code, result["error"]["code"]) == (2, "usage")


def test_the_log_holds_counts_and_nothing_that_was_said(make: Make) -> None:
    machine = make()
    store = machine.jsonl()
    store.start()
    machine.begin()
    talk(store, 40)
    until(lambda: len(machine.events("ended")) == 2, "the observer")
    machine.end()
    text = machine.log.read_text(encoding="utf-8")
    assert "tea" not in text
    assert json.loads(text.splitlines()[-1].partition(" ")[2])["lines_counted"] == 40


# With the layers as they are -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_what_is_said_reaches_memory_by_itself(make: Make, kind: str) -> None:
    machine = make(scripts=SCRIPTS)
    store: Any = machine.jsonl() if kind == "jsonl" else machine.sqlite()
    store.start(at=utc_now())
    machine.begin()
    store.user(SID, "My landlord is called Horst Beispiel.", at=utc_now())
    talk(store, 39)
    log = machine.memory / "observations.md"
    until(lambda: log.exists() and "Horst Beispiel" in log.read_text(encoding="utf-8"), "the observation")
    store.user(SID, "My dentist is called Vera Muster.", at=utc_now())
    machine.leave_marker("1-a", NEW)
    until(lambda: "Vera Muster" in log.read_text(encoding="utf-8"), "what was said before the reset")
    until(lambda: list(machine.markers.iterdir()) == [], "the end of the marker")
    code, result, _said = machine.end()
    assert (code, result["recoveries"], result["errors"]) == (0, 1, 0)
    if kind == "sqlite":
        store.close()


def test_what_is_said_before_a_reset_is_in_the_brief_while_an_observer_waits_for_its_model(
    make: Make,
) -> None:
    with fake_model.FakeModel(fake_model.Reply(then="hang")) as server:
        environ = {"LLM_PROVIDER": "openai", "LLM_BASE_URL": server.base_url, "LLM_MODEL": "test/model"}
        machine = make(scripts=SCRIPTS, **environ)
        store = machine.jsonl()
        store.start(at=utc_now())
        store.user(SID, "My landlord is called Horst Beispiel.", at=utc_now())
        machine.start()
        until(lambda: server.requests, "the observer's question")
        store.user(SID, "My dentist is called Vera Muster.", at=utc_now())
        machine.leave_marker("1-a", NEW)
        until(lambda: list(machine.markers.iterdir()) == [], "the end of the marker")
        brief = (machine.memory / ".total-recall" / "brief.txt").read_text(encoding="utf-8")
        assert "Vera Muster" in brief and "Horst Beispiel" in brief
        assert machine.events("ended", job="observe") == []


def test_two_agents_of_one_memory_are_observed_once_each(make: Make) -> None:
    one, two = make(scripts=SCRIPTS), make(scripts=SCRIPTS, agent="tess")
    names = {}
    for machine, session, name in ((one, SID, "Horst Beispiel"), (two, SID_2, "Vera Muster")):
        machine.jsonl().start(session, f"agent:{machine.agent}:main", at=utc_now())
        machine.jsonl().user(session, f"My landlord is called {name}.", at=utc_now())
        names[name] = machine
    log = one.memory / "observations.md"
    for machine in names.values():
        machine.start()

    def known() -> "dict[str, int]":
        text = log.read_text(encoding="utf-8") if log.exists() else ""
        return {name: text.count(name) for name in names}

    once = dict.fromkeys(names, 1)
    until(lambda: known() == once, "both")
    for number, machine in enumerate(2 * list(names.values())):  # each after the other has moved the cursors
        before = len(machine.events("ended", job="recovery"))
        machine.leave_marker(f"{number}-a", NEW, agent_id=machine.agent)
        until(lambda: len(machine.events("ended", job="recovery", status="ok")) > before, "recovery")  # noqa: B023
    assert known() == once
    assert [machine.end()[0] for machine in names.values()] == [0, 0]


def test_without_inotify_it_starts_anew_where_setup_has_installed_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inotify_simple", None)
    monkeypatch.setattr(_cli, "can_restart", lambda: True)
    monkeypatch.setattr(sys, "platform", "linux")
    options = watcher.build_parser().parse_args([])
    with pytest.raises(MissingPackage, match="inotify_simple"):
        watcher.ways(options, mock.Mock())
    monkeypatch.setattr(_cli, "can_restart", lambda: False)
    assert watcher.ways(options, mock.Mock()) == watcher.Ways()
