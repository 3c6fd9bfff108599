"""setup.py --try: the observer at work on real conversations, or on the sample, without leaving a trace in them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Optional

import _cli
from _cli import Result, Run
from _config import SECRET_VARIABLES, Config, environment_copy
from _counting import many
from _errors import ConfigError, TotalRecallError
from _files import decode, private_folder, read_bytes
from _observations import HIGH, LOW, MEDIUM, Observation, observations_in, parse_log

SCRIPTS = Path(__file__).resolve().parent.parent
SAMPLE = SCRIPTS.parent / "examples" / "sample-session.jsonl"
# How far back, in days, until something is found; None: everything. Years of talk would take long and say no more.
DAYS_BACK = (14, 90, None)
LONGEST_SECONDS = 180
STOPPING_SECONDS = 30
# A model costs money or a daily allowance; this is enough for about two days of talk.
CALLS_AT_MOST = 30
SHOWN_AT_MOST: Mapping[str, int] = {HIGH: 40, MEDIUM: 40, LOW: 20}
HEADINGS: Mapping[str, str] = {HIGH: "important", MEDIUM: "worth knowing", LOW: "in passing"}


@dataclass(frozen=True)
class Source:
    """Where the conversations come from. `days` back from now, None for all of them."""

    kind: str
    sessions_dir: Path
    days: Optional[int] = None

    @property
    def in_words(self) -> str:
        """For sentences."""
        if self.kind == "sample":
            return "the sample conversation that comes with the skill"
        past = f"the last {many(self.days, 'day')} of " if self.days else ""
        return f"{past}the OpenClaw sessions in {self.sessions_dir}"


def new_place() -> Path:
    """A new folder for the trial, readable by nobody else. It stays, so that the person can look at it."""
    try:
        return Path(tempfile.mkdtemp(prefix="total-recall-try-"))
    except OSError as problem:
        raise ConfigError(
            f"no throw-away folder can be made: {problem.strerror}",
            "set TMPDIR to a folder that you can write to",
        ) from problem


def look_only(run: Run, packages: str) -> Result:
    """--try --dry-run: which conversations would be read."""
    source = sources(run, run.config, None)[0]
    run.say(f"setup: would observe {source.in_words} into a throw-away folder; nothing was done")
    return Result("ok", "dry_run", {"packages": packages, "source": source.kind})


def try_out(run: Run, real: Config, place: Path, provider: str, packages: str) -> Result:
    """Observe the first source in which somebody said something, show what came of it, say what comes next."""
    provider = real.provider if provider == "auto" else provider
    if provider == "none":
        run.say(
            "setup: trying it out with the built-in extractor: no key is needed and nothing is sent anywhere"
        )
    else:
        run.say(f"setup: trying it out with --provider {provider}: what was said goes to that model")
    told: "dict[str, Any]" = {}
    source = Source("sample", place)
    for source in sources(run, real, place):
        run.say(f"setup: observing {source.in_words}")
        told = observe(run, source, real, place, provider)
        if told.get("status") == "error" or told.get("messages_covered"):
            break
    path = place / "memory" / "observations.md"
    found = observations_in(parse_log(decode(read_bytes(path) or b"")))
    facts = {
        "packages": packages,
        "source": source.kind,
        "sessions_dir": str(source.sessions_dir),
        "messages": int(told.get("messages_covered", 0)),
        "observations": len(found),
        "observations_path": str(path),
        "folder": str(place),
        "provider": provider,
    }
    if told.get("status") == "error" and not found:
        return _cli.failed(as_error(told), {**facts, "observer": told.get("reason", "")})
    show(run, source, found, facts)
    if told.get("status") == "error":
        run.say(f"setup: it stopped before the end: {as_error(told)}")
    return Result("ok", "tried", {**facts, "stopped": told.get("status") == "error"})


def as_error(told: Mapping[str, Any]) -> TotalRecallError:
    """The observer's error as one of ours, with its exit code."""
    error = told.get("error") or {}
    problem = TotalRecallError(
        f"the observer stopped: {error.get('message', 'it says no reason')}", error.get("hint", "")
    )
    problem.code = str(error.get("code", problem.code))
    problem.exit_code = told["exit_code"]
    return problem


# Where from ----------------------------------------------------------------------------------------------------------


def sources(run: Run, real: Config, place: Optional[Path]) -> "list[Source]":
    """What to try in turn: an OpenClaw found here, ever further back, then the sample."""
    from _transcripts import find_sessions

    wanted = []
    listing = find_sessions(real)
    if listing.sessions:
        wanted = [Source("openclaw", real.sessions_dir, days) for days in DAYS_BACK]
    elif listing.found_any:
        run.say(f"setup: the OpenClaw sessions in {real.sessions_dir} are empty")
    else:
        run.say(f"setup: no OpenClaw sessions in {real.sessions_dir}")
    return [*wanted, Source("sample", sample_sessions(place))]


def sample_sessions(place: Optional[Path]) -> Path:
    """The sample session as the only one of an agent, below the throw-away folder."""
    if not SAMPLE.is_file():
        raise ConfigError(f"{SAMPLE} is missing", "reinstall the skill")
    if place is None:
        return SAMPLE.parent
    folder = place / "agents" / "main" / "sessions"
    private_folder(folder)
    header = json.loads(SAMPLE.read_text(encoding="utf-8").split("\n", 1)[0])
    shutil.copyfile(SAMPLE, folder / f"{header['id']}.jsonl")
    return folder


# The observer --------------------------------------------------------------------------------------------------------


def observe(run: Run, source: Source, real: Config, place: Path, provider: str) -> "dict[str, Any]":
    """Run observer.py as a process and return its result object; one that takes too long is stopped in good order.

    Raises ConfigError when it printed no result, so that "it ran" is never assumed.
    """
    command = [sys.executable, str(SCRIPTS / "observer.py"), "--backfill", "--provider", provider]
    command += ["--now", run.now.isoformat()]
    if source.days:
        command += ["--since", f"{run.now - timedelta(days=source.days):%Y-%m-%d}"]
    if not run.on_terminal:
        command.append("--quiet")
    surroundings = environment_copy(variables(source, real, place, provider))
    process = subprocess.Popen(
        command,
        env=surroundings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if run.on_terminal else subprocess.DEVNULL,
    )
    try:
        output, _ = process.communicate(timeout=LONGEST_SECONDS)
    except subprocess.TimeoutExpired:
        run.say(
            f"setup: stopped after {LONGEST_SECONDS // 60} minutes; there is more, which a backfill would take in"
        )
        process.terminate()
        output, _ = process.communicate(timeout=STOPPING_SECONDS)
    finally:
        if process.poll() is None:
            process.kill()
    try:
        return {**json.loads(output), "exit_code": process.returncode}
    except ValueError as problem:
        raise ConfigError(
            f"observer.py printed no result (exit code {process.returncode})",
            f"run it by hand: {sys.executable} {SCRIPTS / 'observer.py'} --dry-run",
        ) from problem


def variables(source: Source, real: Config, place: Path, provider: str) -> "dict[str, str]":
    """The observer's variables: reads from the source, writes only into the throw-away folder.

    What else it needs of the real workspace's settings is handed on, because it does not read its `.env`.
    """
    wanted = {
        "OPENCLAW_WORKSPACE": str(place),
        "MEMORY_DIR": str(place / "memory"),
        "SESSIONS_DIR": str(source.sessions_dir),
        "REFLECTOR_WORD_THRESHOLD": "10000000",
        "READ_ONLY_MODE": "false",
    }
    zone = getattr(real.zone, "key", "")
    if zone and zone != "localtime":
        wanted["TZ"] = zone
    if provider == "none":
        # Not needed, so not handed on.
        return {**wanted, **dict.fromkeys(SECRET_VARIABLES, "")}
    chain = dict(zip(("OBSERVER_MODEL", "OBSERVER_FALLBACK_MODEL", "LLM_MODEL"), real.observer_models))
    return {
        **wanted,
        **chain,
        "LLM_API_KEY": real.api_key,
        # Named only where somebody has named it: an address is what makes "auto" ask a model.
        **({"LLM_BASE_URL": real.base_url} if real.origins["LLM_BASE_URL"] != "default" else {}),
        "LLM_DAILY_CALL_LIMIT": str(min(real.daily_call_limit, CALLS_AT_MOST)),
        "LLM_DAILY_TOKEN_LIMIT": str(real.daily_token_limit),
    }


# Showing -------------------------------------------------------------------------------------------------------------


def show(run: Run, source: Source, found: "Sequence[Observation]", facts: Mapping[str, Any]) -> None:
    """The observations by priority, for the person at the terminal, and what comes next."""
    for mark, heading in HEADINGS.items():
        group = [one for one in found if one.priority == mark]
        if group:
            run.say(f"\n{mark} {heading}")
        for one in group[: SHOWN_AT_MOST[mark]]:
            when = " ".join(part for part in (one.date, one.time) if part)
            run.say(f"   {when:<16}  {one.text}  ({one.type})")
        if len(group) > SHOWN_AT_MOST[mark]:
            run.say(f"   ... and {len(group) - SHOWN_AT_MOST[mark]} more in the file")
    run.say(
        f"\n{many(facts['messages'], 'message')} read, {many(len(found), 'observation')}, from {source.in_words}."
    )
    if found:
        run.say(f"They are in {facts['observations_path']}; your own memory was not touched.")
    run.say(f"To throw the trial away: rm -r {facts['folder']}")
    if SCRIPTS.parent.parent.name == "skills":
        run.say("To set up for good: python3 scripts/setup.py")
    else:
        run.say("To set up for good: put the skill into your workspace first (README.md, Install)")
