"""Layer 1: turn what was said since the last run into lines of memory/observations.md.

Reads OpenClaw's transcripts (JSONL files and the SQLite store), asks a model for what is worth keeping (or, without
one, picks the telling sentences itself), checks the answer and writes it. A cursor for each session moves only when an
answer that covers the messages is safely on disk, so that a late run, a dead model or a crash loses nothing.

  observer.py                      observe what is new (cron, watcher, by hand)
  observer.py --flush              before OpenClaw compacts: something is written whatever happens
  observer.py --recover SESSION    one session: a file, its name, a session id or a session key
  observer.py --backfill --since 2026-01-01    take in history from before the skill was installed
  observer.py --dry-run            say what would be observed; ask nothing, write nothing
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import chain
from typing import TYPE_CHECKING, Any, Callable, Optional

import _cli
from _answer import EXTRACTOR, AnswerCut, Settled, asked, extracted, is_about_the_window, system_prompt
from _cli import Result, Run
from _compat import epoch_ms, md5_hex, parse_instant, sha256_hex, stamp
from _config import PROVIDERS, Config
from _errors import BusyError, ConfigError, ModelError, TotalRecallError, UsageError
from _files import decode, lock, private_folder, read_bytes, replace_file
from _observations import Observation, count_words, fingerprint, observations_in, parse_log, render_brief
from _pending import Bounds, Pending, lookback_ms
from _state import (
    Addition,
    Commit,
    Places,
    State,
    begin,
    commit,
    covered_uids,
    load_calls,
    load_state,
    replay,
    save_calls,
    save_state,
)
from _transcripts import Cursor, Listing, Problem, Session, find_sessions, resolve
from _window import Window, halve, pack

if TYPE_CHECKING:
    import _llm

FLUSH_LOOKBACK_MIN, RECOVER_LOOKBACK_MIN = 120, 240
RUN_LOCK_WAIT_SECONDS = 60.0
MEMORY_LOCK_WAIT_SECONDS = 30.0
# Runs without a usable answer for the same messages before the built-in extractor takes them, about an hour at one run
# every 15 minutes. What a model refuses for ever would otherwise hold up all that is said after it.
STUCK_AFTER = 5
PENDING_COUNTED_TO = 2_000
PROBLEMS_SHOWN = 10
REFLECT_TIMEOUT_SECONDS = 900.0


@dataclass(frozen=True)
class Job:
    """What this run was asked to do. Times are epoch milliseconds; `backfill_from_ms` None: no backfill."""

    trigger: str
    recover: str = ""
    backfill_from_ms: Optional[int] = None

    @property
    def urgent(self) -> bool:
        """Flush and recovery: something is written even while no model answers."""
        return self.trigger in ("flush", "recovery")


@dataclass
class Work:
    """One run that holds the run lock: the state as it is on disk, and the counts for the result."""

    run: Run
    job: Job
    places: Places
    state: State = field(default_factory=State)
    counts: "dict[str, int]" = field(default_factory=dict)
    models: "set[str]" = field(default_factory=set)
    problems: "list[Problem]" = field(default_factory=list)
    done: "set[tuple[str, int]]" = field(default_factory=set)

    def count(self, **counts: int) -> None:
        """Add to the named counts of the result."""
        for name, number in counts.items():
            self.counts[name] = self.counts.get(name, 0) + number

    def save(self, state: State) -> None:
        """Replace state.json when something changed."""
        if state != self.state:
            with self.memory():
                save_state(self.places, state)
            self.state = state

    @contextmanager
    def memory(self) -> Iterator[None]:
        """Hold the memory lock: for reading and writing files, never while a model is asked."""
        with lock(self.places.memory_lock, MEMORY_LOCK_WAIT_SECONDS):
            yield


def observe(run: Run, job: Job) -> Result:
    """Find what is new, ask, check the answer, commit, tell."""
    places = Places(run.config.observations_path, run.config.private_dir)
    if run.dry_run:
        return look_only(run, job, places)
    private_folder(places.private)
    try:
        with lock(places.run_lock, RUN_LOCK_WAIT_SECONDS if job.urgent else 0.0):
            return observe_alone(Work(run, job, places))
    except BusyError as problem:
        if job.urgent or job.backfill_from_ms is not None:
            raise
        run.say(f"observer: {problem}")
        return Result("skipped", "locked", {"provider": run.config.provider})


def observe_alone(work: Work) -> Result:
    """The run itself, while no other observer of this memory runs."""
    with work.memory():
        work.count(replayed=int(replay(work.places)))
        work.state = load_state(work.places)
    first_run = work.state.since_ms == 0
    if first_run:
        work.state = State(since_ms=first_sight_ms(work.run, work.job))
    listing = find(work.run, work.job, work.state)
    work.problems += listing.problems
    if first_run:
        with work.memory():
            begin(work.places, work.state, iso(work.run.now))
    failure = settle_all(work, listing.sessions, backfill=False)
    if failure is None and work.job.backfill_from_ms is not None:
        failure = backfill(work)
    return finish(work, listing, failure)


# Finding -------------------------------------------------------------------------------------------------------------


def first_sight_ms(run: Run, job: Job) -> int:
    """From when on a session is observed that has no cursor and began before the skill was installed."""
    by_day, morning = run.config.lookback_minutes, run.config.morning_lookback_minutes
    if job.urgent:
        by_day = morning = FLUSH_LOOKBACK_MIN if job.trigger == "flush" else RECOVER_LOOKBACK_MIN
    return lookback_ms(run.now, run.config.zone, by_day, morning)


def find(run: Run, job: Job, state: State, cursors: Optional[Mapping[str, Cursor]] = None) -> Listing:
    """The sessions with something new. Raises ConfigError when there is nowhere to look."""
    since = min(state.since_ms or first_sight_ms(run, job), first_sight_ms(run, job))
    if job.backfill_from_ms is not None and cursors is not None:
        since = job.backfill_from_ms
    listing = find_sessions(run.config, state.cursors if cursors is None else cursors, since)
    if not listing.found_any:
        raise ConfigError(
            f"no transcripts: neither {run.config.sessions_dir} nor {run.config.store_path} exists",
            "set SESSIONS_DIR or OPENCLAW_AGENT_ID, or talk to the agent once" + _other_agents(run.config),
        )
    if job.recover:
        return replace(listing, sessions=resolve(run.config, job.recover))
    return listing


def _other_agents(config: Config) -> str:
    """Names of agents beside the one that was looked for: a wrong name must not look like silence."""
    try:
        found = sorted(folder.name for folder in (config.state_dir / "agents").iterdir() if folder.is_dir())
    except OSError:
        return ""
    others = [name for name in found if name != config.agent_id]
    return f"; agents found: {', '.join(others)}" if others else ""


def pending_of(work: Work, backfill: bool) -> Pending:
    """The pass over what is new, or over the history before it."""
    state, job = work.state, work.job
    sight = min(state.since_ms, first_sight_ms(work.run, job))

    def bounds(session: Session) -> Bounds:
        cursor = state.cursors.get(session.key)
        first = cursor.since_ms if cursor else sight
        return Bounds(job.backfill_from_ms or 0, first) if backfill else Bounds(first)

    return Pending(
        state.backfill if backfill else state.cursors,
        bounds,
        lambda: covered_uids(work.places),
        compare_all=backfill,
    )


# Settling ------------------------------------------------------------------------------------------------------------


def settle_all(work: Work, sessions: Sequence[Session], backfill: bool) -> Optional[TotalRecallError]:
    """Settle every window in turn; returns what stopped it, or None. What came before that is committed."""
    pending = pending_of(work, backfill)
    windows = pack(pending.messages(sessions))
    failure: Optional[TotalRecallError] = None
    with progress(work.run, sessions, backfill) as show:
        for window in windows:
            try:
                settle(work, window, backfill)
            except (ModelError, ConfigError) as problem:
                failure = problem
                leave_pending(work, chain([window], windows), backfill)
                break
            show(pending.bytes_done)
    work.count(**pending.counts)
    work.problems += pending.problems
    if failure is None:
        work.save(moved(work.state, pending.quiet, backfill))
    return failure


def settle(work: Work, window: Window, backfill: bool) -> None:
    """Ask until every message of the window is covered, less at a time where an answer is cut; commit each part."""
    from _llm import PromptCut

    windows = [window]
    while windows:
        piece = windows.pop(0)
        try:
            settled = answer(work, piece)
        except (AnswerCut, PromptCut) as problem:
            halves = halve(piece, dict(work.state.backfill if backfill else work.state.cursors))
            if halves:
                windows[:0] = halves
                continue
            settled = give_up_on(work, piece, problem)
        except ModelError as problem:
            settled = give_up_on(work, piece, problem)
        write_final(work, piece, settled, backfill)


def answer(work: Work, window: Window) -> Settled:
    """What the model, or without one the extractor, makes of the window."""
    config, known = work.run.config, known_to(work, window)
    if config.provider == "none":
        return extracted(window, known, config)
    return asked(
        window, known, config, lambda change: remember_calls(work, change), work.run.now, work.job.urgent
    )


def remember_calls(work: Work, change: "Callable[[_llm.Memo], _llm.Memo]") -> "_llm.Memo":
    """Apply a change to what is kept about asking models. Only the holder of the run lock does so."""
    import _llm

    old = _llm.Memo.from_json(load_calls(work.places))
    new = change(old)
    if new != old:
        save_calls(work.places, new.as_json())
        work.count(calls=int(new.calls == old.calls + 1))
    return new


def known_to(work: Work, window: Window) -> "list[Observation]":
    """What memory holds, without the provisional lines that an answer for this window replaces."""
    going = superseded(work.state, window)
    log = parse_log(decode(read_bytes(work.places.observations) or b""))
    return [found for found in observations_in(log) if found.id not in going]


def superseded(state: State, window: Window) -> "frozenset[str]":
    """Ids of the provisional lines whose messages the window covers."""
    covered = {uid for uids in window.covered.values() for uid in uids}
    return frozenset(name for name, found in state.provisional.items() if covered.issuperset(found.uids))


def give_up_on(work: Work, window: Window, problem: ModelError) -> Settled:
    """Count a window that no model could answer, and raise; the fifth time take what the extractor finds in it."""
    if not is_about_the_window(problem):
        raise problem
    name = window.messages[0].uid
    times = work.state.stuck.get(name, 0) + 1
    if times < STUCK_AFTER:
        work.save(replace(work.state, stuck={**work.state.stuck, name: times}))
        raise problem
    work.count(extracted_instead=len(window.messages))
    return extracted(window, known_to(work, window), work.run.config)


# Committing ----------------------------------------------------------------------------------------------------------


def write_final(work: Work, window: Window, settled: Settled, backfill: bool) -> None:
    """Commit an answer: its lines, the cursors, and away with the provisional lines that it replaces."""
    going = superseded(work.state, window)
    state = moved(work.state, window.cursors, backfill)
    state = replace(
        state,
        provisional={name: found for name, found in state.provisional.items() if name not in going},
        stuck={name: times for name, times in state.stuck.items() if name != window.messages[0].uid},
        failures_in_row=0,
        last_failure="",
        last_good_run=iso(work.run.now),
        last_hash=md5_hex("\n".join(message.text for message in window.messages).encode("utf-8", "replace")),
    )
    rows, removed = additions(work, settled), {name: work.state.provisional[name] for name in going}
    write(work, settled, Commit(iso(work.run.now), rows, window.covered, work.state, state, removed))
    work.done.update((message.uid, message.first_char) for message in window.messages)
    work.count(messages_covered=sum(map(len, window.covered.values())), provisional_replaced=len(going))


def write(work: Work, settled: Settled, change: Commit) -> None:
    """Carry out a commit and count it."""
    with work.memory():
        commit(work.places, change)
        work.state = load_state(work.places)
    work.count(observations_written=len(change.additions), **settled.counts)
    work.models.add(settled.by)


def moved(state: State, cursors: Mapping[str, Cursor], backfill: bool) -> State:
    """The state with these cursors in place."""
    if backfill:
        return replace(state, backfill={**state.backfill, **cursors})
    provisional = {key: cursor for key, cursor in state.provisional_upto.items() if key not in cursors}
    return replace(state, cursors={**state.cursors, **cursors}, provisional_upto=provisional)


def additions(work: Work, settled: Settled, source: str = "") -> "tuple[Addition, ...]":
    """The accepted lines in the order in which they were said, each with what the ledger keeps of its origin."""
    ordered = sorted(settled.accepted, key=lambda found: (found.observation.date, found.observation.time))
    version = {} if settled.by == EXTRACTOR else {"prompt": system_prompt().version}
    return tuple(
        Addition(
            replace(found.observation, source=source or found.observation.source),
            {
                "fp": sha256_hex(fingerprint(found.observation.text).encode())[:16],
                "type": found.observation.type,
                "importance": found.observation.importance,
                "date": found.observation.date,
                "from": list(found.uids),
                "by": settled.by,
                "trigger": work.job.trigger,
                **version,
            },
        )
        for found in ordered
    )


def leave_pending(work: Work, windows: Iterable[Window], backfill: bool) -> None:
    """No answer is to be had: count what waits, and in urgent runs write provisional lines for it."""
    for window in windows:
        waiting = [found for found in window.messages if (found.uid, found.first_char) not in work.done]
        if not waiting:
            continue
        work.count(messages_pending=len(waiting))
        if work.job.urgent and not backfill:
            write_provisional(work, Window(tuple(waiting)))
        elif work.counts["messages_pending"] > PENDING_COUNTED_TO:
            work.count(more_pending=1)
            return


def write_provisional(work: Work, window: Window) -> None:
    """The extractor's lines for messages that no earlier capture has taken. The cursors stay where they are."""
    upto = work.state.provisional_upto
    fresh = [found for found in window.messages if not is_before(found.after, upto.get(found.after.key))]
    if not fresh:
        return
    part = Window(tuple(fresh))
    settled = extracted(part, known_to(work, part), work.run.config)
    state = replace(work.state, provisional_upto={**upto, **part.cursors})
    rows = additions(work, settled, source="provisional")
    write(work, settled, Commit(iso(work.run.now), rows, {}, work.state, state, provisional=True))
    work.count(provisional=len(rows))


def is_before(cursor: Cursor, other: Optional[Cursor]) -> bool:
    """True when `other`, a cursor of the same session, covers `cursor`."""
    return other is not None and (cursor.position, cursor.chars) <= (other.position, other.chars)


def backfill(work: Work) -> Optional[TotalRecallError]:
    """Take in the history before the first sight. Where it was stopped is kept, so that it can be taken up again."""
    start = work.job.backfill_from_ms or 0
    if work.state.backfill_from_ms != start:
        # Another range: from its beginning. What an earlier backfill covered is known by its uids.
        work.save(replace(work.state, backfill={}, backfill_from_ms=start))
    listing = find(work.run, work.job, work.state, work.state.backfill)
    failure = settle_all(work, listing.sessions, backfill=True)
    if failure is None:
        # 1, not 0, for all of history: 0 says that nothing was ever observed.
        since = min(work.state.since_ms, max(1, start))
        done = replace(work.state, since_ms=since, backfill={}, backfill_from_ms=-1)
        work.save(done)
    return failure


# Telling -------------------------------------------------------------------------------------------------------------


def finish(work: Work, listing: Listing, failure: Optional[TotalRecallError]) -> Result:
    """Record how the run went, refresh the brief, start the reflector when memory has grown too large."""
    partly = any(problem.waits for problem in work.problems)
    record(work, failure, partly)
    facts = write_brief(work)
    if failure is None:
        leave_marks(work)
        facts.update(reflect(work, facts["words"]))
    facts = {**result_facts(work, listing), **facts}
    for problem in work.problems[:PROBLEMS_SHOWN]:
        work.run.say(f"observer: {problem.where}: {problem.what}")
    if failure is not None:
        return _cli.failed(failure, facts)
    if partly and not work.counts.get("messages_covered"):
        return _cli.failed(
            BusyError("not every transcript could be looked at", "the next run tries again"), facts
        )
    covered = work.counts.get("messages_covered", 0)
    work.run.say(summary(work, covered))
    return Result("ok", "observed" if covered else "nothing_new", facts)


def summary(work: Work, covered: int) -> str:
    """The sentence for a person."""
    if not covered:
        return "observer: nothing new was said"
    config = work.run.config
    how = ""
    if config.provider == "none":
        chosen = config.origins["LLM_PROVIDER"] != "default"
        why = "" if chosen else "; no key and no LLM_BASE_URL is set"
        how = f" (chosen by the built-in extractor{why})"
    written = work.counts.get("observations_written", 0)
    return f"observer: {covered} messages covered, {written} observations written to {work.places.observations}{how}"


def record(work: Work, failure: Optional[TotalRecallError], partly: bool) -> None:
    """Keep failures in a row, so that a dead observer cannot stay silent."""
    if failure is not None:
        row = work.state.failures_in_row + 1
        work.save(replace(work.state, failures_in_row=row, last_failure=failure.code))
    elif not partly and work.state.failures_in_row:
        work.save(replace(work.state, failures_in_row=0, last_failure="", last_good_run=iso(work.run.now)))


def write_brief(work: Work) -> "dict[str, Any]":
    """Rewrite brief.txt when the log has changed, by us or by a person; returns the log's size in words."""
    data = read_bytes(work.places.observations) or b""
    text = decode(data)
    log, brief = stamp(work.places.observations), stamp(work.places.brief)
    if brief is None or (log and log.mtime_ns >= brief.mtime_ns):
        new = render_brief(parse_log(text)).encode("utf-8", "replace")
        if new != read_bytes(work.places.brief):
            replace_file(work.places.brief, new)
    return {"words": count_words(text), "observations_path": str(work.places.observations)}


def leave_marks(work: Work) -> None:
    """`.observer-last-run` (epoch seconds) and `.observer-last-hash` (MD5 of the last messages), as before."""
    folder = work.places.observations.parent
    replace_file(folder / ".observer-last-run", f"{epoch_ms(work.run.now) // 1000}\n".encode())
    mark = f"{work.state.last_hash}\n".encode()
    if work.state.last_hash and read_bytes(folder / ".observer-last-hash") != mark:
        replace_file(folder / ".observer-last-hash", mark)


def reflect(work: Work, words: int) -> "dict[str, Any]":
    """Run the reflector when the log has passed the word threshold; what it said, or why it did not run."""
    if words <= work.run.config.reflect_over_words:
        return {}
    try:
        told = _cli.start_layer("reflector.py", [], REFLECT_TIMEOUT_SECONDS)
    except ConfigError as problem:
        work.run.say(f"observer: memory has {words} words, and the reflector could not run: {problem}")
        return {"reflector": problem.code}
    return {"reflector": told.get("status", "unknown")}


def result_facts(work: Work, listing: Listing) -> "dict[str, Any]":
    """The counts, with the usual ones always there."""
    usual = (
        "messages_new",
        "messages_covered",
        "messages_pending",
        "observations_written",
        "duplicates",
        "refused",
    )
    counts = {name: number for name, number in work.counts.items() if number}
    return {
        "trigger": work.job.trigger,
        "provider": work.run.config.provider,
        "models": sorted(work.models),
        **dict.fromkeys(usual, 0),
        **counts,
        **{f"sessions_{name}": number for name, number in listing.counts.items() if number},
        "sources": list(listing.sources),
        "failures_in_row": work.state.failures_in_row,
        "problems": [f"{problem.where}: {problem.what}" for problem in work.problems[:PROBLEMS_SHOWN]],
    }


def look_only(run: Run, job: Job, places: Places) -> Result:
    """--dry-run: what is new and how many questions it would take. Nothing is written, not even a lock."""
    work = Work(run, job, places, load_state(places))
    if not work.state.since_ms:
        work.state = State(since_ms=first_sight_ms(run, job))
    is_backfill = job.backfill_from_ms is not None
    listing = find(run, job, work.state, work.state.backfill if is_backfill else None)
    work.problems += listing.problems
    pending = pending_of(work, is_backfill)
    messages = questions = characters = 0
    for window in pack(pending.messages(listing.sessions)):
        messages += sum(map(len, window.covered.values()))
        questions += 1
        characters += window.size
    work.count(**pending.counts)
    work.problems += pending.problems
    run.say(
        f"observer: {messages} messages to observe in {questions} questions; nothing was asked or written"
    )
    facts = {
        **result_facts(work, listing),
        "messages_new": messages,
        "questions": questions,
        "characters": characters,
    }
    return Result("ok", "dry_run", facts)


@contextmanager
def progress(run: Run, sessions: Sequence[Session], wanted: bool) -> Iterator[Callable[[int], None]]:
    """A progress bar over bytes of transcript, when this is a backfill that a person is watching."""
    if not (wanted and run.on_terminal):
        yield lambda done: None
        return
    try:
        from tqdm import tqdm
    except ImportError:
        yield lambda done: None
        return
    with tqdm(
        total=sum(max(0, found.end) for found in sessions), unit="B", unit_scale=True, desc="backfill"
    ) as bar:

        def show(done: int) -> None:
            bar.update(done - bar.n)

        yield show


def iso(moment: datetime) -> str:
    """UTC, to the second: "2026-11-30T14:05:00Z"."""
    return f"{moment.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"


# The command line ----------------------------------------------------------------------------------------------------


def build_parser() -> _cli.Parser:
    """The flags of this layer."""
    parser = _cli.make_parser("observer", __doc__ or "")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--flush", action="store_true", help="OpenClaw is about to compact: capture without fail"
    )
    kind.add_argument("--recover", metavar="SESSION", help="capture one session before a new one starts")
    kind.add_argument(
        "--backfill", action="store_true", help="take in older history; can be stopped and taken up"
    )
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
    trigger = "flush" if options.flush else "recovery" if options.recover else options.trigger
    if options.since and not options.backfill:
        raise UsageError("--since goes with --backfill", "add --backfill, or leave --since out")
    since = 0 if options.backfill else None
    if options.since:
        found = parse_instant(options.since, run.config.zone)
        if found is None:
            raise UsageError(f"--since is {options.since!r}", "it takes a date such as 2026-01-31")
        since = max(0, epoch_ms(found))
    return observe(run, Job("backfill" if options.backfill else trigger, options.recover or "", since))


def variables(options: argparse.Namespace) -> "dict[str, str]":
    """The variables that flags set."""
    return {"LLM_PROVIDER": options.provider} if options.provider else {}


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the observer; returns the exit code."""
    return _cli.run("observer", build_parser(), work, argv, variables)


if __name__ == "__main__":
    sys.exit(main())
