"""What a model's phrases must keep to before they are used."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from _hooks.words import content_stems, paths_in, words_in
from _lexicon import stem_of
from _likeness import WIDE
from _observations import tidy

MOST_WORDS, MOST_CHARS = 12, 90
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W_]+")
_CAPITAL = re.compile(r"\b[^\W\d_a-z][^\W_]*")
# What could be drawn as a link, or is one when a program looks at it; and what has a meaning in Markdown or HTML.
_LINK = re.compile(r"[^\W_][^\s/]*\.[^\W\d_]{2,}|\w+:(?=\S)\S*|\S*/\S*|\S*\\\S*")
_SIGNS = re.compile(r"[<>\[\]{}|]")
_QUOTED = re.compile(r"[*`]+")
# Words that fit every note and lead to none.
_GENERIC = frozenset(
    """information info detail details fact facts note notes thing things stuff update updates general topic summary
    data item items content event events context memory user conversation message important""".split()
)


def checked(
    text: str, phrases: "Sequence[str]", date: str = ""
) -> "tuple[tuple[str, ...], Mapping[str, int]]":
    """The phrases that may be used for an item, and how many others were refused by reason.

    Reasons: "empty", "long", "number", "name" and "path" (one that the item does not have), "sign" (one that Markdown
    or HTML has a meaning for), "generic", "same words" (a word that the item or a phrase before it has; names are
    free).
    """
    kept: "list[str]" = []
    refused: "dict[str, int]" = {}
    languages = words_in(text).languages
    taken = content_stems(text, languages)
    capitals = 2 * sum(phrase.strip()[:1].isupper() for phrase in phrases) > len(phrases)
    for raw in phrases:
        phrase = tidy(_QUOTED.sub(" ", raw).strip().strip("\"'“”„«»#.,; "))
        said = content_stems(phrase, languages) - _shared_names(phrase, text, languages)
        reason = _fault(phrase, text, date, capitals)
        if not reason and not _is_apart(said, taken):
            reason = "same words"
        if not reason and not any(_tells(stem, languages) for stem in said - taken):
            reason = "generic"
        if reason:
            refused[reason] = refused.get(reason, 0) + 1
            continue
        kept.append(phrase)
        taken |= said
    return tuple(kept), refused


def _shared_names(phrase: str, text: str, languages: "Sequence[str]") -> "set[str]":
    """What may stand in a phrase although the item has it: words with a capital in both. In German that is no sign of a
    name."""
    if languages[0] == "de":
        return set()
    capitals = set(_CAPITAL.findall(text)) & set(_CAPITAL.findall(phrase))
    return content_stems(" ".join(capitals), languages)


def _is_apart(said: "set[str]", taken: "set[str]") -> bool:
    """True when none of it is taken; in scripts without spaces, where a name cannot be told, less than a third."""
    shared = said & taken
    return not shared or (all(map(WIDE.match, shared)) and 3 * len(shared) < len(said))


def _tells(stem: str, languages: "Sequence[str]") -> bool:
    return bool(WIDE.match(stem)) or stem not in {stem_of(word, languages[0]) for word in _GENERIC}


def _fault(phrase: str, text: str, date: str, capitals: bool) -> str:
    """`capitals`: the phrases of this answer begin with one, so that the first word's says nothing."""
    if not phrase:
        return "empty"
    if len(phrase) > MOST_CHARS or len(phrase.split()) > MOST_WORDS:
        return "long"
    if set(_NUMBER.findall(phrase)) - set(_NUMBER.findall(f"{text} {date}")):
        return "number"
    if paths_in(phrase) - paths_in(text) or set(_LINK.findall(phrase)) - set(_LINK.findall(text)):
        return "path"
    if _SIGNS.search(phrase):
        return "sign"
    names = {name.lower() for name in words_in(phrase if capitals else f"a {phrase}").names}
    if {part for name in names for part in _WORD.findall(name)} - set(_WORD.findall(text.lower())):
        return "name"
    if not set(_WORD.findall(phrase.lower())) - _GENERIC:
        return "generic"
    return ""
