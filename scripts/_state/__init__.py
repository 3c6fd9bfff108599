"""What is kept between runs: cursors, counters, and the journal of a commit under way."""

from __future__ import annotations

from _state.filing import Filing
from _state.journal import commit, commit_reflection, file_away, replay
from _state.observed import Addition, Commit, cursors_of, is_unedited, moved, superseded
from _state.places import Places
from _state.redraft import additions, key_of, redrafted, says_something, with_entries
from _state.reflected import Reflection, Step
from _state.rewrite import name_of
from _state.state import (
    Provisional,
    State,
    begin,
    load_calls,
    load_state,
    save_calls,
    save_state,
)

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
    "is_unedited",
    "key_of",
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
