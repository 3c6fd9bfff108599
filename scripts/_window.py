"""The window: the messages that one question to the model covers. Cut it, halve it, write it down, read the answer.

All of it is pure. A window's messages carry the cursors that hold once they are covered (Message.after).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from _likeness import features, words_of
from _observations import MARKS, Candidate, Observation, parse_line, tidy
from _transcripts.message import Cursor, Message

# 24,000 characters are about 6,000 tokens: prompt and answer fit the 8,192 of the smallest context in common use.
MAX_WINDOW_CHARS = 24_000
SMALLEST_PART_CHARS = 400
# How far a secret reaches on both sides of a cut, and how many cuts are tried for each kind of break.
SECRET_REACH, BREAKS_TRIED = 400, 8
KNOWN_MAX_LINES, KNOWN_MAX_CHARS = 6, 400
MAX_LINES_PER_ANSWER = 200


@dataclass(frozen=True)
class Window:
    """Messages in order. Never empty."""

    messages: "tuple[Message, ...]"

    @property
    def cursors(self) -> "dict[str, Cursor]":
        """Where each session's cursor stands once this window is covered."""
        return {message.after.key: message.after for message in self.messages}

    @property
    def covered(self) -> "dict[str, tuple[str, ...]]":
        """The uids of the messages that are done with after this window, by session; a part that is not the last of
        its message is not among them."""
        found: "dict[str, list[str]]" = {}
        for message in self.messages:
            if not message.after.chars:
                found.setdefault(message.session_id, []).append(message.uid)
        return {session: tuple(uids) for session, uids in found.items()}

    @property
    def size(self) -> int:
        """Characters of text."""
        return sum(len(message.text) for message in self.messages)


def cut_message(message: Message, max_chars: int) -> "list[Message]":
    """The message in parts of at most `max_chars` characters; itself when it fits.

    A part that is not the last moves only `chars` of the cursor in front of the message (`before`).
    """
    parts: "list[Message]" = []
    front, start, text = message.before or _beginning(message.after), message.first_char, message.text
    while len(text) > max_chars:
        length = _good_break(text, max_chars)
        after = replace(front, chars=start + length, part_of=message.uid)
        parts.append(replace(message, text=text[:length], first_char=start, after=after, before=front))
        front, start, text = after, start + length, text[length:]
    parts.append(replace(message, text=text, first_char=start, before=front))
    return parts


def _good_break(text: str, max_chars: int) -> int:
    """Where to cut: after the last paragraph, line, sentence or word that ends in the second half, else anywhere; but
    not within a secret, whose halves nobody would know for one."""
    for pattern in ("\n\n", "\n", "。", ". ", " "):
        end = max_chars
        for _attempt in range(BREAKS_TRIED):
            found = text.rfind(pattern, max_chars // 2, end)
            if found < 0:
                break
            if not _parts_a_secret(text, found + len(pattern)):
                return found + len(pattern)
            end = found
    return max_chars


def _parts_a_secret(text: str, at: int) -> bool:
    from _gate import mask_secrets

    left, right = text[max(0, at - SECRET_REACH) : at], text[at : at + SECRET_REACH]
    return mask_secrets(left + right)[0] != mask_secrets(left)[0] + mask_secrets(right)[0]


def pack(messages: Iterable[Message], max_chars: int = MAX_WINDOW_CHARS) -> Iterator[Window]:
    """Windows of at most `max_chars` characters of text (a longer message makes one of its own)."""
    held: "list[Message]" = []
    size = 0
    for message in messages:
        if held and size + len(message.text) > max_chars:
            yield Window(tuple(held))
            held, size = [], 0
        held.append(message)
        size += len(message.text)
    if held:
        yield Window(tuple(held))


def halve(window: Window) -> "tuple[Window, ...]":
    """Two windows of about half the size; none when the window is one part too small to cut."""
    messages = window.messages
    if len(messages) > 1:
        at = _middle(messages)
        return Window(messages[:at]), Window(messages[at:])
    only = messages[0]
    if len(only.text) <= SMALLEST_PART_CHARS:
        return ()
    parts = cut_message(only, max(SMALLEST_PART_CHARS // 2, (len(only.text) + 1) // 2))
    return tuple(Window((part,)) for part in parts)


def _middle(messages: "tuple[Message, ...]") -> int:
    """How many messages make the first half: at least one, and one stays for the other."""
    total = sum(len(message.text) for message in messages)
    size = 0
    for number, message in enumerate(messages[:-2], start=1):
        size += len(message.text)
        if size * 2 >= total:
            return number
    return len(messages) - 1


def _beginning(cursor: Cursor) -> Cursor:
    """The cursor in front of everything, in the same transcript."""
    start = 0 if cursor.source == "jsonl" else -1
    return Cursor(
        cursor.source, cursor.session_id, start, generation=cursor.generation, since_ms=cursor.since_ms
    )


# Writing it down for the model ---------------------------------------------------------------------------------------


def render_now(now: datetime, zone: tzinfo) -> str:
    """ "Monday 2026-11-30 14:05 (Europe/Berlin, UTC+01:00)": day of the week and zone, since a bare time misleads."""
    local = now.astimezone(zone)
    offset = local.strftime("%z")
    name = getattr(zone, "key", None)
    shown = f"{name}, " if name and name != "localtime" else ""
    return f"{local:%A %Y-%m-%d %H:%M} ({shown}UTC{offset[:3]}:{offset[3:5]})"


def render_transcript(window: Window, zone: tzinfo) -> str:
    """The messages as lines "[09:14] user: ..."; a line with the day in front of each day's first, a rule between
    conversations. Further lines of a message are indented, so that no text can pass for a message of its own."""
    lines: "list[str]" = []
    session = day = ""
    for message in window.messages:
        if message.session_id != session:
            if session:
                lines.append("--- another conversation ---")
            session, day = message.session_id, ""
        local = message.at.astimezone(zone)
        if f"{local:%Y-%m-%d}" != day:
            day = f"{local:%Y-%m-%d}"
            lines.append(f"{local:%A} {day}:")
        text = "\n  ".join(message.text.splitlines())  # all that any reader takes for the end of a line
        lines.append(f"[{local:%H:%M}] {speaker(message)}: {text}")
    return "\n".join(lines)


def speaker(message: Message) -> str:
    """Who said it, as the model and the notes name them."""
    if message.role == "assistant":
        return "assistant"
    name = tidy(message.sender, 40).replace(":", " ")
    if message.trusted:
        return f"user ({name})" if name else "user"
    return name or "someone else"


def select_known(window: Window, observations: Sequence[Observation]) -> "list[str]":
    """The few lines of memory that the window could repeat: those that share most words with it, newest first.

    Capped (6 lines, 400 characters), because memory grows and a prompt must not.
    """
    said = {word for message in window.messages for word in words_of(message.text)}
    scored = []
    for position, observation in enumerate(observations):
        words = features(observation.text).words if observation.text else frozenset()
        shared = len(words & said)
        if shared >= 2 and shared * 2 >= len(words):
            scored.append((shared, position, observation.text))
    lines: "list[str]" = []
    room = KNOWN_MAX_CHARS
    for _shared, _position, text in sorted(scored, reverse=True)[:KNOWN_MAX_LINES]:
        if len(text) + 3 <= room:
            lines.append(f"- {text}")
            room -= len(text) + 3
    return lines


# Reading the answer --------------------------------------------------------------------------------------------------


def read_answer(text: str) -> "tuple[list[Candidate], str]":
    """What an answer proposes, and "" or the reason why it is no use: "prose" or "loop".

    Only bullets with a priority mark or our metadata count; everything around them is talk. An answer without any
    has to be the word NO_OBSERVATIONS, or it is no answer to the question.
    """
    candidates: "list[Candidate]" = []
    seen: "set[str]" = set()
    lines = text.splitlines()
    for line in lines:
        if candidates and re.match(r"^\s{2,}[-*]\s+\S", line) and not _is_note(line.strip()):
            _add_child(candidates, line)
            continue
        observation = parse_line(line.strip()) if _is_note(line.strip()) else None
        if observation and observation.text not in seen:
            seen.add(observation.text)
            candidates.append(Candidate(replace(observation, id="", source="", mark="")))
    if len(candidates) > MAX_LINES_PER_ANSWER or len(lines) > 20 + 5 * (len(candidates) + 1):
        return [], "loop"
    if candidates:
        return candidates, ""
    return [], "" if _says_nothing(text) else "prose"


def _is_note(line: str) -> bool:
    return bool(re.match(r"^[-*]\s+\S", line)) and (
        "<!-- dc:" in line or any(mark in line[:12] for mark in MARKS)
    )


def _add_child(candidates: "list[Candidate]", line: str) -> None:
    parent = candidates[-1].observation
    child = tidy(re.sub(r"<!--.*?-->", "", line))
    text = tidy(f"{parent.text}; {child}", 600)
    candidates[-1] = candidates[-1]._replace(observation=replace(parent, text=text))


def _says_nothing(text: str) -> bool:
    """The word alone, whatever stands around it as markup; not a sentence that mentions it."""
    return bool(re.fullmatch(r"[\W_]*NO[_ ]?OBSERVATIONS[\W_]*", text.strip(), re.IGNORECASE))
