"""One run: what it finds pending, and settling it: each window is asked about, checked and committed, or left pending
and said so. Provisional lines stand in for an answer that is still to come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Callable, Optional

from _answer import AnswerCut, Settled, asked, extracted, is_about_the_window
from _calls import update_calls
from _compat import Stamp, epoch_ms, stamp
from _config import FLUSH_LOOKBACK_MIN, RECOVER_LOOKBACK_MIN, Config
from _errors import ConfigError, ModelError, TotalRecallError
from _ledger import covered_uids
from _memory import (
    Occasion,
    final_commit,
    iso,
    known_observations,
    not_captured,
    provisional_commit,
    refresh_brief,
)
from _observations import Observation
from _pending import Bounds, Pending, lookback_ms
from _state import (
    Places,
    State,
    begin,
    commit,
    load_state,
    moved,
    replay,
    save_state,
    superseded,
)
from _transcripts import (
    Cursor,
    Listing,
    Problem,
    Session,
    find_sessions,
    gone_store,
    no_transcripts,
    resolve,
)
from _window import Window, halve, pack

if TYPE_CHECKING:
    import _llm

# Who finds lines in a window: the extractor, or the last resort (`_answer.as_said`).
Maker = Callable[[Window, Sequence[Observation], Config], Settled]

# Runs without a usable answer for the same messages before the built-in extractor takes them, about an hour at one run
# every 15 minutes. What a model refuses for ever would otherwise hold up all that is said after it.
STUCK_AFTER = 5
PENDING_COUNTED_TO = 2_000


@dataclass(frozen=True)
class Job:
    """What this run was asked to do. `recover` names the one session that is looked at, "" for all. Times are epoch
    milliseconds; `backfill_from_ms` None: no backfill."""

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
    """One run: the state as it is on disk, the counts for the result, the ids of the provisional lines it wrote."""

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
    leftover: "frozenset[str]" = frozenset()  # the provisional lines that stood for an answer when it began
    captured: "set[str]" = field(default_factory=set)
    _made_of: Optional[Stamp] = None

    def count(self, **counts: int) -> None:
        """Add to the named counts of the result."""
        for name, number in counts.items():
            self.counts[name] = self.counts.get(name, 0) + number

    def change(self, change: Callable[[State], State]) -> None:
        """Change state.json as it is by now: a flush may have captured something since it was read."""
        if self._made_of != stamp(self.places.state):
            with self.places.memory():
                self.look()
        if change(self.state) is self.state or change(self.state) == self.state:
            return
        with self.places.memory():
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


# Finding -------------------------------------------------------------------------------------------------------------


def first_sight_ms(work: Work) -> int:
    """From when on a session is observed that has no cursor and began before the skill was installed."""
    by_day, morning = work.config.lookback_minutes, work.config.morning_lookback_minutes
    if work.job.urgent:
        by_day = morning = FLUSH_LOOKBACK_MIN if work.job.trigger == "flush" else RECOVER_LOOKBACK_MIN
    return lookback_ms(work.now, work.config.zone, by_day, morning)


def look_around(work: Work) -> Listing:
    """Finish what a run that was cut short had begun, read the state, and find what is pending.

    On the first run it is written down from when on everything is observed, once there is something to observe.
    """
    with work.places.memory():
        work.count(replayed=int(replay(work.places)))
        work.look()
    work.leftover = frozenset(work.state.provisional)
    first_run = work.state.since_ms == 0
    if epoch_ms(work.now) < work.state.since_ms:  # the clock was ahead when observing began
        work.change(lambda state: state._replace(since_ms=first_sight_ms(work)))
    if first_run:
        work.state = State(since_ms=first_sight_ms(work))
    listing = find(work)
    if first_run:
        with work.places.memory():
            if load_state(work.places).since_ms:  # another run came first
                work.look()
            else:
                begin(work.places, work.state, iso(work.now))
    return listing


def find(work: Work, backfill: bool = False) -> Listing:
    """The sessions with something new, or with history to take in. Raises ConfigError when there is nowhere to look."""
    config, state, job = work.config, work.state, work.job
    since = min(state.since_ms, first_sight_ms(work))
    if backfill:
        listing = find_sessions(config, state.backfill, job.backfill_from_ms or 0)
    else:
        listing = find_sessions(config, state.cursors, since)
    if not listing.found_any:
        raise no_transcripts(config)
    work.problems += [*listing.problems, *gone_store(config, listing, state.cursors)]
    work.sources = list(listing.sources)
    work.count(**{f"sessions_{name}": number for name, number in listing.counts.items()})
    if job.recover:
        return listing._replace(sessions=resolve(config, job.recover))
    return listing


def pending_of(work: Work, backfill: bool = False) -> Pending:
    """The pass over what is new, or over the history before it."""
    state, job = work.state, work.job
    sight = min(state.since_ms, first_sight_ms(work))

    def bounds(session: Session) -> Bounds:
        cursor = state.cursors.get(session.key)
        first = cursor.since_ms if cursor else sight
        return Bounds(job.backfill_from_ms or 0, first) if backfill else Bounds(first)

    cursors = state.backfill if backfill else state.cursors
    return Pending(cursors, bounds, lambda: covered_uids(work.places.ledger), compare_all=backfill)


# Settling ------------------------------------------------------------------------------------------------------------


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
            _leave_pending(work, pending, chain([window], windows), backfill)
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
        return _found_in(work, window, lambda shown: extracted(shown, known, config))

    def ask(shown: Window) -> Settled:
        return asked(
            shown, known, config, lambda change: _remember_calls(work, change), work.clock, work.job.at_once
        )

    return _found_in(work, window, ask)


def _found_in(work: Work, window: Window, find: "Callable[[Window], Settled]") -> Settled:
    """What `find` makes of a window; what was forgotten is not shown to it."""
    from _tombstones import load_tombstones

    shown = load_tombstones(work.places).shown(window.messages)
    return find(Window(shown)) if shown else Settled((), "")


def _allowed(work: Work, window: Window, settled: Settled) -> Settled:
    """What of an answer may enter memory by now: something may have been forgotten since it was asked for. The caller
    holds the memory lock."""
    from _tombstones import load_tombstones

    found = load_tombstones(work.places)
    kept = tuple(one for one in settled.accepted if found.allows(one, window.messages))
    if len(kept) < len(settled.accepted):
        work.count(forgotten=len(settled.accepted) - len(kept))
    return replace(settled, accepted=kept)


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
        work.change(lambda state: state._replace(stuck={**state.stuck, name: times}))
        raise problem
    work.count(extracted_instead=len(window.messages))
    known = known_observations(work.places, work.state, window)
    return _found_in(work, window, lambda shown: extracted(shown, known, work.config))


def _write_final(work: Work, window: Window, settled: Settled, backfill: bool) -> None:
    """Commit an answer and count it."""
    replaced = superseded(work.state, window.covered) - work.captured
    with work.places.memory():
        settled = _allowed(work, window, settled)
        change = final_commit(work.state, window, settled, work.occasion, backfill)
        commit(work.places, change)
        work.look()
    work.done.update((message.uid, message.first_char) for message in window.messages)
    work.count(
        messages_covered=sum(map(len, window.covered.values())),
        provisional_replaced=len(replaced),
        observations_written=len(change.additions),
        **settled.counts,
    )
    work.models.update({settled.by} - {""})


# Without an answer ---------------------------------------------------------------------------------------------------


def capture(work: Work, sessions: Sequence[Session], make: Maker = extracted) -> "list[Problem]":
    """Provisional lines for all that is pending, before anybody is asked, and the brief with them in it; returns what
    was out of reach. Only `work.captured` tells of it: the counts describe how the run ends."""
    pending = pending_of(work)
    for window in pack(pending.messages(sessions)):
        _write_provisional(work, pending.cursors, window, make)
    show_captured(work)
    return pending.problems


def show_captured(work: Work) -> int:
    """Put what was captured into brief.txt at once; returns the size of the log in words.

    The state forgets before what the brief was made from: when the answer comes, the lines go again, and the log can
    be the very one that the state takes the brief for.
    """
    if work.captured:
        work.change(lambda state: state._replace(brief_of=""))
    with work.places.memory():
        return refresh_brief(work.places, work.state)[0]


def leave_all_pending(work: Work, sessions: Sequence[Session]) -> None:
    """Settle nothing: for a run that may not ask, because another one does."""
    pending = pending_of(work)
    _leave_pending(work, pending, pack(pending.messages(sessions)), backfill=False)
    work.count(**pending.counts)
    work.problems += pending.problems


def _leave_pending(work: Work, pending: Pending, windows: Iterable[Window], backfill: bool) -> None:
    """No answer is to be had: count what waits, and in urgent runs write provisional lines for it."""
    for window in windows:
        waiting = [found for found in window.messages if (found.uid, found.first_char) not in work.done]
        if not waiting:
            continue
        work.count(messages_pending=len(waiting))
        if work.job.urgent and not backfill:
            _write_provisional(work, pending.cursors, Window(tuple(waiting)), extracted)
        elif work.counts["messages_pending"] > PENDING_COUNTED_TO:
            work.count(more_pending=1)
            return


def _write_provisional(work: Work, began: Mapping[str, Cursor], window: Window, make: Maker) -> None:
    """Lines for what neither an earlier capture nor, since the pass with the cursors `began`, an answer has taken.

    The lock is held from looking to writing: the answer that another run waits for may come at any moment, and lines
    for what it covers would never be replaced.
    """
    with work.places.memory():
        work.look()
        fresh = not_captured(work.state, window, began)
        if fresh is None:
            return
        known = known_observations(work.places, work.state, fresh)
        settled = _found_in(work, fresh, lambda shown: make(shown, known, work.config))
        settled = _allowed(work, fresh, settled)
        ids = commit(work.places, provisional_commit(work.state, fresh, settled, work.occasion))
        work.look()
    work.captured.update(ids)
