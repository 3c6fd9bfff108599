"""What an observation weighs as it grows old: decay, impact, lifetime, and how far its source can be trusted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Optional

from _observations import MARKS, Observation, mark_for
from _reflect.items import LIFETIMES

CRITICAL_FROM = 9.0
ARCHIVE_UNDER = 3.0
# What a type loses a day, in ten-thousandths, so that the days add up exactly.
_UNIT = 10_000
_DECAY: Mapping[str, int] = {
    "event": 5_000,
    "fact": 1_000,
    "context": 1_000,
    "preference": 200,
    "rule": 0,
    "habit": 0,
    "goal": 0,
}
# Impact: its name, from which importance on, and how many days such an observation stays at least.
_BANDS = (
    ("critical", 9.0, float("inf")),
    ("high", 7.0, 7),
    ("medium", 5.0, 2),
    ("low", 3.0, 1),
    ("minimal", 0.0, 0),
)
# What a source is worth where the line names no confidence: the middle of its range.
IMPLICIT = 0.8  # what a conversation says without being asked, which is where most lines come from
_SOURCES: Mapping[str, float] = {
    "explicit": 0.95,
    "implicit": IMPLICIT,
    "inference": 0.6,
    "weak": 0.4,
    "uncertain": 0.2,
}
TRUSTED_OVER, DOUBTED_UNDER = 0.7, 0.3
# How confidence moves the end: the factor of the lifetime, and what is added to the threshold.
_TRUSTED, _DOUBTED, _PLAIN = (1.5, -0.5), (0.5, 0.5), (1.0, 0.0)


def decayed(importance: float, kind: str, days: int) -> float:
    """The importance after so many days more: never below 0, and what was critical stays critical.

    decayed(decayed(x, a), b) is decayed(x, a + b), to the last digit that the log can hold.
    """
    loss = _DECAY[kind] * days
    if loss <= 0:
        return importance
    exact, lowest = round(importance * _UNIT), 0
    if importance >= CRITICAL_FROM:
        lowest = round(CRITICAL_FROM * _UNIT)
    return max(lowest, exact - loss) / _UNIT


def aged(observation: Observation, days: int, today: str) -> Observation:
    """The observation with its decay up to today; the same when its type does not fade, or no day has passed.

    Its emoji follows, but for one that a person set: a higher one stays, a lower one until the importance comes down
    to it.
    """
    if days <= 0 or not _DECAY[observation.type]:
        return observation
    lower = decayed(observation.importance, observation.type, days)
    mark = observation.mark
    if mark and MARKS.index(mark) > MARKS.index(mark_for(observation.importance)):
        mark = max(mark, mark_for(lower), key=MARKS.index)
    return replace(
        observation, importance=lower, decayed=today, mark=mark if mark and mark != mark_for(lower) else ""
    )


def impact(importance: float) -> "tuple[str, float]":
    """The name of an importance's band, and after how many days an observation of it may go."""
    name, _lowest, days = next(band for band in _BANDS if importance >= band[1])
    return name, days


def confidence_of(observation: Observation) -> Optional[float]:
    """How sure it is that this is so, from 0 to 1: what the line says, else what its source is worth, else None."""
    if re.fullmatch(r"[01](?:\.\d{1,6})?|\.\d{1,6}", observation.confidence):
        return min(1.0, float(observation.confidence))
    return _SOURCES.get(observation.source)


def lifetime(observation: Observation, phase: int = 2) -> float:
    """Days after which it may go. A lifetime of its own counts as it is; that of its type is longer for what is sure
    and shorter for what is doubtful."""
    ttl = observation.ttl
    if re.fullmatch(r"\d{1,6}(?:\.\d{1,3})?", ttl):
        return float(ttl)
    if ttl == "never":
        return float("inf")
    return LIFETIMES[observation.type] * (_by_confidence(observation)[0] if phase > 1 else 1.0)


def threshold(observation: Observation) -> float:
    """The importance under which it may go, after decay."""
    return ARCHIVE_UNDER + _by_confidence(observation)[1]


def _by_confidence(observation: Observation) -> "tuple[float, float]":
    sure = confidence_of(observation)
    if sure is None:
        return _PLAIN
    return _TRUSTED if sure > TRUSTED_OVER else _DOUBTED if sure < DOUBTED_UNDER else _PLAIN
