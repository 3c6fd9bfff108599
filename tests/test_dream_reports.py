"""write-log, write-metrics, write-staging and patterns: what a night leaves for a person to read and decide on."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from _dream_files.patterns import Theme, themes
from _observations import Observation
from _staging import parse_proposal, render_proposal
from dream_testing import BASKET, BICYCLE, CANTEEN, CAT, DAY, LOG, NIGHT, TUNA, Dream, item, without

LOG_FILE = f"memory/dream-logs/{DAY}.md"
METRICS_FILE = f"research/dream-cycle-metrics/daily/{DAY}.json"
STAGED = "memory/dream-staging/20261130-033000-fact.md"
KEY = "ghp_" + "a1B2" * 9
TELLING: "dict[str, Any]" = {
    "date": DAY,
    "run_time": "03:30",
    "model": "test/model",
    "runtime_seconds": 42.5,
    "status": "success",
    "observations_total": 8,
    "observations_archived": 2,
    "hooks_created": 1,
    "tokens_before": 304,
    "tokens_after": 172,
    "tokens_saved": 132,
    "dry_run": False,
    "archived_items": [
        {"id": CAT, "reason": "past its time", "impact": "low", "type": "fact"},
        "and one more",
    ],
    "hooks": ["The cat Miso"],
    "type_distribution": {"fact": {"count": 5, "archived": 2, "retained": 3}},
    "pattern_findings": ["tea on Mondays"],
    "validation_results": {"validation_passed": True, "notes": ["all well"], "tokens": 172},
    "flagged_for_review": [f"a key {KEY} in line 3"],
    "next_steps": [],
}
METRICS: "dict[str, Any]" = {
    "date": DAY,
    "model": "test/model",
    "runtime_seconds": 42,
    "observations_total": 8,
    "observations_archived": 2,
    "hooks_created": 1,
    "tokens_before": 304,
    "tokens_after": 172,
    "tokens_saved": 132,
    "reduction_pct": 43.4,
    "critical_false_archives": 0,
    "validation_passed": True,
    "dry_run": False,
}
PROPOSAL: "dict[str, Any]" = {
    "type": "fact",
    "target_file": "MEMORY.md",
    "confidence": "low",
    "pattern_summary": "The cat of the house comes up again and again",
    "proposed_text": "- The cat is called Miso\n  - it eats tuna",
    "evidence": [{"date": "2026-09-02", "quote": "the cat is called Miso", "id": CAT}],
    "supporting_observations": [CAT],
}


@pytest.fixture
def dream(tmp_path: Path) -> Dream:
    dream = Dream(tmp_path / "home")
    dream.put(LOG)
    return dream


def faults(dream: Dream, command: str, path: str, payload: object) -> "dict[str, str]":
    ended = dream.night(command, path, payload=payload)
    assert (ended.code, ended.result["error"]["code"]) == (2, "payload"), ended.result
    assert dream.file(path) == ""
    return {one["path"]: one["problem"] for one in ended.result["error"]["faults"]}


# write-log -----------------------------------------------------------------------------------------------------------


def test_the_log_has_all_sections(dream: Dream) -> None:
    assert dream.night("write-log", LOG_FILE, payload=TELLING).result["reason"] == "written"
    assert dream.file(LOG_FILE) == (
        "# Dream log 2026-11-30\n\n## Summary\n\n- **Run time**: 03:30\n- **Model**: test/model\n"
        "- **Runtime in seconds**: 42.5\n- **Status**: success\n- **Observations**: 8\n- **Archived**: 2\n"
        "- **Hooks created**: 1\n- **Tokens before**: 304\n- **Tokens after**: 172\n- **Tokens saved**: 132\n"
        "- **Dry run**: no\n\n## Archived items\n\n- OBS-20260902-001 (fact, low): past its time\n- and one more\n\n"
        "## Hooks\n\n- The cat Miso\n\n## Types\n\n| type | count | archived | retained |\n|---|---|---|---|\n"
        "| event | 0 | 0 | 0 |\n| context | 0 | 0 | 0 |\n| fact | 5 | 2 | 3 |\n| preference | 0 | 0 | 0 |\n"
        "| goal | 0 | 0 | 0 |\n| habit | 0 | 0 | 0 |\n| rule | 0 | 0 | 0 |\n\n## Patterns\n\n- tea on Mondays\n\n"
        "## Validation\n\n- validation_passed: yes\n- notes: all well\n- tokens: 172\n\n"
        "## Flagged for review\n\n- a key [secret: github token] in line 3\n\n## Next steps\n\nNone.\n\n---\n\n"
    )


def test_only_the_date_is_needed(dream: Dream) -> None:
    dream.night("write-log", LOG_FILE, payload={"date": DAY})
    assert dream.file(LOG_FILE).count("None.") == 6


def test_the_same_night_is_told_once_and_another_beside_it(dream: Dream) -> None:
    dream.night("write-log", LOG_FILE, payload=TELLING)
    assert dream.night("write-log", LOG_FILE, payload=TELLING).result["reason"] == "already_there"
    assert dream.file(LOG_FILE).count("## Summary") == 1
    first = dream.file(LOG_FILE)
    dream.night("write-log", LOG_FILE, payload={**TELLING, "run_time": "04:00"})
    assert dream.file(LOG_FILE).startswith(first) and dream.file(LOG_FILE).count("## Summary") == 2


def test_the_faults_of_a_log_are_named(dream: Dream) -> None:
    wrong = {
        **TELLING,
        "tokens_after": -1,
        "type_distribution": {"fact": {"count": 1}, "task": {}},
        "runtime": 3,
    }
    assert faults(dream, "write-log", LOG_FILE, wrong) == {
        "tokens_after": "must be 0 or more",
        "type_distribution.fact.archived": "is missing",
        "type_distribution.fact.retained": "is missing",
        "type_distribution": "has a field that is not one of event, context, fact, preference, goal, habit, rule",
        "": "has a field that is not one of " + ", ".join(TELLING),
    }
    assert faults(dream, "write-log", LOG_FILE, {"date": "2026-11-29"}) == {
        "date": "must be the day in the file's name"
    }


# write-metrics -------------------------------------------------------------------------------------------------------


def test_metrics_are_written_as_they_are(dream: Dream) -> None:
    dream.night("write-metrics", METRICS_FILE, payload={**METRICS, "notes": [f"key {KEY}"]})
    assert json.loads(dream.file(METRICS_FILE)) == {**METRICS, "notes": ["key [secret: github token]"]}
    dream.night("write-metrics", METRICS_FILE, payload=METRICS)
    assert json.loads(dream.file(METRICS_FILE)) == METRICS
    assert dream.night("write-metrics", METRICS_FILE, payload=METRICS).result["reason"] == "already_there"


@pytest.mark.parametrize("name", METRICS)
def test_every_figure_is_needed(dream: Dream, name: str) -> None:
    wrong = {key: value for key, value in METRICS.items() if key != name}
    assert faults(dream, "write-metrics", METRICS_FILE, wrong) == {name: "is missing"}


def test_figures_of_another_kind_are_named(dream: Dream) -> None:
    wrong = {**METRICS, "reduction_pct": "43", "validation_passed": "yes", "observations_total": 8.5}
    assert faults(dream, "write-metrics", METRICS_FILE, wrong) == {
        "reduction_pct": "must be number",
        "validation_passed": "must be boolean",
        "observations_total": "must be integer",
    }


@pytest.mark.parametrize(
    "changes, wrong",
    [
        ({"observations_archived": 9}, {"observations_archived": "must not be more than observations_total"}),
        ({"tokens_saved": 99}, {"tokens_saved": "must be tokens_before less tokens_after"}),
        ({"reduction_pct": 57}, {"reduction_pct": "must be what was saved of tokens_before, in percent"}),
        ({"reduction_pct": 43}, {}),
        ({"tokens_after": 314, "tokens_saved": -10, "reduction_pct": -3.3}, {}),
        ({"tokens_before": 0, "tokens_after": 0, "tokens_saved": 0, "reduction_pct": 0}, {}),
        (
            {"critical_false_archives": 1},
            {"validation_passed": "must be false when critical_false_archives is not 0"},
        ),
        ({"critical_false_archives": 1, "validation_passed": False}, {}),
    ],
)
def test_figures_that_contradict_each_other_are_named(
    dream: Dream, changes: "dict[str, Any]", wrong: "dict[str, str]"
) -> None:
    if wrong:
        assert faults(dream, "write-metrics", METRICS_FILE, {**METRICS, **changes}) == wrong
    else:
        assert dream.night("write-metrics", METRICS_FILE, payload={**METRICS, **changes}).code == 0


def test_the_faults_of_figures_are_named_at_once(dream: Dream) -> None:
    wrong = {
        **METRICS,
        "date": "2026-11-29",
        "observations_archived": 9,
        "tokens_saved": 99,
        "model": 3,
        "notse": "x",
    }
    assert set(faults(dream, "write-metrics", METRICS_FILE, wrong)) == {
        "date", "observations_archived", "tokens_saved", "model", "",
    }  # fmt: skip
    types = {"fact": {"count": 1, "archived": 2, "retained": 0}}
    told = {
        "date": "2026-11-29",
        "tokens_before": 10,
        "tokens_after": 5,
        "tokens_saved": 99,
        "type_distribution": types,
    }
    assert faults(dream, "write-log", LOG_FILE, {**told, "runtime": 3}) == {
        "date": "must be the day in the file's name",
        "tokens_saved": "must be tokens_before less tokens_after",
        "type_distribution.fact": "must not have more archived and retained than its count",
        "": "has a field that is not one of " + ", ".join(TELLING),
    }


def test_run_tells_of_a_night_that_an_agent_began(dream: Dream) -> None:
    assert dream.night("preflight").code == 0
    items = [item(name) for name in (BICYCLE, CANTEEN, CAT, TUNA, BASKET)]
    assert (
        dream.night("archive", f"memory/archive/observations/{DAY}.md", payload=items).result["written"] == 5
    )
    draft = without(LOG, BICYCLE, CANTEEN, CAT, TUNA, BASKET)
    assert dream.redraft(draft).result["archived"] == 5
    assert dream.night("run").result["reason"] == "done"
    figures = json.loads(dream.file(METRICS_FILE))
    assert (figures["observations_total"], figures["observations_archived"]) == (8, 5)


# write-staging -------------------------------------------------------------------------------------------------------


def test_a_proposal_waits_for_a_person(dream: Dream) -> None:
    assert dream.night("write-staging", STAGED, payload=PROPOSAL).result["written"] == 1
    assert dream.file(STAGED) == (
        "# Proposal: fact for MEMORY.md\n\n**Generated**: 2026-11-30 03:30\n**Type**: fact\n"
        "**Target file**: MEMORY.md\n**Confidence**: low\n**Supporting observations**: OBS-20260902-001\n\n"
        "> Low confidence: little supports this yet. Approve it only if you know it to be true.\n\n"
        "## Summary\n\nThe cat of the house comes up again and again\n\n"
        "## Proposed text\n\n```text\n- The cat is called Miso\n  - it eats tuna\n```\n\n"
        "## Evidence\n\n- 2026-09-02 (OBS-20260902-001): the cat is called Miso\n\n---\n\n"
        "A person's review is required: nothing is written to the target file without it.\n"
    )
    found = parse_proposal(dream.file(STAGED))
    assert found is not None and render_proposal(found) == dream.file(STAGED)
    assert not (dream.workspace / "MEMORY.md").exists()


def test_all_that_is_wrong_with_a_proposal_is_named_at_once(dream: Dream) -> None:
    quotes = [
        {"date": "2026-09-02", "quote": "The dog is called Rex", "id": "OBS-20260902-777"},
        {"date": "2026-09-02", "quote": "The cat is called Miso", "id": CAT},
        {"date": "2026-09-31", "quote": "The cat"},
        {"date": "2026-09-03", "quote": "The cat is called Miso"},
    ]
    wrong = {**PROPOSAL, "proposed_text": "<!-- -->", "evidence": quotes}
    names = ["OBS-20260902-888", CAT, "OBS-1"]
    asked = {**wrong, "type": "habit", "supporting_observations": names}
    assert faults(dream, "write-staging", STAGED, asked) == {
        "type": "must be the type in the file's name",
        "proposed_text": "the proposed text is no note but metadata, code or talk about the task",
        "evidence[0].id": "no observation ever was OBS-20260902-777",
        "evidence[0].quote": "quote 1 of the evidence is in no observation of its day",
        "evidence[2].date": "must be a day of the calendar, YYYY-MM-DD",
        "evidence[3].quote": "quote 4 of the evidence is in no observation of its day",
        "supporting_observations[0]": "no observation ever was OBS-20260902-888",
        "supporting_observations[2]": "must be an id such as OBS-20261130-001",
    }
    never = [{"date": one["date"], "quote": one["quote"]} for one in (*quotes[:2], quotes[3])]
    ended = dream.night("write-staging", STAGED, payload={**wrong, "evidence": never})
    assert (ended.code, ended.result["error"]["message"]) == (
        6,
        "the proposed text is no note but metadata, code or talk about the task; quote 1 of the evidence is in no "
        "observation of its day; quote 3 of the evidence is in no observation of its day",
    )


def test_a_proposal_may_rest_on_what_has_left_the_log(dream: Dream) -> None:
    dream.night("preflight")
    dream.put("# Observations Log\n")
    (dream.memory / "archive" / "observations" / "2026-10-01.md").write_text(
        "## OBS-20260801-001\n\n**Original date**: 2026-08-01\n\nThe cat is called Miso\n\n---\n"
    )
    quotes = [{"date": "2026-08-01", "quote": "The cat is called Miso"}]
    names = ["OBS-20260801-001", CAT]
    payload = {**PROPOSAL, "evidence": quotes, "supporting_observations": names}
    assert dream.night("write-staging", STAGED, payload=payload).result["reason"] == "staged"


@pytest.mark.parametrize(
    "days, named, claimed, carried",
    [
        ((1,), 0, "high", "low"),
        ((1, 2, 3), 0, "medium", "low"),
        ((1, 2, 3), 3, "medium", "low"),
        ((1, 2, 3, 4), 0, "high", "medium"),
        ((1, 2, 3, 4), 0, "low", "low"),
        ((1, 2, 3, 4, 5, 6, 7), 0, "high", "high"),
        ((1, 2, 3), 7, "high", "high"),
        ((1, 2, 3), 6, "high", "medium"),
        ((1, 2, 3), 40, "high", "low"),
    ],
)
def test_a_confidence_that_the_evidence_does_not_carry_is_lowered(
    tmp_path: Path, days: "tuple[int, ...]", named: int, claimed: str, carried: str
) -> None:
    """`named` are so many ids, or where that is more than there are, a mere number."""
    dream = Dream(tmp_path / "home")
    dream.put(log_of(swims(1, 2, 3, 4, 5, 6, 7)))
    dream.night("preflight")
    payload = {
        **PROPOSAL,
        "type": "habit",
        "confidence": claimed,
        "proposed_text": "- Swims before work",
        "evidence": [{"date": f"2026-11-{day:02d}", "quote": "swimming in the harbour pool"} for day in days],
        "supporting_observations": [f"OBS-202611{day:02d}-001" for day in range(1, named + 1)]
        if 0 < named < 8
        else named or len(days),
    }
    path = STAGED.replace("fact", "habit")
    told = dream.night("write-staging", path, payload=payload).result
    assert told["reason"] == "staged"
    assert f"**Confidence**: {carried}\n" in dream.file(path)
    lowered = f"{claimed} -> {carried}" if carried != claimed else None
    assert told.get("confidence_lowered") == lowered
    assert ("\n> Low confidence: " in dream.file(path)) is (carried == "low")


@pytest.mark.parametrize(
    "changes, wrong",
    [
        ({"type": "context"}, {"type": "must be one of fact, preference, goal, habit, rule"}),
        (
            {"target_file": "SOUL.md"},
            {"target_file": "must be one of AGENTS.md, MEMORY.md, TOOLS.md, favorites.md"},
        ),
        (
            {"target_file": "../AGENTS.md"},
            {"target_file": "must be one of AGENTS.md, MEMORY.md, TOOLS.md, favorites.md"},
        ),
        ({"evidence": []}, {"evidence": "must have 1 or more entries"}),
        ({"evidence": [{"quote": "x"}]}, {"evidence[0].date": "is missing"}),
        ({"supporting_observations": 0}, {"supporting_observations": "must be 1 or more"}),
        ({"type": "habit"}, {"type": "must be the type in the file's name"}),
    ],
)
def test_what_is_never_proposed_is_refused(
    dream: Dream, changes: "dict[str, Any]", wrong: "dict[str, str]"
) -> None:
    assert faults(dream, "write-staging", STAGED, {**PROPOSAL, **changes}) == wrong


@pytest.mark.parametrize(
    "changes",
    [
        {"evidence": [{"date": "2026-09-02", "quote": "The dog is called Rex"}]},
        {"evidence": [{"date": "2026-09-03", "quote": "The cat is called Miso"}]},
        {"proposed_text": "confidence: 0.58 recalls: 3 status: staged"},
        {"proposed_text": "<!-- -->"},
    ],
)
def test_a_proposal_that_nothing_supports_is_refused(dream: Dream, changes: "dict[str, Any]") -> None:
    assert dream.night("write-staging", STAGED, payload={**PROPOSAL, **changes}).code == 6
    assert dream.file(STAGED) == ""


def test_the_same_proposal_is_staged_once(dream: Dream) -> None:
    dream.night("write-staging", STAGED, payload=PROPOSAL)
    assert dream.night("write-staging", STAGED, payload=PROPOSAL).result["reason"] == "already_there"
    later = STAGED.replace("033000", "040000")
    again = {
        **PROPOSAL,
        "pattern_summary": "Something about the cat",
        "proposed_text": "- The cat is called Miso,\n  it eats tuna",
    }
    assert dream.night("write-staging", later, payload=again).result["reason"] == "already_there"
    assert dream.file(later) == ""
    other = {**PROPOSAL, "pattern_summary": "Fish", "proposed_text": "- Buys tuna for the cat"}
    assert dream.night("write-staging", STAGED, payload=other).code == 6
    assert dream.night("write-staging", later, payload=other).result["reason"] == "staged"


def test_a_rejected_proposal_does_not_come_back(dream: Dream) -> None:
    dream.night("write-staging", STAGED, payload=PROPOSAL)
    folder = dream.workspace / "memory" / "dream-staging"
    (folder / "rejected").mkdir()
    (dream.workspace / STAGED).rename(folder / "rejected" / "20261130-033000-fact.md")
    ended = dream.night("write-staging", STAGED, payload={**PROPOSAL, "confidence": "high"})
    assert (ended.code, ended.result["status"], ended.result["reason"]) == (0, "skipped", "rejected_before")
    assert dream.file(STAGED) == ""


def test_secrets_are_masked_in_a_proposal(dream: Dream) -> None:
    dream.night(
        "write-staging", STAGED, payload={**PROPOSAL, "proposed_text": f"- The key of the cat flap is {KEY}"}
    )
    assert "[secret: github token]" in dream.file(STAGED) and KEY not in dream.file(STAGED)


# patterns ------------------------------------------------------------------------------------------------------------


def swims(
    *days: int, month: int = 11, text: str = "Goes swimming in the harbour pool before work"
) -> "list[Observation]":
    return [
        Observation(text + "," * 0, "event", 4.0, f"2026-{month:02d}-{day:02d}", f"08:{day:02d}")
        for day in days
    ]


def log_of(observations: "list[Observation]") -> str:
    from _observations import render_addition

    return render_addition("", observations)


@pytest.mark.parametrize(
    "days, confidence",
    [
        ((1, 2, 3), "low"),
        ((1, 2, 3, 4), "medium"),
        ((1, 5, 9, 14), "medium"),
        ((1, 5, 9, 15), "low"),
        ((1, 2, 3, 4, 5, 6), "medium"),
        ((1, 2, 3, 4, 5, 6, 7), "high"),
        ((1, 4, 8, 12, 16, 20, 24), "high"),
    ],
)
def test_confidence_goes_by_entries_and_days(days: "tuple[int, ...]", confidence: str) -> None:
    (theme,) = themes(swims(*days))
    assert theme.confidence == confidence


def test_what_a_model_can_do_stays_low_for_14_days() -> None:
    text = "The model reads tables in long files well"
    assert Theme(tuple(swims(1, 2, 3, 4, 5, 6, 7, text=text))).confidence == "low"
    assert Theme(tuple(swims(1, 2, 3, 4, 5, 6, 14, text=text))).confidence == "high"


def test_less_than_three_days_or_entries_is_no_theme() -> None:
    assert themes(swims(1, 2)) == []
    same_day = [
        Observation(f"Went swimming in the harbour pool, lane {word}", "event", 4.0, "2026-11-01")
        for word in ("one", "two", "three", "four")
    ]
    assert themes(same_day) == []


def test_themes_do_not_mix() -> None:
    tea = [Observation(f"Drank green tea with honey after {meal}", "habit", 3.0, f"2026-11-0{n}")
           for n, meal in enumerate(("breakfast", "lunch", "dinner"), start=1)]  # fmt: skip
    found = themes([*swims(1, 2, 3, 4), *tea])
    assert [(theme.type, len(theme.observations)) for theme in found] == [("habit", 4), ("habit", 3)]


def test_patterns_are_staged_once_with_quotes_and_dates(tmp_path: Path) -> None:
    dream = Dream(tmp_path / "home")
    dream.put(log_of(swims(10, 12, 14, 16)))
    ended = dream.night("patterns")
    assert (ended.result["themes"], ended.result["staged"]) == (1, 1)
    text = dream.file("memory/dream-staging/20261130-033000-habit.md")
    assert "**Target file**: MEMORY.md\n**Confidence**: medium\n" in text
    assert "- Goes swimming in the harbour pool before work\n```" in text
    assert "- 2026-11-10: Goes swimming in the harbour pool before work\n- 2026-11-12: " in text
    assert "(4 times on 4 days, 2026-11-10 to 2026-11-16)" in text
    later = NIGHT + timedelta(days=1)
    dream.put(log_of(swims(10, 12, 14, 16, 20)))
    assert dream.night("patterns", now=later).result["already_there"] == 1
    folder = dream.memory / "dream-staging"
    (folder / "rejected").mkdir()
    (folder / "20261130-033000-habit.md").rename(folder / "rejected" / "20261130-033000-habit.md")
    ended = dream.night("patterns", now=later)
    assert (ended.result["rejected_before"], ended.result["staged"]) == (1, 0)
    assert [path.name for path in folder.iterdir()] == ["rejected"]


@pytest.mark.parametrize(
    "texts, says",
    [
        ([f"Swam {n} km in the morning" for n in (2, 3, 1, 4)], "Swam 1–4 km in the morning"),
        ([f"Swam {n} km in the morning" for n in (2, 2, 2, 2)], "Swam 2 km in the morning"),
        ([*(f"Swam {n} km in the morning" for n in (2, 3, 4)), "Swam in the morning"], "Swam in the morning"),
        (
            [f"Swam {n} km in the morning" for n in ("two", "four", "three")],
            "Swam two–four km in the morning",
        ),
        (
            [f"Swam {n} km in {m} minutes" for n, m in (("1.5", 30), ("2", 42), ("3", 55))],
            "Swam 1.5–3 km in 30–55 minutes",
        ),
        (
            [f"Ran along the river at {at}" for at in ("7:30", "8:15", "7:05")],
            "Ran along the river at 7:05–8:15",
        ),
        (
            [f"Had lunch with Ana on {day}" for day in ("3 May", "9 June", "7 July")],
            "Had lunch with Ana on …",
        ),
        (
            [f"Has lunch with Ana on {day}" for day in ("3/4/2026", "5/6/2026", "7/8/2026")],
            "Has lunch with Ana on …",
        ),
        (["Swam 4 km in the morning, again", *["Swam in the morning"] * 3], "Swam in the morning"),
        (
            [f"Takes tram 11 to the office, {n} stops" for n in (4, 5, 6)],
            "Takes tram 11 to the office, 4–6 stops",
        ),
    ],
)
def test_no_number_in_which_the_entries_differ_is_told_as_the_habit(
    tmp_path: Path, texts: "list[str]", says: str
) -> None:
    dream = Dream(tmp_path / "home")
    dream.put(log_of([one for day, text in enumerate(texts, 10) for one in swims(day, text=text)]))
    assert dream.night("patterns").result["staged"] == 1
    text = dream.file("memory/dream-staging/20261130-033000-habit.md")
    assert f"```text\n- {says}\n```\n" in text
    assert f"## Summary\n\n{says} (" in text
    assert all(f": {quote}\n" in text for quote in texts)


def test_no_more_than_10_proposals_wait_and_the_next_ones_follow(tmp_path: Path) -> None:
    dream = Dream(tmp_path / "home")
    things = "kettle ladder piano canoe garage tractor balcony orchard chimney cellar violin lantern".split()
    notes = [
        one
        for number, thing in enumerate(things)
        for one in swims(
            1 + number, 3 + number, 5 + number, text=f"Repaired the {thing} with {thing}{thing} parts"
        )
    ]
    dream.put(log_of(sorted(notes, key=lambda one: one.date)))
    told = dream.night("patterns").result
    assert (told["themes"], told["staged"], told["left_for_later"]) == (12, 10, 2)
    told = dream.night("patterns").result
    assert (told["staged"], told["already_there"], told["left_for_later"]) == (0, 10, 2)
    (first, *_rest) = sorted((dream.memory / "dream-staging").iterdir())
    first.rename(first.with_name(first.name.replace(".md", ".approved.md")))
    told = dream.night("patterns").result
    assert (told["staged"], told["already_there"], told["left_for_later"]) == (1, 10, 1)


def test_what_is_older_than_60_days_and_machine_chatter_is_no_pattern(tmp_path: Path) -> None:
    dream = Dream(tmp_path / "home")
    dream.put(log_of(swims(1, 5, 9, month=8)))
    assert dream.night("patterns").result["themes"] == 0


def test_patterns_are_also_found_in_what_was_archived(tmp_path: Path) -> None:
    dream = Dream(tmp_path / "home")
    dream.put(log_of(swims(10, 12, 14)))
    dream.night("preflight")
    names = [f"OBS-202611{day}-001" for day in (10, 12, 14)]
    text = "Goes swimming in the harbour pool before work"
    items = [
        {
            "id": name,
            "original_date": f"2026-11-{name[10:12]}",
            "impact": "low",
            "archived_reason": "old",
            "full_text": text,
        }
        for name in names
    ]
    assert (
        dream.night("archive", f"memory/archive/observations/{DAY}.md", payload=items).result["written"] == 3
    )
    dream.put("# Observations Log\n")
    assert dream.night("patterns").result["staged"] == 1
