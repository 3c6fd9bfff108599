"""The beginning of a night: check, make what is missing, give every observation an id, keep the old bytes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _account import BY_HAND, REWRITTEN, Mending, mend, read_files
from _cli import Result
from _compat import sha256_hex
from _counting import many
from _dream.lines import with_id
from _dream.notes import highest_in, read_notes
from _dream_files import kept
from _dream_files.desk import SHELVES, Desk, inside
from _dream_files.kept import Snapshot
from _errors import RefusedError, StorageError
from _files import encode, free_bytes, private_folder, read_bytes, replace_file
from _ledger import facts_of as facts_in_ledger
from _ledger import is_observation_id, read_ledger
from _memory import iso
from _observations import estimate_tokens, observations_in, parse_log
from _state import Filing, file_away, load_state

FAVORITES = "favorites.md"
_FAVORITES_HEAD = (
    "# Favorites\n\nWhat is liked and wanted. Total Recall proposes lines for it; a person approves them.\n"
)
DRAFT, REHEARSED_DRAFT = "new-observations.txt", "rehearsed-observations.txt"
# Twice the log, its archive and some reports; measured nights write less than the size of the log.
ROOM_BYTES = 10_000_000
_SHOWN = 10


def preflight(desk: Desk) -> Result:
    """Begin a night. One of the same day that is under way is gone on with; an older one is left as superseded."""
    check_places(desk)
    if desk.run.dry_run:
        return Result("ok", "dry_run", facts_of(desk, None, {"checks": "passed"}))
    with desk.holding_memory():
        made = make_folders(desk)
        begun = kept.newest(desk)
        if begun is not None and begun.status == kept.OPEN and begun.day == desk.today:
            return Result("ok", "resumed", facts_of(desk, begun, made))
        if begun is not None and begun.status == kept.OPEN:
            kept.mark(begun, kept.SUPERSEDED)
        # What a person has taken the id from is known again by its words, as long as it has no new one.
        mended = {} if desk.pretends else settle(desk)
        adopted = 0 if desk.pretends else adopt(desk)
        night = take_snapshot(desk)
        pruned = kept.prune(desk)
    return Result(
        "ok", "begun", facts_of(desk, night, {**made, "adopted": adopted, **mended, "pruned": pruned})
    )


def check_places(desk: Desk) -> None:
    """Raise when memory cannot be read or written, or the disk is nearly full; nothing is changed."""
    for path in (*files_of_the_day(desk), draft_of(desk)):
        top = desk.memory if path.is_relative_to(desk.memory) else desk.config.workspace / "research"
        inside(top, path.relative_to(top).parts, "move it away: a night writes there")
    data = read_bytes(desk.places.observations)
    if desk.memory.exists() and not os.access(desk.memory, os.W_OK | os.X_OK):
        raise StorageError(f"{desk.memory} cannot be written", f"check who owns it: ls -ld '{desk.memory}'")
    if desk.memory.exists() and free_bytes(desk.memory) < ROOM_BYTES + 3 * len(data or b""):
        raise StorageError(
            f"less than {ROOM_BYTES // 1_000_000} MB are free where {desk.memory} lies", "free some space"
        )
    if data is not None and data.count(b"\0"):
        raise RefusedError(
            f"{desk.places.observations} holds NUL bytes: it is damaged", "restore a copy of it"
        )


def files_of_the_day(desk: Desk) -> "list[Path]":
    """What a night of today may write, apart from the log and what is kept for it."""
    named = [
        (*shelf.folder, f"{desk.today}{Path(shelf.example).suffix}")
        for command, shelf in SHELVES.items()
        if command != "update-observations"
    ]
    named.append(("memory", "archive", "reflections", f"{desk.today}.md"))
    return [
        (desk.memory if parts[0] == "memory" else desk.config.workspace / parts[0]).joinpath(*parts[1:])
        for parts in named
    ]


def make_folders(desk: Desk) -> "dict[str, Any]":
    """The folders of the night, and a favorites.md in the workspace when there is none; in read-only mode no file."""
    for shelf in SHELVES.values():
        top = desk.memory if shelf.folder[0] == "memory" else desk.config.workspace / shelf.folder[0]
        private_folder(top.joinpath(*shelf.folder[1:]))
    private_folder(desk.memory / "archive" / "reflections")
    favorites = desk.config.workspace / FAVORITES
    # A link that leads nowhere is the person's: nothing is made at the other end of it.
    is_new = not desk.pretends and not favorites.is_symlink() and read_bytes(favorites) is None
    if is_new:
        replace_file(favorites, _FAVORITES_HEAD.encode())
    return {"favorites_created": is_new}


def adopt(desk: Desk) -> int:
    """Give an id to every observation without one of ours, and to a second one that bears the id of another; returns
    how many got one. Nothing else in their lines is touched."""
    text, at = desk.log(), iso(desk.run.now)
    raws = [entry.raw for entry in parse_log(text)]
    rows: "list[dict[str, Any]]" = []
    renamed: "dict[str, str]" = {}
    for note in read_notes(text, desk.night()):
        if note.item.observation.id == note.id:
            continue
        entry = with_id(note.entry, note.id)
        if entry is not None:
            raws[note.item.position] = entry.raw
            rows.append({"e": "adopted", "at": at, "id": note.id, **facts_in_ledger(note.item.observation)})
            if not is_observation_id(note.item.observation.id):
                renamed[note.item.observation.id] = note.id
    if rows:
        highest = highest_in(str(row["id"]) for row in rows)
        told = (*rows, *_renamed(desk, renamed, at))
        file_away(desk.places, Filing(log=(text, "\n".join(raws)), rows=told, highest=highest))
    return len(rows)


def _renamed(desk: Desk, renamed: "dict[str, str]", at: str) -> "list[dict[str, Any]]":
    """Rows for the ids of another shape that the ledger has: what bore them lives on under an id of ours."""
    known = {str(row.get("id")) for row in read_ledger(desk.places.ledger)} if any(renamed) else set()
    return [
        {"e": "merged", "at": at, "id": old, "into": new, "why": REWRITTEN}
        for old, new in renamed.items()
        if old in known
    ]


def settle(desk: Desk) -> "dict[str, int]":
    """Tell the ledger what people did to the log by hand: `mended` rows. `unexplained` counts observations of which too
    many are gone at once to be written off: the rest is for a person to look into. No id that the archives hold or a
    hook line names is given again, whoever wrote them."""
    files, given = read_files(desk.places), load_state(desk.places).highest
    mending = mend(files, iso(desk.run.now))
    named = [*files.archived, *(name for _file, name in files.refs)]
    highest = {day: top for day, top in highest_in(named).items() if top > given.get(day, 0)}
    if mending.rows or highest:
        file_away(desk.places, Filing(rows=mending.rows, highest=highest))
    deleted = deleted_by_hand(mending)
    for sentence in told_of(deleted):
        desk.run.say(f"dream_cycle: {sentence}")
    if mending.gone:
        are = many(len(mending.gone), "observation is", "observations are")
        desk.run.say(f"dream_cycle: {are} gone and nothing says why: see `account`")
    return {
        "mended": len(mending.rows),
        "deleted_by_hand": len(deleted),
        "unexplained": len(mending.gone),
    }


def deleted_by_hand(mending: Mending) -> "list[str]":
    """The ids that are taken for deleted on purpose."""
    return [str(row["id"]) for row in mending.rows if row["e"] == "forgotten" and row["why"] == BY_HAND]


def told_of(deleted: "Sequence[str]") -> "list[str]":
    """The sentence about them; none where there are none."""
    if not deleted:
        return []
    were = many(len(deleted), "observation was", "observations were")
    more = f" and {len(deleted) - _SHOWN} more" if len(deleted) > _SHOWN else ""
    names = ", ".join(deleted[:_SHOWN]) + more
    return [f"{were} deleted from the log by hand, which is taken for meant: {names}"]


def take_snapshot(desk: Desk) -> Snapshot:
    """Keep the log and the archives of the day, and leave a copy of the log to draft the new one in."""
    data = read_bytes(desk.places.observations)
    night = kept.begin(desk).keeping(kept.LOG, data)
    for command in ("archive", "chunk"):
        name = "/".join((*SHELVES[command].folder[1:], f"{desk.today}.md"))
        night = night.keeping(name, read_bytes(desk.memory / name))
    replace_file(draft_of(desk), data or b"")
    return kept.save(night)


def draft_of(desk: Desk) -> Path:
    """The copy of the log that the new one is drafted in; a rehearsal beside a night that is under way has its own."""
    is_beside = desk.config.read_only and any(
        night.status == kept.OPEN and not night.is_rehearsal for night in kept.snapshots(desk)
    )
    return desk.memory / kept.FOLDER / (REHEARSED_DRAFT if is_beside else DRAFT)


def facts_of(desk: Desk, night: "Snapshot | None", more: "dict[str, Any]") -> "dict[str, Any]":
    """What preflight tells."""
    text = desk.log()
    return {
        "run": night.name if night else "",
        "read_only": desk.config.read_only,
        "dream_phase": desk.config.dream_phase,
        "day": desk.today,
        "observations": len(observations_in(parse_log(text))),
        "tokens": estimate_tokens(text),
        "token_target": desk.config.dream_token_target,
        "observations_sha256": sha256_hex(encode(text)),
        "draft": desk.shown(draft_of(desk)),
        **more,
    }
