"""Where the watcher looks: both kinds of transcripts and the markers, by inotify or by polling."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional

from _config import Config
from _errors import StorageError, TotalRecallError
from _files import private_folder
from _transcripts.sqlite import StoreBusy
from _watch.lines import FolderLines
from _watch.notice import MARKERS, SESSIONS, STORE, Dirt, Exhausted, Inotify
from _watch.rows import StoreRows
from _watch.seen import Seen
from _watch.voice import Voice

POLL_SECONDS = 5.0
# One turn in the store is about 200 changes of its -wal file; what has to start must do so within 1 s.
GATHER_SECONDS = 0.3
SWEEP_SECONDS = 600.0  # between looks at everything, in case something was missed
SWEEP_WITHOUT_INOTIFY_SECONDS = 180.0  # a sweep tries to have it again
RETRY_SECONDS, BUSY_RETRY_SECONDS = 30.0, 2.0  # for what could not be looked at; longer each time
ALL = frozenset((SESSIONS, STORE, MARKERS))


class Ways(NamedTuple):
    """How to notice changes. `inotify` is the module inotify_simple, None where there is none. `poll_seconds` is what a
    person asked for; None: inotify where it works, else POLL_SECONDS."""

    inotify: Any = None
    poll_seconds: Optional[float] = None


class _Retry(NamedTuple):
    """When to look again at what could not be looked at, and how long to wait the next time."""

    at: float
    wait_seconds: float


class Outlook:
    """What can be seen from here. Times are seconds of a clock that goes forward."""

    def __init__(self, config: Config, markers: Path, ways: Ways, voice: Voice) -> None:
        self._folders = {SESSIONS: config.sessions_dir, STORE: config.store_path.parent, MARKERS: markers}
        self._store_name = config.store_path.name
        self._ways, self._voice = ways, voice
        self._lines, self._rows = FolderLines(config.sessions_dir), StoreRows(config.store_path)
        self._inotify: Optional[Inotify] = None
        self._dirt = Dirt()
        self._retries: "dict[str, _Retry]" = {}
        self._gather_at, self._poll_at, self._sweep_at = math.inf, math.inf, math.inf

    @property
    def mode(self) -> str:
        """ "inotify" or "poll"."""
        return "inotify" if self._inotify else "poll"

    @property
    def descriptor(self) -> Optional[int]:
        """What to wait at; None when nothing tells of changes."""
        return self._inotify.fileno() if self._inotify else None

    @property
    def next_at(self) -> float:
        """When to look again if nothing happens before."""
        return min(self._gather_at, self._poll_at, self._sweep_at)

    def begin(self, now: float) -> None:
        """Begin: what is there now was said before."""
        self.sweep(now)
        self._look_at(Dirt(whole=set(ALL)), now)

    def close(self) -> None:
        """Look no more."""
        if self._inotify:
            self._inotify.close()
            self._inotify = None

    def look(self, now: float) -> "tuple[Seen, bool]":
        """What is new, and whether to look for markers. Cheap when nothing is due."""
        if self._inotify:
            self._notice(self._inotify, now)
        if now >= self._sweep_at:
            self.sweep(now)
        markers = self._dirt.markers or MARKERS in self._dirt.whole
        self._dirt.markers = False
        seen = Seen()
        if now >= self._gather_at:
            dirt, self._dirt, self._gather_at = self._dirt, Dirt(), math.inf
            seen = self._look_at(dirt, now)
        if now >= self._poll_at:
            self._poll_at, markers = now + self._poll_seconds, True
            seen = seen.plus(self._try(SESSIONS, self._lines.look_if_changed, now))
            seen = seen.plus(self._try(STORE, self._rows.look_if_changed, now))
        return seen, markers

    @property
    def _poll_seconds(self) -> float:
        return self._ways.poll_seconds or POLL_SECONDS

    def _notice(self, inotify: Inotify, now: float) -> None:
        try:
            self._dirt.add(inotify.read())
        except Exhausted as problem:
            self._do_without(problem, now)
        if self._gather_at == math.inf and self._dirt.to_gather:
            self._gather_at = now + GATHER_SECONDS

    def sweep(self, now: float) -> None:
        """Look at everything, at where the folders are by now, and whether inotify is to be had again."""
        self._sweep_at = now + SWEEP_SECONDS
        try:
            private_folder(self._folders[MARKERS])
        except StorageError as problem:
            self._voice.trouble("memory folder", problem.code, str(problem))
            self.retry("memory folder", now)
        else:
            self.forget_retry("memory folder")
            self._voice.mended("memory folder")
        self._use_inotify(now)
        self._dirt.whole |= ALL
        self._gather_at = now

    def _use_inotify(self, now: float) -> None:
        if self._ways.inotify is None or self._ways.poll_seconds is not None:
            self._poll_at = min(self._poll_at, now + self._poll_seconds)
            return
        try:
            if self._inotify is None:
                self._inotify = Inotify(self._ways.inotify, self._folders, self._store_name)
            self._inotify.aim()
        except Exhausted as problem:
            self._do_without(problem, now)
        else:
            self._poll_at = math.inf
            self._voice.mended("inotify")

    def _do_without(self, why: Exhausted, now: float) -> None:
        """Poll from now on; look at everything, since something may have been missed."""
        self.close()
        self._voice.trouble(
            "inotify",
            why.code,
            f"inotify cannot be used ({why}); looking every {self._poll_seconds:g} s instead"
            " (on Linux see fs.inotify.max_user_instances and max_user_watches)",
        )
        self._poll_at = now
        self._sweep_at = min(self._sweep_at, now + SWEEP_WITHOUT_INOTIFY_SECONDS)

    def _look_at(self, dirt: Dirt, now: float) -> Seen:
        seen = Seen()
        if SESSIONS in dirt.whole:
            seen = self._try(SESSIONS, self._lines.look, now, whole=True)
        elif dirt.names:
            seen = self._try(SESSIONS, lambda: self._lines.look_at(dirt.names, dirt.gone), now)
        if STORE in dirt.whole or dirt.store:
            seen = seen.plus(self._try(STORE, self._rows.look, now, whole=True))
        return seen

    def _try(self, about: str, look: Callable[[], Seen], now: float, whole: bool = False) -> Seen:
        """One look. What could not be looked at is told once and tried again; only a `whole` look can mend it."""
        try:
            seen = look()
        except TotalRecallError as problem:
            busy = isinstance(problem, StoreBusy)
            self._voice.trouble(about, "busy" if busy else problem.code, str(problem))
            self.retry(about, now, busy)
            return Seen()
        if seen.problem:
            self._voice.trouble(about, "unreadable", seen.problem)
            self.retry(about, now)
        elif whole:
            self.forget_retry(about)
            self._voice.mended(about)
        return seen

    def retry(self, about: str, now: float, busy: bool = False) -> None:
        """Look at everything again after a while, and after a longer one when that does not help: what stays out of
        order for ever costs no more than the usual sweeps."""
        first, most = (BUSY_RETRY_SECONDS, RETRY_SECONDS) if busy else (RETRY_SECONDS, SWEEP_SECONDS)
        known = self._retries.get(about, _Retry(-math.inf, first))
        if known.at <= now:
            wait = min(known.wait_seconds, most)
            known = self._retries[about] = _Retry(now + wait, wait * 2)
        self._sweep_at = min(self._sweep_at, known.at)

    def forget_retry(self, about: str) -> None:
        """It could be looked at."""
        self._retries.pop(about, None)
