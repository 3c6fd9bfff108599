"""The built-in extractor: the telling clauses of a conversation, picked by rules, without a model.

Every sentence is cut into the clauses that can stand alone; each is weighed by what its words tell (rare words, names,
numbers, signs of a type in the language it is in) for its length, and the weightiest are kept within a budget.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Optional

from _extract.dates import with_dates
from _extract.kinds import ONLY_BY_THE_OWNER, judge, telling, worth_a_look
from _extract.text import Utterance, utterances
from _extract.weigh import Clause, clauses_of
from _observations import HIGH_FROM, Candidate, count_words, make_observation
from _transcripts.message import Message

__all__ = ["extract"]

SHARE = 0.19  # of the words that people said: memory is to stay within a fifth of a conversation
# What is of high priority may go beyond it: a talk that is all decisions and dates must not lose half of them.
STRONG, STRONG_SHARE = HIGH_FROM, 0.75
# A window of so many words may be kept whole, and so many of each message as far as they are strong: a person who
# says one thing and leaves has that one thing kept.
WHOLE_BELOW, STRONG_BELOW = 32, 60
MESSAGE_WORDS = 1000  # a longer message is likely a document: it counts as one of this length ...
MESSAGE_LINES = 20  # ... and gives no more lines than this
ECHOED = 0.6  # with more of its words already said by people, a clause of the assistant's is a confirmation
REPEATED = 0.85  # what a word is still worth with each kept clause that has it


def extract(messages: "Sequence[Message]", zone: tzinfo) -> "list[Candidate]":
    """The observations in a window of messages, in the order in which they were said.

    Dates and times are those of `zone`, the person's. The same messages always give the same candidates; text of any
    kind raises nothing. What nobody needs to find again gives nothing.
    """
    said = utterances(messages)
    weighed = list(clauses_of(said))
    heard = {word for clause in weighed if not clause.utterance.from_assistant for word in clause.words}
    clauses = [clause for clause in weighed if worth_a_look(clause) and not _echoes(clause, heard)]
    chosen = _choose(clauses, _budgets(said))
    candidates = (_candidate(clause, zone) for clause in sorted(chosen, key=lambda one: one.order))
    return [candidate for candidate in candidates if candidate is not None]


def _echoes(clause: Clause, heard: "set[str]") -> bool:
    """True for the assistant's confirmation of what a person has just said."""
    known = sum(word in heard for word in clause.words)
    return clause.utterance.from_assistant and known > ECHOED * len(clause.words)


@dataclass(frozen=True)
class _Budgets:
    """How many words may be kept altogether, while the next clause is: any, a telling one, a strong one."""

    any: float
    telling: float
    strong: float

    def room_for(self, clause: Clause) -> float:
        if not telling(clause):
            return self.any
        kind, importance = judge(clause)
        return self.strong if importance >= STRONG or kind in ONLY_BY_THE_OWNER else self.telling


def _budgets(said: "Sequence[Utterance]") -> _Budgets:
    people = assistant = messages = 0
    for one in said:
        words = min(MESSAGE_WORDS, count_words(one.text) + len(one.label.split()))
        if one.from_assistant:
            assistant += words
        else:
            people += words
            messages += 1
    share, whole = SHARE * people, people + assistant
    strong = max(min(STRONG_SHARE * people, STRONG_BELOW * messages), min(whole, STRONG_BELOW))
    return _Budgets(share, max(share, min(whole, WHOLE_BELOW)), max(share, strong))


def _choose(clauses: "Sequence[Clause]", budgets: _Budgets) -> "list[Clause]":
    """The densest clauses that fit.

    A word that is kept already counts for less, so a clause's density only ever falls and it is enough to look again
    at whichever stands first.
    """
    covered: "dict[str, float]" = {}
    heap = [(-clause.density(covered), place) for place, clause in enumerate(clauses)]
    heapq.heapify(heap)
    chosen: "list[Clause]" = []
    spans = {clause.order: clause for clause in clauses}
    lines: "dict[int, int]" = {}
    spent = 0
    while heap:
        clause = clauses[heap[0][1]]
        density = -clause.density(covered)
        if density > heap[0][0]:
            heapq.heapreplace(heap, (density, heap[0][1]))
            continue
        heapq.heappop(heap)
        if clause.size > budgets.room_for(clause) - spent or lines.get(clause.order[0], 0) >= MESSAGE_LINES:
            continue
        same = [other for other in chosen if other.order[:2] == clause.order[:2]]
        if any(_overlap(clause, other) for other in same):
            continue
        spent += clause.size
        covered.update((word, covered.get(word, 1.0) * REPEATED) for word in clause.words)
        for other in same:
            joined = spans.get(_joined(clause, other))
            if joined:
                chosen.remove(other)
                spent += joined.size - clause.size - other.size
                clause = joined
        chosen.append(clause)
        lines[clause.order[0]] = sum(other.order[0] == clause.order[0] for other in chosen)
    return chosen


def _overlap(one: Clause, other: Clause) -> bool:
    return one.order[2] <= other.order[3] and other.order[2] <= one.order[3]


def _joined(one: Clause, other: Clause) -> "tuple[int, int, int, int]":
    """Where the clause stands that two neighbours of one sentence make together; nowhere when they are none."""
    first, second = sorted((one.order, other.order))
    return (*first[:3], second[3]) if first[3] + 1 == second[2] else (-1, -1, -1, -1)


def _candidate(clause: Clause, zone: tzinfo) -> "Optional[Candidate]":
    message, label = clause.utterance.message, clause.utterance.label
    at = message.at.astimezone(zone)
    text = with_dates(clause.text, clause.language, at)
    if clause.question:
        text = f"{text} ({clause.question})"
    if label:
        text = f"{label}: {text}"
    kind, importance = judge(clause)
    observation = make_observation(text, kind, importance, at.date().isoformat(), f"{at:%H:%M}")
    return Candidate(observation, (message.uid,), label) if observation else None
