"""What is in memory already, indexed by words, so that a new line is compared only with those it can repeat."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Callable

from _likeness import Features, adds_nothing, features
from _numbers import has_relative_words, names_a_day
from _observations import Observation

_FREQUENCY = re.compile(
    r"\b(?:every|each|daily|weekly|monthly|usually|always|often|on \w+days|mornings|evenings|regularly|jeden|jede|"
    r"täglich|immer|meistens|"
    r"morgens|abends|chaque|tous|toujours|cada|todos|todas|siempre|ogni|sempre|codziennie|каждый)\b|每|毎|"
    r"いつも|通常|매일",
    re.I,
)


class Recorded:
    """The observations of the log and those accepted in this call. `repeats` says whether one adds nothing.

    A new line is compared only with those that have the same numbers, names and hedges and one of its rarest words,
    so that going through a whole log takes a time that grows with the log and not with its square. `is_bound` tells
    whether the same words on another day are another thing.
    """

    def __init__(
        self, known: Iterable[Observation], is_bound: "Callable[[Observation], bool] | None" = None
    ) -> None:
        self._is_bound = is_bound or is_bound_to_its_day
        self._kept: "list[Observation]" = []
        self._by_word: "dict[tuple[object, ...], list[int]]" = {}
        self._by_print: "dict[str, list[int]]" = {}
        for observation in known:
            self.add(observation)

    def add(self, observation: Observation) -> None:
        """Remember one more."""
        place, said = len(self._kept), features(observation.text)
        self._kept.append(observation)
        self._by_print.setdefault(said.print, []).append(place)
        for key in _keys(said):
            self._by_word.setdefault(key, []).append(place)

    def repeats(self, new: Observation, text: str = "") -> bool:
        """True when `new` (or `text` in its place) says what is there already: on the same day, or on any day when
        it is neither an event nor an entry of a habit nor bound to the day it was said."""
        return next(self.repeated(new, text), None) is not None

    def repeated(self, new: Observation, text: str = "") -> Iterator[int]:
        """The places, in the order in which they were added, of the observations that `new` repeats; its own too."""
        wanted = features(text or new.text)
        near = self._near(wanted)
        bound = bool(near) and self._is_bound(new)
        for place in near:
            old = self._kept[place]
            same_day = old.date == new.date
            if (bound and not same_day) or not adds_nothing(wanted, features(old.text)):
                continue
            if same_day or not self._is_bound(old):
                yield place

    def _near(self, wanted: Features) -> "list[int]":
        """The places of all that can say the same, in order: what does has all of its words, the rarest too."""
        if not wanted.print:
            return []
        found = set(self._by_print.get(wanted.print, ()))
        holding: "list[list[int]]" = [self._by_word.get(key, []) for key in _keys(wanted)]
        return sorted(found.union(*sorted(holding, key=len)[:1]))


def _keys(said: Features) -> "list[tuple[object, ...]]":
    """What a text is looked up by: each word, with all that has to be the same."""
    return [(word, said.numbers, said.names, said.negated, said.hedges) for word in said.telling]


def is_bound_to_its_day(observation: Observation) -> bool:
    """True when the same words on another day are another thing ("Ran 5 km", "Dentist tomorrow")."""
    if names_a_day(observation.text):
        return False
    if observation.type == "event" or has_relative_words(observation.text):
        return not (observation.type == "habit" and _FREQUENCY.search(observation.text))
    return observation.type == "habit" and not _FREQUENCY.search(observation.text)
