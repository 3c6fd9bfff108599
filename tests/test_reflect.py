"""What a reflection may change: the rules, the question, the answer, and the gate in front of memory."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _gate.recorded import Recorded, is_bound_to_its_day
from _likeness import adds_nothing, features
from _observations import LOW, parse_log
from _reflect import Item, halves_of, parts_of, place_of, read_items, steps_by_rule, system_prompt
from _reflect.answer import Proposal, read_changes
from _reflect.exact import restates, unfaithful
from _reflect.gate import Accepted, judge_proposals
from _reflect.items import from_place
from _reflect.question import question_about, render_part
from _state import Step
from reflect_testing import three_months

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=timezone.utc)
BERLIN = timezone(timedelta(hours=1))


def items(*lines: str, now: datetime = NOW) -> "tuple[Item, ...]":
    return read_items("\n".join(lines), now, timezone.utc)


def line(
    text: str,
    day: str = "2026-10-01",
    kind: str = "fact",
    importance: float = 4,
    clock: str = "09:00",
    more: str = "",
) -> str:
    mark = "🔴" if importance >= 6 else "🟡" if importance >= 3 else "🟢"
    clock = clock + " " if clock else ""
    return f"- {mark} {clock}{text} <!-- dc:type={kind} dc:importance={importance:g} dc:date={day}{more} -->"


def protection(one: str, now: datetime = NOW) -> str:
    (item,) = items(one, now=now)
    return item.protected


# Protected -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (line("Likes tea"), ""),
        (line("Likes tea", importance=6), "high"),
        (line("Likes tea", importance=8), "high"),
        ("- 🔴 Likes tea <!-- dc:type=fact dc:importance=2 dc:date=2026-10-01 -->", "high"),
        ("- 🟢 Likes tea <!-- dc:type=fact dc:importance=8 dc:date=2026-10-01 -->", "high"),
        (line("Never call before 10", kind="rule", importance=2), "type"),
        (line("Wants to run a marathon", kind="goal", importance=2), "type"),
        (line("Wants to run a marathon", kind="task", importance=2), "type"),
        (line("Likes tea", more=" dc:ttl=never"), "never"),
        (line("Likes tea", more=" dc:source=provisional"), "provisional"),
        (line("Never call", kind="rule", more=" dc:source=provisional"), "provisional"),
    ],
)
def test_what_matters_is_protected(one: str, why: str) -> None:
    assert protection(one) == why


@pytest.mark.parametrize(
    ("waiting", "more", "why"),
    [
        ((), " dc:source=provisional dc:id=OBS-20261001-001", ""),
        ((), " dc:source=provisional", ""),
        (("",), "", ""),
        (("OBS-20261001-002",), " dc:source=provisional dc:id=OBS-20261001-001", ""),
        (("OBS-20261001-001",), " dc:id=OBS-20261001-001", "provisional"),
    ],
)
def test_what_waits_for_an_answer_is_known_by_its_id(waiting: "tuple[str, ...]", more: str, why: str) -> None:
    (item,) = read_items(line("Likes tea", more=more), NOW, timezone.utc, waiting)
    assert item.protected == why


@pytest.mark.parametrize(
    ("one", "protected"),
    [
        (line("Dentist", day="2026-12-04"), True),
        (line("Dentist on 2026-12-04"), True),
        (line("Dentist on 2026-11-30"), True),
        (line("Dentist on 2026-11-29"), False),
        (line("Dentist on 4 December"), True),
        (line("Zahnarzt am 4. Dezember"), True),
        (line("歯医者は12月4日"), True),
        (line("Wedding in June 2027"), True),
        (line("Moved in June 2025"), False),
        (line("The plan for 2027 is done"), True),
        (line("The plan for 2026 is done"), False),
        (line("Birthday is on 3 May"), True),  # said in October: the next one
        (line("Was in Rome on 28 September"), False),
        (line("Dentist in 3 days", day="2026-11-28"), True),
        (line("Dentist in 3 days", day="2026-11-20"), False),
        (line("Dentist on Friday", day="2026-11-25"), False),  # Friday was the 27th
        (line("Dentist on Friday", day="2026-11-27"), True),
    ],
)
def test_what_names_a_day_that_has_not_passed_is_protected(one: str, protected: bool) -> None:
    assert (protection(one) == "future") == protected


@pytest.mark.parametrize(
    ("text", "protected"),
    [
        ("Plumber comes next week", True),
        ("Der Installateur kommt nächste Woche", True),
        ("Le plombier passe la semaine prochaine", True),
        ("来週は歯医者", True),
        ("Plumber comes next Friday", True),
        ("Plumber comes in a week", False),  # the 27th
        ("Rent goes up next month", True),
        ("Rent goes up in two months", True),
        ("Die Miete steigt in 3 Monaten", True),
        ("家賃は3か月後に上がる", True),
        ("Rent goes up by the end of the year", True),
        ("Fair is in December", True),
        ("La foire est en décembre", True),
        ("Fair was in December", False),
        ("It may rain at the fair", False),
        ("Fair is on 5-Dec-2026", True),
        ("Fair is in 2026-12", True),
        ("Fair is in 12/2026", True),
        ("Fair is on the 5th", True),
        ("Family meets at Christmas", True),
        ("Nobody came last week", False),
        ("The cat is 9 months old", False),
        ("The lease ends in half a year", True),
        ("The lease ends in half a month", True),
        ("The holiday starts in half a week", False),
        ("The lab moves in a few weeks", True),
        ("The lab moves in a couple of months", True),
        ("The lab moves within several months", True),
        ("The lab moves in the next two months", True),
        ("The loan is paid off in two and a half years", True),
        ("The loan is paid off in 2.5 years", True),
        ("The loan is paid off in a year and a half", True),
        ("The loan is paid off in two to three years", True),
        ("The loan is paid off two years from now", True),
        ("Rent is 900 euros a month from now on", False),
        ("Der Vertrag endet in einem halben Jahr", True),
        ("Das Labor zieht in ein paar Wochen um", True),
        ("Der Kredit läuft in anderthalb Jahren aus", True),
        ("Der Kredit läuft in zweieinhalb Jahren aus", True),
        ("Le bail finit dans deux ans et demi", True),
        ("Le labo déménage dans quelques semaines", True),
        ("El contrato acaba dentro de medio año", True),
        ("Il contratto scade tra un anno e mezzo", True),
        ("O contrato acaba daqui a alguns meses", True),
        ("Het contract loopt over een half jaar af", True),
        ("Umowa kończy się za pół roku", True),
        ("Kurs zaczyna się za 2 tygodnie", True),
        ("Курс начнётся через 2 недели", True),
        ("Договор закончится через полгода", True),
        ("契約は半年後に終わる", True),
        ("契約は2年後に終わる", True),
        ("契約は数ヶ月後に終わる", True),
        ("合同几个月后到期", True),
        ("The lab moves in a year and a half from now", True),
        ("The lab in Berlin moves in 2 months", True),
        ("九千九百九十九万天后到期", True),
        ("Ends in 九千九百九十九万 weeks", True),
        ("The cat is two and a half years old", False),
        ("Lives in Berlin for two years", False),
        ("Moved here half a year ago", False),
    ],
)
def test_a_time_to_come_need_not_be_a_date(text: str, protected: bool) -> None:
    assert (protection(line(text, day="2026-11-20", importance=1)) == "future") == protected


@pytest.mark.parametrize(
    "one",
    [
        "- 🟢 09:00 Talk about the shop <!-- dc:type=fact dc:importance=1 dc:date=2026-10-01 -->\n"
        "  - 🔴 09:05 Never deploy on Fridays",
        "- 🟢 09:00 Talk about the shop\n  - Never deploy <!-- dc:type=rule dc:importance=2 -->",
        "- 🟢 09:00 Talk about the shop\n  - Deployed <!-- dc:type=fact dc:date=2026-11-30 -->",
        "- 🟢 09:00 Never deploy <!-- dc:type=rule dc:importance=2 --> (said twice)",
        "- <!-- dc:type=rule --> 🟢 Never deploy",
        "- 🟢 09:00 Never deploy <!-- dc:type = rule dc:importance = 2 -->",
        '- 🟢 09:00 Never deploy <!-- dc:importance="9" dc:type="fact" -->',
        "- 🟢 09:00 Never deploy <!-- dc:importance=9 --> <!-- dc:type=fact -->",
        "- 🟢 09:00 Never deploy <!-- dc:importance=critical -->",
        "- 🟢 09:00 Old\r- 🔴 09:00 Never deploy\r- 🟢 Old <!-- dc:type=fact dc:importance=1 -->",
    ],
)
def test_weight_that_stands_in_an_odd_place_protects_too(one: str) -> None:
    found = items("Date: 2026-10-01", one)
    assert [bool(item.protected) for item in found] == [True]
    assert steps_by_rule(found, timezone.utc) == ()


@pytest.mark.parametrize(
    ("text", "more", "protected"),
    [
        ("Anna uses the 🔴 emoji a lot", "", False),
        ("Asked what dc:ttl=never and dc:importance=9 mean", "", False),
        ("Asked what dc:type=rule means", " (twice)", False),
        ("🔴 Anna rings at noon", "", True),
        ("Anna rings at noon", "\n  - 🔴 at noon", True),
        ("Anna rings at noon", "\n  dc:ttl=never", True),
        ("Anna rings <!-- dc:ttl=never --> at noon", "", True),
    ],
)
def test_a_word_of_a_line_is_no_mark_on_it(text: str, more: str, protected: bool) -> None:
    (found,) = items(line(text, importance=1) + more)
    assert bool(found.protected) == protected


@pytest.mark.parametrize(
    ("one", "protected"),
    [
        (line("Likes tea", day="2026-11-29", clock="09:00"), True),
        (line("Likes tea", day="2026-11-29", clock="08:59"), False),
        (line("Likes tea", day="2026-11-29", clock=""), True),
        (line("Likes tea", day="2026-11-28", clock="23:59"), False),
    ],
)
def test_the_last_24_hours_are_protected(one: str, protected: bool) -> None:
    assert (protection(one) == "recent") == protected


def test_24_hours_are_counted_in_the_persons_zone() -> None:
    one = line("Likes tea", day="2026-11-29", clock="09:30")  # 08:30 UTC for a person in Berlin
    (there,) = read_items(one, NOW, BERLIN)
    assert (there.protected, protection(one)) == ("", "recent")


# Rules ---------------------------------------------------------------------------------------------------------------


def by_rule(*lines: str) -> "list[tuple[str, str, str]]":
    """(reason, what leaves, what stands for it) of each step."""
    return [told(step) for step in steps_by_rule(items(*lines), timezone.utc)]


def told(step: Step) -> "tuple[str, str, str]":
    left = " + ".join(entry.observation.text for entry in step.leaving if entry.observation)
    kept = step.kept.observation.text if step.kept and step.kept.observation else ""
    return step.why, left, step.new.text if step.new else kept


def test_a_low_line_goes_after_7_days() -> None:
    stale = line("Had a queue at the bakery", day="2026-11-22", importance=1)
    fresh = line("Had soup at the canteen", day="2026-11-23", importance=1)
    assert by_rule(stale, fresh) == [("low and older than 7 days", "Had a queue at the bakery", "")]


@pytest.mark.parametrize(
    "one",
    [
        line("Prefers tea", kind="preference", importance=1),
        line("Never call", kind="rule", importance=1),
        line("Had a queue", importance=1, more=" dc:ttl=365"),
        line("Had a queue", importance=3),
        "- 🟡 Had a queue <!-- dc:type=fact dc:importance=1 dc:date=2026-10-01 -->",
        line("Meet Ana on 3 January 2027", importance=1),
        "- 🟢 Had a queue <!-- dc:type=fact dc:importance=1 -->",
    ],
)
def test_no_age_alone_takes_what_somebody_likes_wants_or_marked(one: str) -> None:
    assert by_rule(one) == []


def test_duplicates_become_the_most_important_of_them() -> None:
    assert by_rule(
        line("The cat is called Miso and is 9 years old"),
        line("the cat is called Miso, and is 9 years old!", day="2026-10-05", importance=5),
        line("The cat is not called Miso and is 9 years old", day="2026-10-07"),
        line("The cat is called Miso and is 10 years old", day="2026-10-09"),
    ) == [
        (
            "duplicate",
            "The cat is called Miso and is 9 years old",
            "the cat is called Miso, and is 9 years old!",
        ),
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (line("Ran 5 km", kind="event"), line("Ran 5 km", kind="event", day="2026-10-02")),
        (line("Likes tea with milk"), line("Does not like tea with milk")),
        (
            line("Prefers tea with milk", kind="preference", importance=3),
            line("Prefers tea with milk", importance=5),
        ),
        (
            line("Met Ana at the harbour", kind="habit", importance=3),
            line("Met Ana at the harbour", importance=4),
        ),
        (line("Likes tea with milk", importance=7), line("Likes tea with milk", importance=4)),
        (line("Likes tea with milk", importance=7), line("Likes tea with much milk", importance=7)),
        (
            line("Likes tea with milk", importance=7),
            line("Likes tea with milk", importance=7, kind="context"),
        ),
        (line("Likes tea with milk"), line("Likes tea with milk", more=" dc:source=provisional")),
        (line("Likes tea", importance=5), line("Likes tea", importance=5) + "\n  - green, from Japan"),
    ],
    ids="day not preference lifetime protected wording type provisional children".split(),
)
def test_what_only_looks_like_a_duplicate_stays(one: str, other: str) -> None:
    left = [raw for _why, raw, _kept in by_rule(one, other)]
    kept = {"protected": ["Likes tea with milk"], "children": ["Likes tea"]}
    # The weaker line goes where the stronger says all of it, never the other way round.
    assert left in ([], kept["protected"], kept["children"])
    for step in steps_by_rule(items(one, other), timezone.utc):
        assert all("dc:importance=7" not in entry.raw and "\n" not in entry.raw for entry in step.leaving)
        assert step.kept is not None and "provisional" not in step.kept.raw


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Prefers tea to coffee", "Prefers coffee to tea"),
        ("Loan of 40 euros goes from Anna to Ben", "Loan of 40 euros goes from Ben to Anna"),
        ("Anna pays 40 and Ben pays 50", "Anna pays 50 and Ben pays 40"),
        (
            "Room for the quarterly review with the Porto team is the blue one on the left side",
            "Room for the quarterly review with the Porto team is the blue one on the right side",
        ),
        ("Freezer in the cellar is kept at 5 degrees", "Freezer in the cellar is kept at -5 degrees"),
        ("Ticket for the museum costs $5", "Ticket for the museum costs €5"),
        ("Backups of the shop go to /data/Shop.tar", "Backups of the shop go to /data/shop.tar"),
        ("Code word of the alarm is BLUE", "Code word of the alarm is blue"),
        ("Rule of the shop is more > less", "Rule of the shop is more < less"),
        ("Анна любит зелёный чай", "Анна не любит зелёный чай"),
        ("アンナは緑茶が好き", "アンナは緑茶が好きではない"),
        ("Annaさんの店はBilbaoにあり、毎週2回開きます", "Oskarさんの店はBilbaoにあり、毎週2回開きます"),
    ],
)
@pytest.mark.parametrize("importance", [4, 7])
def test_what_differs_in_a_sign_a_letter_or_its_order_is_no_duplicate(
    one: str, other: str, importance: float
) -> None:
    assert (
        by_rule(line(one, importance=importance), line(other, day="2026-10-05", importance=importance)) == []
    )
    assert by_rule(line(one), line(other, day="2026-10-05", importance=5)) == []
    assert by_rule(line(one, importance=7), line(other, day="2026-10-05")) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Flight LH123 to Rome was cancelled", "Flight LH123 to Rome might be cancelled"),
        ("The rent for May was paid", "The rent for May must be paid"),
        ("Takes metformin daily", "Stopped: takes metformin daily"),
    ],
)
def test_a_fact_and_a_maybe_both_stay(one: str, other: str) -> None:
    assert by_rule(line(one), line(other)) == []
    assert not restates(other, one)
    assert not restates(one, other)
    assert unfaithful(one, [one, other]) and unfaithful(other, [one, other])


def test_a_line_that_says_once_is_the_likeness_of_itself() -> None:
    one = "Waters the plants once a week"
    assert restates(one, one)
    assert not restates(one, one.replace("once", "eleven times"))


def test_a_protected_line_goes_only_for_its_exact_likeness() -> None:
    rule = line("Never call before 10", kind="rule")
    again = line("Never call before 10.", kind="rule", day="2026-10-02")
    assert by_rule(rule, again) == [("duplicate", "Never call before 10", "Never call before 10.")]
    assert by_rule(rule, line("Never ever call before 10", kind="rule")) == []


@pytest.mark.parametrize(
    ("text", "kind", "written"),
    [
        ("Dentist tomorrow", "event", "Dentist 2026-10-02"),
        ("Saw the film yesterday", "event", "Saw the film 2026-09-30"),
        ("Dentist in 3 days", "event", "Dentist 2026-10-04"),
        ("Der Zahnarzt ist in drei Tagen", "event", "Der Zahnarzt ist 2026-10-04"),
        ("Paris übermorgen, sagt die Ärztin", "event", "Paris 2026-10-03, sagt die Ärztin"),
        ("明日は歯医者です", "event", "2026-10-02は歯医者です"),
    ],
)
def test_relative_days_that_have_passed_become_dates(text: str, kind: str, written: str) -> None:
    stale = line("Had a very long queue at the bakery in the old town again", importance=1)
    assert by_rule(stale, line(text, kind=kind))[1:] == [("relative time made a date", text, written)]


@pytest.mark.parametrize(
    "one",
    [
        line("Finished the march in 3 days", kind="event"),
        line("Dentist next Friday", kind="event"),
        line("Dentist tomorrow", kind="event", day="2026-11-29"),
        line("Call tomorrow", kind="rule"),
        line("Dentist tomorrow (2026-10-02)", kind="event"),
        line("Saw the film yesterday", kind="event", day="0001-01-01"),
        line("Dentist tomorrow", kind="event") + "\n  - bring the card",
    ],
)
def test_what_is_uncertain_protected_or_dated_stays_as_it_is(one: str) -> None:
    stale = line("Had a very long queue at the bakery in the old town again", importance=1)
    assert len(by_rule(stale, one)) == 1


def test_a_log_does_not_grow_by_dates() -> None:
    assert by_rule(line("Met her yesterday", kind="event")) == []


@given(
    st.lists(
        st.builds(
            lambda words, day, kind: line(" ".join(words), day=f"2026-10-0{day}", kind=kind, clock=""),
            st.lists(
                st.sampled_from(
                    "Anna tea green tea, boat boat. 5 6 not *likes* the of 茶を飲む (…) every".split()
                ),
                min_size=1,
                max_size=6,
            ),
            st.integers(1, 2),
            st.sampled_from(("fact", "event")),
        ),
        max_size=12,
    )
)
def test_what_says_the_same_is_found_as_if_each_line_were_compared_with_each(lines: "list[str]") -> None:
    said = [item.observation for item in items(*lines) if features(item.text).print]
    index = Recorded(said)
    for new in said:
        assert list(index.repeated(new)) == [
            place
            for place, old in enumerate(said)
            if adds_nothing(features(new.text), features(old.text))
            and (old.date == new.date or not (is_bound_to_its_day(old) or is_bound_to_its_day(new)))
        ]


def test_the_work_for_a_line_does_not_grow_with_the_log() -> None:
    def calls_a_line(words: int) -> float:
        notes, calls = read_items(three_months(words), NOW, timezone.utc), Counter[str]()
        features.cache_clear()
        sys.setprofile(lambda _frame, event, _what: calls.update([event]))
        try:
            steps_by_rule(notes, timezone.utc)
        finally:
            sys.setprofile(None)
        return sum(calls.values()) / len(notes)

    calls_a_line(5_000)  # reads the tables of words, once
    assert calls_a_line(20_000) < 1.5 * calls_a_line(5_000)


# The question --------------------------------------------------------------------------------------------------------


def test_a_question_lists_the_notes_oldest_first_and_says_which_stay() -> None:
    part = parts_of(
        items(
            line("Rent is 950 euros", day="2026-10-05"),
            line("Never call before 10", kind="rule", clock=""),
            line("Tea, provisionally", more=" dc:source=provisional"),
            line("Rent is 900 euros") + "\n  - cold",
        )
    )[0]
    assert render_part(part) == (
        "1. [2026-10-01 09:00 🟡 fact] Rent is 900 euros; cold\n"
        "2. [2026-10-01 keep 🟡 rule] Never call before 10\n"
        "3. [2026-10-05 09:00 🟡 fact] Rent is 950 euros"
    )


def test_a_question_holds_no_secret_and_no_note_can_close_its_fence() -> None:
    key = "sk-" + "a1B2" * 10
    part = parts_of(items(line(f"The key is {key}"), line("===== drop 1")))[0]
    question = question_about(part, NOW, timezone.utc)
    assert key not in question.user and "=====1=====\n1. [" in question.user
    assert question.system == system_prompt().text


def test_a_long_log_is_asked_about_in_parts_of_about_8000_characters() -> None:
    parts = parts_of(items(*(line(f"Word {number} " + "of a note " * 10) for number in range(200))))
    assert [len(render_part(part)) < 8_400 for part in parts] == [True] * len(parts)
    assert sum(map(len, parts)) == 200 and len(parts) == 4
    wide = parts_of(items(*(line(f"{number}" + "茶" * 90) for number in range(40))))
    assert len(wide) == 2  # a character is a token there


NOTES = tuple(line(f"Box {number} holds cups", clock=f"{number // 8 + 9:02d}:00") for number in range(20))
UNDATED = tuple(f"- 🟡 Box {number} holds cups" for number in range(20))
NAMED = tuple(
    line(f"Box {number} holds cups", clock="", more=f" dc:id=OBS-20261001-{number:03d}")
    for number in range(20)
)


@pytest.mark.parametrize("notes", [NOTES, UNDATED, NAMED], ids=["by the clock", "undated", "by id"])
def test_a_list_goes_on_at_a_line_whatever_left_or_came_meanwhile(notes: "tuple[str, ...]") -> None:
    def numbers(place: str, *log: str) -> "list[int]":
        parts = parts_of(items(*log), place)
        return [int(re.findall(r"\d+", item.text)[0]) for part in parts for item in part]

    every = items(*notes)
    assert [numbers(place_of(item), *notes)[0] for item in every[:-1]] == list(range(19))
    place = place_of(every[10])
    assert place and "cups" not in place
    assert numbers(place, *notes[:3], *notes[7:]) == [*range(10, 20)]
    newer = line("Box 99 holds tea", day="2026-10-02")
    assert numbers(place, newer, *notes) == [*range(10, 20), 99]
    # That line itself is gone: on with its moment, which nothing else tells apart from the notes around it.
    again = numbers(place, *notes[:10], *notes[11:])
    assert again == [*(range(8, 10) if notes is NOTES else range(10)), *range(11, 20)]


def test_lines_that_nothing_tells_apart_do_not_lead_back() -> None:
    alike = items(*[line("Ran", more=f" dc:x=1{'' if number % 2 else ' '}") for number in range(6)])
    assert from_place(alike, place_of(alike[3]))[0].position >= 3


def test_a_part_in_which_nothing_may_change_is_not_asked_about() -> None:
    assert parts_of(items(line("Never call", kind="rule"), line("Wants a boat", kind="goal"))) == []
    assert parts_of(items(line("Likes tea"))) == []


def test_a_part_is_halved_until_there_is_nothing_to_compare() -> None:
    part = items(*(line(f"Note {number}") for number in range(5)))
    first, second = halves_of(part)
    assert (len(first), len(second)) == (2, 3)
    assert halves_of(second) == ()


# The answer ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "proposals"),
    [
        ("drop 5", [Proposal((5,))]),
        ("drop 5: no longer true", [Proposal((5,))]),
        ("Drop 5 by 9: out of date", [Proposal((5,), by=9)]),
        ("drop 5, 6 by 9", [Proposal((5,), by=9), Proposal((6,), by=9)]),
        ("- drop #5 by #9", [Proposal((5,), by=9)]),
        ("merge 3 7: Likes tea", [Proposal((3, 7), "Likes tea")]),
        ("merge 3, 7 and 8: Likes tea", [Proposal((3, 7, 8), "Likes tea")]),
        (
            "merge 3 7: - 🟡 09:14 Likes tea <!-- dc:type=rule dc:importance=9 -->",
            [Proposal((3, 7), "Likes tea")],
        ),
        ("merge 3 7: [2026-10-01 🟡 fact] Likes tea", [Proposal((3, 7), "Likes tea")]),
        ("Here you are:\nmerge 3 7: Likes tea\nThat is all.", [Proposal((3, 7), "Likes tea")]),
        ("UNCHANGED", []),
        ("**unchanged.**", []),
    ],
)
def test_changes_are_read(answer: str, proposals: "list[Proposal]") -> None:
    assert read_changes(answer, 9) == (proposals, "")


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("", "prose"),
        ("I have tidied everything up.", "prose"),
        ("I would drop 5 by 9.", "prose"),
        ("merge 3 7:", "prose"),
        ("merge all: Likes tea", "prose"),
        ("The log is unchanged since nothing is wrong.", "prose"),
        ("- 🟡 Likes tea\n- 🟡 Rent is 900\n- 🔴 Never call", "list"),
        ("drop 1\n" * 40, "loop"),
    ],
)
def test_what_is_no_answer_is_told_apart(answer: str, fault: str) -> None:
    assert read_changes(answer, 9) == ([], fault)


def test_the_last_line_of_a_cut_answer_does_not_count() -> None:
    assert read_changes("drop 5 by 9\ndrop 1", 19, cut=True) == ([Proposal((5,), by=9)], "")
    assert read_changes("drop 5 by 9\ndrop 12\n", 19, cut=True)[0][1] == Proposal((12,))


def test_every_example_of_the_prompt_is_read_and_passes_the_gate() -> None:
    examples = re.findall(r"Example:\n(.*?)\nExample answer:\n(.*?)(?:\n\n|\Z)", system_prompt().text, re.S)
    assert len(examples) == 2
    accepted = 0
    for notes, answer in examples:
        shown = []
        for number, label, text in re.findall(r"(?m)^(\d+)\. \[([^\]]*)\] (.*)$", notes):
            words = label.replace("keep ", "").split()
            shown.append(f"- {words[2]} {words[1]} {text} <!-- dc:type={words[3]} dc:date={words[0]} -->")
            assert int(number) == len(shown)
        read = items(*shown)
        assert render_part(read) == notes
        proposals, fault = read_changes(answer, len(read))
        judged = judge_proposals(proposals, read, "test/model")
        assert (fault, judged.refused) == ("", {})
        accepted += len(judged.steps)
    assert accepted == 2


# The gate ------------------------------------------------------------------------------------------------------------


def judged(answer: str, *lines: str) -> Accepted:
    read = items(*lines)
    proposals, fault = read_changes(answer, len(read))
    assert fault == ""
    return judge_proposals(proposals, read, "test/model")


def merged(text: str, *lines: str) -> "tuple[str, str]":
    """("accepted", the new line's text) or (the reason, "") for merging all the lines."""
    found = judged(f"merge {' '.join(map(str, range(1, len(lines) + 1)))}: {text}", *lines)
    if found.steps:
        assert not found.refused and found.steps[0].new is not None
        return "accepted", found.steps[0].new.text
    return next(iter(found.refused)), ""


ID = " dc:id=OBS-20261001-001"
ANNA = line("Anna runs the bakery at the harbour", day="2026-10-01")
OPEN = line("The bakery that Anna runs opens at 7", day="2026-10-03", clock="18:30")


def test_a_merge_that_holds_all_of_its_sources_is_taken() -> None:
    text = "Anna runs the bakery at the harbour that opens at 7"
    (step,) = judged(f"merge 1 2: {text}", ANNA, OPEN).steps
    assert step.new is not None
    assert (step.new.text, step.new.date, step.new.time, step.new.type) == (
        text,
        "2026-10-03",
        "18:30",
        "fact",
    )
    assert (step.why, step.by, step.new.id, step.kept) == ("merged", "test/model", "", None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Anna runs the bakery at the harbour that opens at 8", "ungrounded_number"),
        ("Anna runs the bakery at the harbour, opens at 7, see /srv/a.md", "ungrounded_path"),
        ("Anna runs the bakery at the harbour, opens at 7, https://x.example", "ungrounded_path"),
        ("Anna runs the harbour bakery that opens at 7 on 2026-12-24", "ungrounded_date"),
        ("Anna and Ben run the bakery at the harbour that opens at 7", "invented_name"),
        ("Anna hates the dreadful gloomy bakery at the harbour that opens at 7", "invented_words"),
        ("Anna runs the bakery at the harbour that opens early", "lost_number_or_name"),
        ("The bakery at the harbour that opens at 7 runs well", "lost_number_or_name"),
        ("The bakery opens at 7 and Anna runs it", "lost_number_or_name"),  # the order is another one
        ("Anna never runs the bakery at the harbour that opens at 7", "negation"),
        ("Anna: opens at 7", "lost_words"),
        (
            "Anna runs the bakery at the harbour; the bakery that Anna runs opens at 7, at the harbour",
            "not_shorter",
        ),
        ("NO_OBSERVATIONS Anna runs the bakery at the harbour opens at 7", "not_a_note"),
    ],
)
def test_a_merge_that_invents_or_loses_something_is_refused(text: str, reason: str) -> None:
    assert merged(text, ANNA, OPEN) == (reason, "")


@pytest.mark.parametrize(
    ("one", "other", "text", "reason"),
    [
        (line("Likes green tea"), line("Owns a boat"), "Likes green tea, owns a boat", "unrelated"),
        (
            line("Ran 5 km by the river", kind="event"),
            line("Ran 5 km by the river again", kind="event", day="2026-10-02"),
            "Ran 5 km by the river again",
            "another_day",
        ),
        (
            line("Dentist tomorrow at the clinic"),
            line("Dentist is at the clinic in town", day="2026-10-09"),
            "Dentist tomorrow at the clinic in town",
            "another_day",
        ),
        (
            line("Likes tea with milk"),
            line("Likes no tea with sugar"),
            "Likes tea with milk, no sugar",
            "negation",
        ),
        (
            line("Bob said: the key of the shop is under the pot"),
            line("The key of the shop is under the blue pot"),
            "The key of the shop is under the blue pot",
            "another_speaker",
        ),
        (
            line("Prefers tea in the morning", kind="preference"),
            line("Prefers tea in the morning with milk"),
            "Prefers tea in the morning with milk",
            "type",
        ),
        (
            line("Anna owes 40 for the boat"),
            line("Ben owes 50 for the boat"),
            "Anna owes 50 and Ben owes 40 for the boat",
            "lost_number_or_name",
        ),
        (
            line("Prefers tea to coffee"),
            line("Prefers tea to coffee in the morning"),
            "Prefers coffee to tea in the morning",
            "turned_around",
        ),
        (
            line("Anna runs the bakery at the harbour"),
            line("Anna likes tea more than coffee"),
            "Anna runs the bakery at the harbour, likes coffee more than tea",
            "turned_around",
        ),
        (
            line("Notes are in ~/docs/plan.md for the shop"),
            line("Plans for the shop are in docs"),
            "Plans for the shop are in plan.md of docs",
            "lost_path",
        ),
    ],
)
def test_lines_that_do_not_belong_together_are_not_merged(
    one: str, other: str, text: str, reason: str
) -> None:
    assert merged(text, one, other) == (reason, "")


MOTHER, FATHER = "Mother is allergic to penicillin", "Father is allergic to peanuts"
MINE, THINE = "Mother takes the blue pills in the morning", "Father takes the red pills in the evening"
VODAFONE, TELEKOM = "Contract with Vodafone was cancelled", "Contract with Telekom was signed"
ALPHA, BETA = "Server alpha runs Postgres 15", "Server beta runs Postgres 17"


@pytest.mark.parametrize(
    ("one", "other", "text", "reason"),
    [
        (MOTHER, FATHER, "Mother and Father is allergic to penicillin and peanuts", "mixed"),
        (MOTHER, FATHER, "Mother is allergic to penicillin and peanuts", "lost_words"),
        (MINE, THINE, "Mother Father takes the blue red pills in the morning evening", "mixed"),
        (VODAFONE, TELEKOM, "Contract with Vodafone and Telekom was cancelled and signed", "mixed"),
        (ALPHA, BETA, "Server alpha beta runs Postgres 15 17", "mixed"),
        ("Server A runs Postgres 15", "Server B runs Postgres 17", "Server A B runs Postgres 15 17", "mixed"),
        (
            "Alexander is allergic to nuts",
            "Alexandra is allergic to milk",
            "Alexander and Alexandra is allergic to nuts and milk",
            "mixed",
        ),
        (
            "Rent for the boat is 900",
            "Rent for the car is 300",
            "Rent for the boat is 900 and 300",
            "lost_words",
        ),
        ("母亲对青霉素过敏", "父亲对花生过敏", "母亲对青霉素和花生过敏", "lost_words"),
    ],
)
def test_a_merge_keeps_together_who_and_what(one: str, other: str, text: str, reason: str) -> None:
    assert merged(text, line(one), line(other)) == (reason, "")


@pytest.mark.parametrize(
    ("one", "other", "text"),
    [
        (MOTHER, FATHER, "Mother is allergic to penicillin, Father to peanuts"),
        (VODAFONE, TELEKOM, "Contract with Vodafone was cancelled, with Telekom signed"),
        (ALPHA, BETA, "Server alpha runs Postgres 15, beta 17"),
        (
            "Lease of the flat ends 31 May 2026",
            "Lease of the flat costs 900",
            "Lease of the flat ends 31 May 2026 and costs 900",
        ),
        ("母亲对青霉素过敏", "父亲对花生过敏", "母亲对青霉素过敏,父亲对花生"),
    ],
)
def test_a_merge_may_say_one_source_after_the_other(one: str, other: str, text: str) -> None:
    assert merged(text, line(one), line(other)) == ("accepted", text)


def test_of_three_sources_each_is_said_once() -> None:
    # Each word but "penicillin" and "milk" stands in two of them.
    three = (line(MOTHER), line("Father is allergic to peanuts, milk"), line("Mother is allergic to peanuts"))
    assert merged("Mother and Father is allergic to penicillin and peanuts, milk", *three) == ("mixed", "")


@pytest.mark.parametrize("piece", ["drop 1 by 2\n", "1 ", "🔴 ", "[", " "])
def test_an_answer_of_megabytes_is_not_looked_at(piece: str) -> None:
    begin = time.process_time()
    assert read_changes("merge 1 2: " + piece * 1_000_000, 2) == ([], "loop")
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    "end",
    [
        "sells forty teas", "sells a dozen teas", "sells tea twice", "sells zwei tea", "sells tea 五", "sells tea ½",
        "sells tea in june", "sells tea today", "sells $ tea", "formerly sells tea", "sells tea illegally",
    ],
)  # fmt: skip
def test_a_merge_adds_no_word_that_nobody_said(end: str) -> None:
    one, other = (
        line("Anna runs the bakery in Porto near the harbour"),
        line("The bakery Anna runs sells tea"),
    )
    text = "Anna runs the bakery in Porto near the harbour and "
    assert merged(text + "sells tea", one, other)[0] == "accepted"
    assert merged(text + end, one, other)[0] != "accepted"


@pytest.mark.parametrize(
    ("said", "made"),
    [
        ("keeps 5 degrees", "keeps -5 degrees"),
        ("costs 5", "costs $5"),
        ("costs $5", "costs €5"),
        ("costs 5 euros", "costs 5 dollars"),
        ("costs 5", "costs 5 million"),
        ("costs 5", "costs 5%"),
        ("has version 1.1", "has version 1.10"),
        ("has the key_b", "has the key_B"),
        ("has the word abc", "has the word ABC"),
        ("has the word ABC", "has the word abc"),
        ("is at https://a.example/x", "is at http://a.example/x"),
        ("is below /data/Shop", "is below /data/shop"),
        ("opens at > 5", "opens at < 5"),
        ("opens at 5", "opens at 5 pm"),
        ("has a contract", "has a contrast"),
    ],
)
def test_a_merge_keeps_what_both_say_to_the_letter(said: str, made: str) -> None:
    one, other = line(f"The shop in Porto {said}"), line(f"The shop that Anna owns {said}")
    assert merged(f"The shop in Porto that Anna owns {said}", one, other)[0] == "accepted"
    assert merged(f"The shop in Porto that Anna owns {made}", one, other)[0] != "accepted"


@pytest.mark.parametrize(
    ("one", "later"),
    [
        ("The shop is kept at 5", "The shop is kept at -5 now"),
        ("The report is in /data/A.txt", "The report is in /data/a.txt now"),
        ("The ticket is $5", "The ticket is €5 now"),
        ("Анна любит чай", "Анна больше не любит чай"),
        ("アンナは茶が好き", "アンナは茶が好きではない"),
    ],
)
def test_no_note_goes_for_one_that_differs_in_a_sign_or_a_not(one: str, later: str) -> None:
    found = items(line(one), line(later, day="2026-10-05"))
    assert judge_proposals([Proposal((1,), by=2)], found, "test/model").steps == ()


def test_two_days_may_be_one_line_that_names_both() -> None:
    assert merged(
        "Ran 5 km by the river on 2026-10-01 and again",
        line("Ran 5 km by the river with the dog", kind="event"),
        line("Ran 5 km by the river with the dog again", kind="event", day="2026-10-02"),
    ) == ("accepted", "Ran 5 km by the river on 2026-10-01 and again")


def test_one_line_may_be_said_shorter() -> None:
    long = line(
        "Anna, as she told at length in that long talk some time ago, runs the bakery at the harbour", more=ID
    )
    assert (
        merged("Anna, as told at length in a long talk, runs the bakery at the harbour", long)[0]
        == "accepted"
    )


def test_chinese_is_merged_by_its_characters() -> None:
    one, other = line("安娜在波尔图经营一家面包店"), line("安娜在波尔图的面包店早上七点开门")
    assert merged("安娜在波尔图经营一家面包店，早上七点开门", one, other)[0] == "accepted"
    assert merged("安娜在波尔图经营一家面包店，早上八点开门", one, other)[0] != "accepted"


def test_type_weight_and_mark_are_the_strongest_of_the_sources_whatever_the_model_says() -> None:
    (step,) = judged(
        "merge 1 2: - 🔴 Anna runs the bakery at the harbour that opens at 7 <!-- dc:type=context dc:importance=9 -->",
        line(
            "Anna runs the bakery at the harbour",
            kind="context",
            importance=5.5,
            more=" dc:decayed=2026-10-09",
        ),
        line("The bakery that Anna runs opens at 7", kind="fact", importance=2),
    ).steps
    assert step.new is not None
    assert (step.new.type, step.new.importance, step.new.priority) == ("fact", 5.5, "🟡")
    assert step.new.decayed == "2026-10-09"


def test_a_new_line_stands_for_no_answer_that_is_still_to_come() -> None:
    late = line("The bakery that Anna runs opens at 7", day="2026-10-03", more=" dc:source=provisional")
    read = read_items(f"{ANNA}\n{late}", NOW, timezone.utc, waiting=())
    changes, _fault = read_changes("merge 1 2: Anna runs the bakery at the harbour that opens at 7", 2)
    (step,) = judge_proposals(changes, read, "test/model").steps
    assert step.new is not None and step.new.source == ""


def test_a_secret_does_not_get_into_a_new_line() -> None:
    key = "sk-" + "a1B2" * 10
    found = judged(f"merge 1 2: Anna runs the bakery at the harbour, opens at 7 {key}", ANNA, OPEN)
    assert all(step.new is not None and key not in step.new.text for step in found.steps)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("drop 1 by 9", "no_such_number"),
        ("drop 0 by 2", "no_such_number"),
        ("drop 2 by 1", "not_later"),
        ("drop 1 by 1", "named_twice"),
        ("drop 3 by 2", "protected"),
        ("merge 1 3: Rent for the shop is 900 euros", "protected"),
        ("drop 1", "no_successor"),
        ("drop 1 by 4", "not_restated"),
        ("drop 1 by 5", "weaker"),
        ("drop 1 by 6", "type"),
        ("drop 1 by 7", "another_speaker"),
        ("drop 1 by 8", "provisional"),
    ],
)
def test_a_drop_needs_a_later_note_on_the_same_thing(answer: str, reason: str) -> None:
    found = judged(
        answer,
        line("Rent for the shop is 900 euros", kind="preference"),
        line("Rent for the shop is 950 euros", day="2026-10-05", kind="preference"),
        line("Never pay the rent for the shop late", kind="rule"),
        line("Likes tea", day="2026-10-05", kind="preference"),
        line("Rent for the shop is 970 euros", day="2026-10-05", kind="preference", importance=2),
        line("Rent for the shop is 980 euros", day="2026-10-05", kind="habit"),
        line("Bob said: rent for the shop is 990 euros", day="2026-10-05", kind="preference"),
        line(
            "Rent for the shop is 999 euros",
            day="2026-10-05",
            kind="preference",
            more=" dc:source=provisional",
        ),
    )
    assert (found.steps, found.refused) == ((), {reason: 1})


def test_what_is_superseded_goes_for_the_later_note_also_for_a_protected_one() -> None:
    old = line("Rent for the shop is 900 euros")
    new = line("Rent for the shop is 900 euros, 950 from April on", day="2026-10-05", importance=7)
    (step,) = judged("drop 1 by 2", old, new).steps
    assert told(step) == (
        "superseded",
        "Rent for the shop is 900 euros",
        "Rent for the shop is 900 euros, 950 from April on",
    )


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "Ben's dentist appointment cost 90 euros",
            "Anna's dentist appointment cost 50 euros",
            "not_restated",
        ),
        ("The bank card of Maria ends in 4471", "The bank card of Pedro ends in 9913", "not_restated"),
        ("Server alpha runs Postgres 15", "Server beta runs Postgres 17", "not_restated"),
        ("Server A runs Postgres 15", "Server B runs Postgres 15, port 5432", "not_restated"),
        ("Invoice 4471 from Acme is paid", "Invoice 4472 from Acme is paid", "not_restated"),
        ("The key of the boat is in the car", "The key of the car is in the boat, box 3", "not_restated"),
        ("Alexander is allergic to nuts", "Nuts and milk: Alexandra is allergic to 2", "not_restated"),
        ("母亲对青霉素过敏", "父亲对青霉素过敏, 2 次", "not_restated"),
        ("The boat of Ana is paid", "The boat of Ana is not paid, 40 are open", "negation"),
        (
            "Notes of Ana are in ~/a/plan.md",
            "Notes of Ana are in ~/b/plan.md and ~/a, 2 of them",
            "not_restated",
        ),
    ],
)
def test_a_note_goes_only_for_one_that_says_all_of_it(old: str, new: str, reason: str) -> None:
    assert judged("drop 1 by 2", line(old), line(new, day="2026-10-05")).refused == {reason: 1}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ben's dentist cost 90 euros", "Ben's dentist cost 90 euros, the next visit 50"),
        ("The boat of Ana has seven seats", "The boat of Ana has 7 seats and 2 sails"),
        ("母亲对青霉素过敏", "母亲对青霉素过敏, 2 次"),
    ],
)
def test_a_note_goes_for_one_that_says_all_of_it_and_more(old: str, new: str) -> None:
    (step,) = judged("drop 1 by 2", line(old), line(new, day="2026-10-05")).steps
    assert told(step) == ("superseded", old, new)


def test_a_fact_does_not_go_for_what_itself_goes_sooner() -> None:
    found = judged(
        "drop 1 by 2",
        line("Anna lives in the house at the harbour"),
        line("Anna left the house at the harbour", kind="event", day="2026-10-05"),
    )
    assert found.refused == {"type": 1}


def test_a_repeat_on_another_day_supersedes_nothing() -> None:
    runs = [
        line("Ran 5 km by the river", kind="event"),
        line("Ran 5 km by the river in 30 minutes", kind="event", day="2026-10-02"),
    ]
    assert judged("drop 1 by 2", *runs).refused == {"another_day": 1}


def test_a_bare_drop_takes_only_what_is_low_and_old_or_said_again() -> None:
    low = line("Had a queue at the bakery", importance=1)
    twice = [line("Anna runs the bakery"), line("Anna runs the big bakery", day="2026-10-02")]
    found = judged("drop 1\ndrop 2\ndrop 3", low, *twice)
    assert [told(step) for step in found.steps] == [
        ("low and older than 7 days", "Had a queue at the bakery", ""),
        ("duplicate", "Anna runs the bakery", "Anna runs the big bakery"),
    ]
    assert found.refused == {"named_twice": 1}


def test_no_note_is_in_two_changes() -> None:
    found = judged("merge 1 2: Anna runs the bakery at the harbour that opens at 7\ndrop 1 by 2", ANNA, OPEN)
    assert (len(found.steps), found.refused) == (1, {"named_twice": 1})


# Anything at all -----------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    "Anna Ben tea boat 5 900 2026-10-01 never /srv/a.md tomorrow harbour rent 茶 https://x.example runs 🔴 -".split()
)
TEXTS = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
LINES = st.builds(
    lambda text, day, kind, weight: line(text, f"2026-{day}", kind, weight),
    TEXTS,
    st.sampled_from(("10-01", "10-02", "11-29", "12-24")),
    st.sampled_from(("fact", "event", "rule", "preference", "context")),
    st.sampled_from((1, 4, 5.9, 7)),
)
ANSWERS = st.lists(
    st.one_of(
        st.builds(lambda a, b, text: f"merge {a} {b}: {text}", st.integers(0, 7), st.integers(0, 7), TEXTS),
        st.builds(lambda a, b: f"drop {a} by {b}", st.integers(0, 7), st.integers(0, 7)),
        st.builds(lambda a: f"drop {a}", st.integers(0, 7)),
        st.text(max_size=30),
    ),
    max_size=6,
).map("\n".join)


@settings(max_examples=150)
@given(st.lists(LINES, max_size=6), ANSWERS)
def test_whatever_a_model_answers_no_protected_line_leaves_and_nothing_is_invented(
    lines: "list[str]", answer: str
) -> None:
    read = items(*lines)
    proposals, _fault = read_changes(answer, len(read))
    found = judge_proposals(proposals, read, "test/model")
    left = [id(entry) for step in found.steps for entry in step.leaving]
    assert len(left) == len(set(left))
    kept = {id(step.kept) for step in found.steps if step.kept}
    assert not kept & set(left)
    protected = {id(item.entry) for item in read if item.protected}
    assert not protected & set(left)
    for step in found.steps:
        assert step.new is not None or step.kept is not None or step.leaving[0].observation.priority == LOW
        if step.new is not None:
            said = " ".join(entry.raw for entry in step.leaving)
            assert all(number in said for number in re.findall(r"\d+", step.new.text))


@settings(max_examples=100)
@given(
    st.lists(st.one_of(LINES, st.sampled_from(("", "## Notes", "Date: 2026-10-03", "- bare"))), max_size=8)
)
def test_the_rules_are_done_after_one_pass_and_take_nothing_twice(lines: "list[str]") -> None:
    read = items(*lines)
    steps = steps_by_rule(read, timezone.utc)
    left = {id(entry) for step in steps for entry in step.leaving}
    assert len(left) == sum(len(step.leaving) for step in steps)
    assert not {id(step.kept) for step in steps if step.kept} & left
    assert len(parse_log("\n".join(lines))) >= len(read)
