"""One transcript entry: a JSONL line, or the JSON of a row. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Optional

# One decoder for all lines: json.loads makes a new one for each when it is asked not to be strict.
_DECODER = json.JSONDecoder(strict=False)


def parse_entry(raw: bytes) -> "Optional[dict[str, Any]]":
    """The entry in one line, or None when the line is broken. Bad UTF-8 and NUL bytes are repaired.

    When a line was cut off and the next entry written right after it, that entry is still found.
    """
    if b"\0" in raw:
        raw = raw.replace(b"\0", b"")
    text = raw.decode("utf-8", "replace").lstrip("\ufeff")
    found = _load(text)
    if found is None:
        start = text.rfind('{"type":"message"', 1)
        found = _load(text[start:]) if start > 0 else None
    return found


def entry_id(entry: "Optional[Mapping[str, Any]]") -> str:
    """The id of an entry, "" when there is none."""
    value = entry.get("id") if entry else None
    return value if isinstance(value, str) else ""


def _load(text: str) -> "Optional[dict[str, Any]]":
    try:
        found = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
