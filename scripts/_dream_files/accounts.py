"""Whether a new version of the log accounts for the one that preflight kept: pure, everything that is wrong at once.

An observation may leave when the archive holds it (as part of a chunk or not), or when a line that stays says the
same, or when a line that names it (`dc:from=ID,ID`) holds all that it says. All other text stays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Callable

from _archive import read_reference
from _dream import age_log
from _dream.notes import Night
from _dream.size import is_hooks_heading
from _dream_files.wording import hook_text_problem
from _gate.recorded import Recorded
from _ledger import is_observation_id
from _observations import Entry, Observation, count_words, parse_log
from _reflect.answer import Proposal
from _reflect.gate import judge_proposals
from _reflect.items import Item, is_tied_to_its_day, read_items
from _reflect.rules import can_stand_for
from _state import key_of, says_something

ARCHIVED, CHUNKED, MERGED = "archived", "chunked", "merged"
BY = "night"
# Identifiers and the like; hooks are not counted.
_MARGIN_WORDS = 20


@dataclass(frozen=True)
class Shelves:
    """What the archive holds: the file of each observation and of each chunk, and the chunk that an observation is part
    of. Files as "archive/observations/2026-11-30.md". `text_of` gives what an id of either kind says, with its days,
    `phrases_of` the search phrases for it; `holds` tells whether an entry is there in the words that it has now."""

    observations: "Mapping[str, str]"
    chunks: "Mapping[str, str]"
    chunk_of: "Mapping[str, str]"
    text_of: "Callable[[str], str]"
    phrases_of: "Callable[[str], tuple[str, ...]]"
    holds: "Callable[[Entry], bool]"


@dataclass(frozen=True)
class Departure:
    """An observation that the new version lacks, how it is accounted for, and in which file or line it lives on."""

    entry: Entry
    id: str
    how: str
    why: str
    into: str = ""


@dataclass
class Account:
    """What became of the log. `merged` are the new lines by the position of their entry in the draft, each with the ids
    that it was made of. `problems` name what is wrong by ids and line numbers; without any, all is well."""

    departures: "list[Departure]" = field(default_factory=list)
    merged: "dict[int, tuple[Observation, tuple[str, ...]]]" = field(default_factory=dict)
    problems: "list[str]" = field(default_factory=list)
    unaccounted: "list[str]" = field(default_factory=list)


def account(base: str, current: str, draft: str, shelves: Shelves, night: Night) -> Account:
    """Compare a draft with the log that preflight kept. What others took out of `current` since then need not be in it,
    and what they added may."""
    told = Account()
    before, after = parse_log(base), parse_log(draft)
    items, drafted = (read_items(text, night.now, night.zone, night.waiting) for text in (base, draft))
    by_id = {item.observation.id: item for item in items if item.observation.id}
    known = {key_of(entry) for entry in (*before, *parse_log(current)) if says_something(entry)}
    line = 1
    for position, entry in enumerate(after):
        if says_something(entry) and (key_of(entry) not in known or _sources_of(entry.observation)):
            _judge_new(told, position, entry, line, by_id, shelves)
        line += entry.raw.count("\n") + 1
    merged = {name: (new, names) for new, names in told.merged.values() for name in names}
    _judge_missing(told, before, parse_log(current), after, drafted, items, merged, shelves)
    _judge_changed(told, base, current, after, night)
    _judge_size(told, before, after)
    return told


# What is new ---------------------------------------------------------------------------------------------------------


def _judge_new(
    told: Account, position: int, entry: Entry, line: int, by_id: "Mapping[str, Item]", shelves: Shelves
) -> None:
    """A line of the draft that the log never had: a hook, a merged line, the heading of the hooks, or wrong."""
    if entry.kind == "hook":
        problem = hook_problem(entry, shelves)
        told.problems += [f"line {line}: {problem}"] if problem else []
        return
    observation = entry.observation
    sources = _sources_of(observation)
    if observation is not None and sources:
        new = _merged(entry, observation, sources, by_id)
        if isinstance(new, str):
            named = ", ".join(filter(is_observation_id, sources[:8])) or "what it names"
            told.problems.append(f"line {line}: it cannot stand for {named} ({new})")
        else:
            told.merged[position] = (new, sources)
    elif observation is not None and observation.id in by_id:
        told.problems.append(f"line {line}: {observation.id} has another text than in the log")
    elif not is_hooks_heading(entry):
        told.problems.append(f"line {line}: it is not from the log")


def hook_problem(entry: Entry, shelves: Shelves) -> str:
    """Why a hook must not stand in the log, "" when it may: the archive has to hold what it refers to, and that has to
    say all that the hook says."""
    found = read_reference(entry.raw)
    if not found or found.file not in (shelves.observations.get(found.id), shelves.chunks.get(found.id)):
        return "the archive does not hold what it refers to"
    said = entry.raw.rpartition("[ref: ")[0]
    return hook_text_problem(said, shelves.text_of(found.id), shelves.phrases_of(found.id))


def _sources_of(observation: "Observation | None") -> "tuple[str, ...]":
    names = dict(observation.extra).get("from", "") if observation else ""
    return tuple(dict.fromkeys(filter(None, names.split(","))))


def _merged(
    entry: Entry, observation: Observation, sources: "tuple[str, ...]", by_id: "Mapping[str, Item]"
) -> "Observation | str":
    """The observation that a merged line becomes, or why it cannot: the gate of the reflector decides. Its type, weight
    and day are those of its sources, whatever the line says."""
    if not all(name in by_id for name in sources) or "\n" in entry.raw:
        return "unknown ids"
    proposal = Proposal(tuple(range(1, len(sources) + 1)), observation.text)
    judged = judge_proposals([proposal], [by_id[name] for name in sources], BY)
    if not judged.steps or judged.steps[0].new is None:
        return next(iter(judged.refused), "not a note")
    return judged.steps[0].new


# What is missing -----------------------------------------------------------------------------------------------------


def _judge_missing(
    told: Account,
    before: "Sequence[Entry]",
    current: "Sequence[Entry]",
    after: "Sequence[Entry]",
    drafted: "Sequence[Item]",
    items: "Sequence[Item]",
    merged: "Mapping[str, tuple[Observation, tuple[str, ...]]]",
    shelves: Shelves,
) -> None:
    """Account for every entry of the old log that the draft does not have."""
    stays = _staying(before, after)
    there = {key_of(entry) for entry in current}
    by_position = {item.position: item for item in items}
    index = Recorded([replace(item.observation, text=item.text) for item in drafted], is_tied_to_its_day)
    for position, entry in enumerate(before):
        if not says_something(entry) or position in stays:
            continue
        if key_of(entry) not in there:
            continue  # somebody else took it out, and has accounted for it
        if entry.observation is not None:
            item = by_position[position]
            found = _departure(entry, item, index, drafted, merged, shelves)
            if found is None:
                told.unaccounted.append(entry.observation.id or f"line {_line_of(before, position)}")
            else:
                told.departures.append(found)
        elif entry.kind != "hook":  # what a hook points at stays in the archive
            told.problems.append(
                f"line {_line_of(before, position)} of the log is missing: it is no observation"
            )


def _staying(before: "Sequence[Entry]", after: "Sequence[Entry]") -> "set[int]":
    """The positions of the entries of the old log that the draft has. Of several in the same words it is the one with
    the same id that stays, where that is there."""
    left, named = Counter(map(key_of, after)), Counter(map(_with_name, after))
    stays: "set[int]" = set()
    for by_name in (True, False):
        for position, entry in enumerate(before):
            key, name = key_of(entry), _with_name(entry)
            if position not in stays and left[key] and (named[name] or not by_name):
                left[key] -= 1
                named[name] -= 1
                stays.add(position)
    return stays


def _with_name(entry: Entry) -> "tuple[tuple[str, ...], str]":
    return key_of(entry), entry.observation.id if entry.observation else ""


def _departure(
    entry: Entry,
    item: Item,
    index: Recorded,
    drafted: "Sequence[Item]",
    merged: "Mapping[str, tuple[Observation, tuple[str, ...]]]",
    shelves: Shelves,
) -> "Departure | None":
    name = item.observation.id
    if name and name in shelves.observations and shelves.holds(entry):
        if name in shelves.chunk_of:
            return Departure(
                entry, name, CHUNKED, f"part of {shelves.chunk_of[name]}", shelves.chunk_of[name]
            )
        return Departure(entry, name, ARCHIVED, "", shelves.observations[name])
    if name and name in merged:
        return Departure(entry, name, MERGED, "merged", merged[name][0].text)
    for place in index.repeated(replace(item.observation, text=item.text)):
        if can_stand_for(drafted[place], item):
            stands = drafted[place].observation
            return Departure(entry, name, MERGED, "duplicate", stands.id or stands.text)
    return None


def _line_of(entries: "Sequence[Entry]", position: int) -> int:
    return 1 + sum(entry.raw.count("\n") + 1 for entry in entries[:position])


# What is changed -----------------------------------------------------------------------------------------------------


def _judge_changed(told: Account, base: str, current: str, after: "Sequence[Entry]", night: Night) -> None:
    """What stays, stays to the letter, its metadata included: only its weight may be what age has made of it. Of bare
    date lines, which are judged nowhere else, there may be no other ones."""
    allowed: "set[tuple[tuple[str, ...], str]]" = set()
    days: "set[str]" = set()
    for text in (base, current, age_log(base, night).log):
        allowed.update((key_of(entry), without_ends(entry)) for entry in parse_log(text))
        days.update(without_ends(entry) for entry in parse_log(text) if entry.kind == "date")
    keys = {key for key, _raw in allowed}
    seen: "set[str]" = set()
    line = 1
    for entry in after:
        if entry.kind == "date" and not says_something(entry) and without_ends(entry) not in days:
            told.problems.append(f"line {line}: it is not from the log")
        name = entry.observation.id if entry.observation else ""
        if name and name in seen:
            told.problems.append(f"{name} stands twice")
        seen.add(name)
        key = key_of(entry)
        if entry.observation and key in keys and (key, without_ends(entry)) not in allowed:
            told.problems.append(f"line {line}: {name or 'it'} has other metadata than in the log")
        line += entry.raw.count("\n") + 1


def without_ends(entry: Entry) -> str:
    """The text of an entry without what editors change at the ends of lines."""
    return "\n".join(line.rstrip() for line in entry.raw.split("\n"))


def _judge_size(told: Account, before: "Sequence[Entry]", after: "Sequence[Entry]") -> None:
    """A night makes the log smaller: what is new beside hooks is no more than what left."""
    words = [
        sum(count_words(re.sub(r"<!--.*?-->", "", entry.raw)) for entry in log if entry.kind != "hook")
        for log in (before, after)
    ]
    if words[1] > words[0] + _MARGIN_WORDS:
        told.problems.append(f"it has {words[1]} words beside hooks, the log had {words[0]}")
