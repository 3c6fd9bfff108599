"""rollback: exactly the bytes that preflight kept, and behind them what others have added to the log since.

Files that were not there go away again. A line that was added to the log meanwhile, by the observer or by a person, is
appended to the bytes of preflight, also one that the night has archived since: it comes out of the archive that goes.
Lines that the night itself made (hooks, merged lines) do not come back, and neither does what others made of lines that
do. Where a person has reworded an observation, the new words stay, and what a person deleted stays deleted once the
ledger says so (`account --accept`). What the files were before the rollback is kept beside the snapshot, in the names
that end in ".undone". Nothing else is touched: no other file, and no repository.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple, Optional

from _account import LEAVES
from _archive import read_archived, render_archived
from _cli import Result
from _dream.size import is_hooks_heading, without
from _dream_files import kept
from _dream_files.desk import ROLLBACK, Desk, inside
from _dream_files.kept import Snapshot
from _dream_files.taken import left_in, taken_in
from _dream_files.update import refresh
from _dream_files.validate import entry_ids
from _errors import RefusedError
from _files import decode, encode, read_bytes, remove_file, replace_file
from _ledger import facts_of, read_ledger
from _memory import iso
from _observations import Entry, observations_in, parse_log
from _state import Filing, additions, file_away, key_of, with_entries

_REFLECTIONS = "archive/reflections/"


class _Undoing(NamedTuple):
    """What a rollback is to do: the `log` as it is now and as it will be, the ledger's `rows`, the ids that are
    `restored`, and the `facts` that are told."""

    log: "tuple[str, str]"
    rows: "list[dict[str, Any]]"
    restored: "set[str]"
    facts: "dict[str, Any]"


def rollback(desk: Desk, force: bool = True) -> Result:
    """Undo the last night. One that is undone already stays so. One that ended on an earlier day, since when much may
    have changed, is refused without `force`."""
    with desk.holding_memory():
        night = _last_night(desk, force)
        if night.status == kept.UNDONE:
            return Result("ok", "already_undone", {"run": night.name, "restored": 0, "added_since": 0})
        parts = {name: night.bytes_of(name) for name in night.files}  # all of them whole, or nothing is done
        others = [name for name in night.files if name != kept.LOG]
        for name in others:
            inside(desk.memory, tuple(name.split("/")), "move it away, and run this again")
        base = decode(parts[kept.LOG] or b"")
        undoing = _undoing(desk, night, base)
        if desk.pretends:
            return Result("ok", desk.pretends, undoing.facts)
        keep_aside(desk, night)
        current, new = undoing.log
        if new != current or undoing.rows:
            file_away(desk.places, Filing(log=(current, new), rows=tuple(undoing.rows)))
        if parts[kept.LOG] is None and not new:
            remove_file(desk.places.observations)
        put_back = [name for name in others if _put_back(desk, name, parts[name], base, undoing.restored)]
        refresh(desk)
        kept.mark(night, kept.UNDONE)
    return Result("ok", "undone", {**undoing.facts, "files": [f"memory/{name}" for name in put_back]})


def _last_night(desk: Desk, force: bool) -> Snapshot:
    """What preflight kept last. Raises RefusedError when there is nothing, or when it is not to be undone any more."""
    night, damaged = kept.newest(desk), kept.damaged(desk)
    if damaged and (night is None or damaged[-1].parent.name > night.name):
        raise RefusedError(
            f"{damaged[-1]} is damaged: what that night kept cannot be told", "restore a copy of it"
        )
    if night is None:
        raise RefusedError("nothing was kept that could be put back", "preflight keeps it")
    if not force and night.status not in (kept.OPEN, kept.UNDONE) and night.day != desk.today:
        raise RefusedError(
            f"the last night is of {night.day}, and it is {night.status}: memory has changed since",
            "restore ID brings one observation back; rollback --force undoes that night all the same",
        )
    return night


def _undoing(desk: Desk, night: Snapshot, base: str) -> _Undoing:
    """The log that preflight kept (`base`) with what others have done to it since."""
    current = desk.log()
    made = _made_of(desk, base, current)
    taken = _not_there(taken_in(desk, night), current)
    reworded = {
        **_reworded(base, taken.values()),
        **_reworded(base, parse_log(current), left_in(desk, night.name)),
    }
    late = _added_by_others(base, current, made | set(reworded))
    last = _last_events(desk)
    known = entry_ids(parse_log(base)) | made
    late += [
        entry for name, entry in sorted(taken.items()) if name not in known and last.get(name) != "merged"
    ]
    gone = entry_ids(parse_log(base)) - entry_ids(parse_log(current))
    accepted = {name for name in gone if last.get(name) == "forgotten"}
    old = parse_log(_without_ids(base, accepted))
    new = "\n".join(one.raw for entry in old for one in reworded.get(id_of(entry), [entry]))
    new = with_entries(new, late) if late else new
    rows = _rows(desk, made, new, night.files)
    restored = {str(row["id"]) for row in rows if row["e"] == "restored"}
    facts = {
        "run": night.name,
        "restored": len(restored),
        "added_since": len(late),
        "reworded_since": sorted(reworded),
        "deleted_since": sorted(name for name in gone if last.get(name) not in LEAVES),  # and back now
        "stays_deleted": sorted(accepted),
    }
    return _Undoing((current, new), rows, restored, facts)


def keep_aside(desk: Desk, night: Snapshot) -> None:
    """Keep what the files are now, once: a rollback that was cut off and is done again keeps the first."""
    for name in night.files:
        aside = night.folder / (name.replace("/", "__") + ".undone")
        data = read_bytes(desk.memory / name)
        if data is not None and not aside.exists():
            replace_file(aside, data)


def id_of(entry: Entry) -> str:
    """The id of an observation; "" for any other entry."""
    return entry.observation.id if entry.observation else ""


def _made_of(desk: Desk, base: str, current: str) -> "set[str]":
    """The lines that stand for others which come back: those that the night made, and those that the reflector has
    made since of nothing but such lines. One that a person has reworded since is the person's."""
    prints = {one.id: facts_of(one)["fp"] for one in observations_in(parse_log(current)) if one.id}
    back = entry_ids(parse_log(base))
    made: "set[str]" = set()
    for row in read_ledger(desk.places.ledger, "observed"):
        name, sources = str(row.get("id")), set(map(str, row.get("from_ids") or ()))
        is_covered = bool(sources) and sources <= back | made
        is_reworded = name in prints and prints[name] != row.get("fp", prints[name])
        if (row.get("trigger") == "night" or is_covered) and name not in back and not is_reworded:
            made.add(name)
    return made


def _not_there(taken: "dict[str, Entry]", current: str) -> "dict[str, Entry]":
    """What is not in the log, neither under its id nor in its words: a person may have taken the id from a line."""
    entries = parse_log(current)
    ids, keys = entry_ids(entries), {key_of(entry) for entry in entries}
    return {name: entry for name, entry in taken.items() if name not in ids and key_of(entry) not in keys}


def _reworded(
    base: str, current: "Iterable[Entry]", left: "Collection[str]" = ()
) -> "dict[str, list[Entry]]":
    """By id, what the observations of preflight's log that say something else now have become: no night does that. One
    that is there as it was as well, beside a copy that bears its id, says nothing else; and neither does one that has
    `left`: what bears its id is a copy."""
    old = {id_of(entry): entry for entry in parse_log(base) if id_of(entry) and id_of(entry) not in left}
    now: "dict[str, list[Entry]]" = {}
    for entry in current:
        if id_of(entry) in old:
            now.setdefault(id_of(entry), []).append(entry)
    return {name: found for name, found in now.items() if says(old[name]) not in map(says, found)}


def says(entry: Entry) -> "tuple[str, ...]":
    """What an entry says, with its time. Its day may come of a line far above, which a night can have taken out."""
    return key_of(entry)[2:]


def _last_events(desk: Desk) -> "dict[str, str]":
    """By id, the last that the ledger says of it."""
    return {str(row.get("id", "")): str(row.get("e")) for row in read_ledger(desk.places.ledger)}


def _without_ids(log: str, names: "set[str]") -> str:
    """The log without the observations of these ids."""
    entries = parse_log(log)
    gone = [position for position, entry in enumerate(entries) if id_of(entry) in names - {""}]
    return without(entries, gone) if gone else log


def _added_by_others(base: str, current: str, made: "set[str]") -> "list[Entry]":
    """What is in the log, was not at preflight, and was not `made` of it."""
    old = {(id_of(entry), says(entry)) for entry in parse_log(base) if id_of(entry)}
    return [
        entry
        for entry in additions(base, current)
        if entry.kind != "hook"
        and not is_hooks_heading(entry)
        and id_of(entry) not in made
        and (id_of(entry), says(entry)) not in old
    ]


def _rows(desk: Desk, made: "set[str]", new: str, put_back: "Collection[str]") -> "list[dict[str, Any]]":
    """What the ledger has to be told: what is live again, and which of the lines made of it are gone, from the files
    of the archive that are `put_back` as well."""
    at = iso(desk.run.now)
    last = {str(row.get("id", "")): row for row in read_ledger(desk.places.ledger) if row.get("id")}
    live = entry_ids(parse_log(new))
    rows: "list[dict[str, Any]]" = [
        {"e": "restored", "at": at, "id": name, "from": ROLLBACK}
        for name in sorted(live)
        if last.get(name, {}).get("e") in LEAVES
    ]
    rows += [
        {"e": "removed", "at": at, "id": name, "why": ROLLBACK}
        for name in sorted(made - live)
        if last[name].get("e") not in LEAVES or last[name].get("in") in put_back
    ]
    return rows


def _put_back(desk: Desk, name: str, data: Optional[bytes], base: str, restored: "set[str]") -> bool:
    """Put one file back; True when it was another. The archive of reflections is the reflector's as well: from it only
    what the night put there goes."""
    path = desk.memory / name
    now = read_bytes(path)
    if name.startswith(_REFLECTIONS):
        data = _without(now, data, restored | entry_ids(parse_log(base)))
    if now == data:
        return False
    if data is None:
        remove_file(path)
    else:
        replace_file(path, data)
    return True


def _without(now: Optional[bytes], before: Optional[bytes], names: "set[str]") -> Optional[bytes]:
    """The file without the items of these ids that came since; None when there was none and nothing is left in it."""
    text, old = decode(now or b""), decode(before or b"")
    there = {item.id for item in read_archived(old)}
    for item in read_archived(text):
        if item.id in names and item.id not in there:
            text = text.replace(render_archived([item]), "", 1)
    is_empty = before is None and not list(read_archived(text))
    return None if is_empty else encode(text)
