"""The journal: a commit is written down whole before any of it is done, and carried out once.

A commit is: the journal, then observations.md (before it the archive, where lines leave), then the ledger, then
state.json, then the journal away. Whoever comes next replays a journal that is still there; each step sees for itself
whether it was done, so that replaying is harmless at any point.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from _errors import DAMAGED, StorageError
from _files import read_bytes, remove_file, replace_file
from _state import filing, observed, reflected
from _state.filing import Filing
from _state.observed import Commit
from _state.places import Places
from _state.reflected import Reflection


def commit(places: Places, change: Commit) -> "tuple[str, ...]":
    """Carry out an observer's commit under the memory lock, which the caller holds; returns the ids of the new lines.

    Raises BusyError when another run has moved a cursor that the answer was made from: it is then thrown away.
    """
    replay(places)  # of a reflector that was killed since this run began
    journal = observed.journal_of(places, change)
    _carry_out(places, journal)
    return tuple(row["id"] for row in journal["rows"] if row["e"] == "observed")


def commit_reflection(places: Places, change: Reflection) -> "dict[str, int]":
    """Carry out a reflection under the memory lock, which the caller holds; returns how many lines were "merged" and
    "archived", and how many new ones were "written". Raises RefusedError, with nothing done, when a line would be lost.
    """
    replay(places)
    journal = reflected.journal_of(places, change)
    if journal["rows"]:
        _carry_out(places, journal)
    counted = {"observed": "written", "merged": "merged", "archived": "archived"}
    kinds = [counted[row["e"]] for row in journal["rows"]]
    return {name: kinds.count(name) for name in counted.values()}


def file_away(places: Places, change: Filing) -> None:
    """Carry out a step of the night under the memory lock, which the caller holds."""
    replay(places)
    _carry_out(places, filing.journal_of(places, change))


def replay(places: Places) -> bool:
    """Finish a commit that was cut short, under the memory lock; True when there was one."""
    data = read_bytes(places.journal)
    if data is None:
        return False
    try:
        journal = json.loads(data)
        _apply(places, journal)
    except DAMAGED as problem:
        raise StorageError(
            f"{places.journal} is damaged ({type(problem).__name__})",
            "move it away; the messages it covers are observed again",
        ) from problem
    return True


def _carry_out(places: Places, journal: Mapping[str, Any]) -> None:
    replace_file(places.journal, json.dumps(journal).encode())
    _apply(places, journal)


def _apply(places: Places, journal: Mapping[str, Any]) -> None:
    kinds = {"reflection": reflected.apply, "filing": filing.apply}
    kinds.get(str(journal.get("kind")), observed.apply)(places, journal)
    remove_file(places.journal)
