"""Where conversations are and what is new in them: OpenClaw's JSONL files and its SQLite store, one Message shape.

`find_sessions` says which transcripts hold something new, `read_new` reads it, `resolve` finds what a person named.
Nothing here writes, and what could not be looked at is a Problem or a SourceError, never an empty answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from _transcripts.cursors import Cursors
from _transcripts.find import find_sessions, resolve
from _transcripts.reach import gone_store, no_transcripts, waiting
from _transcripts.session import Listing, Problem, Reading, Session, cursor_for

if TYPE_CHECKING:
    from _transcripts.message import Cursor, Message

EVERY_SESSION = "all"  # in the place of a session's name

__all__ = [
    "EVERY_SESSION",
    "Cursor",
    "Cursors",
    "Listing",
    "Message",
    "Problem",
    "Reading",
    "Session",
    "cursor_for",
    "find_sessions",
    "gone_store",
    "no_transcripts",
    "read_new",
    "resolve",
    "waiting",
]


def __getattr__(name: str) -> Any:
    """Cursor and Message, loaded when they are asked for: a run that finds nothing new makes none."""
    if name not in ("Cursor", "Message"):
        raise AttributeError(f"module '_transcripts' has no attribute {name!r}")
    from _transcripts import message

    return getattr(message, name)


def read_new(
    session: Session,
    cursor: Optional[Cursor],
    since_ms: int,
    until_ms: Optional[int] = None,
    max_chars: int = 200_000,
) -> Reading:
    """The messages after `cursor`, as `_transcripts.read.read_new` says. What it takes to read is loaded by then:
    most runs find nothing new and need none of it."""
    from _transcripts.read import read_new as read

    return read(session, cursor, since_ms, until_ms, max_chars)
