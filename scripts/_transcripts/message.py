"""What a transcript yields: messages, and the cursor that says how far they have been observed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Optional


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

    def as_json(self) -> "dict[str, Any]":
        """A compact object for state.json: default values are left out."""
        full = {
            "at": self.position,
            "id": self.entry_id,
            "chars": self.chars,
            "gen": self.generation,
            "machine": self.machine_turn,
            "since": self.since_ms,
            "of": self.part_of,
            "past": self.past_since,
        }
        return {name: value for name, value in full.items() if name == "at" or value}

    @classmethod
    def from_json(cls, key: str, data: Mapping[str, Any]) -> "Cursor":
        """The inverse of `as_json`. Raises ValueError on anything that cannot be a cursor."""
        source, _, session_id = key.partition(":")
        try:
            return cls(
                source,
                session_id,
                int(data["at"]),
                str(data.get("id", "")),
                int(data.get("chars", 0)),
                str(data.get("gen", "")),
                bool(data.get("machine", False)),
                int(data.get("since", 0)),
                str(data.get("of", "")),
                bool(data.get("past", False)),
            )
        except (KeyError, TypeError) as problem:
            raise ValueError(f"cursor {key!r} is damaged: {problem}") from problem


class Cursors(Mapping[str, Cursor]):
    """Cursors by key, as they stand in state.json, each made when it is asked for: there may be 10,000, and a run with
    nothing new only compares `positions`. One that turns out damaged counts as none."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        """Raises ValueError for what is no table of cursors."""
        self._raw = dict(raw)
        self.positions: "dict[str, int]" = {}
        for key, row in self._raw.items():
            position = row.get("at") if type(row) is dict else None
            if type(position) is not int or key[:6] != "jsonl:" and key[:7] != "sqlite:":
                raise ValueError(f"cursor {key!r} is damaged")
            self.positions[key] = position

    def __getitem__(self, key: str) -> Cursor:
        try:
            return Cursor.from_json(key, self._raw[key])
        except ValueError as problem:
            raise KeyError(key) from problem

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and dict(self.items()) == dict(other.items())


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
