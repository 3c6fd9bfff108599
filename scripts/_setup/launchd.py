"""The watcher as a launchd agent, which macOS starts at login and keeps running."""

from __future__ import annotations

import os
import plistlib
from pathlib import Path
from typing import Any

from _cli import Run
from _config import Config
from _errors import ConfigError
from _files import private_folder, read_bytes, replace_file, wait
from _setup import host
from _setup.commands import Command, suffix
from _setup.parts import Outcome, state_of

# `launchctl bootout` comes back before the agent is gone, and `bootstrap` fails until then.
TRIES = 10


def label(config: Config) -> str:
    """The name of this memory's agent."""
    return f"ai.total-recall.watcher{suffix(config).replace('-', '.', 1)}"


def agent_path(config: Config) -> Path:
    """Where launchd looks for agents of the user."""
    return Path(os.path.expanduser("~")) / "Library" / "LaunchAgents" / f"{label(config)}.plist"


def agent(config: Config, command: Command) -> bytes:
    """The property list. What it says by itself goes to its own log; launchd's is for what it could not say."""
    content: "dict[str, Any]" = {
        "Label": label(config),
        "ProgramArguments": [*command.words, "--quiet"],
        "EnvironmentVariables": dict(sorted(command.variables.items())),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 30,
        "ProcessType": "Background",
        "LowPriorityIO": True,
        "Nice": 10,
        "Umask": 0o077,
        "StandardErrorPath": str(config.logs_dir / "observer-watcher.stderr"),
    }
    return plistlib.dumps(content)


def domain() -> str:
    """The user's domain in the words of launchctl."""
    return f"gui/{os.getuid()}"


def is_loaded(config: Config) -> bool:
    """True when launchd knows the agent."""
    return host.run_program("launchctl", "print", f"{domain()}/{label(config)}").code == 0


def install(run: Run, command: Command) -> Outcome:
    """Write the agent and load it; one that changed is loaded anew."""
    path = agent_path(run.config)
    content = agent(run.config, command)
    changed = read_bytes(path) != content
    loaded = is_loaded(run.config)
    if not run.dry_run and (changed or not loaded):
        if changed:
            private_folder(path.parent)
            replace_file(path, content)
        if loaded:
            stop(run.config)
        start(path)
    if changed:
        run.say(f"setup: watcher: {'would write' if run.dry_run else 'wrote'} {path}")
    doing = "runs" if loaded and not changed else "would be started" if run.dry_run else "started"
    run.say(f"setup: watcher: {doing} as {label(run.config)}")
    facts = {"manager": "launchd", "service": label(run.config), "path": str(path), "lingering": None}
    return Outcome(state_of(run, changed or not loaded), facts)


def start(path: Path) -> None:
    """Load the agent. Raises ConfigError with launchd's words when it does not take it."""
    for attempt in range(TRIES):
        ended = host.run_program("launchctl", "bootstrap", domain(), str(path))
        if ended.code == 0:
            return
        if attempt < TRIES - 1:
            wait(0.5)
    raise ConfigError(
        f"`launchctl bootstrap` failed: {ended.first_words}",
        "it needs a login at the screen; at the next one the agent is started anyway",
    )


def stop(config: Config) -> None:
    """Unload the agent, if it is loaded."""
    if is_loaded(config):
        host.succeed("launchctl", "bootout", f"{domain()}/{label(config)}")


def look(config: Config, command: Command, there: bytes) -> "tuple[str, None, str]":
    """As `service.look`, for the agent file's bytes."""
    if there != agent(config, command):
        return "outdated", None, f"another version of it is in {agent_path(config)} (setup.py --watcher)"
    if not is_loaded(config):
        return "stopped", None, "installed, but not running (setup.py --watcher)"
    return "running", None, f"running as {label(config)}"
