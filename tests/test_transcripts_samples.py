"""Transcripts that OpenClaw itself wrote (2026.3.13, 2026.7.1, 2026.9.6): exactly these sentences were said."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from _transcripts import find_sessions, read_new
from transcript_testing import config_at, read_all, texts

SAMPLES = Path(__file__).resolve().parent.parent.parent / "shared" / "openclaw-samples"

# Session id and what its user said, in order. Sessions that nobody spoke in are not here: those of cron, of
# subagents, and the deleted ones.
SAID = {
    "2026.3.13": {
        "03329283-0a8f-46b8-8ca5-c590319fc85c": [
            "hi",
            "Hello, please remember I like mint tea.",
            "What time is it? [[exec echo hello-from-tool && date]]",
            "Please read notes [[read AGENTS.md]]",
            "Save it [[write memory/2026-11-30.md User likes mint tea.]]",
            "Spawn please [[spawn Say hi from the subagent]]",
            "Decision: use staging for Project Falcon. [[big 3000]]",
        ],
        "a67077e3-7d16-44a2-a7ee-561e36b06df3": ["After new: hello again"],
        "b0b63c88-d275-4345-9c7f-cd2cde7d2383": [
            "After reset: third session",
            "Hi from webchat: my sister Anna moves to Porto on May 4",
            "[[think I should consider the tea preference]]",
            "Filler [[big 20000]]",
            "Filler two [[big 20000]]",
            "After compaction hello",
            "Push tokens [[usage 105500]]",
            "This turn should come after the flush",
            "After compaction two",
            "Push tokens [[usage 105500]]",
            "This chat turn should come after the flush",
        ],
    },
    "2026.7.1": {
        "01ac50ce-6803-4bce-aa26-e93c4a5b2d31": ["After new: hello again"],
        "179fb1e0-cfce-440a-9c9c-5bbcf8ec44e9": [
            "Hello, please remember I like mint tea.",
            "What time is it? [[exec echo hello-from-tool && date]]",
            "Please read notes [[read AGENTS.md]]",
            "Save it [[write memory/2026-11-30.md User likes mint tea.]]",
            "Spawn please [[spawn Say hi from the subagent]]",
            "Decision: use staging for Project Falcon. [[big 3000]]",
        ],
        "1a1dc848-0499-46b6-8e66-f5d5fe255da7": ["Topic hello"],
        "740dc246-ff97-4090-91e2-38e122638414": [
            "After reset: third session",
            "Hi from webchat: my sister Anna moves to Porto on May 4",
            "Filler [[big 20000]]",
            "Filler two [[big 20000]]",
            "After compaction hello",
            "Push tokens [[usage 105500]]",
            "This turn should come after the flush",
            "After compaction two",
            "Push tokens [[usage 105500]]",
            "This chat turn should come after the flush",
            "inotify test turn",
            "look at this picture\n[image: red.png]",
        ],
    },
    "2026.9.6": {
        "20042109-35f8-491d-af61-6129254a40fa": ["look at this picture\n[image: red.png]"],
        "3ad30f03-2d65-487c-ab84-0cbdb01ba788": ["before idle: codeword KIWI", "after idle"],
        "4b7d0644-0b61-405d-9fc0-9c7bee7c4148": ["Topic hello"],
        "5761f0b9-accc-4907-814a-51a5962cc2c5": ["local, gateway stopped"],
        "8738e5e7-2a71-4d64-bb2b-75d0d9ab5dda": [
            "Hello, please remember I like mint tea.",
            "What is the weather plan? [[exec echo hello-from-tool && date]]",
            "Please read notes [[read AGENTS.md]]",
            "What time is it? [[exec echo hello-from-tool && date]]",
            "Please read notes [[read AGENTS.md]]",
            "Save it [[write memory/2026-11-30.md User likes mint tea.]]",
            "Spawn please [[spawn Say hi from the subagent]]",
            '[[tool tool_call {"id":"sessions_spawn","args":{"task":"Say hi from the subagent"}}]]',
            "My API key decision: use staging for Project Falcon. [[big 3000]]",
            "After new: hello again",
            "After reset: third session",
            "Hi from webchat: my sister Anna moves to Porto on May 4",
            "Filler [[big 20000]]",
            "Filler two [[big 20000]]",
            "After compaction hello",
            "Push tokens [[usage 105500]]",
            "This turn should come after the flush",
            "After compaction two",
            "Push tokens [[usage 105500]]",
            "This chat turn should come after the flush",
            "Does bootstrap hold observations?",
            "hi after new",
            "inotify test turn",
        ],
    },
}
# The group chats: what was said there is the owner's only where OpenClaw says so (2026.9).
UNTRUSTED = {"2026.3.13": [], "2026.7.1": ["Topic hello"], "2026.9.6": []}

if SAMPLES.is_dir():

    @pytest.fixture(params=sorted(SAID))
    def sample(request: pytest.FixtureRequest, tmp_path: Path) -> "tuple[str, Path]":
        """(version, a copy of its sessions folder in the place where OpenClaw has it)."""
        agent = tmp_path / "agents" / "main"
        for part in ("sessions", "agent"):
            source = SAMPLES / request.param / part
            if source.is_dir():
                shutil.copytree(source, agent / part)
        for path in [agent, *agent.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        return request.param, agent / "sessions"

    def test_exactly_these_sentences_were_said(sample: "tuple[str, Path]") -> None:
        version, sessions = sample
        said = {}
        for session in find_sessions(config_at(sessions)).sessions:
            found = texts(read_all(session), "user")
            if found:
                said[session.session_id] = found
        assert said == SAID[version]

    def test_machine_sessions_say_nothing_at_all(sample: "tuple[str, Path]") -> None:
        version, sessions = sample
        for session in find_sessions(config_at(sessions)).sessions:
            if session.session_id not in SAID[version]:
                assert read_all(session) == []

    def test_answers_hold_no_machine_chatter(sample: "tuple[str, Path]") -> None:
        _version, sessions = sample
        for session in find_sessions(config_at(sessions)).sessions:
            for text in texts(read_all(session), "assistant"):
                assert "HEARTBEAT" not in text and "heartbeat" not in text
                assert "Continue the OpenClaw runtime event" not in text
                assert "Compaction failed" not in text and "not authorized to reset" not in text
                assert "observer-ran" not in text

    def test_only_the_owner_is_trusted(sample: "tuple[str, Path]") -> None:
        version, sessions = sample
        messages = [m for s in find_sessions(config_at(sessions)).sessions for m in read_all(s)]
        assert [m.text for m in messages if m.role == "user" and not m.trusted] == UNTRUSTED[version]
        assert not [m for m in messages if m.role == "assistant" and m.trusted]
        assert {m.sender for m in messages} == {""}

    def test_every_cursor_goes_on_with_the_rest(sample: "tuple[str, Path]") -> None:
        _version, sessions = sample
        for session in find_sessions(config_at(sessions)).sessions:
            messages = read_all(session)
            for index, message in enumerate(messages):
                assert read_all(session, message.after) == messages[index + 1 :]

    def test_read_to_the_end_nothing_is_new(sample: "tuple[str, Path]") -> None:
        _version, sessions = sample
        config = config_at(sessions)
        ends = {s.key: read_new(s, None, 0).end for s in find_sessions(config).sessions}
        assert find_sessions(config, ends).sessions == ()
