"""What the transcript tests share: a Config pointing at a folder, and reading a transcript to its end."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from _config import Config, load_config
from _transcripts import Cursor, Message, Reading, Session, find_sessions, read_new

FIELDS = ("session_id", "session_key", "entry_id", "uid", "role", "text", "at", "sender", "trusted", "after")


def config_at(sessions: Path) -> Config:
    home = sessions / "no-home"
    return load_config({"SESSIONS_DIR": str(sessions)}, {"HOME": str(home), "TZ": "UTC"})


def read_all(
    session: Session, cursor: Optional[Cursor] = None, since_ms: int = 0, max_chars: int = 200_000
) -> "list[Message]":
    """Every message after the cursor, however many calls that takes."""
    found: "list[Message]" = []
    while True:
        reading = read_new(session, cursor, since_ms, max_chars=max_chars)
        assert not reading.problems, reading.problems
        found.extend(reading.messages)
        cursor = reading.end
        if not reading.more:
            return found


def read_one(sessions: Path, cursor: Optional[Cursor] = None, since_ms: int = 0) -> Reading:
    """Read the only session that a folder has."""
    (session,) = find_sessions(config_at(sessions)).sessions
    return read_new(session, cursor, since_ms)


def texts(messages: "tuple[Message, ...] | list[Message]", role: str = "") -> "list[str]":
    return [message.text for message in messages if role in ("", message.role)]


def all_texts(sessions: Path, role: str = "") -> "list[str]":
    """What every session under a folder says, oldest change first."""
    found: "list[str]" = []
    for session in find_sessions(config_at(sessions)).sessions:
        found.extend(texts(read_all(session), role))
    return found
