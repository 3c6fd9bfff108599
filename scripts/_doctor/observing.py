"""Checks of the observer: what it can read, how far it has come, what it has left unfinished."""

from __future__ import annotations

import json
import os
import shlex
from datetime import timedelta
from pathlib import Path
from typing import Any, Optional

from _compat import from_epoch_ms, stamp
from _counting import many
from _doctor.finding import FAIL, OK, UNKNOWN, WARN, Finding, worst
from _doctor.ours import described
from _doctor.parts import is_at_work
from _doctor.scene import Scene
from _errors import DAMAGED, SourceError, StorageError
from _files import is_there, read_bytes
from _ledger import covered_uids
from _state import is_damaged, load_calls
from _transcripts import no_transcripts, waiting

LATE, TOO_LATE, LONG_AGO = timedelta(hours=1), timedelta(hours=24), timedelta(days=3)
MANY_FAILURES = 3
COUNTED_TO = 2_000
# More than this behind the cursors is not gone through for a number.
MOST_BYTES, MOST_ROWS = 30_000_000, 20_000


def sources(scene: Scene) -> Finding:
    """Where the conversations are, and whether they can be read."""
    config = scene.config
    try:
        listing = scene.everything
    except SourceError as problem:
        out_of_reach = config.store_path if str(config.store_path) in str(problem) else config.sessions_dir
        return Finding("sources", FAIL, f"{problem}; {described(out_of_reach)}", problem.hint)
    facts: "dict[str, Any]" = {
        "found": list(listing.sources),
        "sessions": len(listing.sessions),
        "of_people": sum(not session.machine for session in listing.sessions),
        "other_agents": other_agents(scene),
    }
    if not listing.found_any:
        none = no_transcripts(config)
        return Finding("sources", FAIL, str(none), none.hint, facts)
    out_of_reach_yet = waiting(listing.problems)
    if out_of_reach_yet and is_store_damaged(scene):
        return Finding("sources", FAIL, str(out_of_reach_yet), out_of_reach_yet.hint, facts)
    if out_of_reach_yet:
        says = f"could not look: {out_of_reach_yet}"
        return Finding("sources", UNKNOWN, says, out_of_reach_yet.hint, facts)
    others = f"; other agents: {', '.join(facts['other_agents'])}" if facts["other_agents"] else ""
    where = " and ".join(listing.sources)
    says = f"{many(facts['sessions'], 'session')} of agent {config.agent_id} in {where}{others}"
    problems = "; ".join(f"{one.where}: {one.what}" for one in listing.problems)
    if problems:
        return Finding("sources", WARN, f"{says}; {problems}", facts=facts)
    if facts["sessions"] and not facts["of_people"]:
        says = f"{says}: none of a person (cron, subagents), so that there is nothing to remember"
        return Finding("sources", WARN, says, "is OPENCLAW_AGENT_ID the agent that you talk to?", facts)
    return Finding("sources", OK, says, facts=facts)


def is_store_damaged(scene: Scene) -> bool:
    """Whether OpenClaw's store is there and cannot be read, for another reason than that it is busy."""
    store = str(scene.config.store_path)
    return any(one.waits and not one.busy and one.where == store for one in scene.everything.problems)


def other_agents(scene: Scene) -> "list[str]":
    """Agents that have transcripts of their own, beside the one that is looked after."""
    agents = scene.config.state_dir / "agents"
    try:
        found = sorted(folder for folder in agents.iterdir() if os.path.isdir(folder))
    except OSError:
        return []
    own = scene.config.sessions_dir.parent
    return [
        one.name
        for one in found
        if one != own and any(os.path.exists(one / name) for name in ("sessions", "agent"))
    ]


def observer(scene: Scene) -> Finding:
    """When the observer last ended well."""
    last, waits = scene.last_run, scene.sessions_waiting
    facts: "dict[str, Any]" = {"last_good_run": f"{last:%Y-%m-%dT%H:%M:%SZ}" if last else ""}
    if last is None:
        return Finding("observer", WARN, "it has not ended well yet", scene.command("observer.py"), facts)
    age = max(timedelta(0), scene.run.now - last)
    facts["age_seconds"] = int(age.total_seconds())
    says = f"it last ended well {in_words(age)} ago"
    if age <= LATE:
        return Finding("observer", OK, says, facts=facts)
    if waits == 0:
        says += "; nothing has been said since"
        if age > LONG_AGO and is_at_work(scene) is False:
            says += ", but nothing has run it either"
            return Finding("observer", FAIL, says, scene.command("observer.py"), facts)
        return Finding("observer", OK if age <= TOO_LATE else WARN, says, facts=facts)
    says += (
        f"; {many(waits, 'session')} with something new" if waits else "; whether there is more is not known"
    )
    return Finding("observer", WARN if age <= TOO_LATE else FAIL, says, scene.command("observer.py"), facts)


def in_words(age: timedelta) -> str:
    """A time span for a person."""
    minutes = int(age.total_seconds() // 60)
    if minutes < 2 * 60:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // (24 * 60)} days"


def messages(scene: Scene) -> Finding:
    """How many messages are done with, and how many wait."""
    covered = sum(map(len, covered_uids(scene.places.ledger).values()))
    if not scene.everything.found_any:
        says = f"{covered} are done with; what waits cannot be told"
        return Finding("messages", UNKNOWN, says, facts={"covered": covered, "pending": None})
    listing = scene.news
    sessions = scene.sessions_waiting
    pending, more = counted_pending(scene)
    out_of_reach = waiting(scene.work.problems)
    facts = {"covered": covered, "pending": pending, "pending_sessions": sessions, "more_pending": more}
    amount = (
        "more than can be counted in a moment"
        if pending is None
        else f"{pending}{' and more' if more else ''}"
    )
    changed = many(len(listing.sessions), "session")
    says = f"{covered} are done with, {amount} to be observed, in {changed} with something new"
    if not pending and not listing.sessions:
        says = f"{covered} are done with, none waits"
    if out_of_reach:
        return Finding("messages", UNKNOWN, f"{says}; not all seen: {out_of_reach}", out_of_reach.hint, facts)
    stuck = len(scene.state.stuck)
    if stuck:
        says += f"; {many(stuck, 'piece')} got no answer that could be used, and are asked about again"
    return Finding("messages", WARN if stuck else OK, says, facts=facts)


def counted_pending(scene: Scene) -> "tuple[Optional[int], bool]":
    """How many messages wait, and whether there are more; None when that would take too long. What could not be looked
    at is in `scene.work.problems` then."""
    from _settle import pending_of

    sessions, cursors = scene.news.sessions, scene.work.state.cursors
    size = {"jsonl": 0, "sqlite": 0}
    for session in sessions:
        cursor = cursors.get(session.key)
        size[session.source] += max(0, session.end - (cursor.position if cursor else 0))
    if size["jsonl"] > MOST_BYTES or size["sqlite"] > MOST_ROWS:
        return None, True
    pending = pending_of(scene.work)
    found = set()
    for message in pending.messages(sessions):
        found.add((message.session_id, message.uid))
        if len(found) > COUNTED_TO:
            break
    scene.work.problems += pending.problems
    return min(len(found), COUNTED_TO), len(found) > COUNTED_TO


def failures(scene: Scene) -> Finding:
    """How often the observer failed since it last ended well."""
    state = scene.state
    facts = {"in_row": state.failures_in_row, "last": state.last_failure}
    if not state.failures_in_row:
        return Finding("failures", OK, "none since the last good run", facts=facts)
    times = "once" if state.failures_in_row == 1 else f"{state.failures_in_row} times in a row"
    says = (
        f"the observer failed {times} ({state.last_failure}); nothing is lost, the next good run takes it in"
    )
    kind = FAIL if state.failures_in_row >= MANY_FAILURES else WARN
    todo = f"{scene.command('observer.py')}  # it says what is wrong"
    return Finding("failures", kind, says, todo, facts)


def provisional(scene: Scene) -> Finding:
    """How many lines stand in for an answer that is still to come."""
    number = len(scene.state.provisional)
    says = (
        "1 line stands in for a model's answer, which will replace it"
        if number == 1
        else f"{number} lines stand in for a model's answer, which will replace them"
        if number
        else "no line waits"
    )
    return Finding("provisional", OK, says, facts={"waiting": number})


def bookkeeping(scene: Scene) -> Finding:
    """Whether what is kept between runs can be read."""
    from _tombstones import load_tombstones

    places = scene.places
    told, todo, states = [], [], [OK]
    if is_damaged(places):
        told.append(f"{places.state} is damaged: the next run keeps it aside and goes by the ledger")
        todo.append(scene.command("observer.py"))
        states.append(WARN)
    aside = places.state.with_suffix(".damaged")
    if is_there(aside):
        told.append(f"{aside.name} lies beside state.json since {day_of(scene, aside)}")
        todo.append(f"{shlex.join(['rm', str(aside)])}  # when all is well")
        states.append(WARN)
    if read_bytes(places.calls) and load_calls(places) is None:
        told.append(f"{places.calls} is damaged: what was asked of models today is not known")
        states.append(WARN)
    try:
        load_tombstones(places)
    except StorageError as problem:
        told.append(str(problem))
        todo.append(problem.hint)
        states.append(FAIL)
    if not told:
        return Finding("bookkeeping", OK, "in order")
    return Finding("bookkeeping", worst(*states), "; ".join(told), "; ".join(todo))


def damaged_forgetting(scene: Scene) -> str:
    """What is told of a forgetting that cannot be finished, since no run gets past it; "" for one that can."""
    from _forget.task import Task

    try:
        Task.from_json(json.loads(read_bytes(scene.places.forgetting) or b""))
    except DAMAGED as problem:
        return (
            f": {scene.places.forgetting} is damaged ({type(problem).__name__}), and until it is gone no run "
            "observes or reflects"
        )
    return ""


def day_of(scene: Scene, path: Path) -> str:
    """The day on which a file was last written, the person's; "" when it is gone."""
    found = stamp(path)
    moment = from_epoch_ms(found.mtime_ns / 1_000_000) if found else None
    return f"{moment.astimezone(scene.config.zone):%Y-%m-%d}" if moment else ""


def unfinished(scene: Scene) -> Finding:
    """What a run had begun and not ended: a commit, a forgetting, a night."""
    from _dream_files import kept, make_desk
    from _night.progress import load_agenda

    places = scene.places
    told, todo, states = [], [], [OK]
    if is_there(places.forgetting):
        damage = damaged_forgetting(scene)
        told.append(f"something is forgotten only in part{damage}")
        helps = shlex.join(["rm", str(places.forgetting)]) + "  # then forget the same once more"
        todo.append(
            helps if damage else f"{scene.command('observer.py')}  # finishes that before anything else"
        )
        states.append(FAIL if damage else WARN)
    if is_there(places.journal):
        told.append("a run was cut short; the next one finishes what it had begun")
        todo.append(scene.command("observer.py"))
        states.append(WARN)
    night = kept.newest(make_desk(scene.run))
    if is_there(places.private / "night.json"):
        agenda = load_agenda(places)
        told.append(
            f"the night of {agenda.day} has not ended: a run on that day goes on with it, a later one begins anew"
            if agenda
            else "what a night had set out to do is damaged; the next one begins anew"
        )
        todo.append(scene.command("dream_cycle.py", "run"))
        states.append(WARN)
    elif night is not None and night.status == kept.OPEN:
        told.append(f"the night of {night.day} was begun and neither validated nor rolled back")
        todo.append(f"{scene.command('dream_cycle.py', 'validate')}  # or: rollback")
        states.append(WARN)
    facts = {"begun": len(told)}
    if not told:
        return Finding("unfinished", OK, "nothing", facts=facts)
    return Finding("unfinished", worst(*states), "; ".join(told), "; ".join(todo), facts)
