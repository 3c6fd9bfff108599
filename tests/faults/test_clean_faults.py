"""Kill observer.py --clean anywhere, fail any of its system calls: the next one ends in the same log and archive."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fault_testing import Driver, copy_of, snapshot
from night_testing import Night
from observer_testing import Home

LOG = """Date: 2026-11-02

<think>
The user likes tea
</think>
- 🟡 09:20 Likes mint tea
- 🟡 09:20 Likes mint tea
- 🟢 09:30 HEARTBEAT_OK
A remark
"""


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    with Driver() as running:
        yield running


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Night:
    memory = Night(tmp_path_factory.mktemp("prepared"))
    memory.put(LOG)
    return memory


def kept(home: Home) -> "dict[str, bytes]":
    """All files but the copies: a second try keeps one of what the first has left."""
    return {
        name: data for name, data in snapshot(home).items() if not name.startswith("observation-backups/")
    }


@pytest.fixture(scope="module")
def expected(prepared: Night, driver: Driver, tmp_path_factory: pytest.TempPathFactory) -> "dict[str, Any]":
    memory = Night(copy_of(prepared, tmp_path_factory.mktemp("expected")).folder)
    told = driver.run(memory, "--clean")
    assert (told["code"], memory.log) == (0, "Date: 2026-11-02\n\n- 🟡 09:20 Likes mint tea\nA remark\n")
    assert len(memory.archived()) == 5
    return {"files": kept(memory), "calls": told["calls"]}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("fault", ["kill", "killed", "fail", "short", "torn"])
def test_the_next_run_finishes_it(
    prepared: Night, driver: Driver, expected: "dict[str, Any]", tmp_path: Path, fault: str
) -> None:
    assert expected["calls"] > 30
    for number in range(1, expected["calls"] + 1, 4):
        memory = Night(copy_of(prepared, tmp_path / str(number)).folder)
        driver.run(memory, "--clean", fault=fault, number=number)
        assert driver.run(memory, "--clean")["code"] == 0, f"after {fault} at call {number}"
        found = kept(memory)
        assert found == expected["files"], f"after {fault} at call {number}"
        ids = [json.loads(line)["id"] for line in found[".total-recall/ledger.jsonl"].splitlines()]
        assert len(set(ids)) == 5
        shutil.rmtree(memory.folder)
