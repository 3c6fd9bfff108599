"""Programs of the machine and of OpenClaw: found on PATH, given their words as a list, never waited for without end."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from typing import Any, Optional

from _config import environment_copy
from _errors import ConfigError

# An `openclaw` command takes 1 to 5 s, and more on a small machine that is busy.
LONGEST_SECONDS = 60.0


@dataclass(frozen=True)
class Ended:
    """How a program ended, and what it said."""

    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """All that it said, errors first."""
        return f"{self.err.decode('utf-8', 'replace')}\n{self.out.decode('utf-8', 'replace')}"

    @property
    def first_words(self) -> str:
        """The first line that says something, for a sentence."""
        for line in self.text.splitlines():
            if line.strip(" \t{}[]"):
                return line.strip()[:300]
        return f"exit code {self.code}"


def find(name: str) -> Optional[str]:
    """Where the program is; None when there is none."""
    return shutil.which(name, path=environment_copy().get("PATH"))


def run_program(program: str, *words: str, stdin: bytes = b"", seconds: float = LONGEST_SECONDS) -> Ended:
    """Run `program` to its end. Raises ConfigError when it is not there or does not end in time."""
    found = find(program)
    if found is None:
        raise ConfigError(f"there is no program `{program}` in PATH")
    try:
        process = subprocess.Popen(
            [found, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment_copy(),
            start_new_session=True,
        )
    except OSError as problem:
        raise ConfigError(f"{found} could not be started: {problem.strerror}") from problem
    with process:
        try:
            out, err = process.communicate(stdin, timeout=seconds)
        except subprocess.TimeoutExpired as problem:
            raise ConfigError(
                f"`{program} {' '.join(words[:2])}` did not end within {seconds:g} s", "run setup.py again"
            ) from problem
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
    return Ended(process.returncode, out, err)


def succeed(program: str, *words: str, stdin: bytes = b"", hint: str = "") -> Ended:
    """Run a program that has to succeed. Raises ConfigError with its own words otherwise."""
    ended = run_program(program, *words, stdin=stdin)
    if ended.code != 0:
        raise ConfigError(f"`{program} {' '.join(words[:3])}` failed: {ended.first_words}", hint)
    return ended


def json_in(ended: Ended) -> "dict[str, Any]":
    """The JSON object on its stdout; notices may stand before and after it. Raises ConfigError when there is none."""
    text = ended.out.decode("utf-8", "replace")
    for start in [found.start() for found in re.finditer(r"^\{", text, re.MULTILINE)][:20]:
        try:
            found, _end = json.JSONDecoder().raw_decode(text[start:])
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    raise ConfigError(f"no JSON object was printed but: {ended.first_words}")


def openclaw_version() -> "Optional[tuple[int, int]]":
    """Year and month of the installed OpenClaw, such as (2026, 9); None when that cannot be told."""
    if find("openclaw") is None:
        return None
    found = re.search(r"\b(20\d\d)\.(\d{1,2})\.\d", run_program("openclaw", "--version").text)
    return (int(found.group(1)), int(found.group(2))) if found else None
