"""The watcher as a service of the user: a systemd unit, on macOS a launchd agent, else a line to run by hand.

Each memory has a service of its own name. The files hold paths only; what they would hold is compared with what is
there, so that a second run changes nothing and a changed one restarts the service.
"""

from __future__ import annotations

import os
import pwd
import re
from pathlib import Path
from typing import Optional

from _cli import Run
from _config import Config
from _errors import ConfigError
from _files import decode, encode, private_folder, read_bytes, remove_file, replace_file
from _setup import host, launchd
from _setup.commands import Command, layer_command, shell_line, suffix
from _setup.parts import Outcome, state_of

SCRIPT = "watcher.py"


def watcher_command(config: Config) -> Command:
    """How the watcher is run."""
    return layer_command(config, SCRIPT)


# systemd -------------------------------------------------------------------------------------------------------------


def unit_name(config: Config) -> str:
    """The name of this memory's unit."""
    return f"total-recall-watcher{suffix(config)}.service"


def unit_path(config: Config) -> Path:
    """Where systemd looks for units of the user."""
    return Path(os.path.expanduser("~")) / ".config" / "systemd" / "user" / unit_name(config)


def unit_text(config: Config, command: Command) -> str:
    """The unit. `strict` makes all file systems read-only but for what is named; a manager that may not set up mounts
    (user namespaces are off) leaves such settings out and starts the service all the same."""
    writable = [config.memory_dir, config.logs_dir, config.store_path.parent, *linked_folder(config)]
    if config.provider == "openclaw":
        writable.append(config.state_dir)  # the host's own program keeps its records there
    lines = [
        "[Unit]",
        f"Description=Total Recall watcher, agent {config.agent_id}, {unit_escape(str(config.workspace))}",
        "",
        "[Service]",
        "Type=exec",
        f"ExecStart={exec_line(command)}",
        *(f"Environment={quoted(f'{name}={value}')}" for name, value in sorted(command.variables.items())),
        "Restart=on-failure",
        "RestartSec=30",
        "KillMode=mixed",
        "TimeoutStopSec=60",
        "OOMPolicy=continue",
        "MemoryMax=1G",
        "Nice=10",
        "CPUWeight=20",
        "UMask=0077",
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        # With "-": what is not there is left out.
        *(f"ReadWritePaths={quoted(f'-{path}')}" for path in writable),
        *([] if is_below_tmp(config, command) else ["PrivateTmp=yes"]),
        "RestrictRealtime=yes",
        "LockPersonality=yes",
        "",
        "[Install]",
        "WantedBy=default.target",
    ]
    return "\n".join(lines) + "\n"


def linked_folder(config: Config) -> "list[Path]":
    """The folder that observations.md is really in, where it is a link to elsewhere: it is replaced there."""
    folder = os.path.dirname(os.path.realpath(config.observations_path))
    return [] if folder == os.path.realpath(config.memory_dir) else [Path(folder)]


def is_below_tmp(config: Config, command: Command) -> bool:
    """True when something that the watcher needs would be hidden by a /tmp of its own."""
    folders = [
        config.workspace,
        config.memory_dir,
        config.sessions_dir,
        config.state_dir,
        *linked_folder(config),
    ]
    needed = [os.path.realpath(path) for path in (*map(str, folders), *command.words[:2])]
    tmp = [Path("/", "tmp"), Path("/", "var", "tmp")]
    return any(place in Path(path).parents for path in needed for place in tmp)


def unit_escape(text: str) -> str:
    """Text for a unit file, where % begins a specifier."""
    return re.sub(r"[\x00-\x1f\x7f]", "?", text).replace("%", "%%")


def quoted(word: str) -> str:
    """One word for a list in a unit file (systemd.syntax, "Quoting")."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"' + re.sub(r"[\x01-\x1f\x7f]", lambda found: f"\\x{ord(found.group()):02x}", escaped) + '"'


def exec_line(command: Command) -> str:
    """The words of ExecStart, in which $ stands for a variable and $$ for itself; but not in the program's path.

    Python finds its environment by the name it is called by: "@" gives that as a word of its own.
    """
    words = [quoted(word).replace("$", "$$") for word in command.words]
    if "$" in command.words[0]:
        return " ".join([f"@{quoted(command.words[0])}", *words])
    return " ".join(words)


def systemd_reason() -> str:
    """Why systemd cannot be used for this user; "" when it can."""
    if host.find("systemctl") is None:
        return "there is neither systemd nor launchd on this machine"
    ended = host.run_program("systemctl", "--user", "show-environment")
    return "" if ended.code == 0 else f"systemd has no manager for this user: {ended.first_words}"


def is_true(*words: str) -> bool:
    """Whether `systemctl --user` answers a question with yes."""
    return host.run_program("systemctl", "--user", *words).code == 0


def install_unit(run: Run) -> Outcome:
    """Write the unit, start it, see that it outlives the login."""
    config = run.config
    name, path = unit_name(config), unit_path(config)
    text = encode(unit_text(config, watcher_command(config)))
    old = read_bytes(path)
    running = is_true("is-active", "--quiet", name)
    changed = old != text
    in_order = not changed and running and is_true("is-enabled", "--quiet", name)
    if not run.dry_run and not in_order:
        private_folder(path.parent)
        if changed:
            replace_file(path, text)
        host.succeed("systemctl", "--user", "daemon-reload")
        host.succeed("systemctl", "--user", "enable", "--now", name, hint=f"see: journalctl --user -u {name}")
        if changed and running:
            host.succeed("systemctl", "--user", "restart", name, hint=f"see: journalctl --user -u {name}")
    if changed:
        run.say(f"setup: watcher: {'would write' if run.dry_run else 'wrote'} {path}")
    doing = "runs" if in_order else "would be started" if run.dry_run else "started"
    run.say(f"setup: watcher: {doing} as {name}; its journal: journalctl --user -u {name}")
    lingers = is_lingering()
    if not lingers:
        run.say(f"setup: watcher: it would end when you log out; left to do: {linger_command()}")
    facts = {"manager": "systemd", "service": name, "path": str(path), "lingering": lingers}
    return Outcome(state_of(run, not in_order), facts)


def user_name() -> str:
    """The name that loginctl knows this user by."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def linger_command() -> str:
    """What keeps the user's services running without a login."""
    return f"loginctl enable-linger {user_name()}"


def is_lingering() -> bool:
    """True when the user's services run without a login. loginctl fails for a user who is neither logged in nor so."""
    if host.find("loginctl") is None:
        return False
    ended = host.run_program("loginctl", "show-user", user_name(), "-p", "Linger")
    return ended.code == 0 and b"Linger=yes" in ended.out


# Whichever there is --------------------------------------------------------------------------------------------------


def install(run: Run) -> Outcome:
    """Make the watcher a service. Raises ConfigError with the line to run by hand where there is nothing to do that."""
    command = watcher_command(run.config)
    if host.find("launchctl"):
        return launchd.install(run, command)
    reason = systemd_reason()
    if reason:
        by_hand = f"nohup {'env ' if command.variables else ''}{shell_line(command)} >/dev/null 2>&1 &"
        raise ConfigError(reason, f"nothing was installed; to run it by hand: {by_hand}")
    return install_unit(run)


def path_of(config: Config) -> Path:
    """The file that makes the watcher a service here."""
    return launchd.agent_path(config) if host.find("launchctl") else unit_path(config)


def is_installed(config: Config) -> bool:
    """True when there is such a file."""
    return path_of(config).exists()


def look(run: Run) -> "tuple[str, Optional[bool], str]":
    """("running", "stopped", "outdated" or "missing"; whether it outlives a login, None where unknown; a sentence)."""
    config = run.config
    there = read_bytes(path_of(config))
    if there is None:
        return "missing", None, "not installed as a service (setup.py --watcher)"
    if host.find("launchctl"):
        return launchd.look(config, watcher_command(config), there)
    lingers = is_lingering()
    if decode(there) != unit_text(config, watcher_command(config)):
        return "outdated", lingers, f"another version of it is in {path_of(config)} (setup.py --watcher)"
    if systemd_reason() or not is_true("is-active", "--quiet", unit_name(config)):
        return "stopped", lingers, "installed, but not running (setup.py --watcher)"
    if not lingers:
        return "running", False, f"running, until you log out: {linger_command()}"
    return "running", True, f"running as {unit_name(config)}"


def uninstall(run: Run) -> Outcome:
    """Stop the service and remove its file."""
    path = path_of(run.config)
    if not path.exists():
        return Outcome("unchanged")
    if not run.dry_run:
        if host.find("launchctl"):
            launchd.stop(run.config)
        elif not systemd_reason():
            host.succeed("systemctl", "--user", "disable", "--now", unit_name(run.config))
        remove_file(path)
        if not host.find("launchctl") and not systemd_reason():
            host.succeed("systemctl", "--user", "daemon-reload")
    return Outcome(state_of(run, True), {"path": str(path)})
