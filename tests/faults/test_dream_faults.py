# ruff: noqa: E501 (lines of a log are long)
"""Kill a command of the night anywhere, fail any of its system calls: done again, it ends in the same bytes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dream_testing import (
    ARCHIVE,
    BASKET,
    BICYCLE,
    CANTEEN,
    CAT,
    CHUNKS,
    DRAFT,
    HOOK,
    LOG,
    NIGHT,
    TEXTS,
    TUNA,
    Dream,
    chunk,
    item,
    without,
)
from fault_testing import Driver, copy_of, snapshot

ADOPTED = "OBS-20260901-004"  # what the canteen's line gets, which has no id here
LEAVING = (BICYCLE, ADOPTED, CAT, TUNA, BASKET)
LATE = "\nDate: 2026-11-30\n\n- 🟡 03:31 The printer is upstairs <!-- dc:type=fact dc:importance=4 dc:id=OBS-20261130-001 -->\n"
COMMANDS = {
    "preflight": ("preflight",),
    "archive": (
        "archive",
        ARCHIVE,
        json.dumps([item(name, full_text=TEXTS.get(name, TEXTS[CANTEEN])) for name in LEAVING]),
    ),
    "chunk": ("chunk", CHUNKS, json.dumps(chunk())),
    "update-observations": ("update-observations", DRAFT),
    "rollback": ("rollback",),
}


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    with Driver("dream_cycle", NIGHT) as running:
        yield running


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, driver: Driver) -> "dict[str, Dream]":
    """By command, a memory in which it comes next, and "" for the one in which all have run."""
    dream = Dream(tmp_path_factory.mktemp("first"))
    dream.put(LOG.replace(f" dc:id={CANTEEN}", ""))
    found = {}
    for name, command in COMMANDS.items():
        found[name] = dream
        dream = Dream(copy_of(dream, tmp_path_factory.mktemp(name)).folder)
        if name == "update-observations":
            dream.draft(without(dream.raw, *LEAVING) + HOOK + "\n")
            shutil.rmtree(found[name].folder)
            found[name] = Dream(copy_of(dream, found[name].folder).folder)
        assert driver.run(dream, *command)["code"] == 0, name
        if name == "update-observations":
            dream.put(dream.raw + LATE)
    found[""] = dream
    return found


def nothing_is_lost(dream: Dream) -> None:
    kept = dream.raw + dream.file(ARCHIVE)
    assert [text for text in TEXTS.values() if text not in kept] == []


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "first, every, fault",  # which of the system calls are tried; the last two faults are felt by a write alone
    [(1, 3, "kill"), (2, 3, "killed"), (3, 3, "fail-on"), (1, 2, "torn"), (2, 2, "torn"), (1, 2, "short")],
)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_fault_at_any_system_call_is_mended_by_the_same_command(
    prepared: "dict[str, Dream]",
    driver: Driver,
    tmp_path: Path,
    name: str,
    first: int,
    every: int,
    fault: str,
) -> None:
    command = COMMANDS[name]
    whole = Dream(copy_of(prepared[name], tmp_path / "whole").folder)
    calls = driver.run(whole, *command)["calls"]
    expected = snapshot(whole)
    assert calls > 15
    hit = 0
    for number in range(first, calls + 1, every):
        dream = Dream(copy_of(prepared[name], tmp_path / str(number)).folder)
        told = driver.run(dream, *command, fault=fault, number=number)
        hit += told["killed"] or told["code"] != 0
        nothing_is_lost(dream)
        assert driver.run(dream, *command)["code"] == 0, f"after {fault} at call {number}"
        assert snapshot(dream) == expected, f"after {fault} at call {number}"
        shutil.rmtree(dream.folder)
    assert hit > 0 or every == 2  # every other call need not be a write


def test_the_whole_night_and_its_undoing_leave_the_log_as_it_was(prepared: "dict[str, Dream]") -> None:
    assert prepared["archive"].raw + LATE == prepared[""].raw
    assert prepared[""].file(ARCHIVE) == prepared[""].file(CHUNKS) == ""
