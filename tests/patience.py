"""Waiting for another process: never longer than it takes, and never for ever."""

from __future__ import annotations

import time
from typing import Callable, TypeVar

PATIENCE_SECONDS = 15.0
Found = TypeVar("Found")


def until(condition: "Callable[[], Found]", what: str, seconds: float = PATIENCE_SECONDS) -> Found:
    """What the condition gives as soon as it is true; AssertionError when it is not within that time."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < end, f"not within {seconds:g} s: {what}"
        time.sleep(0.01)
