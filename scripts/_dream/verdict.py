"""What becomes of each observation by its own age and weight, whatever the others are."""

from __future__ import annotations

from dataclasses import dataclass

from _counting import many
from _dream.notes import Note
from _dream.weight import impact, threshold

KEEP, ARCHIVE, CHUNK = "keep", "archive", "chunk"


@dataclass(frozen=True)
class Verdict:
    """What becomes of a note, "keep", "archive" or "chunk", and why, in words that stand in the archive."""

    note: Note
    what: str
    reason: str


def judge(note: Note, phase: int) -> Verdict:
    """Keep or archive. Phase 1 goes by impact and age, phase 2 by type, confidence and decay."""
    if note.protected:
        return Verdict(note, KEEP, f"protected: {note.protected}")
    return _by_lifetime(note) if phase > 1 else _by_impact(note)


def _by_impact(note: Note) -> Verdict:
    name, days = impact(note.importance)
    what = f"impact {name}"
    if note.item.observation.ttl:
        what, days = "a lifetime of its own", note.lifetime
    elif note.observation.type == "preference":
        # What somebody likes does not go by its weight alone (FAILURES F66).
        what, days = "a preference", note.lifetime
    return _by_age(note, what, days)


def _by_lifetime(note: Note) -> Verdict:
    least = threshold(note.observation)
    if note.importance < least:
        return Verdict(note, ARCHIVE, f"importance {note.importance:g} is under {least:g}")
    return _by_age(note, f"type {note.observation.type}", note.lifetime)


def _by_age(note: Note, what: str, days: float) -> Verdict:
    if not days:
        return Verdict(note, ARCHIVE, f"{what}: goes at once")
    if note.age_days is None:
        return Verdict(note, KEEP, "nothing says when it was said")
    verdict, stays = ARCHIVE if note.age_days >= days else KEEP, many(days, "day")
    return Verdict(note, verdict, f"{what}: stays {stays}, is {many(note.age_days, 'day')} old")
