"""archive and chunk: observations and findings appended to the archive, where they stay whatever becomes of the log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from _dream_files.payload import Inspection, inspect, read_payload
from _dream_files.phrases import phrases_for, synonyms_of
from _dream_files.rehearsal import rehearse, rehearsed
from _dream_files.wording import finding_problems, topic_problem, untold_sources
from _files import decode, read_bytes
from _gate import mask_secrets
from _hooks import Synonyms
from _likeness import features, fingerprint, says_the_same
from _observations import Entry, children_of, parse_log, text_of, tidy
from _state import Filing, file_away, key_of

_LEAVE_OUT = "leave these out, or copy them from `plan`"


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
    says = [text_of(entry) or entry.raw, *children_of(entry)]
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
    payload, phase = read_payload(given), desk.config.dream_phase
    payload = {"items": payload} if isinstance(payload, list) else payload
    found = inspect(payload, "archive", "phase_2" if phase > 1 else "")
    with desk.holding_memory():
        live = {note.id: note for note in read_notes(desk.log(), desk.night())}
        there = archived(desk, "archive", {name: note.entry for name, note in live.items()})
        there = {
            name: filed for name, filed in there.items() if not _is_outdated(filed, live.get(name), path)
        }
        found.refusals += _problems_of_items(found.entries("items"), live, there)
        items = {item["id"]: item for item in found.passed(_LEAVE_OUT)["items"]}
        new = [item for name, item in items.items() if name not in there]
        table = synonyms_of(desk) if new else Synonyms()
        phrases = {
            item["id"]: phrases_for(live[item["id"]], item.get("hooks", ()), phase, table) for item in new
        }
        text = "".join(_render(desk, item, live[item["id"]], phrases[item["id"]].texts) for item in new)
        if new and not desk.pretends:
            file_text(desk, path, text)
    rehearse(
        desk,
        archived={name: live[name].written_importance for name in phrases},
        hooks={name: list(one.texts) for name, one in phrases.items()},
    )
    counts = {
        "hooks_added": sum(one.added for one in phrases.values()),
        "hooks_left_out": sum(one.left_out for one in phrases.values()),
    }
    return done(
        desk, path, len(new), {name: there[name].path if name in there else path for name in items}, counts
    )


def _problems_of_items(
    entries: "Iterable[tuple[str, Any]]", live: "dict[str, Note]", there: "dict[str, Filed]"
) -> "Iterator[tuple[str, str]]":
    """(path, why) for all that keeps items from being archived; of each, what fits the schema is judged."""
    texts: "dict[str, str]" = {}
    for path, item in entries:
        name, text = item.get("id"), item.get("full_text")
        if name is None:
            continue
        if text is not None and texts.setdefault(name, text) != text:
            yield path, f"{name} stands twice in the payload with different texts"
        yield from ((path, problem) for problem in _problems_of(name, text, live, there))


def _problems_of(
    name: str, text: "str | None", live: "dict[str, Note]", there: "dict[str, Filed]"
) -> "Iterator[str]":
    """Why an item cannot be archived; nothing when it can be or is. `text` is None where it does not fit the schema."""
    filed, note = there.get(name), live.get(name)
    if filed is not None:
        entry = filed.record.entry
        says = entry.observation.text if entry and entry.observation else filed.record.text
        if note is not None and not is_copy(filed.record, note.entry):
            yield f"{name} was archived today with a different text: it has to stay until tomorrow"
        elif text is not None and not _is_text_of(text, says):
            yield f"{name} is archived with a different text"
        return
    if note is None:
        yield f"{name} is not in the log"
        return
    if note.protected:
        yield f"{name} must stay: {note.protected}"
    if text is not None and not _is_text_of(text, note.item.observation.text):
        yield f"{name} has a different text in the log"


def _is_outdated(filed: Filed, note: "Note | None", path: Path) -> bool:
    """Whether the archive has it in other words than the log, from a time before: then it is archived anew. Not into
    the same file, where one could not be told from the other."""
    return note is not None and filed.path != path and not is_copy(filed.record, note.entry)


def _is_text_of(given: str, text: str) -> bool:
    """Whether a text that an agent copied is the observation's, apart from marks, time and metadata around it."""
    if fingerprint(text) in fingerprint(given):
        return True
    return says_the_same(features(tidy(given)), features(text))


def _render(desk: Desk, item: "dict[str, Any]", note: Note, phrases: "tuple[str, ...]") -> str:
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
        phrases,
    )
    return render_observations([archived_one])


def plain(text: str) -> str:
    """A text of the payload fit for one line: secrets masked, white space and control characters made spaces."""
    return tidy(mask_secrets(text)[0])


def file_text(desk: Desk, path: Path, text: str) -> None:
    """Append to a file of the archive, whose old bytes are kept first."""
    kept.keep(desk, kept.open_night(desk), path)
    file_away(desk.places, Filing({path.relative_to(desk.memory).as_posix(): block_for(path, text)}))


def done(
    desk: Desk,
    path: Path,
    new: int,
    places: "Mapping[str, Path]",
    counts: "Mapping[str, int]" = MappingProxyType({}),
) -> Result:
    """What archive and chunk tell; `places` are the files in which the items lie now."""
    reason = desk.pretends or ("archived" if new else "already_there")
    facts = {"path": desk.shown(path), "written": new, "already_there": len(places) - new, **counts}
    references = {name: reference(desk, at, name) for name, at in places.items()}
    return Result("ok", reason, {**facts, "references": references})


# chunk ---------------------------------------------------------------------------------------------------------------


def chunk(desk: Desk, file: str, given: "str | None") -> Result:
    """Append chunks: findings that stand for three or more observations, all of which the log or the archive holds."""
    path = desk.file_for("chunk", file)
    payload = read_payload(given)
    if isinstance(payload, dict) and "chunks" not in payload:
        payload = [payload]
    found = inspect({"chunks": payload} if isinstance(payload, list) else payload, "chunk")
    with desk.holding_memory():
        sources = archived(desk)
        live = {note.id: note for note in read_notes(desk.log(), desk.night())}
        shelves = _Shelves(live, sources, archived(desk, "chunk"), phrases_of(desk, sources))
        found.refusals += _problems_of_chunks(found, shelves)
        chunks = {one["id"]: one for one in found.passed(_LEAVE_OUT)["chunks"]}
        there = shelves.chunks
        new = [one for name, one in chunks.items() if name not in there]
        text = "".join(_render_chunk(desk, one, sources) for one in new)
        if new and not desk.pretends:
            file_text(desk, path, text)
    rehearse(desk, chunked={name: one["id"] for one in new for name in one["source_ids"]})
    return done(desk, path, len(new), {name: there[name].path if name in there else path for name in chunks})


@dataclass(frozen=True)
class _Shelves:
    """What chunks are judged by: the log, the archives of observations and of chunks, and search phrases by id."""

    live: "Mapping[str, Note]"
    sources: "Mapping[str, Filed]"
    chunks: "Mapping[str, Filed]"
    phrases: "Mapping[str, tuple[str, ...]]"

    def says(self, name: str) -> str:
        """The text of a source that is there."""
        return self.live[name].text if name in self.live else _said(self.sources[name].record)


def _problems_of_chunks(found: Inspection, shelves: _Shelves) -> "Iterator[tuple[str, str]]":
    """(path, why) for all that keeps chunks from being written; of each, what fits the schema is judged."""
    known: "dict[str, Any]" = {}
    for path, one in found.entries("chunks"):
        name = one.get("id", path)
        if known.setdefault(name, one) != one:
            yield path, f"{name} stands twice in the payload with different findings"
        is_cut = any(fault.startswith(f"{path}.source_ids") for fault, _problem in found.faults)
        yield from ((path, f"{name}: {problem}") for problem in _problems_of_chunk(one, shelves, is_cut))


def _problems_of_chunk(one: "Mapping[str, Any]", shelves: _Shelves, is_cut: bool) -> "Iterator[str]":
    """Why a chunk cannot be written; nothing when it can be or is. `is_cut`: not all of its sources can be read."""
    filed, names = shelves.chunks.get(one.get("id", "")), one.get("source_ids", [])
    if filed is not None:
        same = plain(one.get("finding", filed.record.text)) == filed.record.text
        if not same or (not is_cut and set(names) != set(filed.record.source_ids)):
            yield "it is there with other sources or another finding"
        return
    first, last = one.get("date_range_start"), one.get("date_range_end")
    if first and last and first > last:
        yield "its date range ends before it begins"
    unknown = [name for name in names if name not in shelves.live and name not in shelves.sources]
    if unknown:
        yield f"neither the log nor the archive has {', '.join(unknown)}"
    fixed = [name for name in names if name in shelves.live and _stays(shelves.live[name])]
    if fixed:
        yield f"these must stay as they are: {', '.join(fixed)}"
    there = [name for name in names if name not in unknown]
    if is_cut or unknown:  # what a source says that was meant is no invention
        yield from _invented(one, [*there, *shelves.live], "the log or its sources", shelves)
    else:
        yield from _invented(one, there, "its sources", shelves)
        untold = untold_sources(plain(one.get("finding", "")), [shelves.says(name) for name in there])
        if "finding" in one and untold:
            yield f"its finding does not tell what these say: {', '.join(there[place] for place in untold)}"


def _invented(
    one: "Mapping[str, Any]", names: "Sequence[str]", them: str, shelves: _Shelves
) -> "Iterator[str]":
    """What a chunk says that none of the observations with these ids says; `them` is what to call those."""
    texts = [shelves.says(name) for name in names]
    days = [one[name] for name in ("date_range_start", "date_range_end") if name in one]
    invented = ", ".join(finding_problems(plain(one.get("finding", "")), texts, days))
    if invented:
        yield f"its finding is not in {them} ({invented})"
    known = [phrase for name in names for phrase in shelves.phrases.get(name, ())]
    strange = topic_problem(plain(one.get("topic", "")), texts, known)
    if strange:
        yield f"its topic is not in {them} ({strange})"


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
