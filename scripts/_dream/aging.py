"""The decay of a whole log, written into its lines."""

from __future__ import annotations

from dataclasses import dataclass

from _dream.lines import rewritten_as
from _dream.notes import Night, decayed_up_to
from _observations import parse_log
from _reflect.items import read_items


@dataclass(frozen=True)
class Aged:
    """The log with the decay of today in it, how many lines lost something, and by how much in all."""

    log: str
    lines: int
    lost: float


def age_log(log: str, night: Night) -> Aged:
    """Lower the importance of each observation by what its type loses a day, up to today. Doing it twice a day is doing
    it once."""
    entries = list(parse_log(log))
    lines, lost = 0, 0.0
    for item in read_items(log, night.now, night.zone, night.waiting):
        old, new = item.observation, decayed_up_to(night, item)
        changed = rewritten_as(item.entry, new) if new != old else None
        if changed is not None:
            entries[item.position] = changed
            lines, lost = lines + 1, lost + old.importance - new.importance
    return Aged("\n".join(entry.raw for entry in entries), lines, round(lost, 4))
