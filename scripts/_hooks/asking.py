"""Search phrases by a model: what it is shown, and what it answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from _gate import mask_secrets
from _observations import tidy
from _prompts import fence_for, load_prompt

if TYPE_CHECKING:
    import _llm

MOST_ITEMS = 8  # a small model loses count of more
MAX_ANSWER_TOKENS = 1_500
MOST_PHRASES = 8
_LINE = re.compile(r"^\s*(?:[-*]\s+)?\**(\d{1,2})\**[.):]\**\s*(.+)$")


@dataclass(frozen=True)
class Asked:
    """One item that phrases are asked for: its text without metadata and the day when it was said."""

    text: str
    date: str = ""


def question_for(items: "Sequence[Asked]") -> "_llm.Question":
    """The question about at most `MOST_ITEMS` items; `read_answer` reads what comes. Raises ValueError for more."""
    import _llm

    if not 0 < len(items) <= MOST_ITEMS:
        raise ValueError(f"{len(items)} items in one question")
    notes = "\n".join(
        f"{number}. {f'[{item.date}] ' if item.date else ''}{tidy(mask_secrets(item.text)[0], 600)}"
        for number, item in enumerate(items, start=1)
    )
    user = load_prompt("hooks-items.txt").fill(fence=fence_for(notes), notes=notes)
    return _llm.Question(load_prompt("hooks-system.txt").text, user, MAX_ANSWER_TOKENS)


def read_answer(text: str, shown: int, cut: bool = False) -> "dict[int, tuple[str, ...]]":
    """The phrases by the place of their item (from 0), of a list "1. phrase | phrase"; what is no such line, or has a
    number that was not shown, is passed over. Of a `cut` answer the last line is left out. Empty: no use at all."""
    lines = text.splitlines()
    if cut and not text.endswith("\n"):
        lines = lines[:-1]
    found: "dict[int, tuple[str, ...]]" = {}
    for line in lines:
        read = _LINE.match(line)
        place = int(read.group(1)) - 1 if read else -1
        if read and 0 <= place < shown and place not in found:
            phrases = [phrase.strip() for phrase in re.split(r"[|｜]", read.group(2)) if phrase.strip()]
            found[place] = tuple(phrases[:MOST_PHRASES])
    return found
