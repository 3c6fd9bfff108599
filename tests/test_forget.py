"""recall.py forget: first shown, then gone from every file of ours, and the account stays whole."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Callable
from unittest import mock

import pytest

import fake_model
from _cli import LOG_NAMES, Result
from _errors import StorageError
from _files import read_bytes
from _forget import forget
from _forget.order import Order
from _forget.scrub import values
from _observations import Observation, observations_in, parse_log
from _staging import Evidence, Proposal, render_proposal
from _state import Places, Reflection, Step, commit_reflection
from dream_testing import (
    ARCHIVE,
    BASKET,
    BICYCLE,
    CANTEEN,
    CAT,
    CHUNKS,
    DAY,
    LOG,
    RULE,
    TEXTS,
    TUNA,
    chunk,
    item,
    without,
)
from fault_testing import snapshot
from forget_testing import MEANT, MORNING, NAME, OTHERS, PROPOSAL, WHO, Person, a_person, told_everywhere
from night_testing import six_months
from observer_testing import SCRIPTS
from transcript_builders import iso


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return a_person(tmp_path / "home")


def refuse(monkeypatch: pytest.MonkeyPatch, call: str, place: Path) -> None:
    """Let a system call fail for one place."""
    real = getattr(os, call)

    def refused(path: object = ".", *rest: object, **more: object) -> object:
        if str(path) == str(place):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *rest, **more)

    monkeypatch.setattr(os, call, refused)


# Looking -------------------------------------------------------------------------------------------------------------


def test_it_is_first_only_shown(person: Person) -> None:
    before = snapshot(person)
    ended = person.recall("forget", "Miso")
    assert (ended.code, ended.result["reason"], ended.result["observations"]) == (0, "dry_run", 4)
    assert snapshot(person) == before
    assert {item["id"] for item in ended.result["items"]} >= {CAT, TUNA, BASKET}
    assert ended.result["not_changed"] == {"MEMORY.md": 1, "memory/2026-11-29.md": 1}
    assert any("search index" in note for note in ended.result["notes"])
    assert person.recall("forget", "Miso", "--apply", "--dry-run").result["reason"] == "dry_run"
    assert snapshot(person) == before


def test_what_is_not_there_is_not_found(person: Person) -> None:
    ended = person.recall("forget", "Bartholomew")
    assert (ended.code, ended.result["observations"], ended.result["files"]) == (0, 0, 0)


def test_a_forgetting_that_is_only_shown_says_so(person: Person) -> None:
    assert person.recall("forget", "Miso").result["dry_run"] is True
    assert person.recall("forget", "Miso", "--apply", "--dry-run").result["dry_run"] is True
    assert person.recall("forget", "Miso", "--apply").result["dry_run"] is False


def test_what_was_not_looked_at_is_counted(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    assert person.recall("forget", "Zebulon").result["files_not_looked_at"] == 0
    (person.workspace / "large.txt").write_bytes(b"Zebulon " + b"x" * 5_000_000)
    shown = page_about(person, "Zebulon")
    assert (shown[0]["files_not_changed"], shown[0]["files_not_looked_at"]) == (0, 1)
    assert "1 file was not looked at, and may hold it: unreadable, or larger than 5 MB" in shown[1]
    (person.workspace / "large.txt").unlink()
    held = person.workspace / "held.txt"
    held.write_text("Zebulon", "utf-8")

    def refuse(path: Path, *others: int) -> "bytes | None":
        if path == held:
            raise StorageError("it is held", "try again")
        return read_bytes(path, *others)

    with monkeypatch.context() as patch:
        patch.setattr("_forget.carry.read_bytes", refuse)
        assert person.recall("forget", "Zebulon").result["files_not_looked_at"] == 1
    monkeypatch.setattr("_forget.carry._MOST_OTHERS", 1)
    told = person.recall("forget", "Zebulon", "--apply").result
    assert (told["files_not_changed"], told["files_not_looked_at"] > 0) == (0, True)


def test_a_folder_that_cannot_be_listed_was_not_looked_at(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    (person.workspace / "locked").mkdir()
    scandir = os.scandir

    def refuse(path: "str | Path") -> "os._ScandirContext[os.DirEntry[str]]":  # type: ignore[name-defined]
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr("os.scandir", refuse)
    assert person.recall("forget", "Zebulon").result["files_not_looked_at"] == 1


def page_about(person: Person, *words: str) -> "tuple[dict[str, object], str]":
    """The facts of a forgetting that is only shown, and its page."""
    with mock.patch.dict(os.environ, person.environ, clear=True):
        found = []

        def note(*args: object, **named: object) -> Result:
            found.append(forget(*args, **named))  # type: ignore[arg-type]
            return found[0]

        with mock.patch("_forget.forget", note):
            person.recall("forget", *words)
    return dict(found[0].facts), found[0].page


def test_a_page_begins_with_what_it_says(person: Person) -> None:
    (person.memory / "dream-logs" / "2026-11-01.md").write_text("Zebulon was here\n", "utf-8")
    assert page_about(person, "Zebulon")[1].startswith("From these files would go what is about it:\n")


def test_what_was_forgotten_cannot_be_had_back_and_no_backup_is_named(person: Person) -> None:
    person.recall("forget", CAT, "--apply")
    ended = person.recall("restore", CAT)
    assert (ended.code, ended.result["error"]["message"]) == (
        6,
        f"{CAT} was forgotten: its text is in no file of memory",
    )
    assert "backup" not in ended.result["error"]["hint"]


@pytest.mark.parametrize(
    "wanted", [["OBS-20250101-001"], ["CHUNK-20250101-001"], ["the"], ["is", "a"], ["--apply"], [" "]]
)
def test_what_cannot_be_meant_is_a_wrong_command_line(person: Person, wanted: "list[str]") -> None:
    before = snapshot(person)
    assert person.recall("forget", *wanted).code == 2
    assert snapshot(person) == before


def test_a_part_of_a_word_is_another_word(person: Person) -> None:
    person.put(person.log + "- 🟡 Misopates is a flower <!-- dc:type=fact -->\n")
    person.recall("forget", "Miso", "--apply")
    assert "Misopates is a flower" in person.log
    person.recall("forget", "Misop*", "--apply")
    assert "Misopates" not in person.log


def test_what_of_others_cannot_be_looked_at_is_counted(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = person.memory / "mine"
    theirs.mkdir()
    (theirs / "notes.md").write_text(f"About {NAME}\n", "utf-8")
    refuse(monkeypatch, "scandir", theirs)
    assert person.recall("forget", "Miso").result["files_not_looked_at"] == 1
    assert person.recall("forget", "Miso", "--apply").result["files_not_looked_at"] == 1
    monkeypatch.undo()
    refuse(monkeypatch, "stat", theirs / "notes.md")
    assert person.recall("forget", "Miso").result["files_not_looked_at"] == 1


# Going ---------------------------------------------------------------------------------------------------------------


def test_words_leave_no_trace_in_any_file_of_ours(person: Person) -> None:
    assert len(person.holding("Miso")) > 10
    ended = person.recall("forget", "Miso", "--apply")
    assert (ended.code, ended.result["reason"]) == (0, "forgotten")
    assert person.holding("Miso") == OTHERS
    assert "Bought a blue bicycle" in person.file(f"memory/archive/observations/{DAY}.md")
    assert person.account()["forgotten"] >= 4


def test_an_id_takes_all_that_says_the_same_and_leaves_the_rest(person: Person) -> None:
    before = person.account()
    ended = person.recall("forget", BICYCLE, "--apply")
    assert ended.result["observations"] == 1
    assert person.holding("bought a blue bicycle") == []
    after = person.account()
    assert after["forgotten"] == before["forgotten"] + 1
    assert sum(after.values()) == sum(before.values())
    assert "The cat is called Miso" in person.file(f"memory/archive/observations/{DAY}.md")


def test_a_chunk_with_a_forgotten_part_is_dissolved_and_the_other_parts_stay_archived(tmp_path: Path) -> None:
    person = Person(tmp_path / "home")
    person.put_with_ledger(LOG)
    person.begun(person.log)
    names = (CAT, TUNA, BASKET)
    person.night("archive", ARCHIVE, payload={"items": [item(name) for name in names]})
    assert person.night("chunk", CHUNKS, payload=chunk()).code == 0
    assert person.redraft(without(person.log, *names)).code == 0
    before = person.account()
    assert before["chunked"] == 3
    ended = person.recall("forget", TUNA, "--apply")
    assert ended.result["kept_in_archive"] == [CAT, BASKET]
    assert person.holding("tuna") == []
    after = person.account()
    assert (after["chunked"], after["forgotten"]) == (0, 1)
    assert after["archived"] == before["archived"] + 2
    assert person.night("restore", CAT).result["restored"] == 1
    assert "The cat is called Miso" in person.log


def test_a_line_that_was_merged_goes_with_its_duplicate(tmp_path: Path) -> None:
    person = Person(tmp_path / "home")
    words = "The key of the shed hangs behind the door"
    line = f"- 🟡 10:0{{0}} {words} <!-- dc:type=fact dc:importance=5 dc:id=OBS-20260902-00{{0}} -->\n"
    person.put_with_ledger("Date: 2026-09-02\n\n" + line.format(1) + line.format(2))
    person.reflect("--force")
    assert person.account() == {"live": 1, "merged": 1, "archived": 0, "chunked": 0, "forgotten": 0}
    person.recall("forget", "OBS-20260902-001", "--apply")
    assert person.holding("behind the door") == []
    assert person.account() == {"live": 0, "merged": 0, "archived": 0, "chunked": 0, "forgotten": 2}


def test_lines_without_ids_go_as_well(tmp_path: Path) -> None:
    person = Person(tmp_path / "home")
    person.put(
        "## 2026-09-02\n\n- 2:05 PM Anna's flat is in Turin\n- 🔴 Anna\n- 🟡 Tom lives in Ghent\n\nAnna: call back\n"
    )
    (person.memory / "archived-observations.md").write_text("- 🟡 Anna moved\n- 🟡 Tom moved\n", "utf-8")
    ended = person.recall("forget", "anna", "--apply")
    assert ended.result["without_id"] == 4
    assert person.holding("Anna") == []
    assert person.log == "## 2026-09-02\n\n- 🟡 Tom lives in Ghent\n\n"
    assert person.file("memory/archived-observations.md") == "- 🟡 Tom moved\n"


def test_words_with_umlauts_and_without_spaces_are_found_in_every_form(tmp_path: Path) -> None:
    person = Person(tmp_path / "home")
    person.put("Date: 2026-09-02\n\n- 🟡 Jürgen Müller rief an\n- 🟡 田中さんは医者です\n- 🟡 Nothing else\n")
    metrics = person.workspace / "research" / "dream-cycle-metrics" / "daily"
    metrics.mkdir(parents=True)
    (metrics / f"{DAY}.json").write_text(json.dumps({"notes": ["Müller", "田中", "kept"], "n": 1}), "utf-8")
    (person.workspace / "logs").mkdir(exist_ok=True)
    (person.workspace / "logs" / "observer.log").write_text('{"a": "M\\u00fcller"}\nkept\n', "utf-8")
    person.recall("forget", "MÜLLER", "--apply")
    person.recall("forget", "田中", "--apply")
    assert person.holding("Müller", "田中") == []
    assert person.log == "Date: 2026-09-02\n\n- 🟡 Nothing else\n"
    assert json.loads((metrics / f"{DAY}.json").read_text("utf-8")) == {"notes": ["kept"], "n": 1}
    assert (person.workspace / "logs" / "observer.log").read_text("utf-8").startswith("kept\n")


def test_all_the_words_have_to_be_in_one_item(person: Person) -> None:
    person.recall("forget", "Miso", "tuna", "--apply")
    assert "tuna" not in person.file(f"memory/archive/observations/{DAY}.md")
    assert "The cat is called Miso" in person.file(f"memory/archive/observations/{DAY}.md")


def test_a_proposal_loses_its_evidence_or_goes(person: Person) -> None:
    person.recall("forget", "Miso", "--apply")
    staging = person.memory / "dream-staging"
    assert sorted(path.name for path in staging.rglob("*.md")) == [PROPOSAL]
    text = (staging / PROPOSAL).read_text("utf-8")
    assert CAT not in text and f"**Supporting observations**: {BICYCLE}\n" in text
    assert "Bought a blue bicycle" in text


def test_the_ledger_keeps_that_it_was_there_and_nothing_of_what_it_said(person: Person) -> None:
    def rows(name: str) -> "list[dict[str, object]]":
        path = person.memory / ".total-recall" / "ledger.jsonl"
        found = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return [row for row in found if row.get("id") == name]

    assert "fp" in rows(BICYCLE)[0]
    person.recall("forget", BICYCLE, "--apply")
    assert all("fp" not in row and "line" not in row for row in rows(BICYCLE))
    assert [row["e"] for row in rows(BICYCLE)][-1] == "forgotten"
    assert "fp" in rows(CANTEEN)[0]
    ended = person.recall("explain", BICYCLE)
    assert (ended.code, ended.result["state"]) == (0, "forgotten")
    assert person.recall("restore", BICYCLE).code == 6


def test_what_a_night_kept_can_still_be_put_back_without_it(person: Person) -> None:
    person.recall("forget", "Miso", "--apply")
    assert person.night("rollback").result["reason"] == "undone"
    assert person.holding("Miso") == OTHERS
    assert RULE in person.log and "Bought a blue bicycle" in person.log
    person.account()


def test_neither_words_nor_names_of_files_get_into_the_log(person: Person) -> None:
    (person.memory / "miso.md").write_text("Miso\n", "utf-8")
    person.recall("forget", "Miso")
    person.recall("forget", "Miso", "--apply")
    assert "iso" not in person.file("logs/recall.log").replace("is o", "")


def test_what_a_person_adds_meanwhile_stays(person: Person) -> None:
    path, replace, times = person.memory / "observations.md", os.replace, [0]

    def replaced(source: str, place: str) -> None:
        if os.path.basename(place) == "observations.md" and not times[0]:
            times[0] += 1
            with open(path, "a", encoding="utf-8") as file:
                file.write("- 🟡 Written meanwhile\n- 🟡 Miso again\n")
        replace(source, place)

    with mock.patch.object(os, "replace", replaced):
        assert person.recall("forget", "Miso", "--apply").code == 0
    assert "Written meanwhile" in person.log
    assert person.holding("Miso") == OTHERS


def test_it_is_done_once(person: Person) -> None:
    person.recall("forget", "Miso", "--apply")
    before = snapshot(person)
    ended = person.recall("forget", "Miso", "--apply")
    assert (ended.code, ended.result["reason"], ended.result["observations"]) == (0, "nothing_found", 0)
    changed = {name for name, data in snapshot(person).items() if before.get(name) != data}
    assert changed <= {".total-recall/tombstones.json"}


def test_damage_is_told(person: Person) -> None:
    (person.memory / ".total-recall" / "forgetting.json").write_text("{", "utf-8")
    assert person.recall("forget", "Miso", "--apply").code == 1
    (person.memory / ".total-recall" / "forgetting.json").unlink()
    (person.memory / ".total-recall" / "tombstones.json").write_text("{", "utf-8")
    assert person.recall("forget", "Miso", "--apply").code == 1
    assert "Miso" in person.file(f"memory/archive/observations/{DAY}.md")


def look_through_proposals(person: Person) -> None:
    command = [sys.executable, str(SCRIPTS / "staging_review.py"), "list"]
    subprocess.run(command, env=person.environ, check=True, capture_output=True, timeout=60)


LAYERS: "dict[str, Callable[[Person], object]]" = {
    "observer": lambda person: person.run(),
    "reflector": lambda person: person.reflect(),
    "night": lambda person: person.night("account"),
    "restore": lambda person: person.recall("restore", BICYCLE),
    "review": look_through_proposals,
}


def killed_in_the_middle(person: Person) -> None:
    """The log and the ledger have it no more, all other files still do."""
    with mock.patch("_forget.carry._sweep", side_effect=KeyboardInterrupt):
        assert person.recall("forget", "Miso", "--apply").code == 130
    assert len(person.holding("Miso")) > 5


@pytest.mark.parametrize("layer", LAYERS)
def test_what_was_begun_is_finished_by_whatever_runs_next(person: Person, layer: str) -> None:
    killed_in_the_middle(person)
    LAYERS[layer](person)
    assert person.holding("Miso") == OTHERS
    assert not (person.memory / ".total-recall" / "forgetting.json").exists()
    person.account()


def test_what_is_being_forgotten_is_not_brought_back(person: Person) -> None:
    killed_in_the_middle(person)
    assert person.recall("restore", CAT).code == 6
    assert person.holding("Miso") == OTHERS


def test_a_dry_run_finishes_nothing(person: Person) -> None:
    killed_in_the_middle(person)
    before = snapshot(person)
    person.night("account", "--dry-run")
    person.recall("restore", BICYCLE, "--dry-run")
    person.reflect("--dry-run")
    assert snapshot(person) == before


BARE = """## OBS-20250101-001

**Original date**: 2025-01-01

Zebulon's shell: run this
```text
ls

---

## OBS-20250101-002

second precious

---
"""


def test_a_fence_that_is_never_closed_takes_no_other_item_along(tmp_path: Path) -> None:
    person = Person(tmp_path / "home")
    person.put_with_ledger(LOG)
    path = person.memory / "archive" / "observations" / "2025-01-01.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(BARE, "utf-8")
    assert person.recall("search", "precious").result["hits"] == 1
    ended = person.recall("forget", "Zebulon", "--apply")
    assert [found["id"] for found in ended.result["items"]] == ["OBS-20250101-001"]
    assert path.read_text("utf-8").lstrip("\n") == BARE[BARE.index("## OBS-20250101-002") :]


@pytest.mark.parametrize("name", ["Ze\u00adbulon", "Ze\u200bbulon", "Ze\u2060bulon\ufe0f", "\u202aZebulon"])
def test_signs_that_nobody_sees_hide_no_name(tmp_path: Path, name: str) -> None:
    person = Person(tmp_path / "home")
    person.put(f"Date: 2026-09-02\n\n- 🟡 {name} paid\n- 🟡 Nothing else\n")
    person.recall("forget", "Zebulon", "--apply")
    assert person.log == "Date: 2026-09-02\n\n- 🟡 Nothing else\n"


def test_the_logs_of_every_layer_are_ours(person: Person) -> None:
    layers = sorted(path.stem for path in SCRIPTS.glob("*.py") if not path.name.startswith("_"))
    names = [LOG_NAMES.get(layer, layer.replace("_", "-")) for layer in layers]
    assert "setup" in names and "observer-watcher" in names
    for name in names:
        (person.workspace / "logs" / f"{name}.log").write_text("Zebulon\nkept\n", "utf-8")
    assert person.recall("forget", "Zebulon", "--apply").result["not_changed"] == {}
    assert person.holding("Zebulon") == []


def test_a_person_may_forget_and_restore_while_the_night_may_only_read(person: Person) -> None:
    assert person.recall("forget", "Miso", "--apply", READ_ONLY_MODE="true").result["reason"] == "forgotten"
    assert person.holding("Miso") == OTHERS
    before = person.account()["live"]
    assert person.recall("restore", BICYCLE, READ_ONLY_MODE="true").result["reason"] == "restored"
    assert person.account()["live"] == before + 1


# What was made of what -----------------------------------------------------------------------------------------------


def merged_by_a_model(person: Person, text: str = "The boiler was mended by Rui for 240 euros") -> None:
    """Two lines, a third in their place, as a reflection with a model leaves them."""
    person.put_with_ledger(
        "Date: 2026-09-02\n\n"
        "- 🟡 10:00 The boiler was mended by Rui <!-- dc:type=fact dc:importance=5 dc:id=OBS-20260902-001 -->\n"
        "- 🟡 10:01 The boiler cost 240 euros <!-- dc:type=fact dc:importance=5 dc:id=OBS-20260902-002 -->\n"
    )
    places = Places(person.memory / "observations.md", person.memory / ".total-recall")
    entries = tuple(entry for entry in parse_log(person.log) if entry.observation)
    new = Observation(text, date="2026-09-02", time="10:00")
    change = Reflection(
        "2026-09-03T00:00:00Z", "2026-09-03", (Step(entries, "merged", "test/model", new=new),)
    )
    with mock.patch.dict(os.environ, person.environ, clear=True):
        commit_reflection(places, change)


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("Date: 2026-03-02 (Quentin moved in)", "Date: 2026-03-02"),
        ("## Date: 2026-03-02 – with Quentin", "## Date: 2026-03-02"),
        ("**Date: 2026-03-02 Quentin came**", "**Date: 2026-03-02**"),
    ],
)
def test_what_stands_behind_a_day_is_forgotten_and_the_day_stays(
    tmp_path: Path, line: str, left: str
) -> None:
    person = Person(tmp_path / "home")
    person.put(f"{line}\n\n- 🟡 10:00 The boiler was mended <!-- dc:type=fact dc:importance=5 -->\n")
    shown = person.recall("forget", "Quentin").result
    assert (shown["files"], [one["text"] for one in shown["items"]]) == (1, [line])
    ended = person.recall("forget", "Quentin", "--apply")
    assert (ended.result["reason"], person.holding("Quentin")) == ("forgotten", [])
    assert person.log.startswith(f"{left}\n\n- 🟡 10:00 The boiler was mended")
    assert person.recall("forget", "Quentin", "--apply").result["reason"] == "nothing_found"


def test_a_day_that_is_asked_for_as_a_word_stays_a_day(tmp_path: Path) -> None:
    person = Person(tmp_path / "home")
    log = "Date: 2026-03-02\n\n- 🟡 10:00 The boiler was mended <!-- dc:type=fact dc:importance=5 -->\n"
    person.put(log)
    person.recall("forget", "2026-03-02", "--apply")
    assert person.log == log


def test_a_part_of_a_merged_line_takes_the_line_along_and_leaves_the_other_part(tmp_path: Path) -> None:
    person = Person(tmp_path / "home")
    merged_by_a_model(person)
    assert person.account() == {"live": 1, "merged": 2, "archived": 0, "chunked": 0, "forgotten": 0}
    ended = person.recall("forget", "OBS-20260902-001", "--apply")
    assert ended.result["kept_in_archive"] == ["OBS-20260902-002"]
    assert person.holding("Rui") == []
    assert person.account() == {"live": 0, "merged": 0, "archived": 1, "chunked": 0, "forgotten": 2}
    assert person.recall("restore", "OBS-20260902-002").code == 0
    assert "The boiler cost 240 euros" in person.log
    assert person.account()["live"] == 1


def test_a_merged_line_takes_its_parts_along(tmp_path: Path) -> None:
    person = Person(tmp_path / "home")
    merged_by_a_model(person)
    person.recall("forget", "OBS-20260902-003", "--apply")
    assert person.holding("boiler") == []
    assert person.account() == {"live": 0, "merged": 0, "archived": 0, "chunked": 0, "forgotten": 3}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_whatever_is_done_in_whatever_order_the_account_stays_whole(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    person = Person(tmp_path / "home", {"DREAM_PHASE": "2"})
    person.put_with_ledger(six_months(150))
    texts = {one.id: one.text for one in observations_in(parse_log(person.log))}
    gone: "set[str]" = set()
    day = MORNING
    for _step in range(14):
        day += timedelta(days=1)
        name = dice.choice(sorted(texts))
        what = dice.choice(("night", "reflect", "forget", "forget", "restore", "rollback", "edit"))
        if what == "night":
            assert person.night("run", now=day).code in (0, 6)
        elif what == "reflect":
            person.reflect("--force", now=day)
        elif what == "restore":
            person.recall("restore", name, now=day)
        elif what == "rollback":
            person.night("rollback", now=day)
        elif what == "edit":
            person.put(person.raw.replace("garden", "yard", 1))
        else:
            assert person.recall("forget", name, "--apply", now=day).code == 0
            gone.add(name)
        assert person.night("account", now=day).result["faults"] == [] or what == "edit"
    assert gone
    for name in gone:
        assert person.holding(texts[name]) == [], name


# Every spelling ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("محمد", "مُحَمَّد"),
        ("שלום", "שָׁלוֹם"),
        ("ibrahim", "İbrahim"),
        ("İBRAHİM", "ibrahim"),
        ("IŞIL", "ışıl"),
        ("Γιώργος", "ΓΙΩΡΓΟΣ"),
        ("Müller", "Mu\u0308ller"),
        ("김철수", "\u1100\u1175\u11b7\u110e\u1165\u11af\u1109\u116e"),
        ("タナカ", "ﾀﾅｶ"),
        ("Zebulon", "Z\u0336e\u0336b\u0336ulon"),
        ("Müller", "https://example.org/M%C3%BCller"),
        ("नीता", "नीता"),
    ],
)
def test_a_name_goes_in_whatever_spelling_of_the_same_letters(
    tmp_path: Path, asked: str, written: str
) -> None:
    person = Person(tmp_path / "home")
    person.put(f"Date: 2026-09-02\n\n- 🟡 {written} paid\n- 🟡 Nothing else\n")
    person.recall("forget", asked, "--apply")
    assert person.log == "Date: 2026-09-02\n\n- 🟡 Nothing else\n"


@pytest.mark.parametrize(
    ("asked", "other"),
    [("नीता", "नाता तोड़ दिया"), ("Müller", "Muller paid"), ("İbrahim", "I met brahim"), ("Anna", "Aña paid")],
)
def test_other_letters_are_another_word(tmp_path: Path, asked: str, other: str) -> None:
    person = Person(tmp_path / "home")
    log = f"Date: 2026-09-02\n\n- 🟡 {other}\n"
    person.put(log)
    person.recall("forget", asked, "--apply")
    assert person.log == log


def test_what_is_broken_over_two_lines_goes(tmp_path: Path) -> None:
    person = Person(tmp_path / "home")
    others = "- 🟡 Anna likes tea\n\nAnna\n- Meier the baker\n\nMeier\n\nAnna\n"
    person.put(f"Date: 2026-09-02\n\nSaw Anna\nMeier at noon\n\n{others}")
    logs = person.memory / "dream-logs"
    logs.mkdir()
    (logs / f"{DAY}.md").write_text("# Log\n\nNext: Anna\nMeier\n\n- Anna\n- Meier\n", "utf-8")
    assert person.recall("forget", "Anna", "Meier", "--apply").result["without_id"] == 2
    assert person.log == f"Date: 2026-09-02\n\n\n{others}"
    assert (logs / f"{DAY}.md").read_text("utf-8") == "# Log\n\n\n- Anna\n- Meier\n"


@pytest.mark.parametrize(
    ("said", "elsewhere"),
    [
        ("Anna's birthday is on 4 May", "Anna's birthday is on 4 May"),
        ("Anna's birthday is on 4 May", "Anna’s birthday is on 4 May"),
        ('The code of the door is "blue-42", isn\'t it?', "The code of the door is “blue-42”, isn’t it?"),
        ("The **code** of the door is blue", "The code of the door is blue"),
    ],
)
def test_the_same_words_go_where_no_id_stands_with_them(tmp_path: Path, said: str, elsewhere: str) -> None:
    person = Person(tmp_path / "home")
    person.put_with_ledger(
        f"Date: 2026-09-02\n\n- 🟡 10:00 {said} <!-- dc:type=fact dc:id=OBS-20260902-001 -->\n"
    )
    logs = person.memory / "dream-logs"
    logs.mkdir()
    (logs / f"{DAY}.md").write_text(f"# Log\n\n- {elsewhere}\n- kept\n", "utf-8")
    assert person.recall("forget", "OBS-20260902-001", "--apply").code == 0
    assert (logs / f"{DAY}.md").read_text("utf-8") == "# Log\n\n- kept\n"


@pytest.mark.parametrize(
    "said", ["Zo**ë** Brückner rents it", "*Zoë* Brü__ck__ner rents it", "Z`oë` ~~Brück~~ner rents it"]
)
def test_emphasis_within_a_word_hides_nothing(tmp_path: Path, said: str) -> None:
    person = Person(tmp_path / "home")
    person.put_with_ledger(LOG.replace(TEXTS[CAT], said))
    assert person.recall("forget", "Zoë", "Brückner", "--apply").result["observations"] == 1
    assert person.holding("rents it") == []
    assert TEXTS[TUNA] in person.log


def test_words_in_metadata_that_is_not_ours_are_found(tmp_path: Path) -> None:
    person = Person(tmp_path / "home")
    mark = f"dc:id={CAT} "
    person.put_with_ledger(LOG.replace(mark, f"dc:sender=Quirinus dc:source=Waldemar {mark}"))
    for word in ("fact", "type", "dc", "sender"):
        assert person.recall("forget", word).result["observations"] == 0, word
    assert [one["id"] for one in person.recall("forget", "Waldemar").result["items"]] == [CAT]
    assert person.recall("forget", "Quirinus", "--apply").result["observations"] == 1
    assert person.holding("Quirinus", TEXTS[CAT]) == []
    assert TEXTS[TUNA] in person.log


# Every file ----------------------------------------------------------------------------------------------------------


def test_what_a_killed_approval_left_beside_a_target_goes(person: Person) -> None:
    left = person.workspace / "MEMORY.md.total-recall-tmp"
    left.write_text("- Miso likes the garden\n", "utf-8")
    person.recall("forget", "Miso", "--apply")
    assert not left.exists()
    assert person.holding("Miso") == OTHERS


def test_what_lost_the_form_of_a_proposal_loses_only_its_lines(person: Person) -> None:
    path = person.memory / "dream-staging" / "20261130-033002-fact.md"
    path.write_text("my notes\nMiso is the cat\nthe bicycle is blue\n", "utf-8")
    person.recall("forget", "Miso", "--apply")
    assert path.read_text("utf-8") == "my notes\nthe bicycle is blue\n"


def test_no_row_of_the_ledger_keeps_a_hash_of_what_was_forgotten(person: Person) -> None:
    path = person.memory / ".total-recall" / "ledger.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert any("sha" in row for row in rows if row.get("id") == BICYCLE)
    person.recall("forget", BICYCLE, "--apply")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert not any({"sha", "fp", "line"} & set(row) for row in rows if row.get("id") == BICYCLE)
    assert any("sha" in row for row in rows)


def test_what_was_typed_instead_of_an_id_is_in_no_log(person: Person) -> None:
    for command in ("show", "explain", "restore"):
        ended = person.recall(command, "Zebulon Smith")
        assert (ended.code, ended.result["error"]["code"]) == (2, "usage")
    assert "zebulon" not in person.file("logs/recall.log").lower()


OUR_FOLDERS = (
    "memory",
    "memory/archive/observations",
    "memory/archive/chunks",
    "memory/archive/reflections",
    "memory/dream-logs",
    "memory/dream-staging",
    "memory/dream-staging/rejected",
    "memory/observation-backups",
    "memory/.dream-backups",
    "memory/.total-recall",
    "memory/.total-recall/markers",
    "research/dream-cycle-metrics",
    "logs",
)


@pytest.mark.parametrize("folder", OUR_FOLDERS)
def test_a_folder_of_ours_that_cannot_be_listed_stops_it_before_anything_is_written(
    told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    person = Person(tmp_path / "home", {"DREAM_PHASE": "2"})
    shutil.copytree(told, person.folder, dirs_exist_ok=True)
    assert (person.workspace / folder).is_dir()
    before = snapshot(person)
    refuse(monkeypatch, "scandir", person.workspace / folder)
    for flags in ((), ("--apply",)):
        ended = person.recall("forget", NAME, *flags)
        assert (ended.code, ended.result["error"]["code"]) == (1, "storage"), flags
        assert "cannot be listed: Permission denied" in ended.result["error"]["message"]
    monkeypatch.undo()
    assert snapshot(person) == before
    assert person.recall("forget", NAME, "--apply").result["reason"] == "forgotten"
    assert person.holding(NAME) == sorted(MEANT)


def test_a_file_of_ours_that_cannot_be_looked_at_stops_it_too(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(person)
    refuse(monkeypatch, "lstat", person.workspace / ARCHIVE)
    assert person.recall("forget", "Miso", "--apply").result["error"]["code"] == "storage"
    monkeypatch.undo()
    assert snapshot(person) == before


# Killed, and beside others -------------------------------------------------------------------------------------------


def test_killed_right_after_it_was_begun_it_is_finished_with_its_tombstones(person: Person) -> None:
    with mock.patch("_forget.carry.bury", side_effect=KeyboardInterrupt):
        assert person.recall("forget", "Miso", "--apply").code == 130
    assert not (person.memory / ".total-recall" / "tombstones.json").exists()
    person.night("account")
    assert person.holding("Miso") == OTHERS
    found = json.loads(person.file("memory/.total-recall/tombstones.json"))
    assert sum("asked" in stone for stone in found["stones"]) == 1
    assert sum("marks" in stone for stone in found["stones"]) >= 3


def test_a_process_killed_at_any_moment_leaves_nothing_half_done(tmp_path: Path) -> None:
    """SIGKILL at the nth system call that changes a file."""
    whole = a_person(tmp_path / "whole")
    undone = snapshot(whole)
    for number in range(1, 60, 4):
        person = Person(tmp_path / str(number), {"DREAM_PHASE": "2"})
        shutil.rmtree(person.folder)
        shutil.copytree(whole.folder, person.folder)
        kill = (
            "import os, signal, sys; sys.path.insert(0, sys.argv[1]); left = [int(sys.argv[2])]\n"
            "def dying(real):\n"
            "    def call(*args, **named):\n"
            "        left[0] -= 1\n"
            "        left[0] or os.kill(os.getpid(), signal.SIGKILL)\n"
            "        return real(*args, **named)\n"
            "    return call\n"
            "for name in ('replace', 'unlink', 'write', 'fsync'): setattr(os, name, dying(getattr(os, name)))\n"
            "import recall; sys.exit(recall.main(sys.argv[3:]))\n"
        )
        argv = ["forget", "Miso", "--apply", "--now", iso(MORNING)]
        command = [sys.executable, "-c", kill, str(SCRIPTS), str(number), *argv]
        code = subprocess.run(command, env=person.environ, capture_output=True, timeout=60).returncode
        begun = (person.memory / ".total-recall" / "forgetting.json").exists()
        after = {name: data for name, data in snapshot(person).items() if not name.endswith("-tmp")}
        person.night("account")
        if code == 0 or begun or after != undone:
            assert person.holding("Miso") == OTHERS, number
        assert not (person.memory / ".total-recall" / "forgetting.json").exists()
        person.account()
        if code == 0:
            break


def test_what_changes_while_it_is_looked_for_is_looked_at_again(person: Person) -> None:
    """Looking is done before the memory lock is taken."""
    path = person.memory / "archive" / "observations" / "2025-01-01.md"

    def add(*_: object) -> None:
        path.write_text(BARE.replace("shell", "Miso"), "utf-8")

    with mock.patch("_forget.command.finish_unfinished", side_effect=add):
        assert person.recall("forget", "Miso", "--apply").result["reason"] == "forgotten"
    assert person.holding("Miso") == OTHERS
    assert "OBS-20250101-002" in path.read_text("utf-8")


def test_a_night_that_asks_a_model_meanwhile_brings_nothing_back(tmp_path: Path) -> None:
    person = Person(tmp_path / "home", {"DREAM_PHASE": "2"})
    person.put_with_ledger(LOG)
    asked = []

    def forgetting(request: fake_model.Request) -> fake_model.Reply:
        if not asked:
            asked.append(request)
            assert person.call_recall("forget", "Miso", "--apply").code == 0
        shown = re.findall(r"(?m)^(\d+)\. ", request.prompt)
        return fake_model.says("\n".join(f"{number}. pet called Miso | tomcat" for number in shown))

    with fake_model.FakeModel(forgetting) as server:
        person.model(server)
        assert person.night("run").code == 0
    assert asked and person.holding("Miso") == []
    person.account()


def test_a_reflection_that_asks_a_model_meanwhile_brings_nothing_back(tmp_path: Path) -> None:
    person = Person(tmp_path / "home")
    person.put_with_ledger(LOG)
    asked = []

    def forgetting(request: fake_model.Request) -> fake_model.Reply:
        asked.append(request)
        assert person.call_recall("forget", "Miso", "--apply").code == 0
        shown = re.findall(r"(?m)^(\d+)\. \[", request.prompt)
        return fake_model.says(f"MERGE {' '.join(shown[:2])}: The cat is called Miso and eats tuna")

    with fake_model.FakeModel(forgetting) as server:
        person.model(server)
        person.reflect("--force")
    assert asked and person.holding("Miso") == []
    person.account()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_heading_keeps_its_marks_for_what_stands_below_it(tmp_path: Path, end: str) -> None:
    person = Person(tmp_path / "home")
    notes = "### Zorbian notes\n\n- plain remark one\n- plain remark two\n"
    log = LOG.replace("A remark of mine\n", notes).replace("\n", end)
    person.put_with_ledger(log)
    ended = person.recall("forget", "Zorbian", "--apply")
    assert (ended.code, ended.result["without_id"]) == (0, 1)
    assert person.raw == log.replace("### Zorbian notes", "### …")
    assert person.recall("forget", "Zorbian", "--apply").result["files"] == 0
    assert person.night("run").code == 0
    assert "- plain remark one" in person.log and "remark" not in person.file(ARCHIVE)
    person.account()


# Only what was asked for ---------------------------------------------------------------------------------------------


def chunked_by_the_night(tmp_path: Path) -> "tuple[Person, str]":
    """A memory after a whole night, and the id of its chunk, which says in the words of BASKET what three said."""
    person = Person(tmp_path / "home", {"DREAM_PHASE": "2"})
    person.put_with_ledger(LOG)
    assert person.night("run").code == 0
    assert TEXTS[BASKET] in person.file(CHUNKS)
    return person, "CHUNK-20261130-001"


@pytest.mark.parametrize(
    ("wanted", "gone", "left"),
    [
        (CAT, CAT, [TUNA, BASKET]),
        (BASKET, BASKET, [CAT, TUNA]),
        ("tuna", TUNA, [CAT, BASKET]),
    ],
)
def test_a_chunk_in_the_words_of_another_source_takes_no_other_source_along(
    tmp_path: Path, wanted: str, gone: str, left: "list[str]"
) -> None:
    person, name = chunked_by_the_night(tmp_path)
    ended = person.recall("forget", wanted, "--apply")
    assert (ended.result["observations"], ended.result["kept_in_archive"]) == (1, left)
    assert person.holding(TEXTS[gone]) == []
    assert name not in person.log and name not in person.file(ARCHIVE)
    assert person.account()["archived"] == 4 and person.account()["forgotten"] == 1
    for one in left:
        assert TEXTS[one] in person.file(ARCHIVE)
        found = person.recall("search", TEXTS[one]).result["results"][0]
        assert (found["id"], found["reason"]) == (one, "what it went into is forgotten")
        assert person.recall("explain", one).result["state"] == "archived"
        assert '"fp"' in "".join(row for row in ledger_rows(person) if one in row)
        assert person.night("restore", one).code == 0


def test_what_says_the_same_as_a_forgotten_part_takes_no_other_part_along(tmp_path: Path) -> None:
    """The line that is asked for is one thing, its copy in the archive another, which went into a chunk."""
    person, _name = chunked_by_the_night(tmp_path)
    again = "- 🟡 21:00 The cat Miso sleeps in the blue basket <!-- dc:type=fact dc:id=OBS-20261129-002 -->\n"
    person.put(person.log + again)
    assert person.night("account", "--accept").code == 0
    ended = person.recall("forget", "OBS-20261129-002", "--apply")
    assert (ended.result["observations"], ended.result["kept_in_archive"]) == (2, [CAT, TUNA])
    assert person.holding("blue basket") == []
    person.account()


def test_a_merged_line_in_the_words_of_its_other_part_leaves_that_part(tmp_path: Path) -> None:
    person = Person(tmp_path / "home")
    merged_by_a_model(person, "The boiler cost 240 euros")
    ended = person.recall("forget", "OBS-20260902-001", "--apply")
    assert ended.result["kept_in_archive"] == ["OBS-20260902-002"]
    assert person.holding("Rui") == []
    assert person.recall("restore", "OBS-20260902-002").code == 0
    assert "The boiler cost 240 euros" in person.log


@pytest.mark.parametrize("wanted", [[CAT], ["called", "Miso"]])
def test_an_item_of_which_only_the_hook_or_the_reason_is_about_it_stays(
    tmp_path: Path, wanted: "list[str]"
) -> None:
    person = Person(tmp_path / "home", {"DREAM_PHASE": "1"}).begun()
    said = "the cat is called Miso"
    payload = [item(BICYCLE, archived_reason=f"Since {said}", hooks=[said, "two wheels"]), item(CANTEEN)]
    assert person.night("archive", ARCHIVE, payload={"items": payload}).code == 0
    assert person.redraft(without(person.log, BICYCLE, CANTEEN)).code == 0
    assert person.recall("forget", *wanted, "--apply").result["observations"] == 1
    assert person.holding("called Miso") == []
    kept = person.file(ARCHIVE)
    assert "**Archived reason**: not told any more\n" in kept and "- two wheels\n" in kept
    assert person.recall("search", "two wheels").result["results"][0]["id"] == BICYCLE
    person.account()


# No trace ------------------------------------------------------------------------------------------------------------


def ledger_rows(person: Person) -> "list[str]":
    return person.file("memory/.total-recall/ledger.jsonl").splitlines()


def test_the_ledger_keeps_no_reason_that_an_agent_gave(tmp_path: Path) -> None:
    person = Person(tmp_path / "home", {"DREAM_PHASE": "1"}).begun()
    payload = [
        item(BICYCLE, archived_reason="Zebulon stole it"),
        item(CANTEEN, archived_reason="closed down"),
    ]
    assert person.night("archive", ARCHIVE, payload={"items": payload}).code == 0
    assert person.redraft(without(person.log, BICYCLE, CANTEEN)).code == 0
    assert any("Zebulon" in row for row in ledger_rows(person))
    person.recall("forget", BICYCLE, "--apply")
    assert person.holding("Zebulon") == []
    assert any("closed down" in row for row in ledger_rows(person))
    assert any('"why":"asked for"' in row for row in ledger_rows(person))


def test_what_a_rehearsal_notes_under_a_forgotten_id_goes(tmp_path: Path) -> None:
    person = Person(tmp_path / "home", {"READ_ONLY_MODE": "true", "DREAM_PHASE": "1"}).begun()
    payload = [item(BICYCLE, hooks=["Zebulon"]), item(CANTEEN, hooks=["lunch"])]
    assert person.night("archive", ARCHIVE, payload={"items": payload}).code == 0
    assert person.holding("Zebulon") != []
    person.recall("forget", BICYCLE, "--apply")
    (path,) = person.memory.glob(".dream-backups/*/rehearsal.json")
    found = json.loads(path.read_text("utf-8"))
    assert found["hooks"] == {CANTEEN: ["lunch"]} and list(found["archived"]) == [CANTEEN]


def test_objects_about_a_forgotten_id_go_as_a_whole() -> None:
    order = Order(frozenset({CAT, "CHUNK-20261130-001"}))
    told = {
        "items": [{"id": CAT, "note": "its name"}, {"id": TUNA, "note": "fish"}],
        "chunks": [{"source_ids": [TUNA, CAT], "topic": "pets"}, {"source_ids": [TUNA], "topic": "food"}],
        "into": {TUNA: "CHUNK-20261130-001", BASKET: "CHUNK-20261130-002"},
        CAT: "its name",
    }
    assert json.loads(values(json.dumps(told), order) or "") == {
        "items": [{"id": TUNA, "note": "fish"}],
        "chunks": [{"source_ids": [TUNA], "topic": "food"}],
        "into": {BASKET: "CHUNK-20261130-002"},
    }
    assert values(json.dumps({"id": CAT, "note": "its name"}), order) is None


@pytest.mark.parametrize("name", [PROPOSAL, PROPOSAL.replace(".md", ".approved.md"), f"rejected/{PROPOSAL}"])
@pytest.mark.parametrize("wanted", [[BICYCLE], ["Porto"]])
@pytest.mark.parametrize("supporting", [BICYCLE, "3"])
def test_a_proposal_that_nothing_else_supports_goes(
    tmp_path: Path, name: str, wanted: "list[str]", supporting: str
) -> None:
    person = Person(tmp_path / "home")
    person.put_with_ledger(LOG)
    path = person.memory / "dream-staging" / name
    path.parent.mkdir(parents=True)
    said = Evidence("2026-09-01", "Bought a blue bicycle at the market in Porto", BICYCLE)
    ride = Proposal("2026-11-30", "fact", "MEMORY.md", "low", "Two wheels", "- Cycles", (said,), supporting)
    also = replace(ride, evidence=(said, Evidence("2026-09-02", "The cat is called Miso", CAT)))
    path.write_text(render_proposal(ride), "utf-8")
    other = path.with_name(path.name.replace("033000", "033009"))
    other.write_text(render_proposal(also), "utf-8")
    never = path.with_name(path.name.replace("033000", "033008"))
    never.write_text(render_proposal(replace(ride, evidence=(), supporting="0")), "utf-8")
    person.recall("forget", *wanted, "--apply")
    assert not path.exists()
    assert "The cat is called Miso" in other.read_text("utf-8")
    assert never.exists()  # nothing of it is forgotten


@pytest.mark.parametrize(
    ("name", "content", "left"),
    [
        (
            "markers/1764500000000-ab.json",
            {"event": "command:new", "session_file": "/x/blue bicycle.jsonl", "at_ms": 1},
            {"event": "command:new", "session_file": "", "at_ms": 1},
        ),
        (
            "markers/1764500000000-ab.taken",
            {"session_key": "blue:bicycle", "session_id": "s"},
            {"session_key": "", "session_id": "s"},
        ),
        ("later/index.json", {"lines": ["A blue bicycle"]}, None),
        ("later/state.json", {"lines": ["A blue bicycle"]}, None),
        ("later/red.json", {"lines": ["A red bicycle"]}, {"lines": ["A red bicycle"]}),
    ],
)
def test_folders_below_ours_are_looked_at(
    tmp_path: Path, name: str, content: "dict[str, object]", left: "dict[str, object] | None"
) -> None:
    person = Person(tmp_path / "home")
    person.put_with_ledger(LOG)
    path = person.memory / ".total-recall" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")
    person.recall("forget", "blue", "bicycle", "--apply")
    assert (json.loads(path.read_text("utf-8")) if path.exists() else None) == left


@pytest.mark.parametrize(
    ("line", "stays"),
    [
        (
            "a bicycle, blue, bought in Porto at the market?",
            False,
        ),  # all that tells something, in another order
        ("Two wheels", False),  # a hook
        ("Paid 90 euros for it in cash", False),  # a line below it
        ("Ask about the bicycle from Porto", True),  # other words: nobody could tell
        ("Two wheels of cheese", True),
        (f"{CAT}: bought the blue bicycle in Porto, at its market", True),  # it is about another
    ],
)
def test_notes_of_an_agent_go_that_quote_it_without_its_id(tmp_path: Path, line: str, stays: bool) -> None:
    person = Person(tmp_path / "home", {"DREAM_PHASE": "1"})
    first, _, rest = LOG.partition("- 🟢 09:10")
    person.begun(f"{first}  - Paid 90 euros for it in cash\n- 🟢 09:10{rest}")
    payload = [
        item(BICYCLE, full_text=TEXTS[BICYCLE] + "\n  - Paid 90 euros for it in cash", hooks=["Two wheels"])
    ]
    assert person.night("archive", ARCHIVE, payload={"items": payload}).code == 0
    told = {"date": DAY, "flagged_for_review": [line], "next_steps": [line], "hooks": [line]}
    assert person.night("write-log", f"memory/dream-logs/{DAY}.md", payload=told).code == 0
    person.recall("forget", BICYCLE, "--apply")
    assert person.file(f"memory/dream-logs/{DAY}.md").count(line) == (3 if stays else 0)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return told_everywhere(tmp_path_factory.mktemp("told") / "home").folder


@pytest.mark.parametrize("wanted", [[WHO], [NAME], [NAME, "Quill*"]])
def test_whatever_way_it_went_no_file_has_it_afterwards(
    tmp_path: Path, told: Path, wanted: "list[str]"
) -> None:
    person = Person(tmp_path / "home", {"DREAM_PHASE": "2"})
    shutil.copytree(told, person.folder, dirs_exist_ok=True)
    shown = person.recall("forget", *wanted).result
    assert shown["not_changed"].keys() == MEANT.keys()
    ended = person.recall("forget", *wanted, "--apply")
    assert (ended.code, ended.result["reason"]) == (0, "forgotten")
    assert person.holding(NAME) == sorted(MEANT)
    assert ended.result["not_changed"].keys() == MEANT.keys()
    # What was not asked for is all there, and can be found.
    assert person.account()["forgotten"] == 1
    for one in (TUNA, BASKET):
        assert person.recall("search", TEXTS[one]).result["results"][0]["id"] == one
    staging = person.memory / "dream-staging"
    assert len(list(staging.rglob("20261130-033002*.md"))) == len(list(staging.rglob("*.md"))) == 3
    assert person.recall("forget", *wanted, "--apply").result["files"] == 0


def test_what_was_approved_because_of_it_is_told(tmp_path: Path) -> None:
    """Its words are others, but the proposal says that they came of it."""
    person = Person(tmp_path / "home")
    person.put_with_ledger(LOG)
    staging = person.memory / "dream-staging"
    staging.mkdir()
    said = Evidence("2026-09-01", "Bought a blue bicycle at the market in Porto", BICYCLE)
    cat = Evidence("2026-09-02", "The cat is called Miso", CAT)
    ride = Proposal(
        "2026-11-30", "fact", "MEMORY.md", "low", "Rides", "- Cycles\n- Has a pet", (said,), BICYCLE
    )
    pet = replace(ride, summary="A pet", text="- Has a pet", evidence=(said, cat), supporting=CAT)
    (staging / PROPOSAL.replace(".md", ".approved.md")).write_text(render_proposal(ride), "utf-8")
    (staging / PROPOSAL).write_text(render_proposal(pet), "utf-8")
    (person.workspace / "MEMORY.md").write_text("- Has a pet\n- Cycles\n- Cycles to work\n", "utf-8")
    assert person.recall("forget", BICYCLE).result["not_changed"] == {"MEMORY.md": 1}
    assert person.recall("forget", BICYCLE, "--apply").result["not_changed"] == {"MEMORY.md": 1}
    assert [path.name for path in staging.glob("*.md")] == [PROPOSAL]
