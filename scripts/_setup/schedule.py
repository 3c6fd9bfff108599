"""What runs by the clock: the table of jobs, and the two that can run them, the system's cron and OpenClaw's.

Every job is a plain command. OpenClaw runs it without a model where it can (2026.7 and newer); before that an agent is
asked to run it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from _cli import Run
from _config import Config
from _errors import ConfigError
from _setup import crontab, host, openclaw_cron
from _setup.commands import Command, fingerprint, layer_command, shell_line, suffix
from _setup.parts import Outcome


@dataclass(frozen=True)
class Job:
    """One thing to run. `cron` is its time for cron, `every` the same for OpenClaw, "" where only `cron` can say it."""

    name: str
    key: str
    script: str
    arguments: "tuple[str, ...]"
    cron: str
    every: str
    longest_seconds: int


# An observer's ten minutes, and the quarter of an hour that it gives the reflector when memory has grown too long.
OBSERVER_SECONDS = 1800
# The night keeps away from 03:00, when OpenClaw has dreams of its own.
JOBS = (
    Job(
        "memory-observer",
        "observer",
        "observer.py",
        ("--trigger", "cron", "--quiet"),
        "*/15 * * * *",
        "15m",
        OBSERVER_SECONDS,
    ),
    Job("memory-reflector", "reflector", "reflector.py", ("--quiet",), "7 * * * *", "1h", 1800),
    Job("memory-dream-cycle", "dream-cycle", "dream_cycle.py", ("run", "--quiet"), "30 3 * * *", "", 3600),
    Job(
        "memory-dream-patterns",
        "dream-patterns",
        "dream_cycle.py",
        ("patterns", "--quiet"),
        "10 4 * * 0",
        "",
        900,
    ),
)


def known_as(config: Config, job: Job) -> openclaw_cron.Known:
    """The job's name and key in OpenClaw: plain ones for the usual memory, else with its agent and workspace."""
    other = suffix(config)
    key = f"total-recall/{config.agent_id}/{fingerprint(config) + '/' if other else ''}{job.key}"
    return openclaw_cron.Known(f"{job.name}{other}", key, config.workspace)


def formerly_known_as(config: Config, job: Job) -> openclaw_cron.Known:
    """The same as setup had it before it told workspaces apart."""
    name = job.name if config.agent_id == "main" else f"{job.name}-{config.agent_id}"
    return openclaw_cron.Known(name, f"total-recall/{config.agent_id}/{job.key}", config.workspace)


def known_ever(config: Config) -> "list[openclaw_cron.Known]":
    """As what any version of setup may have declared the jobs."""
    return [named(config, job) for job in JOBS for named in (known_as, formerly_known_as)]


def command_of(config: Config, job: Job) -> Command:
    """How the job is run."""
    return layer_command(config, job.script, *job.arguments)


def install(run: Run, where: str) -> Outcome:
    """Schedule all jobs by "openclaw" or "system"; "print" only says what would be scheduled, in both forms."""
    if where == "system":
        return crontab.install(run, system_lines(run.config))
    wanted = [declared(run.config, job) for job in JOBS]
    if where == "openclaw":
        return openclaw_cron.install(run, wanted)
    run.say("setup: cron: for the system's cron (crontab -e):")
    for line in system_lines(run.config):
        run.say(f"  {line}")
    run.say("setup: cron: or for OpenClaw's, while its gateway runs:")
    flags = openclaw_cron.NEWEST
    for one in wanted:
        run.say(f"  {openclaw_cron.as_line(one, flags)}")
    return Outcome("unchanged", {"lines": system_lines(run.config)})


def system_lines(config: Config) -> "list[str]":
    """The lines for crontab, in which % ends the command unless it is escaped. The result object is for programs."""
    return [
        f"{job.cron} {shell_line(command_of(config, job))} >/dev/null".replace("%", "\\%") for job in JOBS
    ]


def declared(config: Config, job: Job) -> openclaw_cron.Declared:
    """The job for OpenClaw. The gateway has a HOME of its own, and a job may not change it."""
    command = command_of(config, job)
    return openclaw_cron.Declared(
        known=known_as(config, job),
        former=formerly_known_as(config, job),
        agent=config.agent_id,
        schedule=("--every", job.every) if job.every else ("--cron", job.cron),
        words=command.words,
        variables={name: value for name, value in command.variables.items() if name not in ("HOME", "PATH")},
        longest_seconds=job.longest_seconds,
    )


# Looking ------------------------------------------------------------------------------------------------------------


def look(run: Run) -> "tuple[str, str]":
    """("openclaw", "system", "both", "outdated", "missing" or "unknown", a sentence)."""
    block = crontab.block_lines(run.config) if host.find("crontab") else None
    declared_there, unknown = [], ""
    try:
        declared_there = openclaw_cron.ours_there(known_ever(run.config))
    except ConfigError as problem:
        unknown = str(problem)
    if block is not None and block != system_lines(run.config):
        return "outdated", "the lines in the crontab are of another version (setup.py --cron system)"
    if block is not None and declared_there:
        return (
            "both",
            "in the crontab and in OpenClaw: one is enough (setup.py --uninstall, then --cron of your choice)",
        )
    if block is not None:
        return "system", "in the crontab"
    if declared_there:
        return look_at_declared(run.config, declared_there)
    if unknown:
        return "unknown", f"not in the crontab; OpenClaw's own could not be asked: {unknown}"
    return "missing", "nothing is scheduled (setup.py --cron openclaw or system)"


def look_at_declared(config: Config, there: "Sequence[openclaw_cron.Known]") -> "tuple[str, str]":
    """As `look`, for the jobs that OpenClaw has; an earlier version has declared fewer, or by other keys."""
    lacking = [one.name for one in (known_as(config, job) for job in JOBS) if one not in there]
    if lacking:
        return "outdated", f"in OpenClaw, but without {', '.join(lacking)} (setup.py --cron openclaw)"
    return "openclaw", f"in OpenClaw: {', '.join(dict.fromkeys(one.name for one in there))}"
