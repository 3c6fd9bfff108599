"""The steps of a night, each one commit under the memory lock: safe to kill, and nothing is done twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from _archive import (
    ArchivedObservation,
    Block,
    Chunk,
    Record,
    block_for,
    read_records,
    render_chunks,
    render_observations,
)
from _dream import Night, age_log, without
from _dream_files import kept
from _dream_files.archive import is_copy
from _dream_files.desk import Desk
from _dream_files.taken import asked_back
from _files import decode, read_bytes
from _ledger import sha_of
from _memory import iso
from _night.progress import Agenda, Going
from _observations import Entry, Observation, parse_log, tidy
from _state import Filing, file_away, name_of

BY = "night"
OBSERVATIONS, CHUNKS = "archive/observations", "archive/chunks"


@dataclass(frozen=True)
class Leaving:
    """An observation that is still in the log as it was planned for, and the hooks by which it is found again."""

    going: Going
    entry: Entry
    position: int
    hooks: "tuple[str, ...]" = ()

    @property
    def observation(self) -> Observation:
        assert self.entry.observation is not None
        return self.entry.observation

    @property
    def text(self) -> str:
        """All that it says, its children included, without metadata."""
        children = [line for line in self.entry.raw.split("\n")[1:] if not line.lstrip().startswith("<!--")]
        return tidy("; ".join([self.observation.text, *filter(None, map(tidy, children))]))


def to_leave(desk: Desk, agenda: Agenda, wanted: "Iterable[Going]") -> "list[Leaving]":
    """Those of the wanted that may go now: they stand in the log as they were planned for, nobody has asked them back
    since, and the day's archive file does not hold them in other words, where one could not be told from the other:
    these go with a later night. The caller holds the memory lock."""
    back, held = asked_back(desk, agenda.run, agenda.began), _held(desk, agenda)
    return [
        one
        for one in still_there(desk.log(), wanted)
        if one.going.id not in back and (one.going.id not in held or is_copy(held[one.going.id], one.entry))
    ]


def still_there(log: str, wanted: "Iterable[Going]") -> "list[Leaving]":
    """Those of the wanted that stand in the log as they were. One whose id another line bears as well stays until the
    next night, which gives that an id of its own."""
    entries = parse_log(log)
    places: "dict[str, list[int]]" = {}
    for place, entry in enumerate(entries):
        if entry.observation:
            places.setdefault(entry.observation.id, []).append(place)
    found = []
    for going in wanted:
        here = places.get(going.id, [])
        if len(here) == 1 and name_of(entries[here[0]]) == going.name:
            found.append(Leaving(going, entries[here[0]], here[0]))
    return found


def commit(desk: Desk, agenda: Agenda, leaving: "Sequence[Leaving]", chunk: Optional[Chunk] = None) -> None:
    """Carry out one step: observations go into the archive and out of the log, as parts of a chunk or by themselves.
    The caller holds the memory lock, and has found them in the log as it is now."""
    log, at = desk.log(), iso(desk.run.now)
    new = without(parse_log(log), (one.position for one in leaving))
    held = _held(desk, agenda)
    rows = [row_of(one, agenda, at, held) for one in leaving]
    items = render_observations(_item(one, agenda) for one in leaving if one.going.id not in held)
    blocks = blocks_for(desk, agenda, items, render_chunks([chunk] if chunk else []))
    file_away(desk.places, Filing(blocks, (log, new), tuple(rows)))


def _held(desk: Desk, agenda: Agenda) -> "dict[str, Record]":
    """By id, what the day's archive file has already: of an agent's night that was given up, say."""
    content = decode(read_bytes(desk.memory / OBSERVATIONS / f"{agenda.day}.md") or b"")
    return {record.id: record for record in read_records(content)}


def blocks_for(desk: Desk, agenda: Agenda, observations: str, chunks: str) -> "dict[str, Block]":
    """What is appended to the archive, by file. The old bytes of the files are kept first."""
    blocks = {}
    for folder, text in ((OBSERVATIONS, observations), (CHUNKS, chunks)):
        if text:
            name = f"{folder}/{agenda.day}.md"
            path = desk.memory / name
            kept.keep(desk, kept.open_night(desk), path)
            blocks[name] = block_for(path, text)
    return blocks


def row_of(one: Leaving, agenda: Agenda, at: str, held: "Mapping[str, Record]") -> "dict[str, Any]":
    """The ledger's row for an observation that leaves; `held` is what the archive has of it already."""
    row = {
        "e": "chunked" if one.going.into else "archived",
        "at": at,
        "id": one.going.id,
        "why": one.going.reason,
    }
    if one.going.into:
        row["into"] = one.going.into
    text = held[one.going.id].text if one.going.id in held else one.entry.raw
    lies = {"in": f"{OBSERVATIONS}/{agenda.day}.md", "sha": sha_of(text)}
    return {**row, "by": BY, **lies, "night": agenda.run}


def _item(one: Leaving, agenda: Agenda) -> ArchivedObservation:
    """As it lies in the archive: its exact text, why it left, and from phase 2 when, what it is, and how sure."""
    observation, later = one.observation, agenda.phase > 1
    return ArchivedObservation(
        one.going.id,
        one.entry.raw,
        observation.date,
        one.going.written,
        one.going.reason,
        agenda.day if later else "",
        observation.type if later else "",
        observation.confidence if later else "",
        one.hooks,
    )


def age(desk: Desk, night: Night) -> int:
    """Write the decay of the day into the log; returns how many lines lost something."""
    log = desk.log()
    aged = age_log(log, night)
    if aged.lines:
        file_away(desk.places, Filing(log=(log, aged.log)))
    return aged.lines
