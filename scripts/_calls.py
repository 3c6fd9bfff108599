"""What is kept about asking models, changed by one process at a time: an observer and a reflector may ask at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from _files import lock
from _state import Places, load_calls, save_calls

if TYPE_CHECKING:
    import _llm

LOCK_WAIT_SECONDS = 30.0


def update_calls(places: Places, change: "Callable[[_llm.Memo], _llm.Memo]") -> "tuple[_llm.Memo, bool]":
    """Apply a change to calls.json; returns what stands there now, and whether the change counted a call.

    Raises StorageError when it cannot be written, BusyError when another process does not let go of it.
    """
    import _llm

    with lock(places.calls_lock, LOCK_WAIT_SECONDS):
        old = _llm.Memo.from_json(load_calls(places))
        new = change(old)
        if new != old:
            save_calls(places, new.as_json())
    return new, new.calls == old.calls + 1
