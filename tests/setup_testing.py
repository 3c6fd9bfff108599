"""What the tests of setup.py share: a machine to set up, and programs that answer like those of the real one."""

from __future__ import annotations

import dataclasses
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import fake_host

SKILL = Path(__file__).resolve().parent.parent
# What a person may call a folder.
ODD_NAME = 'Nora\'s "own" f\u00f6lder'


@dataclasses.dataclass
class Machine:
    """A home folder with nothing in it, the Python to run, and a copy of the skill or the skill itself."""

    home: Path
    python: str = sys.executable
    skill: Path = SKILL
    environ: "dict[str, str]" = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "tmp").mkdir(exist_ok=True)

    @property
    def programs(self) -> Path:
        """The only folder in PATH: no program of the machine that runs the tests is found."""
        return self.home.parent / "programs"

    @property
    def data(self) -> Path:
        return self.home / ".local" / "share" / "total-recall"

    @property
    def state_dir(self) -> Path:
        return self.home / ".openclaw"

    @property
    def workspace(self) -> Path:
        return self.state_dir / "workspace"

    @property
    def sessions(self) -> Path:
        return self.state_dir / "agents" / "main" / "sessions"

    @property
    def variables(self) -> "dict[str, str]":
        usual = {
            "HOME": str(self.home),
            "PATH": str(self.programs),
            "TMPDIR": str(self.home / "tmp"),
            "TZ": "UTC",
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            # The settings of pip on the machine that runs the tests make no difference.
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
        }
        return {name: value for name, value in {**usual, **self.environ}.items() if value}

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [self.python, str(self.skill / "scripts" / "setup.py"), *arguments],
            env=self.variables,
            cwd=str(self.home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )

    def run(self, *arguments: str) -> "Ended":
        return end_of(self.start(*arguments))


@dataclasses.dataclass(frozen=True)
class Ended:
    """How it ended. `result` is what stood on stdout, `said` what stood on stderr."""

    code: int
    result: "dict[str, Any]"
    said: str

    @property
    def error(self) -> "dict[str, str]":
        return dict(self.result["error"])


def end_of(process: "subprocess.Popen[str]") -> Ended:
    """Wait for it. Its stdout must be one JSON object in one line."""
    output, said = process.communicate(timeout=110)
    assert output.count("\n") == 1, (output, said)
    return Ended(process.returncode, json.loads(output), said)


def tree(folder: Path) -> "dict[str, bytes]":
    """Every file and folder below, with what is in it."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"/"
        for path in sorted(folder.rglob("*"))
    }


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def copy_tree(source: Path, target: Path) -> None:
    for path in source.rglob("*"):
        if path.is_file() and not {"__pycache__", ".mypy_cache", ".ruff_cache"} & set(path.parts):
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())


# The machine's programs ----------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Host:
    """The programs on a machine. What they keep can be set before and looked at after a run."""

    machine: Machine

    @property
    def place(self) -> Path:
        return self.machine.programs.parent / "host"

    def have(self, *names: str) -> "Host":
        """Put programs into PATH; they start at once, without site-packages."""
        self.machine.programs.mkdir(exist_ok=True)
        self.place.mkdir(exist_ok=True)
        source = (SKILL / "tests" / "fake_host.py").read_text("utf-8")
        for name in names:
            program = self.machine.programs / name
            program.write_text(f"#!{sys.executable} -IS\n{source}", encoding="utf-8")
            program.chmod(0o755)
        return self

    @property
    def state(self) -> "dict[str, Any]":
        path = self.place / "state.json"
        return dict(json.loads(path.read_text())) if path.exists() else {}

    def set(self, **changes: Any) -> "Host":
        (self.place / "state.json").write_text(json.dumps({**self.state, **changes}))
        return self

    @property
    def loaded(self) -> "set[str]":
        """The hooks that the gateway would load."""
        return fake_host.loaded(fake_host.State({"version": "2026.9.6", "internal": None, **self.state}))

    @property
    def calls(self) -> "list[list[str]]":
        path = self.place / "calls"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def changes(self) -> "list[list[str]]":
        """The calls so far that were to change something; they are forgotten with that."""
        asking = ("get", "list", "--version", "--help", "-l", "show-user", "show-environment", "print")
        found = [call for call in self.calls if not {*asking} & {*call} and "--quiet" not in call]
        (self.place / "calls").write_text("")
        return found

    @property
    def crontab(self) -> bytes:
        return (self.place / "crontab").read_bytes()
