"""From a question to what is looked for: stems of its words, pairs of characters, dates."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from _lexicon import grammar_words, languages_of, stem_of
from _likeness import WIDE

MOST_TERMS = 14  # each costs a pass over all files
_WORD = re.compile(r"[^\W_]+")
_QUOTED_S = re.compile(r"(?<=\w)['’][sS]\b")
_VOWEL = re.compile(r"(au|[aou])([^aeiouäöü]*)$")  # the last one
_UMLAUTS = {"a": "ä", "o": "ö", "u": "ü", "au": "äu"}
_DIGIT = re.compile(r"\d")


class Term(NamedTuple):
    """One thing that is looked for. Any of the `needles` (UTF-8, lower case) may stand for it; of a word it is a
    beginning that its forms share, and `stems` tell by language which words with that beginning are forms of it.
    Without stems the needle is all of it. `is_date` terms are also found in the date of an item."""

    said: str
    needles: "tuple[bytes, ...]"
    stems: "tuple[tuple[str, str], ...]" = ()
    is_date: bool = False

    def fits(self, word: str) -> bool:
        """True for a word (lower case) that is a form of this one."""
        return any(stem_of(word, language) == stem for language, stem in self.stems)


def terms_of(question: str, languages: "tuple[str, ...]" = ()) -> "list[Term]":
    """What to look for, in the order of the question, each once. Words of grammar are left out unless there is nothing
    else. `languages` are those of a question that does not show its own. Raises MissingPackage without the stemmer."""
    text = _QUOTED_S.sub("", unicodedata.normalize("NFKC", question)).lower()
    languages = languages_of(text, languages)
    words = [word for word in _WORD.findall(WIDE.sub(" ", text)) if len(word) > 1 or word.isdigit()]
    stop = frozenset().union(*(grammar_words()[code] for code in languages if code in grammar_words()))
    telling = [word for word in words if word not in stop]
    pairs = list(_pairs(text))
    found = {term.said: term for term in _dates(text)}
    in_dates = {word for term in found.values() for word in _WORD.findall(term.said) if word.isdigit()}
    for word in telling or ([] if pairs else words):
        if word not in in_dates:
            found.setdefault(word, _word_term(word, languages))
    for pair in pairs:
        found.setdefault(pair, Term(pair, (pair.encode(),)))
    return _fewer(_apart(found.values()))


def _apart(terms: Iterable[Term]) -> "list[Term]":
    """Terms without those that say the same as one before ("painting", "painted")."""
    kept: "dict[object, Term]" = {}
    for term in terms:
        kept.setdefault(term.stems or term.needles, term)
    return list(kept.values())


def _fewer(terms: "list[Term]") -> "list[Term]":
    """The terms that tell the most, when there are too many: dates, then the longest."""
    if len(terms) <= MOST_TERMS:
        return terms
    best = sorted(terms, key=lambda term: (not term.is_date, -len(term.said)))[:MOST_TERMS]
    return [term for term in terms if term in best]


def _word_term(word: str, languages: "Sequence[str]") -> Term:
    if _DIGIT.search(word):
        return Term(word, (word.encode(),), (("", word),))
    stems = tuple((language, stem_of(word, language)) for language in languages)
    beginnings = {one for language, stem in stems for one in _beginnings(word, stem, language)}
    apart = {
        one for one in beginnings if not any(one != other and one.startswith(other) for other in beginnings)
    }
    # What is searched is in lower case for ASCII only.
    capitals = {one[0].upper() + one[1:] for one in apart if not one[0].isascii()}
    return Term(word, tuple(one.encode() for one in sorted(apart | capitals)), stems)


def _beginnings(word: str, stem: str, language: str) -> "set[str]":
    """What a word and its other forms begin with: as far as its stem goes, without a last letter that other forms write
    otherwise (happiness, happy). Where the stem has another vowel ("häuser": "haus"), both."""
    length = 0
    while length < min(len(word), len(stem)) and word[length] == stem[length]:
        length += 1
    if length < min(3, len(stem)):
        return {stem, word[: len(stem)]}
    if length > 3 and word[length - 1] in "iye":
        length -= 1
    shared = word[:length]
    return {shared, _VOWEL.sub(_umlaut, shared)} if language == "de" else {shared}


def _umlaut(vowel: "re.Match[str]") -> str:
    return _UMLAUTS[vowel.group(1)] + vowel.group(2)


def _pairs(text: str) -> "Iterator[str]":
    """Scripts without spaces as pairs of characters that overlap."""
    for run in WIDE.findall(text):
        if len(run) == 1:
            yield run
        for start in range(len(run) - 1):
            yield run[start : start + 2]


def _dates(text: str) -> "Iterator[Term]":
    """The dates that a question names, as they stand in the fields of items and as people write them."""
    if not _DIGIT.search(text):
        return
    from _numbers import mentions

    for found in mentions(text):
        if not (found.sure and found.month and (found.year or found.day)):
            continue
        said = text[found.start : found.end]
        if not found.year:
            yield Term(said, (f"-{found.month:02d}-{found.day:02d}".encode(),), is_date=True)
            continue
        month = f"{found.year:04d}-{found.month:02d}"
        yield Term(
            said, (f"{month}-{found.day:02d}".encode() if found.day else month.encode(),), is_date=True
        )
