"""The small commands of the night: plan, decay, account."""

from __future__ import annotations

import _cli
from _account import account_of, mend, read_files
from _cli import Result
from _counting import many
from _dream import age_log
from _dream_files.desk import Desk
from _errors import RefusedError
from _memory import iso
from _night.run import planned
from _night.steps import age
from _state import Filing, file_away

_SHOWN = 200
# Faults that --accept writes off. What the archive lost can only come from a copy of it.
_BY_HAND = {"gone", "two_states", "live_unknown", "archive_unknown", "no_ledger"}


def show_plan(desk: Desk) -> Result:
    """What a night would do, observation by observation; nothing is changed."""
    with desk.holding_memory():
        found = planned(desk)
    return Result("ok", "planned", found.as_json())


def decay(desk: Desk) -> Result:
    """Write the decay up to today into the log; twice a day is once."""
    with desk.holding_memory():
        if desk.pretends:
            lines = age_log(desk.log(), desk.night()).lines
            return Result("ok", desk.pretends, {"decayed": lines})
        lines = age(desk, desk.night())
    return Result("ok", "decayed" if lines else "nothing_to_do", {"decayed": lines})


def account(desk: Desk, accept: bool = False) -> Result:
    """Prove that every observation ever written is in exactly one state. With `accept`, what was done to the log by
    hand is written into the ledger first, however much is gone. A fault ends in RefusedError's exit code."""
    mended = 0
    with desk.holding_memory():
        files = read_files(desk.places)
        if accept and not desk.pretends:
            rows = mend(files, iso(desk.run.now), accept=True).rows
            mended = len(rows)
            if rows:
                file_away(desk.places, Filing(rows=rows))
                files = read_files(desk.places)
        found = account_of(files)
    facts = {
        "observations": sum(found.counts.values()),
        **found.counts,
        "without_id": found.without_id,
        "of_other_editions": found.of_others,
        "mended": mended,
        "faults": [{"kind": one.kind, "id": one.id, "where": one.where} for one in found.faults[:_SHOWN]],
        "fault_count": len(found.faults),
    }
    if found.is_whole:
        return Result("ok", "whole", facts)
    kinds = sorted({one.kind for one in found.faults})
    faults = many(len(found.faults), "observation does not", "observations do not")
    problem = RefusedError(f"{faults} add up: {', '.join(kinds)}", _hint(kinds))
    return _cli.failed(problem, facts)


def _hint(kinds: "list[str]") -> str:
    """What helps against faults of these kinds."""
    hints = []
    if _BY_HAND & set(kinds):
        hints.append("dream_cycle.py account --accept, if a person did it")
    if "live_twice" in kinds:
        hints.append("the next night gives the second line an id of its own")
    if "forgotten_there" in kinds:
        hints.append("forget it once more: recall.py forget ID --apply")
    if {"not_in_archive", "altered", "chunk_missing", "dangling_ref"} & set(kinds):
        hints.append("put the files of memory/archive back from a copy")
    return "; ".join([*hints, "recall.py explain ID tells more"])
