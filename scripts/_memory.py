"""The memory folder as an answer changes it: which commit the answer makes, and the files that follow from the log.

The commits are made by pure functions; `_state` carries them out. brief.txt and the two marks of the shell edition
can be made anew at any time from observations.md and the state.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Optional

from _answer import AS_SAID, EXTRACTOR, Settled, system_prompt
from _compat import epoch_ms, md5_hex, sha256_hex, stamp
from _files import decode, private_folder, read_bytes, remove_file, replace_file
from _ledger import facts_of
from _observations import Observation, count_words, observations_in, parse_log, render_brief
from _state import Addition, Commit, Places, State, cursors_of, is_unedited
from _transcripts import Cursor, Message
from _window import Window

COPIES_KEPT = 10


@dataclass(frozen=True)
class Occasion:
    """When and by what a run was started: it stands in the ledger beside each line."""

    now: datetime
    trigger: str


def known_observations(places: Places, state: State, window: Window) -> "list[Observation]":
    """What memory holds, without the provisional lines that answers for these messages replace: now, or with the
    last part of a long one. A line that a person has edited stays, and counts."""
    said = {message.uid for message in window.messages}
    going = {name: found.line for name, found in state.provisional.items() if said.intersection(found.uids)}
    log = parse_log(decode(read_bytes(places.observations) or b""))
    return observations_in(entry for entry in log if not is_unedited(entry, going))


def final_commit(
    state: State, window: Window, settled: Settled, occasion: Occasion, backfill: bool
) -> Commit:
    """What an accepted answer changes: its lines, the cursors, and away with the provisional lines it replaces."""
    kind = "backfill" if backfill else "final"
    said = "\n".join(message.text for message in window.messages)
    return Commit(
        at=iso(occasion.now),
        additions=_additions(settled, occasion),
        covered=window.covered,
        moves=window.cursors,
        expected={key: cursors_of(state, kind).get(key) for key in window.cursors},
        kind=kind,
        last_hash=md5_hex(said.encode("utf-8", "replace")),
    )


def not_captured(state: State, window: Window, began: Mapping[str, Cursor]) -> Optional[Window]:
    """The part of a window that neither provisional lines nor an answer has taken; None when nothing is left of it.

    `began` are the cursors that the window was read with: one that stands elsewhere by now was moved by an answer. One
    that does not may still lie ahead of a message, in a history that was rewritten. A message that a line stands for is
    taken, also when the state was put back from a copy that does not know how far the capture went.
    """
    waiting = {uid for found in state.provisional.values() for uid in found.uids}

    def is_taken(message: Message) -> bool:
        after = message.after
        if (
            message.uid in waiting and not message.first_char and not after.chars
        ):  # a part says nothing of the others
            return True
        now = state.cursors.get(after.key)
        answered = now != began.get(after.key) and _is_before(after, now)
        return answered or _is_before(after, state.provisional_upto.get(after.key))

    fresh = tuple(found for found in window.messages if not is_taken(found))
    return Window(fresh) if fresh else None


def provisional_commit(state: State, window: Window, settled: Settled, occasion: Occasion) -> Commit:
    """Lines that stand in for a model's answer. The cursors stay where they are."""
    return Commit(
        at=iso(occasion.now),
        additions=_additions(settled, occasion, source="provisional"),
        covered={},
        moves=window.cursors,
        expected={key: state.provisional_upto.get(key) for key in window.cursors},
        kind="provisional",
    )


def _is_before(cursor: Cursor, other: Optional[Cursor]) -> bool:
    """True when `other`, a cursor of the same session, covers `cursor`."""
    return other is not None and (cursor.position, cursor.chars) <= (other.position, other.chars)


def _additions(settled: Settled, occasion: Occasion, source: str = "") -> "tuple[Addition, ...]":
    """The accepted lines in the order in which they were said, each with what the ledger keeps of its origin."""
    ordered = sorted(settled.accepted, key=lambda found: (found.observation.date, found.observation.time))
    origin: "dict[str, Any]" = {"by": settled.by, "trigger": occasion.trigger}
    if settled.by not in (EXTRACTOR, AS_SAID):
        origin["prompt"] = system_prompt().version
    return tuple(
        Addition(
            replace(found.observation, source=source or found.observation.source),
            {**facts_of(found.observation), "from": list(found.uids), **origin},
        )
        for found in ordered
    )


def refresh_brief(places: Places, state: State) -> "tuple[int, str]":
    """Rewrite brief.txt when the log is another than it was made from, by us or by a person; the caller holds the
    memory lock. Returns the log's size in words and the SHA-256 of its bytes, which belongs into the state."""
    data = read_bytes(places.observations) or b""
    found, text = sha256_hex(data), decode(data)
    if found != state.brief_of or stamp(places.brief) is None:
        new = render_brief(parse_log(text)).encode("utf-8", "replace")
        if new != read_bytes(places.brief):
            replace_file(places.brief, new)
    return count_words(text), found


def leave_marks(places: Places, state: State, now: datetime) -> None:
    """`.observer-last-run` (epoch seconds) and `.observer-last-hash` (MD5 of the last messages), as before."""
    folder = places.observations.parent
    replace_file(folder / ".observer-last-run", f"{epoch_ms(now) // 1000}\n".encode())
    mark = f"{state.last_hash}\n".encode()
    if state.last_hash and read_bytes(folder / ".observer-last-hash") != mark:
        replace_file(folder / ".observer-last-hash", mark)


def keep_copy(places: Places, moment: datetime) -> str:
    """Keep the log's bytes under a time (the person's), the last 10 such copies; returns the path of the new one."""
    data = read_bytes(places.observations) or b""
    return str(keep_bytes(places.backups, ("observations-", ".md.bak"), data, moment))


def keep_bytes(folder: Path, around: "tuple[str, str]", data: bytes, moment: datetime) -> Path:
    """Keep bytes in a folder, with a time between the two parts of the name, the last 10 such copies.

    A copy of this second that holds other bytes is an earlier run's: then the next second's name is taken. The last are
    those that were written last: in autumn an hour comes twice, and a clock may be set back, so names do not tell.
    """
    private_folder(folder)
    before, behind = around
    path = folder / f"{before}{moment:%Y%m%d-%H%M%S}{behind}"
    while (found := read_bytes(path)) is not None and found != data:
        moment += timedelta(seconds=1)
        path = folder / f"{before}{moment:%Y%m%d-%H%M%S}{behind}"
    replace_file(path, data)
    names = re.compile(rf"{re.escape(before)}[0-9]{{8}}-[0-9]{{6}}{re.escape(behind)}")
    others = [one for one in folder.iterdir() if names.fullmatch(one.name) and one != path]
    stamps = [(stamp(one), one) for one in others if one.is_file()]
    by_age = sorted((written.mtime_ns, one) for written, one in stamps if written)
    for _when, old in by_age[: 1 - COPIES_KEPT]:
        remove_file(old)
    return path


def iso(moment: datetime) -> str:
    """UTC, to the second: "2026-11-30T14:05:00Z"."""
    return f"{moment.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
