"""Where the words of a question stand: in which items, how often, and in which part of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from _archive import headings
from _recall.corpus import HEADING, Corpus
from _recall.terms import Term

MOST_PLACES = 2_000  # a word that stands in more is so common that the rest of them change nothing
_SAMPLE = 4_000_000  # bytes by which the number of items is told
_WORD = re.compile(rb"[0-9a-z\x80-\xff]+")
_SAID = re.compile(r"[^\W_]+")
_INSIDE = frozenset(b"0123456789abcdefghijklmnopqrstuvwxyz")  # before a byte that begins no word
_FENCE = b"\n```"
_ORIGINAL_DATE = b"\n**original date**: "
_TOPIC = b"\n**topic**: "
# Words that stand in the metadata of lines.
_METADATA = frozenset(
    """dc type importance date id ttl confidence source decayed obs text event context fact preference goal habit rule
    never""".split()
)


class Item(NamedTuple):
    """Where an item stands: from `head`, the newline before its heading, to `end`; its text from `text` on, of `length`
    bytes without metadata. `counts` is how often it has each term, words in a hook counting less."""

    source: int
    head: int
    text: int
    end: int
    length: int
    counts: "dict[str, float]"


class Places:
    """The items in which something was found, by where they begin. `total` is about how many items there are."""

    def __init__(self, corpus: Corpus, hook: float) -> None:
        self.corpus = corpus
        self.at: "dict[int, Item]" = {}
        self._hook = hook
        self._real: "dict[int, list[int]]" = {}
        sample = corpus.low[:_SAMPLE].count(HEADING)
        self.total = max(1, round(sample * max(1.0, len(corpus.low) / _SAMPLE)))

    def item_at(self, place: int) -> Item:
        """The item that holds a byte; of the first lines of a file, what stands before its first item."""
        low = self.corpus.low
        source = self.corpus.source_at(place)
        begin, end = self.corpus.starts[source] - 1, self.corpus.end_of(source)
        head = max(begin, low.rfind(HEADING, begin, place + len(HEADING)))
        known = self.at.get(head)
        if known and place < known.end:
            return known
        after = low.find(HEADING, head + 1, end)
        after = end if after < 0 else after
        doubtful = low.startswith(HEADING, head) and low.count(_FENCE, head, after) != 2
        if doubtful and low.find(_FENCE, begin, end) >= 0:
            head, after = self._real_item(source, place)
        found = low.find(b"\n**", head, after)
        text = low.find(b"\n\n", found if found >= 0 else head, after)
        text = text if text >= 0 else after
        comment = low.find(b"<!--", text, after)
        item = Item(source, head, text, after, (comment if comment >= 0 else after) - text, {})
        return self.at.setdefault(head, item)

    def _real_item(self, source: int, place: int) -> "tuple[int, int]":
        """Begin and end of the item, where a text may hold what looks like a heading: by reading the whole file."""
        begin, end = self.corpus.starts[source], self.corpus.end_of(source)
        if source not in self._real:
            lines = self.corpus.low[begin:end].decode("utf-8", "surrogateescape").split("\n")
            sizes = [len(line.encode("utf-8", "surrogateescape")) + 1 for line in lines]
            wanted, at, heads = set(headings(lines, is_lowered=True)), begin - 1, []
            for number, size in enumerate(sizes):
                if number in wanted:
                    heads.append(at)
                at += size
            self._real[source] = heads
        heads = self._real[source]
        head = max((head for head in heads if head <= place), default=begin - 1)
        return head, min((other for other in heads if other > head), default=end)

    def find(self, term: Term) -> float:
        """Count a term in every item; how much it tells comes back: the rarer, the more (the idf of BM25)."""
        number = 0
        item = None
        for count, place in enumerate(self._places_of(term)):
            if item is None or not item.head <= place < item.end:
                item = self.item_at(place)
            weight = self._weight(item, place, term)
            if weight:
                number += term.said not in item.counts
                item.counts[term.said] = item.counts.get(term.said, 0.0) + weight
            if count == MOST_PLACES:
                number = round(number * len(self.corpus.low) / (place + 1))
                break
        number = min(number, self.total)
        return math.log(1 + (self.total - number + 0.5) / (number + 0.5))

    def _places_of(self, term: Term) -> "Iterator[int]":
        low, find = self.corpus.low, self.corpus.low.find
        forms: "dict[bytes, bool]" = {}
        for needle in term.needles:
            place = find(needle)
            while place >= 0:
                if not term.stems or (
                    low[place - 1] not in _INSIDE and _begins_form(low, place, term, forms)
                ):
                    yield place
                place = find(needle, place + 1)

    def _weight(self, item: Item, place: int, term: Term) -> float:
        """What a word counts by where it stands: in the text or topic 1, in a hook less, in other fields nothing."""
        low = self.corpus.low
        if place >= item.text:
            if term.said in _METADATA or term.is_date:
                in_comment = low.rfind(b"<!--", item.text, place) > low.rfind(b"-->", item.text, place)
                return 0.0 if in_comment or low[place - 1 : place] == b"`" else 1.0
            return 1.0
        line = low.rfind(b"\n", 0, place)
        if low.startswith((b"\n- ", b"\n* "), line):
            return self._hook
        if low.startswith(_TOPIC, line):
            return 1.0 if place >= line + len(_TOPIC) else 0.0
        return 1.0 if term.is_date and low.startswith(_ORIGINAL_DATE, line) else 0.0

    def beside(self, item: Item, reach: int) -> "Iterator[tuple[int, Item]]":
        """The items of the same day before and behind one in its file, up to `reach` away, with how far that is."""
        begin, end = self.corpus.starts[item.source], self.corpus.end_of(item.source)
        day = self._day_of(item)
        for forward in (False, True):
            other = item
            for far in range(1, reach + 1):
                place = other.end + 1 if forward else other.head - 1
                if not begin <= place < end:
                    break
                other = self.item_at(place)
                if self._day_of(other) != day:
                    break
                yield far, other

    def _day_of(self, item: Item) -> bytes:
        place = self.corpus.low.find(_ORIGINAL_DATE, item.head, item.text)
        place += len(_ORIGINAL_DATE)
        return bytes(self.corpus.low[place : place + 10]) if place >= len(_ORIGINAL_DATE) else b""


def _begins_form(low: bytearray, place: int, term: Term, forms: "dict[bytes, bool]") -> bool:
    """True where a word begins that is a form of the term. `forms` remembers what was found out about words."""
    if low[place - 1] >= 128 and low[max(0, place - 4) : place].decode("utf-8", "ignore")[-1:].isalnum():
        return False
    found = _WORD.match(low, place)
    word = bytes(found.group()) if found else b""
    known = forms.get(word)
    if known is None:
        # High bytes may be a mark too, such as a closing quotation mark.
        said = _SAID.match(word.decode("utf-8", "ignore").lower())
        known = forms[word] = bool(said and term.fits(said.group()))
    return known
