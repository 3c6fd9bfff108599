"""What left the log in a reflection: the files below memory/archive/reflections.

An item stands in a file as it stood in the log, to the byte, between two fences that are longer than any run of
backticks in it: whatever a line says, it cannot pass for a heading or end its own item.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_HEADING = re.compile(r"^## (\S+)$")
_FIELD = re.compile(r"^\*\*([A-Z][a-z ]+)\*\*: (.*)$")
_FENCE = re.compile(r"^(`{3,})text$")


@dataclass(frozen=True)
class Archived:
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
    name = fence = ""
    fields: "dict[str, str]" = {}
    held: "list[str]" = []
    for line in text.split("\n"):
        if fence and line != fence:
            held.append(line)
        elif fence:
            yield Archived(
                name,
                "\n".join(held),
                fields.get("Original date", ""),
                fields.get("Reason", ""),
                fields.get("Merged into", ""),
            )
            name, fence, fields, held = "", "", {}, []
        elif found := _HEADING.match(line):
            name, fields = found.group(1), {}
        elif name and (found := _FIELD.match(line)):
            fields[found.group(1)] = found.group(2)
        elif name and (found := _FENCE.match(line)):
            fence = found.group(1)
