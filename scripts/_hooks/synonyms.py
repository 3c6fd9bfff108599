"""The table of other words: lines that people can edit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from _errors import ConfigError
from _files import decode, read_bytes
from _lexicon import stem_of
from _likeness import WIDE

SHIPPED = Path(__file__).resolve().parent.parent.parent / "dream-cycle" / "synonyms.txt"
OWN_SYNONYMS = "synonyms.txt"  # in the memory folder
MAX_WORD_CHARS = 40
_SECTION = re.compile(r"^\[([a-z]{2,3})\]$")
_WORD = re.compile(r"[^\W_]+(?:[ '’.+-]+[^\W_]+)*")
_HAN = re.compile(r"[\u4e00-\u9fff]")


@dataclass(frozen=True)
class Group:
    """Words that stand for each other. `language` is a code, "" for all languages; a group of one word takes away the
    shipped group that begins with it."""

    words: "tuple[str, ...]"
    language: str = ""


@dataclass(frozen=True)
class Synonyms:
    """The table, ready for use."""

    groups: "tuple[Group, ...]" = ()
    _by_stem: "dict[str, dict[str, list[Group]]]" = field(default_factory=dict, repr=False, compare=False)

    def others(self, word: str, languages: "Sequence[str]") -> "list[str]":
        """Other words for one in any of its forms (lower case), without repeats; none for one that is not in the
        table. Words of groups that it heads come first."""
        found: "dict[str, None]" = {}
        for language in languages:
            stem = stem_of(word, language)
            groups = self._of(language).get(stem, [])
            heads = [group for group in groups if stem_of(group.words[0], language) == stem]
            for group in (*heads, *(group for group in groups if group not in heads)):
                found.update((other, None) for other in group.words if stem_of(other, language) != stem)
        return list(found)

    def inside(self, run: str) -> "Iterator[tuple[str, list[str]]]":
        """The words of the table that stand in a run of a script without spaces, from left to right, each with the
        other words for it."""
        found = []
        for group in self.groups:
            for word in group.words:
                if WIDE.match(word) and (len(word) > 1 or _HAN.match(word)) and word in run:
                    found.append(
                        (run.index(word), -len(word), word, [one for one in group.words if one not in run])
                    )
        for _place, _length, word, others in sorted(found, key=lambda one: one[:2]):
            yield word, others

    def _of(self, language: str) -> "dict[str, list[Group]]":
        if language not in self._by_stem:
            index: "dict[str, list[Group]]" = {}
            for group in self.groups:
                if group.language in ("", language):
                    for word in group.words:
                        index.setdefault(stem_of(word, language), []).append(group)
            self._by_stem[language] = index
        return self._by_stem[language]


def read_synonyms(text: str) -> "tuple[list[Group], list[str]]":
    """The groups of a file of lines "word: other, other", and what is wrong with its other lines, with their number."""
    groups: "list[Group]" = []
    wrong: "list[str]" = []
    language = ""
    for number, raw in enumerate(text.lstrip("\ufeff").splitlines(), start=1):
        line = raw.partition("#")[0].strip()
        section = _SECTION.match(line)
        if section:
            language = section.group(1)
        elif line:
            fault = _fault(line)
            if fault:
                wrong.append(f"line {number}: {fault}")
            else:
                groups.append(Group(_words(line), language))
    return groups, wrong


def _words(line: str) -> "tuple[str, ...]":
    head, _, others = line.partition(":")
    words = [head, *re.split("[,，、]", others)]
    return tuple(dict.fromkeys(" ".join(word.split()).lower() for word in words if word.strip()))


def _fault(line: str) -> str:
    if line.startswith("["):
        return "a section is the code of a language in brackets, such as [en]"
    if line.count(":") != 1 or line.startswith(":"):
        return "a line is one word, a colon, and other words with commas between them"
    for word in _words(line):
        if len(word) > MAX_WORD_CHARS:
            return f"a word is at most {MAX_WORD_CHARS} characters long"
        if not _WORD.fullmatch(word):
            return "words are made of letters and digits"
    return ""


def shipped_synonyms(path: Path = SHIPPED) -> "list[Group]":
    """The groups that come with the skill. Raises ConfigError when the file is missing or wrong."""
    content = read_bytes(path)
    if content is None:
        raise ConfigError(f"{path} is missing", "reinstall the skill")
    groups, wrong = read_synonyms(decode(content))
    if wrong:
        raise ConfigError(f"{path}, {wrong[0]}", "reinstall the skill")
    return groups


def synonyms_with(own: "Sequence[Group]", shipped: "Sequence[Group]") -> Synonyms:
    """The table of both: a person's group takes the place of the shipped one that begins with the same word."""
    heads = {(group.words[0], group.language) for group in own}
    heads |= {(group.words[0], other.language) for group in own if not group.language for other in shipped}
    kept = [group for group in shipped if (group.words[0], group.language) not in heads]
    return Synonyms(tuple(group for group in (*own, *kept) if len(group.words) > 1))
