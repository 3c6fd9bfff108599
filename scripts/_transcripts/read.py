"""Reading what is new in one transcript."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Optional

from _compat import from_epoch_ms
from _errors import SourceError
from _transcripts.entry import parse_entry
from _transcripts.history import History, Line
from _transcripts.jsonl import JsonlHistory
from _transcripts.machine import opens_machine_session
from _transcripts.message import Cursor, Message
from _transcripts.rows import opened_rows
from _transcripts.said import Said, hear
from _transcripts.session import Problem, Reading, Session
from _transcripts.sqlite import StoreBusy

_FIRST_PROMPT_WITHIN = 200  # lines; before it stand only the session's header and its settings


def read_new(
    session: Session,
    cursor: Optional[Cursor],
    since_ms: int,
    until_ms: Optional[int] = None,
    max_chars: int = 200_000,
) -> Reading:
    """The messages after `cursor` (None: from the start) with since_ms <= time < until_ms, in order.

    Takes in about `max_chars` characters of text and at least one message; a message itself is never cut here.
    With `cursor.chars` the next message's text begins at that character. Memory stays bounded, whatever stands in
    the transcript. A transcript that is busy, gone, damaged or unreadable is a Problem in the Reading, whose `end` is
    then where it began. MissingPackage is raised for compressed rows without zstandard.
    """
    if session.machine:
        return _skipped(session, cursor, since_ms, "machine_session")
    try:
        with _opened(session) as history:
            return _read(history, session, cursor, since_ms, until_ms, max_chars)
    except _Unreadable as problem:
        start = cursor or Cursor(session.source, session.session_id, _beginning(session), since_ms=since_ms)
        return Reading((), start, False, False, {}, (_problem(session, problem),))


class _Unreadable(Exception):
    """This transcript cannot be read now; others may."""

    def __init__(self, why: SourceError) -> None:
        super().__init__(str(why))
        self.why = why


def _problem(session: Session, problem: _Unreadable) -> Problem:
    busy = isinstance(problem.why, StoreBusy)
    return Problem(str(session.path), str(problem), waits=True, busy=busy, hint=problem.why.hint)


def _beginning(session: Session) -> int:
    return 0 if session.source == "jsonl" else -1


def _skipped(session: Session, cursor: Optional[Cursor], since_ms: int, why: str) -> Reading:
    """Nothing of it is to be read: the cursor goes to its end at once."""
    start = cursor if cursor and cursor.source == session.source else None
    kept = start.since_ms if start else since_ms
    end = Cursor(
        session.source, session.session_id, session.end, generation=session.generation, since_ms=kept
    )
    return Reading((), end, False, False, {why: 1})


@contextmanager
def _opened(session: Session) -> "Iterator[History]":
    if session.source == "sqlite":
        try:
            with opened_rows(session) as rows:
                yield rows
        except SourceError as problem:
            raise _Unreadable(problem) from problem
        return
    paths = tuple(path for path, _size in session.parts) or (session.path,)
    try:
        files = JsonlHistory(session.session_id, paths)
    except SourceError as problem:
        raise _Unreadable(problem) from problem
    try:
        yield files
    finally:
        files.close()


def _read(
    history: History,
    session: Session,
    cursor: Optional[Cursor],
    since_ms: int,
    until_ms: Optional[int],
    max_chars: int,
) -> Reading:
    if not session.session_key and _is_machine_session(history):
        return _skipped(session, cursor, since_ms, "machine_session")
    position, kept = history.resume(cursor) if cursor else (history.beginning(), True)
    moved = cursor is not None and not kept
    start = Cursor(
        session.source,
        session.session_id,
        position,
        entry_id=cursor.entry_id if cursor and kept else "",
        chars=cursor.chars if cursor and kept else 0,
        generation=history.generation,
        machine_turn=cursor.machine_turn if cursor and kept else False,
        since_ms=cursor.since_ms if cursor else since_ms,
        part_of=cursor.part_of if cursor and kept else "",
        # A backfill reads a stretch of time; else everything behind the first sight counts, whatever time it bears.
        past_since=bool(cursor and kept and cursor.past_since and until_ms is None),
    )
    reader = _Reader(history, session, start, since_ms, until_ms, max_chars)
    for line in history.lines(position):
        if not reader.take(line):
            break
    return reader.reading(rescanned=moved)


def _is_machine_session(history: History) -> bool:
    """Whether the first prompt of a session whose key is not known is one of cron, or a subagent's."""
    for count, line in enumerate(history.lines(history.beginning())):
        if count >= _FIRST_PROMPT_WITHIN:
            return False
        entry = parse_entry(line.raw) if line.kind == "message" else None
        said = hear(entry) if entry else None
        if said and said.role == "user":
            return said.kind == "machine" and opens_machine_session(said.text)
    return False


class _Reader:
    """Takes lines one by one and keeps the messages, the counts and the cursor that go with them."""

    def __init__(
        self,
        history: History,
        session: Session,
        start: Cursor,
        since_ms: int,
        until_ms: Optional[int],
        max_chars: int,
    ) -> None:
        self._history = history
        self._session = session
        self._start = start
        self._position = start.position
        self._entry_id: Optional[str] = start.entry_id  # None: not looked up yet
        self._skip_chars = start.chars
        self._past_since = start.past_since
        self._machine_turn = start.machine_turn
        self._since_ms = since_ms
        self._until_ms = until_ms
        self._max_chars = max_chars
        self._chars = 0
        self._last_ms: Optional[int] = None
        self._messages: "list[Message]" = []
        self._more = False
        self._broken: "list[int]" = []
        self._counts: "dict[str, int]" = defaultdict(int)

    def take(self, line: Line) -> bool:
        """Look at one line; False when it must wait for the next call."""
        if line.kind != "message":
            self._pass(line, line.kind)
            return True
        entry = parse_entry(line.raw)
        if entry is None:
            self._pass(line, "broken")
            return True
        said = hear(entry, self._session.group)
        at_ms = self._time(said)
        machine_turn = self._machine_turn if said.starts_machine_turn is None else said.starts_machine_turn
        kind = self._kind(said, at_ms, machine_turn)
        if kind == "message" and not self._has_room(said):
            self._more = True
            return False
        self._past_since = self._past_since or (kind == "message" and self._until_ms is None)
        self._pass(line, kind)
        self._last_ms = said.at_ms if said.at_ms is not None else self._last_ms
        self._machine_turn = machine_turn
        self._entry_id = said.entry_id or None
        if said.unknown_blocks:
            self._counts["unknown_blocks"] += said.unknown_blocks
        if kind == "message":
            self._keep(said, at_ms)
        return True

    def reading(self, rescanned: bool) -> Reading:
        problems = list(self._history.problems())
        if not self._more and self._until_ms is None:
            self._past_since = True  # all that is there was seen: what comes is new
        if self._broken:
            problems.append(Problem(str(self._session.path), _broken_lines(self._history, self._broken)))
        return Reading(
            tuple(self._messages), self._cursor(), self._more, rescanned, dict(self._counts), tuple(problems)
        )

    def _kind(self, said: Said, at_ms: int, machine_turn: bool) -> str:
        if said.kind != "message":
            return said.kind
        if said.role == "assistant" and machine_turn:
            return "machine"
        if at_ms < self._since_ms and not self._past_since:
            return "before"
        return "after" if self._until_ms is not None and at_ms >= self._until_ms else "message"

    def _pass(self, line: Line, kind: str) -> None:
        self._counts["lines"] += 1
        if kind not in ("message", "other"):
            self._counts[kind] += 1
            if kind == "broken":
                self._broken.append(line.position)
        if line.shortened:
            self._counts["shortened"] += 1
        self._position = line.position
        self._entry_id = None

    def _has_room(self, said: Said) -> bool:
        return not self._messages or self._chars + len(said.text) <= self._max_chars

    def _keep(self, said: Said, at_ms: int) -> None:
        # A message that took the place of the one begun (a rewind, a truncated file) is read from its beginning.
        begin = self._skip_chars if self._start.part_of in ("", said.uid) else 0
        self._skip_chars = 0
        if begin and begin >= len(said.text):
            return  # its last character was observed already
        text = said.text[begin:]
        self._chars += len(text)
        self._messages.append(
            Message(
                session_id=self._session.session_id,
                session_key=self._session.session_key,
                entry_id=said.entry_id,
                uid=said.uid,
                role=said.role,
                text=text,
                at=from_epoch_ms(at_ms) or datetime(1970, 1, 1, tzinfo=timezone.utc),
                sender=said.sender,
                trusted=said.trusted,
                after=self._cursor(),
                first_char=begin,
            )
        )

    def _time(self, said: Said) -> int:
        if said.at_ms is not None:
            return said.at_ms
        return self._last_ms if self._last_ms is not None else self._history.changed_at_ms

    def _cursor(self) -> Cursor:
        if self._entry_id is None:
            self._entry_id = self._history.id_at(self._position)
        return Cursor(
            source=self._start.source,
            session_id=self._start.session_id,
            position=self._position,
            entry_id=self._entry_id,
            chars=self._skip_chars,
            generation=self._start.generation,
            machine_turn=self._machine_turn,
            since_ms=self._start.since_ms,
            part_of=self._start.part_of if self._skip_chars else "",
            past_since=self._past_since,
        )


def _broken_lines(history: History, positions: "list[int]") -> str:
    """ "3 broken lines were skipped: 4, 17, 29"."""
    numbers = [str(history.line_number(position)) for position in positions[:10]]
    more = ", ..." if len(positions) > 10 else ""
    lines = "line was" if len(positions) == 1 else "lines were"
    return f"{len(positions)} broken {lines} skipped: {', '.join(numbers)}{more}"
