"""Numbers and dates as texts name them, in the spellings of several languages."""

from __future__ import annotations

from _numbers.dates import (
    FURTHEST_DAYS,
    Mention,
    Relative,
    has_relative_words,
    is_calendar_word,
    mentions,
    months_named,
    names_a_day,
    relative,
    short_years,
)
from _numbers.numerals import NUMBER, ascii_digits, numbers_said, phone_numbers, readings, scaled, spelled

__all__ = [
    "FURTHEST_DAYS",
    "NUMBER",
    "Mention",
    "Relative",
    "ascii_digits",
    "has_relative_words",
    "is_calendar_word",
    "mentions",
    "months_named",
    "names_a_day",
    "numbers_said",
    "phone_numbers",
    "readings",
    "relative",
    "scaled",
    "short_years",
    "spelled",
]
