"""What a night has set out to do, kept on disk until it is done, so that another run can go on with it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Optional

from _archive import Chunk
from _dream import Plan
from _errors import DAMAGED
from _files import read_bytes, remove_file, replace_file
from _observations import Entry
from _state import Places, name_of

SCHEMA = 1


@dataclass(frozen=True)
class Going:
    """One observation that is to leave. `name` is what its entry is known again by: one that a person has edited since
    stays. `into` is the chunk it becomes a part of, "" for none. `importance` is its weight by the plan, `written` that
    which it had in the log."""

    id: str
    name: str
    reason: str
    importance: float
    written: float
    type: str
    into: str = ""


@dataclass(frozen=True)
class Agenda:
    """One night: which run it is, its day, what the log was, and what is to leave, the first first."""

    run: str
    day: str
    phase: int
    began: str
    observations: int
    tokens_before: int
    tokens_leaving: int
    going: "tuple[Going, ...]"
    chunks: "tuple[Chunk, ...]"
    types: "Mapping[str, int]"

    def as_json(self) -> "dict[str, Any]":
        return {"schema": SCHEMA, **asdict(self)}


def agenda_of(
    found: Plan, entries: "Sequence[Entry]", run: str, began: str, without_ids: bool = False
) -> Agenda:
    """What is to be done by a plan. `entries` are those of the log itself, which has the same observations at the same
    positions as the one that was planned for. One that cannot bear an id stays, unless `without_ids`."""
    into = {name: chunk.id for chunk in found.chunks for name in chunk.sources}
    going = []
    for one in found.leaving:
        note, entry = one.note, entries[one.note.item.position]
        if note.item.observation.id == note.id or without_ids:
            chunk, kind = into.get(note.id, ""), note.observation.type
            going.append(
                Going(note.id, name_of(entry), one.reason, note.importance, written_in(entry), kind, chunk)
            )
    return Agenda(
        run,
        found.night.today.isoformat(),
        found.night.phase,
        began,
        len(found.verdicts),
        found.tokens_before,
        found.tokens_leaving,
        tuple(going),
        found.chunks,
        dict(Counter(one.note.observation.type for one in found.verdicts)),
    )


def written_in(entry: Entry) -> float:
    """The importance that an entry has in the log."""
    return entry.observation.importance if entry.observation else 0.0


def _path(places: Places) -> Path:
    return places.private / "night.json"


def load_agenda(places: Places) -> Optional[Agenda]:
    """The night that is under way; None when there is none, or what is kept of it is damaged: then it begins anew."""
    data = read_bytes(_path(places))
    if data is None:
        return None
    try:
        found = json.loads(data)
        going = tuple(Going(**one) for one in found["going"])
        chunks = tuple(Chunk(**{**one, "sources": tuple(one["sources"])}) for one in found["chunks"])
        rest = {name: value for name, value in found.items() if name not in ("schema", "going", "chunks")}
        return Agenda(going=going, chunks=chunks, **rest)
    except DAMAGED:
        return None


def save_agenda(places: Places, agenda: Agenda) -> None:
    """Keep it until the night is over."""
    replace_file(_path(places), json.dumps(agenda.as_json(), separators=(",", ":")).encode())


def close_agenda(places: Places) -> None:
    """The night is over."""
    remove_file(_path(places))
