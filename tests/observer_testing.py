"""A person's machine in a folder, for tests of the observer: home, workspace, transcripts, and a model that cites.

The citing model answers with one line for each message that carries a tag such as "#note-17", so that a test can count
afterwards which messages reached memory, and how often.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Callable, Optional
from unittest import mock

import fake_model
import observer
from transcript_builders import JsonlStore, SqliteStore, iso

SCRIPTS = Path(observer.__file__).resolve().parent
TAG = re.compile(r"#[a-z]+-\d+")
MESSAGE = re.compile(r"^\[(\d\d:\d\d)\] ([^:]+): ")


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    code: int
    result: "dict[str, Any]"
    said: str


def dated(now: Optional[datetime]) -> "list[str]":
    """The flags that tell a layer the time; none for None."""
    return ["--now", iso(now)] if now else []


def run_here(main: "Callable[[], int]", environ: "dict[str, str]", stdin: bytes = b"") -> Ended:
    """How the main function of a layer ends in this process, with these variables and no others."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.ExitStack() as around:
        around.callback(os.umask, os.umask(0o077))
        around.enter_context(mock.patch.dict(os.environ, environ, clear=True))
        around.enter_context(mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin))))
        around.enter_context(contextlib.redirect_stdout(out))
        around.enter_context(contextlib.redirect_stderr(err))
        code = main()
    assert out.getvalue().count("\n") == 1
    return Ended(code, json.loads(out.getvalue()), err.getvalue())


class DatedStore(JsonlStore):
    """A sessions folder whose files bear the time of their last entry, as they would on the day itself."""

    def raw(self, session_id: str, line: bytes, newline: bytes = b"\n") -> None:
        super().raw(session_id, line, newline)
        stamp = self.now.timestamp()
        os.utime(self.path(session_id), (stamp, stamp))


@dataclass
class Home:
    """A machine with an OpenClaw: `run` calls the observer in this process, `start` as a process of its own."""

    folder: Path
    environ: "dict[str, str]" = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.environ = {
            "HOME": str(self.folder),
            "PATH": os.environ["PATH"],
            "TZ": "UTC",
            "LLM_PROVIDER": "none",
            **self.environ,
        }

    @property
    def state_dir(self) -> Path:
        return self.folder / ".openclaw"

    @property
    def memory(self) -> Path:
        return self.state_dir / "workspace" / "memory"

    @property
    def sessions(self) -> Path:
        return self.state_dir / "agents" / "main" / "sessions"

    @property
    def log(self) -> str:
        """observations.md, "" when there is none."""
        path = self.memory / "observations.md"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    @property
    def brief(self) -> str:
        return (self.memory / ".total-recall" / "brief.txt").read_text(encoding="utf-8")

    @property
    def state(self) -> "dict[str, Any]":
        found = json.loads((self.memory / ".total-recall" / "state.json").read_text(encoding="utf-8"))
        assert isinstance(found, dict)
        return found

    def ledger(self, kind: str) -> "list[dict[str, Any]]":
        """The ledger's rows of one kind."""
        path = self.memory / ".total-recall" / "ledger.jsonl"
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return [row for row in rows if row["e"] == kind]

    def jsonl(self) -> DatedStore:
        return DatedStore(self.sessions)

    def sqlite(self, schema: int = 23) -> SqliteStore:
        return SqliteStore(self.sessions.parent / "agent" / "openclaw-agent.sqlite", schema=schema)

    def model(self, server: fake_model.FakeModel) -> None:
        """From now on ask this server."""
        self.environ.update(LLM_PROVIDER="openai", LLM_BASE_URL=server.base_url, LLM_MODEL="test/model")

    def run(self, *flags: str, now: Optional[datetime] = None, **environ: str) -> Ended:
        """Run the observer in this process."""
        return run_here(lambda: observer.main([*dated(now), *flags]), {**self.environ, **environ})

    def command(
        self, *flags: str, now: Optional[datetime] = None, script: str = "observer.py"
    ) -> "list[str]":
        return [sys.executable, str(SCRIPTS / script), *dated(now), *flags]

    def start(
        self, *flags: str, now: Optional[datetime] = None, script: str = "observer.py", **environ: str
    ) -> "subprocess.Popen[str]":
        """Start the observer, or another layer, as a process."""
        return subprocess.Popen(
            self.command(*flags, now=now, script=script),
            env={**self.environ, **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def call(
        self, *flags: str, now: Optional[datetime] = None, script: str = "observer.py", **environ: str
    ) -> Ended:
        """Run it as a process and wait for it."""
        with self.start(*flags, now=now, script=script, **environ) as process:
            out, err = process.communicate(timeout=60)
        return Ended(process.returncode, json.loads(out), err)


def cite(request: fake_model.Request) -> fake_model.Reply:
    """Answer as a diligent model would: a line for each tag, with the words around it."""
    lines = cited_lines(request.prompt)
    return fake_model.says(
        "\n".join(lines) if lines else "NO_OBSERVATIONS", usage=(len(request.prompt) // 4, 10)
    )


def cited_lines(prompt: str) -> "list[str]":
    """One observation for each tag between the marker lines of the prompt."""
    body = re.split(r"(?m)^=====(?:\d+=====)?$", prompt)[1]
    clock, lines = "00:00", []
    for line in body.splitlines():
        start = MESSAGE.match(line)
        if start:
            clock, line = start.group(1), line[start.end() :]
        for found in TAG.finditer(line):
            around = line[max(0, found.start() - 40) : found.end()]
            words = " ".join(word for word in around.split()[-5:] if not word.startswith("["))
            lines.append(f"- 🟡 {clock} {words} <!-- dc:type=fact dc:importance=5 -->")
    return lines


def tags_in(text: str) -> "dict[str, int]":
    """How often each tag stands in a text."""
    counts: "dict[str, int]" = {}
    for tag in TAG.findall(text):
        counts[tag] = counts.get(tag, 0) + 1
    return counts


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


def at(clock: str, day: int = 30) -> datetime:
    """A time of day in November 2026, UTC."""
    hour, minute = clock.split(":")
    return datetime(2026, 11, day, int(hour), int(minute), tzinfo=timezone.utc)
