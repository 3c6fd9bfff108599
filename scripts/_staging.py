"""Proposals for files that a person owns: memory/dream-staging/, where they wait for that person's word.

A proposal is one file. Approved it is renamed to NAME.approved.md, rejected it is moved to rejected/; what says the
same as one that was rejected is not proposed again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Optional

from _files import decode, read_bytes
from _gate.wording import ORDINARY, stems
from _lexicon import grammar_words, languages_of, stem_of
from _likeness import features, says_the_same, words_of

TYPES = ("fact", "preference", "goal", "habit", "rule")
TARGETS = ("AGENTS.md", "MEMORY.md", "TOOLS.md", "favorites.md")
CONFIDENCES = ("low", "medium", "high")
WAITING, APPROVED, REJECTED = "waiting", "approved", "rejected"
# A pattern is at least so many observations on so many days; with more it is of medium and of high confidence.
MIN_ENTRIES, MIN_DAYS = 3, 3
MEDIUM_ENTRIES, MEDIUM_DAYS = 4, 14
HIGH_ENTRIES, HIGH_DAYS = 7, 7
CAPABILITY_DAYS = 14
_FILE = re.compile(r"\d{8}-\d{6}-(?:fact|preference|goal|habit|rule)(?P<approved>\.approved)?\.md")
_FIELD = re.compile(r"^\*\*([A-Z][a-z ]+)\*\*: (.*)$", re.M)
_EVIDENCE = re.compile(r"^- (\d{4}-\d{2}-\d{2})(?: \((OBS-[0-9-]+)\))?: (.*)$", re.M)
# What stands around the texts of a proposal: headings, fields, fences, evidence, and words of ours.
_FRAME = re.compile(
    r"#|\*\*[A-Z][a-z ]+\*\*:|`{3}|---|> Low confidence|A person's review|- \d{4}-\d{2}-\d{2}(?: \(|:)"
)
_BULLET = re.compile(r"^\s*[-*]\s+")
_ID = re.compile(r"\bOBS-\d{8}-\d{3,9}\b")
_WARNING = "> Low confidence: little supports this yet. Approve it only if you know it to be true."
# Of the words of two proposals together, without numbers, so many have to be in both.
_SAME_SHARE = 0.75
# More than this share is enough where both rest on one observation, or are of one type and for one file and have so
# many words in common.
_MOST_WORDS, _WORDS_OF_A_KIND = 0.5, 4
_CAPABILITY = re.compile(
    r"\b(?:models?|llms?|gpt|claude|gemini|llama|qwen|deepseek|mistral|nemotron|context window|tokens?|tool calls?|"
    r"agents?|assistants?|api)\b",
    re.I,
)


@dataclass(frozen=True)
class Evidence:
    """What was said once and supports a proposal: the day, the words, and the observation's id where it has one."""

    date: str
    quote: str
    id: str = ""


@dataclass(frozen=True)
class Proposal:
    """One proposal. `at` is when it was made, in the person's time; `supporting` the ids of the observations, or how
    many there are. Raises ValueError for a type or target that is never proposed."""

    at: str
    type: str
    target: str
    confidence: str
    summary: str
    text: str
    evidence: "tuple[Evidence, ...]"
    supporting: str

    def __post_init__(self) -> None:
        if self.type not in TYPES or self.target not in TARGETS:
            raise ValueError(f"{self.type!r} is not proposed for {self.target!r}")


@dataclass(frozen=True)
class Staged:
    """A proposal that lies in the folder, and what became of it: "waiting", "approved" or "rejected"."""

    path: Path
    proposal: Proposal
    status: str


def confidence_carried(days: "Sequence[str]", of_a_model: bool = False) -> str:
    """The confidence that observations carry, given the day of each: "low" for 3 in 3 days and whatever is less,
    "medium" for 4 to 6 within 14 days, "high" for 7 or more over 7 days or more. What a model can do stays "low" until
    there are 14 days of evidence."""
    number, distinct = len(days), sorted(set(days))
    if number < MEDIUM_ENTRIES or len(distinct) < MIN_DAYS:
        return "low"
    span = (date.fromisoformat(distinct[-1]) - date.fromisoformat(distinct[0])).days + 1
    if of_a_model and span < CAPABILITY_DAYS:
        return "low"
    if number >= HIGH_ENTRIES and span >= HIGH_DAYS:
        return "high"
    return "medium" if number >= HIGH_ENTRIES or span <= MEDIUM_DAYS else "low"


def is_capability(texts: "Sequence[str]") -> bool:
    """Whether most of the texts are about what a model can do."""
    return sum(bool(_CAPABILITY.search(text)) for text in texts) * 2 > len(texts)


def render_proposal(proposal: Proposal) -> str:
    """The file of a proposal; `parse_proposal` is its inverse."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", proposal.text)), default=0))
    fields = (
        ("Generated", proposal.at),
        ("Type", proposal.type),
        ("Target file", proposal.target),
        ("Confidence", proposal.confidence),
        ("Supporting observations", proposal.supporting),
    )
    head = "".join(f"**{name}**: {value}\n" for name, value in fields)
    warning = f"\n{_WARNING}\n" if proposal.confidence == "low" else ""
    said = "".join(
        f"- {one.date}{f' ({one.id})' if one.id else ''}: {one.quote}\n" for one in proposal.evidence
    )
    return (
        f"# Proposal: {proposal.type} for {proposal.target}\n\n{head}{warning}\n"
        f"## Summary\n\n{proposal.summary}\n\n"
        f"## Proposed text\n\n{fence}text\n{proposal.text}\n{fence}\n\n"
        f"## Evidence\n\n{said}\n---\n\n"
        "A person's review is required: nothing is written to the target file without it.\n"
    )


def parse_proposal(content: str) -> Optional[Proposal]:
    """The proposal that a file holds, whatever its line endings; None when it is none."""
    head, _, rest = unix(content).partition("\n## Summary\n")
    fields = dict(_FIELD.findall(head))
    summary, _, rest = rest.partition("\n## Proposed text\n")
    text = re.search(r"^(`{3,})text\n(.*?)\n\1$", rest, re.M | re.S)
    if text and not rest[text.end() :].lstrip().startswith("## Evidence"):
        return None  # a fence in the text, as long as its own, would cut it short
    said = _EVIDENCE.findall(rest[text.end() :].partition("\n---\n")[0]) if text else []
    try:
        return Proposal(
            fields["Generated"],
            fields["Type"],
            fields["Target file"],
            fields["Confidence"],
            summary.strip(),
            text.group(2) if text else "",
            tuple(Evidence(day, quote, name) for day, name, quote in said),
            fields["Supporting observations"],
        )
    except (KeyError, ValueError):
        return None


def unix(content: str) -> str:
    """The text with the line endings that proposals are written with: editors of Windows write others."""
    return content.replace("\r\n", "\n")


def is_waiting_name(name: str) -> bool:
    """Whether a proposal that waits can have this file name."""
    found = _FILE.fullmatch(name)
    return found is not None and not found["approved"]


def with_rejection(content: str, day: str, reason: str) -> str:
    """The file of a proposal with the day and the reason of its rejection among its fields, or at its end when it has
    lost its form."""
    head, mark, rest = unix(content).partition("\n## Summary\n")
    return f"{head.rstrip()}\n\n**Rejected**: {day}\n**Reason**: {reason}\n{mark}{rest}"


def staged(folder: Path) -> "Iterator[Staged]":
    """Every proposal below the staging folder, waiting ones and those that were decided on, in the order of names."""
    for place, status in ((folder, ""), (folder / REJECTED, REJECTED)):
        for path in sorted(place.iterdir()) if place.is_dir() else ():
            found = _FILE.fullmatch(path.name)
            if not found or path.is_symlink() or not path.is_file():
                continue
            proposal = parse_proposal(decode(read_bytes(path) or b""))
            if proposal is not None:
                yield Staged(path, proposal, status or (APPROVED if found["approved"] else WAITING))


def lost_texts(folder: Path) -> "Iterator[str]":
    """The texts of the files in rejected/ that propose nothing any more, such as one that a person has edited."""
    place = folder / REJECTED
    for path in sorted(place.iterdir()) if place.is_dir() else ():
        if path.suffix == ".md" and path.is_file() and not path.is_symlink():
            content = decode(read_bytes(path) or b"")
            found = parse_proposal(content)
            if found is None or not found.text.strip():
                yield content


def is_in(proposal: Proposal, content: str) -> bool:
    """Whether a text that has lost the form of a proposal says the same: its lines, one by one or together, are taken
    for what was proposed, of the same type and for the same file, and its evidence for evidence."""
    said = tuple(Evidence(day, quote, name) for day, name, quote in _EVIDENCE.findall(unix(content)))
    lines = [line for line in unix(content).split("\n") if line.strip() and not _FRAME.match(line)]
    whole = "\n".join(lines)
    supporting = ", ".join(_ID.findall(content))
    lost = replace(proposal, summary=whole, text=whole, evidence=said, supporting=supporting)
    if _rests_on_the_same(proposal, lost):
        return True
    texts = (proposal.text, proposal.summary)
    return any(_says_the_same(proposal, lost, text, line) for text in texts for line in (*lines, whole))


def same_as(proposal: Proposal, others: "Iterable[Staged]") -> Optional[Staged]:
    """The first that proposes the same in nearly the same words, whatever its numbers are; a rejected one first."""
    alike = [other for other in others if _is_same(proposal, other.proposal)]
    return next((one for one in alike if one.status == REJECTED), next(iter(alike), None))


def _is_same(one: Proposal, other: Proposal) -> bool:
    return (
        _rests_on_the_same(one, other)
        or _says_the_same(one, other, one.text, other.text)
        or _says_the_same(one, other, one.summary, other.summary)
    )


def _rests_on_the_same(one: Proposal, other: Proposal) -> bool:
    """Whether most of what one of the two rests on is what the other rests on, and each is not about something else in
    it: the same pattern, in whatever words."""
    first, second = _grounds(one), _grounds(other)
    shared = len(first & second)
    if shared < MIN_ENTRIES or 2 * shared <= min(len(first), len(second)):
        return False
    language = languages_of(f"{one.text}\n{other.text}")[0]
    mine, theirs = _borne_out(one, language), _borne_out(other, language)
    return not mine or not theirs or 2 * len(mine & theirs) >= min(len(mine), len(theirs))


def _grounds(proposal: Proposal) -> "frozenset[str]":
    """The ids of the observations that it rests on, as far as it names any, and what else is quoted in it."""
    said = {one.id or f"{one.date} {features(one.quote).print}" for one in proposal.evidence}
    return frozenset(said | set(_ID.findall(proposal.supporting)))


def _borne_out(proposal: Proposal, language: str) -> "frozenset[str]":
    """The words of its text that at least half of its quotes have."""
    often = Counter(word for one in proposal.evidence for word in _telling(one.quote, language))
    least = len(proposal.evidence) / 2
    return frozenset(word for word in _telling(proposal.text, language) if often[word] >= max(1, least))


def _says_the_same(one: Proposal, other: Proposal, text: str, said: str) -> bool:
    """Whether a text of one says what a text of the other does. The more the two have in common besides, the fewer
    words have to be in both."""
    text, said = _BULLET.sub("", text), _BULLET.sub("", said)
    new, old = features(text), features(said)
    if says_the_same(new, old):
        return True
    if new.negated != old.negated:
        return False
    words = [frozenset(word for word in stems(it) if not word.isdecimal()) for it in (text, said)]
    if _part(*words) >= _SAME_SHARE:
        return True
    if new.names - old.words and old.names - new.words:
        return False
    language = languages_of(f"{text}\n{said}")[0]
    first, second = _telling(text, language), _telling(said, language)
    is_near = bool(_grounds(one) & _grounds(other))
    is_near |= (one.target, one.type) == (other.target, other.type) and len(
        first & second
    ) >= _WORDS_OF_A_KIND
    return is_near and _part(first, second) > _MOST_WORDS


def _part(first: "frozenset[str]", second: "frozenset[str]") -> float:
    """How many of the words of both are in both, 0 to 1."""
    return len(first & second) / max(1, len(first | second))


def _telling(text: str, language: str) -> "frozenset[str]":
    """The stems of the words that say what a text is about, whatever its numbers are."""
    grammar = grammar_words().get(language, frozenset())
    words = (word for word in words_of(text) if word not in grammar and word not in ORDINARY)
    return frozenset(stem_of(word, language) for word in words if len(word) > 1 and not word.isdecimal())
