"""Layer 3: before a new session begins, see to it that what was said in the one before is in memory.

For /new, /reset, idle and daily resets; started by the watcher, by cron, by an agent or by hand. The cursors tell what
the observer has not covered yet: if there is anything, the observer is run for all of it, and writes provisional lines
before it asks its model. When the observer itself cannot run, the last resort notes what people said, word for word,
until an answer replaces it. Says how healthy memory is.

  session_recovery.py                      look at all sessions
  session_recovery.py --session SESSION    only this one: a file, its name, a session id or a session key
  session_recovery.py --dry-run            say what there would be to do
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Optional

import _cli
from _cli import Result, Run
from _compat import epoch_ms, from_epoch_ms, stamp
from _errors import ConfigError, MissingPackage, SourceError, StorageError, TotalRecallError, UsageError
from _files import private_folder, read_bytes
from _markers import Marker, clear, read_markers, take
from _state import Places, State, load_calls, load_state
from _transcripts import find_sessions

# As observer.py --recover looks back where there is no cursor yet; the heavy module that says so is not loaded for it.
LOOKBACK_MINUTES = 240
# A chain of slow free models over a few pieces. What is left then is in memory provisionally.
OBSERVER_TIMEOUT_SECONDS = 600.0
EVERY_SESSION = "all"


class Seen(NamedTuple):
    """What there is to do: `sessions` with something new, `doubt` when looking alone cannot tell."""

    state: State
    sessions: int = 0
    doubt: bool = False


class Task(NamedTuple):
    """What was asked for: `session` is "" for all of them, `now` the text of --now."""

    trigger: str
    session: str = ""
    now: str = ""


def recover(run: Run, task: Task) -> Result:
    """Look; if something is pending run the observer, and if that fails note what was said; then settle the markers."""
    places = Places(run.config.observations_path, run.config.private_dir)
    marked = markers_of(places, task)
    seen = look(run, places)
    facts: "dict[str, Any]" = {"trigger": task.trigger, "sessions": seen.sessions, "markers": len(marked)}
    if run.dry_run:
        run.say(f"session recovery: {seen.sessions} sessions hold something new; nothing was done")
        return Result("ok", "dry_run", {**facts, **health(run, places, seen.state)})
    if not (seen.sessions or seen.doubt or task.session):
        settle(run, marked)
        facts = {**facts, "messages_covered": 0, "messages_pending": 0, **health(run, places, seen.state)}
        run.say(f"session recovery: all that was said is in memory; {in_words(facts)}")
        return Result("ok", "nothing_new", facts)
    return recover_now(run, places, task, taken(marked), facts)


def recover_now(
    run: Run, places: Places, task: Task, marked: "Sequence[Marker]", facts: "dict[str, Any]"
) -> Result:
    """The observer, or what has to do in its place."""
    told, problem = observe(run, task)
    raw, failure = 0, None
    if problem is not None:
        run.say(f"session recovery: the observer failed: {problem}")
        try:
            raw = note_as_said(run, places, task)
        except MissingPackage:
            raise  # the run begins anew where the package is
        except TotalRecallError as worse:
            failure = worse
    facts = {
        **facts,
        "messages_covered": told.get("messages_covered", 0),
        "messages_pending": told.get("messages_pending"),  # null: nobody could count
        "provisional": told.get("provisional", 0),
        "raw": raw,
        "observer": problem.code if problem else "ok",
        **health(run, places, load_state(places)),
    }
    if failure is not None:
        run.say(f"session recovery: not all that was said is in memory; {in_words(facts)}")
        return _cli.failed(failure, facts)
    settle(run, marked)
    covered, written = facts["messages_covered"], facts["provisional"] + raw
    run.say(
        f"session recovery: {covered} messages covered, {written} provisional observations; {in_words(facts)}"
    )
    how = "captured_raw" if raw else "captured" if problem else "recovered" if covered else "nothing_new"
    return Result("ok", how, facts)


# Looking -------------------------------------------------------------------------------------------------------------


def look(run: Run, places: Places) -> Seen:
    """Compare every transcript with its cursor. Reads nothing of what was said, and takes no lock."""
    state = load_state(places)
    since = epoch_ms(run.now) - LOOKBACK_MINUTES * 60_000
    try:
        listing = find_sessions(run.config, state.cursors, min(state.since_ms or since, since))
    except SourceError:
        return Seen(state, doubt=True)  # the observer says what is wrong, and counts it
    store_gone = str(run.config.store_path) not in listing.sources and any(
        key.startswith("sqlite:") for key in state.cursors
    )
    out_of_reach = any(problem.waits for problem in listing.problems)
    cut_short = stamp(places.journal) is not None
    people = sum(1 for session in listing.sessions if not session.machine)
    return Seen(state, people, store_gone or out_of_reach or cut_short or not listing.found_any)


def markers_of(places: Places, task: Task) -> "list[Marker]":
    """The markers that this run can settle: all, or those that name its session."""
    try:
        marked = read_markers(places.markers)
    except StorageError:
        return []
    wanted = task.session
    return [one for one in marked if wanted in ("", one.session_id, one.session_key, one.session_file)]


def taken(marked: "Sequence[Marker]") -> "list[Marker]":
    """Say that they are worked on, as far as that can be written down: the gateway hook waits for it."""
    found = []
    for marker in marked:
        now: Optional[Marker] = marker
        with suppress(StorageError):
            now = take(marker)
        found += [now] if now else []
    return found


# Recovering ----------------------------------------------------------------------------------------------------------


def observe(run: Run, task: Task) -> "tuple[dict[str, Any], Optional[TotalRecallError]]":
    """Run the observer urgently: what it told, and the error when it did not end well."""
    arguments = ["--recover", task.session or EVERY_SESSION, "--workspace", str(run.config.workspace)]
    arguments += ["--now", task.now] if task.now else []
    try:
        told = _cli.start_layer("observer.py", arguments, OBSERVER_TIMEOUT_SECONDS)
    except ConfigError as problem:
        return {}, problem
    error = told.get("error")
    if not isinstance(error, dict):
        return told, None
    failed = TotalRecallError(str(error.get("message")), str(error.get("hint", "")))
    failed.code = str(error.get("code"))
    return told, failed


def note_as_said(run: Run, places: Places, task: Task) -> int:
    """The last resort: what people said that is neither covered nor captured, masked and shortened, as provisional
    lines. The cursors stay. Returns the number of lines; raises when something could not be read or written."""
    from _answer import as_said
    from _settle import Job, Work, capture, look_around, waiting

    private_folder(places.private)
    work = Work(run.config, run.now, run.clock, Job("recovery", task.session), places)
    listing = look_around(work)
    problem = waiting([*work.problems, *capture(work, listing.sessions, as_said)])
    if problem is not None:
        raise problem
    return len(work.captured)


def settle(run: Run, marked: "Sequence[Marker]") -> None:
    """Away with the markers. One that cannot be removed costs the next run another look."""
    try:
        clear(marked)
    except StorageError as problem:
        run.say(f"session recovery: {problem}")


# Health --------------------------------------------------------------------------------------------------------------


def health(run: Run, places: Places, state: State) -> "dict[str, Any]":
    """How the observer has been doing. `budget` is what was asked of models today."""
    calls = load_calls(places)
    today = f"{run.now.astimezone(run.config.zone):%Y-%m-%d}"
    spent = calls if isinstance(calls, dict) and calls.get("day") == today else {}
    return {
        "last_good_run": last_good_run(places, state),
        "failures_in_row": state.failures_in_row,
        "last_failure": state.last_failure,
        "provisional_waiting": len(state.provisional),
        "budget": {
            "calls": spent.get("calls", 0),
            "calls_limit": run.config.daily_call_limit,
            "tokens": spent.get("tokens", 0),
            "tokens_limit": run.config.daily_token_limit,
        },
    }


def last_good_run(places: Places, state: State) -> str:
    """When the observer last ended well, UTC ("2026-11-30T14:05:00Z"); "" for never."""
    data = read_bytes(places.observations.parent / ".observer-last-run") or b""
    data = data.strip()[:20]
    moment = from_epoch_ms(int(data) * 1000) if data.isdigit() else None
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}" if moment else state.last_good_run


def in_words(facts: "dict[str, Any]") -> str:
    """The health for a person."""
    good = f"the observer's last good run was at {facts['last_good_run']}"
    told = good if facts["last_good_run"] else "the observer has not had a good run yet"
    if facts["failures_in_row"]:
        told += f", and it has failed {facts['failures_in_row']} times in a row ({facts['last_failure']})"
    return told


# The command line ----------------------------------------------------------------------------------------------------


def build_parser() -> _cli.Parser:
    """The flags of this layer."""
    parser = _cli.make_parser("session_recovery", __doc__ or "")
    parser.add_argument("--session", metavar="SESSION", help="look at this session only")
    parser.add_argument(
        "--trigger",
        choices=("manual", "cron", "watcher"),
        default="manual",
        help="who started this run, for the log",
    )
    return parser


def work(options: argparse.Namespace, run: Run) -> Result:
    """Turn flags into a Task and carry it out."""
    if options.session is not None and not options.session.strip():
        raise UsageError(
            "--session is empty", "name a transcript file, a session id or a session key, or leave it out"
        )
    return recover(run, Task(options.trigger, options.session or "", options.now or ""))


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run session recovery; returns the exit code."""
    return _cli.run("session_recovery", build_parser(), work, argv)


if __name__ == "__main__":
    sys.exit(main())
