"""write-staging: one proposal for a file that a person owns, into memory/dream-staging/ and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Callable

from _cli import Result
from _counting import many
from _dream_files.archive import archived, plain
from _dream_files.desk import SHELVES, Desk
from _dream_files.payload import check, read_payload, refuse
from _errors import RefusedError
from _files import encode, private_folder, read_bytes, replace_file
from _gate import mask_secrets
from _gate.notes import problem_with
from _likeness import fingerprint
from _observations import Observation, observations_in, parse_log
from _staging import REJECTED, Evidence, Proposal, render_proposal, same_as, staged


def write_staging(desk: Desk, file: str, given: "str | None") -> Result:
    """Write the proposal, unless one that says the same waits, was approved or was rejected."""
    path = desk.file_for("write-staging", file)
    payload = check(read_payload(given), "staging")
    if path.stem.rpartition("-")[2] != payload["type"]:
        refuse({("type", "must be the type in the file's name")})
    proposal = proposal_of(payload, _time_in(path.name))
    check_proposal(desk, proposal)
    with desk.holding_memory():
        reason = stage(desk, path, proposal)
    written = int(reason == "staged" and not desk.pretends)
    status = "skipped" if reason == "rejected_before" and not desk.pretends else "ok"
    return Result(status, desk.pretends or reason, {"path": desk.shown(path), "written": written})


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


def check_proposal(desk: Desk, proposal: Proposal) -> None:
    """Raise RefusedError when the text is none that a person would write into such a file, or the evidence was never
    said: a quote has to stand in an observation of its day, in the log or the archive."""
    lines = [plain(line) for line in proposal.text.splitlines() if plain(line)]
    if not lines or any(problem_with(line) for line in lines):
        raise RefusedError(
            "the proposed text is no note but metadata, code or talk about the task", "reword it"
        )
    days = {one.date for one in proposal.evidence}
    said = list(said_on(desk, days.__contains__))
    never = [one for one in proposal.evidence if not _was_said(one, said)]
    if never:
        raise RefusedError(
            f"in no observation of its day: {len(never)} of {many(len(proposal.evidence), 'evidence quote')}",
            "quote the observations word for word, with the date that they have",
        )


def said_on(desk: Desk, is_wanted: "Callable[[str], bool]") -> "Iterable[Observation]":
    """The observations of the log and of the archive whose day ("YYYY-MM-DD", "" for none) is wanted."""
    yield from (one for one in observations_in(parse_log(desk.log())) if is_wanted(one.date))
    for filed in archived(desk).values():
        if not is_wanted(filed.record.fields.get("Original date", "")):
            continue
        entry = filed.record.entry
        if entry is not None and entry.observation is not None:
            yield entry.observation


def _was_said(one: Evidence, said: "list[Observation]") -> bool:
    words = fingerprint(one.quote)
    return bool(words) and any(
        observation.date == one.date and words in fingerprint(observation.text) for observation in said
    )


def stage(desk: Desk, path: Path, proposal: Proposal) -> str:
    """Write the file; returns "staged", "already_there" or "rejected_before". Raises RefusedError when another proposal
    has the name."""
    new = encode(render_proposal(proposal))
    found = read_bytes(path)
    if found == new:
        return "already_there"
    known = same_as(proposal, staged(staging_folder(desk)))
    if known is not None:
        return "rejected_before" if known.status == REJECTED else "already_there"
    if found is not None:
        raise RefusedError(f"{desk.shown(path)} is another proposal", "use another time in the name")
    if not desk.pretends:
        private_folder(path.parent)
        replace_file(path, new)
    return "staged"


def staging_folder(desk: Desk) -> Path:
    """memory/dream-staging/."""
    return desk.memory.joinpath(*SHELVES["write-staging"].folder[1:])
