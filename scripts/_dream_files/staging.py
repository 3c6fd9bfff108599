"""write-staging: one proposal for a file that a person owns, into memory/dream-staging/ and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

from _account import read_files
from _cli import Result
from _dream.notes import read_notes
from _dream_files.archive import archived, plain
from _dream_files.desk import SHELVES, Desk
from _dream_files.payload import Inspection, inspect, read_payload
from _errors import RefusedError
from _files import encode, private_folder, read_bytes, replace_file
from _gate import mask_secrets
from _gate.notes import problem_with
from _likeness import fingerprint
from _observations import Observation, is_date, observations_in, parse_log, tidy
from _staging import (
    CONFIDENCES,
    REJECTED,
    Evidence,
    Proposal,
    confidence_carried,
    is_capability,
    is_in,
    lost_texts,
    render_proposal,
    same_as,
    staged,
)


def write_staging(desk: Desk, file: str, given: "str | None") -> Result:
    """Write the proposal, unless one that says the same waits, was approved or was rejected. Of its confidence only as
    much stays as its evidence carries."""
    path = desk.file_for("write-staging", file)
    found = inspect(read_payload(given), "staging")
    kind = found.fields().get("type", "")
    if kind and path.stem.rpartition("-")[2] != kind:
        found.faults.add(("type", "must be the type in the file's name"))
    with desk.holding_memory():
        quoted = _judge(desk, found)
        payload = found.passed(
            "reword it, or quote the observations word for word, with the date that they have"
        )
        proposal = proposal_of(payload, _time_in(path.name))
        lowered = _as_carried(proposal, quoted)
        reason = stage(desk, path, lowered)
    written = int(reason == "staged" and not desk.pretends)
    status = "skipped" if reason == "rejected_before" and not desk.pretends else "ok"
    facts: "dict[str, Any]" = {"path": desk.shown(path), "written": written}
    if lowered != proposal:
        facts["confidence_lowered"] = f"{proposal.confidence} -> {lowered.confidence}"
    return Result(status, desk.pretends or reason, facts)


def _time_in(name: str) -> str:
    """ "2026-11-30 03:30" of "20261130-033000-habit.md"."""
    return f"{name[:4]}-{name[4:6]}-{name[6:8]} {name[9:11]}:{name[11:13]}"


def proposal_of(payload: "dict[str, Any]", at: str) -> Proposal:
    """The Proposal of a payload that fits the schema, with secrets masked."""
    supporting = payload["supporting_observations"]
    return Proposal(
        at,
        payload["type"],
        payload["target_file"],
        payload["confidence"],
        plain(payload["pattern_summary"]),
        "\n".join(plain_line(line) for line in payload["proposed_text"].strip().splitlines()),
        tuple(Evidence(one["date"], plain(one["quote"]), one.get("id", "")) for one in payload["evidence"]),
        str(supporting) if isinstance(supporting, int) else ", ".join(supporting),
    )


def plain_line(line: str) -> str:
    """A line of Markdown with secrets masked and without control characters; its bullet and indent stay."""
    text = mask_secrets(line.rstrip())[0]
    return "".join(character if character.isprintable() else " " for character in text)


def _judge(desk: Desk, found: Inspection) -> "list[Observation]":
    """Add to what is wrong with a payload: a text that nobody would write into such a file, ids of observations that
    never were, and quotes that stand in no observation of their day, in the log or the archive. Returns the
    observations that are quoted, each once."""
    text = found.fields().get("proposed_text")
    lines = [plain(line) for line in (text or "").splitlines() if plain(line)]
    if text is not None and (not lines or any(problem_with(line) for line in lines)):
        told = "the proposed text is no note but metadata, code or talk about the task"
        found.refusals.append(("proposed_text", told))
    evidence = list(found.entries("evidence"))
    named = [*found.entries("supporting_observations")]
    named += [(f"{path}.id", one["id"]) for path, one in evidence if "id" in one]
    there = _ids_of(desk) if named else set()
    found.faults.update(
        (path, f"no observation ever was {name}") for path, name in named if name not in there
    )
    said = list(said_on(desk, {one.get("date") for _path, one in evidence}.__contains__))
    quoted: "dict[Observation, None]" = {}
    for number, (path, one) in enumerate(evidence, start=1):
        if "date" not in one or "quote" not in one:
            continue
        source = _source_of(Evidence(one["date"], plain(one["quote"])), said)
        if source is None:
            told = f"quote {number} of the evidence is in no observation of its day"
            found.refusals.append((f"{path}.quote", told))
        else:
            quoted[source] = None
    return list(quoted)


def _ids_of(desk: Desk) -> "set[str]":
    """The id of every observation that ever was, as far as the log, the archives and the ledger know; those included
    that lines without one are to get."""
    files = read_files(desk.places)
    waiting = (note.id for note in read_notes(desk.log(), desk.night()))
    return {*files.ledger, *files.live, *files.archived, *waiting}


def _as_carried(proposal: Proposal, quoted: "Sequence[Observation]") -> Proposal:
    """The proposal with no more confidence than the observations carry that it quotes and names. A mere number of them
    carries nothing."""
    days = {one.id or f"{one.date} {one.text}": one.date for one in quoted}
    for name in re.findall(r"OBS-\d{8}-\d+", proposal.supporting):
        days.setdefault(name, f"{name[4:8]}-{name[8:10]}-{name[10:12]}")
    carried = confidence_carried(
        [day for day in days.values() if is_date(day)], is_capability([one.text for one in quoted])
    )
    lower = min(carried, proposal.confidence, key=CONFIDENCES.index)
    return replace(proposal, confidence=lower)


def said_on(desk: Desk, is_wanted: "Callable[[str], bool]") -> "Iterable[Observation]":
    """The observations of the log and of the archive whose day ("YYYY-MM-DD", "" for none) is wanted."""
    yield from (one for one in observations_in(parse_log(desk.log())) if is_wanted(one.date))
    for filed in archived(desk).values():
        day = filed.record.fields.get("Original date", "")
        if not is_wanted(day):
            continue
        entry = filed.record.entry
        if entry is not None and entry.observation is not None:
            yield entry.observation
        elif is_date(day):  # of an edition that wrote the text alone
            yield Observation(tidy(filed.record.text), "fact", 5.0, day, id=filed.record.id)


def _source_of(one: Evidence, said: "Iterable[Observation]") -> "Observation | None":
    """The observation of its day in which a quote stands word for word."""
    words = fingerprint(one.quote)
    fitting = (found for found in said if found.date == one.date and words in fingerprint(found.text))
    return next(fitting, None) if words else None


def stage(desk: Desk, path: Path, proposal: Proposal) -> str:
    """Write the file; returns "staged", "already_there" or "rejected_before". Raises RefusedError when another proposal
    has the name."""
    new = encode(render_proposal(proposal))
    found = read_bytes(path)
    if found == new:
        return "already_there"
    known = known_as(desk, proposal)
    if known:
        return known
    if found is not None:
        raise RefusedError(f"{desk.shown(path)} is another proposal", "use another time in the name")
    if not desk.pretends:
        private_folder(path.parent)
        replace_file(path, new)
    return "staged"


def known_as(desk: Desk, proposal: Proposal) -> str:
    """ "rejected_before" or "already_there" when something in the folder proposes the same, else ""."""
    folder = staging_folder(desk)
    known = same_as(proposal, staged(folder))
    if known is not None and known.status != REJECTED:
        return "already_there"
    is_lost = known is None and any(is_in(proposal, content) for content in lost_texts(folder))
    return "rejected_before" if known is not None or is_lost else ""


def staging_folder(desk: Desk) -> Path:
    """memory/dream-staging/."""
    return desk.memory.joinpath(*SHELVES["write-staging"].folder[1:])
