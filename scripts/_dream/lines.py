"""Metadata of an observation changed where it stands; every other byte of its entry stays."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Optional

from _observations import MARKS, Entry, Observation, parse_log

_FRONT = re.compile(rf"^([-*]\s+(?:\*\*)?)(?:{'|'.join(MARKS)})")


def rewritten_as(entry: Entry, new: Observation) -> Optional[Entry]:
    """The entry with the id, importance, mark and day of decay of `new`; None where it would not be read back as that.

    A line of another edition keeps its spelling: nothing but the fields that change is touched.
    """
    old = entry.observation
    if old is None:
        return None
    lines = entry.raw.split("\n")
    lines[0] = _FRONT.sub(lambda found: found.group(1) + new.priority, lines[0])
    fields = [("importance", f"{new.importance:g}"), ("id", new.id), ("decayed", new.decayed)]
    was = {"importance": f"{old.importance:g}", "id": old.id, "decayed": old.decayed}
    changed = [(name, value) for name, value in fields if value != was[name]]
    if changed:
        place = _place_of_metadata(lines, bool(old.id))
        lines[place] = _with_fields(lines[place], changed)
    raw = "\n".join(lines)
    return _read_back(raw, entry, new)


def with_id(entry: Entry, name: str) -> Optional[Entry]:
    """The entry with an id in its metadata; None as above."""
    return rewritten_as(entry, replace(entry.observation, id=name)) if entry.observation else None


def _read_back(raw: str, entry: Entry, new: Observation) -> Optional[Entry]:
    old = entry.observation
    head = f"Date: {old.date}\n" if old and old.date else ""
    found = [one for one in parse_log(head + raw) if one.kind != "date"]
    if len(found) != 1 or found[0].observation is None:
        return None
    return Entry(raw, entry.kind, new) if found[0].raw == raw and found[0].observation == new else None


def _place_of_metadata(lines: "list[str]", has_id: bool) -> int:
    """The line whose comment counts: the first one's when it has an id, else the last comment on a line of its own."""
    if not has_id:
        for place in range(len(lines) - 1, 0, -1):
            if lines[place].lstrip().startswith("<!--") and "dc:" in lines[place]:
                return place
    if re.search(r"dc:id=", lines[0]):
        return 0
    own = [n for n in range(1, len(lines)) if lines[n].lstrip().startswith("<!--") and "dc:id=" in lines[n]]
    return own[-1] if own else 0


def _with_fields(line: str, fields: "list[tuple[str, str]]") -> str:
    body = line.rstrip()
    end = line[len(body) :]
    begin = body.rfind("<!--") if body.endswith("-->") else -1
    if begin < 0 or "dc:" not in body[begin:]:
        return f"{body} <!-- {' '.join(f'dc:{name}={value}' for name, value in fields)} -->{end}"
    comment = body[begin:]
    for name, value in fields:
        comment, found = re.subn(rf"\bdc:{name}=[^\s<>]+", f"dc:{name}={value}", comment)
        if not found:
            comment = f"{comment[:-3].rstrip()} dc:{name}={value} -->"
    return body[:begin] + comment + end
