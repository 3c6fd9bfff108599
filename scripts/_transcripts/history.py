"""What the JSONL files and the store have in common: numbered lines, looked at as cheaply as possible."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from _transcripts.message import Cursor
from _transcripts.session import Problem

BIG_LINE = 1_000_000  # bytes; longer lines are shrunk while they are read

# All versions write the role first into "message", and both into the first few hundred bytes. Where that is not so,
# the whole line is searched: a quote inside a JSON string is always escaped, so a bare "user" cannot hide in one.
_ROLE = re.compile(rb'"message":\{"role":"(\w+)"')
_GLANCE = 400


class Line(NamedTuple):
    """One line or row. `position` is a cursor's position just after it.

    `kind`: "message" (may hold one: `raw` must be parsed), or what it is otherwise: "tools", "noise", "other",
    "broken", "inactive". `raw` is the JSON text for "message" only. `shortened`: a string in it was cut.
    """

    position: int
    kind: str
    raw: bytes = b""
    shortened: bool = False


class History(Protocol):
    """One transcript, opened for reading."""

    generation: str
    changed_at_ms: int

    def resume(self, cursor: Cursor) -> "tuple[int, bool]":
        """(position to go on after, whether the cursor still points into this history)."""

    def beginning(self) -> int:
        """The position before everything."""

    def lines(self, after: int) -> Iterator[Line]:
        """Every complete line after a position."""

    def id_at(self, position: int) -> str:
        """The id of the last entry at or before a position that has one; "" when there is none near."""

    def line_number(self, position: int) -> int:
        """For people: which line or row ends at this position."""

    def problems(self) -> "list[Problem]":
        """What could not be read so far."""


def glance(raw: bytes) -> str:
    """The kind of a complete line, without parsing it: "message", "tools", "noise", "other", or "broken"."""
    role = _ROLE.search(raw, 0, _GLANCE)
    if role:
        name = role.group(1)
        if name == b"user" or (name == b"assistant" and (b'text"' in raw or b'"content":"' in raw)):
            return "message"
        # A line that was cut off, with the next entry behind it. Searched from the end: that is a third faster.
        if raw.rfind(b'{"type":"message"') > 0:
            return "message"
        kind = "noise" if name == b"assistant" else "tools"  # an assistant's tool calls, without a word
    elif b'"user"' in raw or b'"assistant"' in raw:
        return "message"
    else:
        kind = "other"
    if raw[-2:] == b"}\n" and raw[:1] == b"{":
        return kind
    whole = raw[-3:].rstrip()[-1:] == b"}" and raw[:80].lstrip(b"\xef\xbb\xbf\0 \t")[:1] == b"{"
    return kind if whole or not raw.strip() else "broken"
