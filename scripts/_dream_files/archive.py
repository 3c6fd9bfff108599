"""archive and chunk: observations and findings appended to the archive, where they stay whatever becomes of the log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _archive import (
    ArchivedObservation,
    Chunk,
    Record,
    block_for,
    read_records,
    render_chunks,
    render_observations,
)
from _cli import Result
from _dream.notes import Note, read_notes
from _dream_files import kept
from _dream_files.desk import SHELVES, Desk, inside, is_name
from _dream_files.payload import check, read_payload
from _dream_files.rehearsal import rehearse
from _errors import RefusedError
from _files import decode, read_bytes
from _gate import mask_secrets
from _gate.grounding import read_notes as read_ground
from _likeness import features, fingerprint, says_the_same
from _observations import is_date, tidy
from _state import Filing, file_away


@dataclass(frozen=True)
class Filed:
    """Where an item of the archive lies, and what it is."""

    path: Path
    record: Record


def items_of(desk: Desk, command: str) -> "Iterator[Filed]":
    """Every item that the archive of observations ("archive") or of chunks ("chunk") holds, file by file."""
    shelf = SHELVES[command]
    folder = desk.memory.joinpath(*shelf.folder[1:])
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not is_name(shelf, path.name):
            continue
        inside(desk.memory, (*shelf.folder[1:], path.name))
        for record in read_records(decode(read_bytes(path) or b"")):
            yield Filed(path, record)


def archived(desk: Desk, command: str = "archive") -> "dict[str, Filed]":
    """The same by id; of an id that is there twice, the first."""
    found: "dict[str, Filed]" = {}
    for filed in items_of(desk, command):
        found.setdefault(filed.record.id, filed)
    return found


def reference(desk: Desk, path: Path, name: str) -> str:
    """What a hook points at: "[ref: archive/observations/2026-11-30.md#ID]"."""
    return f"[ref: {path.relative_to(desk.memory).as_posix()}#{name}]"


# archive -------------------------------------------------------------------------------------------------------------


def archive(desk: Desk, file: str, given: "str | None") -> Result:
    """Append the items of the payload that the archive does not hold yet, each as it stands in the log."""
    path = desk.file_for("archive", file)
    payload = read_payload(given)
    payload = check(
        {"items": payload} if isinstance(payload, list) else payload,
        "archive",
        "phase_2" if desk.config.dream_phase > 1 else "",
    )
    with desk.holding_memory():
        there = archived(desk)
        live = {note.id: note for note in read_notes(desk.log(), desk.night())}
        items = _once_each(payload["items"])
        refuse_any(_problem_of(item, live, there) for item in items)
        new = [item for item in items if item["id"] not in there]
        text = "".join(_render(desk, item, live[item["id"]]) for item in new)
        if new and not desk.pretends:
            file_text(desk, path, text, f"# Archived observations, {path.stem}\n\n")
    rehearse(desk, archived={item["id"]: live[item["id"]].written_importance for item in new})
    places = {item["id"]: there[item["id"]].path if item["id"] in there else path for item in items}
    return done(
        desk, path, len(new), len(items), {name: reference(desk, at, name) for name, at in places.items()}
    )


def _once_each(items: "list[dict[str, Any]]") -> "list[dict[str, Any]]":
    """The items without those that stand twice in the payload in the same words."""
    found: "dict[str, dict[str, Any]]" = {}
    for item in items:
        if found.setdefault(item["id"], item)["full_text"] != item["full_text"]:
            raise RefusedError(
                f"{item['id']} stands twice in the payload with different texts", "send it once"
            )
    return list(found.values())


def _problem_of(item: "dict[str, Any]", live: "dict[str, Note]", there: "dict[str, Filed]") -> str:
    """Why an item cannot be archived, "" when it can be or is."""
    name, filed, note = item["id"], there.get(item["id"]), live.get(item["id"])
    if filed is not None:
        entry = filed.record.entry
        says = entry.observation.text if entry and entry.observation else filed.record.text
        return "" if _is_text_of(item["full_text"], says) else f"{name} is archived with a different text"
    if note is None:
        return f"{name} is not in the log"
    if note.protected:
        return f"{name} must stay: {note.protected}"
    if not _is_text_of(item["full_text"], note.item.observation.text):
        return f"{name} has a different text in the log"
    return ""


def _is_text_of(given: str, text: str) -> bool:
    """Whether a text that an agent copied is the observation's, apart from marks, time and metadata around it."""
    if fingerprint(text) in fingerprint(given):
        return True
    return says_the_same(features(tidy(given)), features(text))


def refuse_any(problems: "Iterable[str]") -> None:
    """Raise RefusedError naming all problems when there are any."""
    found = [problem for problem in problems if problem]
    if found:
        more = f" and {len(found) - 20} more" if len(found) > 20 else ""
        raise RefusedError("; ".join(found[:20]) + more, "leave these out, or copy them from `plan`")


def _render(desk: Desk, item: "dict[str, Any]", note: Note) -> str:
    """The item as it goes into the file: text, weight, day and type are those of the log, not of the payload."""
    observation, later = note.item.observation, desk.config.dream_phase > 1
    archived_one = ArchivedObservation(
        note.id,
        note.entry.raw,
        observation.date or item["original_date"],
        note.written_importance,
        plain(item["archived_reason"]),
        desk.today if later else "",
        observation.type if later else "",
        f"{item['confidence']:g}" if later else "",
        tuple(filter(None, map(plain, item.get("hooks", ())))),
    )
    return render_observations([archived_one])


def plain(text: str) -> str:
    """A text of the payload fit for one line: secrets masked, white space and control characters made spaces."""
    return tidy(mask_secrets(text)[0])


def file_text(desk: Desk, path: Path, text: str, head: str) -> None:
    """Append to a file of the archive, whose old bytes are kept first. A file that does not end a line gets its end."""
    kept.keep(desk, kept.open_night(desk), path)
    before = read_bytes(path) or b""
    gap = "\n\n" if before and not before.endswith(b"\n") else ""
    name = path.relative_to(desk.memory).as_posix()
    file_away(desk.places, Filing({name: block_for(path, gap + text, head)}))


def done(desk: Desk, path: Path, new: int, all_of_them: int, references: "dict[str, str]") -> Result:
    """What archive and chunk tell."""
    reason = desk.pretends or ("archived" if new else "already_there")
    facts = {"path": desk.shown(path), "written": new, "already_there": all_of_them - new}
    return Result("skipped" if desk.pretends else "ok", reason, {**facts, "references": references})


# chunk ---------------------------------------------------------------------------------------------------------------


def chunk(desk: Desk, file: str, given: "str | None") -> Result:
    """Append chunks: findings that stand for three or more observations, all of which the log or the archive holds."""
    path = desk.file_for("chunk", file)
    payload = read_payload(given)
    if isinstance(payload, dict) and "chunks" not in payload:
        payload = [payload]
    payload = check({"chunks": payload} if isinstance(payload, list) else payload, "chunk")
    with desk.holding_memory():
        there, sources = archived(desk, "chunk"), archived(desk)
        live = {note.id: note for note in read_notes(desk.log(), desk.night())}
        chunks: "list[dict[str, Any]]" = payload["chunks"]
        refuse_any(_problem_of_chunk(one, live, sources, there) for one in chunks)
        new = [one for one in {one["id"]: one for one in chunks}.values() if one["id"] not in there]
        text = "".join(_render_chunk(desk, one, sources) for one in new)
        if new and not desk.pretends:
            file_text(desk, path, text, f"# Chunks, {path.stem}\n\n")
    rehearse(desk, chunked={name: one["id"] for one in new for name in one["source_ids"]})
    places = {one["id"]: there[one["id"]].path if one["id"] in there else path for one in chunks}
    return done(
        desk, path, len(new), len(chunks), {name: reference(desk, at, name) for name, at in places.items()}
    )


def _problem_of_chunk(
    one: "dict[str, Any]", live: "dict[str, Note]", sources: "dict[str, Filed]", there: "dict[str, Filed]"
) -> str:
    """Why a chunk cannot be written, "" when it can be or is."""
    name, filed, finding = one["id"], there.get(one["id"]), plain(one["finding"])
    if filed is not None:
        same = filed.record.text == finding and set(filed.record.source_ids) == set(one["source_ids"])
        return "" if same else f"{name} is there with other sources or another finding"
    if not (is_date(one["date_range_start"]) and one["date_range_start"] <= one["date_range_end"]):
        return f"{name}: its date range ends before it begins"
    unknown = [source for source in one["source_ids"] if source not in live and source not in sources]
    if unknown:
        return f"{name}: neither the log nor the archive has {', '.join(unknown[:10])}"
    fixed = [source for source in one["source_ids"] if source in live and _stays(live[source])]
    if fixed:
        return f"{name}: these must stay as they are: {', '.join(fixed[:10])}"
    texts = [live[x].text if x in live else sources[x].record.text for x in one["source_ids"]]
    invented = ground_problem(finding, texts, [one["date_range_start"], one["date_range_end"]])
    return f"{name}: its finding is not in its sources ({invented})" if invented else ""


def _stays(note: Note) -> bool:
    return note.protected in ("provisional", "critical", "rule", "goal", "never", "future")


def ground_problem(text: str, sources: "Sequence[str]", days: "Sequence[str]") -> str:
    """Why a text has a number, path, address or date that no source has; "" when it has none."""
    from datetime import date

    return read_ground(list(sources), [date.fromisoformat(day) for day in days if is_date(day)]).problem(text)


def _render_chunk(desk: Desk, one: "dict[str, Any]", sources: "dict[str, Filed]") -> str:
    lying = sorted({sources[name].path.name for name in one["source_ids"] if name in sources})
    chunk_one = Chunk(
        one["id"],
        plain(one["topic"]),
        one["date_range_start"],
        one["date_range_end"],
        one["confidence"],
        tuple(one["source_ids"]),
        ", ".join(f"archive/observations/{name}" for name in lying),
        plain(one["finding"]),
    )
    return render_chunks([chunk_one])
