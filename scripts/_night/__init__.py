"""The night, carried out: every step a commit that can be killed at any point, and taken up by the next run."""

from __future__ import annotations

from _night.commands import account, decay, show_plan
from _night.restore import restore
from _night.run import DEADLINE_SECONDS, run_night

__all__ = ["DEADLINE_SECONDS", "account", "decay", "restore", "run_night", "show_plan"]
