"""setup.py's work: the packages, then the folders and the parts asked for, or a trial run, a check, an uninstall."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import _cli
from _cli import Result, Run
from _config import PROVIDERS, Config, environment_dir, is_restarted, load_config
from _errors import ConfigError, MissingPackage, UsageError
from _files import read_bytes
from _setup import environment
from _setup.packages import Requirement, missing, parse_requirements

REQUIREMENTS = Path(__file__).resolve().parent.parent.parent / "requirements.txt"
SCHEDULERS = ("openclaw", "system", "print")


@dataclass
class Packages:
    """Where the packages are. `lacking`: what this Python has not; `environment`: whether ours is in order."""

    wanted: "list[Requirement]"
    lacking: "list[Requirement]"
    environment: bool = False
    made: bool = False

    @property
    def place(self) -> str:
        """ "this_python", "environment" or "missing"."""
        if not self.lacking and Path(sys.prefix) != environment_dir():
            return "this_python"
        return "environment" if self.environment else "missing"


@dataclass
class Setup:
    """One run. `real` is the configuration of the person's own workspace, while a trial runs with another."""

    packages: Packages = field(default_factory=lambda: Packages([], []))
    real: Optional[Config] = None
    trial: Optional[Path] = None

    def prepare(self, options: argparse.Namespace) -> "Mapping[str, str]":
        """Make sure of the packages before anything that needs them, such as reading `.env`; choose the workspace.

        When this Python lacks some, setup goes on in the environment's Python (by MissingPackage, as every layer does).
        """
        refuse_what_does_not_go_together(options)
        self.packages = look_for_packages()
        say = (lambda sentence: None) if options.quiet else _cli.say_aloud
        if self.packages.place == "missing" and options.dry_run:
            say(f"setup: packages missing; they would be installed into {environment_dir()}")
        elif self.packages.place == "missing" and not options.uninstall:
            self.packages.made = environment.make(environment_dir(), REQUIREMENTS, self.packages.wanted, say)
            self.packages.environment = True
        if self.packages.lacking and self.packages.environment and not is_restarted():
            raise MissingPackage(self.packages.lacking[0].name)
        return self.prepare_trial(options) if options.try_out and not options.dry_run else {}

    def prepare_trial(self, options: argparse.Namespace) -> "dict[str, str]":
        """Read the real configuration, then have everything written, the log too, to a new throw-away folder."""
        from _setup.trial import new_place

        given = (
            {"OPENCLAW_WORKSPACE": os.path.abspath(os.path.expanduser(options.workspace))}
            if options.workspace
            else {}
        )
        self.real = load_config(given, script=_cli.called_script("setup"))
        self.trial = new_place()
        options.workspace = str(self.trial)
        return {"MEMORY_DIR": str(self.trial / "memory")}

    def work(self, options: argparse.Namespace, run: Run) -> Result:
        """Check, try, uninstall or set up."""
        if options.try_out:
            from _setup.trial import look_only, try_out

            if self.trial is None or self.real is None:
                return look_only(run, self.packages.place)
            return try_out(run, self.real, self.trial, options.provider or "none", self.packages.place)
        if options.check:
            from _setup.check import check

            return check(run, self.packages.place != "missing", facts_of(run.config, self.packages))
        if options.uninstall:
            from _setup.uninstall import uninstall

            return uninstall(run)
        return set_up(run, self.packages, options)


def refuse_what_does_not_go_together(options: argparse.Namespace) -> None:
    """Raise UsageError for flags that argparse lets stand beside each other."""
    if options.provider and not options.try_out:
        raise UsageError("--provider goes with --try", "add --try, or set LLM_PROVIDER in .env")
    alone = options.try_out or options.check or options.uninstall
    if alone and (options.hook or options.watcher or options.cron):
        raise UsageError("--hook, --watcher and --cron do not go with --try, --check or --uninstall")


def look_for_packages() -> Packages:
    """What requirements.txt asks for, and which of it is there."""
    content = read_bytes(REQUIREMENTS)
    if content is None:
        raise ConfigError(f"{REQUIREMENTS} is missing", "reinstall the skill")
    wanted = parse_requirements(content.decode("utf-8", "replace"))
    lacking = missing(wanted)
    in_own = Path(sys.prefix) == environment_dir()
    in_order = bool(lacking or in_own) and environment.is_in_order(environment_dir(), content, wanted)
    return Packages(wanted, lacking, in_order)


# For good ------------------------------------------------------------------------------------------------------------


def set_up(run: Run, packages: Packages, options: argparse.Namespace) -> Result:
    """Make the memory where it is not there yet, then each part that was asked for."""
    from _setup import memory
    from _setup.parts import as_facts, do_parts, failure_of

    made = memory.make_memory(run)
    tell_made(run, packages, made)
    outcomes = do_parts(run, wanted_parts(options))
    done = [name for name, outcome in outcomes.items() if outcome.state in ("done", "unchanged")]
    steps = memory.left_to_do(
        run.config, [name for name in done if (name, options.cron) != ("cron", "print")]
    )
    if "hook" in outcomes and outcomes["hook"].facts.get("enabled", True) is None:
        steps.insert(0, hook_left_off())
    tell_left(run, steps)
    facts = {**facts_of(run.config, packages), "would_make" if run.dry_run else "made": made}
    facts.update(left_to_do=steps, cron_line=memory.cron_line(run.config), parts=as_facts(outcomes))
    problem = failure_of(outcomes)
    if problem:
        return _cli.failed(problem, facts)
    changed = made or packages.made or any(outcome.state == "done" for outcome in outcomes.values())
    return Result("ok", "dry_run" if run.dry_run else "set_up" if changed else "nothing_to_do", facts)


def wanted_parts(options: argparse.Namespace) -> "list[tuple[str, Any]]":
    """The parts by name, each with what installs it."""
    from _setup import hook, schedule, service

    parts: "list[tuple[str, Any]]" = []
    if options.hook:
        parts.append(("hook", hook.install))
    if options.watcher:
        parts.append(("watcher", service.install))
    if options.cron:
        parts.append(("cron", lambda run: schedule.install(run, options.cron)))
    return parts


def hook_left_off() -> str:
    """The step that is left where there was no `openclaw` to enable the hook."""
    from _setup import hook

    return f"enable the hook, where `openclaw` is in PATH: openclaw {' '.join(hook.ENABLE)}"


def tell_made(run: Run, packages: Packages, made: Sequence[str]) -> None:
    """Say what was made."""
    if packages.place != "missing":
        run.say(f"setup: packages in order, in {place_in_words(packages.place)}")
    for path in made:
        run.say(f"setup: {'would make' if run.dry_run else 'made'} {path}")
    if not made:
        run.say(f"setup: memory in order, in {run.config.memory_dir}")


def tell_left(run: Run, steps: Sequence[str]) -> None:
    """Say what is left to do."""
    if steps:
        run.say("setup: left to do:")
    for number, step in enumerate(steps, 1):
        run.say(f"  {number}. {step}")


def place_in_words(place: str) -> str:
    """For sentences: where the packages are."""
    return f"this Python ({sys.executable})" if place == "this_python" else str(environment_dir())


def facts_of(config: Config, packages: Packages) -> "dict[str, Any]":
    """Where everything is."""
    return {
        "python": ".".join(map(str, sys.version_info[:3])),
        "packages": packages.place,
        "environment": str(environment_dir()),
        "workspace": str(config.workspace),
        "memory_dir": str(config.memory_dir),
        "sessions_dir": str(config.sessions_dir),
        "provider": config.provider,
    }


# The command line ----------------------------------------------------------------------------------------------------


def build_parser(documentation: str) -> _cli.Parser:
    """The flags of setup.py."""
    parser = _cli.make_parser("setup", documentation)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--try", dest="try_out", action="store_true", help="observe into a throw-away folder")
    kind.add_argument("--check", action="store_true", help="report what is in order; change nothing")
    kind.add_argument("--uninstall", action="store_true", help="remove what setup installed, but for memory")
    parser.add_argument("--hook", action="store_true", help="install and enable the gateway hook")
    parser.add_argument("--watcher", action="store_true", help="run the watcher as a service of the user")
    parser.add_argument("--cron", choices=SCHEDULERS, help="schedule the jobs, or print the lines for that")
    parser.add_argument(
        "--provider", choices=PROVIDERS, help="with --try: who reads the conversation (default: none)"
    )
    return parser


def run(argv: Sequence[str], documentation: str) -> int:
    """Run setup; returns the exit code."""
    arguments = list(argv)
    if "--check" in arguments:
        arguments.append("--dry-run")  # so that no log is written either
    setup = Setup()
    return _cli.run("setup", build_parser(documentation), setup.work, arguments, setup.prepare)
