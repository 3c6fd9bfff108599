"""OpenClaw's own cron: its gateway runs our jobs. Everything goes through `openclaw cron`, which needs the gateway."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from _cli import Run
from _errors import ConfigError
from _setup import host
from _setup.parts import Outcome, state_of

# What `openclaw cron add` of 2026.7.1 and 2026.9.6 takes, as far as we use it.
NEWEST = frozenset(
    "--agent --command --command-argv --command-env --cron --declaration-key --every --exact --json --light-context"
    " --message --name --no-deliver --session --timeout-seconds --tools".split()
)
# What setup lets run by the clock.
SCRIPTS = ("observer", "reflector", "dream_cycle")


@dataclass(frozen=True)
class Known:
    """By what a job of ours is known again: its name, its declaration key, the workspace that it runs for."""

    name: str
    key: str
    workspace: Path


@dataclass(frozen=True)
class Declared:
    """A job as OpenClaw is told of it. `former`: as what an earlier version of setup may have declared it."""

    known: Known
    former: Known
    agent: str
    schedule: "tuple[str, str]"
    words: "tuple[str, ...]"
    variables: Mapping[str, str]
    longest_seconds: int

    @property
    def name(self) -> str:
        """Its name in OpenClaw."""
        return self.known.name


def flags_known() -> "frozenset[str]":
    """The flags that the installed `openclaw cron add` lists."""
    ended = host.succeed("openclaw", "cron", "add", "--help")
    return frozenset(re.findall(r"(?<![\w-])--[a-z][a-z-]+", ended.out.decode("utf-8", "replace")))


def add_words(job: Declared, flags: "frozenset[str]") -> "list[str]":
    """The words behind `openclaw` that declare the job, with the flags that there are."""
    words = ["cron", "add", "--name", job.name, *job.schedule, "--agent", job.agent]
    # Without it 2026.9 calls the job changed when it is declared for the second time.
    words += ["--exact"] if job.schedule[0] == "--cron" and "--exact" in flags else []
    words += ["--declaration-key", job.known.key] if "--declaration-key" in flags else []
    if "--command-argv" in flags:
        words += ["--command-argv", json.dumps(list(job.words))]
        for name, value in sorted(job.variables.items()):
            words += ["--command-env", f"{name}={value}"]
    elif "--command" in flags:
        words += ["--command", with_variables(job)]
    else:
        words += ["--session", "isolated", "--message", turn_message(job)]
        words += ["--light-context"] if "--light-context" in flags else []
        words += ["--tools", "exec"] if "--tools" in flags else []
    words += ["--no-deliver"] if "--no-deliver" in flags else []
    return [*words, "--timeout-seconds", str(job.longest_seconds), "--json"]


def turn_message(job: Declared) -> str:
    """What the agent is asked to do, where OpenClaw cannot run a command by itself."""
    return f"Run this one command with the exec tool and then stop: {with_variables(job)}"


def with_variables(job: Declared) -> str:
    """The command for a shell."""
    set_before = [f"{name}={value}" for name, value in sorted(job.variables.items())]
    return shlex.join(["env", *set_before, *job.words] if set_before else list(job.words))


def as_line(job: Declared, flags: "frozenset[str]") -> str:
    """The same for a person to type."""
    return shlex.join(["openclaw", *add_words(job, flags)])


# Asking the gateway --------------------------------------------------------------------------------------------------


def ask(*words: str) -> "dict[str, Any]":
    """What `openclaw cron ...` answers. Raises ConfigError; one that names the way out when there is no gateway."""
    if host.find("openclaw") is None:
        raise ConfigError(
            "there is no program `openclaw` in PATH",
            "give the PATH that has it, or use: setup.py --cron system",
        )
    ended = host.run_program("openclaw", *words)
    if ended.code == 0:
        return host.json_in(ended)
    # 2026.9: "Gateway not reachable at ..."; 2026.7: "GatewayTransportError: gateway closed (1006 ...)"
    if re.search(
        r"gateway not reachable|ECONNREFUSED|GatewayTransportError|gateway closed", ended.text, re.IGNORECASE
    ):
        raise ConfigError(
            "OpenClaw's cron is run by its gateway, and that is not running",
            "start it: openclaw gateway start (the service) or openclaw gateway run; or use: setup.py --cron system",
        )
    raise ConfigError(
        f"`openclaw {' '.join(words[:2])}` failed: {ended.first_words}", "see: openclaw cron --help"
    )


def all_jobs() -> "list[dict[str, Any]]":
    """Every job of the gateway, the disabled ones too. Raises ConfigError when the answer is not the list of them."""
    found = ask("cron", "list", "--all", "--json").get("jobs")
    if not isinstance(found, list):
        raise ConfigError("`openclaw cron list` gave no list of jobs", "see: openclaw cron list --all --json")
    return [one for one in found if isinstance(one, dict)]


def is_ours(there: Mapping[str, Any], known: Known) -> bool:
    """True for a job that setup declared for this memory; where OpenClaw keeps no key, the name tells."""
    key = there.get("declarationKey")
    named = key == known.key if key else there.get("name") == known.name and is_our_command(there)
    return named and not is_for_another(there, known.workspace)


def is_our_command(there: Mapping[str, Any]) -> bool:
    """True for a job that runs one of our scripts as setup writes it, not as a person or another skill would."""
    words = words_of(there)
    scripts = [word for word in words if re.search(rf"/scripts/(?:{'|'.join(SCRIPTS)})\.py$", word)]
    return bool(scripts) and words[-3:-1] == ["--quiet", "--workspace"]


def is_for_another(there: Mapping[str, Any], workspace: Path) -> bool:
    """True for a job that runs for another workspace than this one."""
    found = workspace_of(there)
    return found is not None and os.path.realpath(found) != os.path.realpath(workspace)


def workspace_of(there: Mapping[str, Any]) -> "Optional[str]":
    """What stands behind --workspace at the end of a job's command or message; None when there is no such thing."""
    words = words_of(there)
    return words[-1] if words[-2:-1] == ["--workspace"] else None


def words_of(there: Mapping[str, Any]) -> "list[str]":
    """The words of a job's command, or of the command in its message, as far as they are ones for a shell."""
    payload = there.get("payload")
    payload = payload if isinstance(payload, Mapping) else {}
    argv = payload.get("argv")
    words = list(map(str, argv)) if isinstance(argv, list) and argv else [str(payload.get("message", ""))]
    if words[-2:-1] != ["--workspace"]:
        with suppress(ValueError):  # a person's words need not be ones for a shell
            words = shlex.split(words[-1])
    return words


def ours_there(every: "Sequence[Known]") -> "list[Known]":
    """Which of them the gateway has. Raises ConfigError when it cannot be asked."""
    there = all_jobs()
    return [known for known in every if any(is_ours(one, known) for one in there)]


# Installing and removing ---------------------------------------------------------------------------------------------


def install(run: Run, wanted: "Sequence[Declared]") -> Outcome:
    """Declare every job; those that are there in the same form stay."""
    there = all_jobs()
    flags = flags_known()
    states = {}
    for job in wanted:
        states[job.name] = declare(run, job, there, flags)
        run.say(f"setup: cron: {job.name}: {states[job.name]}")
        warn_of_doubles(run, job, there)
    changed = any(state != "in order" for state in states.values())
    by_command = bool({"--command-argv", "--command"} & flags)
    if not by_command:
        run.say("setup: cron: this OpenClaw runs no commands by itself: every run is a short turn of a model")
    return Outcome(state_of(run, changed), {"where": "openclaw", "jobs": states, "without_model": by_command})


def declare(run: Run, job: Declared, there: "Sequence[Mapping[str, Any]]", flags: "frozenset[str]") -> str:
    """Make OpenClaw have the job, once; what came of that, in words.

    A job under a former key, or of a time when this OpenClaw kept no keys, goes when the new one is there.
    """
    ours = [one for one in there if is_ours(one, job.known) or is_ours(one, job.former)]
    by_key = "--declaration-key" in flags
    if run.dry_run:
        return "would be declared anew" if ours else "would be added"
    if not by_key and len(ours) == 1 and says_the_same(ours[0], job):
        return "in order"
    told = ask(*add_words(job, flags))
    old = [one for one in ours if not by_key or one.get("declarationKey") != job.known.key]
    for one in old:
        ask("cron", "rm", str(one.get("id")), "--json")
    if by_key and not old:
        return "added" if told.get("created") else "changed" if told.get("updated") else "in order"
    return "changed" if ours else "added"


def says_the_same(there: Mapping[str, Any], job: Declared) -> bool:
    """True when a job of an OpenClaw without keys asks for this already."""
    payload, schedule = there.get("payload"), there.get("schedule")
    if not isinstance(payload, Mapping) or not isinstance(schedule, Mapping):
        return False
    times = (schedule.get("expr"), milliseconds_as_words(schedule.get("everyMs")))
    found = (there.get("name"), payload.get("message"), payload.get("timeoutSeconds"))
    return found == (job.name, turn_message(job), job.longest_seconds) and job.schedule[1] in times


def milliseconds_as_words(number: object) -> "Optional[str]":
    """900000 as "15m", 3600000 as "1h"."""
    if not isinstance(number, int):
        return None
    return f"{number // 3_600_000}h" if number % 3_600_000 == 0 else f"{number // 60_000}m"


def warn_of_doubles(run: Run, job: Declared, there: "Sequence[Mapping[str, Any]]") -> None:
    """Name a job of the same name that is not ours: both would run. And one that an earlier version declared for
    another workspace under the key that is this one's: it runs for this one now."""
    for one in there:
        if not is_for_another(one, job.known.workspace):
            if one.get("name") == job.name and not is_ours(one, job.known):
                run.say(
                    f"setup: cron: there is another job {job.name}; if it does the same: "
                    f"openclaw cron rm {one.get('id')}"
                )
        elif one.get("declarationKey") == job.known.key:
            workspace = shlex.quote(str(workspace_of(one)))
            run.say(
                f"setup: cron: {job.name} was for {workspace}; "
                f"that needs once more: setup.py --cron openclaw --workspace {workspace}"
            )


def uninstall(run: Run, every: "Sequence[Known]") -> Outcome:
    """Remove our jobs. Without `openclaw` nobody can tell whether there are any."""
    if host.find("openclaw") is None:
        names = ", ".join(dict.fromkeys(known.name for known in every))
        return Outcome(
            "unknown", {"hint": f"where `openclaw` is in PATH: setup.py --uninstall; the jobs: {names}"}
        )
    removed = []
    for one in all_jobs():
        if any(is_ours(one, known) for known in every):
            removed.append(str(one.get("name")))
            if not run.dry_run:
                ask("cron", "rm", str(one.get("id")), "--json")
    return Outcome(state_of(run, bool(removed)), {"jobs": removed})
