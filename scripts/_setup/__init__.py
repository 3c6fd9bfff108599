"""setup.py's work: the packages, then the folders, or a trial run; and what is left to do."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import _cli
from _cli import Result, Run
from _config import PROVIDERS, Config, environment_dir, is_restarted, load_config
from _errors import ConfigError, MissingPackage, UsageError
from _files import lock, private_folder, read_bytes, replace_file
from _observations import HEAD
from _setup import environment
from _setup.packages import Requirement, missing, parse_requirements

SKILL = Path(__file__).resolve().parent.parent.parent
REQUIREMENTS = SKILL / "requirements.txt"
MEMORY_LOCK_WAIT_SECONDS = 30.0
LOOKED_FOR = ("the packages", "the memory folder", "observations.md")


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
        if options.provider and not options.try_out:
            raise UsageError("--provider goes with --try", "add --try, or set LLM_PROVIDER in .env")
        self.packages = look_for_packages()
        say = (lambda sentence: None) if options.quiet else _cli.say_aloud
        if self.packages.place == "missing" and options.dry_run:
            say(f"setup: packages missing; they would be installed into {environment_dir()}")
        elif self.packages.place == "missing":
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
        """Check, try or set up."""
        if options.try_out:
            from _setup.trial import look_only, try_out

            if self.trial is None or self.real is None:
                return look_only(run, self.packages.place)
            return try_out(run, self.real, self.trial, options.provider or "none", self.packages.place)
        if options.check:
            return check(run, self.packages)
        return set_up(run, self.packages)


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


def set_up(run: Run, packages: Packages) -> Result:
    """Make what is not there yet; nothing that is there is touched."""
    lacking = [folder for folder in folders(run.config) if not folder.is_dir()]
    made = [str(folder) for folder in lacking]
    first_log = read_bytes(run.config.observations_path) is None
    if first_log:
        made.append(str(run.config.observations_path))
    if not run.dry_run:
        for folder in lacking:
            private_folder(folder)
        if first_log:
            begin_log(run.config)
    tell(run, packages, made)
    facts = {**facts_of(run.config, packages), "would_make" if run.dry_run else "made": made}
    facts.update(left_to_do=left_to_do(run.config), cron_line=cron_line(run.config))
    reason = "dry_run" if run.dry_run else "set_up" if made or packages.made else "nothing_to_do"
    return Result("ok", reason, facts)


def folders(config: Config) -> "list[Path]":
    """The folders that the layers write to."""
    archive = config.memory_dir / "archive"
    archives = [archive / name for name in ("observations", "chunks", "reflections")]
    return [config.memory_dir, config.private_dir, *archives, config.logs_dir]


def begin_log(config: Config) -> None:
    """Write the first observations.md, unless an observer has begun one meanwhile."""
    with lock(config.private_dir / "memory.lock", MEMORY_LOCK_WAIT_SECONDS):
        if read_bytes(config.observations_path) is None:
            replace_file(config.observations_path, HEAD.encode("utf-8"))


def tell(run: Run, packages: Packages, made: Sequence[str]) -> None:
    """Say what was done and what is left to do."""
    if packages.place != "missing":
        run.say(f"setup: packages in order, in {place_in_words(packages.place)}")
    for path in made:
        run.say(f"setup: {'would make' if run.dry_run else 'made'} {path}")
    if not made:
        run.say(f"setup: memory in order, in {run.config.memory_dir}")
    run.say("setup: left to do:")
    for number, step in enumerate(left_to_do(run.config), 1):
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


def left_to_do(config: Config) -> "list[str]":
    """What only the person can do, a sentence each."""
    steps = []
    if not config.sessions_dir.is_dir() and not config.store_path.exists():
        steps.append(
            f"no sessions of OpenClaw in {config.sessions_dir} yet: talk to the agent once, or set SESSIONS_DIR "
            f"or OPENCLAW_AGENT_ID in {config.workspace / '.env'}"
        )
    steps.append(
        "have cron run the observer every 15 minutes: crontab -e, then add the line\n"
        f"     {cron_line(config)}"
    )
    kept_out = [
        name
        for name, origin in sorted(config.origins.items())
        if origin == "environment"
        and name not in ("OPENCLAW_WORKSPACE", "OPENCLAW_STATE_DIR", "OPENCLAW_HOME")
    ]
    if kept_out:
        steps.append(
            f"cron does not see this shell's variables: write {', '.join(kept_out)} into {config.workspace / '.env'}"
        )
    if config.provider == "none":
        steps.append(
            "nothing has to be done about a model: without a key the built-in extractor picks the observations; "
            f"for a model put OPENROUTER_API_KEY, or LLM_BASE_URL and LLM_MODEL, into {config.workspace / '.env'}"
        )
    return steps


def cron_line(config: Config) -> str:
    """The line for crontab, where % has a meaning of its own."""
    command = [sys.executable, str(SKILL / "scripts" / "observer.py"), "--trigger", "cron", "--quiet"]
    # A skill that is a link knows its workspace only by the path it is called by, which cron does not use.
    command += ["--workspace", str(config.workspace)]
    if (
        config.origins["OPENCLAW_STATE_DIR"] == "environment"
        or config.origins["OPENCLAW_HOME"] == "environment"
    ):
        command.insert(0, f"OPENCLAW_STATE_DIR={config.state_dir}")
    return "*/15 * * * * " + " ".join(map(_quoted, command)).replace("%", "\\%") + " >/dev/null"


def _quoted(word: str) -> str:
    """A word for the shell; an assignment keeps its name bare."""
    name, equals, value = word.partition("=")
    return f"{name}={shlex.quote(value)}" if equals and name.isidentifier() else shlex.quote(word)


# Looking only --------------------------------------------------------------------------------------------------------


def who_reads(config: Config) -> str:
    """The provider in words, with what the person should know of it."""
    if config.provider == "none":
        return "the built-in extractor (nothing leaves this machine)"
    if config.provider == "openclaw":
        return "OpenClaw's own model (openclaw infer model run)"
    key = "with a key" if config.api_key else "without a key"
    return f"{config.observer_models[0]} at {config.base_url}, {key}"


def check(run: Run, packages: Packages) -> Result:
    """Say what is in order and what is missing; exit code 3 unless everything needed is there."""
    from _transcripts import find_sessions

    config = run.config
    writable = os.access(config.memory_dir, os.W_OK) and os.access(config.private_dir, os.W_OK)
    in_order = (packages.place != "missing", writable, os.access(config.observations_path, os.R_OK | os.W_OK))
    for name, found in zip(LOOKED_FOR, in_order):
        run.say(f"setup: {name}: {'in order' if found else 'missing or out of reach'}")
    transcripts = find_sessions(config).found_any
    run.say(f"setup: sessions of OpenClaw in {config.sessions_dir}: {'found' if transcripts else 'none yet'}")
    run.say(f"setup: who reads the conversations: {who_reads(config)}")
    lacking = [name for name, found in zip(LOOKED_FOR, in_order) if not found]
    facts = {**facts_of(config, packages), "missing": lacking, "transcripts": transcripts}
    if lacking:
        what = f"not set up: {', '.join(lacking)} missing or not writable"
        return _cli.failed(ConfigError(what, "run: python3 scripts/setup.py"), facts)
    return Result("ok", "in_order", facts)


# The command line ----------------------------------------------------------------------------------------------------


def build_parser(documentation: str) -> _cli.Parser:
    """The flags of setup.py."""
    parser = _cli.make_parser("setup", documentation)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--try", dest="try_out", action="store_true", help="observe into a throw-away folder")
    kind.add_argument("--check", action="store_true", help="report what is in order; change nothing")
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
