"""What the forms of a word have in common, and which language a few words are in."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _lexicon import grammar_words, languages_of, stem_of
from observer_testing import SCRIPTS


@pytest.mark.parametrize(
    "language, forms",
    [
        ("en", ["paint", "paints", "painted", "painting"]),
        ("de", ["haus", "häuser", "hauses"]),
        ("fr", ["chanter", "chantait", "chantées"]),
        ("es", ["perro", "perros"]),
        ("ru", ["больница", "больницу", "больнице"]),
    ],
)
def test_forms_of_a_word_have_one_stem(language: str, forms: "list[str]") -> None:
    assert len({stem_of(form, language) for form in forms}) == 1


@given(st.text(max_size=20), st.sampled_from(["en", "de", "zh", "ko", "xx", ""]))
def test_any_word_has_a_stem_and_a_language_without_a_stemmer_leaves_it(word: str, language: str) -> None:
    stem = stem_of(word, language)
    assert isinstance(stem, str)
    if language in ("zh", "ko", "xx", ""):
        assert stem == word


@pytest.mark.parametrize(
    "text, languages",
    [
        ("when does the lease end", ("en",)),
        ("wann endet der Vertrag", ("de", "en")),
        ("когда мама будет в больнице", ("ru",)),
        ("аренда", ("ru",)),
    ],
)
def test_the_words_of_grammar_tell_the_language(text: str, languages: "tuple[str, ...]") -> None:
    assert languages_of(text) == languages


def test_a_question_without_words_of_grammar_is_in_the_language_of_what_is_searched() -> None:
    assert languages_of("Mietvertrag Leipzig", ("de", "en")) == ("de", "en")
    assert {"en", "de", "fr", "tr"} <= set(languages_of("Mietvertrag Leipzig"))


def test_every_language_has_words_of_grammar() -> None:
    assert {"en", "de", "fr", "es", "pt", "it", "nl", "pl", "tr", "ru", "zh", "ja", "ko"} == set(
        grammar_words()
    )
    assert all(len(words) > 30 for words in grammar_words().values())


LOADED_ALONE = """
import sys
from _lexicon import stem_of
words = {words!r}
ours = [stem_of(word, language) for language in {codes!r} for word in words]
others = [name for name in sys.modules if name.startswith("snowballstemmer.") and name.endswith("_stemmer")]
assert len(others) == len({codes!r}) and "snowballstemmer" not in sys.modules, others
import snowballstemmer
assert ours == [snowballstemmer.stemmer(name).stemWord(word) for name in {names!r} for word in words], ours
"""


def test_a_stemmer_loaded_alone_says_what_the_package_says() -> None:
    words = ["painting", "häuser", "chantées", "größte", "больницу", "perros", "kitapları", "running"]
    codes, names = ("en", "de", "fr", "ru", "tr"), ("english", "german", "french", "russian", "turkish")
    program = LOADED_ALONE.format(words=words, codes=codes, names=names)
    done = subprocess.run([sys.executable, "-c", program], cwd=SCRIPTS, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
