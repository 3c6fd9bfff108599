"""What a night in read-only mode would have done, for its log and its gates: noted beside what preflight kept."""

from __future__ import annotations

import json
from typing import Any, Optional

from _dream_files import kept
from _dream_files.desk import Desk
from _errors import DAMAGED, StorageError
from _files import read_bytes, replace_file

_NAME = "rehearsal.json"


def rehearse(
    desk: Desk,
    archived: "Optional[dict[str, float]]" = None,
    chunked: "Optional[dict[str, str]]" = None,
    tokens: Optional[int] = None,
    hooks: "Optional[dict[str, list[str]]]" = None,
) -> None:
    """Note what would have happened; nothing outside of read-only mode, and nothing in a dry run."""
    night = kept.newest(desk)
    if desk.pretends != "read_only" or night is None or night.status != kept.OPEN:
        return
    told = rehearsed(desk)
    told["archived"].update(archived or {})
    told["chunked"].update(chunked or {})
    told["hooks"].update(hooks or {})
    if tokens is not None:
        told["tokens"] = tokens
    replace_file(night.folder / _NAME, json.dumps(told).encode())


def rehearsed(desk: Desk) -> "dict[str, Any]":
    """What was noted of the night that is under way: "archived" (importance by id), "chunked" (chunk by id),
    "hooks" (search phrases by id) and "tokens" of the log afterwards (None: it was not drafted)."""
    night = kept.newest(desk)
    data = read_bytes(night.folder / _NAME) if night is not None and night.status == kept.OPEN else None
    try:
        found = json.loads(data or b"{}")
        return {
            "archived": dict(found.get("archived", {})),
            "chunked": dict(found.get("chunked", {})),
            "tokens": found.get("tokens"),
            "hooks": dict(found.get("hooks", {})),
        }
    except DAMAGED as problem:
        raise StorageError(
            f"what was noted of this rehearsed night is damaged ({type(problem).__name__})",
            "run preflight again: it begins a new one",
        ) from problem
