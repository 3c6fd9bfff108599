"""Prompt files: load one, fill its placeholders, tell its version by a hash."""

from __future__ import annotations

import string
from dataclasses import dataclass
from pathlib import Path

from _compat import sha256_hex
from _errors import ConfigError

FOLDER = Path(__file__).resolve().parent.parent / "prompts"


@dataclass(frozen=True)
class Prompt:
    """A prompt file. `version` is the start of its SHA-256, for the run log."""

    name: str
    text: str
    version: str

    def fill(self, **values: str) -> str:
        """The text with every `$placeholder` replaced. Raises ConfigError when a value is missing or not asked for."""
        template = string.Template(self.text)
        wanted = _placeholders(template)
        if wanted != set(values):  # a "$" that begins no name is among them
            wrong = ", ".join(sorted(wanted ^ set(values)))
            raise ConfigError(
                f"prompts/{self.name} and the program disagree on placeholders: {wrong}",
                "reinstall the skill",
            )
        return template.substitute(values)


def load_prompt(name: str, folder: Path = FOLDER) -> Prompt:
    """Read `prompts/NAME`. Raises ConfigError when it is missing, empty or unreadable."""
    path = folder / name
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise ConfigError(f"{path} cannot be read: {problem.strerror}", "reinstall the skill") from problem
    try:
        text = data.decode("utf-8-sig").strip()
    except UnicodeDecodeError as problem:
        raise ConfigError(
            f"{path} is not UTF-8 text (byte {problem.start})", "reinstall the skill"
        ) from problem
    if not text:
        raise ConfigError(f"{path} is empty", "reinstall the skill")
    return Prompt(name, text, sha256_hex(data)[:12])


def _placeholders(template: string.Template) -> "set[str]":
    found = set()
    for match in template.pattern.finditer(template.template):
        name = match.group("named") or match.group("braced")
        if name or match.group("invalid") is not None:
            found.add(name or "$")
    return found


def fence_for(text: str) -> str:
    """A marker line that does not occur in `text`, to put before and after it."""
    number = 0
    while True:
        fence = "=====" if number == 0 else f"====={number}====="
        if fence not in text:
            return fence
        number += 1
