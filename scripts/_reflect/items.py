"""The log as a reflection sees it: its observations, each with its age and why it must not leave."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, tzinfo
from typing import Optional

from _gate.recorded import is_bound_to_its_day
from _observations import HIGH_FROM, LOW, Entry, Observation, children_of, parse_log, tidy
from _reflect.protection import Moment, protection
from _state import name_of

LOW_DAYS = 7
# Days after which an observation of a type may go (schemas/observation-format.md).
LIFETIMES: Mapping[str, float] = {
    "event": 14,
    "context": 30,
    "fact": 90,
    "preference": 180,
    "goal": 365,
    "habit": 365,
    "rule": float("inf"),
}
_NAMES: Mapping[str, str] = {"heavy": "high", "rule": "type", "goal": "type"}
_MEASURE = re.compile(
    r"\b(?:an?|per|each|every|pro|jede[nrms]?|im|par|al|por|cada|ogni|elke) "
    r"(?:day|week|month|year|tag|woche|monat|jahr|mois|an|semaine|mes|año|semana|mese|anno|settimana|maand|jaar)\b"
    r"(?! ago)|\b\d+ (?:weeks?|months?|years?) old\b",
    re.I,
)


@dataclass(frozen=True)
class Item:
    """One observation of the log. `text` is all that it says, its children included. `protected` is why it must not
    leave ("" when it may): "provisional", "high", "type", "future", "recent" or "never"."""

    entry: Entry
    observation: Observation
    position: int
    text: str
    protected: str
    age_days: "int | None"

    @property
    def moment(self) -> "tuple[str, str, int]":
        """For putting items in the order in which they were said; without a time, at the end of the day."""
        return self.observation.date, self.observation.time or "24:00", self.position

    @property
    def has_children(self) -> bool:
        return self.text != self.observation.text

    @property
    def is_tied(self) -> bool:
        """Whether the same words on another day mean another thing."""
        return is_tied_to_its_day(replace(self.observation, text=self.text))

    @property
    def lifetime(self) -> float:
        """Days after which it may go."""
        ttl = self.observation.ttl
        if re.fullmatch(r"\d{1,6}(?:\.\d{1,3})?", ttl):
            return float(ttl)
        return float("inf") if ttl == "never" else LIFETIMES[self.observation.type]

    @property
    def is_stale(self) -> bool:
        """A passing detail whose time is over. Preferences stay: what somebody likes never goes by its age alone."""
        observation = self.observation
        if self.protected or self.age_days is None or observation.priority != LOW:
            return False
        kept_longer = bool(observation.ttl) and self.age_days < self.lifetime
        return self.age_days > LOW_DAYS and observation.type != "preference" and not kept_longer


def is_tied_to_its_day(observation: Observation) -> bool:
    """As in the gate, but for measures: "950 euros a month" and "9 years old" do not count from the day."""
    plain = tidy(_MEASURE.sub("each", observation.text))
    return is_bound_to_its_day(replace(observation, text=plain))


def read_items(
    log: str, now: datetime, zone: tzinfo, waiting: "Optional[Container[str]]" = None
) -> "tuple[Item, ...]":
    """The observations of a log, in the order of the file. `waiting` are the ids of the provisional lines that an
    answer has still to replace (state.json); without it, each line that calls itself provisional counts as one."""
    found = []
    for position, entry in enumerate(parse_log(log)):
        if entry.observation is not None:
            provisional = _is_provisional(entry.observation, waiting)
            found.append(_item(entry, entry.observation, position, now, zone, provisional))
    return tuple(found)


def place_of(item: Item) -> str:
    """Where an item stands among the others, for going on there later: its day and time, and what it is known again by,
    its id or, without one, so little of a hash that nobody can tell from it what the line said. Never ""."""
    day, clock, _position = item.moment
    return f"{day} {clock} {item.observation.id or name_of(item.entry)[:4]}"


def first_place(items: "Iterable[Item]") -> str:
    """The place of the oldest item; "" when there is none."""
    return next(map(place_of, from_place(items)), "")


def from_place(items: "Iterable[Item]", place: str = "") -> "list[Item]":
    """The items from a place on, oldest first; from its moment on when the item that stood there is gone."""
    ordered = sorted(items, key=lambda item: item.moment)
    here = [number for number, item in enumerate(ordered) if place_of(item) == place]
    if here:  # the last of those that are alike: a run never begins before where the one before it did
        return ordered[here[-1] :]
    day, _, rest = place.partition(" ")
    return [item for item in ordered if item.moment[:2] >= (day, rest.partition(" ")[0])]


def _is_provisional(observation: Observation, waiting: "Optional[Container[str]]") -> bool:
    if waiting is None:
        return observation.source == "provisional"
    return bool(observation.id) and observation.id in waiting


def _item(
    entry: Entry, observation: Observation, position: int, now: datetime, zone: tzinfo, provisional: bool
) -> Item:
    text = tidy("; ".join([observation.text, *filter(None, map(tidy, children_of(entry)))]))
    said = date.fromisoformat(observation.date) if observation.date else None
    age = (now.astimezone(zone).date() - said).days if said else None
    why = protection(entry.raw, observation, text, Moment(now, zone), HIGH_FROM)
    protected = "provisional" if provisional else _NAMES.get(why, why)
    return Item(entry, observation, position, text, protected, age)
