"""How large the log is without some of its entries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from _observations import BOM, Entry, is_bare_day

HOOKS_HEADING = "## Archived (memory/archive holds the whole text)"


def is_hooks_heading(entry: Entry) -> bool:
    """Whether it is our heading of the hook lines; one that is quoted in a fence is not."""
    return entry.kind == "heading" and entry.raw.lstrip(BOM).strip() == HOOKS_HEADING


def without(entries: "Sequence[Entry]", gone: "Iterable[int]") -> str:
    """The log without the entries at these positions, nor a date line below which nothing is left but was something;
    one that says more than its day stays."""
    leaving = leaving_with(entries, gone)
    return "\n".join(entry.raw for position, entry in enumerate(entries) if position not in leaving)


def leaving_with(entries: "Sequence[Entry]", gone: "Iterable[int]") -> "set[int]":
    """The positions of all that leaves when the entries at these positions go."""
    leaving = set(gone)
    leaving |= _heading_without_hooks(entries, leaving)
    starts = [position for position, entry in enumerate(entries) if entry.kind == "date"]
    for start, end in zip(starts, [*starts[1:], len(entries)]):
        inside = [position for position in range(start + 1, end) if entries[position].raw.strip()]
        if inside and leaving.issuperset(inside) and is_bare_day(entries[start].raw):
            # The last entry is what stands behind the file's last newline.
            leaving.update(position for position in range(start, end) if position != len(entries) - 1)
    return leaving


def _heading_without_hooks(entries: "Sequence[Entry]", leaving: "set[int]") -> "set[int]":
    """Our heading of the hook lines, with what is blank below it, when the last of them leaves."""
    heading = next((at for at, entry in enumerate(entries) if is_hooks_heading(entry)), None)
    if heading is None:
        return set()
    below = range(heading + 1, len(entries))
    end = next((at for at in below if entries[at].raw.strip() and entries[at].kind != "hook"), len(entries))
    section = [at for at in range(heading, end) if at != len(entries) - 1]
    hooks = {at for at in section if entries[at].kind == "hook"}
    return set(section) if hooks and hooks <= leaving else set()
