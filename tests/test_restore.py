"""What is brought back from the archive: word for word, into the brief too; what is left of its hooks and chunks."""

from __future__ import annotations

from pathlib import Path

import pytest

from dream_testing import ARCHIVE, BICYCLE, LOG
from forget_testing import Person

HEADING = "## Archived (memory/archive holds the whole text)"


@pytest.fixture
def person(tmp_path: Path) -> Person:
    found = Person(tmp_path / "home")
    found.put_with_ledger(LOG)
    return found


def test_what_is_brought_back_is_in_the_brief_at_once(person: Person) -> None:
    assert person.night("run").code == 0
    shown = "- 🟡 2026-09-01 09:00 Bought a blue bicycle at the market in Porto"
    assert shown not in person.brief
    assert person.recall("restore", BICYCLE).code == 0
    assert shown in person.brief


def test_the_heading_of_the_hook_lines_goes_with_the_last_of_them(person: Person) -> None:
    assert person.night("run").code == 0
    assert HEADING in person.log
    for row in person.ledger("archived"):
        assert person.recall("restore", row["id"]).code == 0
    assert HEADING not in person.log
    assert person.account()["live"] == 8


def test_a_chunk_tells_that_its_parts_are_in_the_log_again(person: Person) -> None:
    assert person.night("run", DREAM_PHASE="2").code == 0
    name = next(row["into"] for row in person.ledger("chunked"))
    parts = sorted(row["id"] for row in person.ledger("chunked") if row["into"] == name)
    before = person.recall("explain", name).result
    assert before["state"] == "chunked" and len(before["history"]) == len(parts)
    assert "in_log_again" not in before
    assert person.recall("restore", name).code == 0
    assert person.recall("explain", name).result["in_log_again"] == parts


def test_a_long_text_of_another_edition_comes_back_whole_and_in_its_lines(person: Person) -> None:
    said = "The boiler " + "hums and hums " * 80 + "until May"
    path = person.workspace / ARCHIVE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"## OBS-20260101-001\n\n**Original date**: 2026-01-01\n\n{said}\n- first the pump\n- then the valve\n\n---\n",
        "utf-8",
    )
    assert person.recall("restore", "OBS-20260101-001").code == 0
    assert f"{said} <!-- " in person.log
    assert "\n  - first the pump\n  - then the valve\n" in person.log
