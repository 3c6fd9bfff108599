"""Layer 1: turn what was said since the last run into lines of memory/observations.md.

Reads OpenClaw's transcripts (JSONL files and the SQLite store), asks a model for what is worth keeping (or, without
one, picks the telling sentences itself), checks the answer and writes it. A cursor for each session moves only when an
answer that covers the messages is safely on disk, so that a late run, a dead model or a crash loses nothing.

  observer.py                      observe what is new (cron, watcher, by hand)
  observer.py --flush              before OpenClaw compacts: provisional lines where no model answers
  observer.py --recover SESSION    one session: a file, its name, a session id or a session key; "all" for all of them
  observer.py --backfill --since 2026-01-01    take in history from before the skill was installed
  observer.py --clean              take out of the log what is no note: thoughts of models, fences, machine chatter,
                                   the same line again (all of it goes to memory/archive/reflections/)
  observer.py --dry-run            say what would be observed; ask nothing, write nothing; --clean --dry-run: which
                                   lines would go, and why
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Callable, Optional

import _cli
from _cli import Result, Run
from _compat import epoch_ms, parse_instant
from _config import PROVIDERS
from _counting import many
from _errors import (
    BusyError,
    ConfigError,
    MissingPackage,
    StorageError,
    TotalRecallError,
    UnknownSession,
    UsageError,
)
from _files import is_there, lock, private_folder
from _markers import Marker, clear, read_markers
from _memory import iso, leave_marks, refresh_brief
from _observe.changes import after_backfill, after_run, for_backfill, without_provisional, without_vanished
from _observe.telling import PROBLEMS_SHOWN, left_alone, result_facts, summary
from _settle import (
    Job,
    Work,
    capture,
    find,
    first_sight_ms,
    leave_all_pending,
    look_around,
    pending_of,
    settle_all,
    show_captured,
)
from _state import Places, State, load_state
from _transcripts import EVERY_SESSION, Listing, Problem, Session, waiting
from _window import pack

RUN_LOCK_WAIT_SECONDS = 60.0
REFLECT_TIMEOUT_SECONDS = 900.0


def observe(run: Run, job: Job) -> Result:
    """Find what is new, ask, check the answer, commit, tell; then reflect when memory has grown too large."""
    work = work_of(run, job)
    if run.dry_run:
        return look_only(run, work)
    result = observe_locked(run, work)
    if result.status != "ok" or job.urgent:  # nobody waits for a reflection before a new session
        return result
    try:
        return result._replace(facts={**result.facts, **reflect(run, result.facts["words"])})
    except KeyboardInterrupt:
        return _cli.interrupted(result.facts)


def observe_locked(run: Run, work: Work) -> Result:
    """A run that no other observer of this memory meets."""
    job = work.job
    private_folder(work.places.private)
    with ExitStack() as held:
        try:
            held.enter_context(lock(work.places.run_lock))
        except BusyError as problem:
            if not job.urgent:
                return step_back(run, work, problem)
            beside, words = capture_beside(run, job)
            try:
                held.enter_context(lock(work.places.run_lock, RUN_LOCK_WAIT_SECONDS))
            except BusyError as still:
                return _cli.failed(still, {**result_facts(beside), "words": words})
            work.captured |= beside.captured
        try:
            return observe_alone(run, work)
        except KeyboardInterrupt:
            return _cli.interrupted(result_facts(work))
        except MissingPackage:
            raise  # the run begins anew where the package is
        except (ConfigError, StorageError) as problem:
            if not isinstance(problem, UnknownSession):  # a name mistyped says nothing about memory
                count_failure(work, problem)
            raise


def work_of(run: Run, job: Job) -> Work:
    """A run's Work, with nothing done yet."""
    return Work(
        run.config, run.now, run.clock, job, Places(run.config.observations_path, run.config.private_dir)
    )


def observe_alone(run: Run, work: Work) -> Result:
    """The run itself, while no other observer of this memory runs."""
    marked = markers_left(work)
    listing = look_around(work)
    # A free model takes up to a minute, and the next session begins now.
    first = listing.sessions and work.job.urgent and work.config.provider != "none"
    if first and not waiting([*work.problems, *capture(work, listing.sessions)]):
        settle_markers(work, marked)
    failure = take_in(run, work, listing, backfill=False)
    if failure is None and work.job.backfill_from_ms is not None:
        failure = take_in_history(run, work)
    return finish(run, work, failure, marked)


def step_back(run: Run, work: Work, problem: BusyError) -> Result:
    """Another observer runs, and will find what this one would have found."""
    if work.job.backfill_from_ms is not None:
        raise problem
    run.say(f"observer: {problem}")
    return Result("skipped", "locked", {"provider": run.config.provider})


def capture_beside(run: Run, job: Job) -> "tuple[Work, int]":
    """Provisional lines while another observer waits for its model: flush and recovery have no time to wait for it.
    Returns the Work and the size of the log in words."""
    beside = work_of(run, job)
    marked = markers_left(beside)
    leave_all_pending(beside, look_around(beside).sessions)
    words = show_captured(beside)
    if not waiting(beside.problems):
        settle_markers(beside, marked)
    return beside, words


def markers_left(work: Work) -> "list[Marker]":
    """What the gateway hook has left so far: settled once all that was said before it is in memory, in lines that stand
    or provisional ones. Those that cannot be listed stay, and that is told."""
    if work.job.recover:
        return []
    try:
        return read_markers(work.places.markers, work.config.agent_id)
    except StorageError as problem:
        work.problems.append(Problem(str(work.places.markers), str(problem)))
        return []


def settle_markers(work: Work, markers: "Sequence[Marker]") -> None:
    """Away with them; one that cannot be removed is told, and settled once more by the next run."""
    try:
        clear(markers)
    except StorageError as problem:
        work.problems.append(Problem(str(work.places.markers), str(problem)))


def count_failure(work: Work, problem: TotalRecallError) -> None:
    """Count a run that could not even look, or not write: as far as it can be written down."""
    with suppress(TotalRecallError):
        if load_state(work.places).since_ms:
            record(work, problem)


# Taking in -----------------------------------------------------------------------------------------------------------


def take_in(run: Run, work: Work, listing: Listing, backfill: bool) -> Optional[TotalRecallError]:
    """Settle what a listing holds; returns what stopped it, or None."""
    with progress(run, listing.sessions, backfill) as show:
        failure = settle_all(work, pending_of(work, backfill), listing.sessions, backfill, show)
    if failure is None and not backfill and not waiting(work.problems):
        work.change(lambda state: without_vanished(state, listing))
    return failure


def take_in_history(run: Run, work: Work) -> Optional[TotalRecallError]:
    """Take in what was said before the first sight. Where it stopped is kept, so that it can be taken up again."""
    start = work.job.backfill_from_ms or 0
    work.change(lambda state: for_backfill(state, start))
    failure = take_in(run, work, find(work, backfill=True), backfill=True)
    if failure is None and not waiting(work.problems):
        work.change(lambda state: after_backfill(state, start))
    return failure


# Telling -------------------------------------------------------------------------------------------------------------


def finish(
    run: Run, work: Work, failure: Optional[TotalRecallError], marked: "Sequence[Marker]" = ()
) -> Result:
    """Record how the run went, refresh the brief, say it."""
    covered = work.counts.get("messages_covered", 0)
    failure = failure or (None if covered else waiting(work.problems))
    with work.places.memory():
        words, made_from = refresh_brief(work.places, work.state)
    record(work, failure, made_from)
    if failure is None and not waiting(work.problems):
        settle_markers(work, marked)
        if not work.job.recover and not work.counts.get("messages_pending"):
            work.change(lambda state: without_provisional(state, work.leftover))
    facts = {
        **result_facts(work),
        "words": words,
        "observations_path": str(work.places.observations),
    }
    for problem in work.problems[:PROBLEMS_SHOWN]:
        run.say(f"observer: {problem.where}: {problem.what}")
    if failure is not None:
        if facts["observations_written"]:
            run.say(f"observer: {summary(work, covered)}; then it stopped")
        return _cli.failed(failure, facts)
    if not waiting(work.problems):
        leave_marks(work.places, work.state, run.now)
    run.say(f"observer: {summary(work, covered)}")
    return Result("ok", "observed" if covered else "nothing_new", facts)


def record(work: Work, failure: Optional[TotalRecallError], brief_of: str = "") -> None:
    """Keep how the run went, and what the brief was made from. What could not be looked at makes it no good run,
    however much else was taken in; a store that is only busy is looked at by the next."""
    unseen = waiting(work.problems)
    if failure is None and not isinstance(unseen, BusyError):
        failure = unseen
    covered = bool(work.counts.get("messages_covered"))

    def change(state: State) -> State:
        state = state._replace(brief_of=brief_of or state.brief_of)
        # A run with nothing new leaves the file as it is.
        good = unseen is None and (covered or state.failures_in_row)
        return after_run(state, failure.code if failure else "", iso(work.now) if good else "")

    work.change(change)


def reflect(run: Run, words: int) -> "dict[str, Any]":
    """Run the reflector when the log has passed the word threshold; what it said, or why it did not run."""
    if words <= run.config.reflect_over_words:
        return {}
    arguments = ["--workspace", str(run.config.workspace), "--quiet"]
    if run.config.origins["LLM_PROVIDER"] == "flag":
        arguments += ["--provider", run.config.provider]
    try:
        told = _cli.start_layer("reflector.py", arguments, REFLECT_TIMEOUT_SECONDS)
    except ConfigError as problem:
        run.say(f"observer: memory has {many(words, 'word')}, and the reflector could not run: {problem}")
        return {"reflector": problem.code}
    status = str(told.get("status", "unknown"))
    if status == "error":
        error = told.get("error")
        run.say(
            f"observer: the reflector failed: {error.get('message') if isinstance(error, dict) else status}"
        )
    return {"reflector": status}


def look_only(run: Run, work: Work) -> Result:
    """--dry-run: what is new and how many questions it would take. Nothing is written, not even a lock."""
    backfill = work.job.backfill_from_ms is not None
    work.state = load_state(work.places)
    if not work.state.since_ms:
        work.state = State(since_ms=first_sight_ms(work))
    if backfill:
        work.state = for_backfill(work.state, work.job.backfill_from_ms or 0)
    listing = find(work, backfill)
    pending = pending_of(work, backfill)
    messages = questions = characters = 0
    for window in pack(pending.messages(listing.sessions)):
        messages += sum(map(len, window.covered.values()))
        questions += 1
        characters += window.size
    work.count(**pending.counts)
    work.problems += pending.problems
    told = f", in {many(questions, 'piece')}" if messages else left_alone(work)
    run.say(f"observer: {many(messages, 'message')} to observe{told}; nothing was asked or written")
    facts = {
        **result_facts(work),
        "messages_new": messages,
        "messages_pending": messages,
        "questions": questions,
        "characters": characters,
    }
    out_of_reach = waiting(work.problems)
    return _cli.failed(out_of_reach, facts) if out_of_reach else Result("ok", "dry_run", facts)


@contextmanager
def progress(run: Run, sessions: Sequence[Session], wanted: bool) -> Iterator[Callable[[int], None]]:
    """A progress bar over sessions, when this is a backfill that a person is watching."""
    if not (wanted and run.on_terminal):
        yield lambda done: None
        return
    try:
        from tqdm import tqdm
    except ImportError:
        yield lambda done: None
        return
    with tqdm(total=len(sessions), unit=" sessions", desc="backfill") as bar:

        def show(done: int) -> None:
            bar.update(done - bar.n)

        yield show


# The command line ----------------------------------------------------------------------------------------------------


def build_parser() -> _cli.Parser:
    """The flags of this layer."""
    parser = _cli.make_parser("observer", __doc__ or "")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--flush", action="store_true", help="OpenClaw is about to compact: capture without fail"
    )
    kind.add_argument(
        "--recover", metavar="SESSION", help='capture a session, or "all", before a new one starts'
    )
    kind.add_argument(
        "--backfill", action="store_true", help="take in older history; can be stopped and taken up"
    )
    kind.add_argument("--clean", action="store_true", help="take out of the log what is no note; ask nobody")
    parser.add_argument(
        "--since", metavar="DATE", help="with --backfill: from this day on (default: everything)"
    )
    parser.add_argument("--provider", choices=PROVIDERS, help="who reads the conversation (LLM_PROVIDER)")
    parser.add_argument(
        "--trigger",
        choices=("manual", "cron", "watcher"),
        default="manual",
        help="who started this run, for the log",
    )
    return parser


def work(options: argparse.Namespace, run: Run) -> Result:
    """Turn flags into a Job and carry it out."""
    if is_there(Places(run.config.observations_path, run.config.private_dir).forgetting):
        from _forget import finish

        try:
            finish(run)
        except StorageError as problem:
            count_failure(work_of(run, Job(options.trigger)), problem)
            raise
    trigger = "flush" if options.flush else "recovery" if options.recover else options.trigger
    if options.since == "":
        raise UsageError("--since is empty", "it takes a date such as 2026-01-31")
    if options.since and not options.backfill:
        raise UsageError("--since goes with --backfill", "add --backfill, or leave --since out")
    if options.recover is not None and not options.recover.strip():
        raise UsageError("--recover is empty", "name a transcript file, a session id or a session key")
    if options.clean:
        from _observe.cleaning import clean_log

        return clean_log(run)
    since = 0 if options.backfill else None
    if options.since:
        found = parse_instant(options.since, run.config.zone)
        if found is None:
            raise UsageError(f"--since is {options.since!r}", "it takes a date such as 2026-01-31")
        since = max(0, epoch_ms(found))
    session = "" if options.recover == EVERY_SESSION else options.recover or ""
    return observe(run, Job("backfill" if options.backfill else trigger, session, since))


def variables(options: argparse.Namespace) -> "dict[str, str]":
    """The variables that flags set."""
    return {"LLM_PROVIDER": options.provider} if options.provider else {}


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the observer; returns the exit code."""
    return _cli.run("observer", build_parser(), work, argv, variables)


if __name__ == "__main__":
    sys.exit(main())
