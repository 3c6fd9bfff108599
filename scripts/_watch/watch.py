"""The watcher itself: one loop that waits, looks, and starts what is due."""

from __future__ import annotations

import math
import select
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, NamedTuple, Optional

from _compat import epoch_ms, stamp, utc_now
from _config import Config
from _errors import StorageError, TotalRecallError
from _files import lock_for_life, read_bytes
from _markers import Marker
from _watch.agenda import (
    FLUSH,
    OBSERVE,
    ORDER,
    RECOVERY,
    URGENT,
    Agenda,
    Backlog,
    cooldown_left,
    retry_seconds,
)
from _watch.child import Child, Ended
from _watch.marks import Marks
from _watch.notice import MARKERS
from _watch.outlook import RETRY_SECONDS, Outlook, Ways
from _watch.signals import Signals
from _watch.voice import Voice

# Recovery gives its own observer 600 s, and has something to do after that.
DEADLINE_SECONDS = {RECOVERY: 660.0, FLUSH: 1800.0, OBSERVE: 1800.0}
SCRIPTS = Path(__file__).resolve().parent.parent
COMMANDS = {
    RECOVERY: ("session_recovery.py", "--trigger", "watcher"),
    FLUSH: ("observer.py", "--flush"),
    OBSERVE: ("observer.py", "--trigger", "watcher"),
}
LOG = "observer-watcher.log"


@dataclass
class Tally:
    """What was done so far."""

    started: "dict[str, int]" = field(default_factory=lambda: dict.fromkeys(COMMANDS, 0))
    lines: int = 0
    failures: int = 0
    mode: str = ""


class Running(NamedTuple):
    """A job at work. `markers`: those that it is to settle, None when they could not be listed. `instead`: an observer
    that stands in for a recovery that failed."""

    child: Child
    markers: "Optional[list[Marker]]"
    instead: bool


class Watch:
    """The watch over one workspace and agent. Times are seconds of `time.monotonic`.

    At most two jobs run: an observer, and beside it a flush or a recovery, which cannot wait for its model.
    """

    def __init__(self, config: Config, ways: Ways, voice: Voice, tally: Tally) -> None:
        self.config = config
        self._marks = Marks(config, voice)
        self._voice, self._tally = voice, tally
        self._outlook = Outlook(config, self._marks.folder, ways, voice)
        self._agenda, self._backlog = Agenda(), Backlog()
        self._running: "list[Running]" = []
        self._failed_in_row: "dict[str, int]" = {}
        self._hold = -math.inf  # no observer before this
        self._instead = False  # the next observer stands in for a recovery that failed

    def begin(self) -> None:
        """Begin to watch; an observer takes in what was said before, after the cooldown when one ran lately."""
        now = time.monotonic()
        self._outlook.begin(now)
        config = self.config
        if config.sessions_dir.is_dir() or config.store_path.exists():
            self._agenda.want(OBSERVE, now + self._cooldown_left())
        self._tally.mode = self._outlook.mode
        self._voice.tell("watching", f"watching {config.sessions_dir} ({self._outlook.mode})")

    def step(self) -> None:
        """Do what is due now."""
        now = time.monotonic()
        for running in list(self._running):
            self._tend(running, now)
        seen, markers = self._outlook.look(now)
        self._tally.mode = self._outlook.mode
        self._tally.lines += seen.lines
        self._backlog.add(seen.lines)
        if seen.resets:
            self._agenda.want(RECOVERY, now)
        if markers:
            self._look_at_markers(now)
        if self._backlog.fresh >= self.config.line_threshold and OBSERVE not in self._agenda:
            self._agenda.want(OBSERVE, max(self._hold, now + self._cooldown_left()))
        self._start(self._agenda.take(now, self._startable), now)

    def refresh(self, config: Config) -> None:
        """Go on with this configuration, unless it names other places; and look at everything."""
        if _places(config) == _places(self.config):
            self.config = config
        self._outlook.sweep(time.monotonic())
        self._voice.tell("reloaded", "the configuration was read again", lines=self._tally.lines)

    def wait(self, signals: Signals) -> None:
        """Sleep until something happens or is due."""
        due = [self._outlook.next_at, self._agenda.next_at(self._startable), self._next_end]
        wait_for([signals.descriptor, self._outlook.descriptor, *self._outputs], min(due) - time.monotonic())
        signals.forget()

    def close(self, signals: Signals) -> None:
        """End the children in order, and watch no more."""
        self._outlook.close()
        for running in self._running:
            running.child.stop(time.monotonic())
        while self._running:
            now = time.monotonic()
            if not any([self._reap(running, now) for running in list(self._running)]):
                wait_for([signals.descriptor, *self._outputs], self._next_end - now)
                signals.forget()

    # Jobs ------------------------------------------------------------------------------------------------------------

    @property
    def _startable(self) -> "tuple[str, ...]":
        """The jobs that may begin beside those that run."""
        jobs = {running.child.job for running in self._running}
        if jobs.intersection(URGENT):
            return ()
        return URGENT if jobs else ORDER

    @property
    def _outputs(self) -> "list[Optional[int]]":
        return [running.child.output for running in self._running]

    @property
    def _next_end(self) -> float:
        return min((running.child.next_at for running in self._running), default=math.inf)

    def _start(self, job: str, now: float) -> None:
        if not job:
            return
        instead = self._instead and job == OBSERVE
        left = self._cooldown_left() if job == OBSERVE and not instead else 0.0
        if left:
            self._agenda.want(OBSERVE, now + left)
            return
        script, *flags = COMMANDS[job]
        command = [sys.executable, str(SCRIPTS / script), *flags, "--quiet"]
        command += ["--workspace", str(self.config.workspace)]
        markers = self._marks.left(RECOVERY if instead else job)
        try:
            child = Child(job, command, now, DEADLINE_SECONDS[job])
        except OSError as problem:
            self._voice.trouble(job, "not_started", f"{script} could not be started: {problem.strerror}")
            self._agenda.want(job, self._later(job, now))
            return
        self._running.append(Running(child, markers, instead))
        self._tally.started[job] += 1
        self._backlog.begin(job)
        if job == OBSERVE:
            self._instead = False
            self._hold = now + self.config.cooldown_seconds
        self._voice.tell("started", job=job, lines=self._backlog.waiting)

    def _tend(self, running: Running, now: float) -> None:
        """See to a child, and to what follows from its end."""
        ended = self._reap(running, now)
        if ended is not None:
            follow = {RECOVERY: self._recovered, FLUSH: self._flushed, OBSERVE: self._observed}
            follow[ended.job](running, ended, now)

    def _reap(self, running: Running, now: float) -> Optional[Ended]:
        """How a child ended, None as long as it runs."""
        ended = running.child.tend(now)
        if ended is None:
            return None
        self._running.remove(running)
        # What recovery only captured still waits for an observer.
        took_in = ended.status == "ok" and ended.told.get("observer", "ok") == "ok"
        self._backlog.settle(ended.job, took_in)
        written = ended.count("observations_written")
        self._voice.tell(
            "ended", job=ended.job, status=ended.status, reason=ended.reason, code=ended.code, written=written
        )
        return ended

    def _recovered(self, running: Running, ended: Ended, now: float) -> None:
        """It removes the markers itself. One that fails, or is not there, is stood in for by an observer."""
        if ended.status == "error":
            self._failed(ended, "an observer takes in what is new instead")
            self._instead = True
            self._agenda.want(OBSERVE, now)
            return
        self._voice.mended(RECOVERY)
        self._again_if_left(RECOVERY, running, now)

    def _flushed(self, running: Running, ended: Ended, now: float) -> None:
        """Provisional lines are as good: what was said is in memory before OpenClaw compacts."""
        if ended.status != "error" or ended.count("provisional") or ended.count("observations_written"):
            self._voice.mended(FLUSH)
            self._marks.clear(running.markers)
        else:
            self._failed(ended, "it is tried again after the cooldown")
        self._again_if_left(FLUSH, running, now)

    def _observed(self, running: Running, ended: Ended, now: float) -> None:
        if ended.status == "ok":
            self._failed_in_row.pop(OBSERVE, None)
            self._voice.mended(OBSERVE)
            if running.instead:
                self._marks.clear(running.markers)
                self._again_if_left(RECOVERY, running, now)
            return
        if ended.status == "error":
            self._failed(ended, "it is tried again after the cooldown")
        self._hold = self._later(OBSERVE, now)
        again = RECOVERY if running.instead and self._marks.left(RECOVERY) != [] else OBSERVE
        self._agenda.want(again, self._hold)

    def _again_if_left(self, job: str, running: Running, now: float) -> None:
        """Begin a job once more, later, when markers that it was to settle are still there, or nobody can tell."""
        if self._marks.left(job, among=running.markers) == []:
            self._failed_in_row.pop(job, None)
        else:
            self._agenda.want(job, self._later(job, now))

    def _failed(self, ended: Ended, then: str) -> None:
        self._tally.failures += 1
        script = COMMANDS[ended.job][0]
        missing = not (SCRIPTS / script).exists()
        why = "is missing" if missing else f"failed ({ended.reason}, exit code {ended.code})"
        code = "missing" if missing else ended.reason
        self._voice.trouble(ended.job, code, f"{script} {why}; {then}", counted=False)  # the failure is

    def _later(self, job: str, now: float) -> float:
        """When a job that got nowhere is begun again."""
        self._failed_in_row[job] = self._failed_in_row.get(job, 0) + 1
        return now + retry_seconds(self._failed_in_row[job], self.config.cooldown_seconds)

    def _cooldown_left(self) -> float:
        mark = self.config.memory_dir / ".observer-last-run"
        return cooldown_left(last_run(mark), epoch_ms(utc_now()) / 1000, self.config.cooldown_seconds)

    def _look_at_markers(self, now: float) -> None:
        """Begin what the markers ask for that are new."""
        jobs = self._marks.take_up()
        if jobs is None:
            self._outlook.retry(MARKERS, now)
            return
        self._outlook.forget_retry(MARKERS)
        for job in jobs:
            self._agenda.want(job, now)


def watch(config: Config, ways: Ways, voice: Voice, tally: Tally, read_config: Callable[[], Config]) -> None:
    """Watch until a signal says to stop. SIGHUP reads the configuration again, and looks at everything.

    Raises BusyError when another watcher has this memory folder for the same agent. One that cannot be written to is
    waited for.
    """
    with Signals() as signals:
        while not signals.stop:
            voice.log = config.logs_dir / LOG
            try:
                with lock_for_life(config.private_dir / f"watcher-{config.agent_id}.lock"):
                    voice.mended("lock")
                    watching = Watch(config, ways, voice, tally)
                    config = _watch_on(watching, signals, voice, read_config)
            except StorageError as problem:
                voice.trouble("lock", problem.code, str(problem))
                wait_for([signals.descriptor], RETRY_SECONDS)
                signals.forget()
                config = _config_now(config, signals, voice, read_config)


def _watch_on(watching: Watch, signals: Signals, voice: Voice, read_config: Callable[[], Config]) -> Config:
    """Watch until a signal says to stop, or until the configuration, which is returned, names other places."""
    config = watching.config
    watching.begin()
    try:
        while not signals.stop and _places(config) == _places(watching.config):
            watching.step()
            watching.wait(signals)
            if signals.reload:
                config = _config_now(config, signals, voice, read_config)
                watching.refresh(config)
    finally:
        watching.close(signals)
    return config


def _config_now(config: Config, signals: Signals, voice: Voice, read_config: Callable[[], Config]) -> Config:
    """The configuration as it is now, when SIGHUP asked for it; the old one when the new one is broken."""
    if not signals.reload:
        return config
    signals.reload = False
    try:
        found = read_config()
    except TotalRecallError as problem:
        voice.trouble("configuration", problem.code, f"the configuration stays as it was: {problem}")
        return config
    voice.mended("configuration")
    return found


def _places(config: Config) -> "tuple[object, ...]":
    return config.agent_id, config.workspace, config.memory_dir, config.sessions_dir, config.store_path


def last_run(mark: Path) -> Optional[float]:
    """When an observer ran last, epoch seconds: what it wrote into its mark, else when it wrote it; None for never."""
    try:
        text = read_bytes(mark)
        if text is None:
            return None
        if text.strip().isdigit():
            return float(text)
        found = stamp(mark)
        return found.mtime_ns / 1e9 if found else None
    except (StorageError, OSError):
        return None


def wait_for(descriptors: "list[Optional[int]]", seconds: float) -> None:
    """Sleep until one of them can be read, or the time is over."""
    poller = select.poll()
    for descriptor in descriptors:
        if descriptor is not None:
            poller.register(descriptor, select.POLLIN)
    poller.poll(max(0, math.ceil(min(seconds, 86_400.0) * 1000)))
