"""Runs a layer many times over in children of one process, each child with a fault put into its system calls.

`driver.py SCRIPTS` reads one JSON task a line on stdin: {"layer", "argv", "env", "fault", "number"}; answers each with
{"code", "signal", "calls"}. Faults: "none", "kill" (SIGKILL instead of the nth call), "killed" (SIGKILL right after
it), "fail" (the nth call fails with ENOSPC), "fail-on" (it and all after it), "short" (the nth write takes half and
then the disk is full), "torn" (it takes half and SIGKILL comes), "late" (SIGKILL after `number` milliseconds).
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import time
from typing import Any

sys.path.insert(0, sys.argv[1])

import filelock  # noqa: E402, F401
import jsonschema  # noqa: E402, F401

import _answer  # noqa: E402, F401 (loaded before the fork, so that children start at once)
import _extract  # noqa: E402, F401
import _gate  # noqa: E402, F401
import _llm  # noqa: E402, F401
import _reflect  # noqa: E402, F401
import dream_cycle  # noqa: E402
import observer  # noqa: E402
import recall  # noqa: E402
import reflector  # noqa: E402
import session_recovery  # noqa: E402

LAYERS = {
    "observer": observer.main,
    "reflector": reflector.main,
    "session_recovery": session_recovery.main,
    "dream_cycle": dream_cycle.main,
    "recall": recall.main,
}
CALLS = ("open", "write", "fsync", "replace", "unlink", "truncate", "ftruncate", "mkdir", "fchmod")


def put_in(fault: str, number: int, calls: int) -> None:
    """Wrap the system calls; `calls` is a pipe that gets a byte for each of them."""
    count = [0]
    tell = os.write

    def wrap(name: str) -> None:
        real = getattr(os, name)

        def call(*args: Any, **named: Any) -> Any:
            count[0] += 1
            tell(calls, b".")
            here = count[0] == number
            if fault == "kill" and here:
                os.kill(os.getpid(), signal.SIGKILL)
            if fault == "fail" and here or fault == "fail-on" and count[0] >= number:
                raise OSError(errno.ENOSPC, "No space left on device")
            if fault == "torn" and here and name == "write":
                real(args[0], args[1][: len(args[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            if fault == "short" and count[0] >= number and name == "write":
                if here:
                    real(args[0], args[1][: len(args[1]) // 2])
                raise OSError(errno.ENOSPC, "No space left on device")
            done = real(*args, **named)
            if fault == "killed" and here:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        setattr(os, name, call)

    for name in CALLS:
        wrap(name)


def child(task: "dict[str, Any]", calls: int) -> None:
    """The layer with its faults; never returns."""
    os.environ.clear()
    os.environ.update(task["env"])
    sink = os.open(os.devnull, os.O_RDWR)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    put_in(task["fault"], task["number"], calls)
    os._exit(LAYERS[task["layer"]](task["argv"]))


def carry_out(task: "dict[str, Any]") -> "dict[str, Any]":
    """Fork, wait, tell."""
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        child(task, writer)
    os.close(writer)
    if task["fault"] == "late":
        time.sleep(task["number"] / 1000)
        os.kill(pid, signal.SIGKILL)
    made = 0
    while chunk := os.read(reader, 65536):
        made += len(chunk)
    os.close(reader)
    _pid, status = os.waitpid(pid, 0)
    killed = os.WIFSIGNALED(status)
    return {"code": -1 if killed else os.WEXITSTATUS(status), "killed": killed, "calls": made}


def main() -> None:
    for line in sys.stdin:
        sys.stdout.write(json.dumps(carry_out(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
