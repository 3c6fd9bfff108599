"""One child: its result, its deadline, and that nothing of it stays."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from _watch.child import Child, Ended
from patience import until

FAR = 3600.0


def python(code: str, *arguments: str) -> "list[str]":
    return [sys.executable, "-c", code, *arguments]


def run(code: str, *arguments: str, deadline: float = FAR) -> Ended:
    child = Child("observe", python(code, *arguments), 0.0, deadline)
    found = until(lambda: child.tend(0.0), "the child")
    assert isinstance(found, Ended)
    return found


def test_its_result_is_the_object_that_it_prints() -> None:
    ended = run('print(\'{"status": "ok", "reason": "observed", "observations_written": 3}\')')
    assert (ended.code, ended.status, ended.reason, ended.count("observations_written")) == (
        0,
        "ok",
        "observed",
        3,
    )
    assert ended.count("provisional") == 0


@pytest.mark.parametrize(
    "code, status, reason",
    [
        ("pass", "error", "no_result"),
        ("print('[1]')", "error", "no_result"),
        ("print('{\"status\": 1')", "error", "no_result"),
        ("raise SystemExit(3)", "error", "no_result"),
        ('print(\'{"status": "ok"}\'); raise SystemExit(3)', "error", "no_result"),
        ('print(\'{"status": "skipped", "reason": "locked"}\')', "skipped", "locked"),
    ],
)
def test_what_ends_without_a_good_result_is_an_error(code: str, status: str, reason: str) -> None:
    ended = run(code)
    assert (ended.status, ended.reason) == (status, reason)


def test_a_result_larger_than_a_pipe_does_not_block_it() -> None:
    assert run("import json; print(json.dumps({'status': 'ok', 'sources': ['x' * 300_000]}))").status == "ok"


def test_one_that_closes_its_output_is_not_waited_at() -> None:
    child = Child("observe", python("import os, time; os.close(1); time.sleep(60)"), 0.0, FAR)
    until(lambda: child.tend(0.0) is None and child.output is None, "the end of its output")
    child.stop(0.0)
    assert until(lambda: child.tend(0.0), "its end").code == -signal.SIGTERM


def test_at_its_deadline_it_is_asked_to_end() -> None:
    child = Child("observe", python("import time; time.sleep(60)"), 100.0, 30.0)
    assert child.next_at == 130.0
    assert child.tend(129.9) is None
    assert child.tend(130.0) is None
    assert child.next_at == 155.0
    ended = until(lambda: child.tend(130.1), "its end")
    assert (ended.code, ended.reason, ended.status) == (-signal.SIGTERM, "deadline", "error")


def test_one_that_is_deaf_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    code = (
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "inner = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "open(sys.argv[1] + '.new', 'w').write(str(os.getpid()))\n"
        "os.rename(sys.argv[1] + '.new', sys.argv[1])\n"
        "time.sleep(60)\n"
    )
    sign = tmp_path / "group"
    child = Child("observe", python(code, str(sign)), 0.0, 5.0, grace_seconds=2.0)
    until(sign.exists, "the child's child")
    group = int(sign.read_text())
    assert child.tend(5.0) is None
    assert child.tend(6.9) is None
    assert child.tend(7.0) is None
    assert until(lambda: child.tend(7.1), "its end").code == -signal.SIGKILL
    until(lambda: group_is_gone(group), "the end of the group")


def test_what_a_child_leaves_behind_is_ended_with_it(tmp_path: Path) -> None:
    code = (
        "import os, subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], stdout=subprocess.DEVNULL)\n"
        "open(sys.argv[1], 'w').write(str(os.getpid()))\n"
    )
    run(code, str(tmp_path / "group"))
    group = int((tmp_path / "group").read_text())
    until(lambda: group_is_gone(group), "the end of the group")


def group_is_gone(group: int) -> bool:
    """Whether none of its processes runs; those that ended and were not waited for by anybody do not count."""
    if not Path("/proc/self/stat").exists():
        try:
            os.killpg(group, 0)
        except OSError:
            return True
        return False
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == group and fields[0] != "Z":
                return False
    return True


def test_one_that_cannot_be_started_is_an_error_of_the_system() -> None:
    with pytest.raises(OSError):
        Child("observe", ["/nonexistent/python"], time.monotonic(), 1.0)


def test_its_group_is_its_own() -> None:
    child = Child("observe", python("import os, json; print(json.dumps({'g': os.getpgrp()}))"), 0.0, FAR)
    assert until(lambda: child.tend(0.0), "its end").told["g"] != os.getpgrp()
