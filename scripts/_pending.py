"""What is still to be observed: the messages after each session's cursor, over all sessions of both eras.

Sits between `_transcripts` (one session) and `_window` (one question): sets the first-sight boundary, leaves out what
was covered under another name, cuts long messages into parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from typing import Callable, Optional

from _compat import epoch_ms
from _transcripts import Cursor, Message, Problem, Reading, Session, cursor_for, read_new
from _window import MAX_WINDOW_CHARS, cut_message

MORNING_ENDS_HOUR = 8  # local; the shell edition looks back further before it, to take in the night


@dataclass(frozen=True)
class Bounds:
    """Which part of a session is looked at. Epoch milliseconds; `until_ms` None: to the end."""

    since_ms: int
    until_ms: Optional[int] = None


def lookback_ms(now: datetime, zone: tzinfo, by_day_minutes: int, morning_minutes: int) -> int:
    """How far back a session without cursor is looked at, as a moment in epoch milliseconds."""
    early = now.astimezone(zone).hour < MORNING_ENDS_HOUR
    return epoch_ms(now - timedelta(minutes=morning_minutes if early else by_day_minutes))


class Pending:
    """One pass over sessions. After `messages` is used up, `quiet` holds the ends of sessions that had nothing to say.

    `cursors` are those in force, `bounds` tells what part of a session belongs to this pass. `covered` gives the uids
    that are done with, by session: it is asked once, where a cursor cannot tell, for a session without one, after a
    rescan, for one whose entries may stand elsewhere too, and with `compare_all`.
    """

    def __init__(
        self,
        cursors: Mapping[str, Cursor],
        bounds: Callable[[Session], Bounds],
        covered: "Callable[[], Mapping[str, Set[str]]]",
        compare_all: bool = False,
        max_part_chars: int = MAX_WINDOW_CHARS,
    ) -> None:
        self.cursors = cursors
        self.bounds = bounds
        self.quiet: "dict[str, Cursor]" = {}
        self.counts: "dict[str, int]" = {}
        self.problems: "list[Problem]" = []
        self.sessions_done = 0
        self._covered = covered
        self._known: "Optional[Mapping[str, Set[str]]]" = None
        self._seen: "set[str]" = set()
        self._compare_all = compare_all
        self._max_part_chars = max_part_chars

    def messages(self, sessions: Sequence[Session]) -> Iterator[Message]:
        """Every message to observe, long ones in parts; `after` is the cursor that holds once it is covered."""
        for session in sessions:
            yield from self._of_one(session)
            self.sessions_done += 1

    def _of_one(self, session: Session) -> Iterator[Message]:
        key = session.key
        cursor = cursor_for(session, self.cursors)
        bounds = self.bounds(session)
        if cursor is None and session.changed_at_ms < bounds.since_ms:
            self._count(sessions_older=1)
            return
        compare = cursor is None or session.may_repeat or self._compare_all
        anywhere = session.may_repeat or self._compare_all
        more = True
        while more:
            reading = read_new(session, cursor, bounds.since_ms, bounds.until_ms)
            self._note(reading)
            compare = compare or reading.rescanned
            found = [m for m in reading.messages if not (compare and self._is_done(m, anywhere))]
            yield from self._in_parts(session, found, None if reading.rescanned else cursor, reading)
            end = replace(reading.end, since_ms=bounds.since_ms)
            if found or any(problem.waits for problem in reading.problems):
                self.quiet.pop(key, None)
            elif end != cursor:
                self.quiet[key] = end
            cursor, more = end, reading.more

    def _in_parts(
        self, session: Session, found: Sequence[Message], cursor: Optional[Cursor], reading: Reading
    ) -> Iterator[Message]:
        """Cut the long ones; the last message's cursor covers the noise behind it too."""
        wanted = {message.uid for message in found}
        before = cursor or Cursor(session.source, session.session_id, -1 if session.source == "sqlite" else 0)
        since = self.bounds(session).since_ms
        for message in reading.messages:
            # Also one that is covered moves the front: what stands before a part must not be read again.
            after = replace(message.after, since_ms=since)
            if message.uid in wanted:
                if message.uid == found[-1].uid:
                    after = replace(reading.end, since_ms=since)
                # A part's cursor must be of the generation that was read, or the next run would begin anew.
                front = replace(before, since_ms=since, generation=after.generation)
                self._seen.add(message.uid)
                self._count(messages_new=1)
                yield from cut_message(replace(message, after=after, before=front), self._max_part_chars)
            before = after

    def _is_done(self, message: Message, anywhere: bool) -> bool:
        """Whether a message was covered or seen in this pass: in its own session, or in any."""
        if self._known is None:
            self._known = self._covered()
        known = self._known.values() if anywhere else (self._known.get(message.session_id, frozenset()),)
        return message.uid in self._seen or any(message.uid in uids for uids in known)

    def _note(self, reading: Reading) -> None:
        self._count(**{f"read_{name}": number for name, number in reading.counts.items() if number})
        self.problems += reading.problems

    def _count(self, **counts: int) -> None:
        for name, number in counts.items():
            self.counts[name] = self.counts.get(name, 0) + number
