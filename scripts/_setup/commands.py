"""The command lines by which cron, a service and OpenClaw start the layers: nothing in them needs a shell's settings.

Cron has no PATH, HOME or LANG and a service hardly more, so that the interpreter and the script are absolute paths and
what tells this memory from another is said in the command.
"""

from __future__ import annotations

import os
import pwd
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from _compat import sha256_hex
from _config import Config
from _errors import ConfigError
from _setup import host

SKILL = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Command:
    """A program with its arguments, and the variables that it has to be given."""

    words: "tuple[str, ...]"
    variables: Mapping[str, str]


def layer_command(config: Config, script: str, *arguments: str) -> Command:
    """How to run a layer for this workspace. Raises ConfigError when the skill lacks it."""
    path = SKILL / "scripts" / script
    if not path.is_file():
        raise ConfigError(f"{path} is missing", "reinstall the skill")
    # A skill that is a link knows its workspace only by the path it is called by, which nobody uses here.
    words = (sys.executable, str(path), *arguments, "--workspace", str(config.workspace))
    return Command(words, variables(config))


def variables(config: Config) -> "dict[str, str]":
    """What a process that has no settings at all needs, to find the same memory as this one. Only where things are:
    settings and keys belong into `.env`."""
    found = {
        "OPENCLAW_AGENT_ID": config.agent_id,
        "MEMORY_DIR": str(config.memory_dir),
        "SESSIONS_DIR": str(config.sessions_dir),
    }
    wanted = {name: value for name, value in found.items() if config.origins[name] == "environment"}
    home = os.path.expanduser("~")
    if home != home_on_record():
        wanted["HOME"] = home
    if "environment" in (config.origins["OPENCLAW_STATE_DIR"], config.origins["OPENCLAW_HOME"]):
        wanted["OPENCLAW_STATE_DIR"] = str(config.state_dir)
    if config.provider == "openclaw":
        wanted["PATH"] = path_to_openclaw()
    return wanted


def home_on_record() -> Optional[str]:
    """The home folder of the user database, which cron and systemd go by; None for a user who is not in it."""
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return None


def path_to_openclaw() -> str:
    """A PATH with `openclaw` and the `node` that runs it."""
    programs = filter(None, (host.find("openclaw"), host.find("node")))
    folders = [os.path.dirname(program) for program in programs]
    return os.pathsep.join(dict.fromkeys([*folders, *os.defpath.split(os.pathsep)]))


def shell_line(command: Command) -> str:
    """The command for a shell, its variables in front."""
    set_before = [f"{name}={shlex.quote(value)}" for name, value in sorted(command.variables.items())]
    return " ".join([*set_before, *map(shlex.quote, command.words)])


def fingerprint(config: Config) -> str:
    """Eight hexadecimal digits that stand for the workspace, whatever links lead to it."""
    return sha256_hex(os.fsencode(os.path.realpath(config.workspace)))[:8]


def suffix(config: Config) -> str:
    """What sets this memory's service apart; "" for the agent "main" in OpenClaw's default workspace."""
    usual = Path(os.path.expanduser("~")) / ".openclaw" / "workspace"
    is_usual = os.path.realpath(config.workspace) == os.path.realpath(usual)
    return "" if is_usual and config.agent_id == "main" else f"-{config.agent_id}-{fingerprint(config)}"
