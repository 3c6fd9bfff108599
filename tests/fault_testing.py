"""A layer run with faults in its system calls, and what its memory folder holds afterwards."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from observer_testing import SCRIPTS, Home, at
from transcript_builders import iso

NOW = at("09:30")


class Driver:
    """A running faults/driver.py; `scripts` is where its layers are."""

    def __init__(self, layer: str = "observer", now: datetime = NOW, scripts: Path = SCRIPTS) -> None:
        self._layer, self._now = layer, now
        command = [sys.executable, str(Path(__file__).parent / "faults" / "driver.py"), str(scripts)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> "Driver":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=30)

    def run(self, home: Home, *flags: str, fault: str = "none", number: int = 0) -> "dict[str, Any]":
        """One run of the layer in `home`."""
        argv = ["--now", iso(self._now), *flags]
        task = {"layer": self._layer, "argv": argv, "env": home.environ, "fault": fault, "number": number}
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        told = json.loads(self._process.stdout.readline())
        assert isinstance(told, dict)
        return told


def snapshot(home: Home) -> "dict[str, bytes]":
    """All files of memory/ but locks and what is kept about calls, by name."""
    files = (path for path in sorted(home.memory.rglob("*")) if path.is_file())
    return {
        str(path.relative_to(home.memory)): path.read_bytes()
        for path in files
        if not path.name.endswith(".lock") and path.name not in ("calls.json", "observations.before-rewrite")
    }


def copy_of(prepared: Home, folder: Path) -> Home:
    shutil.copytree(prepared.folder, folder, dirs_exist_ok=True)
    return Home(folder)
