"""Kill session recovery anywhere, fail any of its system calls: the next run finds all that was said, and once."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import filelock
import pytest

from fault_testing import Driver, copy_of
from observer_testing import SCRIPTS, Home, at
from transcript_builders import SID

FACTS = ("starts school on 24 August", "rent the flat in Lindenweg 12")
KINDS = ("works", "out of order")


@pytest.fixture(scope="module")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[dict[str, Driver]]":
    """Recovery beside an observer that works, and beside one that does not: then it has to write on its own."""
    broken = tmp_path_factory.mktemp("skill") / "scripts"
    shutil.copytree(SCRIPTS, broken, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    observer = (broken / "observer.py").read_text(encoding="utf-8")
    assert observer.count("sys.exit(main())") == 1
    observer = observer.replace("sys.exit(main())", "sys.exit('out of order')")
    (broken / "observer.py").write_text(observer, encoding="utf-8")
    with Driver("session_recovery") as works, Driver("session_recovery", scripts=broken) as out_of_order:
        yield dict(zip(KINDS, (works, out_of_order)))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home that has been observed, with something new and two markers of the gateway hook."""
    home = Home(tmp_path_factory.mktemp("prepared"))
    store = home.jsonl()
    store.start(SID, at=at("08:30"))
    store.user(SID, f"My daughter Lea {FACTS[0]}.", at=at("08:31"))
    assert home.run(now=at("08:35")).code == 0
    store.user(SID, f"We decided to {FACTS[1]} for 950 euros a month.", at=at("09:00"))
    markers = home.memory / ".total-recall" / "markers"
    markers.mkdir()
    for number in (1, 2):
        marker = {"schema": 1, "event": "command:new", "at_ms": number, "agent_id": "main"}
        (markers / f"{number}-a.json").write_text(json.dumps(marker), encoding="utf-8")
    return home


def finish(home: Home, driver: Driver, what: str) -> None:
    """A clean run, once the observer that a killed recovery left behind has ended."""
    with filelock.FileLock(str(home.memory / ".total-recall" / "observer.lock"), timeout=30):
        pass
    assert driver.run(home)["code"] == 0, what
    assert [home.log.count(fact) for fact in FACTS] == [1, 1], what
    assert list((home.memory / ".total-recall" / "markers").iterdir()) == [], what


def calls_of(prepared: Home, driver: Driver, folder: Path) -> int:
    """How many system calls a run without faults makes."""
    home = copy_of(prepared, folder)
    told = driver.run(home)
    assert told["code"] == 0
    finish(home, driver, "without faults")
    return int(told["calls"])


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "fault, first, every", [("kill", 1, 4), ("killed", 3, 4), ("fail", 2, 5), ("fail-on", 1, 4)]
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_at_any_system_call_loses_and_repeats_nothing(
    prepared: Home,
    drivers: "dict[str, Driver]",
    tmp_path: Path,
    kind: str,
    fault: str,
    first: int,
    every: int,
) -> None:
    driver = drivers[kind]
    calls = calls_of(prepared, driver, tmp_path / "whole")
    assert calls > (30 if kind == "out of order" else 8)
    hit = 0
    for number in range(first, calls + 1, every):
        home = copy_of(prepared, tmp_path / str(number))
        told = driver.run(home, fault=fault, number=number)
        hit += told["killed"] or told["code"] != 0
        assert home.log.count(FACTS[0]) == 1
        finish(home, driver, f"after {fault} at call {number}")
        shutil.rmtree(home.folder)
    assert hit > 0 or (kind, fault) == (
        "works",
        "fail",
    )  # the observer does the writing, the log is not memory


@pytest.mark.timeout(300)
def test_kills_at_random_moments_change_nothing_in_the_end(
    prepared: Home, drivers: "dict[str, Driver]", tmp_path: Path
) -> None:
    dice, killed = random.Random(11), 0
    for number in range(8):
        home = copy_of(prepared, tmp_path / str(number))
        killed += drivers["works"].run(home, fault="late", number=dice.randrange(0, 400))["killed"]
        finish(home, drivers["works"], f"after kill {number}")
    assert killed > 2
