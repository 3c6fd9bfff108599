"""Observations that left the log at night: the files below memory/archive/observations, written and read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from _archive.records import Record, is_one_line, read_records, render_record
from _observations import UNTAGGED_IMPORTANCE

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class ArchivedObservation:
    """One observation in the archive. `text` is what stood in the log, to the byte; `date` when it was said and
    `archived` when it left ("YYYY-MM-DD", "" when not known); `hooks` are search phrases, the primary one first.

    Importance is kept to four decimals. Type and confidence are "" in phase 1 and in files of the shell edition. Raises
    ValueError for what the format cannot hold.
    """

    id: str
    text: str
    date: str = ""
    importance: float = UNTAGGED_IMPORTANCE
    reason: str = ""
    archived: str = ""
    type: str = ""
    confidence: str = ""
    hooks: "tuple[str, ...]" = ()

    def __post_init__(self) -> None:
        if not self.id or not is_one_line(self.id):
            raise ValueError(f"not an id: {self.id[:80]!r}")
        for value in (self.date, self.reason, self.archived, self.type, self.confidence, *self.hooks):
            if not is_one_line(value):
                raise ValueError(f"more than a line: {value[:80]!r}")
        if not all(self.hooks):
            raise ValueError("an empty hook")
        if not 0.0 <= self.importance <= 10.0:
            raise ValueError(f"importance {self.importance} is not within 0 and 10")


def render_observations(items: "Iterable[ArchivedObservation]") -> str:
    """The items as they are appended to a file. `read_observations` is the inverse."""
    return "".join(map(_render, items))


def _render(item: ArchivedObservation) -> str:
    fields: "dict[str, str | tuple[str, ...]]" = {
        "Original date": item.date,
        "Impact": f"{item.importance:.4f}".rstrip("0").rstrip("."),
        "Archived reason": item.reason,
        "Archived": item.archived,
        "Type": item.type,
        "Confidence": item.confidence,
        "Hooks": item.hooks,
    }
    return render_record(item.id, fields, item.text)


def read_observations(text: str) -> "Iterator[ArchivedObservation]":
    """The items of such a file, in order. Fields that are missing are taken as untagged observations are."""
    return map(observation_of, read_records(text))


def observation_of(record: Record) -> ArchivedObservation:
    """What a record says, whoever wrote it."""
    fields = record.fields
    return ArchivedObservation(
        record.id,
        record.text,
        _first(fields.get("Original date", "")),
        _importance(fields.get("Impact", "")),
        _first(fields.get("Archived reason", "")),
        _first(fields.get("Archived", "")),
        _first(fields.get("Type", "")),
        _first(fields.get("Confidence", "")),
        record.list_of("Hooks"),
    )


def _first(value: str) -> str:
    return value.partition("\n")[0].strip()


def _importance(text: str) -> float:
    found = _NUMBER.search(text)
    return min(10.0, float(found.group())) if found else UNTAGGED_IMPORTANCE
