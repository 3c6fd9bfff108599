"""What people do to memory between the commands of a night, and what must not reach the log of the runs."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest

from dream_testing import ARCHIVE, BICYCLE, CANTEEN, DAY, DRAFT, LOG, NIGHT, Dream, item
from forget_testing import a_person

RUNS = "logs/dream-cycle.log"


@pytest.fixture
def memory(tmp_path: Path) -> Dream:
    found = Dream(tmp_path / "home")
    found.put(LOG)
    return found


def test_a_line_deleted_by_hand_between_two_runs_does_not_undo_the_night(memory: Dream) -> None:
    assert memory.night("run", "--deadline", "0").result["reason"] == "out_of_time"
    memory.put("".join(line for line in memory.raw.splitlines(keepends=True) if CANTEEN not in line))
    ended = memory.night("run", now=NIGHT + timedelta(hours=1))
    assert (ended.code, ended.result["reason"], ended.result["deleted_by_hand"]) == (0, "done", 1)
    assert memory.night("account").code == 0


def test_of_two_that_say_the_same_the_one_that_a_person_deletes_stays_deleted(memory: Dream) -> None:
    fields = "dc:type=fact dc:importance=5 dc:date=2026-09-02 dc:id=OBS-20260902-009"
    twin = f"- 🟡 10:00 The cat is called Miso <!-- {fields} -->\n"
    memory.put(LOG.replace("Date: 2026-11-29", twin + "\nDate: 2026-11-29"))
    assert memory.night("preflight").code == 0
    draft = memory.file(DRAFT)
    memory.put(memory.raw.replace(twin, ""))
    assert memory.redraft(draft).code == 0
    assert memory.raw.count("The cat is called Miso") == 1 and "OBS-20260902-009" not in memory.raw


def test_a_page_of_a_persons_own_in_the_archive_is_no_observation(memory: Dream) -> None:
    assert memory.night("run").code == 0
    own = memory.memory / "archive" / "observations" / "README.md"
    for day, title in enumerate(("How I sort this", "How I sorted this"), start=1):
        own.write_text(f"# Mine\n\n## {title}\n\nBy hand\n", "utf-8")
        assert memory.night("run", now=NIGHT + timedelta(days=day)).code == 0
    assert memory.night("account", now=NIGHT + timedelta(days=2)).code == 0


def test_what_was_forgotten_and_lies_in_the_archive_again_is_told(tmp_path: Path) -> None:
    person = a_person(tmp_path / "home")
    before = person.file(ARCHIVE)
    assert person.recall("forget", BICYCLE, "--apply").code == 0
    (person.workspace / ARCHIVE).write_text(before, "utf-8")
    ended = person.night("account")
    assert ended.code == 6 and "forgotten_there" in ended.result["error"]["message"]
    assert "recall.py forget" in ended.result["error"]["hint"]
    assert person.recall("forget", BICYCLE, "--apply").code == 0
    assert person.night("account").code == 0


def test_an_archive_that_cannot_be_listed_is_no_empty_one(
    memory: Dream, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert memory.night("run").code == 0
    real = os.scandir

    def refused(path: str = ".") -> "object":
        if str(path).endswith("archive/observations"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refused)
        ended = memory.night("account", now=NIGHT + timedelta(hours=5))
    assert ended.code == 1 and "cannot be listed" in ended.result["error"]["message"]
    assert memory.night("account", now=NIGHT + timedelta(hours=5)).code == 0


def test_a_ledger_that_is_older_than_the_archive_finds_what_lies_there(memory: Dream) -> None:
    assert memory.night("preflight").code == 0
    ledger = memory.memory / ".total-recall" / "ledger.jsonl"
    before = ledger.read_bytes()
    assert memory.night("run").code == 0
    ledger.write_bytes(before)
    ended = memory.night("run", now=NIGHT + timedelta(days=1))
    assert (ended.code, ended.result["deleted_by_hand"]) == (0, 0)
    assert memory.night("account", now=NIGHT + timedelta(days=1)).result["archived"] >= 5


@pytest.mark.parametrize("write", [lambda text: text[:20], lambda text: "[]", lambda text: '{"archived": 5}'])
def test_a_damaged_note_of_a_rehearsal_is_no_night_in_which_nothing_left(
    memory: Dream, write: "object"
) -> None:
    assert callable(write)
    assert memory.night("preflight", READ_ONLY_MODE="true").code == 0
    assert memory.night("archive", ARCHIVE, payload=[item(BICYCLE)], READ_ONLY_MODE="true").code == 0
    (noted,) = (memory.memory / ".dream-backups").glob("2*/rehearsal.json")
    noted.write_text(write(noted.read_text("utf-8")), "utf-8")
    ended = memory.night("validate", READ_ONLY_MODE="true")
    assert ended.code == 1 and "damaged" in ended.result["error"]["message"]


def test_what_stands_in_the_place_of_a_path_is_not_logged(memory: Dream) -> None:
    assert memory.night("preflight").code == 0
    payload = json.dumps({"items": [item(BICYCLE)]})
    assert memory.night("archive", payload, ARCHIVE).code == 6
    assert memory.night("update-observations", "Anna Meier has a tumour").code == 6
    assert memory.night("write-staging", "Anna Meier has a tumour", payload={}).code in (2, 6)
    told = memory.night("archive", "memory/archive/observations/../x.md", payload=[]).result["error"][
        "message"
    ]
    assert "../x.md" in told
    assert "bicycle" not in memory.file(RUNS) and "Meier" not in memory.file(RUNS)


def test_what_a_draft_names_as_its_sources_is_not_logged(memory: Dream) -> None:
    assert memory.night("preflight").code == 0
    line = "- 🟡 10:00 x y z <!-- dc:from=Anna_Meier_has_a_tumour,OBS-20260901-001 dc:importance=5 -->\n"
    ended = memory.redraft(memory.raw + line)
    assert ended.code == 6 and "OBS-20260901-001" in ended.result["error"]["message"]
    assert "Meier" not in memory.file(RUNS)


def test_a_hook_line_that_led_nowhere_before_a_night_does_not_undo_it(memory: Dream) -> None:
    hook = "- **Flight**: booked. [ref: archive/observations/2026-01-02.md#OBS-20260902-004]\n"
    memory.put(LOG.replace("Date: 2026-11-29", f"{hook}\nDate: 2026-11-29"))
    assert memory.night("run").result["reason"] == "done"


def test_no_line_gets_an_id_that_a_hook_line_of_another_edition_names(memory: Dream) -> None:
    hook = "- **Boat**: sold. [ref: archive/observations/2026-01-02.md#OBS-20260902-007]\n"
    memory.put(
        LOG.replace("Date: 2026-11-29", f"- 🟡 10:30 The boat was painted\n\n{hook}\nDate: 2026-11-29")
    )
    assert memory.night("run").code == 0
    assert "OBS-20260902-008" in memory.file("memory/.total-recall/ledger.jsonl")


def test_a_night_tells_that_its_model_failed(memory: Dream) -> None:
    gone = {"LLM_PROVIDER": "openai", "LLM_BASE_URL": "http://127.0.0.1:9/v1", "LLM_MODEL": "x"}
    ended = memory.night("run", DREAM_PHASE="2", LLM_API_KEY="k" * 20, **gone)
    assert ended.code == 0 and ended.result["model_failed"]
    assert "no model helped any more" in memory.file(f"memory/dream-logs/{DAY}.md")
