"""What a night would do with a log: verdicts, protection, the token target, chunks."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _dream import ARCHIVE, CHUNK, KEEP, Night, finding_of, plan, read_notes
from _dream.clusters import in_conflict
from _likeness import features
from _observations import estimate_tokens, parse_log
from night_testing import six_months, staying_lines

NOW = datetime(2026, 11, 30, 3, 30, tzinfo=timezone.utc)
TARGET = 8_000


def night(phase: int = 1, target: int = TARGET, **more: Any) -> Night:
    return Night(NOW, timezone.utc, phase, target, **more)


def line(text: str, day: str, fields: str = "", clock: str = "09:00") -> str:
    name = f"OBS-{day.replace('-', '')}-001"
    return f"Date: {day}\n\n- 🟡 {clock} {text} <!-- {fields} dc:date={day} dc:id={name} -->\n\n"


def verdict(log: str, phase: int = 1, target: int = TARGET, **more: Any) -> "tuple[str, str]":
    """What becomes of the first observation of a log, and its protection."""
    found = plan(log, night(phase, target, **more)).verdicts[0]
    return found.what, found.note.protected


# One by one ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("importance", "stays_until", "goes_on"),
    [
        ("8.9", "2026-11-24", "2026-11-23"),
        ("7", "2026-11-24", "2026-11-23"),
        ("5", "2026-11-29", "2026-11-28"),
        ("3", "", "2026-11-28"),
        ("2.9", "", "2026-11-28"),
    ],
)
def test_phase_1_keeps_by_impact_and_age(importance: str, stays_until: str, goes_on: str) -> None:
    fields = f"dc:type=fact dc:importance={importance}"
    assert verdict(line("The lamp is broken", goes_on, fields)) == (ARCHIVE, "")
    if stays_until:
        assert verdict(line("The lamp is broken", stays_until, fields))[0] == KEEP


def test_a_low_one_of_yesterday_goes_when_its_24_hours_are_over() -> None:
    fields = "dc:type=fact dc:importance=3"
    assert verdict(line("The lamp is broken", "2026-11-29", fields, "03:29")) == (ARCHIVE, "")
    assert verdict(line("The lamp is broken", "2026-11-29", fields, "03:31")) == (KEEP, "recent")


def test_the_age_is_counted_in_the_persons_days() -> None:
    from zoneinfo import ZoneInfo

    log = line("The lamp is broken", "2026-11-27", "dc:type=fact dc:importance=5")
    west = Night(NOW, ZoneInfo("America/Los_Angeles"))
    assert [plan(log, one).verdicts[0].note.age_days for one in (night(), west)] == [3, 2]


@pytest.mark.parametrize("phase", [1, 2])
@pytest.mark.parametrize(
    ("text", "fields", "why"),
    [
        ("Allergic to penicillin", "dc:type=fact dc:importance=9", "critical"),
        ("Never call before 10", "dc:type=rule dc:importance=1", "rule"),
        ("Wants to sail around Sicily", "dc:type=goal dc:importance=1", "goal"),
        ("Ferry leaves on 14 March 2027", "dc:type=event dc:importance=1", "future"),
        ("The blood group is A", "dc:type=fact dc:importance=1 dc:ttl=never", "never"),
    ],
)
def test_what_is_protected_stays_however_tight_it_is(phase: int, text: str, fields: str, why: str) -> None:
    assert verdict(line(text, "2026-01-01", fields), phase, target=100) == (KEEP, why)


@pytest.mark.parametrize(
    ("one", "why"),
    [
        ("- 🟢 Talk about the shop <!-- dc:importance=1 -->\n  - 🔴 09:05 Deployed on a Friday", "critical"),
        ("- 🔴 Talk about the shop <!-- dc:importance=6 -->\n  - 🔴 09:05 Deployed on a Friday", ""),
        ("- 🟢 Talk about the shop\n  - Deployed <!-- dc:type=fact dc:importance=9 -->", "critical"),
        ("- 🟢 Talk about the shop\n  - Deployed <!-- dc:type=fact dc:importance=8 -->", ""),
        ("- 🟢 Talk about the shop\n  - Never deploy <!-- dc:type=rule -->", "rule"),
        ("- 🟢 Talk about the shop\n  - Deploy it <!-- dc:type=task -->", "goal"),
        ("- 🟢 Talk about the shop\n  - Deployed <!-- dc:date=2026-11-29 -->", "recent"),
        ("- 🟢 Deployed <!-- dc:type=fact dc:importance=critical -->", "critical"),
        ("- 🟢 Deployed <!-- dc:type=fact dc:importance=high -->", ""),
        ("- 🟢 Deployed <!-- dc:ttl = never dc:importance=1 -->", "never"),
        ("- 🟢 Rent goes up by the end of the year <!-- dc:type=event dc:importance=1 -->", "future"),
        ("- 🟢 Rent goes up in three months <!-- dc:type=event dc:importance=1 -->", "future"),
    ],
)
def test_what_protects_by_day_protects_at_night_too(one: str, why: str) -> None:
    assert verdict(f"Date: 2026-10-01\n\n{one}\n") == (KEEP if why else ARCHIVE, why)


def test_what_is_about_a_time_to_come_does_not_fade_before_it() -> None:
    log = line("Rent goes up by the end of the year", "2026-10-01", "dc:type=event dc:importance=5")
    assert [note.importance for note in read_notes(log, night(2))] == [5.0]


@pytest.mark.parametrize(("waiting", "expected"), [(True, (KEEP, "provisional")), (False, (ARCHIVE, ""))])
def test_a_line_is_provisional_when_an_answer_is_to_replace_it_whatever_it_says_of_itself(
    waiting: bool, expected: "tuple[str, str]"
) -> None:
    log = line("The lamp is broken", "2026-01-01", "dc:type=event dc:importance=1 dc:source=provisional")
    assert verdict(log, waiting=frozenset({"OBS-20260101-001"} if waiting else ())) == expected


def test_a_day_to_come_protects_until_it_has_passed() -> None:
    fields = "dc:type=event dc:importance=5"
    assert verdict(line("Ferry leaves on 30 November 2026", "2026-09-01", fields)) == (KEEP, "future")
    assert verdict(line("Ferry leaves on 29 November 2026", "2026-09-01", fields)) == (ARCHIVE, "")


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("Ana's birthday is on 21 December", True),
        ("Ana's birthday: 21.12.", True),
        ("21 December is the wedding anniversary", True),
        ("Oskar was born on 4 May 1990 in Bilbao", True),
        ("Omas Geburtstag ist am 3. Februar", True),
        ("誕生日は3月4日", True),
        ("The birthday party on 3 February 2026 was fun", False),
        ("Bought a cake for a birthday", False),
        ("Met Ben on 3 February", False),
    ],
)
def test_a_day_that_comes_back_each_year_is_always_still_to_come(text: str, stays: bool) -> None:
    assert (verdict(line(text, "2026-02-10"), phase=2)[0] == KEEP) is stays
    assert (verdict(line(text, "2026-02-10"), phase=1)[0] == KEEP) is stays


def test_the_plan_says_what_an_archive_needs() -> None:
    log = line("Sold the boat", "2026-09-03", "dc:type=event dc:importance=7.5 dc:source=weak")
    (one,) = plan(log, night(1)).as_json()["observations"]
    assert (one["original_date"], one["impact"], one["confidence"], one["type"]) == (
        "2026-09-03",
        "high",
        0.4,
        "event",
    )


def test_a_line_dated_in_the_future_stays() -> None:
    assert verdict(line("The lamp is broken", "2026-12-05", "dc:type=event dc:importance=1")) == (
        KEEP,
        "future",
    )


def test_what_was_asked_back_stays_for_30_days() -> None:
    log = line("The lamp is broken", "2026-01-01", "dc:type=event dc:importance=1")
    assert verdict(log, restored={"OBS-20260101-001": "2026-11-01"}) == (KEEP, "restored")
    assert verdict(log, restored={"OBS-20260101-001": "2026-10-31"}) == (ARCHIVE, "")


def test_an_untagged_line_is_a_fact_of_importance_5() -> None:
    log = "Date: 2026-11-28\n\n- The lamp is broken\n"
    (found,) = plan(log, night()).as_json()["observations"]
    assert (found["type"], found["importance"], found["verdict"]) == ("fact", 5.0, ARCHIVE)
    assert (found["id"], found["has_id"]) == ("OBS-20261128-001", False)
    assert found["reason"] == "impact medium: stays 2 days, is 2 days old"


def test_of_the_shell_edition_a_decision_is_a_preference_and_stays_as_long() -> None:
    log = (
        "Date: 2026-06-04\n\n- 🟡 2:05 PM Takes the train to Graz <!-- dc:type=decision dc:importance=5 -->\n"
    )
    assert verdict(log) == (KEEP, "")
    assert verdict(log.replace("06-04", "06-03")) == (ARCHIVE, "")


def test_a_line_without_any_day_stays_unless_the_target_asks_for_it() -> None:
    assert verdict("- 🟡 The lamp is broken\n") == (KEEP, "")
    assert verdict("- 🟡 The lamp is broken and the shade too\n" * 40, target=100)[0] == ARCHIVE


def test_its_own_lifetime_overrides_the_band_both_ways() -> None:
    assert verdict(line("The lamp is broken", "2026-11-10", "dc:type=fact dc:importance=5 dc:ttl=30")) == (
        KEEP,
        "",
    )
    assert verdict(line("The lamp is broken", "2026-11-26", "dc:type=fact dc:importance=8 dc:ttl=3")) == (
        ARCHIVE,
        "",
    )


@pytest.mark.parametrize(
    ("kind", "importance", "last_day", "first_day_gone"),
    [
        ("event", "8.9", "2026-11-19", "2026-11-18"),  # 8.9 - 11 x 0.5 = 3.4, 12 days: 2.9
        ("fact", "8.9", "2026-10-02", "2026-10-01"),  # 59 days: 3.0, 60 days: 2.9
        ("preference", "8", "2026-06-04", "2026-06-03"),  # 180 days
        ("habit", "4", "2025-12-01", "2025-11-30"),  # 365 days, no decay
    ],
)
def test_phase_2_keeps_by_type_and_decay(
    kind: str, importance: str, last_day: str, first_day_gone: str
) -> None:
    fields = f"dc:type={kind} dc:importance={importance}"
    assert verdict(line("The lamp is broken", last_day, fields), 2) == (KEEP, "")
    assert verdict(line("The lamp is broken", first_day_gone, fields), 2) == (ARCHIVE, "")


def test_phase_2_keeps_what_is_sure_longer_and_what_is_doubtful_shorter() -> None:
    log = line("The lamp is broken", "2026-11-08", "dc:type=fact dc:importance=5.1 CONFIDENCE")  # 2.9 by now
    assert verdict(log.replace("CONFIDENCE", ""), 2)[0] == ARCHIVE
    assert verdict(log.replace("CONFIDENCE", "dc:confidence=0.75"), 2)[0] == KEEP
    assert verdict(log.replace("=5.1 CONFIDENCE", "=5.5 dc:confidence=0.2"), 2)[0] == ARCHIVE  # 3.3 by now
    assert verdict(log.replace("=5.1 CONFIDENCE", "=5.5"), 2)[0] == KEEP


def test_the_plan_is_the_same_each_time_and_holds_no_text() -> None:
    log = six_months(300)
    first, second = (plan(log, night(2)).as_json() for _ in range(2))
    assert first == second
    assert "penicillin" not in str(first)


def test_a_second_line_with_the_same_id_gets_one_of_its_own() -> None:
    log = line("The lamp is broken", "2026-11-01") + line("The lamp is mended", "2026-11-01")
    assert [note.id for note in read_notes(log, night())] == ["OBS-20261101-001", "OBS-20261101-002"]


def test_an_id_is_never_given_again() -> None:
    (note,) = read_notes("Date: 2026-11-01\n\n- The lamp is broken\n", night(highest={"2026-11-01": 7}))
    assert note.id == "OBS-20261101-008"


# The target ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long_log() -> str:
    return six_months()


@pytest.mark.parametrize("phase", [1, 2])
def test_six_months_come_under_the_target_and_what_must_stay_stays(long_log: str, phase: int) -> None:
    found = plan(long_log, night(phase))
    assert estimate_tokens(long_log) > 70_000
    assert found.tokens_after <= TARGET
    assert found.held_by == {}
    going = {one.note.id for one in found.leaving}
    must = staying_lines(long_log)
    assert len(must) == 100
    assert going.isdisjoint(must)


def test_the_plan_says_how_many_hook_lines_there_is_room_for(long_log: str) -> None:
    told = plan(long_log, night(1)).as_json()
    leaving = sum(one["verdict"] != KEEP for one in told["observations"])
    assert 0 < told["hook_lines"] < leaving and 40 * told["hook_lines"] <= told["hook_tokens"]


def test_no_more_leaves_for_the_target_than_it_takes() -> None:
    log = "".join(
        line(
            f"Shelf {number} holds the atlas of {number + 7} rivers",
            f"2026-11-{number + 1:02d}",
            "dc:type=habit",
        )
        for number in range(28)
    )
    found = plan(log, night(2, 700))
    extra = [one for one in found.verdicts if one.what == ARCHIVE]
    assert 0 < len(extra) < 28
    assert found.tokens_after <= 700
    assert [one.note.item.observation.date for one in extra] == [
        f"2026-11-{day + 1:02d}" for day in range(len(extra))
    ]
    # one less would not do: its line and date line take about 35 tokens
    assert found.tokens_after + 50 > 700 - 42


def test_the_lightest_leave_first() -> None:
    parts = [
        line(
            f"Shelf {number} holds the atlas of {number} rivers",
            f"2026-11-{number:02d}",
            f"dc:importance={number % 5 + 4}.5",
        )
        for number in range(1, 29)
    ]
    found = plan("".join(parts).replace("dc:importance", "dc:type=habit dc:importance"), night(2, 700))
    gone = {one.note.importance for one in found.verdicts if one.what == ARCHIVE}
    stay = {one.note.importance for one in found.verdicts if one.what == KEEP}
    assert max(gone) <= min(stay)


def test_a_target_that_cannot_be_reached_says_what_holds_it_up() -> None:
    log = "".join(
        line(f"Never call person {n} before noon", f"2026-10-{n + 1:02d}", "dc:type=rule") for n in range(28)
    )
    log += "\n".join(f"A remark of mine, number {n}" for n in range(40))
    found = plan(log, night(1, 200))
    assert not found.target_reached
    assert set(found.held_by) == {"rule", "other text"}
    assert found.held_by["rule"] > 700
    assert sum(found.held_by.values()) <= found.tokens_after


def test_hook_lines_that_the_archive_holds_may_go_and_others_count() -> None:
    hooks = "".join(
        f"- **Shelf {n}**: atlas (2026-09-01). [ref: archive/observations/2026-09-02.md#OBS-20260901-{n:03d}]\n"
        for n in range(30)
    )
    names = frozenset(f"OBS-20260901-{n:03d}" for n in range(30))
    assert plan(hooks, night(1, 300)).tokens_after > 600
    assert plan(hooks, night(1, 300), in_archive=names).tokens_after <= 300


# Chunks --------------------------------------------------------------------------------------------------------------

STORY = (
    ("2026-11-10", "Kitchen renovation: the plumber Rui comes only in the mornings"),
    ("2026-11-12", "Kitchen renovation: the plumber Rui wants cash for the sink"),
    ("2026-11-15", "Kitchen renovation: the plumber Rui has mended the leak behind the sink"),
)


def story(*changed: "Optional[str]", fields: str = "dc:type=fact dc:importance=8") -> str:
    texts = [change or text for change, (_day, text) in zip((*changed, None, None, None), STORY)]
    return "".join(line(text, day, fields) for text, (day, _text) in zip(texts, STORY))


def test_three_related_lines_become_a_chunk_in_phase_2() -> None:
    found = plan(story(), night(2), chunk_number=4)
    (chunk,) = found.chunks
    assert {one.what for one in found.verdicts} == {CHUNK}
    assert (chunk.id, chunk.first, chunk.last) == ("CHUNK-20261130-005", "2026-11-10", "2026-11-15")
    assert chunk.sources == ("OBS-20261110-001", "OBS-20261112-001", "OBS-20261115-001")
    assert chunk.confidence == "established"
    assert chunk.topic == "Kitchen plumber Rui" or set(chunk.topic.split()) <= {
        "Kitchen",
        "renovation",
        "plumber",
        "Rui",
    }
    assert chunk.source_archive == "archive/observations/2026-11-30.md"
    sizes = [estimate_tokens(text) for text in (chunk.finding, *(text for _day, text in STORY))]
    assert sizes[0] <= 0.5 * sum(sizes[1:])


def test_phase_1_makes_no_chunks() -> None:
    assert plan(story(), night(1)).chunks == ()


def test_two_related_lines_are_no_chunk() -> None:
    assert plan(story("The cat is called Miso"), night(2)).chunks == ()


@pytest.mark.parametrize(
    "fields",
    [
        "dc:type=rule dc:importance=8",
        "dc:type=goal dc:importance=8",
        "dc:type=fact dc:importance=9.5",
        "dc:type=fact dc:importance=8 dc:ttl=never",
    ],
)
def test_what_is_protected_is_not_chunked(fields: str) -> None:
    assert plan(story(fields=fields), night(2)).chunks == ()


def test_a_day_to_come_is_not_chunked() -> None:
    changed = "Kitchen renovation: the plumber Rui comes on 10 December 2026"
    assert plan(story(changed), night(2)).chunks == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The plumber Rui wants 240 euros for the sink", "The plumber Rui wants 260 euros for the sink"),
        ("The plumber Rui has mended the sink", "The plumber Rui has not mended the sink"),
    ],
)
def test_what_contradicts_itself_is_not_chunked(one: str, other: str) -> None:
    notes = read_notes(line(one, "2026-11-10") + line(other, "2026-11-11"), night(2))
    assert in_conflict(*notes)
    assert plan(story(one, other), night(2)).chunks == ()


def test_lines_that_lie_far_apart_are_no_chunk() -> None:
    log = story().replace("2026-11-10", "2026-10-02").replace("20261110", "20261002")
    assert plan(log, night(2)).chunks == ()


def test_lines_of_one_day_are_a_single_source() -> None:
    log = "Date: 2026-11-10\n\n" + "".join(
        f"- 🟡 0{n}:00 {text} <!-- dc:type=fact dc:importance=8 dc:id=OBS-20261110-00{n} -->\n"
        for n, (_day, text) in enumerate(STORY, start=1)
    )
    assert [chunk.confidence for chunk in plan(log, night(2)).chunks] == ["single-source"]


words = st.sampled_from(
    "the plumber Rui came 3 times and not once did 张伟 pay. Anna owes 40 euros, too! Ask him?".split()
)
texts = st.lists(words, min_size=3, max_size=30).map(" ".join)


@given(st.lists(texts, min_size=3, max_size=6))
def test_a_finding_says_nothing_that_its_sources_do_not(sources: "list[str]") -> None:
    found = finding_of(sources)
    assert features(found).words <= frozenset().union(*(features(one).words for one in sources)) | {"…"}
    assert "\n" not in found and found


@given(st.text(max_size=400), st.sampled_from([1, 2]), st.sampled_from([100, 8_000]))
def test_a_plan_is_made_of_any_text(text: str, phase: int, target: int) -> None:
    log = f"Date: 2026-06-01\n\n- 🟡 {text}\n{text}\n"
    found = plan(log, night(phase, target))
    assert len(found.verdicts) == sum(entry.observation is not None for entry in parse_log(log))
    assert found.tokens_before == estimate_tokens(log)
