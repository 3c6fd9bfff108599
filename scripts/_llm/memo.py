"""What is kept between runs about asking models: today's calls and tokens, resting models, hold-offs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Optional

from _compat import parse_instant

# 1, 2, 4 .. 60 minutes between attempts after failures in a row.
LONGEST_BACKOFF = timedelta(minutes=60)
# A provider may send us away for a day at most; a later date is a mistake (theirs, or our clock's).
LONGEST_HOLD = timedelta(hours=24)
GONE_FOR = timedelta(hours=24)


@dataclass(frozen=True)
class Hold:
    """Do not ask before `until`. `told`: the provider said so; else it is our own backoff. `kind` as in Attempt."""

    until: datetime
    kind: str
    told: bool = False
    failures: int = 0

    def in_force(self, now: datetime) -> bool:
        """A date further ahead than any hold can be comes from a clock that was wrong: not in force."""
        return now < self.until <= now + LONGEST_HOLD + timedelta(minutes=1)

    def as_json(self) -> "dict[str, Any]":
        return {
            "until": self.until.isoformat(),
            "kind": self.kind,
            "told": self.told,
            "failures": self.failures,
        }

    @classmethod
    def from_json(cls, found: object) -> "Optional[Hold]":
        """The Hold in `found`, or None when that is damaged: forgetting a hold-off costs one request."""
        if not isinstance(found, Mapping) or not isinstance(found.get("until"), str):
            return None
        until = parse_instant(found["until"])
        if until is None:
            return None
        kind = found.get("kind")
        return cls(
            until,
            kind if isinstance(kind, str) else "",
            found.get("told") is True,
            _count(found.get("failures")),
        )


@dataclass(frozen=True)
class Memo:
    """`day` is the person's local day (YYYY-MM-DD) that `calls` and `tokens` belong to.

    `holds` are by provider (base URL, or "openclaw"), `resting` by "PROVIDER MODEL".
    """

    day: str = ""
    calls: int = 0
    tokens: int = 0
    holds: "Mapping[str, Hold]" = field(default_factory=dict)
    resting: "Mapping[str, Hold]" = field(default_factory=dict)

    @property
    def failures_in_a_row(self) -> int:
        """Questions in a row that no model answered usably."""
        return max((hold.failures for hold in self.holds.values()), default=0)

    def on(self, day: str) -> "Memo":
        """The memo with the counts of `day`: zero when it has counted another day so far."""
        return self if self.day == day else replace(self, day=day, calls=0, tokens=0)

    def with_call(self, day: str, tokens: int) -> "Memo":
        today = self.on(day)
        return replace(today, calls=today.calls + 1, tokens=today.tokens + tokens)

    def with_tokens(self, day: str, tokens: int) -> "Memo":
        """Correct the token count by `tokens`, which may be negative."""
        today = self.on(day)
        return replace(today, tokens=max(0, today.tokens + tokens))

    def with_rest(self, provider: str, model: str, hold: Hold, now: datetime) -> "Memo":
        kept = {key: rest for key, rest in self.resting.items() if rest.in_force(now)}
        return replace(self, resting={**kept, f"{provider} {model}": hold})

    def after_success(self, provider: str, model: str) -> "Memo":
        """Nothing is held against the provider any more, nor against the model."""
        return replace(
            self,
            holds={key: hold for key, hold in self.holds.items() if key != provider},
            resting={key: rest for key, rest in self.resting.items() if key != f"{provider} {model}"},
        )

    def after_failure(
        self, provider: str, kind: str, now: datetime, wait: Optional[timedelta] = None, hold: bool = True
    ) -> "Memo":
        """One more failure in a row: hold off for 1, 2, 4 .. 60 minutes, or for `wait` where that is longer.

        With `hold` false the failure is only counted: what ended it is the person's to repair, and works at once then.
        """
        before = self.holds.get(provider)
        failures = (before.failures if before else 0) + 1
        own = min(LONGEST_BACKOFF, timedelta(minutes=2 ** min(failures - 1, 6)))
        told = wait is not None and wait > own
        pause = min(max(own, wait or own), LONGEST_HOLD) if hold else timedelta(0)
        return replace(self, holds={**self.holds, provider: Hold(now + pause, kind, told and hold, failures)})

    def as_json(self) -> "dict[str, Any]":
        return {
            "day": self.day,
            "calls": self.calls,
            "tokens": self.tokens,
            "holds": {key: hold.as_json() for key, hold in self.holds.items()},
            "resting": {key: rest.as_json() for key, rest in self.resting.items()},
        }

    @classmethod
    def from_json(cls, found: object) -> "Memo":
        """The Memo in `found`; whatever part of it is damaged counts as never noted."""
        if not isinstance(found, Mapping):
            return cls()
        day = found.get("day")
        return cls(
            day if isinstance(day, str) else "",
            _count(found.get("calls")),
            _count(found.get("tokens")),
            _holds(found.get("holds")),
            _holds(found.get("resting")),
        )


def _holds(found: object) -> "dict[str, Hold]":
    if not isinstance(found, Mapping):
        return {}
    read = {key: Hold.from_json(value) for key, value in found.items() if isinstance(key, str)}
    return {key: hold for key, hold in read.items() if hold is not None}


def _count(found: object) -> int:
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else 0
