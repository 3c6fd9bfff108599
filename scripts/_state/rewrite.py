"""The log rewritten in one step, whatever others write to it meanwhile; and entries known again by their exact text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Callable

from _compat import sha256_hex
from _errors import BusyError
from _files import decode, encode, read_bytes, replace_file
from _observations import BOM, Entry, is_bare_day, observations_in, parse_line, parse_log
from _state.places import Places

_ATTEMPTS = 50


def rewrite_log(places: Places, change: Callable[[str], str]) -> None:
    """Replace observations.md by what `change` makes of it; the caller holds the memory lock.

    What is written to the file while the new one is made is kept: then the step is done again.
    """
    for _attempt in range(_ATTEMPTS):
        found = read_bytes(places.observations)
        data = found or b""
        text = decode(data)
        rest = text.lstrip(BOM)  # which stays in front, whatever becomes of the line behind it
        new = encode(text[: len(text) - len(rest)] + change(rest).lstrip(BOM))
        if new == data:
            return
        replace_file(places.private / "observations.before-rewrite", data)
        if replace_file(places.observations, new, instead_of=found):
            return
    raise BusyError(f"{places.observations} keeps changing", "try again when the other program has finished")


def name_of(entry: Entry) -> str:
    """What an observation's entry is known again by: the SHA-256 of its exact text and its day. One that a person has
    edited has another name; the same words under another date line are another entry."""
    day = entry.observation.date if entry.observation else ""
    return sha256_hex(encode(f"{day}\n{entry.raw.lstrip(BOM)}"))


def names_in(entries: Iterable[Entry]) -> "Counter[str]":
    """How often each name occurs among the observations."""
    return Counter(name_of(entry) for entry in entries if entry.observation)


def rewritten(
    text: str, remaining: Mapping[str, int], arriving: "Sequence[tuple[str, Sequence[str]]]"
) -> str:
    """The log without some entries and with new lines; every other byte stays.

    `remaining` says how many entries of a name stay (0: all leave). `arriving` are (line, names): the line stands in
    the place of the first of its names that leaves, and is left out when none of them is there or the log holds its
    id. A date line below which nothing is left goes too, unless it says more than its day.
    """
    entries = parse_log(text)
    places: "dict[str, list[int]]" = {}
    for position, entry in enumerate(entries):
        if entry.observation and (name := name_of(entry)) in remaining:
            places.setdefault(name, []).append(position)
    leaving = {name: found[remaining[name] :] for name, found in places.items()}
    gone = {position for found in leaving.values() for position in found}
    known = {found.id for found in observations_in(entries)}
    lines: "dict[int, list[str]]" = {}
    for line, names in arriving:
        new = parse_line(line)
        spot = next((leaving[name][0] for name in names if leaving.get(name)), None)
        if spot is not None and new is not None and new.id not in known:
            lines.setdefault(spot, []).append(line + ("\r" if entries[spot].raw.endswith("\r") else ""))
    gone |= _empty_days(entries, gone - lines.keys(), gone)
    kept: "list[str]" = []
    for position, entry in enumerate(entries):
        kept.extend(lines.get(position, () if position in gone else (entry.raw,)))
    return "\n".join(kept)


def _empty_days(entries: "Sequence[Entry]", without_line: "set[int]", gone: "set[int]") -> "set[int]":
    """The positions of date lines, and of the empty lines below them, under which nothing is left but was something."""
    found: "set[int]" = set()
    starts = [position for position, entry in enumerate(entries) if entry.kind == "date"]
    for start, end in zip(starts, [*starts[1:], len(entries)]):
        inside = range(start + 1, end)
        here = [position for position in inside if entries[position].raw.strip()]
        if not is_bare_day(entries[start].raw):
            continue
        if here and all(position in without_line for position in here):
            # The last entry is what stands behind the file's last newline.
            found.update(p for p in range(start, end) if p not in gone and p != len(entries) - 1)
    return found
