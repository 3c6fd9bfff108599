"""What a search for transcripts and a reading of one give back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Optional

if TYPE_CHECKING:
    from _transcripts.message import Cursor, Message


class Problem(NamedTuple):
    """Something that could not be looked at. `where` is a path or a session id, `what` one sentence.

    `waits`: the transcript itself was out of reach, so its cursor stays and the next run tries again; `busy`: only
    because OpenClaw was writing. Without `waits` it was read, but for what `what` says. `hint` says what to do; it is
    "" when nothing better is known than to make it readable.
    """

    where: str
    what: str
    waits: bool = False
    busy: bool = False
    hint: str = ""


class Session(NamedTuple):
    """One transcript in one source. Cheap to make: nothing of what was said has been read.

    `source` is "jsonl" or "sqlite". `session_id` names the cursor: the stem of a JSONL file with its "-topic-"
    suffix, or the session id in the store. `session_key` is "" when unknown. `path` is the file (the newest of
    `parts`) or the store. `end` equals `cursor.position` when there is nothing new: the size in bytes, or the
    highest seq. `changed_at_ms` is the last change, epoch milliseconds. `generation` is the store's rewrite
    watermark. `machine`: by its key or origin nobody spoke in it. `group`: several people may speak in it.
    `may_repeat`: its entries may stand elsewhere too, so uids must be compared with those already observed.
    `parts` are the files of a JSONL transcript with their sizes, in the order in which they were written: a
    reset renames a file, and what is written after it under the same name continues it.
    """

    source: str
    session_id: str
    session_key: str
    path: Path
    end: int
    changed_at_ms: int
    generation: str = ""
    machine: bool = False
    group: bool = False
    may_repeat: bool = False
    parts: "tuple[tuple[Path, int], ...]" = ()

    @property
    def key(self) -> str:
        """Name of this session's cursor in state.json, as in `Cursor.key`."""
        return f"{self.source}:{self.session_id}"


class Listing(NamedTuple):
    """The transcripts that hold something new, oldest change first; deleted and tombstoned ones never.

    `sources` names the folders and stores that were looked at. `found_any` is false when there is neither a
    sessions folder nor a store. `stems` and `row_ids` are the session ids of all that exist in files and in the
    store, new or not, so that cursors of vanished ones can be let go. `counts`: "unchanged" (nothing after the
    cursor), "older" (no cursor, and last changed before the first-sight boundary), "deleted".
    """

    sessions: "tuple[Session, ...]"
    problems: "tuple[Problem, ...]"
    sources: "tuple[str, ...]"
    found_any: bool
    stems: "frozenset[str]" = frozenset()
    row_ids: "frozenset[str]" = frozenset()
    counts: Mapping[str, int] = {}


class Reading(NamedTuple):
    """What one call of `read_new` found.

    `end` covers everything that was looked at, also where no message came of it; with `more`, call again with
    `cursor=end`. `rescanned`: the cursor did not point into this history any more, so reading began at the
    start and messages whose uid was observed must be dropped. `counts`: "lines", "broken", "machine" (prompts
    made by a machine, and the answers to them), "tools", "commands", "noise" (NO_REPLY and kin, copies), "before"
    and "after" (outside of the asked time), "shortened", "unknown_blocks", "inactive" (abandoned branches).
    """

    messages: "tuple[Message, ...]"
    end: Cursor
    more: bool
    rescanned: bool
    counts: Mapping[str, int]
    problems: "tuple[Problem, ...]" = ()


def cursor_for(session: Session, cursors: Mapping[str, Cursor]) -> Optional[Cursor]:
    """The cursor to read `session` with: its own, else that of its JSONL file before OpenClaw moved to the store."""
    own = cursors.get(session.key)
    if own is None and session.source == "sqlite":
        return cursors.get(f"jsonl:{session.session_id}")
    return own
