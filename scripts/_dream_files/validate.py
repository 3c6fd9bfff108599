"""validate: whether the night may stand. Everything is counted anew from the files, nothing taken on trust."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Optional

import _cli
from _account import LEAVES, Account, account_of, read_files
from _archive import read_archived, read_records
from _cli import Result
from _dream import age_log, plan, without
from _dream.size import is_hooks_heading
from _dream.weight import CRITICAL_FROM
from _dream_files import kept
from _dream_files.accounts import without_ends
from _dream_files.archive import Filed, is_copy, items_of
from _dream_files.desk import Desk
from _dream_files.kept import Snapshot
from _dream_files.rehearsal import rehearsed
from _errors import RefusedError
from _files import decode, read_bytes
from _ledger import read_ledger
from _observations import Entry, estimate_tokens, observations_in, parse_log
from _state import key_of, says_something

GO_LIVE_REDUCTION_PCT = 10.0


@dataclass
class Findings:
    """What was counted, and by gate what is wrong."""

    gates: "dict[str, bool]" = field(default_factory=dict)
    notes: "list[str]" = field(default_factory=list)
    critical: "list[str]" = field(default_factory=list)
    unaccounted: "list[str]" = field(default_factory=list)


@dataclass(frozen=True)
class Copy:
    """An item of the archive, and whether this night has put it there."""

    filed: Filed
    is_new: bool


def validate(desk: Desk, goes_on: bool = False, held_back: "frozenset[str]" = frozenset()) -> Result:
    """Check the gates; a night that passes them all is marked as valid, and stays so: unless it `goes_on`, because a
    run that was out of time has more to do. `held_back` are ids that were to leave until a person changed something."""
    with desk.holding_memory():
        night = kept.newest(desk)
        found = Findings()
        log = desk.log()
        base = decode(night.bytes_of(kept.LOG) or b"") if night else log
        account = account_of(read_files(desk.places))
        there = _check_files(desk, found, night)
        _check_critical(desk, found, there, base, log)
        _check_accounted(desk, found, account, there, base, log)
        tokens = _check_tokens(desk, found, _as_planned_for(desk, base, log, held_back), log)
        passed = all(found.gates.values())
        is_open = night is not None and night.status == kept.OPEN
        if passed and night is not None and is_open and not goes_on and not desk.pretends:
            kept.mark(night, kept.VALID)
    facts = _facts(desk, found, night, base, tokens, passed)
    if passed:
        return Result("ok", "valid", facts)
    failed = ", ".join(name for name, holds in found.gates.items() if not holds)
    if night is None:
        problem = RefusedError(
            f"there was no night yet, and memory does not hold: {failed}", "begin one: preflight"
        )
    else:
        problem = RefusedError(f"the night does not hold: {failed}", "run: dream_cycle.py rollback")
    return _cli.failed(problem, facts)


def _facts(
    desk: Desk, found: Findings, night: Optional[Snapshot], base: str, tokens: int, passed: bool
) -> "dict[str, Any]":
    before = estimate_tokens(base)
    reduction = round(100.0 * (before - tokens) / before, 1) if before else 0.0
    facts: "dict[str, Any]" = {
        "validation_passed": passed,
        "tokens": tokens,
        "token_target": desk.config.dream_token_target,
        "critical_false_archives": len(found.critical),
        "notes": found.notes,
        "gates": found.gates,
        "run": night.name if night else "",
        "tokens_before": before,
        "tokens_saved": before - tokens,
        "reduction_pct": reduction,
        "observations_before": len(observations_in(parse_log(base))),
    }
    if desk.config.read_only:
        facts["may_go_live"] = passed and not found.critical and reduction >= GO_LIVE_REDUCTION_PCT
    return facts


def _check_files(desk: Desk, found: Findings, night: Optional[Snapshot]) -> "list[Copy]":
    """Every file that the night wrote is whole and can be read; those of other editions may have any shape. Returns
    what the archive of observations and chunks holds."""
    wrong = []
    if b"\0" in (read_bytes(desk.places.observations) or b""):
        wrong.append("observations.md holds NUL bytes")
    old = {} if night is None else {name: _ids_kept(night, name) for name in night.files}
    there: "list[Copy]" = []
    times: "Counter[tuple[str, str]]" = Counter()
    for filed in (*items_of(desk, "archive"), *items_of(desk, "chunk")):
        name, where = filed.record.id, filed.path.relative_to(desk.memory).as_posix()
        is_ours = night is None or where in old
        if is_ours and not filed.record.is_whole:
            wrong.append(f"{filed.path.name} ends in the middle of {name}")
        if is_ours:
            times[where, name] += 1
        there.append(Copy(filed, where in old and name not in old[where]))
    # In two files it stands twice when it was brought back and archived again, or when others archived it as well.
    wrong += [f"{name} stands twice in the archive" for (_where, name), many in times.items() if many > 1]
    found.gates["files_parse"] = not wrong
    found.notes += wrong[:20]
    return there


def _ids_kept(night: Snapshot, name: str) -> "set[str]":
    """The ids that a file of the archive had when the night kept it."""
    return {record.id for record in read_records(decode(night.bytes_of(name) or b""))}


def _check_critical(desk: Desk, found: Findings, there: "list[Copy]", base: str, log: str) -> None:
    """What is critical is in the log, or lives on in another line of it. A line without id, as before the first night
    that may change the log, is known by its words."""
    now = parse_log(log)
    live, keys = {one.id for one in observations_in(now) if one.id}, {key_of(entry) for entry in now}
    gone = _last_rows(desk)
    for entry in parse_log(base):
        one = entry.observation
        if (
            one is not None
            and one.importance >= CRITICAL_FROM
            and one.id not in live
            and key_of(entry) not in keys
            and gone.get(one.id) not in ("merged", "removed", "forgotten")
        ):
            found.critical.append(one.id or "without id")
    for name, importance in _archived_since(desk, there):
        if importance >= CRITICAL_FROM and name not in found.critical and name not in live:
            found.critical.append(name)
    found.gates["no_critical_archived"] = not found.critical
    found.notes += [f"critical and archived: {name}" for name in found.critical[:20]]


def _archived_since(desk: Desk, there: "list[Copy]") -> "Iterable[tuple[str, float]]":
    """(id, importance) of what the archive has had since preflight; in read-only mode of what it would have had."""
    if desk.config.read_only:
        yield from ((name, float(weight)) for name, weight in rehearsed(desk)["archived"].items())
        return
    for copy in there:
        entry = copy.filed.record.entry
        if copy.is_new and entry is not None and entry.observation is not None:
            yield copy.filed.record.id, entry.observation.importance


def _last_rows(desk: Desk) -> "dict[str, str]":
    """By id, the last that the ledger says of it."""
    return {str(row.get("id", "")): str(row.get("e")) for row in read_ledger(desk.places.ledger)}


def _check_accounted(
    desk: Desk, found: Findings, account: Account, there: "list[Copy]", base: str, log: str
) -> None:
    """Each observation of preflight is in the log, in the archive, or the ledger says where it went."""
    now = parse_log(log)
    live = {one.id for one in observations_in(now) if one.id}
    keys = {key_of(entry) for entry in now}
    said = _last_rows(desk)
    copies: "dict[str, list[Copy]]" = {}
    for copy in there:
        copies.setdefault(copy.filed.record.id, []).append(copy)
    reflected = _reflected(desk)
    for entry in parse_log(base):
        if entry.observation is None or key_of(entry) in keys or entry.observation.id in live:
            continue
        name = entry.observation.id
        how = said.get(name) if name else ""
        is_kept = (
            how in ("removed", "forgotten") or name in reflected or _has_copy(entry, copies.get(name, ()))
        )
        if how not in LEAVES or not is_kept:
            found.unaccounted.append(
                name or f"an observation of {entry.observation.date or 'no date'} without id"
            )
    before = entry_ids(parse_log(base))
    faults = [
        one
        for one in account.faults
        if one.id in before
        and one.kind != "archived_twice"
        and not (
            one.kind == "dangling_ref" and f"{one.where}#{one.id}]" in base
        )  # it led nowhere before the night
    ]
    found.unaccounted += [one.id for one in faults if one.id not in found.unaccounted]
    found.gates["all_accounted_for"] = not found.unaccounted
    found.notes += [f"unaccounted for: {name}" for name in found.unaccounted[:20]]


def _has_copy(entry: Entry, copies: "Iterable[Copy]") -> bool:
    """Whether the archive has it as it is: what this night put there is what the log said then; what was there before
    has to say the same."""
    return any(copy.is_new or is_copy(copy.filed.record, entry) for copy in copies)


def _reflected(desk: Desk) -> "set[str]":
    """The ids that the archive of reflections holds."""
    folder = desk.places.reflections
    paths = sorted(folder.glob("*.md")) if folder.is_dir() else []
    return {item.id for path in paths for item in read_archived(decode(read_bytes(path) or b""))}


def _as_planned_for(desk: Desk, base: str, log: str, held_back: "frozenset[str]") -> str:
    """The log without what people and observers have put into it since preflight, of which no plan could know."""
    aged = age_log(base, desk.night()).log
    known = {without_ends(entry) for text in (base, aged) for entry in parse_log(text)}
    entries = parse_log(log)
    since = [
        position
        for position, entry in enumerate(entries)
        if says_something(entry)
        and entry.kind not in ("hook", "date")  # a day taken out would give what is below it another one
        and (without_ends(entry) not in known or entry_ids([entry]) & held_back)
        and not is_hooks_heading(entry)
    ]
    return without(entries, since)


def _check_tokens(desk: Desk, found: Findings, known: str, log: str) -> int:
    """The log is under its target, or nothing more may go of what was `known` when the night was planned."""
    noted = rehearsed(desk)["tokens"] if desk.config.read_only else None
    tokens = int(noted) if isinstance(noted, int) else estimate_tokens(log)
    target = desk.config.dream_token_target
    if desk.config.read_only and noted is None:
        tokens = min(tokens, plan(log, desk.night()).tokens_after)
        found.notes.append("tokens are those of the plan: no new version of the log was drafted")
    since = 0 if desk.config.read_only else estimate_tokens(log) - estimate_tokens(known)
    over = tokens - since > target
    planned = plan(known, desk.night()) if over else None
    holds = planned is None or (not planned.target_reached and not _may_go(planned.leaving, desk))
    if planned is not None and holds:
        held = ", ".join(f"{why} {number}" for why, number in list(planned.held_by.items())[:6])
        found.notes.append(f"{tokens} tokens are over {target}, but all that stays must: {held}")
    elif tokens > target:
        came = f": {since} of them came after it was planned" if holds else ""
        found.notes.append(f"{tokens} tokens are over the target of {target}{came}")
    found.gates["tokens_under_target"] = holds
    return tokens


def _may_go(leaving: "list[Any]", desk: Desk) -> bool:
    """Whether the plan still has something to archive that this night has not drafted away."""
    gone = set(rehearsed(desk)["archived"]) if desk.config.read_only else set()
    return any(verdict.note.id not in gone for verdict in leaving)


def entry_ids(entries: "Iterable[Entry]") -> "set[str]":
    """The ids of the observations among these entries."""
    return {one.id for one in observations_in(entries) if one.id}
