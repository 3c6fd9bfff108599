"""What left the log in a night: each entry as the files have it that a rollback puts back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Optional

from _account import FORGOTTEN, LEAVES, MERGED, PUT_BACK, Standing, standings
from _archive import read_archived, read_records
from _dream.lines import with_id
from _dream_files.desk import ROLLBACK, Desk
from _dream_files.kept import Snapshot
from _files import decode, read_bytes
from _ledger import is_observation_id, read_ledger, sha_of
from _observations import Entry, is_date, parse_log

_OBSERVATIONS, _REFLECTIONS = "archive/observations/", "archive/reflections/"


class _Item(NamedTuple):
    """An item of an archive file: its id, the day in it, its text."""

    id: str
    day: str
    text: str


def taken_in(desk: Desk, night: Snapshot) -> "dict[str, Entry]":
    """By id, what the archive has got in this night and is to lose again, as it left the log: of several versions the
    one that the ledger names, else the last. What was forgotten is not among it."""
    ledger = standings(read_ledger(desk.places.ledger))
    found: "dict[str, Entry]" = {}
    named: "set[str]" = set()
    for name in night.files:
        for item in _new_items(desk, night, name):
            known, entry = ledger.get(item.id), _entry_of(item)
            if entry is None or item.id in named or not _comes_from(name, known):
                continue
            found[item.id] = entry
            if known is not None and known.where == name and known.sha == sha_of(item.text):
                named.add(item.id)
    return found


def _comes_from(name: str, known: "Optional[Standing]") -> bool:
    """Whether this file is where an observation comes back from. What was merged lies with the reflections."""
    if known is not None and known.state in (FORGOTTEN, MERGED):
        return known.state == MERGED and known.where == name
    return name.startswith(_OBSERVATIONS)


def _new_items(desk: Desk, night: Snapshot, name: str) -> "Iterator[_Item]":
    """The items of an archive file that were not in it at preflight."""
    old = Counter(_items_in(name, decode(night.bytes_of(name) or b"")))
    for item in _items_in(name, decode(read_bytes(desk.memory / name) or b"")):
        if old[item]:
            old[item] -= 1
        elif is_observation_id(item.id):
            yield item


def _items_in(name: str, content: str) -> "Iterator[_Item]":
    if name.startswith(_REFLECTIONS):
        yield from (_Item(item.id, item.date, item.raw) for item in read_archived(content))
    elif name.startswith(_OBSERVATIONS):
        for record in read_records(content):
            if record.is_whole:
                yield _Item(record.id, record.fields.get("Original date", ""), record.text)


def _entry_of(item: _Item) -> Optional[Entry]:
    """The entry of the log that an item was; None when its text is none."""
    head = f"Date: {item.day}\n" if is_date(item.day) else ""
    found = [entry for entry in parse_log(head + item.text) if entry.kind != "date"]
    if len(found) != 1 or found[0].observation is None:
        return None
    return found[0] if found[0].observation.id == item.id else with_id(found[0], item.id)


def left_in(desk: Desk, night: str) -> "set[str]":
    """The ids of what the ledger says has left the log in this night and nobody has asked back since. A line that a
    person typed with the id of one that had left is no asking back: it need not be the same."""
    left: "set[str]" = set()
    for row in read_ledger(desk.places.ledger):
        if _leaves_in(row, night):
            left.add(str(row.get("id", "")))
        elif row.get("e") == "restored" and row.get("why") != PUT_BACK:
            left.discard(str(row.get("id", "")))
    return left


def asked_back(desk: Desk, night: str, began: str) -> "set[str]":
    """The ids of what this night is not to take out of the log where it stands there: it did so already, or somebody
    has had it restored since the night `began` (UTC)."""
    back: "set[str]" = set()
    for row in read_ledger(desk.places.ledger):
        is_restored = (
            row.get("e") == "restored" and row.get("from") != ROLLBACK and str(row.get("at")) >= began
        )
        if is_restored or _leaves_in(row, night):
            back.add(str(row.get("id", "")))
    return back


def _leaves_in(row: "Mapping[str, Any]", night: str) -> bool:
    return row.get("e") in LEAVES and row.get("night") == night
