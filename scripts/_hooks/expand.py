"""Search phrases without a model: the same item always gives the same ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date as Date
from itertools import zip_longest

from _hooks.synonyms import Synonyms
from _hooks.words import Words, is_telling, words_in
from _likeness import WIDE

MOST_WORDS = 9  # of a phrase; a longer one reads like a sentence and finds no more
MOST_CHARS = 90
_ANCHORS = 3  # where two names do not do
_MONTHS = "January February March April May June July August September October November December".split()


def expand(text: str, type: str, date: str, synonyms: Synonyms, count: int = 5) -> "tuple[str, ...]":
    """`count` search phrases for an item, fewer only when it has nothing to search for; the primary one, in its own
    words, first.

    `text` is the item without metadata, `date` ("YYYY-MM-DD" or "") the day when it was said. The others hold other
    words for its words, its numbers and dates written another way, and the rest of its own words, each beside a name
    of the item so that it leads to this item and not to others like it. A single phrase holds some of all.
    """
    words = words_in(text)
    others = list(_other_words(text, words, synonyms))
    if count == 1:
        return _phrases([_mixed(words, others)], 1)
    anchors = _anchors(words, others)
    made = [_own(words)]
    rounds = [list(filter(None, column)) for column in zip_longest(*(found for _, found in others))]
    chosen = [[*anchors, *column] for column in _packed(rounds, MOST_WORDS - len(anchors))]
    dated = [*anchors, *_subject(words, anchors), *_dates(text, words, date)]
    made += chosen[:2]
    made.append(dated)
    made += chosen[2:]
    made += _rest(words, anchors)
    made += [[*anchors, *_subject(words, anchors), *forms] for forms in _spellings(date)]
    made += [[*_own(words)[:3], type]] if type else []
    made += [[word] for word in _own(words)]
    return _phrases(made, count)


def _phrases(made: "Sequence[Sequence[str]]", count: int) -> "tuple[str, ...]":
    found: "dict[str, None]" = {}
    for words in made:
        phrase = ""
        for word in dict.fromkeys(words):
            longer = f"{phrase} {word}".strip()
            if len(longer) <= MOST_CHARS:
                phrase = longer
        if phrase and phrase.lower() not in {known.lower() for known in found}:
            found[phrase] = None
    return tuple(found)[:count]


def _other_words(text: str, words: Words, synonyms: Synonyms) -> "Iterator[tuple[str, list[str]]]":
    """Each word of the item that the table knows, with the other words for it."""
    own = {word.lower() for word in words.own}
    low = text.lower()
    for word in words.terms:
        found = [other for other in synonyms.others(word, words.languages) if other not in own]
        if found:
            yield word, found
    for run in dict.fromkeys(WIDE.findall(low)):
        for word, others in synonyms.inside(run):
            if others:
                yield word, others


def _own(words: Words) -> "list[str]":
    telling = [word for word in words.terms if is_telling(word, words.languages)] or list(words.terms)
    return [*words.names[:3], *telling[:5], *words.pieces[:4], *words.numbers[:1]][:MOST_WORDS]


def _mixed(words: Words, others: "Sequence[tuple[str, list[str]]]") -> "list[str]":
    first = [found[0] for _, found in others]
    second = [found[1] for _, found in others if len(found) > 1]
    return [*_own(words)[:4], *first[:5], *second[:3]]


def _anchors(words: Words, others: "Sequence[tuple[str, list[str]]]") -> "list[str]":
    """What leads to this item: two names, else one and the longest words that the table has no other word for, or such
    words alone; where there are none, a word or number of it."""
    known = {word for word, _ in others}
    rare = sorted((word for word in words.terms if word not in known), key=len, reverse=True)
    found = [*words.names[:2], *rare][: 2 if len(words.names) > 1 else _ANCHORS]
    return found or [*words.pieces, *words.terms, *words.numbers][:1]


def _packed(rounds: "Sequence[Sequence[str]]", most: int) -> "Iterator[list[str]]":
    """The first other word for each word, then the second ones, and so on, in phrases of at most `most` words."""
    held: "list[str]" = []
    for word in dict.fromkeys(word for column in rounds for word in column):
        held.append(word)
        if len(held) == most:
            yield held
            held = []
    if held:
        yield held


def _dates(text: str, words: Words, date: str) -> "list[str]":
    """The dates of the text, or else the day when it was said, in other spellings; and its numbers."""
    from _numbers import mentions

    found: "list[str]" = []
    year = date[:4]
    for one in mentions(text):
        if one.sure and one.month and one.day:
            found += _spelled(one.year or int(year or 0), one.month, one.day)
    for forms in _spellings(date) if not found else ():
        found += forms
        break
    dates = " ".join(found)
    return [*found[:4], *(number for number in words.numbers if number not in dates)][:6]


def _spellings(date: str) -> "Iterator[list[str]]":
    """The day in the ways in which people write it."""
    try:
        day = Date.fromisoformat(date)
    except ValueError:
        return
    month = _MONTHS[day.month - 1]
    yield [f"{day.day} {month} {day.year}", date]
    yield [f"{month} {day.day}"]
    yield [f"{day.year}/{day.month}/{day.day}"]
    yield [f"{day.year}年{day.month}月{day.day}日"]


def _spelled(year: int, month: int, day: int) -> "list[str]":
    name = _MONTHS[month - 1]
    if year:
        return [f"{year:04d}-{month:02d}-{day:02d}", f"{day} {name} {year}", f"{name} {day}"]
    return [f"{day} {name}", f"{name} {day}"]


def _subject(words: Words, anchors: "Sequence[str]") -> "list[str]":
    """The first word that says what the item is about: many items may have its names and its date."""
    return [word for word in _own(words) if word not in anchors and word not in words.numbers][:1]


def _rest(words: Words, anchors: "Sequence[str]") -> "Iterator[list[str]]":
    """The words that the primary phrase left out, and those in it without one of them."""
    own = _own(words)
    left = [word for word in words.own if word not in own]
    for start in range(0, len(left), 5):
        yield [*anchors, *left[start : start + 5]]
    for place in reversed(range(len(own) if len(own) > 2 else 0)):
        yield own[:place] + own[place + 1 :]
