"""A new version of the log brought together with what others did to the log meanwhile.

Pure: three texts in, one out. An observation is known again by its day, time, words and children, so that one whose
metadata has changed (an id, a lowered importance) is still the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from _observations import BOM, Entry, bare_day, children_of, is_bare_day, last_heading, parse_log, text_of

Key = tuple[str, ...]


def key_of(entry: Entry) -> Key:
    """What an entry is known again by, whatever its metadata and mark are."""
    observation = entry.observation
    if observation is None:
        return (entry.kind, entry.raw.lstrip(BOM).strip())
    children = map(str.strip, children_of(entry))
    return ("observation", observation.date, observation.time, text_of(entry), *children)


def says_something(entry: Entry) -> bool:
    """False for blank lines, and for date lines with nothing but their day, which say nothing by themselves."""
    return not is_bare_day(entry.raw) if entry.kind == "date" else bool(entry.raw.strip())


def redrafted(base: str, new: str, current: str) -> str:
    """`new`, which was made from `base`, with all that others did to `base` on the way to `current`.

    What they added is in it, at the end; what they removed is not, but for the days of date lines, which what stands
    below still needs; where they changed an entry, theirs stands. Doing it twice is doing it once.
    """
    front = current[: len(current) - len(current.lstrip(BOM))]
    base, new, current = (text.lstrip(BOM) for text in (base, new, current))
    if current in (base, new):
        return front + new
    before, theirs, ours = (_by_key(parse_log(text)) for text in (base, current, new))
    added = _beyond(parse_log(current), before, ours)
    edited: "dict[str, list[Entry]]" = {}
    for entry in added:
        if entry.observation and entry.observation.id:
            edited.setdefault(entry.observation.id, []).append(entry)
    kept: "list[str]" = []
    placed: "set[str]" = set()
    removed = _removed(parse_log(new), before, theirs)
    for position, entry in enumerate(parse_log(new)):
        name = entry.observation.id if entry.observation else ""
        if position not in removed:
            kept.append(_newest(entry, before, theirs))
        elif name in edited and name not in placed:
            kept += [one.raw for one in edited[name]]
            placed.add(name)
        elif entry.kind == "date":
            kept.append(bare_day(entry.raw))
    late = [entry for entry in added if not (entry.observation and entry.observation.id in placed)]
    return front + with_entries("\n".join(kept), late)


def with_entries(text: str, entries: "Iterable[Entry]") -> str:
    """The log with entries added at its end to the byte, observations under their days."""
    parts = [text] if not text or text.endswith("\n") else [text, "\n"]
    day = last_heading(parse_log(text))
    for entry in entries:
        if entry.kind == "heading":
            day = ""
        elif entry.kind == "date":
            day = last_heading([entry])
        if entry.observation and entry.observation.date != day:
            day = entry.observation.date
            parts.append(f"\nDate: {day}\n\n" if day else "\n## Without a date\n\n")
        parts.append(entry.raw.lstrip(BOM) + "\n")
    return "".join(parts)


def additions(base: str, current: str) -> "list[Entry]":
    """The entries of `current` that say something and are not in `base`, in their order."""
    return _beyond(parse_log(current), _by_key(parse_log(base)), {})


def _by_key(entries: "Iterable[Entry]") -> "dict[Key, list[Entry]]":
    found: "dict[Key, list[Entry]]" = {}
    for entry in entries:
        if says_something(entry):
            found.setdefault(key_of(entry), []).append(entry)
    return found


def _beyond(
    entries: "Sequence[Entry]", before: "dict[Key, list[Entry]]", ours: "dict[Key, list[Entry]]"
) -> "list[Entry]":
    """The entries of which there are more than in either of the other two."""
    left = {key: max(len(before.get(key, ())), len(ours.get(key, ()))) for key in {*before, *ours}}
    found = []
    for entry in entries:
        if not says_something(entry):
            continue
        key = key_of(entry)
        if left.get(key, 0):
            left[key] -= 1
        else:
            found.append(entry)
    return found


def _removed(
    entries: "Sequence[Entry]", before: "dict[Key, list[Entry]]", theirs: "dict[Key, list[Entry]]"
) -> "set[int]":
    """The positions of what somebody took out of the log and the new version still has. Of several that say the same,
    those whose id is there no more go first, then the last ones."""
    by_key: "dict[Key, list[int]]" = {}
    for position, entry in enumerate(entries):
        if says_something(entry):
            by_key.setdefault(key_of(entry), []).append(position)
    found: "set[int]" = set()
    for key, places in by_key.items():
        number = len(before.get(key, ())) - len(theirs.get(key, ()))
        if number > 0:
            left = {_id_of(entry) for entry in theirs.get(key, ())}
            ordered = sorted(places, key=lambda place: (_id_of(entries[place]) in left, -place))
            found.update(ordered[: number if key in theirs else None])
    return found


def _id_of(entry: Entry) -> str:
    return entry.observation.id if entry.observation else ""


def _newest(entry: Entry, before: "dict[Key, list[Entry]]", theirs: "dict[Key, list[Entry]]") -> str:
    """The text of an entry: theirs where they changed its metadata since, else that of the new version."""
    key = key_of(entry)
    found = theirs.get(key, ())
    if len(found) == 1 and len(before.get(key, ())) == 1 and found[0].raw != before[key][0].raw:
        return found[0].raw
    return entry.raw
