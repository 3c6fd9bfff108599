"""The words of languages: which say nothing by themselves, which are signs of something, and what a word's stem is."""

from __future__ import annotations

from _lexicon.stems import languages_of, stem_of
from _lexicon.tables import (
    OPENING,
    Lexicon,
    commonness,
    grammar_words,
    is_common_anywhere,
    language_of,
    lexicons,
    note_heads,
)

__all__ = [
    "OPENING",
    "Lexicon",
    "commonness",
    "grammar_words",
    "is_common_anywhere",
    "language_of",
    "languages_of",
    "lexicons",
    "note_heads",
    "stem_of",
]
