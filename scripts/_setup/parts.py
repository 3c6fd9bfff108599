"""The parts that setup.py installs when asked: each is done by itself, and one that fails stops no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from _cli import Run
from _errors import ConfigError, TotalRecallError


@dataclass(frozen=True)
class Outcome:
    """How one part ended. `state` is "done", "unchanged", "would_change", "unknown" (nobody could be asked) or
    "failed"."""

    state: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    problem: Optional[TotalRecallError] = None


Part = Callable[[Run], Outcome]


def state_of(run: Run, changed: bool) -> str:
    """The state of a part that went well."""
    if not changed:
        return "unchanged"
    return "would_change" if run.dry_run else "done"


def do_parts(run: Run, parts: "Sequence[tuple[str, Part]]") -> "dict[str, Outcome]":
    """Do each part and return the outcomes by name."""
    outcomes = {}
    for name, part in parts:
        try:
            outcomes[name] = part(run)
        except TotalRecallError as problem:
            outcomes[name] = Outcome("failed", {}, problem)
    return outcomes


def as_facts(outcomes: Mapping[str, Outcome]) -> "dict[str, Any]":
    """The outcomes for the result object."""
    facts: "dict[str, Any]" = {}
    for name, outcome in outcomes.items():
        facts[name] = {"outcome": outcome.state, **outcome.facts}
        if outcome.problem:
            facts[name].update(message=str(outcome.problem), hint=outcome.problem.hint)
    return facts


def failure_of(outcomes: Mapping[str, Outcome]) -> Optional[ConfigError]:
    """One error for all parts that failed; None when all went well."""
    failed = [(name, one.problem) for name, one in outcomes.items() if one.problem]
    if not failed:
        return None
    told = "; ".join(f"{name}: {problem}" for name, problem in failed)
    hints = dict.fromkeys(problem.hint for _name, problem in failed if problem.hint)
    return ConfigError(told, "; ".join(hints))
