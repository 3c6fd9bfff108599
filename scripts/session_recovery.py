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
from _compat import epoch_ms, stamp
from _config import RECOVER_LOOKBACK_MIN
from _counting import many
from _errors import ConfigError, MissingPackage, SourceError, StorageError, TotalRecallError, UsageError
from _files import private_folder
from _markers import Marker, clear, read_markers, take
from _state import Places, State, last_good_run, load_calls, load_state
from _transcripts import EVERY_SESSION, find_sessions, gone_store, no_transcripts, waiting

# A chain of slow free models over a few pieces. What is left then is in memory provisionally.
OBSERVER_TIMEOUT_SECONDS = 600.0
NEEDED_IN_ITS_PLACE = ("filelock", "zstandard")


class Seen(NamedTuple):
    """What there is to do: `sessions` with something new, None when they could not be counted. `problem`: what could
    not be looked at. `cut_short`: a run that ended too early left something to be finished."""

    state: State
    sessions: Optional[int] = 0
    problem: Optional[TotalRecallError] = None
    cut_short: bool = False


class Marked(NamedTuple):
    """The markers that this run can settle; `problem`: why they could not be listed."""

    markers: "list[Marker]"
    problem: Optional[StorageError] = None


class Task(NamedTuple):
    """What was asked for: `session` is "" for all of them, `now` the text of --now."""

    trigger: str
    session: str = ""
    now: str = ""


def recover(run: Run, task: Task) -> Result:
    """Look; if something is pending run the observer, and if that fails note what was said; then settle the markers."""
    places = Places(run.config.observations_path, run.config.private_dir)
    if task.session:
        from _transcripts import resolve

        resolve(run.config, task.session)  # a name mistyped says nothing about memory
    marked = markers_of(run, places, task)
    seen = look(run, places)
    number = None if marked.problem else len(marked.markers)
    facts: "dict[str, Any]" = {"trigger": task.trigger, "sessions": seen.sessions, "markers": number}
    if run.dry_run:
        facts.update(health(run, places, seen.state))
        run.say(f"session_recovery: {to_do(seen)}; nothing was done; {in_words(facts)}")
        return ended("dry_run", facts, seen.problem or marked.problem)
    if not (seen.sessions or seen.problem or seen.cut_short or task.session):
        settle(run, marked.markers)
        facts = {**facts, "messages_covered": 0, "messages_pending": 0, **health(run, places, seen.state)}
        run.say(f"session_recovery: all that was said is in memory; {in_words(facts)}")
        return ended("nothing_new", facts, marked.problem)
    return recover_now(run, places, task, seen, marked, facts)


def ended(how: str, facts: "dict[str, Any]", problem: Optional[TotalRecallError]) -> Result:
    """The result of a run that went well as far as it could look."""
    return _cli.failed(problem, facts) if problem else Result("ok", how, facts)


def recover_now(
    run: Run, places: Places, task: Task, seen: Seen, marked: Marked, facts: "dict[str, Any]"
) -> Result:
    """The observer, or what has to do in its place."""
    if _cli.can_restart():
        # Now, not once the observer has failed: begun anew then, the run would ask it once more.
        _cli.require(*NEEDED_IN_ITS_PLACE)
    markers = taken(marked.markers)
    told, problem = observe(run, task)
    raw, failure = 0, None
    if problem is not None:
        run.say(f"session_recovery: the observer failed: {problem}")
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
        run.say(f"session_recovery: not all that was said is in memory; {in_words(facts)}")
        return _cli.failed(failure, facts)
    still = look(run, places).problem if seen.problem else None
    if still is None:
        settle(run, markers)
    else:
        run.say(f"session_recovery: {still}")
    covered, written = facts["messages_covered"], facts["provisional"] + raw
    run.say(
        f"session_recovery: {many(covered, 'message')} covered, {many(written, 'provisional observation')}; "
        + in_words(facts)
    )
    how = "captured_raw" if raw else "captured" if problem else "recovered" if covered else "nothing_new"
    return ended(how, facts, marked.problem)


# Looking -------------------------------------------------------------------------------------------------------------


def look(run: Run, places: Places) -> Seen:
    """Compare every transcript with its cursor. Reads nothing of what was said, and takes no lock."""
    state = load_state(places)
    since = epoch_ms(run.now) - RECOVER_LOOKBACK_MIN * 60_000
    cut_short = stamp(places.journal) is not None
    try:
        listing = find_sessions(run.config, state.cursors, min(state.since_ms or since, since))
    except SourceError as problem:
        return Seen(state, None, problem, cut_short)  # the observer counts it
    if not listing.found_any:
        return Seen(state, 0, no_transcripts(run.config), cut_short)
    people = sum(1 for session in listing.sessions if not session.machine)
    out_of_reach = waiting([*listing.problems, *gone_store(run.config, listing, state.cursors)])
    return Seen(state, None if out_of_reach and not people else people, out_of_reach, cut_short)


def to_do(seen: Seen) -> str:
    """What was seen, for a person."""
    if seen.sessions is None:
        return "what is new could not be looked at"
    hold = "holds" if seen.sessions == 1 else "hold"
    told = f"{many(seen.sessions, 'session')} {hold} something new"
    if seen.problem:
        told += ", and not all could be looked at"
    return told + (
        ", and what a run that was cut short had begun is to be finished" if seen.cut_short else ""
    )


def markers_of(run: Run, places: Places, task: Task) -> Marked:
    """The markers that this run can settle: all of its agent, or those that name its session."""
    try:
        marked = read_markers(places.markers, run.config.agent_id)
    except StorageError as problem:
        return Marked([], problem)
    wanted = task.session
    return Marked(
        [one for one in marked if wanted in ("", one.session_id, one.session_key, one.session_file)]
    )


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
    from _settle import Job, Work, capture, look_around

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
        run.say(f"session_recovery: {problem}")


# Health --------------------------------------------------------------------------------------------------------------


def health(run: Run, places: Places, state: State) -> "dict[str, Any]":
    """How the observer has been doing. `last_good_run` is UTC ("2026-11-30T14:05:00Z"), "" for never; `budget` is what
    was asked of models today."""
    good = last_good_run(places, state)
    calls = load_calls(places)
    today = f"{run.now.astimezone(run.config.zone):%Y-%m-%d}"
    spent = calls if isinstance(calls, dict) and calls.get("day") == today else {}
    return {
        "last_good_run": f"{good:%Y-%m-%dT%H:%M:%SZ}" if good else "",
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


def in_words(facts: "dict[str, Any]") -> str:
    """The health for a person, and what waits."""
    good = f"the observer's last good run was at {facts['last_good_run']}"
    told = good if facts["last_good_run"] else "the observer has not had a good run yet"
    if facts["failures_in_row"]:
        times = "once" if facts["failures_in_row"] == 1 else f"{facts['failures_in_row']} times in a row"
        told += f", and it has failed {times} ({facts['last_failure']})"
    return f"{told}; waiting for an answer: {' and '.join(what_waits(facts)) or 'nothing'}"


def what_waits(facts: "dict[str, Any]") -> "list[str]":
    """What no model has answered for yet, for a person; a run that only looks counts sessions, not messages."""
    pending, provisional = facts.get("messages_pending", 0), facts["provisional_waiting"]
    waits = []
    if "messages_pending" not in facts and facts["sessions"]:
        waits.append(f"what is new in {many(facts['sessions'], 'session')}")
    elif pending is None or facts["sessions"] is None:
        waits.append("messages that could not be counted")
    elif pending:
        waits.append(many(pending, "message"))
    return waits + ([many(provisional, "provisional observation")] if provisional else [])


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
