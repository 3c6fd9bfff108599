"""OpenClaw is upgraded in the middle of a conversation, from the last kind that writes files to one with a database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from facts import fact, once, tag
from host import Host, first_json, hosted, until
from installed import NEW, OLD
from stand_in_model import LONG, StandIn, prompt_of
from steps import QUESTION, chat, install, is_new_session, is_shown, jobs_of, run_job, tell

pytestmark = [pytest.mark.openclaw, pytest.mark.timeout(900)]
MIGRATION_SECONDS = 240.0


def test_an_upgrade_within_a_session_loses_and_repeats_nothing(tmp_path: Path) -> None:
    with StandIn() as model, hosted(tmp_path / "home", OLD, model.base_url) as host:
        flush = ask_for_flush(host, install(host, LLM_PROVIDER="none")["sentences"])
        host.say(fact(1))
        host.say(LONG)
        is_flushed(host, model, flush["prompt"], 2)
        run_job(host, model, jobs_of(host)["memory-observer"])
        assert host.tags == once(2)
        tell(host, "the turn before a compaction wrote its notes, and nothing is in memory twice")
        host.say(fact(3))
        host.stop_gateway()
        before = host.remembered

        host.install(NEW)
        host.openclaw("doctor", "--fix", "--non-interactive", "--yes", seconds=MIGRATION_SECONDS)
        assert "prompt" not in memory_flush(host), "2026.9 takes no prompt there"
        assert host.ask("config", "validate")["valid"] is True
        # Fact 3 was said to the old version and is read from what the new one made of it.
        assert host.layer("observer.py")["messages_covered"] == 2
        assert host.tags == once(3)
        assert host.remembered.startswith(before.rstrip("\n"))
        assert host.layer("observer.py")["reason"] == "nothing_new"
        tell(host, "upgraded; what was said before is read from the database")

        # Hook and jobs came along, and the conversation goes on where it was.
        host.start_gateway()
        host.say(fact(4))
        assert fact(1) in prompt_of(model.turn(fact(4)))
        job = jobs_of(host)["memory-observer"]
        run_job(host, model, job)
        assert host.tags == once(4)

        # No watcher runs here: the hook does not wait for one, and what it left is taken up by the next run.
        host.say("/new")
        assert len(list((host.memory / ".total-recall" / "markers").iterdir())) == 1
        is_shown(host, model, QUESTION, 4)
        is_new_session(model, QUESTION)
        host.say(fact(5))
        run_job(host, model, job)
        assert host.tags == once(5)
        assert list((host.memory / ".total-recall" / "markers").iterdir()) == []
        assert host.layer("observer.py")["reason"] == "nothing_new"
        tell(host, "the session that was upgraded was ended by /new")


def ask_for_flush(host: Host, sentences: str) -> "dict[str, Any]":
    """Put into openclaw.json what setup.py said for the turn before a compaction; OpenClaw has to take it."""
    told = first_json(sentences[sentences.index("in openclaw.json:\n{") :])
    flush = told["agents"]["defaults"]["compaction"]["memoryFlush"]
    host.openclaw(
        *("config", "set", "agents.defaults.compaction.memoryFlush", json.dumps(flush), "--strict-json")
    )
    assert memory_flush(host) == flush
    assert host.ask("config", "validate")["valid"] is True
    assert isinstance(flush, dict)
    return flush


def memory_flush(host: Host) -> "dict[str, Any]":
    """What openclaw.json says of that turn."""
    config = json.loads(host.config_path.read_text(encoding="utf-8"))
    found = config["agents"]["defaults"].get("compaction", {}).get("memoryFlush", {})
    assert isinstance(found, dict)
    return found


def is_flushed(host: Host, model: StandIn, prompt: str, number: int) -> None:
    """Say a fact when the context is nearly full: before that OpenClaw has the model write down what was said."""
    chat(host, model, fact(number))
    assert prompt.split(" memory/")[0] in prompt_of(model.flushes[0]), "asked with setup.py's words"
    [notes] = until(lambda: list(host.memory.glob("20*.md")), "notes of the turn before a compaction")
    assert tag(1) in notes.read_text(encoding="utf-8")
