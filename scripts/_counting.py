"""Numbers with what they count, for sentences that people read."""

from __future__ import annotations


def many(number: float, one: str, several: str = "") -> str:
    """ "1 day", "2 days", "0.5 days"; `several` where that is not the word with an "s"."""
    figure = f"{number:g}" if isinstance(number, float) else str(number)
    return f"{figure} {one if number == 1 else several or one + 's'}"


def and_many(*counts: "tuple[int, str]") -> str:
    """ "1 session and 8 messages": those of the (number, word) that are not 0, "" when all are."""
    return " and ".join(many(number, word) for number, word in counts if number)
