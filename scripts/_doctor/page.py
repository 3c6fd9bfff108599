"""The one screen for a person."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from _doctor.finding import FAIL, OK, UNKNOWN, WARN, Finding, counted
from _doctor.scene import Scene
from _observations import tidy

WIDTH = 110
MOST_UNSEEN = 4
SIGNS = {OK: "ok", WARN: "note", FAIL: "WRONG", UNKNOWN: "?"}


def page(
    scene: Scene,
    findings: "Sequence[Finding]",
    settings: "Mapping[str, Mapping[str, str]]",
    fixed: "Sequence[str]",
) -> str:
    """All that was found, what is not well first told in the head line."""
    lines = [headline(findings), f"{scene.config.workspace}, agent {scene.config.agent_id}", ""]
    lines += [tidy(one) for one in fixed] + ([""] if fixed else [])
    for one in folded(findings):
        lines += rows_of(one)
    lines += [""]
    for name, told in settings.items():
        lines.append("  " + tidy(f"{name} = {told['value']} ({source_in_words(told['source'])})"))
    if scene.offline:
        lines.append("The model server was not asked (--offline).")
    return "\n".join(lines).rstrip()


def folded(findings: "Sequence[Finding]") -> "list[Finding]":
    """The findings, those that could not be looked at as one when they are many: one thing is behind all of them."""
    unseen = [one for one in findings if one.state == UNKNOWN]
    if len(unseen) <= MOST_UNSEEN:
        return list(findings)
    names = ", ".join(one.name.replace("_", " ") for one in unseen)
    row = Finding("out of reach", UNKNOWN, f"{names}; the first one: {unseen[0].says}", unseen[0].todo)
    return [*(one for one in findings if one.state != UNKNOWN), row]


def headline(findings: "Sequence[Finding]") -> str:
    """How it stands, in a sentence."""
    counts = counted(findings)
    told = []
    if counts[FAIL]:
        told.append(f"{counts[FAIL]} wrong")
    if counts[UNKNOWN]:
        told.append(f"{counts[UNKNOWN]} that could not be looked at")
    if counts[WARN]:
        told.append(f"{counts[WARN]} worth knowing")
    well = (
        "not all is well" if counts[FAIL] else "nothing wrong was found" if counts[UNKNOWN] else "all is well"
    )
    return f"Total Recall: {well}" + (f" ({', '.join(told)})" if told else "")


def rows_of(finding: Finding) -> "list[str]":
    """A finding as lines: its sign, its name, its sentence, and what to do."""
    start = f"  {SIGNS[finding.state]:5} {finding.name.replace('_', ' '):14} "
    told = textwrap.wrap(
        tidy(finding.says),
        WIDTH,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_on_hyphens=False,
        break_long_words=False,
    ) or [start]
    if finding.todo:
        inside = " " * len(start) + "-> "
        told += textwrap.wrap(
            tidy(finding.todo),
            WIDTH,
            initial_indent=inside,
            subsequent_indent=" " * len(inside),
            break_on_hyphens=False,
            break_long_words=False,
        )
    return told


def source_in_words(source: str) -> str:
    """Where a setting comes from."""
    return {"flag": "by a flag", "environment": "environment"}.get(source, source)
