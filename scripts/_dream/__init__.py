"""The night: what of the log is stale, what belongs together, and what the log looks like without it.

Everything here is pure: texts in, verdicts and texts out. `_night` carries it out.
"""

from __future__ import annotations

from _dream.aging import Aged, age_log
from _dream.chunks import chunk_from, finding_of
from _dream.notes import Night, Note, highest_in, names_for, read_notes
from _dream.plan import Plan, hooked_id, most_new_hooks, plan, room_for_hooks
from _dream.size import leaving_with, without
from _dream.verdict import ARCHIVE, CHUNK, KEEP, Verdict
from _dream.weight import decayed, impact

__all__ = [
    "ARCHIVE",
    "CHUNK",
    "KEEP",
    "Aged",
    "Night",
    "Note",
    "Plan",
    "Verdict",
    "age_log",
    "chunk_from",
    "decayed",
    "finding_of",
    "highest_in",
    "hooked_id",
    "impact",
    "most_new_hooks",
    "names_for",
    "plan",
    "read_notes",
    "room_for_hooks",
    "leaving_with",
    "without",
]
