"""Why an observation must not leave the log, whoever would let it go: a reflection by day, or a night."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, tzinfo
from typing import NamedTuple

from _compat import parse_instant
from _observations import HIGH, HIGH_FROM, Observation, is_date
from _reflect.ahead import names_a_day_to_come

RECENT = timedelta(hours=24)
# Metadata where it is not read as such: of a child, in the middle of a line, with quotes or blanks.
_SAID_ASIDE = re.compile(r"""\bdc:(type|importance|ttl|date)\s*=\s*["']?([^\s"'<>]+)""", re.I)
_COMMENT = re.compile(r"<!--.*?(?:-->|$)")
# A mark that was set on a line has no word before it.
_MARKED = re.compile(rf"[\W\d_]*{HIGH}")
_NUMBER = re.compile(r"\d*\.?\d+(?:e\d)?")
# What a weight in words is at least.
_WORDS = {"high": HIGH_FROM, "critical": 9.0}


class Moment(NamedTuple):
    """When it is (`now`, aware), and the person's zone."""

    now: datetime
    zone: tzinfo

    @property
    def today(self) -> date:
        return self.now.astimezone(self.zone).date()


def protection(raw: str, observation: Observation, text: str, at: Moment, heavy_from: float) -> str:
    """Why it must not leave: "heavy", "rule", "goal", "never", "future" or "recent"; "" when it may. `raw` is its
    entry, `text` all that it says. What weighs `heavy_from` (0.0 to 10.0) or more is heavy; a red mark stands for the
    least of what is high."""
    marked = observation.priority == HIGH and heavy_from <= HIGH_FROM
    if marked or observation.importance >= heavy_from:
        return "heavy"
    if observation.type in ("rule", "goal"):
        return observation.type
    if observation.ttl == "never":
        return "never"
    said = date.fromisoformat(observation.date) if observation.date else at.today
    if said > at.today or names_a_day_to_come(text, said, at.today):
        return "future"
    return "recent" if _is_recent(observation, at) else _said_aside(raw, observation, at, heavy_from)


def _said_aside(raw: str, observation: Observation, at: Moment, heavy_from: float) -> str:
    """Why an entry must not leave that says so elsewhere than a line of the format does: in a child, or in metadata
    that is not read as such. Who wrote it meant it all the same. A red mark there protects whatever counts as heavy,
    for nothing says how much it weighs. What the words of the line itself speak of is no mark on it."""
    line, *children = raw.splitlines() or [""]
    aside = "\n".join([*_COMMENT.findall(line), *children])
    if (HIGH in aside or _MARKED.match(_COMMENT.sub("", line))) and observation.priority != HIGH:
        return "heavy"
    for name, value in _SAID_ASIDE.findall(aside):
        name, value = name.lower(), value.lower()
        if name == "importance" and _weight(value) >= heavy_from:
            return "heavy"
        if name == "type" and value in ("rule", "goal", "task"):
            return "rule" if value == "rule" else "goal"
        if name == "ttl" and value == "never":
            return "never"
        other_day = name == "date" and value != observation.date and is_date(value)
        if other_day and (at.today - date.fromisoformat(value)).days <= 1:
            return "recent"
    return ""


def _weight(value: str) -> float:
    number = _NUMBER.match(value)
    return float(number.group()) if number else _WORDS.get(value, 0.0)


def _is_recent(observation: Observation, at: Moment) -> bool:
    """Said in the last 24 hours; without a time, at the end of its day."""
    if not observation.date:
        return False
    moment = parse_instant(f"{observation.date}T{observation.time or '23:59'}:00", at.zone)
    return moment is not None and at.now - moment <= RECENT
