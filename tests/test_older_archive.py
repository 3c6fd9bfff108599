"""The archives of an older edition, lists of lines without ids: counted, missed when they go, found, brought back."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doctor
from _archive import names_of
from _observations import parse_log
from dream_testing import LOG, NIGHT
from forget_testing import MORNING, Person
from observer_testing import dated, run_here

FILE, OTHER = "archived-observations.md", "archive/archived-observations.md"
LINES = (
    "# Archive\n\n## 2026-01-05\n\n"
    "- 🔴 2:05 PM The boiler was mended by Oskar <!-- dc:type=decision dc:importance=8 -->\n"
    "- 🟡 The garage has a green door\n"
    "  - and a window\n\n"
    "plain words about a barometer\n"
)


@pytest.fixture
def person(tmp_path: Path) -> Person:
    person = Person(tmp_path / "home")
    person.put_with_ledger(LOG)
    put(person, LINES)
    return person


def put(person: Person, text: str, name: str = FILE) -> None:
    path = person.memory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def account(person: Person) -> "tuple[int, int, int, list[str]]":
    """Of other editions, archived, live; and the files from which something is gone."""
    told = person.night("account").result
    return (
        told["of_other_editions"],
        told["archived"],
        told["live"],
        [one["where"] for one in told["faults"] if one["kind"] == "gone"],
    )


def name_of(person: Person, words: str) -> str:
    (found,) = person.recall("search", words).result["results"][:1]
    return str(found["id"])


def state_of_ledger(person: Person) -> "dict[str, Any]":
    checks = run_here(lambda: doctor.main([*dated(MORNING), "--offline"]), person.environ).result["checks"]
    return {one["name"]: one for one in checks}["ledger"]


def test_its_lines_are_counted_as_archived_by_another_edition(person: Person) -> None:
    assert account(person) == (2, 2, 8, [])
    put(person, "- 🟡 The cellar is damp\n- 🟡 The cellar is damp\n", OTHER)
    assert account(person) == (4, 4, 8, [])
    told = state_of_ledger(person)
    assert (told["state"], told["archived"], told["of_other_editions"]) == ("ok", 4, 4)


@pytest.mark.parametrize("command", [("preflight",), ("account", "--accept"), ("run",)])
def test_one_that_goes_after_it_was_seen_is_missed(person: Person, command: "tuple[str, ...]") -> None:
    put(person, LINES + "\n- 🟡 The cellar is damp\n- 🟡 The cellar is damp\n")
    assert person.night(*command).code == 0
    of_others, _, _, gone = account(person)
    assert (of_others, gone) == (4, [])
    put(person, LINES.replace("- 🟡 The garage has a green door\n  - and a window\n", ""))
    assert account(person)[3] == [FILE] * 3
    found = state_of_ledger(person)
    assert (
        found["state"] == "fail" and "3 lines are gone from the archive of another edition" in found["says"]
    )
    assert "account --accept" in found["todo"]
    ended = person.night("account")
    assert ended.code == 6 and "account --accept" in ended.result["error"]["hint"]
    assert person.night("run", now=NIGHT + timedelta(days=1)).code == 0
    assert account(person)[3] == [FILE] * 3  # no night takes it for meant
    assert person.night("account", "--accept").result["mended"] == 3
    assert (account(person)[0], account(person)[3]) == (1, [])
    assert state_of_ledger(person)["state"] == "ok"


def test_a_line_that_is_moved_or_tagged_is_the_same(person: Person) -> None:
    person.night("preflight")
    rows = person.ledger("noted")
    assert len(rows) == 2
    (person.memory / FILE).unlink()
    put(person, LINES.replace("green door\n", "green door <!-- dc:type=fact -->\r\n"), OTHER)
    assert account(person) == (2, 2, 8, [])
    person.night("preflight", now=NIGHT + timedelta(days=1))
    assert person.ledger("noted") == rows


def test_its_name_stays_when_lines_above_it_go(person: Person) -> None:
    before = name_of(person, "garage door")
    assert before.startswith("line-")
    put(person, "- 🟡 The garage has a green door\n  - and a window\n")
    assert name_of(person, "garage door") == before
    assert person.recall("show", before).result["items"][0]["text"].startswith("The garage has a green door")
    assert person.recall("explain", before).result["state"] == "archived"


@given(st.lists(st.sampled_from(["- 🟡 Tea", "- 🟡 tea!", "Tea", "- 🟡 Milk", "???", "!!!"]), max_size=8))
def test_no_two_lines_of_a_file_have_the_same_name(lines: "list[str]") -> None:
    names = names_of(parse_log("\n".join(lines)))
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("words", "of_others", "line"),
    [
        (
            "boiler Oskar",
            1,
            "- 🔴 2:05 PM The boiler was mended by Oskar "
            "<!-- dc:type=decision dc:importance=8 dc:id=OBS-20260105-001 -->",
        ),
        (
            "garage door",
            1,
            "- 🟡 The garage has a green door <!-- dc:id=OBS-20260105-001 -->\n  - and a window",
        ),
        ("barometer", 2, "plain words about a barometer <!-- dc:type=fact dc:importance=5"),
    ],
)
def test_a_line_is_brought_back_into_the_log_once(
    person: Person, words: str, of_others: int, line: str
) -> None:
    name = name_of(person, words)
    assert person.recall("restore", name, "--dry-run").result["restored"] == 1
    assert line not in person.log
    ended = person.recall("restore", name)
    assert (ended.code, ended.result["restored"]) == (0, 1)
    (new,) = ended.result["ids"]
    assert line in person.log and new in person.log and person.file(f"memory/{FILE}") == LINES
    assert [row["from"] for row in person.ledger("restored")] == [FILE]
    before = person.log
    ended = person.recall("restore", name)
    assert (ended.code, ended.result["reason"], person.log) == (0, "already_there", before)
    assert account(person) == (of_others, of_others, 9, [])


def test_a_line_that_was_brought_back_and_left_again_keeps_its_id(person: Person) -> None:
    name = name_of(person, "garage door")
    (new,) = person.recall("restore", name).result["ids"]
    later = NIGHT + timedelta(days=400)
    assert person.night("run", now=later).code == 0
    assert f"dc:id={new}" not in person.log
    assert person.recall("restore", name, now=later).result["ids"] == [new]
    assert f"dc:id={new}" in person.log
    assert person.night("account", now=later).result["faults"] == []


def test_a_line_that_has_an_id_is_brought_back_by_it(person: Person) -> None:
    put(person, "- 🟡 The attic is cold <!-- dc:id=OBS-20200101-001 -->\n")
    assert name_of(person, "attic") == "OBS-20200101-001"
    assert person.recall("restore", "OBS-20200101-001").result["restored"] == 1
    assert "The attic is cold" in person.log
    assert person.recall("restore", "OBS-20200101-001").result["reason"] == "already_there"


def test_a_name_that_no_line_has_is_unknown_and_a_live_line_is_there(person: Person) -> None:
    ended = person.recall("restore", "line-0123456789ab")
    assert (ended.code, ended.result["error"]["code"]) == (2, "usage")
    person.put(person.log + "- 🟡 The shed leaks\n")
    assert person.recall("restore", name_of(person, "shed leaks")).result["reason"] == "already_there"


def test_an_observation_that_another_edition_archived_is_adopted_with_its_print(person: Person) -> None:
    path = person.memory / "archive" / "observations" / "2026-02-01.md"
    path.parent.mkdir(parents=True)
    path.write_text("## OBS-20260101-007\n\n**Impact**: low\n\nA lamp was sold\n\n---\n", "utf-8")
    assert person.recall("restore", "OBS-20260101-007").result["restored"] == 1
    row = next(row for row in person.ledger("adopted") if row["id"] == "OBS-20260101-007")
    assert row["fp"] and row["type"] == "fact"


@pytest.mark.parametrize("wanted", ["boiler Oskar", "garage"])
def test_what_is_forgotten_there_is_not_missed_and_leaves_no_print(person: Person, wanted: str) -> None:
    put(person, LINES.replace("## 2026-01-05", "## Without a day"))
    person.night("preflight")
    prints = {row["fp"] for row in person.ledger("noted")}
    assert person.recall("forget", wanted, "--apply").result["reason"] == "forgotten"
    assert account(person)[:1] == (1,) and account(person)[3] == []
    left = {row.get("fp") for row in person.ledger("noted")} - {None}
    assert len(prints) == 2 and len(left) == 1


def test_a_line_is_forgotten_by_the_name_that_search_gives_it(person: Person) -> None:
    put(person, LINES)
    person.night("preflight")
    hit = person.recall("search", "garage", "--json").result["results"][0]
    assert hit["id"].startswith("line-")
    assert person.recall("restore", hit["id"]).code == 0
    assert person.recall("explain", hit["id"]).code == 0
    ended = person.recall("forget", hit["id"], "--apply")
    assert (ended.code, ended.result["reason"]) == (0, "forgotten")
    for path in person.workspace.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert b"garage" not in content.lower() and hit["id"].encode() not in content, path
    assert account(person)[3] == []
    ended = person.recall("forget", hit["id"], "--apply")
    assert ended.code == 2 and "nothing is known of" in ended.result["error"]["message"]


def test_of_a_line_in_both_archives_the_file_that_lost_it_is_named(person: Person) -> None:
    both = [person.memory / name for name in (FILE, OTHER)]
    for path in both:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("- 🟡 Milk is bought on Mondays\n", "utf-8")
    assert person.night("account", "--accept").code == 0
    both[0].unlink()
    (fault,) = person.night("account").result["faults"]
    assert (fault["kind"], fault["where"]) == ("gone", FILE)
    both[1].write_text("- 🟡 Milk is bought on Mondays\n" * 2, "utf-8")  # moved there
    assert person.night("account").code == 0
