"""Settling what is pending: each window is asked about, checked and committed, or left pending and said so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Callable, Optional

from _answer import AnswerCut, Settled, asked, extracted, is_about_the_window
from _calls import update_calls
from _compat import Stamp, stamp
from _config import Config
from _errors import ConfigError, ModelError, TotalRecallError
from _files import lock
from _memory import Occasion, final_commit, known_observations, not_captured, provisional_commit
from _pending import Pending
from _state import (
    Commit,
    Places,
    State,
    commit,
    load_state,
    moved,
    save_state,
    superseded,
)
from _transcripts import Problem, Session
from _window import Window, halve, pack

if TYPE_CHECKING:
    import _llm

MEMORY_LOCK_WAIT_SECONDS = 30.0
# Runs without a usable answer for the same messages before the built-in extractor takes them, about an hour at one run
# every 15 minutes. What a model refuses for ever would otherwise hold up all that is said after it.
STUCK_AFTER = 5
PENDING_COUNTED_TO = 2_000


@dataclass(frozen=True)
class Job:
    """What this run was asked to do. Times are epoch milliseconds; `backfill_from_ms` None: no backfill."""

    trigger: str
    recover: str = ""
    backfill_from_ms: Optional[int] = None

    @property
    def urgent(self) -> bool:
        """Flush and recovery: something is written even while no model answers."""
        return self.trigger in ("flush", "recovery")

    @property
    def at_once(self) -> bool:
        """A person, or a moment that does not come back, does not wait for a hold-off of our own making."""
        return self.urgent or self.trigger in ("manual", "backfill")


@dataclass
class Work:
    """One run that holds the run lock: the state as it is on disk, and the counts for the result."""

    config: Config
    now: datetime
    clock: Callable[[], datetime]
    job: Job
    places: Places
    state: State = field(default_factory=State)
    counts: "dict[str, int]" = field(default_factory=dict)
    models: "set[str]" = field(default_factory=set)
    problems: "list[Problem]" = field(default_factory=list)
    sources: "list[str]" = field(default_factory=list)
    done: "set[tuple[str, int]]" = field(default_factory=set)
    _made_of: Optional[Stamp] = None

    def count(self, **counts: int) -> None:
        """Add to the named counts of the result."""
        for name, number in counts.items():
            self.counts[name] = self.counts.get(name, 0) + number

    def change(self, change: Callable[[State], State]) -> None:
        """Change state.json as it is by now: a flush may have captured something since it was read."""
        if self._made_of != stamp(self.places.state):
            with self.memory():
                self.look()
        if change(self.state) is self.state or change(self.state) == self.state:
            return
        with self.memory():
            self.look()
            self.state = change(self.state)
            save_state(self.places, self.state)
            self._made_of = stamp(self.places.state)

    def look(self) -> None:
        """Read state.json, under the memory lock, unless it is the one that was read or written last."""
        found = stamp(self.places.state)
        if found is None or found != self._made_of:
            self.state, self._made_of = load_state(self.places), found

    @property
    def occasion(self) -> Occasion:
        """What the ledger keeps of this run."""
        return Occasion(self.now, self.job.trigger)

    @contextmanager
    def memory(self) -> Iterator[None]:
        """Hold the memory lock: for reading and writing files, never while a model is asked."""
        with lock(self.places.memory_lock, MEMORY_LOCK_WAIT_SECONDS):
            yield


def settle_all(
    work: Work, pending: Pending, sessions: Sequence[Session], backfill: bool, show: Callable[[int], None]
) -> Optional[TotalRecallError]:
    """Settle every window in turn; returns what stopped it, or None. What came before that is committed.

    `show` is told how many sessions have been gone through.
    """
    windows = pack(pending.messages(sessions))
    failure: Optional[TotalRecallError] = None
    for window in windows:
        try:
            _settle(work, window, backfill)
        except (ModelError, ConfigError) as problem:
            failure = problem
            _leave_pending(work, chain([window], windows), backfill)
            break
        show(pending.sessions_done)
    work.count(**pending.counts)
    work.problems += pending.problems
    if failure is None:
        kind = "backfill" if backfill else "final"
        work.change(lambda state: moved(state, pending.quiet, kind))
    return failure


def _settle(work: Work, window: Window, backfill: bool) -> None:
    """Ask until every message of the window is covered, less at a time where an answer is cut; commit each part."""
    from _llm import PromptCut

    windows = [window]
    while windows:
        piece = windows.pop(0)
        try:
            settled = _answer(work, piece)
        except (AnswerCut, PromptCut) as problem:
            halves = halve(piece)
            if halves:
                windows[:0] = halves
                continue
            settled = _give_up_on(work, piece, problem)
        except ModelError as problem:
            settled = _give_up_on(work, piece, problem)
        _write_final(work, piece, settled, backfill)


def _answer(work: Work, window: Window) -> Settled:
    """What the model, or without one the extractor, makes of the window."""
    config, known = work.config, known_observations(work.places, work.state, window)
    if config.provider == "none":
        return extracted(window, known, config)
    return asked(
        window, known, config, lambda change: _remember_calls(work, change), work.clock, work.job.at_once
    )


def _remember_calls(work: Work, change: "Callable[[_llm.Memo], _llm.Memo]") -> "_llm.Memo":
    """Change what is kept about asking models, and count the call."""
    new, called = update_calls(work.places, change)
    work.count(calls=int(called))
    return new


def _give_up_on(work: Work, window: Window, problem: ModelError) -> Settled:
    """Count a window that no model could answer, and raise; the fifth time take what the extractor finds in it."""
    if not is_about_the_window(problem):
        raise problem
    name = window.messages[0].uid
    times = work.state.stuck.get(name, 0) + 1
    if times < STUCK_AFTER:
        work.change(lambda state: replace(state, stuck={**state.stuck, name: times}))
        raise problem
    work.count(extracted_instead=len(window.messages))
    return extracted(window, known_observations(work.places, work.state, window), work.config)


def _write_final(work: Work, window: Window, settled: Settled, backfill: bool) -> None:
    """Commit an answer."""
    replaced = len(superseded(work.state, window.covered))
    change = final_commit(work.state, window, settled, work.occasion, backfill)
    _write(work, settled, change)
    work.done.update((message.uid, message.first_char) for message in window.messages)
    work.count(messages_covered=sum(map(len, window.covered.values())), provisional_replaced=replaced)


def _write(work: Work, settled: Settled, change: Commit) -> None:
    """Carry out a commit and count it."""
    with work.memory():
        commit(work.places, change)
        work.look()
    work.count(observations_written=len(change.additions), **settled.counts)
    work.models.add(settled.by)


def leave_all_pending(work: Work, pending: Pending, sessions: Sequence[Session]) -> None:
    """Settle nothing: for a run that may not ask, because another one does."""
    _leave_pending(work, pack(pending.messages(sessions)), backfill=False)
    work.count(**pending.counts)
    work.problems += pending.problems


def _leave_pending(work: Work, windows: Iterable[Window], backfill: bool) -> None:
    """No answer is to be had: count what waits, and in urgent runs write provisional lines for it."""
    for window in windows:
        waiting = [found for found in window.messages if (found.uid, found.first_char) not in work.done]
        if not waiting:
            continue
        work.count(messages_pending=len(waiting))
        if work.job.urgent and not backfill:
            _write_provisional(work, Window(tuple(waiting)))
        elif work.counts["messages_pending"] > PENDING_COUNTED_TO:
            work.count(more_pending=1)
            return


def _write_provisional(work: Work, window: Window) -> None:
    """The extractor's lines for what no earlier capture has taken."""
    fresh = not_captured(work.state, window)
    if fresh is None:
        return
    settled = extracted(fresh, known_observations(work.places, work.state, fresh), work.config)
    _write(work, settled, provisional_commit(work.state, fresh, settled, work.occasion))
    work.count(provisional=len(settled.accepted))
