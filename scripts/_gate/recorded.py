"""What is in memory already, indexed by words, so that a new line is compared only with those it can repeat."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Callable

from _gate.dates import has_relative_words, names_a_day
from _likeness import Features, features, says_the_same
from _observations import Observation

_FREQUENCY = re.compile(
    r"\b(?:every|each|daily|weekly|monthly|usually|always|often|on \w+days|mornings|evenings|regularly|jeden|jede|"
    r"täglich|immer|meistens|"
    r"morgens|abends|chaque|tous|toujours|cada|todos|todas|siempre|ogni|sempre|codziennie|каждый)\b|每|毎|"
    r"いつも|通常|매일",
    re.I,
)


_MARKUP = str.maketrans("", "", "*_~#>[]()\"“”‘’'«»`")


class Recorded:
    """The observations of the log and those accepted in this call. `repeats` says whether one adds nothing.

    Comparing is costly beside looking for a word, so a line is taken apart only when most words of a new one are in it.
    `is_bound` tells whether the same words on another day are another thing.
    """

    def __init__(
        self, known: Iterable[Observation], is_bound: "Callable[[Observation], bool] | None" = None
    ) -> None:
        self._is_bound = is_bound or is_bound_to_its_day
        self._kept: "list[Observation]" = []
        self._plain: "list[str]" = []
        self._starts: "list[int]" = []
        self._text = ""
        self._features: "dict[int, Features]" = {}
        self._add_all(list(known))

    def add(self, observation: Observation) -> None:
        """Remember one more."""
        self._add_all([observation])

    def _add_all(self, observations: "list[Observation]") -> None:
        length = len(self._text)
        parts = [self._text]
        for observation in observations:
            plain = _plain(observation.text)
            self._kept.append(observation)
            self._plain.append(plain)
            self._starts.append(length)
            parts.append(plain)
            length += len(plain)
        self._text = "".join(parts)

    def repeats(self, new: Observation, text: str = "") -> bool:
        """True when `new` (or `text` in its place) says what is there already: on the same day, or on any day when
        it is neither an event nor an entry of a habit nor bound to the day it was said."""
        return next(self.repeated(new, text), None) is not None

    def repeated(self, new: Observation, text: str = "") -> Iterator[int]:
        """The places, in the order in which they were added, of the observations that `new` repeats; its own too."""
        wanted = features(text or new.text)
        bound = self._is_bound(new)
        for place in self._holding(_needed_words(wanted)):
            old = self._kept[place]
            if old.date != new.date and bound:
                continue
            plain = self._plain[place]
            if sum(word in plain for word in wanted.words) < 0.8 * len(wanted.words):
                continue
            if says_the_same(wanted, self._features_of(place)) and (
                old.date == new.date or not self._is_bound(old)
            ):
                yield place

    def _holding(self, words: "list[str]") -> "set[int]":
        """The places of the observations in which one of the words occurs."""
        places: "set[int]" = set()
        for word in words:
            at = self._text.find(word)
            while at >= 0:
                place = bisect_right(self._starts, at) - 1
                places.add(place)
                at = self._text.find(word, self._starts[place] + len(self._plain[place]))
        return places

    def _features_of(self, place: int) -> Features:
        found = self._features.get(place)
        if found is None:
            found = self._features[place] = features(self._kept[place].text)
        return found


def _plain(text: str) -> str:
    """In the spelling that `words_of` has, and once more without markup, on lines of their own."""
    plain = unicodedata.normalize("NFKC", text).replace("’", "'").casefold()
    return f"{plain}\n{plain.translate(_MARKUP)}\n"


def _needed_words(wanted: Features) -> "list[str]":
    """Words of which one is in every text that says the same: 80 % of all words are shared, so of any 20 % and one more
    at least one is. Long words are rare ones."""
    if not wanted.words:
        return wanted.print.split()[:1]
    return sorted(wanted.words, key=lambda word: (-len(word), word))[: len(wanted.words) // 5 + 1]


def is_bound_to_its_day(observation: Observation) -> bool:
    """True when the same words on another day are another thing ("Ran 5 km", "Dentist tomorrow")."""
    if names_a_day(observation.text):
        return False
    if observation.type == "event" or has_relative_words(observation.text):
        return not (observation.type == "habit" and _FREQUENCY.search(observation.text))
    return observation.type == "habit" and not _FREQUENCY.search(observation.text)
