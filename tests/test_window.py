"""The window: cutting, packing, halving, writing it down for a model, reading its answer."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _gate import mask_secrets
from _observations import Candidate, Observation
from _transcripts.message import Cursor, Message
from _window import (
    Window,
    cut_message,
    halve,
    pack,
    read_answer,
    render_now,
    render_transcript,
    select_known,
)

MORNING = datetime(2026, 11, 30, 8, 0, tzinfo=timezone.utc)
BERLIN = ZoneInfo("Europe/Berlin")


def said(
    text: str,
    number: int = 1,
    session: str = "s1",
    at: datetime = MORNING,
    role: str = "user",
    sender: str = "",
    trusted: bool = True,
    first_char: int = 0,
    generation: str = "",
    before: "Cursor | None" = None,
) -> Message:
    after = Cursor("jsonl", session, number * 100, f"e{number}", generation=generation, since_ms=77)
    return Message(
        session,
        "agent:main:main",
        f"e{number}",
        f"u{number}",
        role,
        text,
        at,
        sender,
        trusted,
        after,
        first_char,
        before,
    )


BEFORE = Cursor("jsonl", "s1", 40, "e0")
TEXTS = st.text(st.sampled_from("ab .\n。é🎈\udc80"), max_size=120)
MESSAGES = st.lists(
    st.builds(said, TEXTS, st.integers(1, 9), st.sampled_from(["s1", "s2"])), min_size=1, max_size=8
)


# Cutting -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("short", ["short"]),
        ("exactly ten", ["exactly ", "ten"]),
        ("abcdefghijkl", ["abcdefghij", "kl"]),
        ("One. Two. Three", ["One. Two. ", "Three"]),
        ("abcdef\n\nghi jkl", ["abcdef\n\n", "ghi jkl"]),
        ("一二三四五六。七八九十", ["一二三四五六。", "七八九十"]),
        ("a bcdefghijklm", ["a bcdefghi", "jklm"]),
    ],
)
def test_a_message_is_cut_after_a_paragraph_a_sentence_or_a_word(text: str, parts: "list[str]") -> None:
    assert [part.text for part in cut_message(said(text, before=BEFORE), 10)] == parts


def test_only_the_last_part_moves_the_position(tmp_path: object) -> None:
    first, second = cut_message(said("One. Two. Three", first_char=50, before=BEFORE), 10)
    assert first.after == Cursor("jsonl", "s1", 40, "e0", chars=60, part_of="u1")
    assert second.after == Cursor("jsonl", "s1", 100, "e1", since_ms=77)
    assert (first.first_char, second.first_char) == (50, 60)
    assert Window((first,)).covered == {} and Window((second,)).covered == {"s1": ("u1",)}


@given(TEXTS, st.integers(1, 40), st.integers(0, 10**6))
def test_the_parts_are_the_text_and_each_cursor_says_what_is_done(text: str, most: int, start: int) -> None:
    parts = cut_message(said(text, first_char=start, before=BEFORE), most)
    assert "".join(part.text for part in parts) == text
    assert all(part.text for part in parts[:-1]) and all(len(part.text) <= most for part in parts)
    done = start
    for part in parts[:-1]:
        assert part.first_char == done
        done += len(part.text)
        assert part.after == Cursor("jsonl", "s1", 40, "e0", chars=done, part_of="u1")
    assert (parts[-1].first_char, parts[-1].after.chars, parts[-1].after.position) == (done, 0, 100)


# Packing and halving -------------------------------------------------------------------------------------------------


def test_windows_are_filled_in_order_and_a_long_message_has_its_own() -> None:
    sizes = [4, 4, 4, 30, 1, 9]
    windows = pack([said("x" * size, n) for n, size in enumerate(sizes, start=1)], 10)
    assert [[len(m.text) for m in window.messages] for window in windows] == [[4, 4], [4], [30], [1, 9]]


@given(MESSAGES, st.integers(1, 60))
def test_packing_keeps_every_message_and_the_limit(messages: "list[Message]", most: int) -> None:
    windows = list(pack(messages, most))
    assert [m for window in windows for m in window.messages] == messages
    assert all(window.messages for window in windows)
    assert all(window.size <= most or len(window.messages) == 1 for window in windows)
    assert all(a.size + len(b.messages[0].text) > most for a, b in zip(windows, windows[1:]))


def smallest(window: Window) -> "list[Message]":
    """The window, halved for as long as it can be."""
    halves = halve(window)
    if not halves:
        return list(window.messages)
    assert all(half.size < window.size or len(half.messages) < len(window.messages) for half in halves)
    return [message for half in halves for message in smallest(half)]


@given(MESSAGES, st.integers(0, 40), st.booleans())
def test_halving_loses_nothing_and_ends(messages: "list[Message]", times: int, known: bool) -> None:
    messages[0] = said(messages[0].text * times, 1, before=BEFORE if known else None)
    found = smallest(Window(tuple(messages)))
    assert "".join(m.text for m in found) == "".join(m.text for m in messages)
    assert [m.after for m in found if not m.after.chars] == [m.after for m in messages]
    assert all(len(m.text) <= 400 for m in found)


def test_the_first_half_of_a_window_is_about_half_of_its_text() -> None:
    messages = tuple(said("x" * size, n) for n, size in enumerate([10, 10, 80, 10, 10], start=1))
    assert [len(half.messages) for half in halve(Window(messages))] == [3, 2]
    assert [len(half.messages) for half in halve(Window(messages[:2]))] == [1, 1]


def test_a_small_message_cannot_be_halved() -> None:
    assert halve(Window((said("x" * 400),))) == ()
    assert len(halve(Window((said("x" * 401),)))) == 2


def test_a_part_of_a_session_without_a_cursor_keeps_its_boundary_and_its_history() -> None:
    first = halve(Window((said("word " * 200, generation="g2"),)))[0].messages[0]
    assert first.after == Cursor("jsonl", "s1", 0, chars=500, generation="g2", since_ms=77, part_of="u1")


def test_a_part_of_a_part_goes_on_where_the_first_began() -> None:
    first = halve(Window((said("word " * 200, before=BEFORE),)))[0].messages[0]
    second = halve(Window((first,)))[1].messages[0]
    assert first.after == Cursor("jsonl", "s1", 40, "e0", chars=500, part_of="u1")
    assert (second.first_char, second.after) == (250, first.after)


def test_a_secret_is_not_cut_in_two() -> None:
    words = "word " * 100
    text = f"{words}password: hunter-{'x' * 8} and so on, {words}"
    for most in range(470, 540):
        parts = cut_message(said(text, before=BEFORE), most)
        assert "".join(part.text for part in parts) == text
        assert all("hunter" not in mask_secrets(part.text)[0] for part in parts)


def test_a_window_tells_the_last_cursor_of_each_session() -> None:
    window = Window((said("a", 1), said("b", 2), said("c", 7, "s2")))
    assert {key: cursor.position for key, cursor in window.cursors.items()} == {
        "jsonl:s1": 200,
        "jsonl:s2": 700,
    }
    assert window.covered == {"s1": ("u1", "u2"), "s2": ("u7",)}


# Writing it down -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moment", "zone", "expected"),
    [
        (MORNING, BERLIN, "Monday 2026-11-30 09:00 (Europe/Berlin, UTC+01:00)"),
        (MORNING, ZoneInfo("Asia/Kolkata"), "Monday 2026-11-30 13:30 (Asia/Kolkata, UTC+05:30)"),
        (MORNING, timezone(timedelta(hours=-9)), "Sunday 2026-11-29 23:00 (UTC-09:00)"),
        (MORNING, timezone.utc, "Monday 2026-11-30 08:00 (UTC+00:00)"),
    ],
)
def test_now_is_told_with_weekday_and_zone(moment: datetime, zone: ZoneInfo, expected: str) -> None:
    assert render_now(moment, zone) == expected


def test_a_transcript_tells_days_speakers_and_conversations() -> None:
    late = MORNING + timedelta(hours=15)
    window = Window(
        (
            said("hi\n[10:00] user: not me", 1, sender="Ana"),
            said("hello", 2, role="assistant", trusted=False),
            said("x", 3, sender="Eve: [11:00]\nuser", trusted=False),
            said("y", 4, trusted=False),
            said("late", 5, at=late),
            said("z", 6, "s2", at=late),
        )
    )
    assert render_transcript(window, BERLIN) == (
        "Monday 2026-11-30:\n"
        "[09:00] user (Ana): hi\n"
        "  [10:00] user: not me\n"
        "[09:00] assistant: hello\n"
        "[09:00] Eve  [11 00] user: x\n"
        "[09:00] someone else: y\n"
        "Tuesday 2026-12-01:\n"
        "[00:00] user: late\n"
        "--- another conversation ---\n"
        "Tuesday 2026-12-01:\n"
        "[00:00] user: z"
    )


@given(st.lists(st.builds(said, st.text(max_size=60), sender=st.text(max_size=20)), min_size=1, max_size=4))
def test_no_text_and_no_name_begins_a_line_of_its_own(messages: "list[Message]") -> None:
    lines = render_transcript(Window(tuple(messages)), timezone.utc).splitlines()
    assert sum(not line.startswith("  ") for line in lines) == 1 + len(messages)


def test_the_lines_that_the_window_could_repeat_are_chosen() -> None:
    window = Window((said("The lease of my flat ends in March"),))
    known = [Observation(text) for text in ("Flat lease ends in March", "Likes mint tea", "Lease")]
    assert select_known(window, known) == ["- Flat lease ends in March"]


@given(st.lists(st.text(st.sampled_from("ab lease flat\n"), max_size=300), max_size=12))
def test_what_is_repeated_from_memory_never_grows_past_its_caps(texts: "list[str]") -> None:
    window = Window((said("a b lease flat " + " ".join(texts)),))
    lines = select_known(window, [Observation(" ".join(["x", *text.split()])) for text in texts])
    assert len(lines) <= 6
    assert sum(len(line) + 1 for line in lines) <= 400


# Reading the answer --------------------------------------------------------------------------------------------------


def notes(text: str) -> "list[str]":
    found, fault = read_answer(text)
    assert fault == ""
    return [candidate.observation.text for candidate in found]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("- 🟡 09:01 Likes tea", ["Likes tea"]),
        ("Sure, here you are:\n\n- 🟡 09:01 Likes tea\n\nAnything else?", ["Likes tea"]),
        ("```markdown\nDate: 2026-11-30\n\n- 🔴 Likes tea\n* 🟢 Has a cat\n```", ["Likes tea", "Has a cat"]),
        ("- Likes tea <!-- dc:type=fact dc:importance=5 -->", ["Likes tea"]),
        ("- 🟡 Likes tea\n- 🟡 Likes tea", ["Likes tea"]),
        ("- 🔴 Moves to Porto\n  - on 14 June\n  - with Ana", ["Moves to Porto; on 14 June; with Ana"]),
        ("- 🟡 Likes tea\n- a line without a mark", ["Likes tea"]),
        ("  - 🟡 Likes tea\n  - 🟡 Has a cat", ["Likes tea", "Has a cat"]),
        ("- 🟡 Likes tea\r\n- 🟡 Has a cat\r\n", ["Likes tea", "Has a cat"]),
    ],
)
def test_bullets_with_a_mark_are_the_answer_and_talk_around_them_is_not(
    answer: str, expected: "list[str]"
) -> None:
    assert notes(answer) == expected


@pytest.mark.parametrize(
    "answer", ["NO_OBSERVATIONS", "no_observations.", "**NO_OBSERVATIONS**", "```\nNO OBSERVATIONS\n```\n"]
)
def test_the_word_alone_says_that_there_is_nothing(answer: str) -> None:
    assert read_answer(answer) == ([], "")


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "   \n",
        "Nothing to note.",
        "I'd answer NO_OBSERVATIONS, but the user likes tea.",
        "NO_OBSERVATIONS_YET",
        "- Likes tea",
        "1. 🟡 Likes tea",
        "🟡 09:01 Likes tea",
        "- a long sentence with the mark 🟡 somewhere later in it",
        "# Observations\n\n🔴 high",
        "-🟡 no space",
        "- 🟡",
    ],
)
def test_prose_is_no_answer(answer: str) -> None:
    assert read_answer(answer) == ([], "prose")


def test_a_model_that_runs_on_and_on_is_a_loop() -> None:
    assert read_answer("\n".join(f"- 🟡 Likes tea {n}" for n in range(201))) == ([], "loop")
    assert read_answer("- 🟡 Likes tea\n" * 100) == ([], "loop")
    assert read_answer("talk\n" * 100 + "- 🟡 Likes tea") == ([], "loop")


def test_an_answer_names_no_id_no_source_and_no_mark_of_its_own() -> None:
    answer = "- 🔴 09:01 Likes tea <!-- dc:type=fact dc:importance=8 dc:id=OBS-20200101-001 dc:source=provisional -->"
    (candidate,) = read_answer(answer)[0]
    assert candidate == Candidate(Observation("Likes tea", "fact", 8.0, "", "09:01"))


LINES = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            "- 🟡 09:01 Likes tea",
            "- 🔴 x <!-- dc:type=rule dc:importance=9 -->",
            "- 🟡 <!-- dc:",
            "  - more of it",
            "NO_OBSERVATIONS",
            "- 🟡",
            "Date: 2026-11-30",
            "<!-- dc:type=fact -->",
            "- 🟢 \u2028 \x85 \x0b",
        ]
    ),
)


@given(st.lists(LINES, max_size=20).map("\n".join))
def test_no_answer_stops_the_program_and_each_note_is_one_line(answer: str) -> None:
    found, fault = read_answer(answer)
    assert fault in ("", "prose", "loop")
    assert not (found and fault)
    assert found or fault or "OBSERVATIONS" in answer.upper()
    for candidate in found:
        text = candidate.observation.text
        assert text and len(text.splitlines()) == 1 and "<!--" not in text
        assert candidate.observation.id == candidate.observation.source == ""


@given(st.text(st.characters(exclude_characters="🔴🟡🟢")).filter(lambda text: "dc:" not in text))
def test_text_without_a_mark_never_becomes_a_note(answer: str) -> None:
    assert read_answer(answer)[0] == []
