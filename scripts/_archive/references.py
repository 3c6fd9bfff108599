"""What a line of the log that leads to the archive ends in: "[ref: archive/observations/2026-11-30.md#ID]"."""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

_REFERENCE = re.compile(
    r"\[ref: (?P<file>archive/(?:observations|chunks)/(?P<day>\d{4}-\d{2}-\d{2})\.md)#(?P<id>[A-Za-z0-9-]+)\]\s*$"
)


class Reference(NamedTuple):
    """The item that is referred to: its file below the memory folder, the day in the file's name, and its id."""

    file: str
    day: str
    id: str


def reference_to(file: str, name: str) -> str:
    """The reference to an item of a file, which is given relative to the memory folder."""
    return f"[ref: {file}#{name}]"


def read_reference(line: str) -> Optional[Reference]:
    """The reference that a line ends in; None for no such line, and for a reference to another place."""
    found = _REFERENCE.search(line)
    return Reference(found["file"], found["day"], found["id"]) if found else None
