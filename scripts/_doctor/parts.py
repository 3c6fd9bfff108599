"""Checks of what makes it run by itself: the gateway hook, the watcher, cron. How setup.py sees them, and what else can
be told without asking anybody."""

from __future__ import annotations

import json
import os
from pathlib import Path

from _doctor.finding import FAIL, OK, UNKNOWN, WARN, Finding
from _doctor.scene import Scene
from _files import decode, read_bytes
from _setup import hook, host, schedule, service

SETUP = "python3 scripts/setup.py"


def gateway_hook(scene: Scene) -> Finding:
    """Whether the hook is there, is the one of this skill, and is enabled."""
    state, says = hook.look(scene.run)
    facts = {"installed": state}
    if state == "installed" and host.find("openclaw") is None:
        enabled = is_enabled_by_file(scene)
        if enabled is None:
            return Finding("hook", UNKNOWN, says, "run it where `openclaw` is in PATH", facts)
        state, says = ("installed", "enabled") if enabled else ("disabled", "there, but not enabled")
        facts = {"installed": state}
    kind = {"installed": OK, "missing": WARN, "outdated": WARN}.get(state, FAIL)
    if state == "missing":
        says = "not installed: new sessions begin without memory, and /new may come before the last words are observed"
    todo = {"outdated": f"{SETUP} --hook, or doctor.py --fix", "installed": ""}.get(state, f"{SETUP} --hook")
    return Finding("hook", kind, says, todo, facts)


def is_enabled_by_file(scene: Scene) -> "bool | None":
    """What openclaw.json says of the hook; None when that is not plain JSON, or leads to other files."""
    data = read_bytes(scene.config.state_dir / "openclaw.json")
    try:
        found = json.loads(data or b"")
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or "$include" in decode(data or b""):
        return None
    hooks = found.get("hooks")
    internal = hooks.get("internal") if isinstance(hooks, dict) else None
    return hook.is_enabled(internal) if isinstance(internal, dict) else False


def watcher(scene: Scene) -> Finding:
    """Whether the watcher runs, by whatever started it, and whether it will go on."""
    state, lingers, says = service.look(scene.run)
    runs = is_at_work(scene)
    facts = {"service": state, "at_work": runs, "lingering": lingers}
    if state == "missing":
        if runs:
            return Finding(
                "watcher", OK, "at work, started by hand or by another service manager", facts=facts
            )
        says = "not installed: busy conversations are observed only when cron's turn comes"
        return Finding("watcher", WARN, says, f"{SETUP} --watcher", facts)
    if state == "outdated":
        return Finding("watcher", WARN, says, f"{SETUP} --watcher, or doctor.py --fix", facts)
    if state == "stopped":
        if runs:
            return Finding("watcher", WARN, "at work, but not as the service", f"{SETUP} --watcher", facts)
        return Finding("watcher", FAIL, says, f"{SETUP} --watcher", facts)
    if lingers is False:
        return Finding("watcher", WARN, "running, until you log out", service.linger_command(), facts)
    return Finding("watcher", OK, says, facts=facts)


def is_at_work(scene: Scene) -> "bool | None":
    """Whether a process holds the watcher's lock; None where the system does not tell. Nothing is locked to find out.

    By its inode: the device is another one in some file systems (btrfs).
    """
    path = scene.config.private_dir / f"watcher-{scene.config.agent_id}.lock"
    try:
        seen = os.stat(path)
    except FileNotFoundError:
        return False
    except OSError:
        return None
    try:
        held = Path("/", "proc", "locks").read_text("ascii", "replace")
    except OSError:
        return None
    # "1: FLOCK  ADVISORY  WRITE 4711 08:01:5242 0 EOF"; one that is waited for has an arrow behind the number.
    rows = [line.split() for line in held.splitlines()]
    return any(len(row) > 5 and row[1] == "FLOCK" and row[5].endswith(f":{seen.st_ino}") for row in rows)


def cron(scene: Scene) -> Finding:
    """Whether something runs the layers by the clock."""
    state, says = schedule.look(scene.run)
    kind = {"openclaw": OK, "system": OK, "unknown": UNKNOWN}.get(state, WARN)
    todo = {
        "both": f"{SETUP} --uninstall, then --cron of your choice",
        "missing": f"{SETUP} --cron openclaw, or --cron system",
        "outdated": f"{SETUP} --cron as it was, or doctor.py --fix",
        "unknown": "start the gateway: openclaw gateway start",
    }.get(state, "")
    if state == "missing":
        says = "nothing is scheduled: no observer every 15 minutes, no night"
    return Finding("cron", kind, says, todo, {"scheduled": state})
