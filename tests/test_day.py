"""A whole day with everything that goes wrong on one: nothing a person said is lost, nothing is written twice."""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Union

import pytest

import _llm  # noqa: F401 (loads the module that a test slows down less)
import fake_model
from fake_model import fails, says
from observer_testing import Home, at, cite, cited_lines, minutes, tags_in
from transcript_builders import JsonlStore, SqliteStore, dump

Store = Union[JsonlStore, SqliteStore]
KEYS = ["agent:main:main"] + [f"agent:main:telegram:direct:{n}" for n in range(1, 12)]
SUBJECTS = (
    "the lease",
    "my sister",
    "our budget",
    "the garden",
    "the server",
    "the trip",
    "the dentist",
    "the band",
)


HEARTBEAT = (
    "System: [2026-11-30 08:21:07 UTC] Reminder: check the oven #beat-1\n\n"
    "Read HEARTBEAT.md if it exists (workspace context). Follow it strictly. Do not infer or repeat old tasks from "
    "prior chats. If nothing needs attention, reply HEARTBEAT_OK."
)


class Moody:
    """A model that has every bad habit in turn while `moody`, and answers well otherwise."""

    HABITS = (
        "well",
        "down",
        "well",
        "limited",
        "empty",
        "well",
        "cut",
        "refuses",
        "fenced",
        "thinks",
        "error in 200",
    )

    def __init__(self) -> None:
        self.moody = True
        self.seen: "dict[str, int]" = {}
        self.asked = 0

    def __call__(self, request: fake_model.Request) -> Any:
        self.asked += 1
        habit = self.HABITS[self.asked % len(self.HABITS)] if self.moody else "well"
        self.seen[habit] = self.seen.get(habit, 0) + 1
        lines = cited_lines(request.prompt)
        text = "\n".join(lines) or "NO_OBSERVATIONS"
        if habit == "down":
            return fake_model.Reply(drop=True)
        if habit == "limited":
            return fails(429, "rate limit", {"Retry-After": "600"})
        if habit == "empty":
            return says("  \n")
        if habit == "cut":
            return says(text[: len(text) // 2] or "- ", finish="length")
        if habit == "refuses":
            return says("I cannot help with summarising this conversation.")
        if habit == "fenced":
            return says(f"Here you are:\n```markdown\n{text}\n```\n")
        if habit == "thinks":
            return says(f"<think>Let me see. - 🔴 10:00 made up while thinking #note-1</think>\n{text}")
        if habit == "error in 200":
            error = {"error": {"code": 502, "message": "provider returned error"}}
            return fake_model.sends(error, headers={"Retry-After": "0"})
        return cite(request)


@dataclass
class Day:
    """Drives one day: people talk, machines chatter, cron comes or does not."""

    home: Home
    store: Store
    model: Moody
    dice: random.Random = field(default_factory=lambda: random.Random(20261130))
    said: "list[str]" = field(default_factory=list)
    chatter: int = 0
    sessions: "dict[str, str]" = field(default_factory=dict)
    half: "tuple[str, bytes]" = ("", b"")
    started: int = 0

    def open(self, key: str, now: datetime) -> str:
        """The session of a key, begun when there is none."""
        if key not in self.sessions:
            self.started += 1
            self.sessions[key] = self.store.start(f"0f0e0d0c-0b0a-4987-8654-{self.started:012d}", key, at=now)
        return self.sessions[key]

    def say(self, key: str, now: datetime, size: int = 0) -> None:
        """One turn: a person says something with a tag of its own, tools run, the assistant answers."""
        session = self.open(key, now)
        if size:
            text = self.long_text(size)
        else:
            tag = f"#note-{len(self.said)}"
            self.said.append(tag)
            text = f"Please note about {self.dice.choice(SUBJECTS)}: item {len(self.said)} is {tag}"
        self.store.user(session, text, at=now)
        for number in range(self.dice.choice((0, 0, 1, 6))):
            self.store.tool(session, f"output {number} " + "lorem #tool-1 ipsum " * 200, at=now)
        self.store.assistant(session, "All right, done.", at=now + timedelta(seconds=20))

    def long_text(self, size: int) -> str:
        parts, length = [], 0
        while length < size:
            tag = f"#note-{len(self.said)}"
            self.said.append(tag)
            parts.append(
                "Some words on and on. " * 40 + f"Then item {len(self.said)} of the long story is {tag}"
            )
            length += len(parts[-1]) + 2
        return "\n\n".join(parts)

    def chat_of_machines(self, now: datetime) -> None:
        """Heartbeats in the main session, a cron session and a subagent: none of it is anybody's memory."""
        main = self.open(KEYS[0], now)
        self.chatter += 1
        self.store.user(main, "[OpenClaw heartbeat poll]", at=now)
        self.store.assistant(main, "HEARTBEAT_OK", at=now)
        self.store.user(main, HEARTBEAT, at=now)
        self.store.assistant(main, "I looked at the beat #beat-2 and all is fine.", at=now)
        session = f"1f0e0d0c-0b0a-4987-8654-{self.chatter:012d}"
        self.store.start(session, f"agent:main:cron:{session}", at=now)
        self.store.user(session, "[cron:ab-1 nightly] do the thing #cron-1", at=now)
        self.store.assistant(session, "Done with the thing #cron-2", at=now)
        other = f"2f0e0d0c-0b0a-4987-8654-{self.chatter:012d}"
        self.store.start(other, f"agent:main:subagent:{other}", at=now)
        self.store.user(other, "[Subagent Context] You are running as a subagent. #sub-1", at=now)
        self.store.assistant(other, "Found it #sub-2", at=now)

    def new(self, key: str, now: datetime, recovery: bool) -> None:
        """/new: the file is renamed, or a reset event is written; with or without a recovery run."""
        session = self.sessions.get(key)
        if not session:
            return
        if isinstance(self.store, JsonlStore):
            self.store.now = now
            self.store.reset(session, key=key)
            del self.sessions[key]
        else:
            self.store.tick(now)
            self.store.reset(session)
        if recovery:
            self.home.run("--recover", session, now=now)


def live(day: Day) -> None:
    """From 07:00 to 21:00, a turn every three minutes in one of twelve sessions."""
    now, number = at("07:00"), 0
    while now < at("21:00"):
        number += 1
        day.say(KEYS[number % 12 if number % 5 == 0 else 0], now, size=200_000 if number in (90, 200) else 0)
        if number % 10 == 0:
            day.chat_of_machines(now)
        if number % 17 == 0:
            day.new(KEYS[number % 3], now + timedelta(seconds=30), recovery=number % 2 == 0)
        if number % 40 == 0:
            day.home.run("--flush", now=now + timedelta(seconds=40))
        late = at("10:00") < now < at("12:30") or at("17:00") < now < at("17:50")
        if number % 5 == 0 and not late:
            day.home.run("--trigger", "cron", now=now + timedelta(seconds=50))
        now += minutes(3)


def settle(day: Day) -> None:
    """The night: the model recovers, cron goes on."""
    day.model.moody = False
    for hours in range(1, 12):
        ended = day.home.run("--trigger", "cron", now=at("21:00") + timedelta(hours=hours))
        if ended.result["reason"] == "nothing_new":
            return
    raise AssertionError(f"never settled: {ended.result}")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("era", ["jsonl", "sqlite"])
def test_a_whole_day_is_captured_exactly_once(
    tmp_path: Path, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["_llm.ask"], "_RETRY_SECONDS", 0.0)
    home = Home(tmp_path, {"LLM_DAILY_CALL_LIMIT": "5000", "LLM_DAILY_TOKEN_LIMIT": "900000000"})
    model = Moody()
    with fake_model.FakeModel(model) as server:
        home.model(server)
        day = Day(home, home.jsonl() if era == "jsonl" else home.sqlite(), model)
        day.open(KEYS[0], at("06:58"))
        assert home.run(now=at("06:59")).code == 0
        live(day)
        settle(day)
    counts = tags_in(home.log)
    assert len(day.said) > 700
    assert [tag for tag in day.said if tag not in counts] == []
    assert {tag: times for tag, times in counts.items() if times != 1} == {}
    assert set(counts) == set(day.said)
    assert set(model.seen) == set(Moody.HABITS)
    assert "dc:source=provisional" not in home.log


def test_half_written_lines_are_taken_once_they_are_whole(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with fake_model.FakeModel(cite) as server:
        home.model(server)
        store = home.jsonl()
        session = store.start(at=at("09:00"))
        store.user(session, "The first thing is #note-1", at=at("09:01"))
        line = dump(
            {
                "type": "message",
                "id": "feedbeef",
                "timestamp": "2026-11-30T09:02:00.000Z",
                "message": {"role": "user", "content": "The second thing is #note-2"},
            }
        )
        store.raw(session, line[:70], newline=b"")
        home.run(now=at("09:05"))
        assert tags_in(home.log) == {"#note-1": 1}
        store.raw(session, line[70:])
        home.run(now=at("09:20"))
        assert tags_in(home.log) == {"#note-1": 1, "#note-2": 1}
