"""What a transcript yields: messages, and the cursor that says how far they have been observed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Optional

# How a row of state.json is written: what stands as it is, and that a name need not be UTF-8.
_PLAIN, _ODD = "/:@+,;=", "surrogatepass"


@dataclass(frozen=True)
class Cursor:
    """How far one session has been observed. Everything before it is done with, everything after it is not.

    `position` is, for `source` "jsonl", the byte offset just after the last line that is done with (always just
    after a newline), for "sqlite" the `seq` of that row (-1 for none). `entry_id` is the id of the last entry
    at or before the position that has one: it proves that the position still points into the same history.
    `chars` counts the characters of a next message's text that are already observed (a long message is taken in
    parts), of the one whose uid is `part_of` and of no other. `generation` is the store's rewrite watermark.
    `machine_turn` is true when the position lies inside a turn that a machine started, so that the answer to it is
    dropped too. `since_ms` (epoch milliseconds) is the first-sight boundary of this session: entries from before it
    are left to a backfill. `past_since`: the boundary lies behind the position, so that all that follows is
    observed, whatever time it bears.
    """

    source: str
    session_id: str
    position: int
    entry_id: str = ""
    chars: int = 0
    generation: str = ""
    machine_turn: bool = False
    since_ms: int = 0
    part_of: str = ""
    past_since: bool = False

    def __post_init__(self) -> None:
        if self.source not in ("jsonl", "sqlite"):
            raise ValueError(f"unknown transcript source {self.source!r}")
        if self.position < -1 or self.chars < 0:
            raise ValueError(f"impossible cursor position {self.position}, chars {self.chars}")

    @property
    def key(self) -> str:
        """Name of this cursor in state.json."""
        return f"{self.source}:{self.session_id}"

    def as_row(self) -> str:
        """One line of text for state.json: the position, then NAME=VALUE for each field that is not as it is by
        default, with a space between. What would break that up is percent-encoded."""
        from urllib.parse import quote

        full = {
            "id": self.entry_id,
            "chars": self.chars,
            "gen": self.generation,
            "machine": int(self.machine_turn),
            "since": self.since_ms,
            "of": self.part_of,
            "past": int(self.past_since),
        }
        fields = (f"{name}={quote(str(full[name]), _PLAIN, None, _ODD)}" for name in full if full[name])
        return " ".join((str(self.position), *fields))

    @classmethod
    def from_row(cls, key: str, row: str) -> "Cursor":
        """The inverse of `as_row`. Raises ValueError on anything that cannot be a cursor."""
        from urllib.parse import unquote

        source, _, session_id = key.partition(":")
        position, *fields = row.split(" ")
        found = dict(field.split("=", 1) for field in fields)
        return cls(
            source,
            session_id,
            int(position),
            unquote(found.get("id", ""), errors=_ODD),
            int(found.get("chars", 0)),
            unquote(found.get("gen", ""), errors=_ODD),
            bool(int(found.get("machine", 0))),
            int(found.get("since", 0)),
            unquote(found.get("of", ""), errors=_ODD),
            bool(int(found.get("past", 0))),
        )


@dataclass(frozen=True)
class Message:
    """What one person or the assistant said, without the wrapping that OpenClaw puts around it.

    `session_id` is the id under which the cursor is kept (the stem of a JSONL file, with its topic suffix; the
    session id in the store). `at` is the time of the entry, UTC. `role` is "user" or "assistant". `sender` is
    the name that the channel gave for whoever wrote it, "" when there is none. `trusted` says whether it may
    become a rule, a preference or a goal: false for the assistant and for senders who are not, or not known to
    be, the owner. `uid` names the entry across sources: the same entry in a JSONL file and in the store has the
    same uid. `first_char` is where `text` begins in the whole message, when a part of it had been observed
    before. `after` is the cursor that covers everything up to and including this message, `before` the one in
    front of it, once `_pending` has set it.
    """

    session_id: str
    session_key: str
    entry_id: str
    uid: str
    role: str
    text: str
    at: datetime
    sender: str
    trusted: bool
    after: Cursor
    first_char: int = 0
    before: Optional[Cursor] = None
