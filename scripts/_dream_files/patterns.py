"""patterns: what comes back again and again in the observations, as proposals for a person to decide on.

Deterministic, without a model: observations that share words on three or more separate days. The proposed text is the
words of one of them, never a text made up from several.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from math import log
from pathlib import Path

from _cli import Result
from _dream_files.desk import Desk
from _dream_files.staging import said_on, stage, staging_folder
from _gate.notes import problem_with
from _gate.wording import stems
from _observations import Observation
from _staging import WAITING, Evidence, Proposal, same_as, staged

LOOK_BACK_DAYS = 60
MIN_ENTRIES, MIN_DAYS = 3, 3
MEDIUM_ENTRIES, MEDIUM_DAYS = 4, 14
HIGH_ENTRIES, HIGH_DAYS = 7, 7
CAPABILITY_DAYS = 14
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
_CAPABILITY = re.compile(
    r"\b(?:models?|llms?|gpt|claude|gemini|llama|qwen|deepseek|mistral|nemotron|context window|tokens?|tool calls?|"
    r"agents?|assistants?|api)\b",
    re.I,
)


@dataclass(frozen=True)
class Theme:
    """Observations about one thing, the earliest first, no two in the same words on one day."""

    observations: "tuple[Observation, ...]"

    @property
    def days(self) -> "list[str]":
        return sorted({one.date for one in self.observations})

    @property
    def span_days(self) -> int:
        """From the first day to the last, both counted."""
        return (date.fromisoformat(self.days[-1]) - date.fromisoformat(self.days[0])).days + 1

    @property
    def confidence(self) -> str:
        """ "low" for 3 in 3 days, "medium" for 4 to 6 within 14 days, "high" for 7 or more over 7 days or more. What a
        model can do stays "low" until there are 14 days of evidence."""
        number = len(self.observations)
        if self.is_capability and self.span_days < CAPABILITY_DAYS:
            return "low"
        if number >= HIGH_ENTRIES and self.span_days >= HIGH_DAYS:
            return "high"
        if number >= HIGH_ENTRIES or (number >= MEDIUM_ENTRIES and self.span_days <= MEDIUM_DAYS):
            return "medium"
        return "low"

    @property
    def is_capability(self) -> bool:
        return sum(bool(_CAPABILITY.search(one.text)) for one in self.observations) * 2 > len(
            self.observations
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
            if waiting >= MAX_WAITING and same_as(proposal, staged(staging_folder(desk))) is None:
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
    """A theme as a proposal. Its text is the observation that says most of what the others say."""
    words = [stems(one.text) for one in theme.observations]
    often = Counter(word for found in words for word in found)

    def weight(place: int) -> "tuple[float, int]":
        return sum(often[word] for word in words[place]) / (3 + len(words[place])), place

    best = max(range(len(words)), key=weight)
    stands = theme.observations[best]
    count, days = len(theme.observations), len(theme.days)
    return Proposal(
        at,
        theme.type,
        _TARGETS[theme.type],
        theme.confidence,
        f"{stands.text} ({count} times on {days} days, {theme.days[0]} to {theme.days[-1]})",
        f"- {stands.text}",
        tuple(Evidence(one.date, one.text, one.id) for one in theme.observations[-MAX_EVIDENCE:]),
        ", ".join(one.id for one in theme.observations if one.id) or str(count),
    )
