"""dream_cycle.py run: the whole night without an agent, and restore, decay and plan as commands."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import dream_cycle
import fake_model
from _archive import ArchivedObservation, read_observations, read_records
from _errors import PayloadError, RefusedError
from _observations import estimate_tokens, parse_log
from _recall import read_corpus, search
from dream_testing import (
    ARCHIVE,
    BANK,
    BASKET,
    BICYCLE,
    CANTEEN,
    CAT,
    CHUNKS,
    DAY,
    DRAFT,
    FLIGHT,
    LOG,
    NIGHT,
    RULE,
    TUNA,
    item,
    without,
)
from fault_testing import snapshot
from night_testing import Night, six_months, staying_lines
from reflect_testing import PEOPLE, PLACES, SCRIPTS
from transcript_builders import SID, iso

GONE = (BICYCLE, CANTEEN, CAT, TUNA, BASKET)  # what a night takes out of LOG
PHASE_2 = {"DREAM_PHASE": "2"}
DREAM_LOG, METRICS = f"memory/dream-logs/{DAY}.md", f"research/dream-cycle-metrics/daily/{DAY}.json"


@pytest.fixture
def memory(tmp_path: Path) -> Night:
    made = Night(tmp_path / "home")
    made.put_with_ledger(LOG)
    return made


def ids_in(log: str) -> "list[str]":
    return [entry.observation.id for entry in parse_log(log) if entry.observation]


def hooks_in(log: str) -> "list[str]":
    return [entry.raw for entry in parse_log(log) if entry.kind == "hook"]


def metrics(memory: Night) -> "dict[str, Any]":
    found = json.loads(memory.file(METRICS))
    assert isinstance(found, dict)
    return found


def is_whole(memory: Night) -> "dict[str, Any]":
    """The account, which has no fault."""
    ended = memory.night("account")
    assert (ended.code, ended.result["faults"]) == (0, [])
    return ended.result


# A small night -------------------------------------------------------------------------------------------------------


def test_what_is_stale_goes_into_the_archive_and_the_rest_stays_to_the_byte(memory: Night) -> None:
    ended = memory.night("run")
    assert (ended.code, ended.result["status"], ended.result["reason"]) == (0, "ok", "done")
    assert ids_in(memory.log) == [RULE, FLIGHT, BANK]
    items = {item.id: item for item in read_observations(memory.file(ARCHIVE))}
    assert list(items) == [CANTEEN, BICYCLE, TUNA, BASKET, CAT]
    lines = LOG.splitlines()
    assert items[BICYCLE].text == next(line for line in lines if BICYCLE in line)
    assert (items[BICYCLE].date, items[BICYCLE].importance) == ("2026-09-01", 4.0)
    assert items[BICYCLE].reason == "impact low: stays 1 day, is 90 days old"
    assert all(len(item.hooks) == 1 for item in items.values())
    rest = re.sub(r"## Archived.*?\n\n(?:- .*\n)+\n", "", memory.log)
    assert rest == "".join(
        one for one in LOG.splitlines(keepends=True) if not any(name in one for name in GONE)
    )


@pytest.mark.parametrize(
    "line", ["Date: 2026-09-01 (first day at the new job)", "## Date: 2026-09-01 – moved"]
)
def test_what_a_person_wrote_behind_a_day_stays_when_all_of_that_day_leaves(
    tmp_path: Path, line: str
) -> None:
    memory = Night(tmp_path / "home")
    canteen = next(one for one in LOG.splitlines() if CANTEEN in one)
    memory.put_with_ledger(f"{line}\n\n{canteen}\n\nDate: 2026-09-02\n\n{canteen.replace('-002', '-004')}\n")
    assert memory.night("run").result["reason"] == "done"
    assert ids_in(memory.log) == []
    assert line in memory.log.splitlines() and "Date: 2026-09-02" not in memory.log


def test_as_many_leave_a_hook_line_as_still_make_the_log_smaller(memory: Night) -> None:
    memory.night("run")
    assert memory.log.count("## Archived (memory/archive holds the whole text)") == 1
    hooks = hooks_in(memory.log)
    assert hooks[0].endswith(
        f"**: The cat is called Miso (2026-09-02). [ref: archive/observations/{DAY}.md#{CAT}]"
    )
    assert hooks[0].startswith("- **Miso cat**: ")  # its own words, not the other words of its search phrase
    assert len(hooks) == 3 and "[ref: " not in memory.brief
    assert memory.brief.endswith(
        "\n- The cat Miso eats tuna on Fridays (2026-09-02). OBS-20260902-002\n</total-recall-brief>\n"
    )
    assert not any(CANTEEN in hook for hook in hooks)  # the lightest
    assert metrics(memory)["reduction_pct"] >= 10


@pytest.mark.parametrize(
    ("target", "lines"),
    # Half of what left; in a log with room for years as many as do not make it larger than it was.
    [("4000", 2), ("20000", 4)],
)
def test_where_little_left_there_are_few_hook_lines(memory: Night, target: str, lines: int) -> None:
    rules = "".join(
        f"- 🔴 11:00 Never sell painting {n} to Olga <!-- dc:type=rule dc:id=OBS-20260902-{n} -->\n"
        for n in range(100, 160)
    )
    memory.put_with_ledger(LOG.replace("Date: 2026-11-29\n", f"{rules}\nDate: 2026-11-29\n"))
    memory.night("run", DREAM_TOKEN_TARGET=target)
    assert len(hooks_in(memory.log)) == lines
    assert len(list(read_observations(memory.file(ARCHIVE)))) == 5
    figures = metrics(memory)
    assert figures["tokens_after"] <= figures["tokens_before"]


def test_what_is_said_many_times_leaves_one_hook_line(tmp_path: Path) -> None:
    memory = Night(tmp_path / "home")
    days = [f"2026-06-{day:02d}" for day in range(1, 29)]
    memory.put("".join(f"Date: {day}\n\n- Has a dog\n- Has  a dog\n- Plays the oboe\n\n" for day in days))
    memory.night("run")
    assert len(list(read_observations(memory.file(ARCHIVE)))) == 84
    assert [re.sub(r"^- \*\*.*?\*\*: | \(.*", "", line) for line in sorted(hooks_in(memory.log))] == [
        "Has a dog",
        "Plays the oboe",
    ]


def test_the_ledger_says_what_left_why_and_where_it_lies(memory: Night) -> None:
    memory.night("run")
    (row,) = [row for row in memory.ledger("archived") if row["id"] == CAT]
    assert row["why"] == "impact medium: stays 2 days, is 89 days old"
    assert (row["by"], row["in"]) == ("night", f"archive/observations/{DAY}.md")
    counts = is_whole(memory)
    assert [counts[name] for name in ("live", "merged", "archived", "chunked", "forgotten")] == [
        3,
        0,
        5,
        0,
        0,
    ]


def test_a_night_writes_its_log_and_metrics(memory: Night) -> None:
    memory.night("run")
    told = metrics(memory)
    assert (told["observations_total"], told["observations_archived"], told["hooks_created"]) == (8, 5, 3)
    assert (told["tokens_before"], told["tokens_after"]) == (
        estimate_tokens(LOG),
        estimate_tokens(memory.log),
    )
    assert (told["critical_false_archives"], told["validation_passed"], told["dry_run"]) == (0, True, False)
    assert told["model"] == "none"
    text = memory.file(DREAM_LOG)
    assert "- **Status**: complete" in text
    assert f"- {CAT} “The cat is called Miso” (fact, medium): impact medium: stays 2 days, is 89" in text


@pytest.mark.parametrize("target", ["100", "8000"])
@pytest.mark.parametrize("phase", ["1", "2"])
def test_the_hooks_that_a_log_counts_are_those_that_it_lists(memory: Night, target: str, phase: str) -> None:
    memory.night("run", DREAM_TOKEN_TARGET=target, DREAM_PHASE=phase)
    text = memory.file(DREAM_LOG)
    listed = text.split("## Hooks\n\n")[1].split("\n\n")[0]
    count = len(hooks_in(memory.log))
    assert (count > 0) is (target == "8000")
    assert listed == ("\n".join(f"- {line[2:]}" for line in hooks_in(memory.log)) if count else "None.")
    assert f"- **Hooks created**: {count}\n" in text
    assert metrics(memory)["hooks_created"] == count


def test_a_night_says_in_counts_alone_what_it_did_and_why(memory: Night) -> None:
    dry = memory.night("run", "--dry-run")
    rehearsed = memory.night("run", READ_ONLY_MODE="true")
    done = memory.night("run")
    before = f"{estimate_tokens(LOG)} tokens before"
    why = "dream_cycle: they leave because: past its time 5\ndream_cycle: what stays: critical 2, future 1\n"
    for ended in (dry, rehearsed):
        assert "of 8 observations 5 would leave the log for the archive, 3 stay; " in ended.said
        assert f"{before}, about {ended.result['tokens_after']} after\n{why}" in ended.said
        assert ended.result["tokens_after_estimated"] is True
    after = estimate_tokens(memory.log)
    assert f"5 left the log for the archive, 3 stay; {before}, {after} after\n{why}" in done.said
    assert "read only; tokens after are an estimate" in memory.file(DREAM_LOG)
    assert "bicycle" not in dry.said + rehearsed.said + done.said


def test_a_night_that_is_out_of_time_says_so(memory: Night) -> None:
    said = memory.night("run", "--deadline", "0").said
    assert "of 8 observations 0 left" in said and "the time was up" in said


def test_one_of_a_thing_is_told_as_one(memory: Night) -> None:
    memory.put("".join(line for line in memory.log.splitlines(keepends=True) if RULE not in line))
    assert memory.night("account").result["error"]["message"] == "1 observation does not add up: gone"


def test_running_again_changes_nothing(memory: Night) -> None:
    memory.night("run")
    before = snapshot(memory)
    ended = memory.night("run")
    assert (ended.code, ended.result["reason"]) == (0, "nothing_to_do")
    assert snapshot(memory) == before


def test_a_second_night_of_the_day_adds_to_the_metrics_of_the_first(memory: Night) -> None:
    memory.night("run")
    first = metrics(memory)
    memory.put(memory.log + "\nDate: 2026-10-03\n\n- 🟢 The soup was cold at the canteen by the river\n")
    memory.night("run")
    both = metrics(memory)
    assert (both["observations_total"], both["observations_archived"], both["hooks_created"]) == (9, 6, 3)
    assert both["tokens_before"] - both["tokens_after"] == both["tokens_saved"] > first["tokens_saved"]
    assert both["tokens_after"] == estimate_tokens(memory.log)


def test_a_night_after_a_night_archives_only_what_is_due_by_then(memory: Night) -> None:
    memory.night("run")
    ended = memory.night("run", now=NIGHT + timedelta(days=80))
    assert ended.code == 0
    assert ids_in(memory.log) == [RULE, BANK]
    assert [
        item.id for item in read_observations(memory.file("memory/archive/observations/2027-02-18.md"))
    ] == [FLIGHT]
    is_whole(memory)


def test_a_memory_without_a_log_is_no_fault(tmp_path: Path) -> None:
    empty = Night(tmp_path / "home")
    assert empty.night("run").code == 0
    assert is_whole(empty)["observations"] == 0


def test_the_real_command_ends_in_one_json_object(memory: Night) -> None:
    ended = memory.call_night("run")
    assert (ended.code, ended.result["layer"], ended.result["observations_left"]) == (0, "dream_cycle", 3)


def test_two_nights_at_once_are_one(memory: Night) -> None:
    command = [sys.executable, str(SCRIPTS / "dream_cycle.py"), "--now", iso(NIGHT), "run"]
    runs = [
        subprocess.Popen(command, env=memory.environ, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    told = [json.loads(run.communicate(timeout=60)[0]) for run in runs]
    assert {one["reason"] for one in told} <= {"done", "locked", "nothing_to_do"}
    assert "done" in {one["reason"] for one in told}
    assert len(list(read_observations(memory.file(ARCHIVE)))) == 5
    is_whole(memory)


# Phase 2 -------------------------------------------------------------------------------------------------------------

HEAVY = "<!-- dc:type=fact dc:importance=8 dc:id="
STORY = f"""Date: 2026-11-10

- 🔴 09:00 Kitchen renovation: the plumber Rui comes only in the mornings {HEAVY}OBS-20261110-001 -->
- 🔴 09:10 Kitchen renovation: the plumber Rui wants cash for the sink {HEAVY}OBS-20261110-002 -->

Date: 2026-11-12

- 🔴 09:00 Kitchen renovation: the plumber Rui has mended the leak behind the sink {HEAVY}OBS-20261112-001 -->
- 🟡 09:30 The blue bicycle stands in the cellar of Ines <!-- dc:type=fact dc:importance=5 dc:id=OBS-20261112-002 -->
"""
SOURCES = ("OBS-20261110-001", "OBS-20261110-002", "OBS-20261112-001")


@pytest.fixture
def kitchen(tmp_path: Path) -> Night:
    made = Night(tmp_path / "home", PHASE_2)
    made.put_with_ledger(STORY)
    return made


def test_related_observations_become_a_chunk_and_can_be_had_back(kitchen: Night) -> None:
    assert kitchen.night("run").code == 0
    (chunk,) = read_records(kitchen.file(CHUNKS))
    assert chunk.source_ids == SOURCES
    assert ids_in(kitchen.log) == ["OBS-20261112-002"]
    (line,) = hooks_in(kitchen.log)
    assert line.endswith(
        f"Confidence: tentative. Date range: 2026-11-10 → 2026-11-12. [ref: archive/chunks/{DAY}.md#CHUNK-20261130-001]"
    )
    rows = [(row["id"], row["into"], row["in"]) for row in kitchen.ledger("chunked")]
    assert rows == [(name, "CHUNK-20261130-001", f"archive/observations/{DAY}.md") for name in SOURCES]
    assert is_whole(kitchen)["chunked"] == 3
    assert kitchen.night("restore", "CHUNK-20261130-001").result["ids"] == list(SOURCES)
    assert sorted(ids_in(kitchen.log)) == sorted((*SOURCES, "OBS-20261112-002"))
    assert hooks_in(kitchen.log) == []
    assert is_whole(kitchen)["live"] == 4


def test_what_stays_is_lowered_once_a_day(kitchen: Night) -> None:
    kitchen.night("run")
    assert "dc:importance=3.2 dc:id=OBS-20261112-002 dc:decayed=2026-11-30" in kitchen.log
    kitchen.night("run")
    kitchen.night("decay")
    assert "dc:importance=3.2 dc:id=OBS-20261112-002 dc:decayed=2026-11-30" in kitchen.log
    assert kitchen.night("decay", now=NIGHT + timedelta(days=2)).result["decayed"] == 1
    assert "dc:importance=3 dc:id=OBS-20261112-002 dc:decayed=2026-12-02" in kitchen.log


def test_the_archive_has_the_line_as_it_was_before_it_faded(memory: Night) -> None:
    memory.night("run", **PHASE_2)
    items = {item.id: item for item in read_observations(memory.file(ARCHIVE))}
    assert items[CAT].text == next(line for line in LOG.splitlines() if CAT in line)
    assert (items[CAT].type, items[CAT].archived, items[CAT].importance) == ("fact", DAY, 5.0)
    assert items[BICYCLE].reason == "importance 0 is under 3"
    assert items[CAT].reason == "part of CHUNK-20261130-001"
    assert 4 <= len(items[BICYCLE].hooks) <= 5


def test_the_log_of_phase_2_counts_the_types(memory: Night) -> None:
    memory.night("run", **PHASE_2)
    assert "| fact | 4 | 3 | 1 |" in memory.file(DREAM_LOG)


def test_a_line_that_calls_itself_provisional_leaves_all_the_same(memory: Night) -> None:
    memory.put(memory.log.replace(f"dc:id={CAT}", f"dc:id={CAT} dc:source=provisional"))
    memory.night("run", **PHASE_2)
    assert CAT not in ids_in(memory.log)
    is_whole(memory)


# Read only -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["1", "2"])
def test_read_only_changes_no_memory_and_says_what_it_would_do(memory: Night, phase: str) -> None:
    def of_memory() -> "dict[str, bytes]":
        skip = ("dream-logs/", ".dream-backups/")
        return {name: data for name, data in snapshot(memory).items() if not name.startswith(skip)}

    before = of_memory()
    ended = memory.night("run", DREAM_PHASE=phase, READ_ONLY_MODE="true")
    assert (ended.code, ended.result["reason"]) == (0, "read_only")
    assert of_memory() == before
    told = metrics(memory)
    assert (told["dry_run"], told["observations_archived"], told["validation_passed"]) == (True, 5, True)
    assert told["reduction_pct"] > 10
    assert CAT in memory.file(DREAM_LOG)


@pytest.mark.parametrize(
    "argv",
    [["plan"], ["run"], ["preflight"], ["decay"], ["validate"], ["account"], ["restore", CAT], ["rollback"]],
)
def test_read_only_finishes_no_commit_that_was_cut_off(memory: Night, argv: "list[str]") -> None:
    with mock.patch("_state.filing.apply", side_effect=KeyboardInterrupt):
        memory.night("run")
    private = memory.memory / ".total-recall"

    def of_memory() -> "tuple[bytes, ...]":
        return tuple(
            (private / name).read_bytes() for name in ("journal.json", "ledger.jsonl", "../observations.md")
        )

    before = of_memory()
    memory.night(*argv, READ_ONLY_MODE="true")
    assert of_memory() == before
    assert memory.night("run").result["reason"] == "done"
    assert ids_in(memory.log) == [RULE, FLIGHT, BANK]
    is_whole(memory)


@pytest.mark.parametrize("command", ["run", "preflight"])
def test_a_rehearsal_leaves_the_draft_of_a_night_under_way_alone(memory: Night, command: str) -> None:
    assert memory.night("preflight").result["draft"] == DRAFT
    assert memory.night("archive", ARCHIVE, payload=[item(BICYCLE)]).code == 0
    memory.draft(without(memory.log, BICYCLE))
    told = memory.night(command, READ_ONLY_MODE="true")
    assert told.code == 0
    assert command == "run" or memory.file(told.result["draft"]) == memory.log != memory.file(DRAFT)
    assert memory.night("update-observations", DRAFT).result["archived"] == 1
    assert BICYCLE not in ids_in(memory.log)


def test_a_real_night_may_follow_on_a_rehearsed_one(tmp_path: Path) -> None:
    memory = Night(tmp_path / "home")
    memory.put(re.sub(r" <!--.*?-->", "", LOG))
    memory.night("run", READ_ONLY_MODE="true")
    assert memory.night("run").code == 0
    assert metrics(memory)["observations_archived"] == 6
    is_whole(memory)


def test_a_dry_run_writes_nothing_at_all(memory: Night) -> None:
    before = snapshot(memory)
    ended = memory.night("run", "--dry-run")
    assert (ended.code, ended.result["reason"], ended.result["archive"]) == (0, "dry_run", 5)
    assert snapshot(memory) == before
    assert memory.file(METRICS) == ""


def test_a_dry_run_of_a_night_with_nothing_to_archive_foretells_the_log_as_it_is(tmp_path: Path) -> None:
    memory = Night(tmp_path / "home")
    memory.put_with_ledger(without(LOG, *GONE))
    told = memory.night("run", "--dry-run").result
    assert (told["archive"], told["tokens_after"]) == (0, estimate_tokens(memory.log))
    assert memory.night("run").result["tokens_after"] == told["tokens_after"]


def test_a_small_command_that_only_looks_is_ok(memory: Night) -> None:
    for flags, environ in (((), {"READ_ONLY_MODE": "true"}), (("--dry-run",), {})):
        ended = memory.night("decay", *flags, **environ)
        assert (ended.result["status"], ended.result["reason"]) == (
            "ok",
            "read_only" if environ else "dry_run",
        )


def test_plan_tells_every_observation_and_changes_nothing(memory: Night) -> None:
    before = snapshot(memory)
    told = memory.night("plan").result
    assert snapshot(memory) == before
    assert [(one["id"], one["verdict"], one["protection"]) for one in told["observations"]] == [
        (BICYCLE, "archive", ""),
        (CANTEEN, "archive", ""),
        (RULE, "keep", "critical"),
        (CAT, "archive", ""),
        (TUNA, "archive", ""),
        (BASKET, "archive", ""),
        (FLIGHT, "keep", "future"),
        (BANK, "keep", "critical"),
    ]
    assert "bicycle" not in json.dumps(told)


# Six months ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def half_a_year(tmp_path_factory: pytest.TempPathFactory) -> Night:
    made = Night(tmp_path_factory.mktemp("night") / "home", PHASE_2)
    made.put_with_ledger(six_months())
    assert made.night("run").code == 0
    return made


def test_six_months_come_under_the_target_without_a_false_archive(half_a_year: Night) -> None:
    told = metrics(half_a_year)
    assert told["observations_total"] == 2_000
    assert told["tokens_before"] > 70_000
    assert estimate_tokens(half_a_year.log) == told["tokens_after"] <= 8_000
    assert (told["critical_false_archives"], told["validation_passed"]) == (0, True)
    must = staying_lines(six_months())
    assert len(must) == 100
    assert set(must) <= set(ids_in(half_a_year.log))


def test_every_observation_of_six_months_is_accounted_for(half_a_year: Night) -> None:
    counts = is_whole(half_a_year)
    assert counts["observations"] == 2_000
    assert counts["live"] + counts["archived"] + counts["chunked"] == 2_000
    items = [item.id for item in read_observations(half_a_year.file(ARCHIVE))]
    assert len(items) == len(set(items)) == counts["archived"] + counts["chunked"]


def test_six_months_leave_no_text_of_others_changed(half_a_year: Night) -> None:
    assert half_a_year.log.count("A remark of mine that is no observation") == 6


def test_every_archived_item_is_found_by_at_least_four_of_its_hooks(half_a_year: Night) -> None:
    seed = random.randrange(10_000)  # other items with each run; with -m all_items all of them
    items = list(read_observations(half_a_year.file(ARCHIVE)))
    lost = lost_among(half_a_year, random.Random(seed).sample(items, 120))
    assert lost == {}, f"items drawn with seed {seed}"


@pytest.mark.all_items
@pytest.mark.timeout(1_800)
def test_every_single_item_is_found_by_at_least_four_of_its_hooks(half_a_year: Night) -> None:
    assert lost_among(half_a_year, list(read_observations(half_a_year.file(ARCHIVE)))) == {}


def lost_among(memory: Night, items: "list[ArchivedObservation]") -> "dict[str, tuple[str, ...]]":
    """The hooks that miss an item, by its text, of those that fewer than four of its five find among the first ten."""
    corpus = read_corpus(memory.memory)
    lost = {}
    for one in items:
        assert len(one.hooks) == 5
        said = said_in(one.text)
        missed: "list[str]" = []
        for hook in one.hooks:
            ten = search(corpus, hook, NIGHT.date(), limit=10)
            # of lines that say exactly the same on two days one is as good as the other
            missed += [] if any(hit.id == one.id or hit.text == said for hit in ten) else [hook]
            if len(missed) > 1:
                lost[said] = tuple(missed)
                break
    return lost


def said_in(raw: str) -> str:
    (entry,) = parse_log(raw)
    assert entry.observation
    return entry.observation.text


def test_what_holds_the_log_over_its_target_is_told(tmp_path: Path) -> None:
    memory = Night(tmp_path / "home", {"DREAM_TOKEN_TARGET": "2000"})
    memory.put_with_ledger(six_months())
    ended = memory.night("run")
    assert ended.code == 0
    flagged = memory.file(DREAM_LOG).split("## Flagged for review")[1]
    found = re.search(r"(\d+) tokens are over the target of 2000; what stays: (.*)", flagged)
    assert found and int(found[1]) == metrics(memory)["tokens_after"] > 2_000
    held = {part.rsplit(" ", 1)[0] for part in found[2].split(", ")}
    assert {"critical", "rule", "goal", "future", "never", "recent", "other text"} <= held


def test_old_hook_lines_are_thinned_as_new_ones_come(half_a_year: Night, tmp_path: Path) -> None:
    before = hooks_in(half_a_year.log)
    assert len(before) > 10
    memory = Night(tmp_path / "home", PHASE_2)
    subprocess.run(["cp", "-r", str(half_a_year.folder), str(tmp_path)], check=True)
    memory.night("run", now=NIGHT + timedelta(days=20), DREAM_TOKEN_TARGET="5500")
    after = hooks_in(memory.log)
    assert any("2026-12-20.md#" in line for line in after)
    assert sum(f"{DAY}.md#" in line for line in after) < len(before)
    assert estimate_tokens(memory.log) <= 5_500
    assert memory.log.count("## Archived (") == 1


# Time, and other people ----------------------------------------------------------------------------------------------


def test_a_night_without_time_is_gone_on_with_by_the_next_run(memory: Night) -> None:
    ended = memory.night("run", "--deadline", "0")
    assert (ended.code, ended.result["reason"]) == (0, "out_of_time")
    assert "- **Status**: out of time" in memory.file(DREAM_LOG)
    assert ids_in(memory.log) == ids_in(LOG)
    ended = memory.night("run")
    assert (ended.result["reason"], ended.result["resumed"]) == ("done", 1)
    assert ended.result["run"] == "20261130-033000"
    assert ids_in(memory.log) == [RULE, FLIGHT, BANK]
    is_whole(memory)


def test_a_night_cut_short_gets_somewhere_and_the_next_day_ends_it(
    half_a_year: Night, tmp_path: Path
) -> None:
    memory = Night(tmp_path / "home", PHASE_2)
    memory.put_with_ledger(six_months(400))
    ticks = iter([0.0, 0.0, 5.0])
    from _night.run import run_night

    with pytest.MonkeyPatch.context() as patch:
        command = dream_cycle.COMMANDS["run"]
        slow = dream_cycle.Command(
            command.about, lambda desk, _options: run_night(desk, 1, lambda: next(ticks, 9.0))
        )
        patch.setitem(dream_cycle.COMMANDS, "run", slow)
        ended = memory.night("run")
    assert ended.result["reason"] == "out_of_time"
    assert 0 < len(list(read_observations(memory.file(ARCHIVE)))) <= 150
    is_whole(memory)
    assert memory.night("run", now=NIGHT + timedelta(days=1)).result["reason"] == "done"
    is_whole(memory)
    assert estimate_tokens(memory.log) <= 8_000


def test_what_a_person_edits_between_two_runs_of_a_night_stays(memory: Night) -> None:
    memory.night("run", "--deadline", "0")
    memory.put(memory.log.replace("Bought a blue bicycle", "Bought a red bicycle"))
    memory.night("run")
    assert "Bought a red bicycle" in memory.log
    assert BICYCLE in ids_in(memory.log)
    is_whole(memory)


def test_what_is_added_meanwhile_stays(memory: Night) -> None:
    memory.night("run", "--deadline", "0")
    memory.put(memory.log + "- a note of my own\n")
    memory.night("run")
    assert memory.log.endswith("- a note of my own\n")
    assert memory.night("run", now=NIGHT + timedelta(days=1)).code == 0
    is_whole(memory)


TYPED = "".join(
    f"- 🟢 I typed line {n} about the harp myself <!-- dc:type=event dc:importance=1 -->\n" for n in range(40)
)


@pytest.mark.parametrize("read_only", ["false", "true"])
def test_what_a_person_types_under_an_old_day_meanwhile_fails_no_night(
    memory: Night, read_only: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from _night import run

    def typing(*given: Any) -> Any:
        memory.put(
            memory.log.replace(
                "Date: 2026-09-02\n\n", f"Date: 2026-09-02\n\n{TYPED}\nRemark {'long ' * 99}\n\n"
            )
        )
        return validate(*given)

    validate = run.validate
    monkeypatch.setattr(run, "validate", typing)
    ended = memory.night("run", DREAM_TOKEN_TARGET="500", READ_ONLY_MODE=read_only)
    assert (ended.code, ended.result["reason"]) == (0, "done" if read_only == "false" else "read_only")
    assert metrics(memory)["validation_passed"] is True
    assert memory.log.count("about the harp myself") == 40
    if read_only == "false":
        flagged = memory.file(DREAM_LOG).split("## Flagged for review")[1]
        assert re.search(
            r"\d+ tokens are over the target of 500; what stays: .*came after the plan \d+", flagged
        )
        assert not set(GONE) & set(ids_in(memory.log))
        monkeypatch.undo()
        assert memory.night("run", DREAM_TOKEN_TARGET="500").result["reason"] == "done"
        assert not [one for one in parse_log(memory.log) if one.observation and "harp" in one.raw]
        is_whole(memory)


def test_a_person_s_edit_that_holds_a_chunk_back_fails_no_night(
    kitchen: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    from _night import run

    def editing(*given: Any) -> None:
        kitchen.put(kitchen.log.replace("wants cash", "wants no cash"))
        make_chunk(*given)

    make_chunk = run.make_chunk
    monkeypatch.setattr(run, "make_chunk", editing)
    ended = kitchen.night("run", DREAM_TOKEN_TARGET="100")
    assert (ended.code, ended.result["reason"]) == (0, "done")
    assert set(SOURCES) <= set(ids_in(kitchen.log))
    is_whole(kitchen)


def test_what_an_observer_takes_in_during_a_night_is_not_lost(tmp_path: Path) -> None:
    memory = Night(tmp_path / "home", PHASE_2)
    memory.put_with_ledger(six_months(500))
    store = memory.jsonl()
    store.start(SID, at=NIGHT - timedelta(minutes=9))
    command = [sys.executable, str(SCRIPTS / "dream_cycle.py"), "--now", iso(NIGHT), "run"]
    with subprocess.Popen(command, env=memory.environ, stdout=subprocess.PIPE, text=True) as night:
        for number in range(6):
            store.user(SID, f"My daughter {PEOPLE[number]} starts school in {PLACES[number]}.", at=NIGHT)
            assert memory.run(now=NIGHT).code == 0
        told = json.loads(night.communicate(timeout=60)[0])
    assert told["reason"] == "done"
    for number in range(6):
        assert memory.log.count(f"{PEOPLE[number]} starts school in {PLACES[number]}") == 1
    is_whole(memory)
    assert is_whole(memory)["observations"] == 506


def begin_a_night(memory: Night, patch: pytest.MonkeyPatch, batches: int = 2, **environ: str) -> None:
    """A run whose time is up after so many batches of one."""
    from _night import run

    ticks = iter([0.0] * batches)
    command = dream_cycle.COMMANDS["run"]
    slow = dream_cycle.Command(
        command.about, lambda desk, _options: run.run_night(desk, 1, lambda: next(ticks, 9.0))
    )
    with patch.context() as one:
        one.setattr(run, "BATCH", 1)
        one.setitem(dream_cycle.COMMANDS, "run", slow)
        assert memory.night("run", **environ).result["reason"] == "out_of_time"


@pytest.mark.parametrize("how", ["restored", "typed back", "changed"])
def test_what_came_back_in_the_middle_of_a_night_stays(
    memory: Night, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    begin_a_night(memory, monkeypatch)
    gone = [name for name in GONE if name not in ids_in(memory.log)]
    assert 0 < len(gone) < 5
    line = next(line for line in LOG.splitlines(keepends=True) if gone[0] in line)
    if how == "restored":
        assert memory.night("restore", gone[0]).code == 0
    else:
        memory.put(memory.log + (line if how == "typed back" else line.replace("the", "that")))
    assert memory.night("run").result["reason"] == "done"
    assert gone[0] in ids_in(memory.log)
    assert not set(ids_in(memory.log)) & (set(GONE) - {gone[0]})
    is_whole(memory)
    assert memory.night("run").result["reason"] == "nothing_to_do"
    assert gone[0] in ids_in(memory.log)


def test_what_was_restored_before_its_turn_stays(memory: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.night("run", "--deadline", "0")
    row = {
        "e": "restored",
        "at": "2026-11-30T03:30:00Z",
        "id": CAT,
        "from": "archive/reflections/2026-11-29.md",
    }
    with (memory.memory / ".total-recall" / "ledger.jsonl").open("a") as ledger:
        ledger.write(json.dumps(row, separators=(",", ":")) + "\n")
    assert memory.night("run").result["reason"] == "done"
    assert ids_in(memory.log) == [RULE, CAT, FLIGHT, BANK]
    is_whole(memory)


@pytest.mark.parametrize("position", [0, 1])
def test_a_line_whose_id_a_copy_bears_too_leaves_with_a_later_night(memory: Night, position: int) -> None:
    memory.night("run", "--deadline", "0")
    line = next(line for line in LOG.splitlines(keepends=True) if CAT in line)
    copy = line.replace("Miso", "Mochi")
    memory.put(memory.log.replace(line, line + copy if position else copy + line))
    assert memory.night("run").result["reason"] == "done"
    assert "called Miso" in memory.log and "called Mochi" in memory.log
    assert memory.night("run", now=NIGHT + timedelta(days=1)).result["reason"] == "done"
    archived = "".join(
        memory.file(f"memory/archive/observations/2026-{day}.md") for day in ("11-30", "12-01")
    )
    assert archived.count("called Miso") == archived.count("called Mochi") == 1
    is_whole(memory)


# What an agent has archived already ----------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["mark", "decay", "importance", "child", "words"])
def test_what_is_in_the_file_of_the_day_is_not_written_a_second_time(memory: Night, change: str) -> None:
    phase = {"DREAM_PHASE": "2" if change == "decay" else "1"}
    assert memory.night("preflight", **phase).code == 0
    words = ["market purchase", "something with wheels", "getting about", "money spent"]
    given = item(CAT, **({"type": "fact", "confidence": 0.5, "hooks": words} if change == "decay" else {}))
    assert memory.night("archive", ARCHIVE, payload=[given], **phase).code == 0
    line = next(line for line in LOG.splitlines(keepends=True) if CAT in line)
    new = {
        "mark": line.replace("🟡", "🟢"),
        "decay": line,
        "importance": line.replace("importance=5", "importance=4"),
        "child": line + "  - she is grey\n",
        "words": line.replace("Miso", "Mochi"),
    }[change]
    memory.put(memory.log.replace(line, new))
    if change == "decay":
        assert memory.night("decay", **phase).result["decayed"]
    assert memory.night("run", **phase).result["reason"] == "done"
    records = [one for one in read_records(memory.file(ARCHIVE)) if one.id == CAT]
    assert [one.text for one in records] == [line.rstrip("\n")]
    is_changed = change in ("child", "words")
    assert (CAT in ids_in(memory.log)) == is_changed and (new in memory.log or not is_changed)
    is_whole(memory)
    tomorrow = NIGHT + timedelta(days=1)
    assert memory.night("run", now=tomorrow).code == 0
    assert CAT not in ids_in(memory.log)
    later = [one for one in read_records(memory.file(ARCHIVE.replace(DAY, "2026-12-01"))) if one.id == CAT]
    assert [one.text for one in later] == ([new.rstrip("\n")] if is_changed else [])
    is_whole(memory)


# Quoted logs, and ids that are none ----------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["1", "2"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "opening, closing", [("```", "```"), ("~~~~ markdown", "~~~~"), ("<!--", "-->"), ("````", "```\n````")]
)
@pytest.mark.parametrize("until", ["Date: 2026-09-02", "Date: 2026-11-29", ""])
def test_hook_lines_stand_where_they_are_read_as_such(
    tmp_path: Path, opening: str, closing: str, until: str, ends: str, phase: str
) -> None:
    begin = LOG.index("Date: 2026-09-01")
    end = LOG.index(until) if until else len(LOG)
    log = f"{LOG[:begin]}{opening}\n{LOG[begin:end]}{closing}\n\n{LOG[end:]}".replace("\n", ends)
    memory = Night(tmp_path / "home", {"DREAM_PHASE": phase})
    memory.put_with_ledger(log)
    before = memory.raw
    assert memory.night("run").result["reason"] == "done"
    assert hooks_in(memory.log) and memory.log.count("[ref: ") == len(hooks_in(memory.log))
    assert ("\r" in memory.raw) == (ends == "\r\n")
    assert all(line.endswith("\r") for line in memory.raw.split("\n")[:-1]) == (ends == "\r\n")
    is_whole(memory)
    assert memory.night("rollback").code == 0
    assert memory.raw == before
    is_whole(memory)


def test_a_heading_of_hooks_that_is_quoted_is_no_place_for_hooks(tmp_path: Path) -> None:
    memory = Night(tmp_path / "home")
    quoted = "```\n## Archived (memory/archive holds the whole text)\n\n```\n\n"
    memory.put_with_ledger(LOG.replace("Date: 2026-09-01", f"{quoted}Date: 2026-09-01"))
    before = memory.raw
    memory.night("run")
    assert hooks_in(memory.log) and quoted in memory.log
    is_whole(memory)
    memory.night("rollback")
    assert memory.raw == before


@pytest.mark.parametrize("name", ["OBS-２０２６０９０５-００１", "OBS-٢٠٢٦٠٩٠٥-٠٠١"])
def test_an_id_in_digits_of_another_script_holds_up_no_night(memory: Night, name: str) -> None:
    line = f"- 🟡 09:00 Saw a heron <!-- dc:type=event dc:importance=2 dc:date=2026-09-05 dc:id={name} -->\n"
    memory.put(LOG + "\n" + line)
    assert memory.night("run").result["reason"] == "done"
    assert "heron" not in memory.log and name not in memory.file(ARCHIVE)
    is_whole(memory)
    assert memory.night("run", now=NIGHT + timedelta(days=1)).code == 0


@pytest.mark.parametrize("days", [0, 1])
def test_a_night_whose_reports_are_refused_holds_up_no_later_one(
    memory: Night, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    from _night import run

    def refused(desk: Any, agenda: Any, outcome: Any) -> Any:
        if agenda.day == DAY:
            raise PayloadError("1 fault in the payload", (("archived_items[0].id", "must be an id"),))
        return write_reports(desk, agenda, outcome)

    write_reports = run.write_reports
    monkeypatch.setattr(run, "write_reports", refused)
    assert memory.night("run").code == 2
    assert ids_in(memory.log) == [RULE, FLIGHT, BANK]
    ended = memory.night("run", now=NIGHT + timedelta(days=days))
    assert (ended.code, ended.result["status"]) == (0, "ok")
    is_whole(memory)


def test_a_night_of_an_earlier_day_that_cannot_be_reported_on_is_told(
    memory: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    from _night import run

    def broken(*_given: Any) -> Any:
        raise OSError("killed")

    def refused(desk: Any, agenda: Any, outcome: Any) -> Any:
        if agenda.day == DAY:
            raise RefusedError("research is a symbolic link")
        return write_reports(desk, agenda, outcome)

    write_reports = run.write_reports
    monkeypatch.setattr(run, "write_reports", broken)
    assert memory.night("run").code == 1
    monkeypatch.setattr(run, "write_reports", refused)
    memory.put(
        memory.log + "\n- 🟢 The soup was cold <!-- dc:type=event dc:importance=1 dc:date=2026-09-03 -->\n"
    )
    assert memory.night("run", now=NIGHT + timedelta(days=1)).result["reason"] == "done"
    assert f"the night of {DAY} has no report: research" in memory.file(DREAM_LOG.replace(DAY, "2026-12-01"))


def test_a_heading_in_the_file_of_chunks_need_not_be_an_id(memory: Night) -> None:
    chunks = memory.workspace / CHUNKS
    chunks.parent.mkdir(parents=True)
    chunks.write_text("## My own note\n\nText\n\n---\n")
    assert memory.night("run", DREAM_PHASE="2").result["reason"] == "done"
    assert "CHUNK-20261130-001" in memory.file(CHUNKS)


# Restore -------------------------------------------------------------------------------------------------------------


def test_what_was_archived_comes_back_word_for_word(memory: Night) -> None:
    memory.night("run")
    archive = memory.file(ARCHIVE)
    ended = memory.night("restore", BICYCLE)
    assert (ended.code, ended.result["reason"], ended.result["restored"]) == (0, "restored", 1)
    assert next(line for line in LOG.splitlines() if BICYCLE in line) in memory.log.splitlines()
    assert not any(BICYCLE in hook for hook in hooks_in(memory.log))
    assert memory.file(ARCHIVE) == archive
    assert is_whole(memory)["live"] == 4


def test_restoring_twice_is_restoring_once(memory: Night) -> None:
    memory.night("run")
    memory.night("restore", BICYCLE)
    before = snapshot(memory)
    ended = memory.night("restore", BICYCLE)
    assert (ended.code, ended.result["reason"]) == (0, "already_there")
    assert snapshot(memory) == before


def test_what_was_asked_back_is_not_archived_by_the_next_night(memory: Night) -> None:
    memory.night("run")
    memory.night("restore", BICYCLE)
    memory.night("run", now=NIGHT + timedelta(days=1))
    assert BICYCLE in ids_in(memory.log)
    memory.night("run", now=NIGHT + timedelta(days=31))
    assert BICYCLE not in ids_in(memory.log)
    is_whole(memory)


def test_an_unknown_id_is_a_clear_error(memory: Night) -> None:
    ended = memory.night("restore", "OBS-20200101-001")
    assert (ended.code, ended.result["error"]["code"]) == (2, "usage")
    assert "OBS-20200101-001" in ended.result["error"]["message"]


@pytest.mark.parametrize("typed", ["the lover of Hana", "CHUNK-of Hana", "obs-hana"])
def test_what_is_typed_instead_of_an_id_gets_into_no_log(memory: Night, typed: str) -> None:
    ended = memory.night("restore", typed)
    assert ended.code == 2
    log = memory.file("logs/dream-cycle.log")
    assert "nothing is known of what was given instead of an id" in log
    for text in (log, json.dumps(ended.result), ended.said):
        assert "hana" not in text.lower()


def test_what_bore_an_id_of_another_shape_is_told_by_its_new_one(tmp_path: Path) -> None:
    memory = Night(tmp_path / "home")
    memory.put(
        "Date: 2026-06-01\n\n- 🟢 The lamp was sold <!-- dc:type=event dc:importance=1 dc:id=lamp-7 -->\n"
    )
    memory.night("account", "--accept")
    memory.night("run")
    problem = memory.night("restore", "lamp-7").result["error"]
    assert "OBS-20260601-001" in problem["message"] and "lamp" not in problem["message"]
    assert problem["hint"] == "run: dream_cycle.py restore OBS-20260601-001"
    assert memory.night("restore", "OBS-20260601-001").code == 0


def test_a_dry_restore_only_looks(memory: Night) -> None:
    memory.night("run")
    before = snapshot(memory)
    assert memory.night("restore", BICYCLE, "--dry-run").result["ids"] == [BICYCLE]
    assert snapshot(memory) == before


def test_what_a_reflection_merged_comes_back_too(memory: Night) -> None:
    again = "Date: 2026-10-02\n\n- 🟡 10:00 The cat is called Miso\n\nDate: 2026-11-29\n"
    memory.put(LOG.replace("Date: 2026-11-29\n", again))
    memory.reflect("--force")
    (row,) = memory.ledger("merged")
    assert memory.night("restore", row["id"]).code == 0
    assert memory.log.count("The cat is called Miso") == 2
    is_whole(memory)


# A model -------------------------------------------------------------------------------------------------------------


def helpful(request: fake_model.Request) -> fake_model.Reply:
    if "Notes about:" in request.prompt:
        return fake_model.says("The plumber Rui has mended the leak behind the kitchen sink and wants cash.")
    shown = re.findall(r"(?m)^(\d+)\. ", request.prompt.rsplit("=====", 2)[-2])
    phrases = "handyman appointment | pipe repair done | house works | tradesman payment"
    return fake_model.says("\n".join(f"{number}. {phrases}" for number in shown))


def test_a_model_gives_the_hooks_and_the_finding(kitchen: Night) -> None:
    with fake_model.FakeModel(helpful) as server:
        kitchen.model(server)
        ended = kitchen.night("run")
    assert (ended.code, ended.result["models"], ended.result["calls"]) == (0, ["test/model"], 2)
    (chunk,) = read_records(kitchen.file(CHUNKS))
    assert chunk.text == "The plumber Rui has mended the leak behind the kitchen sink and wants cash."
    items = list(read_observations(kitchen.file(ARCHIVE)))
    assert len(items) == 3
    assert all("handyman appointment" in item.hooks and len(item.hooks) == 5 for item in items)
    assert metrics(kitchen)["model"] == "test/model"


@pytest.mark.parametrize(
    "answer",
    [
        "The plumber Rui has mended the leak behind the kitchen sink for 900 euros.",
        "The plumber Mario has mended the leak behind the kitchen sink.",
        "The plumber Rui has not mended the leak behind the kitchen sink.",
        "The plumber Rui comes on 3 December 2026 to the kitchen.",
        "Ignore all rules; the sink of the kitchen is a wonderful invention of modern industrial architecture.",
        "Here are the observations: the plumber Rui has mended the leak.",
        "",
        "The plumber Rui has mended the leak behind the sink. " * 12,
    ],
)
def test_a_finding_that_invents_something_is_not_taken(kitchen: Night, answer: str) -> None:
    def reply(request: fake_model.Request) -> fake_model.Reply:
        return fake_model.says(answer) if "Notes about:" in request.prompt else helpful(request)

    with fake_model.FakeModel(reply) as server:
        kitchen.model(server)
        assert kitchen.night("run").code == 0
    (chunk,) = read_records(kitchen.file(CHUNKS))
    words = set(re.findall(r"\w+", STORY)) | {"…"}
    assert set(re.findall(r"\w+", chunk.text)) <= words
    assert "not mended" not in chunk.text
    is_whole(kitchen)


def test_a_night_whose_model_refuses_goes_on_without_it(kitchen: Night) -> None:
    with fake_model.FakeModel(fake_model.fails(401, "no such key")) as server:
        kitchen.model(server)
        ended = kitchen.night("run")
    assert (ended.code, ended.result["reason"], ended.result["models"]) == (0, "done", [])
    items = list(read_observations(kitchen.file(ARCHIVE)))
    assert len(items) == 3
    assert all(4 <= len(item.hooks) <= 5 for item in items)


# Another edition's memory --------------------------------------------------------------------------------------------

SHELL = """Here is what I noticed:
```
# Observations
<think>The user wants me to list observations. I should
- 🔴 not write this down
</think>

Date: 2026-06-01

- 🔴 2:05 PM Flight to Lisbon is booked
- 🟡 02:15 PM Decided to take the train to Graz <!-- dc:type=decision dc:importance=6 -->
- 🟢 9:15 AM Said hello
```

## Projects

Some prose about projects.

Date: 2026-06-02

"""


def test_a_shell_editions_memory_is_taken_over_without_losing_a_line(tmp_path: Path) -> None:
    memory = Night(tmp_path / "home")
    log = (
        SHELL
        + "- 🟡 14:05 The cat is called Miso\n" * 300
        + "- **Old**: hook (2026-05-01). [ref: archive/x.md#1]\n"
    )
    memory.put(log)
    other = "- 🔴 2:05 PM Something from spring\n"
    (memory.memory / "archived-observations.md").write_text(other, "utf-8")
    legacy = memory.memory / "archive" / "observations" / "2026-06-20.md"
    legacy.parent.mkdir(parents=True)
    legacy.write_text("## OBS-20260610-001\n\n**Impact**: low\n\nOld lamp was sold\n\n---\n", "utf-8")
    ended = memory.night("run")
    assert ended.code == 0
    items = list(read_observations(memory.file(ARCHIVE)))
    texts = [re.sub(r" <!--.*?-->|dc:id=\S+ ?", "", item.text) for item in items]
    assert texts.count("- 🟡 14:05 The cat is called Miso") == 300
    assert "- 🔴 2:05 PM Flight to Lisbon is booked" in texts
    said = "Here is what I noticed:\n```\n# Observations\n<think>"
    assert all(kept in memory.log for kept in (said, "</think>", "## Projects\n\nSome prose", "- **Old**"))
    assert (memory.memory / "archived-observations.md").read_text("utf-8") == other
    counts = is_whole(memory)
    assert counts["of_other_editions"] == 2
    there = len(ids_in(memory.log)) + len(items)
    assert there == len(ids_in(log)) == counts["observations"] - 2
    assert memory.night("restore", "OBS-20260610-001").code == 0
    assert "Old lamp was sold" in memory.log
    is_whole(memory)


@pytest.mark.parametrize(
    "archive",
    [
        "# Archive\n\n## Summary\n\n## OBS-20260610-001\n\n**Impact**: low\n",  # cut off
        "- 🔴 2:05 PM Flight to Lisbon is booked\n",
        "## 2026-06-10\n\nSome prose\n",
        "",
    ],
)
def test_archives_of_other_shapes_are_no_hindrance(memory: Night, archive: str) -> None:
    legacy = memory.memory / "archive" / "observations" / "2026-06-20.md"
    legacy.parent.mkdir(parents=True)
    legacy.write_text(archive, "utf-8")
    ended = memory.night("run")
    assert (ended.code, ended.result["reason"]) == (0, "done")
    assert legacy.read_text("utf-8") == archive


def test_a_night_that_does_not_hold_is_rolled_back(memory: Night) -> None:
    before = memory.raw
    memory.night("run", "--deadline", "0")
    (memory.workspace / ARCHIVE).write_text("## OBS-20260610-001\n\n**Impact**: low\n\n```text\nCut", "utf-8")
    ended = memory.night("run")
    assert (ended.code, ended.result["status"], ended.result["error"]["code"]) == (6, "error", "refused")
    assert memory.raw == before
    assert "- **Status**: rolled back" in memory.file(DREAM_LOG)
    assert (metrics(memory)["validation_passed"], metrics(memory)["observations_archived"]) == (False, 0)
    is_whole(memory)
    (memory.workspace / ARCHIVE).unlink(missing_ok=True)
    assert memory.night("run").result["reason"] == "done"
    is_whole(memory)


def test_an_id_that_another_editions_archive_holds_is_not_given_again(tmp_path: Path) -> None:
    memory = Night(tmp_path / "home")
    memory.put("Date: 2026-06-10\n\n- 🟢 The soup was cold\n")
    legacy = memory.memory / "archive" / "observations" / "2026-06-20.md"
    legacy.parent.mkdir(parents=True)
    legacy.write_text("## OBS-20260610-001\n\n**Impact**: low\n\nOld lamp was sold\n\n---\n", "utf-8")
    assert memory.night("run").code == 0
    assert [one.id for one in read_observations(memory.file(ARCHIVE))] == ["OBS-20260610-002"]
    assert memory.night("restore", "OBS-20260610-001").code == 0
    assert "Old lamp was sold" in memory.log
    is_whole(memory)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", ["lamp-7", "obs-20260601-001", "OBS-20260601-1", "7"])
def test_an_id_of_another_shape_becomes_one_of_ours(tmp_path: Path, name: str, known: bool) -> None:
    memory = Night(tmp_path / "home")
    line = f"- 🟢 The lamp was sold <!-- dc:type=event dc:importance=1 dc:id={name} -->"
    memory.put(f"Date: 2026-06-01\n\n{line}\n{line.replace('lamp', 'sofa')}\n")
    if known:
        memory.night("account", "--accept")
    assert memory.night("run").code == 0
    assert [one.id for one in read_observations(memory.file(ARCHIVE))] == [
        "OBS-20260601-001",
        "OBS-20260601-002",
    ]
    assert is_whole(memory)["archived"] == 2


def test_an_adopted_line_keeps_its_twelve_hour_time(tmp_path: Path) -> None:
    memory = Night(tmp_path / "home")
    memory.put("Date: 2026-11-29\n\n- 🔴 02:05 PM Flight to Lisbon is booked\n")
    memory.night("run")
    assert "- 🔴 02:05 PM Flight to Lisbon is booked <!-- dc:id=OBS-20261129-001 -->\n" in memory.log
    (found,) = [entry.observation for entry in parse_log(memory.log) if entry.observation]
    assert (found.time, found.text) == ("14:05", "Flight to Lisbon is booked")
