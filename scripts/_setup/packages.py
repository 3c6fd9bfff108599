"""requirements.txt: what it asks for, and whether this Python has it. Needs no package itself, not even pip."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Optional

from _errors import ConfigError

_LINE = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*"
    r"(?P<limits>(?:(?:>=|<=|==|!=|<|>)\s*[0-9.]+\s*,?\s*)*)"
    r"(?:;\s*sys_platform\s*==\s*[\"'](?P<platform>\w+)[\"']\s*)?"
)
_LIMIT = re.compile(r"(>=|<=|==|!=|<|>)\s*([0-9.]+)")
_MODULES = {"python-dotenv": "dotenv"}


@dataclass(frozen=True)
class Requirement:
    """One line of requirements.txt. `limits` are pairs such as (">=", (2, 28)), all of which hold."""

    name: str
    limits: "tuple[tuple[str, tuple[int, ...]], ...]" = ()

    @property
    def module(self) -> str:
        """What `import` calls it."""
        return _MODULES.get(self.name, self.name.replace("-", "_"))

    def accepts(self, version: str) -> bool:
        """True when the installed version lies within the limits."""
        found = _numbers(version)
        return all(_holds(found, sign, wanted) for sign, wanted in self.limits)


def parse_requirements(text: str, platform: str = sys.platform) -> "list[Requirement]":
    """The requirements that apply to `platform`. Raises ConfigError for a line of another form."""
    wanted = []
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if not line:
            continue
        found = _LINE.fullmatch(line)
        if not found:
            raise ConfigError(
                f"requirements.txt has a line that is not understood: {line!r}", "reinstall the skill"
            )
        if found["platform"] in (None, platform):
            limits = tuple((sign, _numbers(number)) for sign, number in _LIMIT.findall(found["limits"]))
            wanted.append(Requirement(found["name"], limits))
    return wanted


def missing(
    wanted: "Sequence[Requirement]", installed: "Optional[Callable[[str], str]]" = None
) -> "list[Requirement]":
    """Those that this Python has not, or in a version outside of the limits. `installed`: version by name, or ""."""
    version_of = installed or installed_version
    return [one for one in wanted if not (version_of(one.name) and one.accepts(version_of(one.name)))]


def installed_version(name: str) -> str:
    """The version of a package in this Python, "" when it has none."""
    from importlib import metadata

    try:
        return metadata.version(name) or ""
    except metadata.PackageNotFoundError:
        return ""


def _numbers(version: str) -> "tuple[int, ...]":
    """ "4.3.1.post2" as (4, 3, 1): what stands behind the release number makes no difference to our limits."""
    release = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, release.group().split("."))) if release else ()


def _holds(found: "tuple[int, ...]", sign: str, wanted: "tuple[int, ...]") -> bool:
    length = max(len(found), len(wanted))
    left, right = (numbers + (0,) * (length - len(numbers)) for numbers in (found, wanted))
    outcome = (left > right) - (left < right)
    return outcome in {">=": (0, 1), "<=": (0, -1), "==": (0,), "!=": (1, -1), "<": (-1,), ">": (1,)}[sign]
