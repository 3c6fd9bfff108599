"""What a night tells of itself: its log and its metrics, through the same commands that an agent uses."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from _counting import many
from _dream import hooked_id, impact
from _dream_files import write_log, write_metrics
from _dream_files.desk import Desk
from _errors import DAMAGED
from _files import read_bytes
from _ledger import read_ledger
from _night.finding import masked
from _night.hooklines import records_in
from _night.progress import Agenda, Going
from _night.steps import OBSERVATIONS
from _observations import TYPES, observations_in, parse_log, shorten

MOST_ITEMS, BEGINNING_CHARS = 2_000, 60  # of a list in the log, and of a text in it
_RUN = "run "


@dataclass(frozen=True)
class Outcome:
    """How a night ended: its status in words, the log's tokens, what `validate` found, seconds, sentences for a person,
    and the models that were asked."""

    status: str
    tokens: int
    checked: "Mapping[str, Any]"
    seconds: float
    flags: "tuple[str, ...]" = ()
    models: "tuple[str, ...]" = ()


def write_reports(desk: Desk, agenda: Agenda, outcome: Outcome) -> "dict[str, str]":
    """Write the night's log and metrics; returns their paths."""
    gone = left_tonight(desk, agenda)
    hooks = hooks_of_tonight(desk, agenda, gone)
    log, metrics = log_of(desk, agenda, outcome, gone, hooks), metrics_of(desk, agenda, outcome, gone, hooks)
    day = agenda.day
    told = [
        write_log(desk, f"memory/dream-logs/{day}.md", json.dumps(log)),
        write_metrics(desk, f"research/dream-cycle-metrics/daily/{day}.json", json.dumps(metrics)),
    ]
    return dict(zip(("log_path", "metrics_path"), (str(one.facts["path"]) for one in told)))


def left_tonight(desk: Desk, agenda: Agenda) -> "dict[str, str]":
    """By id, how each observation left this night ("archived", "chunked"); in read-only mode how it would have."""
    if desk.pretends:
        return {going.id: "chunked" if going.into else "archived" for going in agenda.going}
    found: "dict[str, str]" = {}
    tonight = {going.id for going in agenda.going}
    for row in read_ledger(desk.places.ledger):
        name = str(row.get("id", ""))
        if row.get("night") == agenda.run:
            found[name] = str(row["e"])
        elif row.get("e") == "restored" and name in tonight:
            found.pop(name, None)
    return found


def hooks_of_tonight(desk: Desk, agenda: Agenda, gone: "Mapping[str, str]") -> "list[str]":
    """The hook lines that the log has for what left."""
    tonight = {*gone, *(chunk.id for chunk in agenda.chunks)}
    return [
        entry.raw.strip()
        for entry in parse_log(desk.log())
        if hooked_id(entry) in tonight and f"/{agenda.day}.md#" in entry.raw
    ]


def log_of(
    desk: Desk, agenda: Agenda, outcome: Outcome, gone: "Mapping[str, str]", hooks: "list[str]"
) -> "dict[str, Any]":
    """The payload of write-log."""
    known = {going.id: going for going in agenda.going}
    said = _beginnings(desk, agenda)
    told: "dict[str, Any]" = {
        **_shared(desk, agenda, outcome, gone, hooks),
        "run_time": agenda.began,
        "status": outcome.status,
        "archived_items": [
            {
                "id": name,
                **({"text": said[name]} if name in said else {}),
                "type": known[name].type,
                "impact": impact(known[name].written)[0],
                "reason": known[name].reason,
            }
            for name in list(gone)[:MOST_ITEMS]
            if name in known
        ],
        "hooks": hooks[:MOST_ITEMS],
        "validation_results": _validation(outcome),
        "flagged_for_review": list(outcome.flags),
        "next_steps": ["run again: what is not done yet is taken up"]
        if outcome.status == "out of time"
        else [],
    }
    if agenda.phase > 1:
        told["type_distribution"] = _by_type(
            agenda, Counter(known[name].type for name in gone if name in known)
        )
    return told


def _beginnings(desk: Desk, agenda: Agenda) -> "dict[str, str]":
    """By id, how each of the observations that left begins; in read-only mode of those that would leave."""
    texts = {one.id: one.text for one in observations_in(parse_log(desk.log())) if one.id}
    for name, record in records_in(desk.memory / OBSERVATIONS / f"{agenda.day}.md").items():
        if record.entry and record.entry.observation:
            texts[name] = record.entry.observation.text
    return {name: f"“{shorten(masked(text), BEGINNING_CHARS)}”" for name, text in texts.items() if text}


def _by_type(agenda: Agenda, left: "Mapping[str, int]") -> "dict[str, dict[str, int]]":
    """How many observations of each type there were, and how many of them left and stayed."""
    found = {}
    for kind in TYPES:
        count, archived = agenda.types.get(kind, 0), left.get(kind, 0)
        found[kind] = {"count": count, "archived": archived, "retained": count - archived}
    return found


def metrics_of(
    desk: Desk, agenda: Agenda, outcome: Outcome, gone: "Mapping[str, str]", hooks: "list[str]"
) -> "dict[str, Any]":
    """The payload of write-metrics."""
    told = _with_earlier(desk, agenda, _shared(desk, agenda, outcome, gone, hooks))
    before = told["tokens_before"]
    return {
        **told,
        # Not in the log, whose text has to be the same when a night that was killed is reported once more.
        "runtime_seconds": round(outcome.seconds, 1),
        "reduction_pct": round(100.0 * told["tokens_saved"] / before, 1) if before else 0.0,
        "critical_false_archives": int(outcome.checked.get("critical_false_archives", 0)),
        "validation_passed": bool(outcome.checked.get("validation_passed", False)),
        "notes": [outcome.status, _RUN + agenda.run, *outcome.flags],
    }


def _with_earlier(desk: Desk, agenda: Agenda, told: "dict[str, Any]") -> "dict[str, Any]":
    """The figures with those of an earlier night of the same day added."""
    path = desk.config.workspace / "research" / "dream-cycle-metrics" / "daily" / f"{agenda.day}.json"
    try:
        found = json.loads(read_bytes(path) or b"{}")
        runs = [note for note in found["notes"] if str(note).startswith(_RUN)]
        if not runs or _RUN + agenda.run in runs or found["dry_run"] or told["dry_run"]:
            return told
        gone, saved = int(found["observations_archived"]), int(found["tokens_saved"])
        more = {
            "observations_total": gone,
            "observations_archived": gone,
            "tokens_before": saved,
            "tokens_saved": saved,
        }
        more["hooks_created"] = int(found["hooks_created"])
        return {name: value + more[name] if name in more else value for name, value in told.items()}
    except DAMAGED:
        return told


def _shared(
    desk: Desk, agenda: Agenda, outcome: Outcome, gone: "Mapping[str, str]", hooks: "list[str]"
) -> "dict[str, Any]":
    return {
        "date": agenda.day,
        "model": ", ".join(outcome.models) or "none",
        "observations_total": total_of(agenda, gone),
        "observations_archived": len(gone),
        "hooks_created": len(hooks),
        "tokens_before": agenda.tokens_before,
        "tokens_after": outcome.tokens,
        "tokens_saved": agenda.tokens_before - outcome.tokens,
        "dry_run": bool(desk.pretends),
    }


def total_of(agenda: Agenda, gone: "Mapping[str, str]") -> int:
    """How many observations the night found: those of the plan, and what an agent had taken out before it was made."""
    return agenda.observations + len(gone.keys() - {going.id for going in agenda.going})


def _validation(outcome: Outcome) -> "dict[str, Any]":
    names = ("validation_passed", "tokens", "token_target", "critical_false_archives", "notes")
    return {name: outcome.checked[name] for name in names if name in outcome.checked}


# Sentences for a person ----------------------------------------------------------------------------------------------


def sentences(
    agenda: Agenda, gone: "Mapping[str, str]", kept_by: "Mapping[str, int]", tokens: str, is_done: bool = True
) -> "list[str]":
    """What a night did and why, in counts alone. `gone` says by id how each left, `kept_by` how many stay by why,
    `tokens` what the log takes now. With `is_done` False it is what a night would do."""
    left, total = len(gone), total_of(agenda, gone)
    stay, verb = total - left, "left" if is_done else "would leave"
    told = [
        f"of {many(total, 'observation')} {left} {verb} the log for the archive, {stay} stay; "
        f"{agenda.tokens_before} tokens before, {tokens} after"
    ]
    why = Counter(_why_it_leaves(going) for going in agenda.going if going.id in gone)
    for title, counts in (("they leave because", why), ("what stays", Counter(kept_by))):
        words = ", ".join(f"{name} {number}" for name, number in counts.most_common() if number)
        told += [f"{title}: {words}"] if words else []
    return told


def _why_it_leaves(going: Going) -> str:
    """The kind of the reason why it is to leave."""
    if going.into:
        return "part of a chunk"
    if "lightest of" in going.reason:
        return "lightest, to reach the token target"
    return "faded" if " is under " in going.reason else "past its time"
