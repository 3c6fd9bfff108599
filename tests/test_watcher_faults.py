"""The watcher killed at any moment, beside a full disk and a memory that cannot be written: nothing is lost by it."""

from __future__ import annotations

import errno
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from _compat import utc_now
from patience import until
from transcript_builders import SID
from watcher_testing import SCRIPTS, Machine, Make, copy_scripts, machines, switched

NEW, COMPACT = "command:new", "session:compact:before"
EVERY = 3  # of the system calls is tried, beginning at another one each time
WRITING = ("open", "replace", "unlink", "mkdir")


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_scripts(tmp_path_factory.mktemp("copy"))


@pytest.fixture
def make(tmp_path: Path, scripts: Path) -> Iterator[Make]:
    with machines(tmp_path, scripts) as one:
        yield one


def left_over(machine: Machine) -> "list[str]":
    return [path.name for path in machine.markers.iterdir()]


def marked(machine: Machine) -> Machine:
    """With a session, and markers of a reset and of a compaction that nobody has taken up yet."""
    machine.jsonl().start()
    machine.markers.mkdir(parents=True, exist_ok=True)
    machine.leave_marker("1-a", NEW)
    machine.leave_marker("2-b", COMPACT)
    machine.order("session_recovery.py", clears=NEW)  # a flush's are for the watcher to remove
    return machine


# Killed --------------------------------------------------------------------------------------------------------------


def settled(machine: Machine) -> bool:
    return bool(machine.events("ended", job="flush") and machine.events("ended", job="recovery"))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("first", range(1, EVERY + 1))
def test_a_watcher_killed_at_any_moment_leaves_nothing_that_stops_the_next(
    make: Make, tmp_path: Path, first: int
) -> None:
    whole = marked(make("whole", **switched(tmp_path)))
    whole.kill_at(0)
    whole.start()
    until(lambda: settled(whole) and whole.events("ended", job="observe"), "all three jobs")
    assert whole.end()[0] == 0 and left_over(whole) == []
    calls = whole.calls.stat().st_size
    assert calls > 15
    killed = 0
    for number in range(first, calls + 1, EVERY):
        machine = marked(make(f"home-{number}", **switched(tmp_path)))
        machine.kill_at(number)
        process = machine.start()
        until(lambda: machine.process_ended() or left_over(machine) == [], "its end")  # noqa: B023
        process.send_signal(signal.SIGTERM)
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
        machine.mend()
        before = len(machine.events("watching"))
        machine.start()
        until(lambda: len(machine.events("watching")) > before, "the watch")  # noqa: B023
        until(lambda: left_over(machine) == [], f"the markers after a kill at call {number}")  # noqa: B023
        assert machine.started("session_recovery.py") and machine.started("observer.py", "--flush")
        code, result, _said = machine.end()
        assert (code, result["status"]) == (0, "ok"), f"after a kill at call {number}"
        machine.clean()
    assert killed > calls // EVERY // 2


# A full disk ---------------------------------------------------------------------------------------------------------


def test_a_marker_that_a_full_disk_keeps_from_being_taken_is_acted_on(make: Make, tmp_path: Path) -> None:
    machine = make(**switched(tmp_path))
    machine.order("session_recovery.py", clears=True)
    machine.begin()
    machine.fail(["replace"], errno.ENOSPC, machine.markers, "watcher.py")
    machine.leave_marker("1-a", NEW)
    until(lambda: machine.events("ended", job="recovery"), "recovery")
    machine.hang_up()
    assert left_over(machine) == []
    assert machine.said.count("cannot be renamed: No space left on device") == 1
    machine.mend()
    machine.leave_marker("2-b", NEW)
    until(lambda: machine.events("mended", about="marker"), "the end of it")
    until(lambda: len(machine.events("ended", job="recovery")) == 2, "recovery")
    assert machine.end()[0] == 0 and left_over(machine) == []


@pytest.mark.parametrize("stands_in", [False, True], ids=["flush", "observer instead of recovery"])
def test_a_marker_that_a_full_disk_keeps_from_being_removed_is_tried_again(
    make: Make, tmp_path: Path, stands_in: bool
) -> None:
    machine = make(**switched(tmp_path))
    machine.order("session_recovery.py", code=1, told={"status": "error", "reason": "unexpected"})
    machine.begin()
    machine.fail(["unlink"], errno.ENOSPC, machine.markers, "watcher.py")
    machine.leave_marker("1-a", NEW if stands_in else COMPACT)
    flags = [] if stands_in else ["--flush"]
    until(lambda: len(machine.started("observer.py", *flags)) >= 2 + stands_in, "two tries")
    assert left_over(machine) == ["1-a.taken"]
    assert machine.said.count("cannot be removed: No space left on device") == 1
    machine.mend()
    until(lambda: left_over(machine) == [], "its removal")
    until(lambda: machine.events("mended", about="marker"), "the end of it")
    assert machine.end()[0] == 0


# Reading and writing -------------------------------------------------------------------------------------------------


def test_markers_that_cannot_be_listed_are_not_taken_for_none(make: Make, tmp_path: Path) -> None:
    machine = make(**switched(tmp_path))
    machine.order("observer.py", until="go")
    machine.start()
    until(lambda: machine.events("watching"), "the watch")
    machine.leave_marker("1-a", COMPACT)
    until(lambda: machine.started("observer.py", "--flush"), "the flush")
    machine.fail(["listdir"], errno.EIO, machine.markers, "watcher.py")
    (machine.workspace / "go").touch()
    until(lambda: machine.events("ended", job="flush"), "its end")
    until(lambda: machine.events("trouble", about="markers"), "the trouble")
    until(lambda: len(machine.started("observer.py", "--flush")) >= 2, "another try: it may still be there")
    machine.leave_marker("2-b", NEW)
    machine.hang_up()
    machine.mend()
    machine.order("session_recovery.py", clears=True)
    machine.hang_up()
    until(lambda: machine.started("session_recovery.py"), "recovery")
    assert machine.said.count("markers cannot be listed") == 1
    assert machine.end()[0] == 0


def test_a_memory_that_is_read_only_at_the_start_is_waited_for(make: Make, tmp_path: Path) -> None:
    machine = make(**switched(tmp_path))
    machine.jsonl().start()
    machine.memory.mkdir()
    machine.fail(WRITING, errno.EROFS, machine.memory)
    process = machine.start()
    until(lambda: machine.events("trouble", about="lock"), "the trouble")
    machine.mend()
    process.send_signal(signal.SIGHUP)
    until(lambda: machine.events("ended", job="observe", status="ok"), "the first observer")
    code, _result, said = machine.end()
    assert (code, said.count("Read-only file system"), said.count("lock: in order again")) == (0, 1, 1)


def test_a_memory_that_becomes_read_only_loses_nothing_of_what_is_said_then(
    make: Make, tmp_path: Path
) -> None:
    machine = make(scripts=SCRIPTS, OBSERVER_LINE_THRESHOLD="1", **switched(tmp_path))
    store = machine.jsonl()
    store.start(at=utc_now())
    machine.begin()
    machine.fail(WRITING, errno.EROFS, machine.memory)
    store.user(SID, "My landlord is called Horst Beispiel.", at=utc_now())
    until(lambda: machine.events("ended", job="observe", reason="storage"), "the failure")
    store.reset(SID)
    until(lambda: machine.events("ended", job="recovery", reason="storage"), "recovery's failure")
    machine.mend()
    log = machine.memory / "observations.md"
    until(lambda: log.exists() and log.read_text(encoding="utf-8").count("Horst Beispiel") == 1, "it")
    code, _result, said = machine.end()
    assert (code, said.count("observer.py failed (storage, exit code 1)")) == (0, 1)
