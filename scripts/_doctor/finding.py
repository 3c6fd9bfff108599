"""What one check found, and what to do about it. "Could not look" is a finding of its own: never the same as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Callable, NamedTuple, Optional

from _doctor.scene import Scene
from _errors import DAMAGED, BusyError, ConfigError, TotalRecallError

OK, WARN, FAIL, UNKNOWN = STATES = ("ok", "warn", "fail", "unknown")
# What going through files of another shape than ours ends in.


class Finding(NamedTuple):
    """One check. `state` is one of STATES, `says` a sentence, `todo` what helps, "" where there is nothing to do."""

    name: str
    state: str
    says: str
    todo: str = ""
    facts: Mapping[str, Any] = {}

    def as_json(self) -> "dict[str, Any]":
        """The finding for the result object."""
        told = {"name": self.name, "state": self.state, "says": self.says}
        return {**told, **({"todo": self.todo} if self.todo else {}), **self.facts}


class Check(NamedTuple):
    """A name and what looks. `slow`: it waits for other programs, or for a server. `of_memory`: at files of ours."""

    name: str
    look: "Callable[[Scene], Finding]"
    slow: bool = False
    of_memory: bool = False


def carried_out(check: Check, scene: Scene) -> Finding:
    """What the check finds; UNKNOWN when it cannot look."""
    try:
        return check.look(scene)
    except TotalRecallError as problem:
        return Finding(check.name, UNKNOWN, f"could not look: {problem}", problem.hint)
    except OSError as problem:
        what = f"{problem.filename}: {problem.strerror}" if problem.filename else problem.strerror
        return Finding(check.name, UNKNOWN, f"could not look: {what}")
    except DAMAGED as problem:
        what = f"could not look: something is of another shape than ours ({type(problem).__name__})"
        todo = f"put the files of {scene.places.private} back from a copy" if check.of_memory else ""
        return Finding(check.name, UNKNOWN, what, todo)


def worst(*states: str) -> str:
    """The state that tells most: what is wrong, then what could not be looked at, then what is worth knowing."""
    return next(state for state in (FAIL, UNKNOWN, WARN, OK) if state in (*states, OK))


def counted(findings: "Sequence[Finding]") -> "dict[str, int]":
    """How many are in which state."""
    return {state: sum(one.state == state for one in findings) for state in STATES}


def failure_of(findings: "Sequence[Finding]") -> Optional[TotalRecallError]:
    """The error that a look ends in: ConfigError when something is wrong, BusyError when the rest is well but not all
    could be looked at (its code says so: nobody need be busy), None when all is well."""
    wrong = [one for one in findings if one.state == FAIL]
    unseen = [one for one in findings if one.state == UNKNOWN]
    todos = list(dict.fromkeys(one.todo for one in wrong or unseen if one.todo))
    hint = todos[0] if len(todos) == 1 else "what to do stands with each of them" if todos else ""
    names = ", ".join(one.name for one in wrong or unseen)
    if wrong:
        return ConfigError(f"not all is well: {names}", hint)
    if unseen:
        problem = BusyError(f"not all could be looked at: {names}", hint or "look again later")
        problem.code = "could_not_look"
        return problem
    return None
