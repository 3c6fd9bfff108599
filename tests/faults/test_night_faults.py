"""Kill the night anywhere, fail any of its system calls: the next run ends in the same bytes, and nothing is lost."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from _archive import read_observations, read_records
from dream_testing import ARCHIVE, CHUNKS, LOG, NIGHT
from fault_testing import Driver, copy_of, snapshot
from night_testing import Night
from observer_testing import Home

STORY = """
Date: 2026-11-10

- 🔴 09:00 Kitchen renovation: the plumber Rui comes only in the mornings
- 🔴 09:10 Kitchen renovation: the plumber Rui wants cash for the sink
- 🔴 09:20 Kitchen renovation: the plumber Rui has mended the leak behind the sink
- 🟡 09:30 The blue bicycle stands in the cellar of Ines <!-- dc:type=habit dc:importance=5 -->
"""
TEXT = (LOG + STORY).replace("dc:id=OBS-20260902-003 ", "")


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    with Driver("dream_cycle", NIGHT) as running:
        yield running


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Night:
    """A memory with lines to adopt, to archive, to make a chunk of, and to lower; more than one step of archiving."""
    memory = Night(tmp_path_factory.mktemp("prepared"), {"DREAM_PHASE": "2"})
    more = "".join(
        f"- 🟢 10:{n:02d} Shelf {n} was dusted <!-- dc:type=event dc:importance=1 -->\n" for n in range(51)
    )
    memory.put_with_ledger(
        TEXT.replace("Date: 2026-11-29\n", f"Date: 2026-10-01\n\n{more}\nDate: 2026-11-29\n")
    )
    return memory


def kept(home: Home) -> "dict[str, bytes]":
    """All files but the copies of a night and its log, which tells how long it took."""
    skip = (".dream-backups/", "dream-logs/")
    return {name: data for name, data in snapshot(home).items() if not name.startswith(skip)}


def copied(prepared: Night, folder: Path) -> Night:
    copy_of(prepared, folder)
    return Night(folder, {"DREAM_PHASE": "2"})


@pytest.fixture(scope="module")
def expected(prepared: Night, driver: Driver, tmp_path_factory: pytest.TempPathFactory) -> "dict[str, Any]":
    """What a night without faults leaves, and how many system calls it makes."""
    memory = copied(prepared, tmp_path_factory.mktemp("expected"))
    told = driver.run(memory, "run")
    assert told["code"] == 0
    assert len(list(read_observations(memory.file(ARCHIVE)))) == 59
    assert len(list(read_records(memory.file(CHUNKS)))) == 2
    assert "dc:decayed=2026-11-30" in memory.log
    return {"files": kept(memory), "calls": told["calls"]}


def check(memory: Night, expected: "dict[str, Any]", what: str) -> None:
    """The night has ended as one without faults."""
    assert kept(memory) == expected["files"], what
    assert memory.night("account").code == 0, what
    assert memory.file("memory/dream-logs/2026-11-30.md").count("- **Status**: complete") >= 1, what


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("fault", "step"),
    [("kill", 11), ("killed", 19), ("fail", 23), ("fail-on", 37), ("short", 37), ("torn", 19)],
)
def test_a_fault_at_any_system_call_leaves_nothing_that_the_next_night_does_not_mend(
    prepared: Night, driver: Driver, expected: "dict[str, Any]", tmp_path: Path, fault: str, step: int
) -> None:
    assert expected["calls"] > 100
    hit = 0
    for number in range(1, expected["calls"] + 1, step):
        memory = copied(prepared, tmp_path / str(number))
        told = driver.run(memory, "run", fault=fault, number=number)
        hit += told["killed"] or told["code"] != 0
        assert driver.run(memory, "run")["code"] == 0, f"after {fault} at call {number}"
        check(memory, expected, f"after {fault} at call {number}")
        shutil.rmtree(memory.folder)
    assert hit >= expected["calls"] // step // (10 if fault in ("short", "torn") else 2)


@pytest.mark.timeout(300)
def test_a_kill_at_each_call_from_before_a_journal_until_after_it_loses_nothing(
    prepared: Night, driver: Driver, expected: "dict[str, Any]", tmp_path: Path
) -> None:
    def journal_after(number: int) -> bool:
        """Whether a kill at this call leaves a journal; in any case the next run ends as one without faults."""
        memory = copied(prepared, tmp_path / str(number))
        assert driver.run(memory, "run", fault="kill", number=number)["killed"]
        found = (memory.memory / ".total-recall" / "journal.json").exists()
        assert driver.run(memory, "run")["code"] == 0, number
        check(memory, expected, f"after a kill at call {number}")
        shutil.rmtree(memory.folder)
        return found

    # the journal of the second step of archiving: the ledger, the archive, the log, in this order
    middle = next(
        number for number in range(expected["calls"] // 3, expected["calls"], 3) if journal_after(number)
    )
    before, after = middle - 1, middle + 1
    while journal_after(before):
        before -= 1
    while journal_after(after):
        after += 1
    assert after - before > 5


@pytest.mark.timeout(300)
def test_kills_one_after_the_other_lose_nothing_and_archive_nothing_twice(
    prepared: Night, driver: Driver, expected: "dict[str, Any]", tmp_path: Path
) -> None:
    dice = random.Random(7)
    killed = 0
    for number in range(6):
        memory = copied(prepared, tmp_path / str(number))
        for _ in range(4):
            killed += driver.run(memory, "run", fault="kill", number=dice.randrange(1, expected["calls"]))[
                "killed"
            ]
        assert driver.run(memory, "run")["code"] == 0
        check(memory, expected, f"after kills {number}")
        shutil.rmtree(memory.folder)
    assert killed > 10
