"""Search phrases for what an agent archives: those of its own that lead somewhere, and others made up to enough."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from _dream.notes import Note
from _dream_files.desk import Desk
from _dream_files.wording import ground_problems, words_unsaid
from _files import decode, read_bytes
from _gate import mask_secrets
from _hooks import OWN_SYNONYMS, Synonyms, checked, expand, read_synonyms, shipped_synonyms, synonyms_with
from _hooks.check import MOST_CHARS
from _hooks.words import content_stems
from _lexicon import languages_of
from _observations import tidy

# By phase: with fewer than the first number of them, more are made, up to the second.
WANTED = {1: (1, 1), 2: (4, 5)}
MOST = 5
_MARKUP = re.compile(r"[<>\[\]{}|*`]+")


@dataclass(frozen=True)
class Phrases:
    """The phrases for one item, the primary one first; how many were made here, and how many of the agent's were left
    out."""

    texts: "tuple[str, ...]"
    added: int = 0
    left_out: int = 0


def phrases_for(note: Note, given: "Sequence[str]", phase: int, synonyms: Synonyms) -> Phrases:
    """What an observation is to be found by: what the agent gave, as far as it may stand, and made up to enough."""
    text, date = mask_secrets(note.text)[0], note.observation.date
    offered = [tidy(mask_secrets(phrase)[0]) for phrase in given]
    fitting = _apart(text, offered, date) if phase > 1 else _telling(text, offered, date)
    kept = list(dict.fromkeys(fitting))[:MOST]
    least, most = WANTED[min(2, phase)]
    made: "list[str]" = []
    if len(kept) < least:
        known = {phrase.lower() for phrase in kept}
        more = expand(text, note.observation.type, date, synonyms, most)
        made = [phrase for phrase in more if phrase.lower() not in known][: most - len(kept)]
    if not kept and not made:
        made = [tidy(text, 60) or note.id]
    return Phrases((*kept, *made), len(made), len(offered) - len(kept))


def _apart(text: str, offered: "Sequence[str]", date: str) -> "Iterator[str]":
    """One phrase in the item's own words, and of the others those that share no word but names with the item, with it
    and with each other."""
    own = next((phrase for phrase in offered if _is_own(phrase, text, date)), "")
    if own:
        yield own
    yield from checked(f"{text}\n{own}", [phrase for phrase in offered if phrase != own], date)[0]


def _telling(text: str, offered: "Sequence[str]", date: str) -> "Iterator[str]":
    """The phrases that say something, each looked at by itself."""
    for phrase in offered:
        yield from [phrase] if _is_own(phrase, text, date) else checked(text, [phrase], date)[0]


def _is_own(phrase: str, text: str, date: str) -> bool:
    """Whether a phrase says something, and that in words of the item alone."""
    says = content_stems(phrase, languages_of(text))
    fits = bool(says) and len(phrase) <= MOST_CHARS and not _MARKUP.search(phrase)
    return fits and not words_unsaid(phrase, [text]) and not ground_problems(phrase, [text], [date])


def synonyms_of(desk: Desk) -> Synonyms:
    """The shipped table of other words with the person's own over it."""
    own, _wrong = read_synonyms(decode(read_bytes(desk.memory / OWN_SYNONYMS) or b""))
    return synonyms_with(own, shipped_synonyms())
