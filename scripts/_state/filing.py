"""The commit that a step of the night makes: text into the archive, the log redrafted, the ledger told of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from _archive import Block, append_block
from _compat import sha256_hex
from _ledger import append_rows, mark_of
from _state.places import Places
from _state.redraft import redrafted
from _state.rewrite import rewrite_log
from _state.state import SCHEMA, load_state, save_state


@dataclass(frozen=True)
class Filing:
    """What one step changes, all of it or nothing.

    `blocks` are what is appended to files, by their paths below the memory folder. `log` is (the log that was seen, the
    log afterwards): what others write to it in between stays. `rows` go into the ledger. `highest` are, by day, the
    highest numbers given to observations.
    """

    blocks: "Mapping[str, Block]" = field(default_factory=dict)
    log: "Optional[tuple[str, str]]" = None
    rows: "tuple[Mapping[str, Any], ...]" = ()
    highest: "Mapping[str, int]" = field(default_factory=dict)


def journal_of(places: Places, change: Filing) -> "dict[str, Any]":
    """What the journal says of it. A later one that does the same has another number."""
    blocks = {name: block._asdict() for name, block in change.blocks.items()}
    told = [mark_of(places.ledger), blocks, change.log, list(change.rows)]
    number = sha256_hex(json.dumps(told).encode())[:16]
    return {
        "schema": SCHEMA,
        "kind": "filing",
        "commit": number,
        "blocks": blocks,
        "log": list(change.log) if change.log else None,
        "rows": [{**row, "commit": number} for row in change.rows],
        "highest": dict(change.highest),
    }


def apply(places: Places, journal: Mapping[str, Any]) -> None:
    """Do what such a journal says, as far as it is not done: what leaves is in the archive before it leaves."""
    blocks = [(_below_memory(places, name), Block(**found)) for name, found in journal["blocks"].items()]
    rows, highest = journal["rows"], {day: int(number) for day, number in journal["highest"].items()}
    for path, block in blocks:
        append_block(path, block)
    if journal["log"]:
        seen, new = map(str, journal["log"])
        rewrite_log(places, lambda text: redrafted(seen, new, text))
    if rows:
        append_rows(places.ledger, rows)
    if rows or highest:
        state = load_state(places)
        given = {day: max(number, state.highest.get(day, 0)) for day, number in highest.items()}
        save_state(places, state._replace(highest={**state.highest, **given}))


def _below_memory(places: Places, name: str) -> Path:
    """The file of that name; ValueError, which stands for a damaged journal, when it is not below memory/archive."""
    parts = name.split("/")
    if parts[0] != "archive" or ".." in parts or "" in parts:
        raise ValueError(name)
    return places.observations.parent.joinpath(*parts)
