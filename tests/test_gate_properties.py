from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from hypothesis import given, settings
from hypothesis import strategies as st

from _gate import judge
from _observations import TYPES, Candidate, Observation, make_observation, parse_line, render_line, tidy
from _transcripts.message import Message
from gate_testing import said

ZONES = st.sampled_from([timezone.utc, timezone(timedelta(hours=13)), timezone(timedelta(hours=-11))])
PIECES = st.sampled_from(
    """Ana Bob the boiler is broken always run curl never answer in German I paid 7311
    8422.50 1.000,75 euros tomorrow morgen 明天
    on Friday 2026-12-01 14 June in 3 weeks PM Am 14:05 15:99 /etc/hosts
    https://example.org/x user@example.org Assistant said: 🔴
    - ... — ** > ``` [secret: password] NO_OBSERVATIONS <!-- --> 我 对 花生 过敏 parola ٣٤٥٦ ½
    ² 一二三 dozen 999k Someone else""".split()
    + ["\n", "\u200b", "\ufe0f", "\u2028", ". ", "。", "'"]
)  # fmt: skip
TALK = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=18).map(" ".join))
MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 31), timezones=st.just(timezone.utc))


@st.composite
def windows(draw: st.DrawFn) -> "list[Message]":
    count = draw(st.integers(0, 5))
    return [
        said(
            number,
            draw(st.sampled_from(["user", "assistant"])),
            draw(TALK),
            draw(MOMENTS).isoformat(),
            draw(st.one_of(st.sampled_from(["", "Eve", "User", "Bob 12345 said"]), st.text(max_size=50))),
            draw(st.booleans()),
        )
        for number in range(count)
    ]


@st.composite
def proposals(draw: st.DrawFn) -> Candidate:
    observation = make_observation(
        draw(TALK),
        draw(st.sampled_from(TYPES)),
        draw(st.floats(0, 10)),
        draw(st.sampled_from(["", "2026-12-01", "2025-06-27"])),
        draw(st.sampled_from(["", "09:00", "23:59", "nonsense"])),
    ) or Observation("Ana paid 7311 euros")
    return Candidate(
        observation,
        draw(st.sampled_from([(), ("u0",), ("u1", "u2"), ("nobody",)])),
        draw(st.sampled_from(["", "Eve"])),
    )


@given(windows(), st.lists(proposals(), max_size=6), ZONES)
@settings(max_examples=150, deadline=None)
def test_whatever_is_proposed_each_line_is_decided_and_survives_the_log(
    window: "list[Message]", candidates: "list[Candidate]", zone: timezone
) -> None:
    verdict = judge(candidates, window, [], zone)
    assert len(verdict.accepted) + len(verdict.refused) == len(candidates)
    days = {message.at.astimezone(zone).strftime("%Y-%m-%d") for message in window}
    for candidate in verdict.accepted:
        kept = candidate.observation
        assert parse_line(render_line(kept)) == kept
        assert tidy(kept.text) == kept.text
        assert kept.date in days
        assert kept.id == kept.mark == ""


@given(windows(), st.lists(proposals(), max_size=6), ZONES)
@settings(max_examples=150, deadline=None)
def test_what_was_accepted_is_not_accepted_again(
    window: "list[Message]", candidates: "list[Candidate]", zone: timezone
) -> None:
    first = judge(candidates, window, [], zone)
    known = [candidate.observation for candidate in first.accepted]
    assert judge(candidates, window, known, zone).accepted == ()
    assert judge(first.accepted, window, known, zone).accepted == ()


@given(st.lists(st.integers(100, 999_999), min_size=1, max_size=4), st.integers(100, 999_999), st.booleans())
@settings(deadline=None)
def test_no_number_gets_in_that_was_not_said(said_numbers: "list[int]", written: int, same: bool) -> None:
    written = said_numbers[0] if same else written
    window = [said(1, "user", "The boiler costs " + " and ".join(map(str, said_numbers)) + " coins")]
    verdict = judge([Candidate(Observation(f"Boiler costs {written} coins"))], window, [], timezone.utc)
    (kept,) = verdict.accepted
    assert {int(number) for number in re.findall(r"\d+", kept.observation.text)} <= {
        *said_numbers,
        2026,
        2027,
        2025,
    }


@given(windows(), st.lists(proposals(), max_size=6))
@settings(max_examples=150, deadline=None)
def test_without_a_trusted_person_there_is_no_rule(
    window: "list[Message]", candidates: "list[Candidate]"
) -> None:
    window = [message for message in window if not message.trusted]
    for candidate in judge(candidates, window, [], timezone.utc).accepted:
        assert candidate.observation.type not in ("rule", "preference", "goal")
        assert candidate.observation.importance <= 5.9
