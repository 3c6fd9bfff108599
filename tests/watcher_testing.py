"""A machine on which the watcher runs as a process, for its tests.

The scripts are a copy in which the observer and session recovery are stand-ins: they write down how they were started,
and end as `orders` say. So a test decides what a child does, and all else is real.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Optional

from patience import PATIENCE_SECONDS, until
from transcript_builders import JsonlStore, SqliteStore

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
SWITCH = Path(__file__).resolve().parent / "faults" / "switch"
STAND_IN = '''"""Stands in for a layer."""
import json, os, signal, sys, time
from pathlib import Path
name = Path(sys.argv[0]).name
workspace = Path(sys.argv[sys.argv.index("--workspace") + 1])
try:
    orders = json.loads((workspace / "orders.json").read_text()).get(name, {})
except FileNotFoundError:
    orders = {}
if orders.get("deaf"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
agent = os.environ.get("OPENCLAW_AGENT_ID", "main")
row = {"script": name, "agent": agent, "args": sys.argv[1:], "at": time.time()}
row.update(pid=os.getpid(), group=os.getpgrp())
with open(workspace / "started.jsonl", "a") as file:
    file.write(json.dumps(row) + "\\n")
while orders.get("until") and not (workspace / orders["until"]).exists():
    time.sleep(0.01)
memory = workspace / "memory"
if orders.get("clears"):
    for path in (memory / ".total-recall" / "markers").iterdir():
        marker = json.loads(path.read_text())
        if marker.get("agent_id", agent) == agent and orders["clears"] in (True, marker["event"]):
            path.unlink(missing_ok=True)
told = {"status": "ok", "reason": "observed", **orders.get("told", {})}
if told["status"] == "ok" and name == "observer.py":
    (memory / ".observer-last-run").write_text(f"{int(time.time())}\\n")
print(json.dumps(told))
sys.exit(orders.get("code", 0))
'''


def switched(folder: Path) -> "dict[str, str]":
    """The environment of a machine whose system calls can be made to fail."""
    return {"PYTHONPATH": str(SWITCH), "FAULTS": str(folder / "faults")}


Make = Callable[..., "Machine"]


@contextmanager
def machines(folder: Path, scripts: Path) -> "Iterator[Make]":
    """Makes machines in homes below a folder, and leaves none of their processes behind."""
    made: "list[Machine]" = []

    def make(
        name: str = "home",
        scripts: Path = scripts,
        agent: str = "main",
        place: str = "workspace",
        **environ: str,
    ) -> Machine:
        made.append(Machine(folder / name, scripts, environ, agent, place))
        return made[-1]

    try:
        yield make
    finally:
        for machine in made:
            machine.clean()


def copy_scripts(folder: Path) -> Path:
    """The scripts with stand-ins for the observer and session recovery; returns the folder they are in."""
    target = folder / "skill" / "scripts"
    shutil.copytree(SCRIPTS, target, ignore=shutil.ignore_patterns(".mypy_cache"))
    for name in ("observer.py", "session_recovery.py"):
        (target / name).write_text(STAND_IN, encoding="utf-8")
    return target


@dataclass
class Machine:
    """One home with an OpenClaw in it and a watcher over one agent of it. The cooldown is none, unless `environ` says
    otherwise. `place` is the name of the agent's workspace."""

    folder: Path
    scripts: Path
    environ: "dict[str, str]" = field(default_factory=dict)
    agent: str = "main"
    place: str = "workspace"
    process: "Optional[subprocess.Popen[str]]" = None

    def __post_init__(self) -> None:
        self.environ = {
            "HOME": str(self.folder),
            "PATH": os.environ["PATH"],
            "TZ": "UTC",
            "LLM_PROVIDER": "none",
            "OBSERVER_COOLDOWN_SECS": "0",
            "OPENCLAW_AGENT_ID": self.agent,
            "OPENCLAW_WORKSPACE": str(self.workspace),
            **self.environ,
        }
        self.workspace.mkdir(parents=True, exist_ok=True)

    @property
    def workspace(self) -> Path:
        return self.folder / ".openclaw" / self.place

    @property
    def stderr(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}-{self.agent}.stderr")

    @property
    def log(self) -> Path:
        return self.workspace / "logs" / "observer-watcher.log"

    @property
    def said(self) -> str:
        """What the last watcher has said so far."""
        return self.stderr.read_text(encoding="utf-8")

    @property
    def memory(self) -> Path:
        return self.workspace / "memory"

    @property
    def markers(self) -> Path:
        return self.memory / ".total-recall" / "markers"

    @property
    def sessions(self) -> Path:
        return self.folder / ".openclaw" / "agents" / self.agent / "sessions"

    def jsonl(self) -> JsonlStore:
        return JsonlStore(self.sessions)

    def sqlite(self, schema: int = 23) -> SqliteStore:
        return SqliteStore(self.sessions.parent / "agent" / "openclaw-agent.sqlite", schema=schema)

    def order(self, script: str, **orders: Any) -> None:
        """From now on this stand-in ends so: `told`, `code`, `until` a file is there, `deaf` to SIGTERM,
        `clears` the markers of an event, True for all."""
        path = self.workspace / "orders.json"
        found = json.loads(path.read_text()) if path.exists() else {}
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps({**found, script: orders}))
        temporary.replace(path)

    def begin(self, *flags: str) -> "subprocess.Popen[str]":
        """Start the watcher beside a sessions folder; comes back when it has ended its first observer, or itself."""
        self.sessions.mkdir(parents=True, exist_ok=True)
        before = len(self.events("ended"))
        process = self.start(*flags)
        until(lambda: len(self.events("ended")) > before or self.process_ended(), "the first observer")
        return process

    def start(self, *flags: str) -> "subprocess.Popen[str]":
        """Start the watcher as a process."""
        with open(self.stderr, "w", encoding="utf-8") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, str(self.scripts / "watcher.py"), *flags],
                env=self.environ,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        return self.process

    def process_ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def events(self, kind: str = "", **facts: Any) -> "list[dict[str, Any]]":
        """What the watcher's log tells, in order."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        rows = [json.loads(line.partition(" ")[2]) for line in lines if line.endswith("}")]
        return [
            row
            for row in rows
            if row.get("agent", self.agent) == self.agent
            and kind in ("", row.get("event"))
            and all(row.get(name) == value for name, value in facts.items())
        ]

    def started(self, script: str = "", *args: str) -> "list[dict[str, Any]]":
        """The stand-ins that were started."""
        path = self.workspace / "started.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        rows = [json.loads(line) for line in lines]
        ours = [row for row in rows if row["agent"] == self.agent]
        return [row for row in ours if script in ("", row["script"]) and set(args) <= set(row["args"])]

    def hang_up(self) -> int:
        """Have it read its configuration again (SIGHUP); the lines it had counted by then."""
        assert self.process is not None
        before = len(self.events("reloaded"))
        self.process.send_signal(signal.SIGHUP)
        until(lambda: len(self.events("reloaded")) > before or self.process_ended(), "the reload")
        return int(self.events("reloaded")[-1]["lines"])

    def until_handed_over(self, lines: int) -> None:
        """Wait until observers were started for that many lines in all, and not more; for a threshold of one line."""
        rows = until(lambda: self.sum_of_started() >= lines, f"{lines} lines")
        assert rows and self.sum_of_started() == lines

    def sum_of_started(self) -> int:
        return sum(event["lines"] for event in self.events("started", job="observe"))

    def until_counted(self, lines: int) -> None:
        """Wait until it has counted that many lines in all, and not fewer or more."""
        until(lambda: self.hang_up() >= lines, f"{lines} lines")
        assert self.hang_up() == lines

    def fail(self, calls: "Sequence[str]", errno: int, below: Path, script: str = "") -> None:
        """From now on these system calls fail below a folder, in processes of the script, "" for all. It takes a
        machine with `switched` in its environment."""
        self.switch(
            {"calls": list(calls), "errno": errno, "below": str(below), "kill_at": 0, "script": script}
        )

    def kill_at(self, number: int) -> None:
        """The next watcher is killed at its nth system call; 0: they are only counted."""
        self.calls.unlink(missing_ok=True)
        self.switch({"calls": [], "errno": 0, "below": "", "kill_at": number, "script": "watcher.py"})

    def switch(self, task: "dict[str, Any]") -> None:
        path = Path(self.environ["FAULTS"])
        path.with_suffix(".new").write_text(json.dumps(task))
        path.with_suffix(".new").replace(path)

    def mend(self) -> None:
        """All is well again."""
        Path(self.environ["FAULTS"]).unlink()

    @property
    def calls(self) -> Path:
        """A byte for each system call since `kill_at`."""
        return Path(self.environ["FAULTS"] + ".calls")

    def leave_marker(self, name: str, event: str, **fields: Any) -> Path:
        """What the gateway hook does. Returns the path of the marker."""
        path = self.markers / f"{name}.json"
        path.with_suffix(".tmp").write_text(json.dumps({"schema": 1, "event": event, "at_ms": 1, **fields}))
        path.with_suffix(".tmp").rename(path)
        return path

    def end(self) -> "tuple[int, dict[str, Any], str]":
        """Stop it in order: (exit code, result object, what it said)."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def ended(self) -> "tuple[int, dict[str, Any], str]":
        """How it ended by itself."""
        assert self.process is not None
        out, _ = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode, json.loads(out), self.said

    def clean(self) -> None:
        """Leave no process behind, however the test went."""
        if self.process is not None:
            if self.process.poll() is None:
                self.process.kill()
            self.process.communicate()
        for row in self.started():
            try:
                os.killpg(row["group"], signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
