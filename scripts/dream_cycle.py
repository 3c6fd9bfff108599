"""The night: file work for the agent that runs it (prompts/dream-cycle-prompt.md), each step a command of its own.

FILE is relative to the workspace and lies in the one folder that its command is for; JSON is an argument, or piped
in. Each command can be repeated: what is done is not done twice. READ_ONLY_MODE=true reports and changes no memory.

  dream_cycle.py run           the whole night without an agent; or, step by step:
  dream_cycle.py preflight
  dream_cycle.py plan          what would leave, and why; `decay` lowers importance for age
  dream_cycle.py archive memory/archive/observations/2026-11-30.md '{"items": [...]}'
  dream_cycle.py chunk memory/archive/chunks/2026-11-30.md '{"id": "CHUNK-20261130-001", ...}'
  dream_cycle.py update-observations memory/.dream-backups/new-observations.txt
  dream_cycle.py write-log memory/dream-logs/2026-11-30.md '{"date": "2026-11-30", ...}'
  dream_cycle.py write-metrics research/dream-cycle-metrics/daily/2026-11-30.json '{"date": "2026-11-30", ...}'
  dream_cycle.py validate      does not hold: exit code 6; then
  dream_cycle.py rollback      puts back what preflight kept; a night of an earlier day only with --force
  dream_cycle.py restore ID    brings an archived observation back
  dream_cycle.py account       proves that nothing was lost
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Callable, Optional

import _cli
import _dream_files as files
import _night as night
from _cli import Commands, Result, Run
from _dream_files.kept import newest
from _forget import finish
from _night.progress import load_agenda
from _observations import observations_in, parse_log


@dataclass(frozen=True)
class Command:
    """A subcommand: what --help says of it, whether it takes a FILE and JSON, and what carries it out."""

    about: str
    work: "Callable[[files.Desk, argparse.Namespace], Result]"
    takes_file: bool = False
    takes_json: bool = False
    flags: "Callable[[argparse.ArgumentParser], object]" = lambda parser: None


def deadline_flag(parser: argparse.ArgumentParser) -> None:
    """How long a night may take."""
    parser.add_argument(
        "--deadline",
        metavar="SECONDS",
        type=float,
        default=night.DEADLINE_SECONDS,
        help="stop after so many seconds; the next run goes on (default: %(default)g)",
    )


def accept_flag(parser: argparse.ArgumentParser) -> None:
    """What is gone was deleted by a person."""
    parser.add_argument(
        "--accept", action="store_true", help="what is gone from the log was deleted on purpose"
    )


def force_flag(parser: argparse.ArgumentParser) -> None:
    """A night of another day as well."""
    parser.add_argument(
        "--force", action="store_true", help="undo the last night although it ended on an earlier day"
    )


def id_argument(parser: argparse.ArgumentParser) -> None:
    """Which observation."""
    parser.add_argument("id", metavar="ID", help="of an observation, or of a chunk: all that it was made of")


def goes_on(desk: files.Desk) -> bool:
    """Whether a run that was out of time has more to do in the night that is under way."""
    agenda, now = load_agenda(desk.places), newest(desk)
    live = {found.id for found in observations_in(parse_log(desk.log()))}
    return (
        agenda is not None
        and now is not None
        and agenda.run == now.name
        and any(going.id in live for going in agenda.going)
    )


COMMANDS = {
    "preflight": Command(
        "check memory, make missing folders, keep the old bytes of what the night may change",
        lambda desk, options: files.preflight(desk),
    ),
    "plan": Command(
        "what a night would do: a verdict on every observation, clusters, tokens now and after",
        lambda desk, options: night.show_plan(desk),
    ),
    "decay": Command(
        "lower importance for age, by type and day, up to today; twice a day is once",
        lambda desk, options: night.decay(desk),
    ),
    "archive": Command(
        "append observations to memory/archive/observations/YYYY-MM-DD.md",
        lambda desk, options: files.archive(desk, options.file, options.payload),
        takes_file=True,
        takes_json=True,
    ),
    "chunk": Command(
        "append findings that stand for three or more observations to memory/archive/chunks/YYYY-MM-DD.md",
        lambda desk, options: files.chunk(desk, options.file, options.payload),
        takes_file=True,
        takes_json=True,
    ),
    "update-observations": Command(
        "replace observations.md by a draft in memory/.dream-backups/ that accounts for every observation",
        lambda desk, options: files.update_observations(desk, options.file),
        takes_file=True,
    ),
    "write-log": Command(
        "add the night to memory/dream-logs/YYYY-MM-DD.md",
        lambda desk, options: files.write_log(desk, options.file, options.payload),
        takes_file=True,
        takes_json=True,
    ),
    "write-metrics": Command(
        "write research/dream-cycle-metrics/daily/YYYY-MM-DD.json",
        lambda desk, options: files.write_metrics(desk, options.file, options.payload),
        takes_file=True,
        takes_json=True,
    ),
    "write-staging": Command(
        "propose a line for AGENTS.md, MEMORY.md, TOOLS.md or favorites.md: memory/dream-staging/",
        lambda desk, options: files.write_staging(desk, options.file, options.payload),
        takes_file=True,
        takes_json=True,
    ),
    "validate": Command(
        "check the gates of the night; exit code 6 when one does not hold",
        lambda desk, options: files.validate(desk, goes_on(desk)),
    ),
    "rollback": Command(
        "put back exactly what preflight kept; lines that others added since stay",
        lambda desk, options: files.rollback(desk, options.force),
        flags=force_flag,
    ),
    "patterns": Command(
        "propose what comes back on three or more days of the last 60",
        lambda desk, options: files.patterns(desk),
    ),
    "run": Command(
        "the whole night without an agent; goes on where a run of today stopped",
        lambda desk, options: night.run_night(desk, options.deadline),
        flags=deadline_flag,
    ),
    "restore": Command(
        "bring an archived observation back into observations.md",
        lambda desk, options: night.restore(desk, options.id),
        flags=id_argument,
    ),
    "account": Command(
        "prove that every observation ever written is live, merged, archived, chunked or forgotten; exit code 6 if not",
        lambda desk, options: night.account(desk, options.accept),
        flags=accept_flag,
    ),
}


def build_parser() -> _cli.Parser:
    """The subcommands with their arguments."""
    parser = _cli.make_parser("dream_cycle", __doc__ or "")
    commands = Commands(parser)
    for name, command in COMMANDS.items():
        sub = commands.add(name, command.about)
        command.flags(sub)
        if command.takes_file:
            sub.add_argument("file", metavar="FILE", help="relative to the workspace")
        if command.takes_json:
            sub.add_argument(
                "payload", metavar="JSON", nargs="?", help="the payload; '-' or nothing: from stdin"
            )
    return parser


def work(options: argparse.Namespace, run: Run) -> Result:
    """Carry out one subcommand."""
    if not run.config.read_only:
        finish(run)
    result = COMMANDS[options.command].work(files.make_desk(run), options)
    run.say(f"dream_cycle {options.command}: {result.reason.replace('_', ' ')}")
    return Result(
        result.status,
        result.reason,
        {"command": options.command, **result.facts},
        result.exit_code,
        result.error,
    )


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run one command of the night; returns the exit code."""
    return _cli.run("dream_cycle", build_parser(), work, argv)


if __name__ == "__main__":
    sys.exit(main())
