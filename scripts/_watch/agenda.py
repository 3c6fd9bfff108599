"""What is to be started, and when. Pure: the time is a parameter, in seconds of a clock that only goes forward."""

from __future__ import annotations

import math
from typing import Optional

RECOVERY, FLUSH, OBSERVE = "recovery", "flush", "observe"
ORDER = (RECOVERY, FLUSH, OBSERVE)
LEAST_WAIT_SECONDS = 1.0  # before something that failed is tried again, whatever the cooldown says


class Agenda:
    """The jobs that wait, at most one of a kind, each with the time from which on it may start."""

    def __init__(self) -> None:
        self._due: "dict[str, float]" = {}

    def __contains__(self, job: object) -> bool:
        return job in self._due

    def want(self, job: str, at: float) -> None:
        """Have a job start at `at`, or earlier when that was wanted before."""
        self._due[job] = min(at, self._due.get(job, at))

    def take(self, now: float) -> str:
        """The job to start now, "" for none; it waits no longer."""
        ready = [job for job in ORDER if job in self._due and self._due[job] <= now]
        if not ready:
            return ""
        del self._due[ready[0]]
        return ready[0]

    @property
    def next_at(self) -> float:
        """When the first of them is due; infinite when nothing waits."""
        return min(self._due.values(), default=math.inf)


class Backlog:
    """Lines that no observer has been started for."""

    def __init__(self) -> None:
        self.waiting = 0
        self._in_work = 0

    def add(self, lines: int) -> None:
        """Count lines; below zero takes back."""
        self.waiting = max(0, self.waiting + lines)

    @property
    def fresh(self) -> int:
        """Those that no running observer is at."""
        return self.waiting - self._in_work

    def begin(self) -> None:
        """An observer starts on what waits."""
        self._in_work = self.waiting

    def settle(self, done: bool) -> None:
        """The observer ended. What came while it ran waits for the next; when it failed, all of it does."""
        if done:
            self.waiting = max(0, self.waiting - self._in_work)
        self._in_work = 0


def cooldown_left(last_run: Optional[float], now: float, cooldown_seconds: float) -> float:
    """Seconds until an observer may be started again. Both times in epoch seconds; a last run that lies in the future
    (the clock was set back) says nothing."""
    if last_run is None or last_run > now + 1:
        return 0.0
    return max(0.0, last_run + cooldown_seconds - now)
