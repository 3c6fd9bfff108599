"""What left the log in a reflection: the files below memory/archive/reflections.

An item stands in a file as it stood in the log, to the byte, between two fences that are longer than any run of
backticks in it: whatever a line says, it cannot pass for a heading or end its own item.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from _archive.records import closing

_HEADING = re.compile(r"^## (\S+)$")
_FIELD = re.compile(r"^\*\*([A-Z][a-z ]+)\*\*: (.*)$")


class Archived(NamedTuple):
    """One item. `raw` is the exact text that stood in the log (bytes that are not UTF-8 as surrogates), `into` the id
    or else the text of the line that says the same from then on, "" when there is none."""

    id: str
    raw: str
    date: str
    reason: str
    into: str = ""


def render_archived(items: Iterable[Archived]) -> str:
    """The items as they are appended to a file."""
    return "".join(map(_render, items))


def _render(item: Archived) -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", item.raw)), default=0))
    fields = [("Original date", item.date), ("Reason", item.reason), ("Merged into", item.into)]
    head = "".join(f"**{name}**: {value}\n" for name, value in fields if value)
    return f"## {item.id}\n\n{head}\n{fence}text\n{item.raw}\n{fence}\n\n---\n\n"


def read_archived(text: str) -> Iterator[Archived]:
    """The items of such a file, in order; everything else in it is passed over."""
    lines, number, name = text.split("\n"), 0, ""
    fields: "dict[str, str]" = {}
    while number < len(lines):
        end = closing(lines, number) if name else None
        if end is not None:
            yield Archived(
                name,
                "\n".join(lines[number + 1 : end]),
                fields.get("Original date", ""),
                fields.get("Reason", ""),
                fields.get("Merged into", ""),
            )
            name, fields, number = "", {}, end
        elif found := _HEADING.match(lines[number]):
            name, fields = found.group(1), {}
        elif name and (found := _FIELD.match(lines[number])):
            fields[found.group(1)] = found.group(2)
        number += 1
