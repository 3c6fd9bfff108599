"""Numbers with what they count: one thing is no "things"."""

from __future__ import annotations

import pytest

from _counting import and_many, many


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (0, "0 days"),
        (1, "1 day"),
        (2, "2 days"),
        (0.5, "0.5 days"),
        (1.0, "1 day"),
        (2_000_000, "2000000 days"),
    ],
)
def test_a_number_with_what_it_counts(number: float, told: str) -> None:
    assert many(number, "day") == told


def test_a_word_of_its_own_for_several() -> None:
    assert [many(number, "piece is", "pieces are") for number in (1, 3)] == ["1 piece is", "3 pieces are"]


def test_what_there_is_none_of_is_not_told() -> None:
    assert and_many((0, "session"), (8, "message")) == "8 messages"
    assert and_many((1, "session"), (1, "message")) == "1 session and 1 message"
    assert and_many((0, "session"), (0, "message")) == ""
