"""What a run changes in the state, apart from its commits: each a function from one state to the next."""

from __future__ import annotations

from _state import State
from _transcripts import Cursors, Listing


def without_vanished(state: State, listing: Listing) -> State:
    """The state without cursors of transcripts that exist no more: a cron session lives a day, and there are many.
    Should one come back, its messages are told by their uids, like those of any session without a cursor."""
    cursors = Cursors.of(state.cursors)
    kept = cursors.of_existing(listing)
    return state if len(kept) == len(cursors) else state._replace(cursors=kept)


def without_provisional(state: State, names: "frozenset[str]") -> State:
    """The state in which these lines stand for no answer any more: all that was said before is settled, and no answer
    has come for them, so their messages are gone."""
    kept = {name: found for name, found in state.provisional.items() if name not in names}
    return state if len(kept) == len(state.provisional) else state._replace(provisional=kept)


def for_backfill(state: State, start_ms: int) -> State:
    """The state to backfill with what was said from that moment on (epoch milliseconds). Another range than last time
    is gone through from its beginning: what an earlier backfill covered is known by its uids."""
    if state.backfill_from_ms == start_ms:
        return state
    return state._replace(backfill={}, backfill_from_ms=start_ms)


def after_backfill(state: State, start_ms: int) -> State:
    """The state once all that was said from that moment on is taken in."""
    # 1, not 0, for all of history: 0 says that nothing was ever observed.
    since = min(state.since_ms, max(1, start_ms))
    return state._replace(since_ms=since, backfill={}, backfill_from_ms=-1)


def after_run(state: State, failed: str, good_at: str) -> State:
    """The state with failures in a row counted, so that a dead observer cannot stay silent.

    `failed` is the code of what stopped the run or could not be looked at, "" for nothing; `good_at` the moment of a
    run that could look everywhere and has something to keep, "" for another.
    """
    if failed:
        return state._replace(failures_in_row=state.failures_in_row + 1, last_failure=failed)
    if good_at:
        return state._replace(failures_in_row=0, last_failure="", last_good_run=good_at)
    return state
