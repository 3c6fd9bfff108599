"""What runs by the clock: the table of jobs, and the two that can run them, the system's cron and OpenClaw's.

Every job is a plain command. OpenClaw runs it without a model where it can (2026.7 and newer); before that an agent is
asked to run it.
"""

from __future__ import annotations

from dataclasses import dataclass

from _cli import Run
from _config import Config
from _errors import ConfigError
from _setup import crontab, host, openclaw_cron
from _setup.commands import SKILL, Command, layer_command, shell_line
from _setup.parts import Outcome


@dataclass(frozen=True)
class Job:
    """One thing to run. `cron` is its time for cron, `every` the same for OpenClaw, "" where only cron's form says it.

    With `prompt`, a file of the skill, it is a turn of an agent that follows it; the system's cron has no agent."""

    name: str
    key: str
    script: str
    arguments: "tuple[str, ...]"
    cron: str
    every: str
    longest_seconds: int
    prompt: str = ""


# The night keeps away from 03:00, when OpenClaw has dreams of its own.
JOBS = (
    Job(
        "memory-observer",
        "observer",
        "observer.py",
        ("--trigger", "cron", "--quiet"),
        "*/15 * * * *",
        "15m",
        900,
    ),
    Job("memory-reflector", "reflector", "reflector.py", ("--quiet",), "7 * * * *", "1h", 1800),
    Job(
        "memory-dream-cycle",
        "dream-cycle",
        "dream_cycle.py",
        (),
        "30 3 * * *",
        "",
        3600,
        "prompts/dream-cycle-prompt.md",
    ),
)


def jobs() -> "list[Job]":
    """The jobs whose scripts this skill has."""
    return [
        job
        for job in JOBS
        if (SKILL / "scripts" / job.script).is_file() and (not job.prompt or (SKILL / job.prompt).is_file())
    ]


def job_name(config: Config, job: Job) -> str:
    """The job's name in OpenClaw: with the agent's, unless that is "main"."""
    return job.name if config.agent_id == "main" else f"{job.name}-{config.agent_id}"


def declaration_key(config: Config, job: Job) -> str:
    """By what OpenClaw tells that it has this job already."""
    return f"total-recall/{config.agent_id}/{job.key}"


def command_of(config: Config, job: Job) -> Command:
    """How the job is run."""
    return layer_command(config, job.script, *job.arguments)


def install(run: Run, where: str) -> Outcome:
    """Schedule all jobs by "openclaw" or "system"; "print" only says what would be scheduled, in both forms."""
    if where == "system":
        return crontab.install(run, system_lines(run.config))
    wanted = [declared(run.config, job) for job in jobs()]
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
        f"{job.cron} {shell_line(command_of(config, job))} >/dev/null".replace("%", "\\%")
        for job in jobs()
        if not job.prompt
    ]


def declared(config: Config, job: Job) -> openclaw_cron.Declared:
    """The job for OpenClaw. The gateway has a HOME of its own, and a job may not change it."""
    command = command_of(config, job) if not job.prompt else Command((), {})
    message = ""
    if job.prompt:
        script, prompt = SKILL / "scripts" / job.script, SKILL / job.prompt
        message = f"Read {prompt} and follow it. Its helper is {script}; the workspace is {config.workspace}."
    return openclaw_cron.Declared(
        name=job_name(config, job),
        key=declaration_key(config, job),
        agent=config.agent_id,
        schedule=("--every", job.every) if job.every else ("--cron", job.cron),
        words=command.words,
        variables={name: value for name, value in command.variables.items() if name not in ("HOME", "PATH")},
        message=message,
        longest_seconds=job.longest_seconds,
    )


def names_of_all(config: Config) -> "list[tuple[str, str]]":
    """(name, declaration key) of every job that any version of setup may have made."""
    return [(job_name(config, job), declaration_key(config, job)) for job in JOBS]


# Looking ------------------------------------------------------------------------------------------------------------


def look(run: Run) -> "tuple[str, str]":
    """("openclaw", "system", "both", "outdated", "missing" or "unknown", a sentence)."""
    found = []
    block = crontab.block_lines(run.config) if host.find("crontab") else None
    if block is not None:
        found.append("system")
    by_openclaw, unknown = [], ""
    try:
        by_openclaw = openclaw_cron.ours_there(names_of_all(run.config)) if host.find("openclaw") else []
    except ConfigError as problem:
        unknown = str(problem)
    if by_openclaw:
        found.append("openclaw")
    if block is not None and block != system_lines(run.config):
        return "outdated", "the lines in the crontab are of another version (setup.py --cron system)"
    if len(found) == 2:
        return (
            "both",
            "in the crontab and in OpenClaw: one is enough (setup.py --uninstall, then --cron of your choice)",
        )
    if found:
        return found[0], "in the crontab" if found[
            0
        ] == "system" else f"in OpenClaw: {', '.join(by_openclaw)}"
    if unknown:
        return "unknown", f"not in the crontab; OpenClaw's own could not be asked: {unknown}"
    return "missing", "nothing is scheduled (setup.py --cron openclaw or system)"
