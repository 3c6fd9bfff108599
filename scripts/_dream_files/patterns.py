"""patterns: what comes back again and again in the observations, as proposals for a person to decide on.

Deterministic, without a model: observations that share words on three or more separate days. The proposed text is the
words of one of them, never a text made up from several; only a number in which they differ is told as a range.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import log
from pathlib import Path

from _cli import Result
from _dream_files.desk import Desk
from _dream_files.figures import in_general, settled
from _dream_files.staging import known_as, said_on, stage, staging_folder
from _gate.notes import problem_with
from _gate.wording import stems
from _observations import Observation
from _staging import (
    MIN_DAYS,
    MIN_ENTRIES,
    WAITING,
    Evidence,
    Proposal,
    confidence_carried,
    is_capability,
    staged,
)

LOOK_BACK_DAYS = 60
MAX_WAITING, MAX_EVIDENCE = 10, 10
# Two entries are about one thing when they share two words and this part of what the words of one of them weigh: a
# word weighs the more the fewer entries have it.
_SHARED_WORDS, _SHARED_PART = 2, 0.5
_TARGETS: "Mapping[str, str]" = {
    "rule": "AGENTS.md",
    "preference": "favorites.md",
    "habit": "MEMORY.md",
    "goal": "MEMORY.md",
    "fact": "MEMORY.md",
}
# What somebody does again and again is a habit, whatever each time was noted as.
_AS = {"event": "habit", "context": "fact"}


@dataclass(frozen=True)
class Theme:
    """Observations about one thing, the earliest first, no two in the same words on one day."""

    observations: "tuple[Observation, ...]"

    @property
    def days(self) -> "list[str]":
        return sorted({one.date for one in self.observations})

    @property
    def confidence(self) -> str:
        """What so many observations on these days carry."""
        return confidence_carried(
            [one.date for one in self.observations], is_capability([one.text for one in self.observations])
        )

    @property
    def type(self) -> str:
        """The type that most of them have; of equals the one that comes first in the alphabet."""
        counts = Counter(_AS.get(one.type, one.type) for one in self.observations)
        return min(counts, key=lambda kind: (-counts[kind], kind))


def patterns(desk: Desk) -> Result:
    """Propose every theme that was neither proposed nor rejected before, as long as no more than 10 proposals wait."""
    counts: "Counter[str]" = Counter()
    with desk.holding_memory():
        moment = desk.run.now.astimezone(desk.config.zone)
        first = (moment.date() - timedelta(days=LOOK_BACK_DAYS)).isoformat()
        found = themes(said_on(desk, lambda day: first <= day <= desk.today))
        waiting = sum(one.status == WAITING for one in staged(staging_folder(desk)))
        for theme in found:
            proposal = proposal_of(theme, f"{moment:%Y-%m-%d %H:%M}")
            path = free_path(desk, moment, proposal.type)
            if waiting >= MAX_WAITING and not known_as(desk, proposal):
                counts["left_for_later"] += 1
                continue
            reason = stage(desk, path, proposal)
            counts[reason] += 1
            waiting += reason == "staged"
    names = ("staged", "already_there", "rejected_before", "left_for_later")
    facts = {"themes": len(found), **{name: counts[name] for name in names}}
    if desk.pretends:
        return Result("ok", desk.pretends, facts)
    return Result("ok", "staged" if counts["staged"] else "nothing_new", facts)


def free_path(desk: Desk, moment: datetime, kind: str) -> Path:
    """The file for a proposal of this type that is made now: of several in one second, each has a second of its own."""
    path = staging_folder(desk) / f"{moment:%Y%m%d-%H%M%S}-{kind}.md"
    while path.exists():
        moment += timedelta(seconds=1)
        path = path.with_name(f"{moment:%Y%m%d-%H%M%S}-{kind}.md")
    return path


def themes(said: "Iterable[Observation]") -> "list[Theme]":
    """The themes of some observations, those with the most entries first. An observation is in one at most."""
    recent = {(one.date, one.text): one for one in said if one.date and not problem_with(one.text)}
    usable = [recent[key] for key in sorted(recent)]
    words = [
        frozenset(word for word in stems(one.text) if not any(map(str.isdecimal, word))) for one in usable
    ]
    found = []
    free = set(range(len(usable)))
    for group in sorted(_groups(words), key=lambda group: (-len(group), group)):
        left = [place for place in group if place in free]
        theme = Theme(tuple(usable[place] for place in left))
        if len(left) >= MIN_ENTRIES and len(theme.days) >= MIN_DAYS:
            found.append(theme)
            free -= set(left)
    return found


def _groups(words: "Sequence[frozenset[str]]") -> "list[tuple[int, ...]]":
    """For each entry, those that are about the same thing as it."""
    by_word: "dict[str, list[int]]" = {}
    for place, found in enumerate(words):
        for word in found:
            by_word.setdefault(word, []).append(place)
    weight = {word: log(1 + len(words) / len(places)) for word, places in by_word.items()}
    whole = [sum(weight[word] for word in found) for found in words]
    groups = []
    for place, found in enumerate(words):
        shared = Counter(other for word in found for other in by_word[word])
        near = [
            other
            for other, number in shared.items()
            if number >= _SHARED_WORDS
            and sum(weight[word] for word in found & words[other])
            >= _SHARED_PART * min(whole[place], whole[other])
        ]
        groups.append(tuple(sorted({place, *near})))
    return groups


def proposal_of(theme: Theme, at: str) -> Proposal:
    """A theme as a proposal."""
    says = _general_text([one.text for one in theme.observations])
    count, days = len(theme.observations), len(theme.days)
    return Proposal(
        at,
        theme.type,
        _TARGETS[theme.type],
        theme.confidence,
        f"{says} ({count} times on {days} days, {theme.days[0]} to {theme.days[-1]})",
        f"- {says}",
        tuple(Evidence(one.date, one.text, one.id) for one in theme.observations[-MAX_EVIDENCE:]),
        ", ".join(one.id for one in theme.observations if one.id) or str(count),
    )


def _general_text(texts: "Sequence[str]") -> str:
    """The text that says most of what the others say: one without a number in which they differ, if there is one."""
    words = [stems(text) for text in texts]
    often = Counter(word for found in words for word in found)

    def weight(place: int) -> "tuple[float, int]":
        return sum(often[word] for word in words[place]) / (3 + len(words[place])), place

    places = settled(texts)
    return (
        texts[max(places, key=weight)]
        if places
        else in_general(texts[max(range(len(texts)), key=weight)], texts)
    )
