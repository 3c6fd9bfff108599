"""The memory folder as an answer changes it: which commit the answer makes, and the files that follow from the log.

The commits are made by pure functions; `_state` carries them out. brief.txt and the two marks of the shell edition
can be made anew at any time from observations.md and the state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any, Optional

from _answer import EXTRACTOR, Settled, system_prompt
from _compat import epoch_ms, md5_hex, sha256_hex, stamp
from _files import decode, read_bytes, replace_file
from _observations import Observation, count_words, fingerprint, observations_in, parse_log, render_brief
from _state import Addition, Commit, Places, State
from _transcripts import Cursor
from _window import Window


@dataclass(frozen=True)
class Occasion:
    """When and by what a run was started: it stands in the ledger beside each line."""

    now: datetime
    trigger: str


def known_observations(places: Places, state: State, window: Window) -> "list[Observation]":
    """What memory holds, without the provisional lines that an answer for this window replaces."""
    going = superseded(state, window)
    log = parse_log(decode(read_bytes(places.observations) or b""))
    return [found for found in observations_in(log) if found.id not in going]


def superseded(state: State, window: Window) -> "frozenset[str]":
    """Ids of the provisional lines whose messages the window covers."""
    covered = {uid for uids in window.covered.values() for uid in uids}
    return frozenset(name for name, found in state.provisional.items() if covered.issuperset(found.uids))


def moved(state: State, cursors: Mapping[str, Cursor], backfill: bool) -> State:
    """The state with these cursors in place, those of the backfill or the usual ones."""
    if backfill:
        return replace(state, backfill={**state.backfill, **cursors})
    upto = {key: cursor for key, cursor in state.provisional_upto.items() if key not in cursors}
    return replace(state, cursors={**state.cursors, **cursors}, provisional_upto=upto)


def final_commit(
    state: State, window: Window, settled: Settled, occasion: Occasion, backfill: bool
) -> Commit:
    """What an accepted answer changes: its lines, the cursors, and away with the provisional lines it replaces."""
    going = superseded(state, window)
    said = "\n".join(message.text for message in window.messages)
    new = replace(
        moved(state, window.cursors, backfill),
        provisional={name: found for name, found in state.provisional.items() if name not in going},
        stuck={name: times for name, times in state.stuck.items() if name != window.messages[0].uid},
        failures_in_row=0,
        last_failure="",
        last_good_run=iso(occasion.now),
        last_hash=md5_hex(said.encode("utf-8", "replace")),
    )
    rows, removed = _additions(settled, occasion), {name: state.provisional[name] for name in going}
    return Commit(iso(occasion.now), rows, window.covered, state, new, removed)


def not_captured(state: State, window: Window) -> Optional[Window]:
    """The part of a window for which there are no provisional lines yet; None when there are for all of it."""
    upto = state.provisional_upto
    fresh = tuple(
        found for found in window.messages if not _is_before(found.after, upto.get(found.after.key))
    )
    return Window(fresh) if fresh else None


def provisional_commit(state: State, window: Window, settled: Settled, occasion: Occasion) -> Commit:
    """Lines that stand in for a model's answer. The cursors stay where they are."""
    new = replace(state, provisional_upto={**state.provisional_upto, **window.cursors})
    rows = _additions(settled, occasion, source="provisional")
    return Commit(iso(occasion.now), rows, {}, state, new, provisional=True)


def _is_before(cursor: Cursor, other: Optional[Cursor]) -> bool:
    """True when `other`, a cursor of the same session, covers `cursor`."""
    return other is not None and (cursor.position, cursor.chars) <= (other.position, other.chars)


def _additions(settled: Settled, occasion: Occasion, source: str = "") -> "tuple[Addition, ...]":
    """The accepted lines in the order in which they were said, each with what the ledger keeps of its origin."""
    ordered = sorted(settled.accepted, key=lambda found: (found.observation.date, found.observation.time))
    origin: "dict[str, Any]" = {"by": settled.by, "trigger": occasion.trigger}
    if settled.by != EXTRACTOR:
        origin["prompt"] = system_prompt().version
    return tuple(
        Addition(
            replace(found.observation, source=source or found.observation.source),
            {**_facts_of(found.observation), "from": list(found.uids), **origin},
        )
        for found in ordered
    )


def _facts_of(observation: Observation) -> "dict[str, Any]":
    return {
        "fp": sha256_hex(fingerprint(observation.text).encode("utf-8", "replace"))[:16],
        "type": observation.type,
        "importance": observation.importance,
        "date": observation.date,
    }


def refresh_brief(places: Places) -> int:
    """Rewrite brief.txt when the log has changed, by us or by a person; returns the log's size in words."""
    text = decode(read_bytes(places.observations) or b"")
    log, brief = stamp(places.observations), stamp(places.brief)
    if brief is None or (log and log.mtime_ns >= brief.mtime_ns):
        new = render_brief(parse_log(text)).encode("utf-8", "replace")
        if new != read_bytes(places.brief):
            replace_file(places.brief, new)
    return count_words(text)


def leave_marks(places: Places, state: State, now: datetime) -> None:
    """`.observer-last-run` (epoch seconds) and `.observer-last-hash` (MD5 of the last messages), as before."""
    folder = places.observations.parent
    replace_file(folder / ".observer-last-run", f"{epoch_ms(now) // 1000}\n".encode())
    mark = f"{state.last_hash}\n".encode()
    if state.last_hash and read_bytes(folder / ".observer-last-hash") != mark:
        replace_file(folder / ".observer-last-hash", mark)


def iso(moment: datetime) -> str:
    """UTC, to the second: "2026-11-30T14:05:00Z"."""
    return f"{moment.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
