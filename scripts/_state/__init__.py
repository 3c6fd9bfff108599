"""What is kept between runs: cursors, counters, and the journal of a commit under way.

What is kept is loaded with the room; what changes memory only when it is asked for by name, since most runs find
nothing to change, and session recovery has a tenth of a second.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from _state.places import Places
from _state.state import (
    Provisional,
    State,
    begin,
    is_damaged,
    last_good_run,
    load_calls,
    load_state,
    save_calls,
    save_state,
)

if TYPE_CHECKING:
    from _state.filing import Filing
    from _state.journal import commit, commit_reflection, file_away, replay
    from _state.observed import Addition, Commit, cursors_of, is_unedited, moved, superseded
    from _state.redraft import additions, key_of, redrafted, says_something, with_entries
    from _state.reflected import Reflection, Step
    from _state.rewrite import name_of

_LATE = {
    "filing": ("Filing",),
    "journal": ("commit", "commit_reflection", "file_away", "replay"),
    "observed": ("Addition", "Commit", "cursors_of", "is_unedited", "moved", "superseded"),
    "redraft": ("additions", "key_of", "redrafted", "says_something", "with_entries"),
    "reflected": ("Reflection", "Step"),
    "rewrite": ("name_of",),
}

__all__ = [
    "Addition",
    "Commit",
    "Filing",
    "Places",
    "Provisional",
    "Reflection",
    "State",
    "Step",
    "additions",
    "begin",
    "commit",
    "commit_reflection",
    "cursors_of",
    "file_away",
    "is_damaged",
    "is_unedited",
    "key_of",
    "last_good_run",
    "load_calls",
    "load_state",
    "moved",
    "name_of",
    "redrafted",
    "replay",
    "save_calls",
    "save_state",
    "says_something",
    "superseded",
    "with_entries",
]


def __getattr__(name: str) -> Any:
    """What `_LATE` names, from the module that has it."""
    for module, names in _LATE.items():
        if name in names:
            return getattr(import_module(f"_state.{module}"), name)
    raise AttributeError(f"module '_state' has no attribute {name!r}")
