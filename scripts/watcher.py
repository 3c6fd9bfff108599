"""Layer 4: watch what is said, and start the observer when enough of it is new.

Runs until it is stopped (SIGTERM or Ctrl-C), one for each workspace and agent. Counts the lines that OpenClaw adds to
the transcripts of main sessions, in JSONL files and in the SQLite store; after OBSERVER_LINE_THRESHOLD of them it
starts the observer, unless one ran within OBSERVER_COOLDOWN_SECS, and then when that time is over. When a session ends
or is about to be compacted, what was said in it is taken in at once. SIGHUP makes it read the configuration again.

  watcher.py                 watch; inotify where there is one, else a look every 5 seconds
  watcher.py --poll 10       look every 10 seconds
  watcher.py --dry-run       say what would be watched
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from typing import Any, Optional

import _cli
from _cli import Result, Run
from _config import Config, load_config
from _counting import many
from _errors import BusyError, MissingPackage, UsageError
from _state import Places
from _watch import POLL_SECONDS, Tally, Voice, Ways, watch

LEAST_POLL_SECONDS, MOST_POLL_SECONDS = 0.1, 3600.0


def ways(options: argparse.Namespace, run: Run) -> Ways:
    """How to notice changes here."""
    if options.poll is not None:
        return Ways(None, options.poll)
    if not sys.platform.startswith("linux"):
        return Ways()
    try:
        import inotify_simple
    except ImportError:
        if _cli.can_restart():
            raise MissingPackage("inotify_simple") from None
        run.say(
            f"watcher: no inotify_simple here; looking every {POLL_SECONDS:g} s (python3 scripts/setup.py installs it)"
        )
        return Ways()
    return Ways(inotify_simple)


def look_only(run: Run, how: Ways) -> Result:
    """--dry-run: what would be watched, and how. Nothing is written."""
    from _transcripts import find_sessions

    config = run.config
    sessions = find_sessions(config).sessions
    markers = Places(config.observations_path, config.private_dir).markers
    places = {
        "sessions_dir": config.sessions_dir.is_dir(),
        "store_path": config.store_path.is_file(),
        "markers": markers.is_dir(),
    }
    of_people = sum(not session.machine for session in sessions)
    facts = {
        "sessions_dir": str(config.sessions_dir),
        "store_path": str(config.store_path),
        "markers": str(markers),
        "missing": [name for name, there in places.items() if not there],
        "sessions": of_people,
        "machine_sessions": sum(session.machine for session in sessions),
        "mode": "poll" if how.inotify is None else "inotify",
        "line_threshold": config.line_threshold,
        "cooldown_seconds": config.cooldown_seconds,
    }
    run.say(
        f"watcher: would watch {config.sessions_dir} and {config.store_path} ({facts['mode']}):"
        f" {many(of_people, 'session')} of people, and {facts['machine_sessions']} of machines"
    )
    return Result("ok", "dry_run", facts)


def work(options: argparse.Namespace, run: Run) -> Result:
    """Watch until a signal comes."""
    if options.poll is not None and not LEAST_POLL_SECONDS <= options.poll <= MOST_POLL_SECONDS:
        allowed = f"it takes seconds from {LEAST_POLL_SECONDS:g} to {MOST_POLL_SECONDS:g}"
        raise UsageError(f"--poll is {options.poll:g}", allowed)
    how = ways(options, run)
    if run.dry_run:
        return look_only(run, how)
    gc.set_threshold(700, 10, 10)  # this run is a long one
    voice, tally = Voice(run.say, run.config.logs_dir, run.config.agent_id), Tally()

    def read_config() -> Config:
        return load_config(variables(options), script=_cli.called_script("watcher"))

    try:
        watch(run.config, how, voice, tally, read_config)
    except BusyError as problem:
        run.say(f"watcher: {problem}")
        return Result("skipped", "locked", facts_of(tally, voice))
    return Result("ok", "stopped", facts_of(tally, voice))


def facts_of(tally: Tally, voice: Voice) -> "dict[str, Any]":
    """The counts."""
    return {
        "triggers": tally.started["observe"],
        "recoveries": tally.started["recovery"],
        "flushes": tally.started["flush"],
        "lines_counted": tally.lines,
        "errors": tally.failures + voice.errors,
        "mode": tally.mode,
    }


def variables(options: argparse.Namespace) -> "dict[str, str]":
    """The variables that flags set."""
    if not options.workspace:
        return {}
    return {"OPENCLAW_WORKSPACE": os.path.abspath(os.path.expanduser(options.workspace))}


def build_parser() -> _cli.Parser:
    """The flags of this layer."""
    parser = _cli.make_parser("watcher", __doc__ or "")
    parser.add_argument(
        "--poll", type=float, metavar="SECONDS", help="look every SECONDS instead of being told by the kernel"
    )
    return parser


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the watcher; returns the exit code."""
    return _cli.run("watcher", build_parser(), work, argv)


if __name__ == "__main__":
    sys.exit(main())
