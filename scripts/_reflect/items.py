"""The log as a reflection sees it: its observations, each with its age and why it must not leave."""

from __future__ import annotations

import calendar
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, tzinfo
from typing import Optional

from _compat import parse_instant
from _gate.dates import Mention, mentions, relative
from _gate.numerals import ascii_digits
from _gate.recorded import is_bound_to_its_day
from _observations import HIGH, HIGH_FROM, LOW, Entry, Observation, children_of, is_date, parse_log, tidy
from _reflect.ahead import days_ahead
from _state import name_of

RECENT = timedelta(hours=24)
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
# Metadata where it is not read as such: of a child, in the middle of a line, with quotes or blanks.
_SAID_ASIDE = re.compile(r"""\bdc:(type|importance|ttl|date)\s*=\s*["']?([^\s"'<>]+)""", re.I)
# A day without a year that lies further back than this when it is said means the one to come.
_LONG_PAST_DAYS = 60
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
    today = now.astimezone(zone).date()
    said = date.fromisoformat(observation.date) if observation.date else None
    age = (today - said).days if said else None
    protected = "provisional" if provisional else _protection(observation, text, now, zone)
    protected = protected or _protection_aside(entry.raw, observation.date, today)
    return Item(entry, observation, position, text, protected, age)


def _protection(observation: Observation, text: str, now: datetime, zone: tzinfo) -> str:
    today = now.astimezone(zone).date()
    if observation.priority == HIGH or observation.importance >= HIGH_FROM:
        return "high"
    if observation.type in ("rule", "goal"):
        return "type"
    if observation.ttl == "never":
        return "never"
    said = date.fromisoformat(observation.date) if observation.date else today
    if said > today or names_a_day_to_come(text, said, today):
        return "future"
    return "recent" if _is_recent(observation, now, zone) else ""


def _protection_aside(raw: str, said: str, today: date) -> str:
    """Why an entry must not leave that says so elsewhere than a line of the format does: in a child, or in metadata
    that is not read as such. Who wrote it meant it all the same."""
    if HIGH in raw:
        return "high"
    for name, value in _SAID_ASIDE.findall(raw):
        name, value = name.lower(), value.lower()
        number = re.match(r"\d*\.?\d+(?:e\d)?", value) if name == "importance" else None
        if (number and float(number.group()) >= HIGH_FROM) or value in ("high", "critical"):
            return "high"
        if name == "type" and value in ("rule", "goal", "task"):
            return "type"
        if name == "ttl" and value == "never":
            return "never"
        if (
            name == "date"
            and value != said
            and is_date(value)
            and (today - date.fromisoformat(value)).days <= 1
        ):
            return "recent"
    return ""


def _is_recent(observation: Observation, now: datetime, zone: tzinfo) -> bool:
    """Said in the last 24 hours; without a time, at the end of its day."""
    if not observation.date:
        return False
    clock = observation.time or "23:59"
    moment = parse_instant(f"{observation.date}T{clock}:00", zone)
    return moment is not None and now - moment <= RECENT


def names_a_day_to_come(text: str, said: date, today: date) -> bool:
    """Whether a text that was said on a day names today or a later day: a date, or what a relative word can mean."""
    return any(day >= today for day in days_named(text, said)) or any(
        day >= today for day in days_ahead(text, said)
    )


def days_named(text: str, said: date) -> "list[date]":
    """The days that a text which was said on a day can mean: dates, and what relative words stand for."""
    words = relative(text, said)
    days = [_last_day(mention, said) for mention in mentions(ascii_digits(text))]
    days += [said + timedelta(days=offset) for offset in words.offsets if offset > 0]
    return days + [_next(said, weekday) for weekday in words.weekdays]


def _last_day(mention: Mention, said: date) -> date:
    """The last day that a mention can mean; of a bare year the first, or all that names this year would stay."""
    if not mention.month:
        return date(mention.year, 1, 1)
    year = mention.year or _year_meant(mention, said)
    last = calendar.monthrange(year, mention.month)[1]
    return date(year, mention.month, min(mention.day or last, last))


def _year_meant(mention: Mention, said: date) -> int:
    """The year of a day that was named without one: this year's, or next year's when that is long past."""
    days_before = (said.month - mention.month) * 30.4 + said.day - (mention.day or 15)
    return said.year + 1 if days_before > _LONG_PAST_DAYS else said.year


def _next(said: date, weekday: int) -> date:
    """The first such weekday after the day on which it was said."""
    return said + timedelta(days=(weekday - said.weekday() - 1) % 7 + 1)
