"""The watcher itself: one loop that waits, looks, and starts what is due."""

from __future__ import annotations

import math
import select
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Optional

from _compat import epoch_ms, stamp, utc_now
from _config import Config
from _errors import StorageError, TotalRecallError
from _files import lock_for_life, read_bytes
from _markers import COMPACTS, ENDS, Marker, clear, read_markers, take
from _state import Places
from _watch.agenda import FLUSH, LEAST_WAIT_SECONDS, OBSERVE, RECOVERY, Agenda, Backlog, cooldown_left
from _watch.child import Child, Ended
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
EVENTS: "dict[str, tuple[str, ...]]" = {RECOVERY: ENDS, FLUSH: COMPACTS, OBSERVE: ()}


@dataclass
class Tally:
    """What was done so far."""

    started: "dict[str, int]" = field(default_factory=lambda: dict.fromkeys(COMMANDS, 0))
    lines: int = 0
    failures: int = 0
    mode: str = ""


class Watch:
    """The watch over one workspace and agent. Times are seconds of `time.monotonic`."""

    def __init__(self, config: Config, ways: Ways, voice: Voice, tally: Tally) -> None:
        self.config = config
        self._markers = markers_folder(config)
        self._voice, self._tally = voice, tally
        self._outlook = Outlook(config, self._markers, ways, voice)
        self._agenda, self._backlog = Agenda(), Backlog()
        self._child: Optional[Child] = None
        self._handed: "set[str]" = set()  # markers that a job was begun for
        self._with: "list[Marker]" = []  # those that the running child is to settle
        self._hold = -math.inf  # no observer before this
        self._instead = False  # the next observer stands in for a recovery that failed

    def begin(self) -> None:
        """Begin to watch; an observer takes in what was said before, unless one did lately."""
        now = time.monotonic()
        self._outlook.begin(now)
        config = self.config
        if not self._cooldown_left() and (config.sessions_dir.is_dir() or config.store_path.exists()):
            self._agenda.want(OBSERVE, now)
        self._tally.mode = self._outlook.mode
        self._voice.tell("watching", f"watching {self.config.sessions_dir} ({self._outlook.mode})")

    def step(self) -> None:
        """Do what is due now."""
        now = time.monotonic()
        self._tend(now)
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
        if self._child is None:
            self._start(self._agenda.take(now), now)

    def refresh(self, config: Config) -> None:
        """Go on with this configuration, unless it names other places; and look at everything."""
        if _places(config) == _places(self.config):
            self.config = config
        self._outlook.sweep(time.monotonic())
        self._voice.tell("reloaded", "the configuration was read again", lines=self._tally.lines)

    def wait(self, signals: Signals) -> None:
        """Sleep until something happens or is due."""
        due = [self._outlook.next_at]
        due.append(self._child.next_at if self._child else self._agenda.next_at)
        wait_for(
            [signals.descriptor, self._outlook.descriptor, self._child.output if self._child else None],
            min(due) - time.monotonic(),
        )
        signals.forget()

    def close(self, signals: Signals) -> None:
        """End the child in order, and watch no more."""
        self._outlook.close()
        if self._child:
            self._child.stop(time.monotonic())
        while self._child:
            now = time.monotonic()
            if not self._reap(now):
                wait_for([signals.descriptor, self._child.output], self._child.next_at - now)
                signals.forget()

    # Jobs ------------------------------------------------------------------------------------------------------------

    def _start(self, job: str, now: float) -> None:
        if not job:
            return
        left = self._cooldown_left() if job == OBSERVE and not self._instead else 0.0
        if left:
            self._agenda.want(OBSERVE, now + left)
            return
        script, *flags = COMMANDS[job]
        command = [sys.executable, str(SCRIPTS / script), *flags, "--quiet"]
        command += ["--workspace", str(self.config.workspace)]
        self._with = self._left(RECOVERY if self._instead and job == OBSERVE else job)
        try:
            self._child = Child(job, command, now, DEADLINE_SECONDS[job])
        except OSError as problem:
            self._voice.trouble(job, "not_started", f"{script} could not be started: {problem.strerror}")
            self._agenda.want(job, self._later(now))
            return
        self._tally.started[job] += 1
        self._backlog.begin()
        if job == OBSERVE:
            self._hold = now + self.config.cooldown_seconds
        self._voice.tell("started", job=job, lines=self._backlog.waiting)

    def _tend(self, now: float) -> None:
        """See to the child, and to what follows from its end."""
        ended = self._reap(now)
        if ended is not None:
            {RECOVERY: self._recovered, FLUSH: self._flushed, OBSERVE: self._observed}[ended.job](ended, now)

    def _reap(self, now: float) -> Optional[Ended]:
        """How the child ended, None when there is none or it still runs."""
        ended = self._child.tend(now) if self._child else None
        if ended is None:
            return None
        self._child = None
        self._backlog.settle(ended.status == "ok")
        written = ended.count("observations_written")
        self._voice.tell(
            "ended", job=ended.job, status=ended.status, reason=ended.reason, code=ended.code, written=written
        )
        return ended

    def _recovered(self, ended: Ended, now: float) -> None:
        """It removes the markers itself. One that fails, or is not there, is stood in for by an observer."""
        if ended.status == "error":
            self._failed(ended, "an observer takes in what is new instead")
            self._instead = True
            self._agenda.want(OBSERVE, now)
            return
        self._voice.mended(RECOVERY)
        if self._left(RECOVERY, among=self._with):
            self._agenda.want(RECOVERY, self._later(now))

    def _flushed(self, ended: Ended, now: float) -> None:
        """Provisional lines are as good: what was said is in memory before OpenClaw compacts."""
        if ended.status != "error" or ended.count("provisional") or ended.count("observations_written"):
            self._voice.mended(FLUSH)
            self._clear(self._with)
        else:
            self._failed(ended, "it is tried again after the cooldown")
        if self._left(FLUSH, among=self._with):
            self._agenda.want(FLUSH, self._later(now))

    def _observed(self, ended: Ended, now: float) -> None:
        instead, self._instead = self._instead, False
        if ended.status == "ok":
            self._voice.mended(OBSERVE)
            self._clear(self._with)
            return
        if ended.status == "error":
            self._failed(ended, "it is tried again after the cooldown")
        self._hold = self._later(now)
        again = RECOVERY if instead and self._left(RECOVERY) else OBSERVE
        self._agenda.want(again, self._hold)

    def _failed(self, ended: Ended, then: str) -> None:
        self._tally.failures += 1
        script = COMMANDS[ended.job][0]
        missing = not (SCRIPTS / script).exists()
        why = "is missing" if missing else f"failed ({ended.reason}, exit code {ended.code})"
        code = "missing" if missing else ended.reason
        self._voice.trouble(ended.job, code, f"{script} {why}; {then}", counted=False)  # the failure is

    def _later(self, now: float) -> float:
        return now + max(LEAST_WAIT_SECONDS, self.config.cooldown_seconds)

    def _cooldown_left(self) -> float:
        mark = self.config.memory_dir / ".observer-last-run"
        return cooldown_left(last_run(mark), epoch_ms(utc_now()) / 1000, self.config.cooldown_seconds)

    # Markers ---------------------------------------------------------------------------------------------------------

    def _look_at_markers(self, now: float) -> None:
        """Take those that are new, and begin what they ask for."""
        there = self._read_markers()
        self._handed &= {marker.path.stem for marker in there}
        for marker in there:
            if marker.path.stem in self._handed:
                continue
            self._handed.add(marker.path.stem)
            if not marker.event:
                self._clear([marker])
            for job in (RECOVERY, FLUSH):
                if marker.event in EVENTS[job]:
                    self._take(marker)
                    self._agenda.want(job, now)

    def _take(self, marker: Marker) -> None:
        try:
            take(marker)
        except StorageError as problem:
            self._voice.trouble("marker", problem.code, str(problem))
        else:
            self._voice.mended("marker")

    def _read_markers(self) -> "list[Marker]":
        try:
            found = read_markers(self._markers)
        except StorageError as problem:
            self._voice.trouble("markers", problem.code, str(problem))
            return []
        self._voice.mended("markers")
        return found

    def _left(self, job: str, among: "Optional[list[Marker]]" = None) -> "list[Marker]":
        """The markers of a job that are there, only those `among` when they are given."""
        names = None if among is None else {marker.path.stem for marker in among}
        return [
            marker
            for marker in self._read_markers()
            if marker.event in EVENTS[job] and (names is None or marker.path.stem in names)
        ]

    def _clear(self, markers: "list[Marker]") -> None:
        try:
            clear(markers)
        except StorageError as problem:
            self._voice.trouble("marker", problem.code, str(problem))
        else:
            self._voice.mended("marker")


def watch(config: Config, ways: Ways, voice: Voice, tally: Tally, read_config: Callable[[], Config]) -> None:
    """Watch until a signal says to stop. SIGHUP reads the configuration again, and looks at everything.

    Raises BusyError when another watcher has this memory folder. One that cannot be written to is waited for.
    """
    with Signals() as signals:
        while not signals.stop:
            voice.log = config.logs_dir / LOG
            try:
                with lock_for_life(config.private_dir / "watcher.lock"):
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


def _places(config: Config) -> "tuple[Path, ...]":
    return config.workspace, config.memory_dir, config.sessions_dir, config.store_path


def markers_folder(config: Config) -> Path:
    """Where the gateway hook leaves its markers."""
    return Places(config.observations_path, config.private_dir).markers


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
