"""Numbers with what they count, for sentences that people read."""

from __future__ import annotations


def counted(number: float, one: str, many: str = "") -> str:
    """ "1 day" and "2 days"; `many` where that is not the word with an "s"."""
    return f"{number:g} {one}" if number == 1 else f"{number:g} {many or one + 's'}"
