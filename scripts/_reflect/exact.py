"""What is right only as it stands: figures with their signs, names written in their own way, paths, a "not", an order.

The likeness of `_likeness` is that of words: "-5" and "5", "/data/A" and "/data/a", "from Anna to Ben" and "from Ben to
Anna" are alike to it. No line may go for one that differs so, nor be merged into one.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from _gate.wording import ORDINARY
from _likeness import WIDE, features, words_of
from _numbers import numbers_said, spelled

_PIECE = re.compile(rf"(?:(?!{WIDE.pattern})[^\s\[\](){{}}\"“”„«»‘`*、。，；：！？「」『』])+")
_SIGNS = "%‰°§#@\\"
_ENDINGS = re.compile(r"(?:ies|ing|ers|en|ed|es|er|s|y|'s|n|e)$")
_WIDE_NUMBERS = frozenset("〇零一二三四五六七八九十百千万萬億亿兆两兩半倍")


@dataclass(frozen=True)
class Exact:
    """What of a text has to stand as it is. `pieces` are words with a figure, or in a spelling of their own, `plain`
    all others in lower case; `signs` what stands for itself, such as "$" or "<"; `words` numbers in words, and
    `numbers` all numbers as digits."""

    pieces: "frozenset[str]"
    plain: "frozenset[str]"
    signs: "frozenset[str]"
    words: "frozenset[str]"
    numbers: "frozenset[str]"
    negated: bool
    hedges: "frozenset[str]"

    def covers(self, other: "Exact") -> bool:
        """Whether all that the other has to say so is said here too, and nothing is turned round by a "not" or
        made less or more certain."""
        return self.hedges == other.hedges and self.holds(other)

    def holds(self, other: "Exact") -> bool:
        """As `covers`, whatever the certainty: a merge has the "old" of one source and not of the other."""
        return (
            other.pieces <= self.pieces
            and other.plain.isdisjoint(piece.casefold() for piece in self.pieces)
            and other.signs <= self.signs
            and self.counts(other.words)
            and self.negated == other.negated
        )

    def counts(self, words: "Iterable[str]") -> bool:
        """Whether each of these numbers in words is among the numbers here, in whatever form."""
        return all(not self.numbers.isdisjoint(spelled(word)) for word in words)


@functools.lru_cache(maxsize=16_384)
def exact(text: str) -> Exact:
    """What of a text has to stand as it is, remembered: a line is compared with many."""
    text = unicodedata.normalize("NFC", text)
    pieces = [piece.strip(".,;:!?…–—'’") for piece in _PIECE.findall(text)]
    words, numbers, said = words_of(text), frozenset(numbers_said(text)), features(text)
    return Exact(
        frozenset(filter(_is_own_spelling, pieces)),
        frozenset(piece.casefold() for piece in pieces if not _is_own_spelling(piece)),
        frozenset(character for character in text if _is_sign(character)),
        frozenset(
            part for part in _parts(words) if not WIDE.search(part) and not numbers.isdisjoint(spelled(part))
        ),
        numbers,
        said.negated,
        said.hedges,
    )


def _is_sign(character: str) -> bool:
    return (
        character in _SIGNS
        or character in _WIDE_NUMBERS
        or unicodedata.category(character) in ("Sc", "Sm", "No", "Nl")
    )


def _is_own_spelling(piece: str) -> bool:
    """ "5", "$40", "5k", "iPhone", "key_b", "/data/a.txt": what is another thing when one character changes."""
    if any(map(str.isnumeric, piece)) or any(map(str.isupper, piece[1:])):
        return True
    return bool(re.search(r"[^\W\d]?[_/\\@:.+=&#~|][^\W\d]", piece)) and len(piece) > 1


def base(word: str) -> str:
    """A word without its ending: "runs", "running" and "run" are one, "contract" and "contrast" are not."""
    if len(word) < 4 or not word.isalpha():
        return word
    bare = _ENDINGS.sub("", word)
    return bare[:-1] if len(bare) > 3 and bare[-1] == bare[-2] else bare


def bases(text: str) -> "list[str]":
    """The words that carry the meaning, in their order; no figures, and none of wide scripts, whose pairs of characters
    change wherever words come together anew."""
    return [base(part) for part in _parts(words_of(text)) if part.isalpha() and not WIDE.search(part)]


def _parts(words: "Iterable[str]") -> "list[str]":
    """The pieces of words that carry the meaning: "check-in" as two."""
    return [part for word in words for part in re.findall(r"[^\W_]+", word) if part not in ORDINARY]


def restates(text: str, other: str) -> bool:
    """Whether a text says all that the other does, to the letter where that matters and in the same order."""
    if not exact(text).covers(exact(other)):
        return False
    rest = iter(_in_order(text))
    return all(word in rest for word in _in_order(other))


@functools.lru_cache(maxsize=16_384)
def _in_order(text: str) -> "tuple[str, ...]":
    return tuple(word if WIDE.search(word) else base(word) for word in words_of(text) if word not in ORDINARY)


def unfaithful(text: str, sources: "Iterable[str]", days: "Iterable[str]" = ()) -> str:
    """Why a merged text is not what its sources say: a reason code; "" when it is. It may name the days ("2026-11-30")
    on which they were said."""
    texts = list(sources)
    made, known = exact(text), [exact(source) for source in texts]
    if not made.pieces <= frozenset(days).union(*(one.pieces for one in known)):
        return "ungrounded_number" if _has_figure(made, known) else "ungrounded_path"
    if not made.signs <= frozenset().union(*(one.signs for one in known)):
        return "ungrounded_number"
    if not all(any(one.counts([word]) for one in known) for word in made.words):
        return "ungrounded_number"
    if not all(made.negated == one.negated for one in known):
        return "negation"
    if made.hedges != frozenset().union(*(one.hedges for one in known)) or _differ_in_certainty(texts):
        return "certainty"
    if not all(made.holds(one) for one in known):
        return "lost_number_or_name"
    meant = frozenset(word for source in texts for word in bases(source))
    return "" if meant.issuperset(bases(text)) else "invented_words"


def _differ_in_certainty(texts: "Sequence[str]") -> bool:
    """Whether one says with a "might" or the like what another says without: the later may correct the earlier."""
    said = [(exact(text).hedges, frozenset(bases(text))) for text in texts]
    return any(
        hedges != others and words - frozenset(map(base, hedges)) <= other_words
        for hedges, words in said
        for others, other_words in said
    )


def _has_figure(made: Exact, known: "Iterable[Exact]") -> bool:
    """Whether what was not said before is a figure."""
    new = made.pieces.difference(*(one.pieces for one in known))
    return any(any(map(str.isnumeric, piece)) for piece in new)
