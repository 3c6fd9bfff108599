"""The account of memory: every observation ever written is live, merged, archived, chunked or forgotten, and is where
the ledger says. Proved from the files alone: the log, the ledger, the archives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from _archive import OLD_ARCHIVES, OldLine, name_of_print, read_archived, read_old_lines, read_records
from _dream.weight import CRITICAL_FROM
from _files import decode, names_in, read_bytes
from _hooks import read_hook_line
from _ledger import facts_of, is_observation_id, read_ledger, sha_of
from _observations import Entry, observations_in, parse_log
from _state import Places

LIVE, MERGED, ARCHIVED, CHUNKED, FORGOTTEN = STATES = ("live", "merged", "archived", "chunked", "forgotten")
# What a row of the ledger makes of the observation that it names.
_STATE_AFTER: Mapping[str, str] = {
    "observed": LIVE,
    "adopted": LIVE,
    "restored": LIVE,
    "removed": MERGED,
    "merged": MERGED,
    "archived": ARCHIVED,
    "chunked": CHUNKED,
    "forgotten": FORGOTTEN,
}
LEAVES = frozenset(event for event, state in _STATE_AFTER.items() if state != LIVE)
# Gone at once, this is no tidying up by hand: more observations than so many and than such a share of all that were
# live; or half of them, unless it is only one. What is critical is never taken for tidied up.
GONE_AT_LEAST, GONE_SHARE = 10, 0.25
GONE_HALF, MAY_GO = 0.5, 1
BY_HAND, PUT_BACK, REWRITTEN, FOUND = (
    "deleted by hand",
    "put back by hand",
    "written anew by hand",
    "found in the archive",
)


@dataclass(frozen=True)
class Standing:
    """What the ledger says of one observation: its state, since when, why, which file below memory/ holds it, and the
    id it went into. `departures` counts how often it left; `fp` is the beginning of its fingerprint's SHA-256, `sha`
    that of the whole text that left, "" where whoever took it out did not write it down."""

    state: str
    at: str
    why: str = ""
    where: str = ""
    into: str = ""
    departures: int = 0
    fp: str = ""
    importance: float = 0.0
    sha: str = ""


@dataclass(frozen=True)
class Fault:
    """One thing that does not add up. `kind` is "gone" (live, but not in the log; or a line that an older edition's
    archive had, which `where` names then), "two_states" (in the log, although it left), "live_twice", "live_unknown"
    and "archive_unknown" (the ledger knows nothing of it), "not_in_archive", "altered" (it lies there, but without the
    text that left), "forgotten_there" (the archive has what was forgotten, in a file put back from a copy),
    "chunk_missing", "archived_twice", "dangling_ref" (a hook line of the log points at nothing), or "no_ledger" (with
    `id` "": the log is ours, and nothing says what was)."""

    kind: str
    id: str
    where: str = ""


@dataclass(frozen=True)
class Files:
    """What the files hold. `live` are the ids in the log with how often, `facts` what the ledger keeps of
    them, `unnamed` the same of the lines without id, `archived` by id the files below memory/ that
    hold it (one for each time), `shas` by id those of its texts there, without those that are empty, `chunks` by chunk
    id the file, `refs` the (file, id) that the hook lines of the log point at. `older` are the lines of an older
    edition's archives, `noted` the files by the prints of those that the ledger has seen there, and `brought` the ids
    that such lines have got when they were brought back, by their prints."""

    ledger: "Mapping[str, Standing]"
    live: "Mapping[str, int]"
    facts: "Mapping[str, Mapping[str, Any]]"
    unnamed: "Sequence[Mapping[str, Any]]"
    archived: "Mapping[str, tuple[str, ...]]"
    shas: "Mapping[str, frozenset[str]]"
    chunks: "Mapping[str, str]"
    refs: "Sequence[tuple[str, str]]"
    began: str
    older: "Sequence[OldLine]" = ()
    noted: "Mapping[str, Sequence[str]]" = field(default_factory=dict)
    brought: "Mapping[str, Sequence[str]]" = field(default_factory=dict)


@dataclass(frozen=True)
class Account:
    """How many observations are in which state, and all that does not add up. `without_id` are live ones that no night
    has touched yet; `of_others` lie in archives that another edition wrote."""

    counts: "Mapping[str, int]"
    without_id: int = 0
    of_others: int = 0
    faults: "tuple[Fault, ...]" = field(default_factory=tuple)

    @property
    def is_whole(self) -> bool:
        return not self.faults


def standings(rows: "Iterable[Mapping[str, Any]]") -> "dict[str, Standing]":
    """The last word of the ledger on each observation."""
    found: "dict[str, Standing]" = {}
    for row in rows:
        state, name = _STATE_AFTER.get(str(row.get("e")), ""), row.get("id")
        if not state or not isinstance(name, str):
            continue
        before = found.get(name)
        left = (before.departures if before else 0) + (state in (MERGED, ARCHIVED, CHUNKED))
        importance = row.get("importance", before.importance if before else 0.0)
        found[name] = Standing(
            state,
            str(row.get("at", "")),
            str(row.get("why", "")),
            str(row.get("in", "")),
            str(row.get("into", "")),
            left,
            str(row.get("fp") or (before.fp if before else "")),
            float(importance) if isinstance(importance, (int, float)) else 0.0,
            str(row.get("sha", "")) if state != LIVE else "",
        )
    return found


def read_files(places: Places) -> Files:
    """All that the account is made from; the caller holds the memory lock, or nobody writes."""
    memory = places.observations.parent
    entries = parse_log(decode(read_bytes(places.observations) or b""))
    log = observations_in(entries)
    rows = list(read_ledger(places.ledger))
    archived: "dict[str, tuple[str, ...]]" = {}
    shas: "dict[str, frozenset[str]]" = {}
    chunks: "dict[str, str]" = {}
    known = {str(row.get("id")) for row in rows}
    for where, content in _archive_files(memory):
        for name, text in _items_in(where, content):
            if name.startswith("CHUNK-"):
                chunks[name] = where
                continue
            if not is_observation_id(name) and name not in known:
                continue  # a heading of a person's own, or what another edition numbered otherwise
            archived[name] = (*archived.get(name, ()), where)
            if text.strip():
                shas[name] = shas.get(name, frozenset()) | {sha_of(text)}
    began = next((str(row.get("at", ""))[:10] for row in rows if row.get("at")), "")
    live = Counter(found.id for found in log if found.id)
    facts = {found.id: facts_of(found) for found in log if found.id}
    unnamed = [facts_of(found) for found in log if not found.id]
    refs, ledger, older = _refs_of(entries), standings(rows), read_old_lines(memory)
    noted, brought = _noted_in(rows), _brought_back(rows, ledger)
    return Files(ledger, live, facts, unnamed, archived, shas, chunks, refs, began, older, noted, brought)


def _noted_in(rows: "Iterable[Mapping[str, Any]]") -> "dict[str, list[str]]":
    """By print, the files in which the ledger has seen lines of an older edition, once for each line. One that was
    forgotten has no print any more."""
    found: "dict[str, list[str]]" = {}
    for row in rows:
        if row.get("fp") and row.get("e") == "noted":
            found.setdefault(str(row["fp"]), []).append(str(row.get("in", "")))
        elif row.get("e") == "let_go" and found.get(str(row.get("fp"))):
            places = found[str(row["fp"])]
            places.remove(row["in"] if row.get("in") in places else places[-1])
    return found


def _brought_back(
    rows: "Iterable[Mapping[str, Any]]", ledger: "Mapping[str, Standing]"
) -> "dict[str, list[str]]":
    """By print, the ids that lines of an older edition have got in the log."""
    found: "dict[str, list[str]]" = {}
    for row in rows:
        name = str(row.get("id", ""))
        if row.get("e") == "restored" and row.get("from") in OLD_ARCHIVES and ledger[name].fp:
            found.setdefault(ledger[name].fp, []).append(name)
    return found


def _archive_files(memory: Path) -> "Iterable[tuple[str, str]]":
    for folder in ("observations", "chunks", "reflections"):
        place = memory / "archive" / folder
        for name in names_in(place):
            if name.endswith(".md"):
                yield f"archive/{folder}/{name}", decode(read_bytes(place / name) or b"")


def _items_in(where: str, content: str) -> "Iterable[tuple[str, str]]":
    """The ids and texts of an archive file."""
    if where.startswith("archive/reflections/"):
        return ((item.id, item.raw) for item in read_archived(content))
    return ((record.id, record.text) for record in read_records(content))


def _refs_of(entries: "Sequence[Entry]") -> "list[tuple[str, str]]":
    """What the hook lines point at, as far as it could be ours."""
    hooks = [read_hook_line(entry.raw) for entry in entries if entry.kind == "hook"]
    return [(hook.file, hook.id) for hook in hooks if hook and hook.id.startswith(("OBS-", "CHUNK-"))]


def account_of(files: Files) -> Account:
    """The account, and everything that does not add up."""
    faults = [*_faults_of_ledger(files), *_faults_of_log(files), *_faults_of_archive(files)]
    faults += [Fault("gone", name_of_print(fp), where) for fp, where in _older_lines_gone(files)]
    counts = Counter(found.state for found in files.ledger.values())
    counts[LIVE] += len(files.unnamed) + sum(name not in files.ledger for name in files.live)
    others = [name for name in files.archived if name not in files.ledger and _is_older(files, name)]
    of_others = len(others) + sum(line.is_note and line.fp not in files.brought for line in files.older)
    counts[ARCHIVED] += of_others
    told = {state: counts[state] for state in STATES}
    return Account(
        told, len(files.unnamed), of_others, tuple(sorted(faults, key=lambda one: (one.kind, one.id)))
    )


def _older_lines_gone(files: Files) -> "list[tuple[str, str]]":
    """Print and file of the lines of an older edition that the ledger has seen and that are there no more."""
    found = []
    by_print: "dict[str, Counter[str]]" = {}
    for line in files.older:
        if line.is_note:
            by_print.setdefault(line.fp, Counter())[line.where] += 1
    for fp, places in files.noted.items():
        there = by_print.get(fp, Counter())
        missing = Counter(places) - there
        moved = sum((there - Counter(places)).values())  # to the other file, which is no loss
        found += [(fp, where) for where in list(missing.elements())[moved:]]
    return found


def _older_lines_new(files: Files) -> "list[OldLine]":
    """The lines of an older edition that the ledger has not seen yet."""
    seen = Counter({fp: len(places) for fp, places in files.noted.items()})
    found = []
    for line in files.older:
        seen[line.fp] -= line.is_note
        found += [line] if line.is_note and seen[line.fp] < 0 else []
    return found


def _is_older(files: Files, name: str) -> bool:
    """Whether an archived item was archived before the ledger began."""
    days = [where.rsplit("/", 1)[1][:10] for where in files.archived[name]]
    return not files.began or all(day < files.began for day in days)


def _faults_of_ledger(files: Files) -> "Iterable[Fault]":
    for name, found in files.ledger.items():
        if found.state == LIVE:
            if name not in files.live:
                yield Fault("gone", name, "observations.md")
            continue
        if name in files.live:
            yield Fault("two_states", name, found.state)
        if found.state == FORGOTTEN and found.why != BY_HAND and name in files.archived:
            yield Fault("forgotten_there", name, files.archived[name][-1])
        if found.where and found.where not in files.archived.get(name, ()):
            yield Fault("not_in_archive", name, found.where)
        elif found.where and not _has_text(files.shas.get(name, frozenset()), found.sha):
            yield Fault("altered", name, found.where)
        if found.state == CHUNKED and found.into not in files.chunks:
            yield Fault("chunk_missing", name, found.into)


def _has_text(shas: "frozenset[str]", sha: str) -> bool:
    """Whether the text that left is among those of the archive; any at all where nobody wrote down which it was."""
    return sha in shas if sha else bool(shas)


def _faults_of_log(files: Files) -> "Iterable[Fault]":
    if not files.began and (files.live or files.refs):
        yield Fault("no_ledger", "", ".total-recall/ledger.jsonl")
    for where, name in files.refs:
        if where not in files.archived.get(name, ()) and files.chunks.get(name) != where:
            yield Fault("dangling_ref", name, where)
    for name, times in files.live.items():
        if times > 1:
            yield Fault("live_twice", name, "observations.md")
        if name not in files.ledger and files.began:
            yield Fault("live_unknown", name, "observations.md")


def _faults_of_archive(files: Files) -> "Iterable[Fault]":
    for name, places in files.archived.items():
        known = files.ledger.get(name)
        if known is None:
            if not _is_older(files, name):
                yield Fault("archive_unknown", name, places[-1])
        # In another file it may lie too: a night that was given up leaves behind what it had archived.
        elif max(Counter(places).values()) > max(1, known.departures):
            yield Fault("archived_twice", name, places[-1])


# Mending -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mending:
    """Rows that make the ledger whole again after what people and other programs did to the files. `gone` are ids that
    vanished and are not written off: they are critical, or too many at once."""

    rows: "tuple[dict[str, Any], ...]"
    gone: "tuple[str, ...]" = ()


def _not_meant(files: Files, vanished: "Sequence[str]") -> "set[str]":
    """Of what vanished at once, that which a person may not have meant to delete."""
    live, gone = sum(found.state == LIVE for found in files.ledger.values()), len(vanished)
    is_half = gone > MAY_GO and gone >= GONE_HALF * live
    if is_half or (gone > GONE_AT_LEAST and gone > GONE_SHARE * live):
        return set(vanished)
    return {name for name in vanished if files.ledger[name].importance >= CRITICAL_FROM}


def mend(files: Files, at: str, accept: bool = False) -> Mending:
    """What to add to the ledger. What vanished from the log was deleted by hand, unless it is critical, or a large part
    of the log at once: that is left to a person, who may `accept` it."""
    # Where the ledger is lost it begins now, and what lies in the archive of today is ours.
    faults = account_of(replace(files, began=files.began or at[:10])).faults
    by_kind: "dict[str, list[Fault]]" = {}
    for fault in faults:
        by_kind.setdefault(fault.kind, []).append(fault)
    prints = Counter(str(one["fp"]) for one in files.unnamed)
    rows: "list[dict[str, Any]]" = []
    vanished = []
    missing = [one for one in by_kind.get("gone", ()) if one.where not in OLD_ARCHIVES]
    for fault in (*missing, *by_kind.get("not_in_archive", ())):
        fp = files.ledger[fault.id].fp
        if fp and prints[fp]:
            prints[fp] -= 1
            rows.append(
                {"e": "merged", "at": at, "id": fault.id, "into": "", "into_fp": fp, "why": REWRITTEN}
            )
        elif fault.kind == "gone" and fault.id in files.archived:
            # The ledger is an older one than the archive.
            where = files.archived[fault.id][-1]
            rows.append({"e": "archived", "at": at, "id": fault.id, "why": FOUND, "in": where})
        elif fault.kind == "gone":
            vanished.append(fault.id)
    left: "set[str]" = set() if accept else _not_meant(files, vanished)
    meant = [name for name in vanished if name not in left]
    rows += [{"e": "forgotten", "at": at, "id": name, "why": BY_HAND} for name in meant]
    for fault in by_kind.get("two_states", ()):
        rows.append({"e": "restored", "at": at, "id": fault.id, "from": "", "why": PUT_BACK})
    rows += [
        {"e": "adopted", "at": at, "id": name, **files.facts[name]}
        for name in files.live
        if name not in files.ledger
    ]
    for fault in by_kind.get("archive_unknown", ()):
        if fault.id not in files.live:
            rows.append({"e": "adopted", "at": at, "id": fault.id})
            rows.append({"e": "archived", "at": at, "id": fault.id, "why": FOUND, "in": fault.where})
    rows += _rows_of_older_lines(files, at, accept)
    if not files.began and files.refs and not rows:
        rows.append({"e": "begun", "at": at})
    return Mending(tuple(rows), tuple(sorted(left)))


def _rows_of_older_lines(files: Files, at: str, accept: bool) -> "list[dict[str, Any]]":
    """Which lines of an older edition are there, so that it is noticed when one goes; and, where a person accepts it,
    which went. Their words stand here by their print alone, which goes when they are forgotten."""
    rows: "list[dict[str, Any]]" = [
        {"e": "noted", "at": at, "in": line.where, "fp": line.fp} for line in _older_lines_new(files)
    ]
    gone = _older_lines_gone(files) if accept else []
    return rows + [{"e": "let_go", "at": at, "in": where, "fp": fp, "why": BY_HAND} for fp, where in gone]
