# ruff: noqa: E501 (lines of a log are long)
"""rollback: exactly the bytes of preflight, and nothing that others did in between is lost."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from _archive import Archived, block_for, render_archived
from _ledger import sha_of
from _observations import parse_log
from _state import Filing, Places, file_away
from dream_testing import (
    ARCHIVE,
    BASKET,
    BICYCLE,
    CANTEEN,
    CAT,
    CHUNKS,
    DAY,
    FLIGHT,
    HOOK,
    LOG,
    NIGHT,
    OBSERVED,
    RULE,
    TUNA,
    Dream,
    chunk,
    item,
    without,
)

OLD_ARCHIVE = (
    "# Archived\n\nMine\n\n## OBS-20260101-001\n\n**Original date**: 2026-01-01\n\nSold the boat\n\n---\n"
)


@pytest.fixture
def dream(tmp_path: Path) -> Dream:
    """A memory with an archive of the same day, and a whole night done to it."""
    dream = Dream(tmp_path / "home")
    dream.put(LOG.encode() + b"\xff\xfe\n")
    (dream.memory / "archive" / "observations").mkdir(parents=True)
    (dream.workspace / ARCHIVE).write_text(OLD_ARCHIVE)
    dream.night("preflight")
    dream.night(
        "archive", ARCHIVE, payload=[item(BICYCLE), item(CANTEEN), item(CAT), item(TUNA), item(BASKET)]
    )
    dream.night("chunk", CHUNKS, payload=chunk())
    assert dream.redraft(without(dream.raw, BICYCLE, CANTEEN, CAT, TUNA, BASKET) + HOOK + "\n").code == 0
    return dream


def undo(dream: Dream) -> "dict[str, Any]":
    ended = dream.night("rollback")
    assert ended.code == 0, ended.result
    return ended.result


def test_rollback_restores_the_bytes_of_preflight(dream: Dream) -> None:
    told = undo(dream)
    assert (dream.memory / "observations.md").read_bytes() == LOG.encode() + b"\xff\xfe\n"
    assert dream.file(ARCHIVE) == OLD_ARCHIVE
    assert not (dream.workspace / CHUNKS).exists()
    assert (told["restored"], told["added_since"]) == (5, 0)
    assert "bicycle" in dream.brief and "[ref:" not in dream.brief
    assert {row["id"] for row in dream.ledger("restored")} == {BICYCLE, CANTEEN, CAT, TUNA, BASKET}
    assert not (dream.memory / ".total-recall" / "journal.json").exists()


def test_rollback_twice_is_rollback_once(dream: Dream) -> None:
    undo(dream)
    before = (dream.raw, dream.file(ARCHIVE), dream.rows("restored", "removed"))
    assert undo(dream)["reason"] == "already_undone"
    assert (dream.raw, dream.file(ARCHIVE), dream.rows("restored", "removed")) == before


def test_a_valid_night_can_be_undone_as_well(dream: Dream) -> None:
    assert dream.night("validate").code == 0
    undo(dream)
    assert dream.raw == LOG + "\udcff\udcfe\n"


def test_what_others_added_since_is_behind_the_bytes_of_preflight(dream: Dream) -> None:
    dream.put(dream.raw + f"\nDate: {DAY}\n\n{OBSERVED}\nMine, too\n")
    assert undo(dream)["added_since"] == 2
    assert dream.raw == LOG + f"\udcff\udcfe\n\nDate: {DAY}\n\n{OBSERVED}Mine, too\n"


def test_what_is_undone_is_kept_aside(dream: Dream) -> None:
    dream.put(dream.raw.replace("remark of mine", "remark of hers"))
    before = dream.raw
    run = undo(dream)["run"]
    assert dream.file(f"memory/.dream-backups/{run}/observations.md.undone") == before
    assert "CHUNK-20261130-001" in dream.file(f"memory/.dream-backups/{run}/archive__chunks__{DAY}.md.undone")
    assert "A remark of hers" in dream.raw and dream.raw.startswith(LOG)


def test_nothing_else_is_touched(dream: Dream) -> None:
    log = f"memory/dream-logs/{DAY}.md"
    dream.night("write-log", log, payload={"date": DAY, "status": "failed"})
    (dream.workspace / "MEMORY.md").write_text("mine")
    (dream.memory / "2026-11-30.md").write_text("the agent's")
    undo(dream)
    assert "failed" in dream.file(log)
    assert dream.file("MEMORY.md") == "mine" and dream.file("memory/2026-11-30.md") == "the agent's"


def test_a_night_after_midnight_is_undone_in_both_files(tmp_path: Path) -> None:
    dream = Dream(tmp_path / "home")
    dream.put(LOG)
    dream.night("preflight", now=NIGHT - timedelta(hours=4))
    dream.night("archive", ARCHIVE, payload=[item(BICYCLE)])
    dream.night("archive", ARCHIVE.replace("-30", "-29"), payload=[item(CANTEEN)])
    undo(dream)
    assert dream.file(ARCHIVE) == "" and dream.file(ARCHIVE.replace("-30", "-29")) == ""
    assert dream.raw == LOG


def test_merged_lines_go_and_what_the_reflector_archived_stays(tmp_path: Path) -> None:
    again = "- 🟡 The cat is called Miso <!-- dc:type=fact dc:importance=4 dc:id=OBS-20260903-001 -->\n"
    log = LOG.replace("Date: 2026-11-29", f"Date: 2026-09-03\n\n{again}\nDate: 2026-11-29")
    dream = Dream(tmp_path / "home").begun(log)
    merged = f"- 🟢 The cat Miso eats tuna on Fridays, sleeps in the blue basket <!-- dc:from={TUNA},{BASKET} -->\n"
    tuna = next(line for line in LOG.splitlines(keepends=True) if TUNA in line)
    assert dream.redraft(without(LOG, BASKET).replace(tuna, merged)).result["merged"] == 3
    late = "- 🟢 Had a queue <!-- dc:type=context dc:importance=2 dc:date=2026-09-03 dc:id=OBS-20260903-002 -->\n"
    dream.put(dream.raw + "\nDate: 2026-09-03\n\n" + late)
    assert dream.reflect("--force", now=NIGHT).result["archived"] >= 1
    undo(dream)
    assert dream.raw == log
    assert [one.id for one in dream.archived()] == ["OBS-20260903-002"]
    assert ("removed", dream.ledger("observed")[-1]["id"]) in dream.rows("removed")


def test_a_log_that_was_not_there_goes_away_again(tmp_path: Path) -> None:
    dream = Dream(tmp_path / "home")
    dream.night("preflight")
    undo(dream)
    assert not (dream.memory / "observations.md").exists()


def test_a_snapshot_that_was_damaged_puts_nothing_back(dream: Dream) -> None:
    run = json.loads(dream.file("memory/.dream-backups/20261130-033000/manifest.json"))
    assert run["status"] == "open"
    (dream.memory / ".dream-backups" / "20261130-033000" / "observations.md.kept").write_text("else")
    before = (dream.raw, dream.file(ARCHIVE))
    ended = dream.night("rollback")
    assert (ended.code, ended.result["error"]["code"]) == (1, "storage")
    assert (dream.raw, dream.file(ARCHIVE)) == before


def test_without_a_night_there_is_nothing_to_undo(tmp_path: Path) -> None:
    assert Dream(tmp_path / "home").night("rollback").code == 6


def test_a_night_can_begin_again_after_a_rollback(dream: Dream) -> None:
    undo(dream)
    later = NIGHT + timedelta(minutes=20)
    assert dream.night("preflight", now=later).result["reason"] == "begun"
    assert dream.night("archive", ARCHIVE, payload=[item(BICYCLE)], now=later).result["written"] == 1
    assert dream.redraft(without(dream.raw, BICYCLE), now=later).code == 0
    assert dream.night("validate", now=later).code == 0
    assert [event for event, name in dream.rows("archived", "restored") if name == BICYCLE] == [
        "archived",
        "restored",
        "archived",
    ]


# What others did since -----------------------------------------------------------------------------------------------


def test_what_the_reflector_made_of_lines_that_come_back_goes(tmp_path: Path) -> None:
    again = "- 🟡 10:15 The cat is called Miso, she is grey <!-- dc:type=fact dc:importance=5 dc:date=2026-09-02 dc:id=OBS-20260902-011 -->\n"
    log = LOG.replace("- 🟡 10:20", again + "- 🟡 10:20")
    dream = Dream(tmp_path / "home").begun(log)
    made = merged_by_the_reflector(
        dream, [CAT, "OBS-20260902-011"], "OBS-20260902-020", "The cat is called Miso, grey"
    )
    assert CAT not in dream.raw and made in dream.raw
    told = undo(dream)
    assert dream.raw == log
    assert (told["added_since"], told["deleted_since"]) == (0, [])
    assert dream.rows("removed")[-1] == ("removed", "OBS-20260902-020")
    assert dream.night("account").result["faults"] == []


def test_what_was_made_of_a_line_that_came_in_since_stays(tmp_path: Path) -> None:
    dream = Dream(tmp_path / "home").begun()
    late = OBSERVED.replace("OBS-20261130-001", "OBS-20261130-007")
    dream.put(dream.raw + f"\nDate: {DAY}\n\n{late}")
    made = merged_by_the_reflector(
        dream, [CAT, "OBS-20261130-007"], "OBS-20261130-020", "Miso is by the printer"
    )
    assert undo(dream)["added_since"] == 1
    assert made in dream.raw


def test_new_words_of_a_person_stay_and_deleted_lines_come_back_and_are_told(dream: Dream) -> None:
    lines = dream.raw.splitlines(keepends=True)
    flight = next(line for line in lines if FLIGHT in line)
    new = flight.replace("leaves on 14 February 2027", "leaves on 14 February 2027, seat 12A")
    dream.put("".join(new if line == flight else line for line in lines if RULE not in line))
    told = undo(dream)
    assert (told["reworded_since"], told["deleted_since"], told["added_since"]) == ([FLIGHT], [RULE], 0)
    assert dream.raw == LOG.replace(flight, new) + "\udcff\udcfe\n"


def test_a_line_whose_deletion_a_person_has_accepted_stays_deleted_and_is_told(dream: Dream) -> None:
    dream.put("".join(line for line in dream.raw.splitlines(keepends=True) if RULE not in line))
    assert dream.night("account", "--accept").code == 0
    told = undo(dream)
    assert (told["stays_deleted"], told["deleted_since"]) == ([RULE], [])
    assert dream.raw == without(LOG, RULE) + "\udcff\udcfe\n"
    assert RULE not in {name for _event, name in dream.rows("restored")}
    assert dream.night("account").result["faults"] == []


def test_a_changed_copy_of_a_line_with_its_id_does_not_take_its_place(dream: Dream) -> None:
    line = next(line for line in dream.raw.splitlines(keepends=True) if FLIGHT in line)
    copy = line.replace("14 February", "15 February")
    dream.put(dream.raw.replace(line, line + copy))
    told = undo(dream)
    assert (told["reworded_since"], told["added_since"]) == ([], 1)
    assert dream.raw == LOG + "\udcff\udcfe\n" + "\nDate: 2026-09-02\n\n" + copy


def test_a_line_that_another_date_line_stands_above_now_comes_back_once(tmp_path: Path) -> None:
    line = "- 🟡 The lamp is broken <!-- dc:type=event dc:importance=5 dc:id=OBS-20260901-001 -->\n"
    log = f"Date: 2026-09-01\n\n{line}"
    dream = Dream(tmp_path / "home").begun(log)
    dream.put(log.replace("Date: 2026-09-01", "Date: 2026-09-03").replace("=5", "=1"))
    assert undo(dream)["reworded_since"] == []
    assert dream.raw == log


def test_a_line_whose_time_a_person_has_corrected_keeps_it(dream: Dream) -> None:
    dream.put(dream.raw.replace("10:30 The flight", "10:45 The flight"))
    assert undo(dream)["reworded_since"] == [FLIGHT]
    assert dream.raw == LOG.replace("10:30 The flight", "10:45 The flight") + "\udcff\udcfe\n"


@pytest.mark.parametrize("days, argv, code", [(0, [], 0), (5, [], 6), (5, ["--force"], 0)])
def test_a_night_that_was_valid_on_an_earlier_day_is_undone_by_force_only(
    dream: Dream, days: int, argv: "list[str]", code: int
) -> None:
    assert dream.night("validate").code == 0
    before = (dream.raw, dream.file(ARCHIVE), dream.rows("restored"))
    ended = dream.night("rollback", *argv, now=NIGHT + timedelta(days=days))
    assert ended.code == code
    assert ((dream.raw, dream.file(ARCHIVE), dream.rows("restored")) == before) is (code != 0)


def test_a_night_that_is_still_open_is_undone_on_any_day(dream: Dream) -> None:
    assert dream.night("rollback", now=NIGHT + timedelta(days=5)).code == 0


# What came in, or was changed, and left again in the same night ------------------------------------------------------

TRAM = (
    "- 🟢 12:00 The tram was late <!-- dc:type=event dc:importance=1 dc:date=2026-11-20 dc:id=OBS-20261120-001 -->\n"
    "  - for the third time\n"
)
PHASE_2 = {"DREAM_PHASE": "2"}


@pytest.fixture
def night(tmp_path: Path) -> Dream:
    """A memory whose night has begun and done nothing yet."""
    dream = Dream(tmp_path / "home", PHASE_2)
    dream.put(LOG)
    assert dream.night("account", "--accept").code == 0
    assert dream.night("preflight").code == 0
    return dream


def is_whole(dream: Dream) -> None:
    ended = dream.night("account")
    assert (ended.code, ended.result["faults"]) == (0, [])


def line_of(name: str) -> str:
    return next(line for line in LOG.splitlines(keepends=True) if f"dc:id={name} " in line)


@pytest.mark.parametrize("has_ledger", [True, False])
def test_what_came_in_since_and_was_archived_comes_back(night: Dream, has_ledger: bool) -> None:
    night.put(LOG + f"\nDate: 2026-11-20\n\n{TRAM}")
    assert night.night("run").result["reason"] == "done"
    assert "tram" not in night.raw
    if not has_ledger:
        (night.memory / ".total-recall" / "ledger.jsonl").unlink()
    assert undo(night)["added_since"] == 1
    assert night.raw == LOG + f"\nDate: 2026-11-20\n\n{TRAM}"
    if has_ledger:
        assert ("restored", "OBS-20261120-001") in night.rows("restored")
        is_whole(night)
    assert night.night("run").result["reason"] == "done"
    is_whole(night)


def test_what_came_in_since_and_was_forgotten_does_not_come_back(night: Dream) -> None:
    night.put(LOG + f"\nDate: 2026-11-20\n\n{TRAM}")
    night.night("run")
    row = {"e": "forgotten", "at": "2026-11-30T03:40:00Z", "id": "OBS-20261120-001", "why": "deleted by hand"}
    with (night.memory / ".total-recall" / "ledger.jsonl").open("a") as ledger:
        ledger.write(json.dumps(row, separators=(",", ":")) + "\n")
    assert undo(night)["added_since"] == 0
    assert night.raw == LOG
    is_whole(night)


def test_what_a_person_wrote_below_a_line_that_was_archived_then_stays(night: Dream) -> None:
    new = line_of(BICYCLE) + "  - the frame number is 4711\n"
    night.put(LOG.replace(line_of(BICYCLE), new))
    assert night.night("run").result["reason"] == "done"
    assert undo(night)["reworded_since"] == [BICYCLE]
    assert night.raw == LOG.replace(line_of(BICYCLE), new)
    is_whole(night)


def test_of_two_versions_in_the_archive_the_one_that_left_comes_back(night: Dream) -> None:
    night.night("archive", ARCHIVE, payload=[phase_2(BICYCLE)])
    new = line_of(BICYCLE).replace("blue", "green")
    night.put(LOG.replace(line_of(BICYCLE), new))
    night.night("archive", ARCHIVE, payload=[phase_2(CANTEEN)])
    archived = night.file(ARCHIVE).replace("blue bicycle", "green bicycle")
    (night.workspace / ARCHIVE).write_text(night.file(ARCHIVE) + archived.split("\n\n", 1)[1])
    sha = sha_of(new.rstrip("\n"))
    row = {"e": "archived", "at": "2026-11-30T03:31:00Z", "id": BICYCLE, "in": ARCHIVE[7:], "sha": sha}
    with (night.memory / ".total-recall" / "ledger.jsonl").open("a") as ledger:
        ledger.write(json.dumps({**row, "night": "20261130-033000"}, separators=(",", ":")) + "\n")
    night.put(without(LOG, BICYCLE))
    undo(night)
    assert night.raw == LOG.replace(line_of(BICYCLE), new)


def test_what_a_reflection_took_away_in_other_words_comes_back_in_them(night: Dream) -> None:
    again = f"- 🟡 The cat is called Miso <!-- dc:type=fact dc:importance=4 dc:date=2026-09-02 dc:id={CAT[:-1]}9 -->\n"
    dream = night
    dream.put(LOG.replace("\nDate: 2026-11-29", f"{again}\nDate: 2026-11-29"))
    assert dream.night("rollback").code == 0 and dream.night("preflight").code == 0
    log = dream.raw
    twin = f"{CAT[:-1]}9"
    assert dream.redraft(without(log, twin)).result["merged"] == 1  # which keeps the file of reflections
    tuna = line_of(TUNA).replace("on Fridays", "on Fridays and Sundays")
    dream.put(dream.raw.replace(line_of(TUNA), tuna))
    merged_by_the_reflector(
        dream, [TUNA, BASKET], "OBS-20260902-020", "Miso eats tuna on Fridays and Sundays"
    )
    assert TUNA not in dream.raw
    undo(dream)
    assert dream.raw == log.replace(line_of(TUNA), tuna)
    is_whole(dream)


def test_a_copy_in_other_words_does_not_stand_for_a_line_that_left(night: Dream) -> None:
    night.night("archive", ARCHIVE, payload=[phase_2(BICYCLE)])
    copy = line_of(BICYCLE).replace("blue bicycle", "green bicycle")
    night.put(LOG + copy)
    assert night.redraft(without(LOG, BICYCLE)).result["archived"] == 1
    is_whole(night)  # the copy has an id of its own
    assert "green bicycle" in night.raw and BICYCLE not in night.raw
    assert undo(night)["reworded_since"] == []
    assert line_of(BICYCLE) in night.raw and "green bicycle" in night.raw
    is_whole(night)


@pytest.mark.parametrize("accepted", [False, True])
def test_a_line_typed_anew_with_the_id_of_one_that_left_stands_beside_it(
    night: Dream, accepted: bool
) -> None:
    night.night("archive", ARCHIVE, payload=[phase_2(BICYCLE)])
    assert night.redraft(without(LOG, BICYCLE)).code == 0
    night.put(night.raw + line_of(BICYCLE).replace("blue bicycle", "green bicycle"))
    if accepted:
        assert night.night("account", "--accept").code == 0
    undo(night)
    assert night.raw.startswith(LOG) and "green bicycle" in night.raw


def test_a_line_that_was_asked_back_and_reworded_is_there_once(night: Dream) -> None:
    night.night("archive", ARCHIVE, payload=[phase_2(BICYCLE)])
    assert night.redraft(without(LOG, BICYCLE)).code == 0
    assert night.night("restore", BICYCLE).code == 0
    night.put(night.raw.replace("blue bicycle", "green bicycle"))
    assert undo(night)["reworded_since"] == [BICYCLE]
    assert night.raw == LOG.replace("blue bicycle", "green bicycle")


def test_a_merged_line_that_was_archived_does_not_come_back(night: Dream) -> None:
    merged = f"- 🟢 The cat Miso eats tuna on Fridays, sleeps in the blue basket <!-- dc:from={TUNA},{BASKET} -->\n"
    assert night.redraft(without(LOG, BASKET).replace(line_of(TUNA), merged)).result["merged"] == 2
    assert night.night("run").result["reason"] == "done"
    undo(night)
    assert night.raw == LOG
    is_whole(night)


# What the manifest says ----------------------------------------------------------------------------------------------


def manifest(dream: Dream) -> Path:
    return dream.memory / ".dream-backups" / "20261130-033000" / "manifest.json"


@pytest.mark.parametrize(
    "name",
    [
        "../../../victim.txt",
        "../victim.txt",
        "/victim.txt",
        "archive/observations/../../../victim.txt",
        "archive/observations/victim.txt",
        "2026-11-30.md",
        ".total-recall/ledger.jsonl",
        f"archive//observations/{DAY}.md",
        "",
    ],
)
def test_a_manifest_names_no_file_but_those_that_a_night_keeps(dream: Dream, name: str) -> None:
    victims = [dream.workspace.parent / "victim.txt", dream.workspace / "victim.txt"]
    victims += [dream.memory / "archive" / "observations" / "victim.txt", dream.memory / "2026-11-30.md"]
    for victim in victims:
        victim.write_text("mine")
    told = json.loads(manifest(dream).read_text())
    manifest(dream).write_text(json.dumps({**told, "files": {**told["files"], name: None}}))
    before = (dream.raw, dream.file(ARCHIVE))
    ended = dream.night("rollback")
    assert (ended.code, ended.result["error"]["code"]) == (6, "refused")
    assert "manifest.json is damaged" in ended.result["error"]["message"]
    assert (dream.raw, dream.file(ARCHIVE)) == before
    assert all(victim.read_text() == "mine" for victim in victims)
    assert (dream.memory / ".total-recall" / "ledger.jsonl").exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"files": {}}', None])
def test_a_damaged_manifest_is_told_and_no_earlier_night_is_undone_for_it(
    dream: Dream, content: "bytes | None"
) -> None:
    assert dream.night("validate").code == 0
    later = NIGHT + timedelta(hours=1)
    assert dream.night("preflight", now=later).code == 0
    path = dream.memory / ".dream-backups" / "20261130-043000" / "manifest.json"
    told = json.loads(path.read_text())
    del told["files"]["observations.md"]
    path.write_bytes(json.dumps(told).encode() if content is None else content)
    before = dream.raw
    ended = dream.night("rollback", now=later)
    assert (ended.code, dream.raw) == (6, before)
    assert f"{path} is damaged" in ended.result["error"]["message"]
    assert dream.night("preflight", now=later).result["reason"] == "begun"
    assert path.exists() and dream.night("rollback", now=later).code == 0


def phase_2(name: str) -> "dict[str, Any]":
    """An item of the archive's payload in phase 2."""
    words = ["market purchase", "something with wheels", "getting about", "money spent"]
    return item(name, type="event", confidence=0.5, hooks=words)


def merged_by_the_reflector(dream: Dream, sources: "list[str]", name: str, text: str) -> str:
    """Commit what a reflection commits that makes one line of others; returns the line."""
    places = Places(dream.memory / "observations.md", dream.memory / ".total-recall")
    line = f"- 🟡 10:00 {text} <!-- dc:type=fact dc:importance=5 dc:date=2026-09-02 dc:id={name} -->"
    at, where = "2026-11-30T03:35:00Z", f"archive/reflections/{DAY}.md"
    log, entries = dream.raw, {one.observation.id: one for one in parse_log(dream.raw) if one.observation}
    items = [Archived(one, entries[one].raw, "2026-09-02", "merged", name) for one in sources]
    block = block_for(dream.memory / where, render_archived(items))
    rows = [{"e": "observed", "at": at, "id": name, "trigger": "reflection", "from_ids": sources}]
    rows += [{"e": "merged", "at": at, "id": one, "into": name, "in": where} for one in sources]
    new = without(log, *sources).replace("- 🟡 10:20", f"{line}\n- 🟡 10:20")
    file_away(places, Filing({where: block}, (log, new), tuple(rows)))
    return line
