"""The observation line: made of any text, parsed, rendered. `parse_line` and `render_line` are inverse.

A line looks like this (schemas/observation-format.md has all of it):

    - 🔴 14:05 Lease ends on 31 May <!-- dc:type=fact dc:importance=8 dc:date=2026-11-30 dc:id=OBS-20261130-001 -->
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import NamedTuple, Optional

TYPES = ("event", "context", "fact", "preference", "goal", "habit", "rule")
HIGH, MEDIUM, LOW = "🔴", "🟡", "🟢"
MARKS = (HIGH, MEDIUM, LOW)
# From the shell edition's format: 🔴 about 6-10, 🟡 3-6, 🟢 0-3.
HIGH_FROM, MEDIUM_FROM = 6.0, 3.0
UNTAGGED_TYPE, UNTAGGED_IMPORTANCE = "fact", 5.0
# Words that other editions of this skill wrote for one of the seven.
TYPE_ALIASES: Mapping[str, str] = {"decision": "preference", "task": "goal", "note": "context"}
MAX_TEXT_CHARS = 600
_DECIMALS = 3  # of an importance
# What is read of one line; `full_text` has all of it.
READ_MAX_CHARS = 10 * MAX_TEXT_CHARS
# What an editor may put in front of a file, and a copy of two files in front of a line. It is no part of a text.
BOM = "\ufeff"

_PAIR = re.compile(r"dc:([a-z_]+)=([^\s<>]+)")
_TIME = re.compile(
    r"\(?([0-9]{1,2}):([0-9]{2})(?::[0-9]{2})?(?:\s*([AaPp])\.?[Mm]\.?)?\)?(?:\s*[:–—-]\s+(?=\S)|\s+|$)"
)
_TIME_24 = re.compile(r"([0-9]{2}):([0-9]{2})()(?:\s+|$)")
_BULLET = re.compile(r"^[-*]\s+")
# Bullets and marks: taken off together, for one at a time would copy the rest of the text for each.
_IN_FRONT = re.compile(rf"^(?:[-*•:–—]\s+|(?:{'|'.join(MARKS)})\ufe0f?\s*)+")
_KNOWN_FIELDS = ("type", "importance", "date", "id", "ttl", "confidence", "source", "decayed")


@dataclass(frozen=True)
class Observation:
    """One thing worth remembering.

    `text` is one line, free of metadata, mark and time. `importance` runs from 0.0 to 10.0. `date` ("YYYY-MM-DD") and
    `time` ("HH:MM") say when it was said, in the person's zone; "" when that is not known. `mark` is the emoji in the
    file where it disagrees with the importance, else "". `extra` holds metadata fields that this edition does not know.
    Raises ValueError for what the format cannot hold; `tidy` makes any text fit.
    """

    text: str
    type: str = UNTAGGED_TYPE
    importance: float = UNTAGGED_IMPORTANCE
    date: str = ""
    time: str = ""
    id: str = ""
    ttl: str = ""
    confidence: str = ""
    source: str = ""
    decayed: str = ""
    mark: str = ""
    extra: "tuple[tuple[str, str], ...]" = ()

    def __post_init__(self) -> None:
        if not self.text or tidy(self.text) != self.text:
            raise ValueError(f"not a tidy observation text: {self.text[:80]!r}")
        if not self.time and _TIME.match(self.text):
            raise ValueError("a text that begins with a time would be read back as having that time")
        if self.type not in TYPES:
            raise ValueError(f"unknown observation type {self.type!r}")
        if not 0.0 <= self.importance <= 10.0:
            raise ValueError(f"importance {self.importance} is not within 0 and 10")
        if self.date and not is_date(self.date):
            raise ValueError(f"not a date: {self.date!r}")

    @property
    def priority(self) -> str:
        """The emoji that stands in front: what the file says, else what the importance means."""
        return self.mark or mark_for(self.importance)


class Candidate(NamedTuple):
    """An observation that a model or the extractor proposes, before the gate.

    `uids` name the messages it came from, where that is known; `sender` is who said it when that was not the owner.
    """

    observation: Observation
    uids: "tuple[str, ...]" = ()
    sender: str = ""


def mark_for(importance: float) -> str:
    """The emoji that an importance stands for."""
    if importance >= HIGH_FROM:
        return HIGH
    return MEDIUM if importance >= MEDIUM_FROM else LOW


def is_date(text: str) -> bool:
    """True for a day of the calendar written YYYY-MM-DD."""
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def tidy(text: str, max_chars: int = 100_000) -> str:
    """Make any text fit for one line of the log: white space and control characters become single spaces, comment
    marks are taken apart, marks and bullets in front go, an over-long text is shortened at a word."""
    if not text.isprintable():
        text = "".join(" " if _breaks_a_line(character) else character for character in text)
    text = text.replace("<!--", "<! --").replace("-->", "-- >")
    text = " ".join(text.split())
    text = _IN_FRONT.sub("", text)
    if text in tuple("-*•:–—"):
        return ""
    return text if len(text) <= max_chars else shorten(text, max_chars)


def _breaks_a_line(character: str) -> bool:
    # Cs: half of a pair, which UTF-8 cannot hold. Zl, Zp, Cc: other tools split lines at them.
    return (
        unicodedata.category(character) in ("Cc", "Zl", "Zp", "Cs", "Cf")
        and character not in "\u200d\u200c\ufe0f"
    )


def shorten(text: str, max_chars: int) -> str:
    """Cut at the last space before `max_chars` and say so with an ellipsis."""
    if len(text) <= max_chars:
        return text
    head = text[: max_chars - 2]
    space = head.rfind(" ")
    return (head[:space] if space > max_chars // 2 else head).rstrip() + " …"


def make_observation(
    text: str,
    type: str = UNTAGGED_TYPE,
    importance: float = UNTAGGED_IMPORTANCE,
    date: str = "",
    time: str = "",
    max_chars: int = MAX_TEXT_CHARS,
) -> Optional[Observation]:
    """An Observation of any text, made to fit; None when nothing is left of it."""
    text = tidy(text, max_chars)
    found = _TIME.match(text)
    if found and not time:
        time, text = _clock(found), tidy(text[found.end() :], max_chars)
    if not text or (not time and _TIME.match(text)):
        return None
    return Observation(text, type, _within(importance), date, time)


def parse_line(line: str) -> Optional[Observation]:
    """Read one line as an observation, however loosely written; None when it is no bullet or has no text.

    Times of 12 hours become 24; an unknown type is taken as "fact", importance out of range is drawn in.
    """
    parts = _take_apart(line, READ_MAX_CHARS)
    if parts is None:
        return None
    text, time, mark, fields = parts
    return _with_fields(Observation(text, time=time), mark, fields)


@functools.lru_cache(maxsize=4)
def full_text(line: str) -> str:
    """All that an observation's line says, without mark, time and metadata: an Observation holds no more than the first
    6,000 characters. "" when `parse_line` finds none in it."""
    parts = _take_apart(line, len(line))
    return parts[0] if parts else ""


def _take_apart(line: str, max_chars: int) -> "Optional[tuple[str, str, str, dict[str, str]]]":
    """A line's text, time, mark and metadata."""
    line = line.lstrip(BOM)
    bullet = _BULLET.match(line)
    if not bullet:
        return None
    body = line[bullet.end() :].rstrip()
    fields: "dict[str, str]" = {}
    text_part, comment = split_comment(body)
    if _PAIR.search(comment):
        fields, body = dict(_PAIR.findall(comment)), text_part
    body = re.sub(r"^\*\*(.{1,3})\*\*\s*", r"\1 ", body)
    mark = next((found for found in MARKS if body.startswith(found)), "")
    text = tidy(body, max_chars)
    # Lines of ours tell the time by 24 hours: what follows "09:05" in them is a word, as in German "Am Montag". A line
    # of another edition that has got nothing but an id keeps its "02:05 PM".
    is_ours = bool(fields) and ("type" in fields or "id" not in fields)
    found = _TIME_24.match(text) if is_ours else None
    found = found or _TIME.match(text)
    time = _clock(found) if found else ""
    if found and time:
        text = tidy(text[found.end() :], max_chars)
    if not text or (not time and _TIME.match(text)):
        return None
    return text, time, mark, fields


def split_comment(line: str) -> "tuple[str, str]":
    """A line without the comment at its end, and what stands in that; "" when there is none. Linear, unlike a pattern
    that may begin at each of a thousand spaces."""
    line = line.rstrip()
    begin = line.rfind("<!--") if line.endswith("-->") else -1
    return (line[:begin].rstrip(), line[begin + 4 : -3]) if begin >= 0 else (line, "")


def is_hook(line: str) -> bool:
    """A bullet that ends in a reference to an archived item."""
    line = line.rstrip()
    begin = line.rfind("[ref: ")
    return begin >= 0 and line.endswith("]") and "]" not in line[begin:-1] and bool(_BULLET.match(line))


def with_comment(observation: Observation, comment: str) -> Observation:
    """The observation with the metadata of a comment that stands on a line of its own below it."""
    fields = {"date": observation.date, **dict(_PAIR.findall(comment))}
    return _with_fields(observation, observation.mark, fields)


def _with_fields(plain: Observation, mark: str, fields: Mapping[str, str]) -> Observation:
    importance = _importance(fields.get("importance", ""))
    kind = fields.get("type", UNTAGGED_TYPE).lower()
    kind = TYPE_ALIASES.get(kind, kind)
    return replace(
        plain,
        type=kind if kind in TYPES else UNTAGGED_TYPE,
        importance=importance,
        date=fields["date"] if is_date(fields.get("date", "")) else "",
        id=fields.get("id", ""),
        ttl=fields.get("ttl", ""),
        confidence=fields.get("confidence", ""),
        source=fields.get("source", ""),
        decayed=fields.get("decayed", ""),
        mark=mark if mark and mark != mark_for(importance) else "",
        extra=tuple((name, value) for name, value in fields.items() if name not in _KNOWN_FIELDS),
    )


def _importance(text: str) -> float:
    found = re.match(r"[0-9]+(?:\.[0-9]+)?", text)
    if found:
        return _within(float(found.group()))
    return UNTAGGED_IMPORTANCE


def _within(importance: float) -> float:
    """As it can stand in a line, and is read back from it."""
    return round(min(10.0, max(0.0, importance)), _DECIMALS)


def _clock(found: "re.Match[str]") -> str:
    """ "2:05 PM" and "14:05" as "14:05"; "" when it is no time of day."""
    hour, minute, half = int(found.group(1)), int(found.group(2)), (found.group(3) or "").lower()
    if half:
        if not 1 <= hour <= 12:
            return ""
        hour = hour % 12 + (12 if half == "p" else 0)
    return f"{hour:02d}:{minute:02d}" if hour < 24 and minute < 60 else ""


def render_line(observation: Observation) -> str:
    """The line as it stands in observations.md, without a newline. `parse_line` is its inverse."""
    fields = [
        ("type", observation.type),
        ("importance", f"{observation.importance:g}"),
        ("date", observation.date),
        ("id", observation.id),
        ("ttl", observation.ttl),
        ("confidence", observation.confidence),
        ("source", observation.source),
        ("decayed", observation.decayed),
        *observation.extra,
    ]
    meta = " ".join(f"dc:{name}={value}" for name, value in fields if value != "")
    clock = observation.time + " " if observation.time else ""
    return f"- {observation.priority} {clock}{observation.text} <!-- {meta} -->"
