"""state.json: cursors, counters and marks. And calls.json, what is kept about asking models."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

from _compat import from_epoch_ms, parse_instant
from _errors import DAMAGED
from _files import append_file, private_folder, read_bytes, replace_file
from _ledger import (
    first_sight,
    highest_given,
    highest_named,
    mark_of,
    read_ledger,
    rows_as_bytes,
    rows_since,
    still_provisional,
)
from _state.places import Places
from _transcripts.cursors import Cursors

if TYPE_CHECKING:
    from _transcripts.message import Cursor

SCHEMA = 1


class Provisional(NamedTuple):
    """A line that stands in for a model's answer: the SHA-256 of its bytes, so that one which a person has edited is
    told, and the uids of the messages that the answer has to cover."""

    line: str
    uids: "tuple[str, ...]"


class State(NamedTuple):
    """state.json. `since_ms` is the moment (epoch milliseconds) from which everything said is observed; 0 before the
    first run. `cursors` and `backfill` go by Cursor.key. `provisional` maps the id of a provisional line to the uids
    of the messages that a model's answer has still to cover. `highest` holds, by day, the highest number given to an
    observation, so that an archived one's id is never given again. `last_hash` is the MD5 of the last messages
    processed, for `.observer-last-hash`; `brief_of` the SHA-256 of the log that brief.txt was made from.
    `reflected_at` is when the log was last reflected on to the end, `reflected_words` its size then; `reflect_from` the
    place in the log at which a reflection that stopped midway goes on, "" when none did. `ledger` is how far the ledger
    was written (`_ledger.mark_of`) when the state was: by that one is told which an older copy took the place of."""

    since_ms: int = 0
    cursors: Mapping[str, Cursor] = {}
    backfill: Mapping[str, Cursor] = {}
    backfill_from_ms: int = -1
    provisional: "Mapping[str, Provisional]" = {}
    provisional_upto: Mapping[str, Cursor] = {}
    highest: Mapping[str, int] = {}
    stuck: Mapping[str, int] = {}
    failures_in_row: int = 0
    last_good_run: str = ""
    last_failure: str = ""
    last_hash: str = ""
    brief_of: str = ""
    reflected_at: str = ""
    reflected_words: int = 0
    reflect_from: str = ""
    ledger: str = ""

    def as_json(self) -> "dict[str, Any]":
        """The object that stands in state.json."""
        return {
            "schema": SCHEMA,
            "since_ms": self.since_ms,
            "cursors": dict(Cursors.of(self.cursors).rows),
            "backfill": dict(Cursors.of(self.backfill).rows),
            "backfill_from_ms": self.backfill_from_ms,
            "provisional": {name: [found.line, *found.uids] for name, found in self.provisional.items()},
            "provisional_upto": dict(Cursors.of(self.provisional_upto).rows),
            "highest": dict(self.highest),
            "stuck": dict(self.stuck),
            "failures_in_row": self.failures_in_row,
            "last_good_run": self.last_good_run,
            "last_failure": self.last_failure,
            "last_hash": self.last_hash,
            "brief_of": self.brief_of,
            "reflected_at": self.reflected_at,
            "reflected_words": self.reflected_words,
            "reflect_from": self.reflect_from,
            "ledger": self.ledger,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "State":
        """The inverse of `as_json`. Raises one of DAMAGED on what is no state."""
        return cls(
            since_ms=int(data["since_ms"]),
            cursors=Cursors(dict(data.get("cursors", {}))),
            backfill=Cursors(dict(data.get("backfill", {}))),
            backfill_from_ms=int(data.get("backfill_from_ms", -1)),
            provisional={
                str(k): Provisional(str(v[0]), tuple(v[1:])) for k, v in data.get("provisional", {}).items()
            },
            provisional_upto=Cursors(dict(data.get("provisional_upto", {}))),
            highest={str(k): int(v) for k, v in data.get("highest", {}).items()},
            stuck={str(k): int(v) for k, v in data.get("stuck", {}).items()},
            failures_in_row=int(data.get("failures_in_row", 0)),
            last_good_run=str(data.get("last_good_run", "")),
            last_failure=str(data.get("last_failure", "")),
            last_hash=str(data.get("last_hash", "")),
            brief_of=str(data.get("brief_of", "")),
            reflected_at=str(data.get("reflected_at", "")),
            reflected_words=int(data.get("reflected_words", 0)),
            reflect_from=str(data.get("reflect_from", "")),
            ledger=str(data.get("ledger", "")),
        )


def load_state(places: Places) -> State:
    """Read state.json. One that is older than the ledger, as a copy put back may be, is told what that says. Lost or
    damaged, it begins anew where the ledger says that observing began: without a cursor each message is looked up among
    those that the ledger names as covered."""
    data = read_bytes(places.state)
    found = _state_in(data) if data is not None else None
    if found is not None and found.since_ms:
        return _brought_up(found, places.ledger)
    since = first_sight(places.ledger)
    if since is None:
        return found or State(highest=highest_given(places.ledger))
    return State(
        since_ms=since,
        highest=highest_given(places.ledger),
        provisional=_provisional({}, read_ledger(places.ledger)),
    )


def _brought_up(state: State, ledger: Path) -> State:
    """The state with what the ledger knows beyond it: ids that were given, lines that wait for an answer, and, as far
    as messages were covered since, no cursor for their sessions, so that each message is looked up.

    A state without a mark that the ledger has, of an earlier edition or beside an older copy of the ledger, is as old
    as the ids in it.
    """
    late = rows_since(ledger, state.ledger)
    rows = list(read_ledger(ledger) if late is None else late)
    if not rows:
        return state
    given = highest_named(rows)
    is_ahead = any(number > state.highest.get(day, 0) for day, number in given.items())
    if late is None and not is_ahead:
        return state
    if is_ahead:
        more = {day: max(number, state.highest.get(day, 0)) for day, number in given.items()}
        state = state._replace(highest={**state.highest, **more})
    sessions = {row.get("session", "") for row in rows if row["e"] == "covered"}
    return state._replace(
        cursors=_without(state.cursors, sessions),
        backfill=_without(state.backfill, sessions),
        provisional=_provisional(state.provisional, rows),
    )


def _without(cursors: Mapping[str, Cursor], sessions: "set[str]") -> Mapping[str, Cursor]:
    if not sessions:
        return cursors
    rows = Cursors.of(cursors).rows
    return Cursors({key: row for key, row in rows.items() if key.partition(":")[2] not in sessions})


def _provisional(
    before: "Mapping[str, Provisional]", rows: "Iterable[Mapping[str, Any]]"
) -> "dict[str, Provisional]":
    return {name: Provisional(*found) for name, found in still_provisional(rows, before).items()}


def save_state(places: Places, state: State) -> None:
    """Replace state.json; a damaged one is kept beside it. The caller holds the memory lock, and has loaded the state
    since it does, so that it knows all that the ledger says by now."""
    old = read_bytes(places.state)
    if old is not None and _state_in(old) is None:
        replace_file(places.state.with_suffix(".damaged"), old)
    state = state._replace(ledger=mark_of(places.ledger))
    # ASCII, with escapes: the name of a transcript, and so a session's id, need not be UTF-8.
    new = json.dumps(state.as_json(), separators=(",", ":")).encode()
    if new != old:
        replace_file(places.state, new)


def is_damaged(places: Places) -> bool:
    """Whether state.json is there but cannot be understood: `load_state` then goes by the ledger."""
    data = read_bytes(places.state)
    return data is not None and _state_in(data) is None


def _state_in(data: bytes) -> Optional[State]:
    """The state that these bytes are; None when they are damaged."""
    try:
        return State.from_json(json.loads(data))
    except DAMAGED:
        return None


def begin(places: Places, state: State, at: str) -> None:
    """Record the first run: from which moment on everything is observed. What a reflector left before stays."""
    private_folder(places.private)
    append_file(places.ledger, rows_as_bytes([{"e": "installed", "at": at, "since_ms": state.since_ms}]))
    save_state(places, load_state(places)._replace(since_ms=state.since_ms))


def last_good_run(places: Places, state: State) -> Optional[datetime]:
    """When the observer last ended well, UTC: the mark that it leaves beside the log, else state.json; None for never.

    Raises StorageError when the mark cannot be read.
    """
    data = (read_bytes(places.observations.parent / ".observer-last-run") or b"").strip()[:20]
    marked = from_epoch_ms(int(data) * 1000) if data.isdigit() else None
    return marked or parse_instant(state.last_good_run)


def load_calls(places: Places) -> object:
    """What is kept about asking models (calls.json); None when there is none, or it is damaged."""
    data = read_bytes(places.calls)
    try:
        return json.loads(data) if data else None
    except (ValueError, RecursionError):
        return None


def save_calls(places: Places, calls: Mapping[str, Any]) -> None:
    """Replace calls.json, under its lock (`_calls.update_calls`)."""
    replace_file(places.calls, json.dumps(calls, separators=(",", ":")).encode())
