"""Checks of memory itself: its size, its nights, the account of every observation, and what an older edition left."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

from _archive import OLD_ARCHIVES
from _compat import parse_instant, stamp
from _counting import many
from _doctor.finding import FAIL, OK, UNKNOWN, WARN, Finding
from _doctor.scene import Scene
from _errors import RefusedError
from _files import decode, is_there, read_bytes, read_lines
from _ledger import row_in
from _observations import count_words, estimate_tokens, is_date, parse_log

if TYPE_CHECKING:
    from _account import Account, Fault, Files

SHOWN = 5
# What a person or another program did to the files: the next night tells the ledger of it.
_BY_HAND = ("gone", "two_states", "live_unknown", "archive_unknown", "live_twice")
_TWELVE_HOURS = re.compile(r"\b\d{1,2}:\d\d\s?[AP]\.?M\b", re.I)
_DECISION = re.compile(r"\bdc:type=decision\b")


def size(scene: Scene) -> Finding:
    """How large the log is, beside what it should be."""
    config, log = scene.config, scene.log
    tokens, words = estimate_tokens(log), count_words(log)
    facts = {
        "tokens": tokens,
        "token_target": config.dream_token_target,
        "words": words,
        "word_threshold": config.reflect_over_words,
    }
    says = (
        f"{tokens:,} tokens (a night aims at {config.dream_token_target:,}), {words:,} words "
        f"(the reflector begins at {config.reflect_over_words:,})"
    )
    if tokens <= config.dream_token_target and words <= config.reflect_over_words:
        return Finding("size", OK, says, facts=facts)
    reflects = words > config.reflect_over_words
    todo = scene.command("reflector.py", "--force") if reflects else scene.command("dream_cycle.py", "run")
    return Finding("size", WARN, says, todo, facts)


def reflection(scene: Scene) -> Finding:
    """When the log was last reflected on."""
    state = scene.state
    facts = {"reflected_at": state.reflected_at, "words_then": state.reflected_words}
    moment = parse_instant(state.reflected_at, scene.config.zone)
    says = (
        f"the last one was on {moment.astimezone(scene.config.zone):%Y-%m-%d %H:%M}" if moment else "none yet"
    )
    if state.reflect_from:
        says += "; one stopped midway, and goes on with the next run"
    return Finding("reflection", OK, says, facts={**facts, "midway": bool(state.reflect_from)})


def night(scene: Scene) -> Finding:
    """What the last night said of itself. The figures of a day are those of all its nights, of undone ones too."""
    from _dream_files import kept, make_desk

    folder = scene.config.workspace / "research" / "dream-cycle-metrics" / "daily"
    days = {path.stem for path in folder.glob("*.json") if is_date(path.stem)} if folder.is_dir() else set()
    logs = scene.config.memory_dir / "dream-logs"
    days |= {path.stem for path in logs.glob("*.md") if is_date(path.stem)} if logs.is_dir() else set()
    if not days:
        return Finding("night", OK, "there has been none yet", facts={"last_night": ""})
    day = max(days)
    metrics = _metrics(decode(read_bytes(folder / f"{day}.json") or b""))
    facts = {"last_night": day, **metrics}
    says = f"the last one was on {day}"
    if metrics.get("tokens_before") is not None:
        says += (
            f": {metrics['observations_archived']} archived, {metrics['tokens_before']} tokens before and "
        )
        says += f"{metrics['tokens_after']} after"
    undone = sum(one.day == day and one.status == kept.UNDONE for one in kept.snapshots(make_desk(scene.run)))
    if undone:
        facts["undone"] = undone
        says += f"; {many(undone, 'run')} of that day undone by rollback, though the figures may hold what went with it"
    if metrics.get("validation_passed") is False:
        todo = shlex.join(["less", str(logs / f"{day}.md")])
        return Finding("night", WARN, f"{says}; it did not pass its own checks", todo, facts)
    return Finding("night", OK, says, facts=facts)


def _metrics(text: str) -> "dict[str, Any]":
    """The figures of a night; {} where there are none."""
    names = ("observations_archived", "tokens_before", "tokens_after", "validation_passed", "dry_run")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    plain = (int, float)
    whole = isinstance(found, dict) and all(isinstance(found.get(name), plain) for name in names)
    return {name: found[name] for name in names} if whole else {}


def ledger(scene: Scene) -> Finding:
    """The proof that every observation ever written is somewhere, and only there."""
    from _account import account_of, read_files

    places = scene.places
    watched = (places.observations, places.ledger, places.journal)
    before = [stamp(path) for path in watched]
    files = read_files(places)
    account = account_of(files)
    damaged = damaged_rows(scene)
    facts = {
        **account.counts,
        "without_id": account.without_id,
        "of_other_editions": account.of_others,
        "faults": len(account.faults),
        "first_faults": [
            {"kind": one.kind, "id": one.id, "where": one.where} for one in account.faults[:SHOWN]
        ],
        "damaged_rows": damaged,
    }
    says = ", ".join(f"{number} {state}" for state, number in account.counts.items())
    if account.is_whole and not damaged:
        return Finding("ledger", OK, f"{says}: every observation ever written is there", facts=facts)
    if before != [stamp(path) for path in watched]:
        return Finding("ledger", UNKNOWN, "memory was written to meanwhile", "look again in a moment", facts)
    if is_there(places.journal):
        says += "; a run was cut short, so not all may be filed"
        return Finding("ledger", UNKNOWN, says, f"{scene.command('observer.py')}  # then look again", facts)
    state, told, todo = _judged(scene, files, account, damaged)
    return Finding("ledger", state, f"{says}; {told}", todo, facts)


def _judged(scene: Scene, files: "Files", account: "Account", damaged: int) -> "tuple[str, str, str]":
    """What is told of an account that does not add up: its state, a sentence, what to do."""
    from _account import mend
    from _memory import iso

    fresh = not is_there(scene.places.state)
    if fresh and [one.kind for one in account.faults] == ["no_ledger"]:
        return OK, "this edition has written nothing yet", ""
    first = "; ".join(f"{one.id or one.where}: {one.kind}" for one in account.faults[:SHOWN])
    number = len(account.faults)
    told = f"{number} do{'es' if number == 1 else ''} not add up ({first})" if number else ""
    if damaged:
        told += f"{'; ' if told else ''}{many(damaged, 'line')} of the ledger cannot be read"
    accept = scene.command("dream_cycle.py", "account", "--accept")
    vanished = mend(files, iso(scene.run.now)).gone
    if vanished:
        lines = many(len(vanished), "line of the log is gone", "lines of the log are gone")
        told += f"; {lines}: critical, or too much at once to be taken for meant"
        return FAIL, told, f"restore a backup; or, if it was deleted on purpose: {accept}"
    lost = sum(one.kind == "gone" and one.where in OLD_ARCHIVES for one in account.faults)
    if lost:
        told += f"; {many(lost, 'line is', 'lines are')} gone from the archive of another edition"
        return FAIL, told, f"put that file back from a copy; or, if it was done on purpose: {accept}"
    ours = [
        one for one in account.faults if not (one.kind == "no_ledger" and fresh or _is_of_others(one, files))
    ]
    if damaged or any(one.kind not in _BY_HAND for one in ours):
        return FAIL, told, f"{scene.command('dream_cycle.py', 'account')}  # says what helps"
    by_hand = f"{told}: done by hand or by another edition; nights go on"
    if any(one.kind == "gone" for one in ours):
        return WARN, by_hand, f"{accept}  # if they were deleted on purpose"
    return WARN, by_hand, f"{scene.command('dream_cycle.py', 'account')}  # says what helps"


def _is_of_others(fault: "Fault", files: "Files") -> bool:
    """Whether it is a hook line of another edition, whose archive is not where it says."""
    return fault.kind == "dangling_ref" and fault.id not in files.ledger


def damaged_rows(scene: Scene) -> int:
    """How many whole lines of the ledger are no rows."""
    return sum(line.endswith(b"\n") and row_in(line) is None for line in read_lines(scene.places.ledger))


def proposals(scene: Scene) -> Finding:
    """What waits for a person's word."""
    from _dream_files import make_desk
    from _dream_files.staging import staging_folder
    from _staging import WAITING, staged

    folder = staging_folder(make_desk(scene.run))
    if folder.is_symlink():
        raise RefusedError(f"{folder} is a symbolic link", "put a folder in its place")
    waiting = sum(one.status == WAITING for one in staged(folder))
    if not waiting:
        return Finding("proposals", OK, "none waits", facts={"waiting": 0})
    todo = scene.command("staging_review.py", "list")
    return Finding("proposals", OK, f"{waiting} wait for your word", todo, {"waiting": waiting})


def older_edition(scene: Scene) -> Finding:
    """What an earlier edition, or another program, left in the log: all of it is kept."""
    from _clean import look

    log = scene.log
    cleaning = look(log, scene.run.now, scene.config.zone)
    reasons = [one.reason for one in cleaning.junk]
    old = [name for name in OLD_ARCHIVES if is_there(scene.config.memory_dir / name)]
    facts: "dict[str, Any]" = {
        **traits(log),
        **{
            reason.replace(" ", "_").replace("'", ""): reasons.count(reason)
            for reason in dict.fromkeys(reasons)
        },
        "duplicates": len(cleaning.duplicates),
        "old_archives": old,
    }
    would_go = len(cleaning.found)
    told = [
        f"{number} {name.replace('_', ' ')}"
        for name, number in facts.items()
        if number and name != "old_archives"
    ]
    told += old
    if not told:
        return Finding("older_edition", OK, "no traces", facts=facts)
    says = f"{', '.join(told)}; all is kept and read"
    if would_go:
        todo = (
            f"{scene.command('observer.py', '--clean', '--dry-run')}  # shows what a clean-up would take out"
        )
        return Finding("older_edition", WARN, says, todo, facts)
    return Finding("older_edition", OK, says, facts=facts)


def traits(log: str) -> "dict[str, int]":
    """How many lines bear the marks of an earlier edition."""
    found = [entry for entry in parse_log(log) if entry.kind == "observation"]
    return {
        "lines_without_tags": sum("dc:" not in entry.raw for entry in found),
        "twelve_hour_times": sum(bool(_TWELVE_HOURS.search(first_words(entry.raw))) for entry in found),
        "decision_types": sum(bool(_DECISION.search(entry.raw)) for entry in found),
    }


def first_words(line: str) -> str:
    """Where a line has its time."""
    return line[:24]
