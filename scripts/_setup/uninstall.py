"""setup.py --uninstall: takes away what setup installed for this memory. Memory, logs and `.env` are never touched."""

from __future__ import annotations

import shlex

from _cli import Result, Run, failed
from _config import environment_dir
from _setup import crontab, hook, openclaw_cron, schedule, service
from _setup.parts import as_facts, do_parts, failure_of


def uninstall(run: Run) -> Result:
    """Remove each part; one that fails is told, and the others go on."""
    every = schedule.known_ever(run.config)
    outcomes = do_parts(
        run,
        (
            ("watcher", service.uninstall),
            ("crontab", crontab.uninstall),
            ("openclaw_cron", lambda run: openclaw_cron.uninstall(run, every)),
            ("hook", hook.uninstall),
        ),
    )
    for name, outcome in outcomes.items():
        said = {
            "done": "removed",
            "unchanged": "nothing there",
            "would_change": "would be removed",
            "unknown": f"could not look: there is no program `openclaw` in PATH ({outcome.facts.get('hint')})",
        }
        if outcome.state in said:
            run.say(f"setup: {name}: {said[outcome.state]}")
    facts = {
        "workspace": str(run.config.workspace),
        "memory_dir": str(run.config.memory_dir),
        "environment": str(environment_dir()),
        "parts": as_facts(outcomes),
    }
    run.say(f"setup: your memory stays in {run.config.memory_dir}, the logs in {run.config.logs_dir}")
    if environment_dir().exists():
        # Which other workspaces run in it is written down nowhere.
        remove = shlex.join(["rm", "-r", str(environment_dir().parent)])
        run.say(f"setup: the packages stay, since other workspaces may use them; when none does: {remove}")
    problem = failure_of(outcomes)
    if problem:
        return failed(problem, facts)
    if run.dry_run:
        return Result("ok", "dry_run", facts)
    if any(outcome.state == "unknown" for outcome in outcomes.values()):
        return Result("ok", "not_all_looked_at", facts)
    removed = any(outcome.state == "done" for outcome in outcomes.values())
    return Result("ok", "uninstalled" if removed else "nothing_to_do", facts)
