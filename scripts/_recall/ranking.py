"""What answers a question best: how rare the words are that an item shares with it, how often it has them (BM25), how
many of them it has, and what stands beside it."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple, Optional

from _lexicon import languages_of
from _recall.corpus import HEADING, Corpus
from _recall.hit import Hit, hits_in
from _recall.places import Item, Places
from _recall.terms import terms_of

LIMIT = 10
_SCORED = 1_000  # items that are weighed at all
_LOOKED_AT = 60  # so many of the best items have their neighbours looked at
_HALF_LIFE_DAYS = 365.0


class Weights(NamedTuple):
    """What counts how much; bench/recall.py shows what each is good for.

    `k1` and `b` are those of BM25, with a little less for length than usual: an observation is short already. `covered`
    is the share of a score that an item gets by how much of the question it has. `beside` are the shares of their
    scores that it gets from the items next to it and next but one: in a talk the answer often stands next to the words
    of the question. `hook` is what a word in a hook counts, one in the text being 1. `importance` (for each point above
    or below 5) and `age` (at most, halved with every year) decide between what answers about as well.
    """

    k1: float = 1.2
    b: float = 0.6
    covered: float = 0.7
    beside: "tuple[float, ...]" = (0.5, 0.25)
    hook: float = 0.7
    importance: float = 0.02
    age: float = 0.05


class Wanted(NamedTuple):
    """Which items may be found: of these kinds (of all when empty), said within these days ("YYYY-MM-DD" or "")."""

    kinds: "tuple[str, ...]" = ()
    since: str = ""
    until: str = ""

    def has(self, hit: Hit) -> bool:
        """Whether an item is among them. One without a date is in no span of days."""
        if self.kinds and hit.kind not in self.kinds:
            return False
        if (self.since or self.until) and not hit.date:
            return False
        return not (self.since and hit.date < self.since) and not (self.until and hit.date > self.until)


def search(
    corpus: Corpus,
    question: str,
    today: date,
    limit: int = LIMIT,
    wanted: "Optional[Wanted]" = None,
    weights: "Optional[Weights]" = None,
) -> "list[Hit]":
    """The items that answer a question best, at most `limit`, the best first; each id once. The same files, question
    and day always give the same. None when nothing has a word of it. Raises MissingPackage without the stemmer."""
    wanted, weights = wanted or Wanted(), weights or Weights()
    places = Places(corpus, weights.hook)
    terms = terms_of(question, languages_of(corpus.sample))
    rarity = {term.said: places.find(term) for term in terms}
    scores = _with_neighbours(places, _scores(places, rarity, weights), weights.beside)
    found: "dict[str, Hit]" = {}
    for head in sorted(scores, key=lambda head: (-scores[head], head)):
        item = places.at[head]
        for hit in _read(places, item):
            if wanted.has(hit):
                score = scores[head] * _prior(hit, today, weights)
                why = tuple(said for said in rarity if said in item.counts)
                found.setdefault(_name_of(hit), hit._replace(score=score, why=why))
        if len(found) >= 3 * limit:
            break
    return sorted(found.values(), key=lambda hit: (-hit.score, hit.id))[:limit]


def find_item(corpus: Corpus, name: str) -> "list[Hit]":
    """Everything that bears an id, whatever its case: more than one when an item stands in several files."""
    places = Places(corpus, 0.0)
    wanted = HEADING + name.lower().encode("utf-8", "surrogateescape") + b"\n"
    found: "dict[int, Item]" = {}
    place = corpus.low.find(wanted)
    while place >= 0:
        item = places.item_at(place + 1)
        found[item.head] = item
        place = corpus.low.find(wanted, place + 1)
    hits = (hit for item in found.values() for hit in _read(places, item))
    return [hit for hit in hits if hit.id.lower() == name.lower()]


def _name_of(hit: Hit) -> str:
    return f"{hit.file} {hit.id}" if hit.id.startswith("line-") else hit.id


def _scores(places: Places, rarity: "Mapping[str, float]", weights: Weights) -> "dict[int, float]":
    shares = [(sum(map(rarity.__getitem__, item.counts)), item) for item in places.at.values() if item.counts]
    if len(shares) > _SCORED:
        # The rest share less with the question than any of these, most of them one common word.
        shares = heapq.nlargest(_SCORED, shares, key=lambda share: share[0])
    average = sum(item.length for _, item in shares) / max(1, len(shares))
    everything = sum(rarity.values())
    k1, b = weights.k1, weights.b
    scores = {}
    for share, item in shares:
        long = k1 * (1 - b + b * item.length / max(1.0, average))
        own = sum(rarity[said] * count * (k1 + 1) / (count + long) for said, count in item.counts.items())
        scores[item.head] = own * (1 - weights.covered + weights.covered * share / everything)
    return scores


def _with_neighbours(
    places: Places, scores: "Mapping[int, float]", shares: "Sequence[float]"
) -> "Mapping[int, float]":
    if not shares:
        return scores
    best = sorted(scores, key=lambda head: (-scores[head], head))[:_LOOKED_AT]
    around: "dict[int, float]" = {}
    for head in best:
        beside = list(places.beside(places.at[head], len(shares)))
        for item in (places.at[head], *(other for _, other in beside)):
            if item.head not in around:
                around[item.head] = scores.get(item.head, 0.0) + sum(
                    shares[far - 1] * scores.get(other.head, 0.0)
                    for far, other in places.beside(item, len(shares))
                )
    return {**scores, **around}


def _prior(hit: Hit, today: date, weights: Weights) -> float:
    factor = 1.0 + weights.importance * (hit.importance - 5.0)
    try:
        days = (today - date.fromisoformat(hit.date)).days
    except ValueError:
        return factor
    return factor + weights.age * math.pow(0.5, max(0, days) / _HALF_LIFE_DAYS)


def _read(places: Places, item: Item) -> "Iterator[Hit]":
    source = places.corpus.sources[item.source]
    for hit in hits_in(places.corpus.text_of(item.source, item.head, item.end), source.kind):
        if hit.text:
            yield hit._replace(file=source.name)
