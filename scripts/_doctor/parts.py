"""Checks of what makes it run by itself: the gateway hook, the watcher, cron. How setup.py sees them, and what else can
be told without asking anybody."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from _compat import parse_instant
from _doctor.finding import FAIL, OK, UNKNOWN, WARN, Finding
from _doctor.scene import Scene
from _files import decode, read_bytes
from _setup import hook, host, schedule, service

# So many characters of the observer's log are looked through: a day's runs and more.
LOG_END = 65_536


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
    todo = "" if state == "installed" else scene.command("setup.py", "--hook")
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
    todo = scene.command("setup.py", "--watcher")
    if state == "missing":
        if runs:
            return Finding(
                "watcher", OK, "at work, started by hand or by another service manager", facts=facts
            )
        says = "not installed: busy conversations are observed only when cron's turn comes"
        return Finding("watcher", WARN, says, todo, facts)
    if state == "outdated":
        return Finding("watcher", WARN, says, todo, facts)
    if state == "stopped":
        if runs:
            return Finding("watcher", WARN, "at work, but not as the service", todo, facts)
        return Finding("watcher", FAIL, says, todo, facts)
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
        "both": f"{scene.command('setup.py', '--uninstall')}  # then --cron of your choice",
        "missing": f"{scene.command('setup.py', '--cron', 'openclaw')}  # or: --cron system",
        "outdated": scene.command("doctor.py", "--fix"),
        "unknown": "openclaw gateway start"
        if host.find("openclaw")
        else "look again where `openclaw` is in PATH",
    }.get(state, "")
    if state == "missing":
        says = "nothing is scheduled: no observer every 15 minutes, no night"
    return Finding("cron", kind, says, todo, {"scheduled": state})


def judged_together(scene: Scene, findings: "Sequence[Finding]") -> "list[Finding]":
    """The findings; that nothing runs by the clock is a fault where no watcher runs either."""
    facts = {one.name: one.facts for one in findings}
    nothing = facts.get("cron", {}).get("scheduled") == "missing"
    watched = facts.get("watcher", {})
    unwatched = watched.get("service") in ("missing", "stopped") and not watched.get("at_work")
    if not (scene.is_begun and nothing and unwatched) or is_run_by_others(scene):
        return list(findings)
    says = "nothing is scheduled and no watcher runs: what is said from now on is not observed"
    return [one._replace(state=FAIL, says=says) if one.name == "cron" else one for one in findings]


def is_run_by_others(scene: Scene) -> bool:
    """Whether some other scheduler has run the observer within the last hour, by its log: it need not be one that setup
    knows."""
    log = decode(read_bytes(scene.config.logs_dir / "observer.log") or b"")[-LOG_END:]
    began = scene.run.now - timedelta(hours=1)
    moments = (
        parse_instant(line.partition(" ")[0], scene.config.zone)
        for line in log.splitlines()
        if '"trigger":"cron"' in line or '"trigger":"watcher"' in line
    )
    return any(moment is not None and moment >= began for moment in moments)
