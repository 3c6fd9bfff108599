"""Kill forgetting anywhere, fail any of its system calls: the next one ends in the same bytes, and nothing is left."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fault_testing import Driver, copy_of, snapshot
from forget_testing import MORNING, OTHERS, Person, a_person
from observer_testing import Home

COMMAND = ("forget", "Miso", "--apply")


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    with Driver("recall", MORNING) as running:
        yield running


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Person:
    return a_person(tmp_path_factory.mktemp("prepared"))


def kept(home: Home) -> "dict[str, bytes]":
    """All files; of the tombstones, whose key is another each time, how many there are."""
    found = snapshot(home)
    stones = json.loads(found.pop(".total-recall/tombstones.json"))["stones"]
    return {**found, "tombstones": b"some" if stones else b""}


@pytest.fixture(scope="module")
def expected(prepared: Person, driver: Driver, tmp_path_factory: pytest.TempPathFactory) -> "dict[str, Any]":
    """What a run without faults leaves, and how many system calls it makes."""
    person = Person(copy_of(prepared, tmp_path_factory.mktemp("expected")).folder)
    told = driver.run(person, *COMMAND)
    assert (told["code"], person.holding("Miso")) == (0, OTHERS)
    return {"files": kept(person), "calls": told["calls"]}


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("fault", "step"), [("kill", 4), ("killed", 7), ("fail", 7), ("short", 11), ("torn", 5)]
)
def test_a_fault_at_any_system_call_leaves_nothing_that_the_next_run_does_not_finish(
    prepared: Person, driver: Driver, expected: "dict[str, Any]", tmp_path: Path, fault: str, step: int
) -> None:
    assert expected["calls"] > 100
    hit = 0
    for number in range(1, expected["calls"] + 1, step):
        person = Person(copy_of(prepared, tmp_path / str(number)).folder)
        told = driver.run(person, *COMMAND, fault=fault, number=number)
        hit += told["killed"] or told["code"] != 0
        what = f"after {fault} at call {number}"
        assert driver.run(person, *COMMAND)["code"] == 0, what
        assert person.holding("Miso") == OTHERS, what
        assert kept(person) == expected["files"], what
        person.account()
        shutil.rmtree(person.folder)
    assert hit >= expected["calls"] // step // (10 if fault in ("short", "torn") else 2)
