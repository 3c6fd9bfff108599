"""What a search finds, read from the piece of a file that it was found in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from _archive import chunk_of, observation_of, read_archived, read_records
from _observations import UNTAGGED_IMPORTANCE, parse_log, tidy

LIVE, ARCHIVED, MERGED, CHUNKED = KINDS = ("live", "archived", "merged", "chunked")
_COMMENT = re.compile(r"\s*<!--.*?-->")


class Hit(NamedTuple):
    """One item of memory. `kind` is one of KINDS; `file` is relative to the memory folder; `date` is the day when it
    was said, "" when not known, of a chunk the last one; `into` the line that says the same as one that was merged;
    `why` the words of the question that found it."""

    id: str
    kind: str
    text: str
    date: str = ""
    importance: float = UNTAGGED_IMPORTANCE
    type: str = ""
    file: str = ""
    reason: str = ""
    into: str = ""
    hooks: "tuple[str, ...]" = ()
    score: float = 0.0
    why: "tuple[str, ...]" = ()


def hits_in(text: str, kind: str) -> Iterator[Hit]:
    """The items in the text of a file. `kind` is what its folder holds: MERGED stands for reflections."""
    if kind == MERGED:
        for gone in read_archived(text):
            said = _said(gone.raw)
            yield said._replace(
                id=gone.id,
                kind=MERGED if gone.into else ARCHIVED,
                date=gone.date or said.date,
                reason=gone.reason,
                into=gone.into,
            )
        return
    for record in read_records(text):
        if kind == CHUNKED:
            chunk = chunk_of(record)
            finding = f"{chunk.topic}: {chunk.finding}" if chunk.topic else chunk.finding
            yield Hit(chunk.id, CHUNKED, _plain(finding), chunk.last, reason=f"{len(chunk.sources)} made one")
            continue
        item, said = observation_of(record), _said(record.text)
        yield said._replace(
            id=item.id,
            kind=kind,
            date=item.date or said.date,
            importance=item.importance,
            type=item.type or said.type,
            reason=item.reason,
            hooks=item.hooks,
        )


def _said(raw: str) -> Hit:
    """The raw line of a log with what stands under it, or any other text, without mark, time and metadata."""
    first = parse_log(raw.strip("\n"))[0]
    one = first.observation
    if one is None:
        return Hit("", ARCHIVED, _plain(raw))
    under = first.raw.partition("\n")[2]
    return Hit("", ARCHIVED, _plain(f"{one.text}\n{under}"), one.date, one.importance, one.type)


def _plain(raw: str) -> str:
    return tidy(_COMMENT.sub("", raw))
