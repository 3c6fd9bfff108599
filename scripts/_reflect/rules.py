"""What a reflection does without a model: duplicates made one, stale details archived, relative days made dates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import Optional

from _compat import parse_instant
from _gate.recorded import Recorded
from _likeness import features, fingerprint
from _observations import Observation, parse_line, render_line
from _reflect.exact import restates
from _reflect.items import Item, is_tied_to_its_day
from _state import Step

BY_RULE = "reflector"
DUPLICATE, STALE, RELATIVE = "duplicate", "low and older than 7 days", "relative time made a date"
_OVER = re.compile(
    r"\b(?:was|were|did|done|took|ran|made|built|wrote|within|\w{2,}ed|hat|haben|war|wurde|ge\w{2,}t)\b", re.I
)


def steps_by_rule(items: "Sequence[Item]", zone: tzinfo) -> "tuple[Step, ...]":
    """All that can be done without asking anybody; no entry is in two steps."""
    stale = [item for item in items if item.is_stale]
    steps = [Step((item.entry,), STALE, BY_RULE) for item in stale]
    rest = [item for item in items if not item.is_stale]
    duplicates = list(_duplicates(rest))
    steps += [Step((item.entry,), DUPLICATE, BY_RULE, kept=kept.entry) for item, kept in duplicates]
    used = {one.position for pair in duplicates for one in pair}
    dated = [_dated(item, zone) for item in rest if item.position not in used]
    rewritten = [step for step in dated if step is not None]
    return tuple(steps + rewritten) if _gain(steps) > _cost(rewritten) else tuple(steps)


def exact_duplicates(items: "Sequence[Item]") -> "tuple[Step, ...]":
    """Of entries in the very same words, all but the one that stays."""
    return tuple(
        Step((item.entry,), DUPLICATE, BY_RULE, kept=kept.entry)
        for item, kept in _duplicates(items)
        if fingerprint(kept.text) == fingerprint(item.text)
    )


def _gain(steps: "Iterable[Step]") -> int:
    """Characters that leave."""
    return sum(len(entry.raw) for step in steps for entry in step.leaving)


def _cost(steps: "Iterable[Step]") -> int:
    """Characters by which rewritten lines are longer than what they stand for; an id takes 16 and its field 6."""
    return sum(len(render_line(step.new)) + 22 for step in steps if step.new) - _gain(steps)


def _duplicates(items: "Sequence[Item]") -> "Iterable[tuple[Item, Item]]":
    """Pairs of an item that adds nothing and the one that stays. The most important and then the richest stays."""
    stays: "list[Item]" = []
    index = Recorded((), is_tied_to_its_day)
    for item in sorted(items, key=_weight, reverse=True):
        said = replace(item.observation, text=item.text)
        others = sorted((stays[place] for place in index.repeated(said)), key=lambda other: other.position)
        kept = _kept_for(item, others)
        if kept is None:
            stays.append(item)
            index.add(said)
        else:
            yield item, kept


def _weight(item: Item) -> "tuple[object, ...]":
    observation = item.observation
    return (
        bool(item.protected),
        observation.importance,
        len(features(item.text).words),
        bool(observation.id),
        item.moment,
    )


def _kept_for(item: Item, others: "Sequence[Item]") -> Optional[Item]:
    """The first of the others that can stand for the item; None when it has to stay."""
    return next((other for other in others if can_stand_for(other, item)), None)


def can_stand_for(other: Item, item: Item) -> bool:
    """Whether an item that says the same loses nothing by the other: not its weight, nor its lifetime, nor that a
    person said it. A protected one goes only for its exact likeness, which is protected too."""
    if item.protected == "provisional" or other.protected == "provisional":
        return False
    if not restates(other.text, item.text):
        return False
    if other.observation.importance < item.observation.importance or other.lifetime < item.lifetime:
        return False
    same_type = other.observation.type == item.observation.type
    if item.protected:
        exact = fingerprint(other.text) == fingerprint(item.text)
        return bool(other.protected) and same_type and exact
    return same_type or item.observation.type != "preference"


def _dated(item: Item, zone: tzinfo) -> Optional[Step]:
    """The step that puts the day in the place of "tomorrow" when that has passed; None when there is none."""
    from _extract.dates import in_dates
    from _lexicon import language_of

    observation = item.observation
    if item.protected or item.has_children or not observation.date:
        return None
    said_at = parse_instant(f"{observation.date}T{observation.time or '12:00'}:00", zone)
    if said_at is None:
        return None
    ahead = observation.type in ("event", "context") and not _OVER.search(observation.text)
    try:
        text = in_dates(observation.text, language_of(observation.text), said_at, ahead)
    except OverflowError:  # "yesterday" on the first day of the calendar: a slip of somebody's pen
        return None
    new = with_text(observation, text) if text != observation.text else None
    return Step((item.entry,), RELATIVE, BY_RULE, new=new) if new else None


def with_text(observation: Observation, text: str) -> Optional[Observation]:
    """The observation with another text and without id; None when the log would not give that back as it is. It stands
    for no answer that is still to come."""
    source = "" if observation.source == "provisional" else observation.source
    try:
        new = replace(observation, text=text, id="", source=source)
    except ValueError:
        return None
    return new if parse_line(render_line(new)) == new else None
