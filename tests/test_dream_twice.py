# ruff: noqa: E501 (lines of a log are long)
"""What the archive has already, in other words or from others: nothing is lost by it, and no night fails for it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from dream_testing import (
    ARCHIVE,
    BICYCLE,
    CANTEEN,
    CAT,
    DAY,
    DRAFT,
    LOG,
    NIGHT,
    TEXTS,
    Dream,
    item,
    without,
)

NOTED = "Bought a blue bicycle at the market in Porto, lock number 4711"
LATER = NIGHT + timedelta(days=40)
LATER_ARCHIVE = "memory/archive/observations/2027-01-09.md"


@pytest.fixture
def dream(tmp_path: Path) -> Dream:
    return Dream(tmp_path / "home").begun()


@pytest.fixture
def noted(dream: Dream) -> Dream:
    """A memory whose bicycle was archived, asked back and reworded."""
    dream.night("archive", ARCHIVE, payload=[item(BICYCLE)])
    assert dream.redraft(without(dream.raw, BICYCLE)).code == 0
    assert dream.night("validate").code == 0
    assert dream.night("restore", BICYCLE, now=NIGHT + timedelta(hours=5)).code == 0
    dream.put(dream.raw.replace(TEXTS[BICYCLE], NOTED))
    return dream


def test_what_the_archive_has_in_older_words_does_not_leave(noted: Dream) -> None:
    noted.night("preflight", now=LATER)
    ended = noted.redraft(without(noted.raw, BICYCLE), now=LATER)
    assert ended.code == 6 and BICYCLE in ended.result["error"]["message"]
    assert NOTED in noted.raw


@pytest.mark.parametrize("more", ["", "\n  - and the key is blue"])
def test_it_leaves_once_the_new_words_are_archived(noted: Dream, more: str) -> None:
    line = next(line for line in noted.raw.splitlines() if NOTED in line)
    noted.put(noted.raw.replace(line, line + more))
    noted.night("preflight", now=LATER)
    assert noted.night("archive", LATER_ARCHIVE, payload=[item(BICYCLE)], now=LATER).code == 6
    told = noted.night("archive", LATER_ARCHIVE, payload=[item(BICYCLE, full_text=NOTED)], now=LATER).result
    assert (told["written"], told["already_there"]) == (1, 0)
    assert told["references"] == {BICYCLE: f"[ref: archive/observations/2027-01-09.md#{BICYCLE}]"}
    assert noted.redraft(noted.raw.replace(line + more + "\n", ""), now=LATER).code == 0
    assert NOTED not in noted.raw and NOTED + " <!--" in noted.file(LATER_ARCHIVE)
    assert noted.night("validate", now=LATER).code == 0
    assert noted.night("account", now=LATER).result["reason"] == "whole"


def test_a_night_whose_archive_has_only_older_words_is_not_valid(noted: Dream) -> None:
    noted.night("preflight", now=LATER)
    noted.put(without(noted.raw, BICYCLE))
    row = {
        "e": "archived",
        "at": "2027-01-09T03:30:00Z",
        "id": BICYCLE,
        "in": f"archive/observations/{DAY}.md",
    }
    ledger = noted.memory / ".total-recall" / "ledger.jsonl"
    ledger.write_text(ledger.read_text("utf-8") + json.dumps(row) + "\n", "utf-8")
    ended = noted.night("validate", now=LATER)
    assert ended.code == 6 and f"unaccounted for: {BICYCLE}" in ended.result["notes"]


def test_what_a_person_rewords_after_it_was_archived_stays_tonight(dream: Dream) -> None:
    dream.night("archive", ARCHIVE, payload=[item(BICYCLE)])
    dream.put(dream.raw.replace(TEXTS[BICYCLE], NOTED))
    ended = dream.night("archive", ARCHIVE, payload=[item(BICYCLE, full_text=NOTED)])
    assert ended.code == 6 and "it has to stay until tomorrow" in ended.result["error"]["message"]


def test_what_the_reflector_took_out_meanwhile_lies_in_both_archives(dream: Dream) -> None:
    dream.night("archive", ARCHIVE, payload=[item(BICYCLE), item(CANTEEN)])
    assert dream.reflect("--force", now=NIGHT).result["archived"] >= 1
    assert CANTEEN not in dream.raw
    assert dream.redraft(without(LOG, BICYCLE, CANTEEN)).code == 0
    assert dream.night("validate").code == 0
    assert dream.night("account").result["faults"] == []
    rows = dream.rows("archived")
    assert dream.night("update-observations", DRAFT).code == 6  # the night is over
    assert dream.rows("archived") == rows


def test_the_same_draft_again_tells_the_ledger_nothing_new(dream: Dream) -> None:
    dream.night("archive", ARCHIVE, payload=[item(CANTEEN)])
    dream.reflect("--force", now=NIGHT)
    assert dream.redraft(without(LOG, CANTEEN)).code == 0
    rows = dream.rows("archived", "merged", "chunked")
    assert dream.night("update-observations", DRAFT).result["reason"] == "unchanged"
    assert dream.rows("archived", "merged", "chunked") == rows


def test_validate_does_not_end_a_run_that_was_out_of_time(tmp_path: Path) -> None:
    dream = Dream(tmp_path / "home")
    dream.put(LOG)
    assert dream.night("run", "--deadline", "0").result["reason"] == "out_of_time"
    assert dream.night("validate").code == 0
    (night,) = dream.memory.glob(".dream-backups/*/manifest.json")
    assert json.loads(night.read_text("utf-8"))["status"] == "open" and f"dc:id={CANTEEN}" in dream.raw
    assert dream.night("run").result["reason"] == "done"
    assert f"dc:id={CANTEEN}" not in dream.raw
    assert json.loads(night.read_text("utf-8"))["status"] == "valid"


def test_read_only_mode_makes_no_file_in_the_workspace(tmp_path: Path) -> None:
    dream = Dream(tmp_path / "home")
    dream.put(LOG)
    assert dream.night("preflight", READ_ONLY_MODE="true").result["favorites_created"] is False
    assert not (dream.workspace / "favorites.md").exists()
    assert dream.night("preflight").result["reason"] == "begun"
    assert (dream.workspace / "favorites.md").exists()


def test_a_rehearsed_night_neither_ends_nor_goes_on_with_a_real_one(dream: Dream) -> None:
    dream.night("archive", ARCHIVE, payload=[item(BICYCLE)])
    dream.redraft(without(LOG, BICYCLE))
    assert dream.night("run", READ_ONLY_MODE="true").result["reason"] == "read_only"
    assert dream.night("preflight").result["reason"] == "resumed"
    assert dream.night("rollback").code == 0
    assert dream.raw == LOG


@pytest.mark.parametrize("command", [("run",), ("preflight",)])
def test_a_rollback_after_a_rehearsal_brings_nothing_back_that_a_person_deleted_since(
    tmp_path: Path, command: "tuple[str, ...]"
) -> None:
    dream = Dream(tmp_path / "home")
    dream.put(LOG)
    assert dream.night(*command, READ_ONLY_MODE="true").code == 0
    dream.put(without(LOG, CAT))
    ended = dream.night("rollback")
    assert (ended.code, ended.result["error"]["code"]) == (6, "refused")
    assert dream.raw == without(LOG, CAT)


def test_rehearsals_push_no_real_night_out_of_what_is_kept(dream: Dream) -> None:
    for day in range(1, 10):
        dream.night("run", now=NIGHT + timedelta(days=day), READ_ONLY_MODE="true")
    assert (dream.memory / ".dream-backups" / "20261130-033000" / "manifest.json").exists()
    kept = [path for path in (dream.memory / ".dream-backups").iterdir() if path.is_dir()]
    assert len(kept) == 8


@pytest.mark.parametrize(
    ("zone", "first", "then"),
    [
        ("UTC", NIGHT + timedelta(days=400), NIGHT),  # a clock that was wrong
        ("Europe/Berlin", NIGHT.replace(month=10, day=25, hour=0), NIGHT.replace(month=10, day=25, hour=1, minute=10)),
    ],
)  # fmt: skip
def test_a_night_that_begins_while_the_clock_says_earlier_than_at_the_last_one_is_the_newest(
    tmp_path: Path, zone: str, first: datetime, then: datetime
) -> None:
    dream = Dream(tmp_path / "home", {"TZ": zone})
    dream.put(LOG)
    assert dream.night("run", now=first).result["reason"] == "done"
    before = dream.raw + "\nDate: 2026-06-03\n\n- 🟢 The soup was cold\n"
    dream.put(before)
    assert dream.night("run", now=then).result["reason"] == "done"
    assert "The soup was cold" not in dream.raw
    assert dream.night("rollback", now=then).code == 0
    assert "The soup was cold <!-- dc:id=OBS-20260603-001 -->" in dream.raw


@pytest.mark.parametrize("hours", [1, 24])
def test_what_a_night_that_was_given_up_had_archived_stands_in_no_later_nights_way(
    dream: Dream, hours: int
) -> None:
    dream.night("archive", ARCHIVE, payload=[item(BICYCLE)])
    later = NIGHT + timedelta(hours=hours)
    ended = dream.night("run", now=later)
    assert (ended.code, ended.result["reason"]) == (0, "done"), ended.said
    assert f"dc:id={BICYCLE} " not in dream.raw
    told = dream.night("account", now=later).result
    assert (told["reason"], told["faults"]) == ("whole", [])
