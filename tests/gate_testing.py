"""Made-up windows for the tests of the gate."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone, tzinfo
from typing import Any

from _gate import Verdict, judge
from _observations import Candidate, Observation
from _transcripts.message import Cursor, Message

DAY = "2026-11-30"  # a Monday


def said(
    number: int, role: str, text: str, at: str = f"{DAY}T09:00", sender: str = "", trusted: bool = True
) -> Message:
    moment = datetime.fromisoformat(at)
    return Message(
        session_id="s1",
        session_key="agent:main:main",
        entry_id=f"e{number}",
        uid=f"u{number}",
        role=role,
        text=text,
        at=moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc),
        sender=sender,
        trusted=trusted and role == "user",
        after=Cursor("jsonl", "s1", number),
    )


def user(text: str, **options: Any) -> "list[Message]":
    return [said(1, "user", text, **options)]


def line(
    text: str,
    type: str = "fact",
    importance: float = 5.0,
    date: str = DAY,
    time: str = "09:00",
    **options: Any,
) -> Candidate:
    return Candidate(Observation(text, type, importance, date, time), **options)


def decide(
    window: Sequence[Message],
    *candidates: Candidate,
    known: Sequence[Observation] = (),
    zone: tzinfo = timezone.utc,
    examples: Sequence[str] = (),
) -> Verdict:
    return judge(candidates, window, known, zone, examples)


def texts(verdict: Verdict) -> "list[str]":
    return [candidate.observation.text for candidate in verdict.accepted]


def codes(verdict: Verdict) -> "list[str]":
    return [code for code, _text in verdict.refused]
