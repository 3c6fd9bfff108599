"""Proposals for files that a person owns: memory/dream-staging/, where they wait for that person's word.

A proposal is one file. Approved it is renamed to NAME.approved.md, rejected it is moved to rejected/; what says the
same as one that was rejected is not proposed again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from _files import decode, read_bytes
from _gate.wording import stems
from _likeness import features, says_the_same

TYPES = ("fact", "preference", "goal", "habit", "rule")
TARGETS = ("AGENTS.md", "MEMORY.md", "TOOLS.md", "favorites.md")
WAITING, APPROVED, REJECTED = "waiting", "approved", "rejected"
_FILE = re.compile(r"\d{8}-\d{6}-(?:fact|preference|goal|habit|rule)(?P<approved>\.approved)?\.md")
_FIELD = re.compile(r"^\*\*([A-Z][a-z ]+)\*\*: (.*)$", re.M)
_EVIDENCE = re.compile(r"^- (\d{4}-\d{2}-\d{2})(?: \((OBS-[0-9-]+)\))?: (.*)$", re.M)
_ID = re.compile(r"\bOBS-\d{8}-\d{3,9}\b")
_WARNING = "> Low confidence: little supports this yet. Approve it only if you know it to be true."
# Of the words of two proposals together, without numbers, so many have to be in both.
_SAME_SHARE = 0.75
# A pattern is at least so many observations.
_FEWEST_GROUNDS = 3


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


def same_as(proposal: Proposal, others: "Iterable[Staged]") -> Optional[Staged]:
    """The first that proposes the same in nearly the same words, whatever its numbers are; a rejected one first."""
    alike = [other for other in others if _is_same(proposal, other.proposal)]
    return next((one for one in alike if one.status == REJECTED), next(iter(alike), None))


def _is_same(one: Proposal, other: Proposal) -> bool:
    return (
        _says_the_same(one.text, other.text)
        or _says_the_same(one.summary, other.summary)
        or _rests_on_the_same(one, other)
    )


def _rests_on_the_same(one: Proposal, other: Proposal) -> bool:
    """Whether most of what one of the two rests on is what the other rests on: the same pattern, in whatever words."""
    first, second = _grounds(one), _grounds(other)
    shared = len(first & second)
    return shared >= _FEWEST_GROUNDS and 2 * shared > min(len(first), len(second))


def _grounds(proposal: Proposal) -> "frozenset[str]":
    """The ids of the observations that it rests on, as far as it names any, and what else is quoted in it."""
    said = {one.id or f"{one.date} {features(one.quote).print}" for one in proposal.evidence}
    return frozenset(said | set(_ID.findall(proposal.supporting)))


def _says_the_same(text: str, other: str) -> bool:
    new, old = features(text), features(other)
    if says_the_same(new, old):
        return True
    words = [frozenset(word for word in stems(one) if not word.isdecimal()) for one in (text, other)]
    shared = len(words[0] & words[1])
    return bool(shared) and new.negated == old.negated and shared >= _SAME_SHARE * len(words[0] | words[1])
