"""How large the log is without some of its entries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from _observations import Entry, is_bare_day

HOOKS_HEADING = "## Archived (memory/archive holds the whole text)"


def without(entries: "Sequence[Entry]", gone: "Iterable[int]") -> str:
    """The log without the entries at these positions, nor a date line below which nothing is left but was something;
    one that says more than its day stays."""
    leaving = leaving_with(entries, gone)
    return "\n".join(entry.raw for position, entry in enumerate(entries) if position not in leaving)


def leaving_with(entries: "Sequence[Entry]", gone: "Iterable[int]") -> "set[int]":
    """The positions of all that leaves when the entries at these positions go."""
    leaving = set(gone)
    starts = [position for position, entry in enumerate(entries) if entry.kind == "date"]
    for start, end in zip(starts, [*starts[1:], len(entries)]):
        inside = [position for position in range(start + 1, end) if entries[position].raw.strip()]
        if inside and leaving.issuperset(inside) and is_bare_day(entries[start].raw):
            # The last entry is what stands behind the file's last newline.
            leaving.update(position for position in range(start, end) if position != len(entries) - 1)
    return leaving
