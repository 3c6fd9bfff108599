"""What the forms of a word have in common ("painted", "painting": "paint"), by the Snowball stemmers."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from functools import lru_cache
from typing import Any

from _errors import MissingPackage
from _lexicon.tables import UNSPACED, grammar_words

_ALGORITHMS = {
    "en": "english",
    "de": "german",
    "fr": "french",
    "es": "spanish",
    "pt": "portuguese",
    "it": "italian",
    "nl": "dutch",
    "pl": "polish",
    "tr": "turkish",
    "ru": "russian",
}
_WORD = re.compile(r"[^\W_]+")
_PACKAGE = "snowballstemmer"
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")


@lru_cache(maxsize=16)
def _stemmer(language: str) -> Any:
    name = _ALGORITHMS.get(language, "")
    alone = _load_alone(name) if name else None
    if alone:
        return alone
    try:
        import snowballstemmer
    except ImportError as problem:
        raise MissingPackage("snowballstemmer") from problem
    return snowballstemmer.stemmer(name) if name in snowballstemmer.algorithms() else None


def _load_alone(name: str) -> Any:
    """The stemmer of one language from its own file; None where there is none. The package itself reads thirty
    languages when it is imported, which would be a tenth of the time of a search."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or _PACKAGE in sys.modules:
        return None
    sys.modules[_PACKAGE] = importlib.util.module_from_spec(spec)
    try:
        module = importlib.import_module(f"{_PACKAGE}.{name}_stemmer")
        return getattr(module, f"{name.title()}Stemmer")()
    except (ImportError, AttributeError):
        return None
    finally:
        del sys.modules[_PACKAGE]


@lru_cache(maxsize=65_536)
def stem_of(word: str, language: str) -> str:
    """The stem of a word (lower case); the word itself in a language without a stemmer. Raises MissingPackage."""
    stemmer = _stemmer(language) if language in _ALGORITHMS else None
    return str(stemmer.stemWord(word)) if stemmer else word


@lru_cache(maxsize=256)
def languages_of(text: str, otherwise: "tuple[str, ...]" = ()) -> "tuple[str, ...]":
    """The languages with an alphabet that a short text may be in: those with the most words of grammar in it, else
    those of `otherwise`, else all that are written so. English is always among those in Latin script, since its words
    stand in all of them."""
    words = set(_WORD.findall(text.casefold()))
    votes = {
        code: len(words & grammar)
        for code, grammar in grammar_words().items()
        if code not in (*UNSPACED, "ko")
    }
    most = max(votes.values())
    found = tuple(code for code, number in votes.items() if number == most) if most else ()
    found = found or otherwise
    if not found:
        return ("ru",) if _CYRILLIC.search(text) else tuple(code for code in _ALGORITHMS if code != "ru")
    return found if "en" in found or found == ("ru",) else (*found, "en")
