"""Importance fades by type and day; it adds up however often it is written down."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _dream import Night, age_log, decayed
from _dream.weight import aged, confidence_of, impact, lifetime, threshold
from _observations import HIGH, LOW, MEDIUM, TYPES, Observation, parse_line, parse_log, render_line

NOW = datetime(2026, 11, 30, 3, 30, tzinfo=timezone.utc)
importances = st.floats(0, 10, allow_nan=False)
days = st.integers(0, 400)
kinds = st.sampled_from(TYPES)


def night(after: int = 0, phase: int = 2) -> Night:
    return Night(NOW + timedelta(days=after), timezone.utc, phase)


def log_of(*lines: str, day: str = "2026-11-20") -> str:
    return f"Date: {day}\n\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("kind", "after_ten_days"),
    [("event", 3), ("fact", 7), ("context", 7), ("preference", 7.8), ("rule", 8), ("habit", 8), ("goal", 8)],
)
def test_each_type_fades_by_its_own_rate(kind: str, after_ten_days: float) -> None:
    assert decayed(8, kind, 10) == after_ten_days


def test_nothing_fades_below_zero() -> None:
    assert decayed(1, "event", 30) == 0


def test_what_was_critical_stays_critical() -> None:
    assert decayed(9.7, "event", 1) == 9.2
    assert decayed(9.7, "event", 300) == 9


@given(importances, kinds, days, days)
def test_fading_twice_is_fading_once_for_as_long(importance: float, kind: str, first: int, then: int) -> None:
    assert decayed(decayed(importance, kind, first), kind, then) == decayed(importance, kind, first + then)


marks = st.sampled_from(["", HIGH, MEDIUM, LOW])
said = st.integers(0, 60).map(lambda number: (date(2026, 11, 30) - timedelta(days=number)).isoformat())


@given(importances, kinds, marks, said, st.lists(st.integers(0, 9), min_size=1, max_size=6))
def test_nights_in_any_rhythm_end_in_the_same_bytes(
    importance: float, kind: str, mark: str, day: str, rhythm: "list[int]"
) -> None:
    line = parse_line(render_line(Observation("The lamp is broken", kind, importance, day, mark=mark)))
    assert line is not None
    written = log = f"Date: {day}\n\n{render_line(line)}\n"
    total = 0
    for step in rhythm:
        total += step
        log = age_log(log, night(total)).log
        log = age_log(log, night(total)).log
    assert log == age_log(written, night(total)).log


def test_only_the_metadata_of_a_line_changes() -> None:
    log = log_of(
        "- 🔴 2:05 PM Ana  called   twice <!--  dc:type=event dc:importance=8 x=y -->",
        "  - from   Porto",
        "- an old line without anything",
    )
    assert age_log(log, night()).log == log_of(
        "- 🟡 2:05 PM Ana  called   twice <!--  dc:type=event dc:importance=3 x=y dc:decayed=2026-11-30 -->",
        "  - from   Porto",
        "- an old line without anything <!-- dc:importance=4 dc:decayed=2026-11-30 -->",
    )


def test_metadata_on_a_line_of_its_own_changes_there() -> None:
    log = log_of("- 🟡 The lamp is broken", "<!-- dc:type=event dc:importance=5.5 -->")
    assert age_log(log, night()).log == log_of(
        "- 🟢 The lamp is broken", "<!-- dc:type=event dc:importance=0.5 dc:decayed=2026-11-30 -->"
    )


def test_windows_line_ends_stay() -> None:
    log = "Date: 2026-11-20\r\n\r\n- 🟡 The lamp is broken <!-- dc:importance=5 -->\r\n"
    assert age_log(log, night()).log == log.replace("=5 ", "=4 dc:decayed=2026-11-30 ")


def test_a_higher_mark_that_a_person_set_stays() -> None:
    log = log_of("- 🔴 The lamp is broken <!-- dc:type=fact dc:importance=5 -->")
    assert "- 🔴 The lamp" in age_log(log, night(15)).log


def test_a_lower_mark_that_a_person_set_stays_until_the_importance_has_come_down_to_it() -> None:
    log = log_of("- 🟡 The lamp is broken <!-- dc:type=fact dc:importance=7 -->")
    assert "- 🟡 The lamp" in age_log(log, night()).log
    assert "- 🟢 The lamp" in age_log(log, night(35)).log


def test_rules_and_provisional_lines_stay_to_the_byte() -> None:
    log = log_of(
        "- 🟡 Never call before 10 <!-- dc:type=rule dc:importance=5 -->",
        "- 🟡 The lamp is broken <!-- dc:type=event dc:importance=5 dc:id=OBS-20261120-001 dc:source=provisional -->",
    )
    waiting = replace(night(), waiting=frozenset({"OBS-20261120-001"}))
    assert age_log(log, waiting).lines == 0
    assert age_log(log, waiting).log == log
    # what somebody typed into a line that no answer will replace
    assert age_log(log, night()).lines == 1


def test_what_is_about_a_day_to_come_does_not_fade_before_it() -> None:
    log = log_of("- 🟡 Ferry on 10 December 2026 <!-- dc:type=event dc:importance=5 dc:date=2026-11-20 -->")
    assert age_log(log, night(10)).log == log
    assert "dc:importance=4 " in age_log(log, night(12)).log


def test_what_somebody_asked_back_begins_to_fade_on_that_day() -> None:
    log = log_of(
        "- 🔴 09:00 Allergic to walnuts <!-- dc:type=fact dc:importance=6 dc:id=OBS-20260120-001 -->",
        day="2026-01-20",
    )
    today = night()
    asked_back = replace(today, restored={"OBS-20260120-001": (today.today - timedelta(days=2)).isoformat()})
    (one,) = [entry.observation for entry in parse_log(age_log(log, asked_back).log) if entry.observation]
    assert one.importance == 5.8
    (other,) = [entry.observation for entry in parse_log(age_log(log, today).log) if entry.observation]
    assert other.importance == 0


def test_a_birthday_does_not_fade() -> None:
    log = log_of(
        "- 🔴 09:00 Ana's birthday is on 21 December <!-- dc:type=fact dc:importance=6 -->", day="2026-01-20"
    )
    assert age_log(log, night()).log == log


def test_a_line_without_any_day_does_not_fade() -> None:
    assert age_log("- 🟡 The lamp is broken\n", night()).lines == 0


def test_a_clock_that_was_wrong_raises_nothing_again() -> None:
    log = log_of("- 🟡 A <!-- dc:type=event dc:importance=5 dc:date=2026-11-20 dc:decayed=2026-12-24 -->")
    assert age_log(log, night()).log == log


@given(st.text(max_size=60), importances, kinds)
def test_the_lowered_line_reads_as_it_should(text: str, importance: float, kind: str) -> None:
    log = f"Date: 2026-11-20\n- 🟡 {text} <!-- dc:type={kind} dc:importance={importance:.3f} -->\n"
    before, after = parse_log(log), parse_log(age_log(log, night()).log)
    assert [one.kind for one in before] == [one.kind for one in after]
    for old, new in zip(before, after):
        if old.observation and new.observation and old != new:
            rest = replace(new.observation, importance=0, decayed="", mark="")
            assert rest == replace(old.observation, importance=0, decayed="", mark="")


@pytest.mark.parametrize(
    ("importance", "band"),
    [
        (10, ("critical", float("inf"))),
        (9, ("critical", float("inf"))),
        (8.9, ("high", 7)),
        (7, ("high", 7)),
        (6.9, ("medium", 2)),
        (5, ("medium", 2)),
        (4.9, ("low", 1)),
        (3, ("low", 1)),
        (2.9, ("minimal", 0)),
        (0, ("minimal", 0)),
    ],
)
def test_impact_bands(importance: float, band: "tuple[str, float]") -> None:
    assert impact(importance) == band


def test_a_source_says_how_sure_it_is_where_no_confidence_stands() -> None:
    assert confidence_of(Observation("A", source="explicit")) == 0.95
    assert confidence_of(Observation("A", source="weak", confidence="0.8")) == 0.8
    assert confidence_of(Observation("A", confidence="high")) is None
    assert confidence_of(Observation("A")) is None


def test_what_is_sure_lives_longer_and_what_is_doubtful_shorter() -> None:
    assert lifetime(Observation("A", "event")) == 14
    assert lifetime(Observation("A", "event", confidence="0.71")) == 21
    assert lifetime(Observation("A", "event", confidence="0.7")) == 14
    assert lifetime(Observation("A", "event", confidence="0.29")) == 7
    assert (threshold(Observation("A")), threshold(Observation("A", confidence="0.9"))) == (3.0, 2.5)
    assert threshold(Observation("A", source="uncertain")) == 3.5


def test_a_lifetime_of_its_own_counts_as_it_is() -> None:
    assert lifetime(Observation("A", "event", ttl="3", confidence="0.9")) == 3
    assert lifetime(Observation("A", "event", ttl="never")) == float("inf")
    assert lifetime(Observation("A", "event", ttl="soon")) == 14


def test_an_unchanged_observation_is_the_same() -> None:
    line = Observation("A", "rule", 5, "2026-01-01")
    assert aged(line, 300, "2026-11-30") is line
