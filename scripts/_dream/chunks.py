"""Several related observations made one: what a chunk says without a model, built of the sources' own words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from _archive import Chunk
from _dream.notes import Note
from _dream.weight import confidence_of
from _gate.wording import sentences, stem, stems
from _observations import estimate_tokens, shorten, tidy

# A finding takes at most this share of its sources' tokens: "up to 75 % fewer".
FINDING_SHARE, MAX_FINDING_CHARS = 0.5, 400
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def chunk_from(name: str, notes: "Sequence[Note]", source_archive: str) -> Chunk:
    """The chunk that stands for these notes, whose text lies in `source_archive` from then on."""
    days = sorted(note.item.observation.date for note in notes)
    ids = tuple(note.id for note in notes)
    found = finding_of([note.text for note in sorted(notes, key=lambda note: note.item.moment)])
    return Chunk(name, topic_of(notes), days[0], days[-1], _confidence(notes), ids, source_archive, found)


def topic_of(notes: "Sequence[Note]") -> str:
    """The words that most of the notes share, as the first of them spells them."""
    often = Counter(word for note in notes for word in stems(note.text))
    shared = {word for word, number in often.items() if number >= max(2, len(notes) // 2 + 1)}
    shared = shared or {word for word, number in often.items() if number > 1}
    found: "dict[str, str]" = {}
    for word in _WORD.findall(notes[0].text):
        key = stem(word.casefold())
        if key in shared and not word.isdecimal():
            found.setdefault(key, word)
    words = sorted(found, key=lambda key: -often[key])[:3]
    topic = " ".join(spelled for key, spelled in found.items() if key in words)
    topic = topic or shorten(notes[0].text, 40)
    return tidy(topic[:1].upper() + topic[1:]) or "Notes"


def finding_of(texts: "Sequence[str]") -> str:
    """The last sentence, which tells how it came out, and those that say most that is new for what they cost; in the
    order in which they were said."""
    clauses = [(number, clause) for number, text in enumerate(texts) for clause in _sentences(text)]
    room = max(12, int(FINDING_SHARE * sum(map(estimate_tokens, texts))))
    chosen = [len(clauses) - 1]
    known = set(stems(clauses[-1][1]))
    room -= estimate_tokens(clauses[-1][1])
    while (best := _best(clauses, chosen, known, room)) is not None:
        chosen.append(best)
        known |= stems(clauses[best][1])
        room -= estimate_tokens(clauses[best][1]) + 1
    said = "; ".join(clauses[place][1].rstrip(" ,;:.") for place in sorted(chosen))
    return tidy(shorten(said, MAX_FINDING_CHARS))


def _best(
    clauses: "Sequence[tuple[int, str]]", chosen: "Sequence[int]", known: "set[str]", room: int
) -> "int | None":
    gains = []
    for place, (number, clause) in enumerate(clauses):
        cost = estimate_tokens(clause) + 1
        new = len(stems(clause) - known)
        if place not in chosen and new and cost <= room:
            gains.append((new / cost, number, -place))
    return -max(gains)[2] if gains else None


def _sentences(text: str) -> "list[str]":
    """Never cut inside: half a sentence can say the opposite of the whole."""
    return [tidy(part) for part in sentences(text) if tidy(part)]


def _confidence(notes: "Sequence[Note]") -> str:
    days = {note.item.observation.date for note in notes}
    known = [found for note in notes if (found := confidence_of(note.observation)) is not None]
    if len(days) == 1:
        return "single-source"
    doubtful = bool(known) and sum(known) / len(known) < 0.5
    return "established" if len(days) >= 3 and not doubtful else "tentative"
