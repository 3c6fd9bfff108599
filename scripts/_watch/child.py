"""One child process: its result, its deadline, and that nothing of it stays behind."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Optional

# A layer that is asked to end gives 10 s to one that it has started itself (in a session of its own, which only it can
# reach), and then kills it: that has to be over before it is killed.
GRACE_SECONDS = 25.0
LARGEST_RESULT = 1_000_000  # bytes


@dataclass(frozen=True)
class Ended:
    """How a child ended. `code` is below zero when a signal ended it; `told` is its result object, {} for none."""

    job: str
    code: int
    told: "dict[str, Any]"
    overdue: bool = False

    @property
    def status(self) -> str:
        """ "ok", "skipped" or "error"; what ended without a result is an error."""
        status = str(self.told.get("status") or "error")
        return "error" if self.code and status != "error" else status

    @property
    def reason(self) -> str:
        """A short code: the result's reason, or what became of the process."""
        if self.overdue:
            return "deadline"
        reason = self.told.get("reason")
        return reason if isinstance(reason, str) and reason else "no_result"

    def count(self, name: str) -> int:
        """A number from the result."""
        value = self.told.get(name)
        return value if isinstance(value, int) else 0


class Child:
    """A process in a group of its own, so that what it starts ends with it. Times are of a clock that goes forward."""

    def __init__(
        self,
        job: str,
        command: Sequence[str],
        now: float,
        deadline_seconds: float,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        """Raises OSError when it cannot be started."""
        self.job = job
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self._out = self._process.stdout
        os.set_blocking(self._out.fileno(), False)
        self._told = b""
        self._at_end = False
        self._grace = grace_seconds
        self._terminate_at, self._kill_at = now + deadline_seconds, math.inf
        self._overdue = False

    @property
    def output(self) -> Optional[int]:
        """The descriptor to wait at for its result; None when it has closed it."""
        return None if self._at_end else self._out.fileno()

    @property
    def next_at(self) -> float:
        """When `tend` has something to do at the latest, if the process does not end before."""
        return min(self._terminate_at, self._kill_at)

    def stop(self, now: float) -> None:
        """Ask it to end in order; after the grace it is killed."""
        if self._terminate_at < math.inf:
            self._terminate_at, self._kill_at = math.inf, now + self._grace
            self._signal(signal.SIGTERM)

    def tend(self, now: float) -> Optional[Ended]:
        """Take what it has said, see to its deadline; how it ended, None as long as it runs."""
        self._drain()
        code = self._process.poll()
        if code is None:
            if now >= self._terminate_at:
                self._overdue = True
                self.stop(now)
            elif now >= self._kill_at:
                self._signal(signal.SIGKILL)
                self._kill_at = now + self._grace
            return None
        self._signal(signal.SIGKILL)  # what it started and left behind
        self._drain()
        self._out.close()
        self._at_end = True
        return Ended(self.job, code, _result(self._told), self._overdue)

    def _drain(self) -> None:
        while not self._at_end:
            try:
                piece = os.read(self._out.fileno(), 1 << 16)
            except BlockingIOError:
                return
            self._at_end = not piece
            if len(self._told) < LARGEST_RESULT:
                self._told += piece

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):  # macOS says EPERM of a group that has ended
            os.killpg(self._process.pid, number)


def _result(told: bytes) -> "dict[str, Any]":
    try:
        found = json.loads(told)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
