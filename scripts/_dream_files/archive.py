"""archive and chunk: observations and findings appended to the archive, where they stay whatever becomes of the log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from _archive import (
    ArchivedObservation,
    Chunk,
    Record,
    block_for,
    read_records,
    reference_to,
    render_chunks,
    render_observations,
)
from _cli import Result
from _dream.notes import Note, read_notes
from _dream_files import kept
from _dream_files.desk import SHELVES, Desk, inside, is_name
from _dream_files.payload import check, read_payload
from _dream_files.rehearsal import rehearse, rehearsed
from _dream_files.wording import finding_problem, topic_problem
from _errors import RefusedError
from _files import decode, read_bytes
from _gate import mask_secrets
from _likeness import features, fingerprint, says_the_same
from _observations import Entry, children_of, is_date, parse_log, tidy
from _state import Filing, file_away, key_of


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


def archived(
    desk: Desk, command: str = "archive", live: "Mapping[str, Entry]" = MappingProxyType({})
) -> "dict[str, Filed]":
    """The same by id. Of an id that is there twice the one that says what the entry in `live` says, else the first."""
    found: "dict[str, Filed]" = {}
    for filed in items_of(desk, command):
        name = filed.record.id
        if name not in found or (
            name in live and is_copy(filed.record, live[name]) and not is_copy(found[name].record, live[name])
        ):
            found[name] = filed
    return found


def is_copy(record: Record, entry: Entry) -> bool:
    """Whether an item of the archive says all that an entry of the log says now, its children included. Items of other
    editions may have other marks around the text."""
    kept_entry = record.entry
    if kept_entry is not None:
        return key_of(kept_entry)[3:] == key_of(entry)[3:]
    says = [entry.observation.text if entry.observation else entry.raw, *children_of(entry)]
    return all(fingerprint(line) in fingerprint(record.text) for line in says)


def entries_of(log: str) -> "dict[str, Entry]":
    """The observations of a log by id."""
    return {one.observation.id: one for one in parse_log(log) if one.observation and one.observation.id}


def reference(desk: Desk, path: Path, name: str) -> str:
    """What a hook points at: "[ref: archive/observations/2026-11-30.md#ID]"."""
    return reference_to(path.relative_to(desk.memory).as_posix(), name)


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
        live = {note.id: note for note in read_notes(desk.log(), desk.night())}
        there = archived(desk, "archive", {name: note.entry for name, note in live.items()})
        items = _once_each(payload["items"])
        there = {
            name: filed for name, filed in there.items() if not _is_outdated(filed, live.get(name), path)
        }
        refuse_any(_problem_of(item, live, there) for item in items)
        new = [item for item in items if item["id"] not in there]
        text = "".join(_render(desk, item, live[item["id"]]) for item in new)
        if new and not desk.pretends:
            file_text(desk, path, text)
    rehearse(
        desk,
        archived={item["id"]: live[item["id"]].written_importance for item in new},
        hooks={item["id"]: list(filter(None, map(plain, item.get("hooks", ())))) for item in new},
    )
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
        if note is not None and not is_copy(filed.record, note.entry):
            return f"{name} was archived today with a different text: it has to stay until tomorrow"
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


def _is_outdated(filed: Filed, note: "Note | None", path: Path) -> bool:
    """Whether the archive has it in other words than the log, from a time before: then it is archived anew. Not into
    the same file, where one could not be told from the other."""
    return note is not None and filed.path != path and not is_copy(filed.record, note.entry)


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


def file_text(desk: Desk, path: Path, text: str) -> None:
    """Append to a file of the archive, whose old bytes are kept first."""
    kept.keep(desk, kept.open_night(desk), path)
    file_away(desk.places, Filing({path.relative_to(desk.memory).as_posix(): block_for(path, text)}))


def done(desk: Desk, path: Path, new: int, all_of_them: int, references: "dict[str, str]") -> Result:
    """What archive and chunk tell."""
    reason = desk.pretends or ("archived" if new else "already_there")
    facts = {"path": desk.shown(path), "written": new, "already_there": all_of_them - new}
    return Result("ok", reason, {**facts, "references": references})


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
        phrases = phrases_of(desk, sources)
        refuse_any(_problem_of_chunk(one, live, sources, there, phrases) for one in chunks)
        new = [one for one in {one["id"]: one for one in chunks}.values() if one["id"] not in there]
        text = "".join(_render_chunk(desk, one, sources) for one in new)
        if new and not desk.pretends:
            file_text(desk, path, text)
    rehearse(desk, chunked={name: one["id"] for one in new for name in one["source_ids"]})
    places = {one["id"]: there[one["id"]].path if one["id"] in there else path for one in chunks}
    return done(
        desk, path, len(new), len(chunks), {name: reference(desk, at, name) for name, at in places.items()}
    )


def _problem_of_chunk(
    one: "dict[str, Any]",
    live: "dict[str, Note]",
    sources: "dict[str, Filed]",
    there: "dict[str, Filed]",
    phrases: "Mapping[str, tuple[str, ...]]",
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
    texts = [live[x].text if x in live else _said(sources[x].record) for x in one["source_ids"]]
    invented = finding_problem(finding, texts, [one["date_range_start"], one["date_range_end"]])
    if invented:
        return f"{name}: its finding is not in its sources ({invented})"
    known = [phrase for source in one["source_ids"] for phrase in phrases.get(source, ())]
    strange = topic_problem(plain(one["topic"]), texts, known)
    return f"{name}: its topic is not in its sources ({strange})" if strange else ""


def phrases_of(desk: Desk, sources: "Mapping[str, Filed]") -> "dict[str, tuple[str, ...]]":
    """By id, the search phrases that the archive has, or in read-only mode would have."""
    noted = rehearsed(desk)["hooks"] if desk.pretends == "read_only" else {}
    found = {name: tuple(map(str, phrases)) for name, phrases in noted.items()}
    return {**found, **{name: filed.record.list_of("Hooks") for name, filed in sources.items()}}


def _said(record: Record) -> str:
    return re.sub("<!--.*?-->", "", record.text)


def _stays(note: Note) -> bool:
    return note.protected in ("provisional", "critical", "rule", "goal", "never", "future")


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
