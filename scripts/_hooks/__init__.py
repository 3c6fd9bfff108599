"""Search phrases left behind for what is archived: made from its words, other words for them, names and dates, or by a
model and then checked; and the lines that lead from the log to the archive."""

from __future__ import annotations

from _hooks.asking import MOST_ITEMS, Asked, question_for, read_answer
from _hooks.check import checked
from _hooks.expand import expand
from _hooks.lines import HookLine, chunk_hook_line, hook_line, read_hook_line
from _hooks.synonyms import OWN_SYNONYMS, Synonyms, read_synonyms, shipped_synonyms, synonyms_with

__all__ = [
    "MOST_ITEMS",
    "OWN_SYNONYMS",
    "Asked",
    "HookLine",
    "Synonyms",
    "checked",
    "chunk_hook_line",
    "expand",
    "hook_line",
    "question_for",
    "read_answer",
    "read_hook_line",
    "read_synonyms",
    "shipped_synonyms",
    "synonyms_with",
]
