"""What is to be started, and when. Pure: the time is a parameter, in seconds of a clock that only goes forward."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Optional

RECOVERY, FLUSH, OBSERVE = "recovery", "flush", "observe"
ORDER = (RECOVERY, FLUSH, OBSERVE)
URGENT = (RECOVERY, FLUSH)  # somebody waits for these: they run beside an observer
# Before something that failed is tried again, whatever the cooldown says: twice as long each time, up to the most.
LEAST_WAIT_SECONDS, MOST_WAIT_SECONDS = 1.0, 300.0


class Agenda:
    """The jobs that wait, at most one of a kind, each with the time from which on it may start."""

    def __init__(self) -> None:
        self._due: "dict[str, float]" = {}

    def __contains__(self, job: object) -> bool:
        return job in self._due

    def want(self, job: str, at: float) -> None:
        """Have a job start at `at`, or earlier when that was wanted before."""
        self._due[job] = min(at, self._due.get(job, at))

    def take(self, now: float, among: Sequence[str] = ORDER) -> str:
        """The job among these to start now, "" for none; it waits no longer."""
        ready = [job for job in among if job in self._due and self._due[job] <= now]
        if not ready:
            return ""
        del self._due[ready[0]]
        return ready[0]

    def next_at(self, among: Sequence[str] = ORDER) -> float:
        """When the first of these is due; infinite when none of them waits."""
        return min((at for job, at in self._due.items() if job in among), default=math.inf)


class Backlog:
    """Lines that no job has taken in. Several jobs may be at them: each at all that were there when it began."""

    def __init__(self) -> None:
        self._counted = 0
        self._done = 0  # of those counted
        self._in_work: "dict[str, int]" = {}  # by job, how many were counted when it began

    @property
    def waiting(self) -> int:
        """Those that are not taken in."""
        return self._counted - self._done

    @property
    def fresh(self) -> int:
        """Those that no running job is at either."""
        return max(0, self._counted - max([self._done, *self._in_work.values()]))

    def add(self, lines: int) -> None:
        """Count lines; below zero takes back."""
        self._counted = max(self._done, self._counted + lines)

    def begin(self, job: str) -> None:
        """A job starts on what waits."""
        self._in_work[job] = self._counted

    def settle(self, job: str, done: bool) -> None:
        """The job ended. What came while it ran waits for the next; when it failed, all of it does."""
        began = self._in_work.pop(job)
        if done:
            self._done = max(self._done, min(began, self._counted))


def cooldown_left(last_run: Optional[float], now: float, cooldown_seconds: float) -> float:
    """Seconds until an observer may be started again. Both times in epoch seconds; a last run that lies in the future
    (the clock was set back) says nothing."""
    if last_run is None or last_run > now + 1:
        return 0.0
    return max(0.0, last_run + cooldown_seconds - now)


def retry_seconds(failures_in_row: int, cooldown_seconds: float) -> float:
    """How long to wait before something that failed so many times is tried again."""
    patience = LEAST_WAIT_SECONDS * 2.0 ** min(failures_in_row - 1, 20)
    return max(cooldown_seconds, min(MOST_WAIT_SECONDS, patience))
