"""OpenClaw is upgraded in the middle of a conversation, from the last kind that writes files to one with a database."""

from __future__ import annotations

from pathlib import Path

import pytest

from facts import fact, once, tag
from host import hosted
from installed import NEW, OLD
from stand_in_model import StandIn, prompt_of
from steps import QUESTION, install, is_shown, jobs_of, run_job

pytestmark = [pytest.mark.openclaw, pytest.mark.timeout(900)]
MIGRATION_SECONDS = 240.0


def test_an_upgrade_within_a_session_loses_and_repeats_nothing(tmp_path: Path) -> None:
    with StandIn() as model, hosted(tmp_path / "home", OLD, model.base_url) as host:
        install(host, LLM_PROVIDER="none")
        host.say(fact(1))
        host.say(fact(2))
        run_job(host, model, jobs_of(host)["memory-observer"])
        assert host.tags == once(2)
        host.say(fact(3))
        host.stop_gateway()
        before = host.remembered

        host.install(NEW)
        host.openclaw("doctor", "--fix", "--non-interactive", "--yes", seconds=MIGRATION_SECONDS)
        # Fact 3 was said to the old version and is read from what the new one made of it.
        assert host.layer("observer.py")["messages_covered"] == 2
        assert host.tags == once(3)
        assert host.remembered.startswith(before.rstrip("\n"))
        assert host.layer("observer.py")["reason"] == "nothing_new"

        # Hook and jobs came along, and the conversation goes on where it was.
        host.start_gateway()
        host.say(fact(4))
        assert fact(1) in prompt_of(model.turn(fact(4)))
        run_job(host, model, jobs_of(host)["memory-observer"])
        assert host.tags == once(4)

        # No watcher runs here: the hook does not wait for one, and what it left is taken up by the next run.
        host.say("/new")
        assert len(list((host.memory / ".total-recall" / "markers").iterdir())) == 1
        is_shown(host, model, QUESTION, 4)
        assert tag(1) not in prompt_of(model.turn(QUESTION)).partition("</total-recall-brief>")[2]
        host.say(fact(5))
        run_job(host, model, jobs_of(host)["memory-observer"])
        assert host.tags == once(5)
        assert list((host.memory / ".total-recall" / "markers").iterdir()) == []
        assert host.layer("observer.py")["reason"] == "nothing_new"
