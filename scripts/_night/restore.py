"""What was archived, brought back into the log word for word."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from _account import BY_HAND, FORGOTTEN, LIVE, Files, Standing, read_files
from _archive import LINE, OldLine, by_name, name_of_print, read_archived, read_records
from _cli import Result
from _dream import highest_in, hooked_id, without
from _dream.lines import with_id
from _dream_files.desk import Desk
from _dream_files.update import refresh
from _errors import RefusedError, UsageError
from _files import decode, read_bytes
from _forget import is_id
from _ledger import facts_of
from _memory import iso
from _observations import (
    MAX_TEXT_CHARS,
    Entry,
    is_date,
    make_observation,
    next_ids,
    parse_log,
    render_line,
)
from _state import Filing, file_away, load_state, with_entries


@dataclass(frozen=True)
class Kept:
    """An item of the archive: the file below memory/ that it lies in, and what it was in the log."""

    where: str
    entry: Entry


def restore(desk: Desk, name: str) -> Result:
    """Bring an observation back from the archive, or all those that a chunk was made of, or a line of an older
    edition's archive, which gets an id. One that is in the log stays as it is. Raises UsageError for an id that nothing
    is known of, RefusedError for one whose text is gone."""
    with desk.holding_memory():
        files = read_files(desk.places)
        older = by_name(files.older).get(name.lower() if name.lower().startswith(LINE) else name)
        if name.lower().startswith(LINE) or (older and name not in {*files.ledger, *files.archived}):
            wanted, coming = _of_older(desk, files, name.lower(), older)
        else:
            wanted = _sources(desk, files, name) if name.startswith("CHUNK-") else [name]
            coming = [(one, _find(desk, files, one)) for one in wanted if one not in files.live]
        if coming and not desk.pretends:
            _bring_back(desk, files, coming, {name, *(one for one, _kept in coming)})
            refresh(desk)
    facts = {
        "restored": len(coming),
        "ids": [one for one, _kept in coming],
        "already_there": len(wanted) - len(coming),
    }
    if desk.pretends:
        return Result("ok", desk.pretends, facts)
    return Result("ok", "restored" if coming else "already_there", facts)


def _of_older(
    desk: Desk, files: Files, name: str, line: "Optional[OldLine]"
) -> "tuple[list[str], list[tuple[str, Kept]]]":
    """A line of an older edition: the ids that it has got or gets, and what is to come. In the log it may be already,
    and have no id yet."""
    if any(name_of_print(str(one["fp"])) == name for one in files.unnamed):
        return [name], []
    if line is None:
        raise _unknown(name)
    ids = list(files.brought.get(line.fp, ()))[-1:]
    if ids:
        return ids, [(one, _find(desk, files, one)) for one in ids if one not in files.live]
    kept = _with_new_id(desk, files, line)
    return [kept[0]], [kept]


def _with_new_id(desk: Desk, files: Files, line: OldLine) -> "tuple[str, Kept]":
    """The line as it comes into the log, under an id that nobody had. Raises RefusedError for one that cannot be put
    there."""
    found = line.entry.observation
    day = found.date if found and found.date else desk.today
    used = [*files.live, *files.ledger, *files.archived]
    (new,) = next_ids(day, 1, used, load_state(desk.places).highest.get(day, 0))
    entry = line.entry if found else _made("", line.entry.raw)
    entry = with_id(entry, new) if entry else None
    if entry is None:
        raise RefusedError("this line cannot be an observation", f"copy it from memory/{line.where} by hand")
    return new, Kept(line.where, entry)


def _sources(desk: Desk, files: Files, name: str) -> "list[str]":
    """The observations that a chunk was made of."""
    where = files.chunks.get(name)
    if where is None:
        raise _unknown(name)
    records = read_records(decode(read_bytes(desk.memory / where) or b""))
    return list(next(record for record in records if record.id == name).source_ids)


def _unknown(name: str) -> UsageError:
    """Errors stand in the log, and what somebody typed instead of an id may be what was to be forgotten: so it is not
    in it."""
    what = repr(name) if is_id(name) else "what was given instead of an id"
    return UsageError(
        f"nothing is known of {what}",
        "ids look like OBS-20261130-001 or CHUNK-20261130-001; recall.py search finds them",
    )


def _find(desk: Desk, files: Files, name: str) -> Kept:
    """The item as the archive has it: where the ledger says, else the newest file that holds it."""
    known: "Optional[Standing]" = files.ledger.get(name)
    places = files.archived.get(name, ())
    if known is None and not places:
        raise _unknown(name)
    order = [known.where] if known and known.where in places else []
    for where in [*order, *reversed(places)]:
        entry = _entry_in(desk.memory / where, name)
        if entry is not None:
            return Kept(where, entry)
    if known and is_id(known.into):
        raise RefusedError(f"it is {known.into} now", f"run: dream_cycle.py restore {known.into}")
    raise _without_text(name if is_id(name) else "what was asked for", known)


def _without_text(what: str, known: "Optional[Standing]") -> RefusedError:
    """The error for one whose text is nowhere. Where it was forgotten, the backups have lost it too."""
    if known and known.state == FORGOTTEN and known.why != BY_HAND:
        return RefusedError(
            f"{what} was forgotten: its text is in no file of memory", "what is forgotten does not come back"
        )
    backup = "a backup of observations.md may have it"
    if known and known.state == LIVE:
        accept = "if a person meant to: python3 scripts/dream_cycle.py account --accept"
        return RefusedError(
            f"{what} is gone: its line is in no file (deleted by hand?)", f"{backup}; {accept}"
        )
    why = f"{known.state}: {known.why}" if known else "its file is damaged"
    return RefusedError(f"the text of {what} is nowhere in the archive ({why})", backup)


def _entry_in(path: Path, name: str) -> Optional[Entry]:
    text = decode(read_bytes(path) or b"")
    found: "list[tuple[str, str]]" = []
    if path.parent.name == "reflections":
        found = [(item.date, item.raw) for item in read_archived(text) if item.id == name]
    else:
        found = [
            (one.fields.get("Original date", ""), one.text) for one in read_records(text) if one.id == name
        ]
    for day, raw in reversed(found):
        entry = _as_entry(day, raw) or _made(day, raw)
        if entry is not None and entry.observation is not None:
            return entry if entry.observation.id == name else with_id(entry, name)
    return None


def _as_entry(day: str, raw: str) -> Optional[Entry]:
    head = f"Date: {day}\n" if is_date(day) else ""
    found = [entry for entry in parse_log(head + raw) if entry.kind != "date"]
    return found[0] if len(found) == 1 and found[0].observation else None


def _made(day: str, raw: str) -> Optional[Entry]:
    """An entry for a text that another edition archived without its bullet: its first line, with the rest below."""
    first, *under = raw.strip("\n").split("\n")
    made = make_observation(
        first, date=day if is_date(day) else "", max_chars=max(len(first), MAX_TEXT_CHARS)
    )
    below = (f"  {line.strip()}" for line in under if line.strip())
    return _as_entry(day, "\n".join([render_line(made), *below])) if made else None


def _bring_back(desk: Desk, files: Files, coming: "list[tuple[str, Kept]]", names: "set[str]") -> None:
    """Put the entries at the end of the log, under their days, and take the hook lines for these ids out of it."""
    log, at = desk.log(), iso(desk.run.now)
    entries = parse_log(log)
    hooks = [position for position, entry in enumerate(entries) if hooked_id(entry) in names]
    ordered = sorted(
        coming, key=lambda one: one[1].entry.observation.date if one[1].entry.observation else ""
    )
    new = with_entries(without(entries, hooks), [kept.entry for _name, kept in ordered])
    rows = []
    for name, kept in ordered:
        if name not in files.ledger:
            found = kept.entry.observation
            rows.append({"e": "adopted", "at": at, "id": name, **(facts_of(found) if found else {})})
        rows.append({"e": "restored", "at": at, "id": name, "from": kept.where})
    given = highest_in(name for name, _kept in coming)
    file_away(desk.places, Filing(log=(log, new), rows=tuple(rows), highest=given))
