"""Reflection: which entries of the log leave, for what reason, and which line stands for them.

`steps_by_rule` needs no model; `asked` puts one part of the log to a model and lets through only what its gate can show
to be safe. Nothing here writes: the steps are carried out by `_state.commit_reflection`.
"""

from __future__ import annotations

from _reflect.asking import Settled, asked
from _reflect.items import Item, first_place, place_of, read_items
from _reflect.question import Part, halves_of, may_change, parts_of, system_prompt
from _reflect.rules import exact_duplicates, steps_by_rule

__all__ = [
    "Item",
    "Part",
    "Settled",
    "asked",
    "exact_duplicates",
    "first_place",
    "halves_of",
    "may_change",
    "parts_of",
    "place_of",
    "read_items",
    "steps_by_rule",
    "system_prompt",
]
