"""What is kept between runs: cursors, counters, and the journal of a commit under way.

A commit is: the journal, then the lines into observations.md, then the ledger, then state.json, then the journal
away. Whoever comes next replays a journal that is still there; each step sees for itself whether it was done, so that
replaying is harmless at any point.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Optional

from _compat import sha256_hex
from _errors import BusyError, StorageError
from _files import (
    append_file,
    cut_file,
    decode,
    encode,
    private_folder,
    read_bytes,
    remove_file,
    replace_file,
)
from _ledger import append_rows, first_sight, highest_given, rows_as_bytes, still_provisional
from _observations import (
    Entry,
    Observation,
    next_ids,
    observations_in,
    parse_line,
    parse_log,
    render_addition,
    render_line,
)
from _transcripts.message import Cursor, Cursors

SCHEMA = 1
# What reading JSON of another shape than ours ends in.
_DAMAGED = (ValueError, TypeError, AttributeError, LookupError, OverflowError, RecursionError)


@dataclass(frozen=True)
class Provisional:
    """A line that stands in for a model's answer: the SHA-256 of its bytes, so that one which a person has edited is
    told, and the uids of the messages that the answer has to cover."""

    line: str
    uids: "tuple[str, ...]"


@dataclass(frozen=True)
class State:
    """state.json. `since_ms` is the moment (epoch milliseconds) from which everything said is observed; 0 before the
    first run. `cursors` and `backfill` go by Cursor.key. `provisional` maps the id of a provisional line to the uids
    of the messages that a model's answer has still to cover. `highest` holds, by day, the highest number given to an
    observation, so that an archived one's id is never given again. `last_hash` is the MD5 of the last messages
    processed, for `.observer-last-hash`; `brief_of` the SHA-256 of the log that brief.txt was made from."""

    since_ms: int = 0
    cursors: Mapping[str, Cursor] = field(default_factory=dict)
    backfill: Mapping[str, Cursor] = field(default_factory=dict)
    backfill_from_ms: int = -1
    provisional: "Mapping[str, Provisional]" = field(default_factory=dict)
    provisional_upto: Mapping[str, Cursor] = field(default_factory=dict)
    highest: Mapping[str, int] = field(default_factory=dict)
    stuck: Mapping[str, int] = field(default_factory=dict)
    failures_in_row: int = 0
    last_good_run: str = ""
    last_failure: str = ""
    last_hash: str = ""
    brief_of: str = ""

    def as_json(self) -> "dict[str, Any]":
        """The object that stands in state.json."""
        return {
            "schema": SCHEMA,
            "since_ms": self.since_ms,
            "cursors": _cursors_out(self.cursors),
            "backfill": _cursors_out(self.backfill),
            "backfill_from_ms": self.backfill_from_ms,
            "provisional": {name: [found.line, *found.uids] for name, found in self.provisional.items()},
            "provisional_upto": _cursors_out(self.provisional_upto),
            "highest": dict(self.highest),
            "stuck": dict(self.stuck),
            "failures_in_row": self.failures_in_row,
            "last_good_run": self.last_good_run,
            "last_failure": self.last_failure,
            "last_hash": self.last_hash,
            "brief_of": self.brief_of,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "State":
        """The inverse of `as_json`. Raises one of _DAMAGED on what is no state."""
        return cls(
            since_ms=int(data["since_ms"]),
            cursors=_cursors_in(data.get("cursors", {})),
            backfill=_cursors_in(data.get("backfill", {})),
            backfill_from_ms=int(data.get("backfill_from_ms", -1)),
            provisional={
                str(k): Provisional(str(v[0]), tuple(v[1:])) for k, v in data.get("provisional", {}).items()
            },
            provisional_upto=_cursors_in(data.get("provisional_upto", {})),
            highest={str(k): int(v) for k, v in data.get("highest", {}).items()},
            stuck={str(k): int(v) for k, v in data.get("stuck", {}).items()},
            failures_in_row=int(data.get("failures_in_row", 0)),
            last_good_run=str(data.get("last_good_run", "")),
            last_failure=str(data.get("last_failure", "")),
            last_hash=str(data.get("last_hash", "")),
            brief_of=str(data.get("brief_of", "")),
        )


def _cursors_out(cursors: Mapping[str, Cursor]) -> "dict[str, Any]":
    return {key: cursor.as_json() for key, cursor in cursors.items()}


def _cursors_in(data: Mapping[str, Any]) -> Cursors:
    return Cursors(dict(data))


@dataclass(frozen=True)
class Places:
    """The files of one memory folder. `observations` may be a symbolic link."""

    observations: Path
    private: Path

    @property
    def state(self) -> Path:
        return self.private / "state.json"

    @property
    def journal(self) -> Path:
        return self.private / "journal.json"

    @property
    def ledger(self) -> Path:
        return self.private / "ledger.jsonl"

    @property
    def calls(self) -> Path:
        return self.private / "calls.json"

    @property
    def brief(self) -> Path:
        return self.private / "brief.txt"

    @property
    def run_lock(self) -> Path:
        """Held for a whole observer run, so that two of them do not pay for the same question."""
        return self.private / "observer.lock"

    @property
    def calls_lock(self) -> Path:
        """Held while calls.json is changed: an observer and a reflector may ask models at the same time."""
        return self.private / "calls.lock"

    @property
    def markers(self) -> Path:
        """Where OpenClaw's gateway hook says that a session ended or is to be compacted."""
        return self.private / "markers"

    @property
    def memory_lock(self) -> Path:
        """Held only while files are read and written, never during a model call."""
        return self.private / "memory.lock"


@dataclass(frozen=True)
class Addition:
    """One line that a commit adds: the observation, still without id, and what the ledger keeps of its origin."""

    observation: Observation
    origin: Mapping[str, Any]


@dataclass(frozen=True)
class Commit:
    """What one accepted answer changes, all of it or nothing.

    `moves` are the cursors afterwards, `expected` those that the answer was made from (None: there was none): when
    one of them stands elsewhere by now, another run has covered the same messages, and the commit is refused.
    `covered` are the uids of the messages that are done with, by session id; provisional lines that came of none
    but those go. `kind` is "final", "backfill" (the moves are those of the backfill's cursors) or "provisional"
    (the lines stand in for an answer that is still to come, and only the mark of what was captured moves).
    `last_hash` is the MD5 of the messages processed.
    """

    at: str
    additions: "tuple[Addition, ...]"
    covered: Mapping[str, "tuple[str, ...]"]
    moves: Mapping[str, Cursor]
    expected: Mapping[str, Optional[Cursor]]
    kind: str = "final"
    last_hash: str = ""


def cursors_of(state: State, kind: str) -> Mapping[str, Cursor]:
    """The cursors that a commit of this kind moves."""
    if kind == "provisional":
        return state.provisional_upto
    return state.backfill if kind == "backfill" else state.cursors


def moved(state: State, moves: Mapping[str, Cursor], kind: str = "final") -> State:
    """The state with these cursors in place."""
    if not moves:
        return state
    new = {**cursors_of(state, kind), **moves}
    if kind == "provisional":
        return replace(state, provisional_upto=new)
    if kind == "backfill":
        return replace(state, backfill=new)
    upto = {key: cursor for key, cursor in state.provisional_upto.items() if key not in moves}
    return replace(state, cursors=new, provisional_upto=upto)


def superseded(state: State, covered: Mapping[str, "tuple[str, ...]"]) -> "frozenset[str]":
    """Ids of the provisional lines that came of none but these messages."""
    uids = {uid for found in covered.values() for uid in found}
    return frozenset(
        name for name, found in state.provisional.items() if found.uids and uids.issuperset(found.uids)
    )


def _after(state: State, change: Commit) -> State:
    """The state as a commit leaves it, apart from what its new lines add."""
    new = moved(state, change.moves, change.kind)
    if change.kind == "provisional":
        return new
    going = superseded(state, change.covered)
    uids = {uid for found in change.covered.values() for uid in found}
    return replace(
        new,
        provisional={name: found for name, found in state.provisional.items() if name not in going},
        stuck={name: times for name, times in state.stuck.items() if name not in uids},
        failures_in_row=0,
        last_failure="",
        last_good_run=change.at,
        last_hash=change.last_hash,
    )


def load_state(places: Places) -> State:
    """Read state.json. Lost or damaged, it begins anew where the ledger says that observing began: without a cursor
    each message is looked up among those that the ledger names as covered."""
    data = read_bytes(places.state)
    found = _state_in(data) if data is not None else None
    if found is not None and found.since_ms:
        return found
    since = first_sight(places.ledger)
    if since is None:
        return found or State()
    waiting = {name: Provisional(*found) for name, found in still_provisional(places.ledger).items()}
    return State(since_ms=since, highest=highest_given(places.ledger), provisional=waiting)


def save_state(places: Places, state: State) -> None:
    """Replace state.json; a damaged one is kept beside it."""
    old = read_bytes(places.state)
    if old is not None and _state_in(old) is None:
        replace_file(places.state.with_suffix(".damaged"), old)
    # ASCII, with escapes: the name of a transcript, and so a session's id, need not be UTF-8.
    new = json.dumps(state.as_json(), separators=(",", ":")).encode()
    if new != old:
        replace_file(places.state, new)


def _state_in(data: bytes) -> Optional[State]:
    """The state that these bytes are; None when they are damaged."""
    try:
        return State.from_json(json.loads(data))
    except _DAMAGED:
        return None


def begin(places: Places, state: State, at: str) -> None:
    """Record the first run: from which moment on everything is observed."""
    private_folder(places.private)
    append_file(places.ledger, rows_as_bytes([{"e": "installed", "at": at, "since_ms": state.since_ms}]))
    save_state(places, state)


def commit(places: Places, change: Commit) -> "tuple[str, ...]":
    """Carry out a commit under the memory lock, which the caller holds; returns the ids of the new lines.

    Raises BusyError when another run has moved a cursor that the answer was made from: it is then thrown away.
    """
    current = load_state(places)
    cursors = cursors_of(current, change.kind)
    if any(cursors.get(key) != cursor for key, cursor in change.expected.items()):
        raise BusyError(
            "another run observed the same messages first", "nothing to do: its result is in memory"
        )
    journal = _journal(places, change, current)
    replace_file(places.journal, json.dumps(journal).encode())
    _apply(places, journal)
    return tuple(row["id"] for row in journal["rows"] if row["e"] == "observed")


def replay(places: Places) -> bool:
    """Finish a commit that was cut short, under the memory lock; True when there was one."""
    data = read_bytes(places.journal)
    if data is None:
        return False
    try:
        journal = json.loads(data)
        State.from_json(journal["state"])  # before anything is done by a journal that is not whole
        _apply(places, journal)
    except _DAMAGED as problem:
        raise StorageError(
            f"{places.journal} is damaged ({type(problem).__name__})",
            "move it away; the messages it covers are observed again",
        ) from problem
    return True


def _journal(places: Places, change: Commit, current: State) -> "dict[str, Any]":
    text = decode(read_bytes(places.observations) or b"")
    additions, highest = _with_ids(change.additions, current.highest, text)
    removed = {name: current.provisional[name].line for name in sorted(superseded(current, change.covered))}
    rows: "list[dict[str, Any]]" = [
        {"e": "observed", "at": change.at, "id": row.observation.id, **row.origin} for row in additions
    ]
    rows += [{"e": "removed", "at": change.at, "id": name, "why": "superseded"} for name in removed]
    rows += [
        {"e": "covered", "at": change.at, "session": session, "uids": list(uids)}
        for session, uids in change.covered.items()
        if uids
    ]
    lines = [render_line(row.observation) for row in additions]
    state = replace(_after(current, change), highest=highest)
    if change.kind == "provisional":
        waiting = {
            row.observation.id: Provisional(_line_hash(line), tuple(row.origin["from"]))
            for row, line in zip(additions, lines)
        }
        for row in rows:
            row["line"] = waiting[row["id"]].line
        state = replace(state, provisional={**state.provisional, **waiting})
    number = sha256_hex(json.dumps([rows, lines, state.as_json()]).encode())[:16]
    return {
        "schema": SCHEMA,
        "commit": number,
        "lines": lines,
        "removed": removed,
        "before": {"size": len(encode(text)), "sha256": sha256_hex(encode(text))},
        "rows": [{**row, "commit": number} for row in rows],
        "state": state.as_json(),
    }


def _with_ids(
    additions: Sequence[Addition], given: Mapping[str, int], text: str
) -> "tuple[list[Addition], dict[str, int]]":
    used = [found.id for found in observations_in(parse_log(text)) if found.id]
    highest = dict(given)
    done = []
    for addition in additions:
        day = addition.observation.date
        name = next_ids(day, 1, used, highest.get(day, 0))[0]
        highest[day] = int(name.rsplit("-", 1)[1])
        done.append(replace(addition, observation=replace(addition.observation, id=name)))
    return done, highest


def _apply(places: Places, journal: Mapping[str, Any]) -> None:
    lines = [found for found in map(parse_line, journal["lines"]) if found]
    if journal["removed"]:
        _rewrite(places, journal["removed"], lines)
    elif lines:
        _append(places, lines, journal["before"])
    if journal["rows"]:
        append_rows(places.ledger, journal["rows"])
    save_state(places, State.from_json(journal["state"]))
    remove_file(places.journal)


def _append(places: Places, lines: Sequence[Observation], before: Mapping[str, Any]) -> None:
    """Append those lines whose ids are not in the log yet, a half-written end of an earlier try taken back first."""
    data = read_bytes(places.observations) or b""
    size = before["size"]
    if len(data) > size and sha256_hex(data[:size]) == before["sha256"]:
        whole = encode(render_addition(decode(data[:size]), lines))
        torn = len(data) - size < len(whole) and whole.startswith(data[size:])
        if torn and cut_file(places.observations, size, len(data)):
            data = data[:size]
    addition = _missing(decode(data), lines)
    if addition:
        append_file(places.observations, encode(addition))


def _missing(text: str, lines: Sequence[Observation]) -> str:
    """What to add to the log so that it holds all the lines."""
    there = {found.id for found in observations_in(parse_log(text))}
    return render_addition(text, [found for found in lines if found.id not in there])


def _rewrite(places: Places, removed: Mapping[str, str], lines: Sequence[Observation]) -> None:
    """Take lines of ours out of the log and add others, in one step; a line that somebody has since edited stays.

    What is written to the file while we make the new one is kept: then the step is done again.
    """
    for _attempt in range(50):
        found = read_bytes(places.observations)
        data = found or b""
        entries = parse_log(decode(data))
        kept = [entry.raw for entry in entries if not is_unedited(entry, removed)]
        text = "\n".join(kept)
        new = encode(text + _missing(text, lines))
        if new == data:
            return
        replace_file(places.private / "observations.before-rewrite", data)
        if replace_file(places.observations, new, instead_of=found):
            return
    raise BusyError(f"{places.observations} keeps changing", "try again when the other program has finished")


def is_unedited(entry: Entry, removed: Mapping[str, str]) -> bool:
    """True for a provisional line among `removed` (hashes of lines by id) that stands as we wrote it."""
    return entry.observation is not None and removed.get(entry.observation.id) == _line_hash(entry.raw)


def _line_hash(line: str) -> str:
    return sha256_hex(encode(line))


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
