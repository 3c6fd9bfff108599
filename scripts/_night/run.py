"""The whole night without an agent: preflight, plan, archive, chunks, decay, hook lines, validation, reports.

A night that was killed, or ran out of time, is gone on with by the next run of the same day: what it had set out to do
is kept in memory/.total-recall/night.json until the reports are written.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Optional

import _cli
from _account import BY_HAND, Mending, account_of, mend, read_files
from _archive import Chunk
from _cli import Result
from _dream import Plan, age_log, plan
from _dream_files import kept, preflight, rollback, validate
from _dream_files.desk import Desk
from _dream_files.preflight import adopt, deleted_by_hand, told_of
from _dream_files.rehearsal import rehearse
from _dream_files.update import refresh
from _errors import BusyError, PayloadError, RefusedError
from _files import lock
from _memory import iso
from _night.finding import Finder
from _night.hooklines import in_archive, records_in, refresh_hooks
from _night.progress import Agenda, Going, agenda_of, close_agenda, load_agenda, save_agenda
from _night.report import Outcome, left_tonight, sentences, write_reports
from _night.steps import CHUNKS, Leaving, age, commit, to_leave
from _observations import estimate_tokens, observations_in, parse_log
from _state import Filing, file_away

BATCH = 50
OUT_OF_TIME = "the time was up: the next run of today goes on with what is left"
DEADLINE_SECONDS = 600.0


@dataclass
class Work:
    """One run of the night, and what its result will say."""

    desk: Desk
    deadline_seconds: float
    elapsed: "Callable[[], float]"
    finder: Finder
    counts: "dict[str, int]" = field(default_factory=dict)
    flags: "list[str]" = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self.elapsed() >= self.deadline_seconds

    def count(self, **counts: int) -> None:
        """Add to the named counts of the result."""
        for name, number in counts.items():
            self.counts[name] = self.counts.get(name, 0) + number


def run_night(
    desk: Desk, deadline_seconds: float = DEADLINE_SECONDS, elapsed: "Optional[Callable[[], float]]" = None
) -> Result:
    """The night, or as much of it as there is time for. `elapsed` tells the seconds since it began."""
    began = time.monotonic()
    clock = elapsed or (lambda: time.monotonic() - began)
    work = Work(desk, deadline_seconds, clock, Finder(desk, lambda: clock() >= deadline_seconds))
    if desk.run.dry_run:
        return look_only(work)
    with ExitStack() as held:
        try:
            held.enter_context(lock(desk.places.private / "dream.lock"))
        except BusyError as problem:
            desk.run.say(f"dream_cycle: {problem}")
            return Result("skipped", "locked", {})
        return rehearse_only(work) if desk.pretends else carry_out(work)


# Only looking --------------------------------------------------------------------------------------------------------


def look_only(work: Work) -> Result:
    """--dry-run: what the night would do; nothing is written."""
    desk = work.desk
    found = planned(desk)
    agenda = agenda_of(found, parse_log(desk.log()), "", iso(desk.run.now), True)
    tell(desk, sentences(agenda, going_in(agenda), found.kept_by, f"about {found.tokens_after}", False))
    return Result("ok", "dry_run", facts_of(found))


def rehearse_only(work: Work) -> Result:
    """READ_ONLY_MODE: memory stays as it is; what the night would do stands in its log and metrics, as a dry run."""
    desk = work.desk
    begun_now = preflight(desk)
    with desk.holding_memory():
        log, found = desk.log(), planned(desk)
        agenda = agenda_of(found, parse_log(log), str(begun_now.facts["run"]), iso(desk.run.now), True)
        rehearse(
            desk,
            {going.id: going.written for going in agenda.going if not going.into},
            {going.id: going.into for going in agenda.going if going.into},
            found.tokens_after,
        )
    checked = validate(desk)
    kept.mark(kept.open_night(desk), kept.REHEARSED)
    held = list(held_up(found, found.tokens_after))
    status = "read only; tokens after are an estimate"
    outcome = Outcome(status, found.tokens_after, checked.facts, work.elapsed(), tuple(held))
    paths = write_reports(desk, agenda, outcome)
    told_in_short = sentences(
        agenda, going_in(agenda), found.kept_by, f"about {found.tokens_after}", is_done=False
    )
    tell(desk, [*told_in_short, *held])
    return Result("ok", "read_only", {"run": agenda.run, **facts_of(found), **paths})


def going_in(agenda: Agenda) -> "dict[str, str]":
    """By id, how each observation of an agenda is to leave."""
    return {going.id: "chunked" if going.into else "archived" for going in agenda.going}


def tell(desk: Desk, told_in_short: "Iterable[str]") -> None:
    """Say it on stderr, for a person."""
    for sentence in told_in_short:
        desk.run.say(f"dream_cycle: {sentence}")


def facts_of(found: Plan) -> "dict[str, Any]":
    """The counts of a plan."""
    told = found.as_json()
    return {name: value for name, value in told.items() if name not in ("observations", "clusters")}


def held_up(found: Plan, tokens: int, late: int = 0) -> "Iterable[str]":
    """What keeps a log of so many tokens over its target, in a sentence; nothing where it is not. `late` are the tokens
    of what may go and no earlier plan of the night could know of."""
    if tokens > found.night.token_target:
        tokens_by = {**found.held_by, "came after the plan": late}
        held = ", ".join(f"{why} {number}" for why, number in tokens_by.items() if number)
        yield f"{tokens} tokens are over the target of {found.night.token_target}; what stays: {held}"


# The night -----------------------------------------------------------------------------------------------------------


def carry_out(work: Work) -> Result:
    """The night itself, from where an earlier run of it stopped."""
    desk = work.desk
    unfinished, status = left_over(desk)
    if unfinished is not None and status != kept.OPEN:
        result = finish_late(work, unfinished)
        if result is not None:
            return result
        unfinished = None
    settle_accounts(work, only_deleted=unfinished is not None)
    if unfinished is None and is_done_today(desk):
        tell(desk, work.flags)
        facts = {"deleted_by_hand": 0, **work.counts, "tokens_after": estimate_tokens(desk.log())}
        return Result("ok", "nothing_to_do", facts)
    preflight(desk)
    agenda = begun(work)
    for batch in batches(agenda):
        if work.is_over:
            return stop(work, agenda)
        leave(work, agenda, batch)
    for chunk in agenda.chunks:
        if work.is_over:
            return stop(work, agenda)
        make_chunk(work, agenda, chunk)
    with desk.holding_memory():
        if agenda.phase > 1:
            work.count(decayed=age(desk, desk.night()))
        work.count(hook_lines=refresh_hooks(desk, agenda))
        refresh(desk)
    return finish(work, agenda)


def finish_late(work: Work, agenda: Agenda) -> Optional[Result]:
    """End a night that an earlier run had only to report on; its result where it is of today. That one of an earlier
    day cannot be reported on holds up nothing: it is told with the night of today."""
    try:
        result = finish(work, agenda)
        return result if agenda.day == work.desk.today else None
    except (PayloadError, RefusedError) as problem:
        if agenda.day == work.desk.today:
            raise
        work.flags.append(f"the night of {agenda.day} has no report: {problem}")
        return None


def left_over(desk: Desk) -> "tuple[Optional[Agenda], str]":
    """What an earlier run of the last night left to do, or only to report on, and what became of that night; None when
    there is nothing left, or the night was begun on another day and not ended."""
    with desk.holding_memory():
        agenda, night = load_agenda(desk.places), kept.newest(desk)
        if agenda is None or night is None or night.name != agenda.run:
            return None, ""
        is_given_up = night.status == kept.OPEN and night.day != desk.today
        return (None, "") if is_given_up else (agenda, night.status)


def settle_accounts(work: Work, only_deleted: bool = False) -> None:
    """Tell the ledger what people did to the log by hand since the last night; in the middle of one only what they
    deleted, for the rest is checked at its end."""
    desk = work.desk
    with desk.holding_memory():
        mending = mend(read_files(desk.places), iso(desk.run.now))
        rows = tuple(row for row in mending.rows if not only_deleted or row.get("why") == BY_HAND)
        if rows:
            file_away(desk.places, Filing(rows=rows))
    deleted = deleted_by_hand(mending)
    work.count(mended=len(rows), deleted_by_hand=len(deleted))
    work.flags += [*told_of(deleted), *vanished(mending)]


def vanished(mending: Mending) -> "list[str]":
    """The sentence about observations of which too many went at once."""
    if not mending.gone:
        return []
    return [
        f"{len(mending.gone)} observations are gone from the log although nothing removed them: restore a backup, "
        "or run dream_cycle.py account --accept if they were deleted on purpose"
    ]


def is_done_today(desk: Desk) -> bool:
    """Whether a night of today is over and leaves nothing to do."""
    night = kept.newest(desk)
    if night is None or night.day != desk.today or night.status != kept.VALID:
        return False
    aged = age_log(desk.log(), desk.night()).lines if desk.config.dream_phase > 1 else 0
    return not planned(desk).leaving and not aged


def begun(work: Work) -> Agenda:
    """What the night of today has set out to do: what a run before this one left of it, else a new plan."""
    desk = work.desk
    with desk.holding_memory():
        run = kept.open_night(desk).name
        agenda = load_agenda(desk.places)
        if agenda is not None and agenda.run == run:
            work.count(resumed=1)
            return agenda
        log = desk.log()
        agenda = agenda_of(planned(desk), parse_log(log), run, iso(desk.run.now))
        save_agenda(desk.places, agenda)
    return agenda


def planned(desk: Desk) -> Plan:
    """The plan for the log, with the decay of today in it in phase 2."""
    log, night = desk.log(), desk.night()
    aged = age_log(log, night).log if night.phase > 1 else log
    chunks = " ".join(records_in(desk.memory / f"{CHUNKS}/{desk.today}.md"))
    numbers = map(int, re.findall(r"\bCHUNK-[0-9]{8}-([0-9]{3,9})\b", chunks))
    return plan(aged, night, max(numbers, default=0), in_archive(desk, log), estimate_tokens(log))


def batches(agenda: Agenda) -> "list[Sequence[Going]]":
    """What is to be archived by itself, in steps."""
    alone = [going for going in agenda.going if not going.into]
    return [alone[start : start + BATCH] for start in range(0, len(alone), BATCH)]


def leave(work: Work, agenda: Agenda, batch: "Sequence[Going]") -> None:
    """One step: some observations go into the archive. No lock is held while a model is asked for their hooks."""
    desk = work.desk
    hooks = work.finder.hooks_for(found_in_log(desk, agenda, batch))
    with desk.holding_memory():
        leaving = [one for one in to_leave(desk, agenda, batch) if one.going.id in hooks]
        if leaving:
            commit(desk, agenda, [replace(one, hooks=hooks[one.going.id]) for one in leaving])


def make_chunk(work: Work, agenda: Agenda, chunk: Chunk) -> None:
    """One step: some observations become one. When a person has changed any of them since, or asked it back, all
    stay."""
    desk = work.desk
    wanted = [going for going in agenda.going if going.into == chunk.id]
    sources = found_in_log(desk, agenda, wanted)
    if not sources or len(sources) != len(chunk.sources):
        return
    hooks, made = work.finder.hooks_for(sources), work.finder.finding_for(chunk, sources)
    with desk.holding_memory():
        leaving = to_leave(desk, agenda, wanted)
        if len(leaving) == len(wanted):
            commit(desk, agenda, [replace(one, hooks=hooks[one.going.id]) for one in leaving], made)


def found_in_log(desk: Desk, agenda: Agenda, wanted: "Sequence[Going]") -> "list[Leaving]":
    """Those of the wanted that may go now."""
    with desk.holding_memory():
        return to_leave(desk, agenda, wanted)


# Its end -------------------------------------------------------------------------------------------------------------


def stop(work: Work, agenda: Agenda) -> Result:
    """The time is up: tell how far it came. The next run of today goes on with it."""
    desk = work.desk
    with desk.holding_memory():
        refresh(desk)
    outcome = Outcome(
        "out of time", estimate_tokens(desk.log()), {}, work.elapsed(), tuple(work.flags), work.finder.models
    )
    paths = write_reports(desk, agenda, outcome)
    gone = left_tonight(desk, agenda)
    tell(desk, [*sentences(agenda, gone, {}, str(outcome.tokens)), OUT_OF_TIME, *work.flags])
    return Result("ok", "out_of_time", {**told(work, agenda), **paths})


def finish(work: Work, agenda: Agenda) -> Result:
    """Validate, roll back when a gate does not hold, and report."""
    desk = work.desk
    heed_people(desk)
    live = {one.id for one in observations_in(parse_log(desk.log()))}
    held_back = frozenset(going.id for going in agenda.going if going.id in live)
    checked = validate(desk, False, held_back)
    why = str(checked.error or faults_of_tonight(desk, agenda))
    night = kept.newest(desk)
    if why or (night is not None and night.status == kept.UNDONE):
        rollback(desk)
        settle_accounts(work)
        why = why or "it was rolled back before"
    problem = RefusedError(f"the night was rolled back: {why}", "memory is as it was before") if why else None
    status = "complete" if problem is None else "rolled back"
    after = estimate_tokens(desk.log())
    found = planned(desk)
    over = [] if problem else list(held_up(found, after, found.tokens_leaving))
    flags = (*work.flags, *over, *without_model(work))
    outcome = Outcome(status, after, checked.facts, work.elapsed(), flags, work.finder.models)
    paths = report_at_last(desk, agenda, outcome)
    gone = left_tonight(desk, agenda)
    tell(desk, [*sentences(agenda, gone, {} if problem else found.kept_by, str(after)), *outcome.flags])
    facts = {**told(work, agenda), **paths}
    return _cli.failed(problem, facts) if problem else Result("ok", "done", facts)


def without_model(work: Work) -> "list[str]":
    """The sentence about a model that was to help and could not."""
    failure = work.finder.failure
    return (
        [f"no model helped any more after one had failed ({failure}): hooks were made without"]
        if failure
        else []
    )


def heed_people(desk: Desk) -> None:
    """Tell the ledger which of what had left people have typed back into the log, and give a copy of a line that they
    have made an id of its own."""
    with desk.holding_memory():
        rows = mend(read_files(desk.places), iso(desk.run.now)).rows
        back = tuple(row for row in rows if row["e"] == "restored")
        if back:
            file_away(desk.places, Filing(rows=back))
        named = Counter(one.id for one in observations_in(parse_log(desk.log())) if one.id)
        if any(number > 1 for number in named.values()):
            adopt(desk)


def report_at_last(desk: Desk, agenda: Agenda, outcome: Outcome) -> "dict[str, str]":
    """Write the reports and close the night, also one whose reports are refused: another try would end the same."""
    try:
        paths = write_reports(desk, agenda, outcome)
    except (PayloadError, RefusedError):
        close_agenda(desk.places)
        raise
    close_agenda(desk.places)
    return paths


def faults_of_tonight(desk: Desk, agenda: Agenda) -> str:
    """What does not add up about the observations of this night, "" when all does."""
    tonight = {going.id for going in agenda.going}
    with desk.holding_memory():
        faults = account_of(read_files(desk.places)).faults
    kinds = sorted({fault.kind for fault in faults if fault.id in tonight})
    return f"the account is not whole: {', '.join(kinds)}" if kinds else ""


def told(work: Work, agenda: Agenda) -> "dict[str, Any]":
    """The counts of the result."""
    desk = work.desk
    live = len([entry for entry in parse_log(desk.log()) if entry.observation])
    after = estimate_tokens(desk.log())
    return {
        "run": agenda.run,
        "phase": agenda.phase,
        "observations_total": agenda.observations,
        "observations_left": live,
        "chunks": len(agenda.chunks),
        "tokens_before": agenda.tokens_before,
        "tokens_after": after,
        "token_target": desk.config.dream_token_target,
        "hook_lines": 0,
        "decayed": 0,
        "deleted_by_hand": 0,
        "resumed": 0,
        **work.counts,
        "calls": work.finder.calls,
        "refused": work.finder.refused,
        "models": list(work.finder.models),
        **({"model_failed": work.finder.failure} if work.finder.failure else {}),
    }
