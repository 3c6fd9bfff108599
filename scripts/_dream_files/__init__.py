"""The file work of the night: each command of `dream_cycle.py` is one function, takes a Desk, and is safe to repeat.

A command writes into the one folder that it is for. What it changes is kept by preflight first, and the log is only
ever changed by a commit that `_state` can finish after a crash.
"""

from __future__ import annotations

from _dream_files.archive import archive, chunk
from _dream_files.desk import Desk, make_desk
from _dream_files.patterns import patterns
from _dream_files.preflight import preflight
from _dream_files.reports import write_log, write_metrics
from _dream_files.rollback import rollback
from _dream_files.staging import write_staging
from _dream_files.update import update_observations
from _dream_files.validate import validate

__all__ = [
    "Desk",
    "archive",
    "chunk",
    "make_desk",
    "patterns",
    "preflight",
    "rollback",
    "update_observations",
    "validate",
    "write_log",
    "write_metrics",
    "write_staging",
]
