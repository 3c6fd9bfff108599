"""An OpenClaw in a folder of its own: its home, its gateway, and what a person does with it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import secrets
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Callable, Optional, TypeVar

from installed import cache_folder, commands_of
from observer_testing import tags_in

Found = TypeVar("Found")
CHECKOUT = Path(__file__).resolve().parents[2]
COMMAND_SECONDS = 90.0
GATEWAY_SECONDS = 240.0
STOP_SECONDS = 20.0
DAY_MS = 86_400_000


def until(look: Callable[[], Optional[Found]], what: str, seconds: float = 30.0) -> Found:
    """What `look` finds as soon as it finds something true; AssertionError when it does not within the time."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert isinstance(port, int)
    return port


class Host:
    """One home with an OpenClaw of some version. Everything started here ends with `close`."""

    def __init__(self, home: Path, version: str, model_url: str) -> None:
        self.home = home
        self._began = time.monotonic()
        self.port = free_port()
        self._gateway: "Optional[subprocess.Popen[bytes]]" = None
        self._others: "list[subprocess.Popen[bytes]]" = []
        self._lent: "tuple[list[str], dict[str, str]]" = ([], {})
        self.install(version)
        self.state.mkdir(parents=True)
        self.workspace.mkdir()
        self.config_path.write_text(json.dumps(self._config(model_url), indent=1), encoding="utf-8")

    def install(self, version: str) -> None:
        """From now on use this version, as after an upgrade."""
        self.version = version
        first, variables = self._lent
        folders = [*first, *map(str, commands_of(version)), "/usr/local/bin", "/usr/bin", "/bin"]
        temporary = self.home / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        self.environ = {
            "HOME": str(self.home),
            "PATH": os.pathsep.join(folders),
            "TMPDIR": str(temporary),
            "NODE_COMPILE_CACHE": str(cache_folder() / "node-compile"),
            "OPENCLAW_NO_AUTO_UPDATE": "1",
            "TZ": "UTC",
            **variables,
        }

    def lend(self, *folders: Path, **variables: str) -> None:
        """From now on, look for programs in these folders first, and set these variables too."""
        self._lent[0].extend(map(str, folders))
        self._lent[1].update(variables)
        self.install(self.version)

    def _config(self, model_url: str) -> "dict[str, Any]":
        free = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
        model = {"id": "stand-in", "name": "Stand-in", "reasoning": False, "input": ["text"], "cost": free}
        model.update(contextWindow=128_000, maxTokens=4096)
        provider = {
            "baseUrl": model_url,
            "api": "openai-completions",
            "apiKey": "none-needed",
            "models": [model],
        }
        return {
            "agents": {
                "defaults": {
                    "workspace": str(self.workspace),
                    "model": {"primary": "tests/stand-in"},
                    "timeoutSeconds": 60,
                }
            },
            "models": {"mode": "merge", "providers": {"tests": provider}},
            "gateway": {
                "mode": "local",
                "bind": "loopback",
                "port": self.port,
                "auth": {"mode": "token", "token": secrets.token_hex(20)},
            },
            "update": {"checkOnStart": False},
        }

    # Places ---------------------------------------------------------------------------------------------------------

    @property
    def state(self) -> Path:
        return self.home / ".openclaw"

    @property
    def config_path(self) -> Path:
        return self.state / "openclaw.json"

    @property
    def workspace(self) -> Path:
        return self.state / "workspace"

    @property
    def memory(self) -> Path:
        return self.workspace / "memory"

    @property
    def skill(self) -> Path:
        return self.workspace / "skills" / "total-recall"

    @property
    def remembered(self) -> str:
        """observations.md, "" when there is none."""
        path = self.memory / "observations.md"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    @property
    def tags(self) -> "dict[str, int]":
        """How often each tag stands in observations.md."""
        return tags_in(self.remembered)

    @property
    def age(self) -> float:
        """Seconds since it was made."""
        return time.monotonic() - self._began

    @property
    def ended(self) -> int:
        """How many sessions OpenClaw has put an end to: it renames a file, or adds an event that says so."""
        files = len(list(self._sessions.glob("*.jsonl.reset.*")))
        if not self._store.exists():
            return files
        with contextlib.closing(sqlite3.connect(f"{self._store.as_uri()}?mode=ro", uri=True)) as connection:
            is_reset = "json_extract(event_json, '$.type') = 'reset'"
            [[events]] = connection.execute(f"SELECT count(*) FROM transcript_events WHERE {is_reset}")
        return files + int(events)

    def make_session_older(self, key: str) -> None:
        """Have OpenClaw, which must not run, find that the session began a day earlier."""
        if not self._store.exists():
            listing = self._sessions / "sessions.json"
            sessions = json.loads(listing.read_text(encoding="utf-8"))
            sessions[key] = a_day_older(sessions[key])
            listing.write_text(json.dumps(sessions), encoding="utf-8")
            return
        with contextlib.closing(sqlite3.connect(self._store)) as connection, connection:
            asked = "SELECT entry_json FROM session_nodes WHERE session_key = ?"
            [[entry]] = connection.execute(asked, [key]).fetchall()
            told = "UPDATE session_nodes SET entry_json = ? WHERE session_key = ?"
            connection.execute(told, [json.dumps(a_day_older(json.loads(entry))), key])

    @property
    def _sessions(self) -> Path:
        return self.state / "agents" / "main" / "sessions"

    @property
    def _store(self) -> Path:
        return self.state / "agents" / "main" / "agent" / "openclaw-agent.sqlite"

    # Commands -------------------------------------------------------------------------------------------------------

    def run(self, command: Sequence[str], seconds: float = COMMAND_SECONDS) -> str:
        """stdout of a command, which has to end well."""
        done = self.attempt(command, seconds)
        assert done.returncode == 0, f"{command[:4]} ended with {done.returncode}: {_end(done)}"
        return done.stdout

    def attempt(
        self, command: Sequence[str], seconds: float = COMMAND_SECONDS
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            list(command),
            cwd=self.home,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
        )

    def openclaw(self, *arguments: str, seconds: float = COMMAND_SECONDS) -> str:
        return self.run(["openclaw", *arguments], seconds)

    def ask(self, *arguments: str, seconds: float = COMMAND_SECONDS) -> Any:
        """What an openclaw command says with --json."""
        return first_json(self.openclaw(*arguments, "--json", seconds=seconds))

    def say(self, text: str) -> Any:
        """One turn of the main session through the gateway."""
        return self.ask("agent", "--agent", "main", "--message", text)

    def write(self, text: str) -> None:
        """The same as from OpenClaw's window for chats; the answer is not waited for."""
        message = {"sessionKey": "main", "message": text, "idempotencyKey": secrets.token_hex(8)}
        self.ask("gateway", "call", "chat.send", "--params", json.dumps(message))

    def install_skill(self) -> None:
        """As a user does it: from a folder with what is published, and nothing else that lies about in a checkout."""
        package = self.home / "package"
        left_out = shutil.ignore_patterns(".*", "__pycache__", "*.pyc", "memory", "logs", "research")
        shutil.copytree(CHECKOUT, package, ignore=left_out)
        self.openclaw("skills", "install", str(package), "--as", "total-recall")

    def settings(self, **values: str) -> None:
        """Write the workspace's .env, with these variables and no others."""
        lines = [f"{name}={value}\n" for name, value in values.items()]
        (self.workspace / ".env").write_text("".join(lines), encoding="utf-8")

    def layer(self, script: str, *arguments: str, seconds: float = COMMAND_SECONDS) -> "dict[str, Any]":
        """The result object of one of the skill's scripts, which has to end well."""
        found = json.loads(self.run(self.command(script, *arguments), seconds))
        assert isinstance(found, dict)
        return found

    def command(self, script: str, *arguments: str) -> "list[str]":
        """The command for a script of the installed skill. This Python has the packages."""
        return [sys.executable, str(self.skill / "scripts" / script), *arguments]

    # Processes ------------------------------------------------------------------------------------------------------

    def start(self, command: Sequence[str], log: str) -> "subprocess.Popen[bytes]":
        """Start something in a process group of its own, its output in a log below the home."""
        with open(self.home / log, "ab") as out:
            process = subprocess.Popen(
                list(command),
                cwd=self.home,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._others.append(process)
        return process

    def start_gateway(self) -> None:
        """Start the gateway and wait until it is ready."""
        self._gateway = self.start(["openclaw", "gateway", "run"], "gateway.log")
        try:
            until(self._is_ready, "the gateway is ready", GATEWAY_SECONDS)
        except AssertionError as problem:
            raise AssertionError(f"{problem}; its log: {self._log_end()}") from problem

    def stop_gateway(self) -> None:
        assert self._gateway is not None
        stop(self._gateway)
        self._others.remove(self._gateway)
        self._gateway = None

    def _is_ready(self) -> bool:
        assert self._gateway is not None
        assert self._gateway.poll() is None, "the gateway ended"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        return False

    def _log_end(self) -> str:
        return (self.home / "gateway.log").read_text(encoding="utf-8", errors="replace")[-1500:]

    def close(self) -> None:
        """End whatever still runs, whatever became of it: nothing of a test outlives it."""
        for process in self._others:
            if process.returncode is None:
                stop(process)
        for pid in processes_of(self.home):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def hosted(home: Path, version: str, model_url: str) -> Iterator[Host]:
    """A Host that is closed in the end."""
    host = Host(home, version, model_url)
    try:
        yield host
    finally:
        host.close()


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End a process group: it is asked to, and then made to."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)


def processes_of(home: Path) -> "list[int]":
    """Processes whose HOME is this folder, where the system shows them (Linux)."""
    wanted = b"HOME=" + os.fsencode(home)
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def a_day_older(entry: "dict[str, Any]") -> "dict[str, Any]":
    """What OpenClaw keeps of a session that began a day earlier; it compares when this was written, so that stays."""
    return {**entry, "sessionStartedAt": entry["sessionStartedAt"] - DAY_MS}


def first_json(out: str) -> Any:
    """The JSON value in what a command printed; OpenClaw puts warnings before it at times."""
    start = min((out.find(sign) for sign in "{[" if sign in out), default=-1)
    assert start >= 0, f"no JSON in: {out[:400]}"
    return json.JSONDecoder().raw_decode(out[start:])[0]


def _end(done: "subprocess.CompletedProcess[str]") -> str:
    return (done.stdout + done.stderr)[-1500:]
