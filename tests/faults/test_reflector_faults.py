"""Kill the reflector anywhere, fail any of its system calls: the next clean run ends in the same bytes."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fault_testing import Driver, copy_of, snapshot
from observer_testing import Home, at
from reflect_testing import NOW, Memory
from transcript_builders import SID

LOG = """# My log

Date: 2026-09-01

- 🟢 Said hello to Ana at the market
- 🟡 09:10 The cat is called Miso <!-- dc:type=fact dc:importance=4 dc:id=OBS-20260901-004 -->
- 🔴 09:15 Never call before 10 <!-- dc:type=rule dc:importance=9 -->

A remark of mine

Date: 2026-09-02

- 🟡 The cat is called Miso
- 🟢 Had a queue at the bakery
  - of seven people

Date: 2026-09-03

- 🟢 The soup was cold again at the canteen

Date: 2026-09-04

Another remark
"""


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    with Driver("reflector", NOW) as running:
        yield running


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    """A memory that an observer has written to, with duplicates and stale lines, and a reflection of the day before."""
    memory = Memory(tmp_path_factory.mktemp("prepared"))
    store = memory.jsonl()
    store.start(SID, at=at("08:30"))
    store.user(SID, "My daughter Lea starts school on 24 August 2027.", at=at("08:31"))
    memory.run(now=at("08:35"))
    memory.put(memory.raw + "\nDate: 2026-08-31\n\n- 🟢 Said good-bye to Ana at the station\n")
    assert memory.reflect("--force", now=at("08:40")).result["archived"] == 1
    memory.put(LOG + memory.raw)
    return memory


def kept(home: Home) -> "dict[str, bytes]":
    """All files but the copies of the log, of which a run that is done over makes one more."""
    return {name: data for name, data in snapshot(home).items() if not name.startswith("observation-backups")}


def copied(prepared: Memory, folder: Path) -> Memory:
    return Memory(copy_of(prepared, folder).folder)


@pytest.fixture(scope="module")
def expected(prepared: Memory, driver: Driver, tmp_path_factory: pytest.TempPathFactory) -> "dict[str, Any]":
    """What a run without faults leaves, and how many system calls it makes."""
    memory = copied(prepared, tmp_path_factory.mktemp("expected"))
    told = driver.run(memory, "--force")
    assert told["code"] == 0
    files = kept(memory)
    assert [item.reason for item in memory.archived()].count("low and older than 7 days") == 4
    assert [item.reason for item in memory.archived()].count("duplicate") == 1
    assert "Date: 2026-09-03" not in memory.raw and "Lea" in memory.raw
    return {"files": files, "calls": told["calls"], "log": prepared.raw}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("fault", ["kill", "killed", "fail", "fail-on", "short", "torn"])
def test_a_fault_at_any_system_call_leaves_nothing_that_a_clean_run_does_not_mend(
    prepared: Memory, driver: Driver, expected: "dict[str, Any]", tmp_path: Path, fault: str
) -> None:
    assert expected["calls"] > 30
    hit = 0
    for number in range(1, expected["calls"] + 1):
        memory = copied(prepared, tmp_path / str(number))
        told = driver.run(memory, "--force", fault=fault, number=number)
        hit += told["killed"] or told["code"] != 0
        in_archive = [item.raw for item in memory.archived()]
        for line in LOG.split("\n- ")[1:]:
            raw = "- " + line.split("\n\n")[0].rstrip("\n")
            assert raw in memory.raw or raw in in_archive, f"{fault} at call {number} lost a line"
        assert driver.run(memory, "--force")["code"] == 0, f"after {fault} at call {number}"
        assert kept(memory) == expected["files"], f"after {fault} at call {number}"
        assert expected["log"] in [path.read_text() for path in memory.backups()]
        shutil.rmtree(memory.folder)
    assert hit >= expected["calls"] // (10 if fault in ("short", "torn") else 2)


@pytest.mark.timeout(300)
def test_100_kills_at_random_moments_lose_nothing_and_archive_nothing_twice(
    prepared: Memory, driver: Driver, expected: "dict[str, Any]", tmp_path: Path
) -> None:
    dice = random.Random(7)
    killed = 0
    for number in range(100):
        memory = copied(prepared, tmp_path / str(number))
        killed += driver.run(memory, "--force", fault="late", number=dice.randrange(0, 60))["killed"]
        assert driver.run(memory, "--force")["code"] == 0
        assert kept(memory) == expected["files"], f"after kill {number}"
        assert len({item.id for item in memory.archived()}) == len(memory.archived()) == 5
        shutil.rmtree(memory.folder)
    assert killed > 25
