"""The commit that an observer's answer makes: new lines, the cursors that they cover, provisional lines gone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Optional

from _compat import sha256_hex
from _errors import BusyError
from _files import append_file, cut_file, decode, encode, read_bytes
from _ledger import append_rows, mark_of
from _observations import (
    BOM,
    Entry,
    Observation,
    next_ids,
    observations_in,
    parse_line,
    parse_log,
    render_addition,
    render_line,
)
from _state.places import Places
from _state.rewrite import rewrite_log
from _state.state import SCHEMA, Provisional, State, load_state, save_state
from _transcripts.cursors import Cursors
from _transcripts.message import Cursor


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
    new = Cursors.of(cursors_of(state, kind)).moved(moves)
    if kind == "provisional":
        return state._replace(provisional_upto=new)
    if kind == "backfill":
        return state._replace(backfill=new)
    ahead = Cursors.of(state.provisional_upto)
    passed = [
        key for key in moves if key in ahead and not _is_ahead(ahead[key], moves[key], state.cursors.get(key))
    ]
    upto = Cursors({key: row for key, row in ahead.rows.items() if key not in passed})
    return state._replace(cursors=new, provisional_upto=upto)


def _is_ahead(mark: Cursor, cursor: Cursor, before: Optional[Cursor]) -> bool:
    """Whether what was captured reaches beyond an answer. Not so in a history that was rewritten meanwhile, where the
    cursor went back from `before` or is of another generation."""
    if mark.generation != cursor.generation:
        return False
    place = (cursor.position, cursor.chars)
    back = before is not None and place < (before.position, before.chars)
    return not back and (mark.position, mark.chars) > place


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
    return new._replace(
        provisional={name: found for name, found in state.provisional.items() if name not in going},
        stuck={name: times for name, times in state.stuck.items() if name not in uids},
        last_hash=change.last_hash,
    )


def journal_of(places: Places, change: Commit) -> "dict[str, Any]":
    """What the journal says of an observer's commit. Raises BusyError when another run has moved a cursor that the
    answer was made from: it is then thrown away."""
    current = load_state(places)
    cursors = cursors_of(current, change.kind)
    if any(cursors.get(key) != cursor for key, cursor in change.expected.items()):
        raise BusyError(
            "another run observed the same messages first", "nothing to do: its result is in memory"
        )
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
    state = _after(current, change)._replace(highest=highest)
    if change.kind == "provisional":
        waiting = {
            row.observation.id: Provisional(_line_hash(line), tuple(row.origin["from"]))
            for row, line in zip(additions, lines)
        }
        for row in rows:
            row["line"] = waiting[row["id"]].line
        state = state._replace(provisional={**state.provisional, **waiting})
    # The same commit whatever went wrong before it, and another one than any before it.
    told = state._replace(failures_in_row=0, last_failure="", last_good_run="", ledger=mark_of(places.ledger))
    number = sha256_hex(json.dumps([rows, lines, told.as_json()]).encode())[:16]
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


def apply(places: Places, journal: Mapping[str, Any]) -> None:
    """Do what such a journal says, as far as it is not done."""
    state = State.from_json(journal["state"])  # before anything is done by a journal that is not whole
    lines = [found for found in map(parse_line, journal["lines"]) if found]
    if journal["removed"]:
        _rewrite(places, journal["removed"], lines)
    elif lines:
        _append(places, lines, journal["before"])
    if journal["rows"]:
        append_rows(places.ledger, journal["rows"])
    save_state(places, state)


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
    """Take lines of ours out of the log and add others, in one step; a line that somebody has since edited stays."""

    def change(text: str) -> str:
        kept = [entry.raw for entry in parse_log(text) if not is_unedited(entry, removed)]
        shorter = "\n".join(kept)
        return shorter + _missing(shorter, lines)

    rewrite_log(places, change)


def is_unedited(entry: Entry, removed: Mapping[str, str]) -> bool:
    """True for a provisional line among `removed` (hashes of lines by id) that stands as we wrote it."""
    return entry.observation is not None and removed.get(entry.observation.id) == _line_hash(entry.raw)


def _line_hash(line: str) -> str:
    """An editor may have given the file other line ends: that is no edit of the line."""
    line = line.replace("\r\n", "\n").rstrip("\r").lstrip(BOM)
    return sha256_hex(encode(line))
