"""When two texts say the same: words, fingerprint, and near-identical wording with the same numbers and names."""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass

_NEGATIONS = frozenset(
    """not no never none without cannot isn't won't don't doesn't didn't can't wasn't aren't nicht kein keine nie pas
    jamais sin nunca non mai nao não""".split()
)
_STOP = frozenset(
    """a an the of to in on at for and or is are was were be been am i you he she it we they my your his her its our
    their this that these those so just really very too also with from as by user""".split()
)
_WORD = re.compile(r"[^\W_]+(?:[.,:/'’\-][^\W_]+)*")
# Scripts without spaces: Japanese, Chinese, Korean, Thai.
WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0e7f]+")


def fingerprint(text: str) -> str:
    """The text apart from case, markup, punctuation and width: equal fingerprints say the same in the same words."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = re.sub(r"[`*_~#>\[\]()\"“”‘’'«»]", "", text)
    return " ".join(re.findall(r"[^\s.,;:!?…。、，；：！？]+(?:[.,:][^\s.,;:!?…。、，；：！？]+)*", text))


def words_of(text: str) -> "list[str]":
    """The words of a text for comparing: case folded; scripts without spaces as overlapping pairs of characters."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'").casefold()
    found: "list[str]" = []
    for word in _WORD.findall(text):
        wide = WIDE.findall(word)
        rest = WIDE.sub(" ", word).split() if wide else [word]
        found.extend(rest)
        for run in wide:
            found.extend(run[i : i + 2] for i in range(max(1, len(run) - 1)))
    return found


@dataclass(frozen=True)
class Features:
    """What two observations are compared by. Two with different numbers, names or negation never say the same."""

    print: str
    words: "frozenset[str]"
    numbers: "frozenset[str]"
    names: "frozenset[str]"
    negated: bool


@functools.lru_cache(maxsize=16_384)
def features(text: str) -> Features:
    """The Features of a text, remembered: each window is compared with all that memory holds. Names are words with
    a capital that do not open a sentence."""
    words = words_of(text)
    names = re.findall(r"(?<![.!?:]\s)(?<!^)\b([^\W\d_][^\W_]*)", text)
    return Features(
        fingerprint(text),
        frozenset(word for word in words if word not in _STOP),
        frozenset(word for word in words if any(character.isdigit() for character in word)),
        frozenset(name.casefold() for name in names if name[0].isupper() and name not in ("I", "User")),
        any(word in _NEGATIONS or word.endswith("n't") for word in words),
    )


def says_the_same(new: Features, old: Features) -> bool:
    """True when `new` adds nothing to `old`: the same words, near-identical wording, or a part of what is there.

    0.8 of all words shared lets a changed filler word pass and keeps a changed noun apart in lines of usual length.
    """
    if new.print == old.print:
        return True
    if new.numbers != old.numbers or new.names != old.names or new.negated != old.negated:
        return False
    shared = len(new.words & old.words)
    if not shared:
        return False
    if len(new.words) >= 3 and shared == len(new.words):
        return True
    return shared >= 0.8 * len(new.words | old.words)
