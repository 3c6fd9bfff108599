"""update-observations: the log replaced by a draft of it, when the draft accounts for every observation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from _account import LIVE, PUT_BACK, read_files, standings
from _archive import Archived, Block, block_for, render_archived
from _cli import Result
from _dream import hooked_id, without
from _dream.lines import with_id
from _dream.notes import read_notes
from _dream_files import kept
from _dream_files.accounts import ARCHIVED, BY, CHUNKED, MERGED, Account, Departure, Shelves, account
from _dream_files.archive import Filed, archived, entries_of, is_copy, phrases_of
from _dream_files.desk import Desk, inside
from _dream_files.kept import Snapshot
from _dream_files.rehearsal import rehearse, rehearsed
from _dream_files.taken import asked_back
from _errors import ConfigError, RefusedError
from _files import decode, encode, read_bytes
from _ledger import facts_of, read_ledger, sha_of
from _memory import iso, refresh_brief
from _observations import Entry, estimate_tokens, next_ids, observations_in, parse_log, render_line
from _state import Filing, file_away, key_of, load_state, redrafted, save_state

MAX_DRAFT_BYTES = 20_000_000
_SHOWN = 50


def update_observations(desk: Desk, file: str) -> Result:
    """Replace observations.md by the draft; whatever others did to it since preflight stays done."""
    path = desk.file_for("update-observations", file)
    draft = read_draft(path)
    with desk.holding_memory():
        night = kept.open_night(desk)
        base, current = decode(night.bytes_of(kept.LOG) or b""), desk.log()
        shelves = shelves_of(desk, base)
        told = account(base, current, draft, shelves, desk.night())
        refuse_unaccounted(told)
        draft, highest = _with_merged_lines(desk, draft, told, current)
        staying = _staying(desk, night, told.departures, base, current)
        seen, draft = _let_stay(base, draft, current, staying)
        new = _with_ends_of(current, redrafted(seen, draft, current))
        leaving = _still_there(told.departures, current, new)
        new, adopted, highest = _with_own_ids(desk, new, leaving, highest)
        change = _filing(desk, base, current, new, leaving, told, highest, night.name)
        change = replace(change, rows=(*change.rows, *adopted, *_put_back(desk, staying, current)))
        if not desk.pretends:
            if new != current or change.rows:
                file_away(desk.places, change)
            refresh(desk)
    rehearse(desk, tokens=estimate_tokens(new))
    return _tell(desk, current, new, leaving, change)


def read_draft(path: Path) -> str:
    """The text of a draft. Raises RefusedError for one that is empty, damaged or too large, ConfigError for none."""
    data = read_bytes(path)
    if data is None:
        raise ConfigError(f"{path} is not there", "draft the new log in the file that preflight names")
    if not data.strip() or b"\0" in data or len(data) > MAX_DRAFT_BYTES:
        raise RefusedError(f"{path} is no log: empty, damaged or too large", "nothing was changed")
    return decode(data)


def refuse_unaccounted(told: Account) -> None:
    """Raise RefusedError naming all that is wrong."""
    problems = list(told.problems)
    if told.unaccounted:
        shown = ", ".join(told.unaccounted[:_SHOWN])
        more = f" and {len(told.unaccounted) - _SHOWN} more" if len(told.unaccounted) > _SHOWN else ""
        problems.insert(0, f"neither kept, archived, chunked nor merged: {shown}{more}")
    if problems:
        more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        raise RefusedError(
            "; ".join(problems[:_SHOWN]) + more,
            "put these lines back, or archive them first; nothing was changed",
        )


def shelves_of(desk: Desk, base: str) -> Shelves:
    """What the archive holds, and what a night in read-only mode would have put there of the log `base`."""
    noted = rehearsed(desk) if desk.pretends == "read_only" else {"archived": {}, "chunked": {}}
    today = f"{desk.today}.md"
    chunks = archived(desk, "chunk")
    chunk_of = {name: found.record.id for found in chunks.values() for name in found.record.source_ids}
    chunk_of.update(noted["chunked"])
    entries = entries_of(base)
    there = {**archived(desk, "archive", entries), **chunks}
    live = {one.id: one for one in observations_in(parse_log(base)) if one.id}
    phrases = phrases_of(desk, there)

    def text_of(name: str) -> str:
        if name in there:
            record = there[name].record
            when = record.fields.get("Original date", record.fields.get("Date range", ""))
            return f"{record.fields.get('Topic', '')}\n{re.sub('<!--.*?-->', '', record.text)}\n{when}"
        sources = [name, *(source for source, chunk in chunk_of.items() if chunk == name)]
        return "\n".join(f"{live[one].text}\n{live[one].date}" for one in sources if one in live)

    def phrases_for(name: str) -> "tuple[str, ...]":
        parts = [one for one, chunk in chunk_of.items() if chunk == name]
        return tuple(phrase for one in (name, *parts) for phrase in phrases.get(one, ()))

    def holds(entry: Entry) -> bool:
        name = entry.observation.id if entry.observation else ""
        return name in noted["archived"] or (name in there and is_copy(there[name].record, entry))

    return Shelves(
        {
            **{name: f"archive/observations/{today}" for name in noted["archived"]},
            **{
                name: f"archive/observations/{found.path.name}"
                for name, found in there.items()
                if name not in chunks
            },
        },
        {
            **{name: f"archive/chunks/{today}" for name in noted["chunked"].values()},
            **{name: f"archive/chunks/{found.path.name}" for name, found in chunks.items()},
        },
        chunk_of,
        text_of,
        phrases_for,
        holds,
    )


def refresh(desk: Desk) -> None:
    """Make brief.txt anew; the caller holds the memory lock."""
    state = load_state(desk.places)
    _words, made_from = refresh_brief(desk.places, state)
    save_state(desk.places, state._replace(brief_of=made_from))


def _with_merged_lines(desk: Desk, draft: str, told: Account, current: str) -> "tuple[str, dict[str, int]]":
    """The draft with each merged line as the gate made it, under the id that it has in the log, or a new one."""
    if not told.merged:
        return draft, {}
    entries = parse_log(draft)
    raws = [entry.raw for entry in entries]
    there = {key_of(entry): entry.raw for entry in parse_log(current)}
    used = [
        found.id for found in (*observations_in(parse_log(current)), *observations_in(entries)) if found.id
    ]
    highest = dict(load_state(desk.places).highest)
    for position, (new, sources) in sorted(told.merged.items()):
        day = f"Date: {new.date}\n" if new.date else ""
        alike = next(key_of(entry) for entry in parse_log(day + render_line(new)) if entry.observation)
        if alike in there:
            named = next(iter(observations_in(parse_log(day + there[alike]))))
        else:
            name = next_ids(new.date or desk.today, 1, used, highest.get(new.date or desk.today, 0))[0]
            highest[new.date or desk.today] = int(name.rsplit("-", 1)[1])
            named = replace(new, id=name)
        told.merged[position] = (named, sources)
        raws[position] = there.get(alike, render_line(named))
    return "\n".join(raws), highest


def _staying(
    desk: Desk, night: Snapshot, departures: "Iterable[Departure]", base: str, current: str
) -> "list[Departure]":
    """Those that are in the log because somebody wants them there: asked back since preflight, typed back by hand, or
    made into what must stay."""
    now, old = (
        {key_of(note.entry): note.protected for note in read_notes(log, desk.night())}
        for log in (current, base)
    )
    back = asked_back(desk, night.name, night.at)
    return [
        found
        for found in departures
        if (key := key_of(found.entry)) in now and (found.id in back or (now[key] and not old[key]))
    ]


def _put_back(desk: Desk, staying: "Sequence[Departure]", current: str) -> "list[dict[str, Any]]":
    """The ledger's rows for those of them that it takes for gone: a person has typed them back."""
    ledger, live = standings(read_ledger(desk.places.ledger)), entries_of(current)
    back = [found.id for found in staying if found.id in live and found.id in ledger]
    return [
        {"e": "restored", "at": iso(desk.run.now), "id": name, "from": "", "why": PUT_BACK}
        for name in back
        if ledger[name].state != LIVE
    ]


def _let_stay(base: str, draft: str, current: str, staying: "Sequence[Departure]") -> "tuple[str, str]":
    """The log of preflight as if it had not had these, so that they count as added since; and the draft without the
    hooks for them that were taken out of the log when they were asked back."""
    if not staying:
        return base, draft
    keys, names = {key_of(found.entry) for found in staying}, {found.id for found in staying}
    old, new = parse_log(base), parse_log(draft)
    names -= {hooked_id(entry) for entry in parse_log(current)} | {""}
    gone = [place for place, entry in enumerate(old) if entry.observation and key_of(entry) in keys]
    return without(old, gone), without(new, [at for at, entry in enumerate(new) if hooked_id(entry) in names])


def _with_own_ids(
    desk: Desk, new: str, leaving: "Iterable[Departure]", highest: "Mapping[str, int]"
) -> "tuple[str, list[dict[str, Any]], dict[str, int]]":
    """The log with an id of its own for each line that bears the id of one that leaves, such as a copy that a person
    has changed; the ledger's rows for them, and the highest numbers given."""
    names = {found.id for found in leaving} - {""}
    entries, rows, given = list(parse_log(new)), [], dict(highest)
    used = [found.id for found in observations_in(entries)]
    for position, entry in enumerate(entries):
        one = entry.observation
        if one is None or one.id not in names:
            continue
        day = one.date or desk.today
        known = max(given.get(day, 0), load_state(desk.places).highest.get(day, 0))
        name = next_ids(day, 1, used, known)[0]
        named = with_id(entry, name)
        if named is not None:
            entries[position], given[day] = named, int(name.rsplit("-", 1)[1])
            rows.append({"e": "adopted", "at": iso(desk.run.now), "id": name, **facts_of(one)})
    return "\n".join(entry.raw for entry in entries), rows, given


def _with_ends_of(current: str, new: str) -> str:
    """The new log with the line ends of the one that is there: a person's editor may have changed them all."""
    ends = {line[-1:] == "\r" for line in current.split("\n")[:-1]}
    if len(ends) != 1:
        return new
    return new.replace("\r\n", "\n").replace("\n", "\r\n" if ends == {True} else "\n")


def _still_there(departures: "Iterable[Departure]", current: str, new: str) -> "list[Departure]":
    """Those that leave with this run: still in the log, and not in the new one."""
    now = [key_of(entry) for entry in parse_log(current) if entry.observation]
    afterwards = [key_of(entry) for entry in parse_log(new) if entry.observation]
    return [
        found
        for found in departures
        if now.count(key_of(found.entry)) > afterwards.count(key_of(found.entry))
    ]


def _filing(
    desk: Desk,
    base: str,
    current: str,
    new: str,
    leaving: "list[Departure]",
    told: Account,
    highest: "dict[str, int]",
    night: str,
) -> Filing:
    """The commit: merged lines' sources into the archive of reflections, the log, and the ledger's rows."""
    at = iso(desk.run.now)
    known = {found.id for found in observations_in(parse_log(current))}
    into = {name: line.id for line, names in told.merged.values() for name in names}
    origin = {"by": BY, "trigger": "night"}
    rows: "list[dict[str, Any]]" = [
        {"e": "observed", "at": at, "id": line.id, **facts_of(line), "from_ids": list(names), **origin}
        for line, names in told.merged.values()
        if line.id not in known
    ]
    there = archived(desk, "archive", entries_of(base))
    rows += _taken_by_others(desk, base, current, night)
    rows += [
        {
            "e": found.how,
            "at": at,
            "id": found.id,
            "by": BY,
            "night": night,
            **_whereabouts(desk, found, there, into),
        }
        for found in leaving
    ]
    blocks = _blocks(desk, [found for found in leaving if found.how == MERGED], into)
    return Filing(blocks, (current, new), tuple(rows), highest)


def _taken_by_others(desk: Desk, base: str, current: str, night: str) -> "list[dict[str, Any]]":
    """Rows for what this night archived and somebody else, such as the reflector, took out of the log before it could
    leave: it lies in both places, and rightly so."""
    ledger, live = read_files(desk.places).ledger, entries_of(current)
    gone = {name: entry for name, entry in entries_of(base).items() if name not in live}
    rows: "list[dict[str, Any]]" = []
    for name, filed in archived(desk, "archive", gone).items():
        where = filed.path.relative_to(desk.memory).as_posix()
        known = ledger.get(name)
        if name not in gone or known is None or known.state not in (MERGED, ARCHIVED) or known.where == where:
            continue
        if where in kept.open_night(desk).files and is_copy(filed.record, gone[name]):
            why = filed.record.fields.get("Archived reason", "")
            row = {"e": ARCHIVED, "at": iso(desk.run.now), "id": name, "by": BY, "night": night}
            rows.append({**row, "why": why, "in": where, "sha": sha_of(filed.record.text)})
    return rows


def _whereabouts(
    desk: Desk, found: Departure, there: "Mapping[str, Filed]", into: "Mapping[str, str]"
) -> "dict[str, str]":
    """Why an observation left, in which file below memory/ it lies, and what it is a part of or lives on in."""
    filed = there.get(found.id)
    lies, sha = (f"archive/observations/{filed.path.name}", sha_of(filed.record.text)) if filed else ("", "")
    if found.how == ARCHIVED:
        return {
            "why": filed.record.fields.get("Archived reason", "") if filed else "",
            "in": lies,
            "sha": sha,
        }
    if found.how == CHUNKED:
        return {"why": found.why, "in": lies, "into": found.into, "sha": sha}
    line = into.get(found.id, found.into)
    named = line if line.startswith("OBS-") else ""  # a line without id is named in the archive by its text
    where, sha = f"archive/reflections/{desk.today}.md", sha_of(found.entry.raw)
    return {"why": found.why, "in": where, "into": named, "sha": sha}


def _blocks(desk: Desk, merged: "list[Departure]", into: "dict[str, str]") -> "dict[str, Block]":
    """What goes into the archive of reflections: the exact text of what lives on in another line."""
    if not merged:
        return {}
    items = [
        Archived(
            found.id or "unnamed",
            found.entry.raw,
            found.entry.observation.date if found.entry.observation else "",
            found.why,
            into.get(found.id, found.into),
        )
        for found in merged
    ]
    path = desk.places.reflections / f"{desk.today}.md"
    inside(desk.memory, path.relative_to(desk.memory).parts, "move it away, and run this again")
    if not desk.pretends:
        kept.keep(desk, kept.open_night(desk), path)
    name = f"archive/reflections/{path.name}"
    return {name: block_for(path, render_archived(items))}


def _tell(desk: Desk, current: str, new: str, leaving: "list[Departure]", change: Filing) -> Result:
    how = [found.how for found in leaving]
    facts = {
        "path": desk.shown(desk.places.observations),
        "observations": len(observations_in(parse_log(new))),
        **{name: how.count(name) for name in (ARCHIVED, CHUNKED, MERGED)},
        "written": sum(row["e"] == "observed" for row in change.rows),
        "tokens_before": estimate_tokens(current),
        "tokens_after": estimate_tokens(new),
        "token_target": desk.config.dream_token_target,
    }
    if desk.pretends:
        return Result("ok", desk.pretends, facts)
    return Result("ok", "updated" if encode(new) != encode(current) else "unchanged", facts)
