"""A person installs the skill into a real OpenClaw and talks to it for a while: nothing is lost or noted twice."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from facts import fact, once, tag
from host import Host, first_json, hosted, until
from installed import NEW, OLD
from services import Watcher, services_of
from stand_in_model import PASS_ON, TASK, StandIn, prompt_of
from steps import (
    IDLE_SECONDS,
    MAIN,
    QUESTION,
    SETUP_SECONDS,
    chat,
    install,
    is_new_session,
    is_shown,
    jobs_of,
    remembers,
    resets,
    run_job,
    runs_by_itself,
    tell,
)

pytestmark = [pytest.mark.openclaw, pytest.mark.timeout(900)]

BRIEF = "<total-recall-brief>"
DONE = "A background task completed"  # how OpenClaw tells the main session of a subagent's end
WORDS = "Always call the harbour office before 10 December"  # which would be kept if a person said them


@pytest.mark.parametrize("version", [OLD, NEW])
def test_what_a_person_says_is_remembered(tmp_path: Path, version: str) -> None:
    with (
        StandIn() as model,
        hosted(tmp_path / "home", version, model.base_url) as host,
        services_of(host) as manager,
    ):
        quick = {"OBSERVER_LINE_THRESHOLD": "2", "OBSERVER_COOLDOWN_SECS": "1"}
        said = install(host, *manager.flags, LLM_PROVIDER="none", **quick)
        assert ("takes no memoryFlush prompt" in said["sentences"]) is (version == NEW)
        watcher = Watcher(host, said["parts"].get("watcher"))
        tell(host, f"the watcher runs, by {manager.name}")

        # The watcher sees by itself that enough was said.
        for number in (1, 2, 3):
            host.say(fact(number))
        remembers(host, 3)

        # From here on it would wait for more than is said here: it has to be told.
        host.settings(LLM_PROVIDER="none")
        watcher.signal("HUP")
        host.say(fact(4))
        begin_anew(host, model, "/new", 4)

        jobs = jobs_of(host)
        fall_silent(host, model, jobs, 5)

        speak_as_a_machine(host, model)
        host.say(fact(6))
        assert host.ask("sessions", "compact", MAIN)["compacted"] is True
        remembers(host, 6)
        tell(host, "compacted")

        # A model from now on, and a gateway that was away over night.
        host.settings(LLM_BASE_URL=model.base_url, LLM_MODEL="tests/stand-in")
        host.say(fact(7))
        stay_away_a_day(host, model, jobs, 7)
        host.say(fact(9))
        begin_anew(host, model, "/reset", 9)
        run_job(host, model, jobs["memory-observer"])
        assert host.tags == once(9)

        assert watcher.pid, "the watcher lives"
        assert list((host.memory / ".total-recall" / "markers").iterdir()) == []
        uninstall(host)
        assert watcher.stopped()["flushes"] == 1
        tell(host, "uninstalled")


def begin_anew(host: Host, model: StandIn, command: str, upto: int) -> None:
    """End the session: the next one begins with what was said a moment before, and with no message of the old one."""
    began = time.monotonic()
    host.say(command)
    seconds = time.monotonic() - began
    question = f"{QUESTION} ({command})"
    is_shown(host, model, question, upto)
    is_new_session(model, question)
    assert host.tags == once(upto)
    tell(host, f"{command} within {seconds:.0f} s of the last fact, and the next prompt had every one")


def fall_silent(host: Host, model: StandIn, jobs: "dict[str, Any]", number: int) -> None:
    """Say a fact, then nothing for a minute in which the jobs run and OpenClaw looks at itself: the session ends."""
    resets(host, mode="idle", idleMinutes=1)
    host.say(fact(number))
    end = time.monotonic() + IDLE_SECONDS + 1
    runs_by_itself(host, model, jobs["memory-observer"], number)
    run_job(host, model, jobs["memory-reflector"])
    run_a_turn_by_cron(host, model)
    audit(host)
    tell(host, f"silent, {max(0.0, end - time.monotonic()):.0f} s of {IDLE_SECONDS:.0f} left")
    time.sleep(max(0.0, end - time.monotonic()))
    before = host.ended
    is_shown(host, model, f"{QUESTION} (idle)", number)
    assert host.ended == before + 1
    resets(host, mode="daily", atHour=4)
    assert host.tags == once(number)
    tell(host, "an idle session was ended, and the next prompt had every fact")


def stay_away_a_day(host: Host, model: StandIn, jobs: "dict[str, Any]", number: int) -> None:
    """The last fact was said yesterday when the gateway is back: the session ends, and what was said in it is kept."""
    host.stop_gateway()
    host.make_session_older(MAIN)
    host.start_gateway()
    before = host.ended
    chat(host, model, fact(number + 1))
    assert host.ended == before + 1
    until(lambda: tag(number) in host.tags, f"fact {number}, said on the day before, in memory")
    assert model.observed, "the observer asked the model"
    tell(host, "a session of the day before was ended after a restart")
    run_job(host, model, jobs["memory-observer"])
    assert host.tags == once(number + 1)
    is_shown(host, model, f"{QUESTION} (daily)", number + 1)


def run_a_turn_by_cron(host: Host, model: StandIn) -> None:
    """A cron job that asks the model: nobody says its words, and nobody reads there what is remembered."""
    job = host.ask(
        *("cron", "add", "--name", "harbour", "--cron", "0 5 1 1 *", "--session", "isolated"),
        *("--agent", "main", "--message", f"{WORDS} #cron-1.", "--no-deliver"),
    )
    done = first_json(host.openclaw("cron", "run", job["id"], "--wait", "--wait-timeout", "60s"))
    assert done["status"] == "ok", done
    assert BRIEF not in prompt_of(model.turn("#cron-1")), "a machine's session is shown no memory"
    host.openclaw("cron", "rm", job["id"])


def speak_as_a_machine(host: Host, model: StandIn) -> None:
    """A system event, and a subagent."""
    before = len(model.turns)
    host.openclaw("system", "event", "--text", f"{WORDS} #system-1.", "--mode", "now")
    until(lambda: len(model.turns) > before, "the event's turn")
    host.say(PASS_ON)
    until(lambda: any(DONE in prompt_of(asked) for asked in model.turns), "the subagent has reported")
    assert BRIEF not in prompt_of(model.turn(TASK))


def audit(host: Host) -> None:
    """OpenClaw's own audit has nothing to say about the skill."""
    findings = host.ask("security", "audit", "--deep")["findings"]
    assert findings
    assert [found for found in findings if "total-recall" in json.dumps(found)] == []
    tell(host, f"openclaw security audit --deep: {len(findings)} findings, none about the skill")


def uninstall(host: Host) -> None:
    """All that setup.py added to OpenClaw goes; memory stays as it is."""
    before = host.remembered
    host.layer("setup.py", "--uninstall", seconds=SETUP_SECONDS)
    assert host.remembered == before
    assert jobs_of(host) == {}
    assert not (host.state / "hooks" / "total-recall").exists()
    assert "total-recall" not in [hook["name"] for hook in host.ask("hooks", "list")["hooks"]]
