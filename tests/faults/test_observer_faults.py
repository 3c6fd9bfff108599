"""Kill the observer anywhere, fail any of its system calls: the next clean run ends in the same bytes."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fake_model
from _ledger import covered_uids
from fault_testing import Driver, copy_of, snapshot
from observer_testing import Home, at
from transcript_builders import SID, SID_2


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    with Driver() as running:
        yield running


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home in which one run has been, with provisional lines, and new messages wait in both eras."""
    home = Home(tmp_path_factory.mktemp("prepared"))
    store = home.jsonl()
    store.start(SID, at=at("08:30"))
    store.user(SID, "My daughter Lea starts school on 24 August.", at=at("08:31"))
    home.run(now=at("08:35"))
    store.user(SID, "We decided to rent the flat in Lindenweg 12 for 950 euros a month.", at=at("08:40"))
    with fake_model.FakeModel(fake_model.fails(503, "down", {"Retry-After": "0"})) as server:
        home.model(server)
        assert home.run("--flush", now=at("08:45")).result["provisional"] == 1
    home.environ["LLM_PROVIDER"] = "none"
    store.user(SID, "From now on never book flights before 9 in the morning.", at=at("09:00"))
    store.assistant(SID, "Understood.", at=at("09:01"))
    with home.sqlite() as newer:
        newer.start(SID_2, "agent:main:telegram:direct:7", at=at("09:05"))
        newer.user(SID_2, "I want to run the Hamburg marathon on 25 April 2027.", at=at("09:06"))
    return home


@pytest.fixture(scope="module")
def expected(prepared: Home, driver: Driver, tmp_path_factory: pytest.TempPathFactory) -> "dict[str, Any]":
    """What a run without faults leaves, and how many system calls it makes."""
    home = copy_of(prepared, tmp_path_factory.mktemp("expected"))
    told = driver.run(home)
    assert told["code"] == 0
    files = snapshot(home)
    log = files["observations.md"].decode()
    assert log.count("950 euros") == 1 and "provisional" not in log
    assert "marathon" in log and "flights" in log and "Lea" in log
    assert driver.run(home)["code"] == 0 and snapshot(home) == files
    return {"files": files, "meaning": meaning(home), "calls": told["calls"]}


def meaning(home: Home) -> "dict[str, Any]":
    """What memory holds, whatever the order in which it came in."""
    lines = [line.partition(" dc:id=")[0] for line in home.log.splitlines()]
    state = json.loads((home.memory / ".total-recall" / "state.json").read_text())
    return {
        "lines": sorted(lines),
        "covered": covered_uids(home.memory / ".total-recall" / "ledger.jsonl"),
        "state": {name: state[name] for name in ("cursors", "provisional", "failures_in_row", "since_ms")},
    }


@pytest.mark.timeout(300)
@pytest.mark.parametrize("fault", ["kill", "killed", "fail", "fail-on", "short", "torn"])
def test_a_fault_at_any_system_call_leaves_nothing_that_a_clean_run_does_not_mend(
    prepared: Home, driver: Driver, expected: "dict[str, Any]", tmp_path: Path, fault: str
) -> None:
    assert expected["calls"] > 30
    hit = 0
    for number in range(1, expected["calls"] + 1):
        home = copy_of(prepared, tmp_path / str(number))
        before = snapshot(home)
        told = driver.run(home, fault=fault, number=number)
        hit += told["killed"] or told["code"] != 0
        if not told["killed"]:
            for line in before["observations.md"].decode().splitlines():
                assert line in home.log or "provisional" in line, f"{fault} at call {number} lost a line"
        assert driver.run(home)["code"] == 0, f"after {fault} at call {number}"
        if fault == "fail":
            # Where one source could be looked at and the other not, what they hold came in one after the other.
            assert meaning(home) == expected["meaning"], f"after {fault} at call {number}"
        else:
            assert snapshot(home) == expected["files"], f"after {fault} at call {number}"
    assert hit >= expected["calls"] // (10 if fault in ("short", "torn") else 2)


@pytest.mark.timeout(300)
def test_200_kills_at_random_moments_change_nothing_in_the_end(
    prepared: Home, driver: Driver, expected: "dict[str, Any]", tmp_path: Path
) -> None:
    dice = random.Random(7)
    killed = 0
    for number in range(200):
        home = copy_of(prepared, tmp_path / str(number))
        killed += driver.run(home, fault="late", number=dice.randrange(0, 60))["killed"]
        assert driver.run(home)["code"] == 0
        assert snapshot(home) == expected["files"], f"after kill {number}"
        shutil.rmtree(home.folder)
    assert killed > 50
