"""What a model is shown: the notes of one part, numbered, oldest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from _gate import mask_secrets
from _observations import estimate_tokens
from _prompts import Prompt, fence_for, load_prompt
from _reflect.items import Item, from_place
from _window import render_now

if TYPE_CHECKING:
    import _llm

# About 8,000 characters: with the prompt and the answer it fits the 8,192 tokens of the smallest context in common use.
MAX_PART_TOKENS = 2_000
MAX_ANSWER_TOKENS = 4_096
Part = Sequence[Item]


def parts_of(items: "Iterable[Item]", since: str = "") -> "list[Part]":
    """The items in parts that fit one question each, oldest first, from the place `since` on; parts in which nothing
    may change are left out, and so are provisional lines, which the observer replaces."""
    parts: "list[list[Item]]" = []
    size = MAX_PART_TOKENS
    for item in from_place(items, since):
        if item.protected == "provisional":
            continue
        tokens = estimate_tokens(_line(0, item))
        if size + tokens > MAX_PART_TOKENS:
            parts.append([])
            size = 0
        parts[-1].append(item)
        size += tokens
    return [part for part in parts if may_change(part)]


def may_change(part: Part) -> bool:
    """Whether there is anything to ask about a part: a line that may leave, and another one."""
    return len(part) > 1 and any(not item.protected for item in part)


def halves_of(part: Part) -> "tuple[Part, ...]":
    """The part as two; none when that leaves nothing to ask about."""
    middle = len(part) // 2
    return (part[:middle], part[middle:]) if len(part) > 3 else ()


def render_part(part: Part) -> str:
    """The list: "3. [2026-03-05 11:02 🟡 fact] text"; "keep" in the label of those that stay as they are."""
    return "\n".join(_line(number, item) for number, item in enumerate(part, start=1))


def _line(number: int, item: Item) -> str:
    observation = item.observation
    keep = "keep" if item.protected else ""
    label = " ".join(
        filter(None, (observation.date, observation.time, keep, observation.priority, observation.type))
    )
    return f"{number}. [{label}] {mask_secrets(item.text)[0]}"


def question_about(part: Part, now: datetime, zone: tzinfo) -> "_llm.Question":
    """The system part never changes, so that providers can cache it; what changes comes behind it."""
    import _llm

    notes = render_part(part)
    user = load_prompt("reflector-part.txt").fill(
        now=render_now(now, zone), fence=fence_for(notes), notes=notes
    )
    return _llm.Question(system_prompt().text, user, MAX_ANSWER_TOKENS)


def system_prompt() -> Prompt:
    """The fixed part of every question."""
    return load_prompt("reflector-system.txt")
