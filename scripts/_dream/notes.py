"""The log as a night sees it: each observation with its id, age, weight, and why it must not leave."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, tzinfo

from _dream.lines import with_id
from _dream.weight import CRITICAL_FROM, aged, lifetime
from _ledger import is_observation_id
from _observations import Entry, Observation, estimate_tokens, next_ids
from _reflect.ahead import comes_every_year, days_named
from _reflect.items import Item, read_items
from _reflect.protection import Moment, protection

RESTORED_DAYS = 30  # what somebody asked back stays at least that long


@dataclass(frozen=True)
class Night:
    """When it is, and how far a night goes. `phase` 1 weighs impact and age, 2 types, confidence and decay as well.
    `restored` are the days ("YYYY-MM-DD") on which archived observations were brought back, by id. `highest` is, by
    day, the highest number ever given to an observation, `waiting` the ids of the provisional lines that an answer has
    still to replace: what a line says of itself, anybody could have typed."""

    now: datetime
    zone: tzinfo
    phase: int = 1
    token_target: int = 8_000
    restored: "Mapping[str, str]" = field(default_factory=dict)
    highest: "Mapping[str, int]" = field(default_factory=dict)
    waiting: "Container[str]" = ()

    @property
    def today(self) -> date:
        """The person's day."""
        return self.now.astimezone(self.zone).date()


@dataclass(frozen=True)
class Note:
    """One observation. `id` is the one it has, or would get. `observation` is decayed up to today in phase 2.
    `age_days` is None where nothing says when it was said. `protected` is why it must not leave, "" when it may:
    "provisional", "no id" (its line would read otherwise with one), "critical", "rule", "goal", "never", "future",
    "restored" or "recent"."""

    item: Item
    id: str
    observation: Observation
    age_days: "int | None"
    lifetime: float
    protected: str
    tokens: int

    @property
    def entry(self) -> Entry:
        return self.item.entry

    @property
    def text(self) -> str:
        """All that it says, its children included."""
        return self.item.text

    @property
    def importance(self) -> float:
        """Its weight now."""
        return self.observation.importance

    @property
    def written_importance(self) -> float:
        """Its weight as the log has it."""
        return self.item.observation.importance


def read_notes(log: str, night: Night) -> "tuple[Note, ...]":
    """The observations of a log, in the order of the file."""
    items = read_items(log, night.now, night.zone, night.waiting)
    names = names_for([item.observation for item in items], night)
    return tuple(_note(item, name, night) for item, name in zip(items, names))


def names_for(observations: "Sequence[Observation]", night: Night) -> "list[str]":
    """The ids of the observations, new ones for those without one of ours, and for a second one that bears the id of
    another."""
    highest = dict(night.highest)
    for day, number in highest_in(found.id for found in observations).items():
        highest[day] = max(number, highest.get(day, 0))
    taken: "set[str]" = set()
    names = []
    for found in observations:
        name = found.id
        if not is_observation_id(name) or name in taken:
            day = found.date or night.today.isoformat()
            name = next_ids(day, 1, (), highest.get(day, 0))[0]
            highest[day] = highest.get(day, 0) + 1
        taken.add(name)
        names.append(name)
    return names


def highest_in(names: "Iterable[str]") -> "dict[str, int]":
    """By day, the highest number among ids."""
    found: "dict[str, int]" = {}
    for name in names:
        parts = name.split("-")
        if is_observation_id(name):
            day = f"{parts[1][:4]}-{parts[1][4:6]}-{parts[1][6:]}"
            found[day] = max(found.get(day, 0), int(parts[2]))
    return found


def day_of(name: str) -> str:
    """The day in an id ("2026-11-30"); "" for an id of another shape."""
    return next(iter(highest_in([name])), "")


def decayed_up_to(night: Night, item: Item) -> Observation:
    """The observation with what its type loses a day, up to today. A provisional line stays as it was written: the
    answer that replaces it knows it by its bytes."""
    if item.protected == "provisional":
        return item.observation
    days = days_to_decay(item.observation, item.text, night)
    return aged(item.observation, days, night.today.isoformat())


def days_to_decay(observation: Observation, text: str, night: Night) -> int:
    """Days since the last decay, since somebody asked it back, or else since it was said; 0 where nothing says when
    that was. What is about a day to come does not fade before that day: `text` is all that it says."""
    since = observation.decayed or observation.date
    try:
        begin = date.fromisoformat(since)
        begin = max(begin, date.fromisoformat(night.restored.get(observation.id) or since))
    except ValueError:
        return 0
    if begin >= night.today or comes_every_year(text):
        return 0
    said = date.fromisoformat(observation.date) if observation.date else begin
    return max(0, (night.today - max([begin, *days_named(text, said)])).days)


def _note(item: Item, name: str, night: Night) -> Note:
    observation = decayed_up_to(night, item) if night.phase > 1 else item.observation
    age = _age(item, name, night)
    protected = _protection(item, name, night)
    tokens = estimate_tokens(item.entry.raw + "\n")
    return Note(item, name, observation, age, lifetime(item.observation, night.phase), protected, tokens)


def _age(item: Item, name: str, night: Night) -> "int | None":
    """Days since it was said; where it bears no date, since its id was given."""
    if item.age_days is not None or not item.observation.id:
        return item.age_days
    try:
        return (night.today - date.fromisoformat(day_of(name))).days
    except ValueError:
        return None


def _protection(item: Item, name: str, night: Night) -> str:
    observation = item.observation
    if item.protected == "provisional":
        return "provisional"
    if observation.id != name and with_id(item.entry, name) is None:
        return "no id"
    moment = Moment(night.now, night.zone)
    why = protection(item.entry.raw, observation, item.text, moment, CRITICAL_FROM)
    if why:
        return "critical" if why == "heavy" else why
    since = night.restored.get(name, "")
    asked_back = since and (night.today - date.fromisoformat(since)).days < RESTORED_DAYS
    return "restored" if asked_back else ""
