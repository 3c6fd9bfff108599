"""A person installs the skill into a real OpenClaw and talks to it for a while: nothing is lost or noted twice."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from facts import fact, once
from host import STOP_SECONDS, Host, first_json, hosted, until
from installed import NEW, OLD
from stand_in_model import PASS_ON, TASK, StandIn, prompt_of
from steps import QUESTION, SETUP_SECONDS, install, is_shown, jobs_of, remembers, run_job

pytestmark = [pytest.mark.openclaw, pytest.mark.timeout(900)]

MAIN = "agent:main:main"
BRIEF = "<total-recall-brief>"
DONE = "A background task completed"  # how OpenClaw tells the main session of a subagent's end


@pytest.mark.parametrize("version", [OLD, NEW])
def test_what_a_person_says_is_remembered(tmp_path: Path, version: str) -> None:
    with StandIn() as model, hosted(tmp_path / "home", version, model.base_url) as host:
        install(host, LLM_PROVIDER="none", OBSERVER_LINE_THRESHOLD="2", OBSERVER_COOLDOWN_SECS="1")
        watcher = host.start(host.command("watcher.py", "--workspace", str(host.workspace)), "watcher.log")

        # The watcher sees by itself that enough was said.
        for number in (1, 2, 3):
            host.say(fact(number))
        remembers(host, 3)

        # From here on it would wait for more than is said here: it has to be told.
        host.settings(LLM_PROVIDER="none")
        watcher.send_signal(signal.SIGHUP)
        host.say(fact(4))
        begin_anew(host, model, "/new", 4)

        host.say(fact(5))
        jobs = jobs_of(host)
        for name in ("memory-observer", "memory-reflector"):
            run_job(host, model, jobs[name])
        assert host.tags == once(5)

        speak_as_a_machine(host, model)
        host.say(fact(6))
        assert host.ask("sessions", "compact", MAIN)["compacted"] is True
        remembers(host, 6)

        # A model from now on, and a gateway that was away.
        host.settings(LLM_BASE_URL=model.base_url, LLM_MODEL="tests/stand-in")
        host.say(fact(7))
        host.stop_gateway()
        host.start_gateway()
        host.say(fact(8))
        run_job(host, model, jobs["memory-observer"])
        assert host.tags == once(8)
        assert model.observed, "the observer asked the model"
        host.say(fact(9))
        begin_anew(host, model, "/reset", 9)
        run_job(host, model, jobs["memory-observer"])
        assert host.tags == once(9)

        assert watcher.poll() is None, "the watcher lives"
        assert list((host.memory / ".total-recall" / "markers").iterdir()) == []
        audit(host)
        uninstall(host)
        watcher.send_signal(signal.SIGTERM)
        assert watcher.wait(STOP_SECONDS) == 0
        told = json.loads((host.home / "watcher.log").read_text(encoding="utf-8").splitlines()[-1])
        assert (told["status"], told["flushes"]) == ("ok", 1)


def begin_anew(host: Host, model: StandIn, command: str, upto: int) -> None:
    """End the session: the next one begins with what was said a moment before, and with no message of the old one."""
    host.say(command)
    question = f"{QUESTION} ({command})"
    is_shown(host, model, question, upto)
    roles = [said["role"] for said in model.turn(question).body["messages"]]
    assert "assistant" not in roles, "a new session"
    assert host.tags == once(upto)


def speak_as_a_machine(host: Host, model: StandIn) -> None:
    """A cron job's turn, a system event and a subagent, each with words that would be kept if a person said them."""
    words = "Always call the harbour office before 10 December"
    job = host.ask(
        *(
            "cron",
            "add",
            "--name",
            "harbour",
            "--cron",
            "0 5 1 1 *",
            "--session",
            "isolated",
            "--agent",
            "main",
        ),
        *("--message", f"{words} #cron-1.", "--no-deliver"),
    )
    done = first_json(host.openclaw("cron", "run", job["id"], "--wait", "--wait-timeout", "60s"))
    assert done["status"] == "ok", done
    assert BRIEF not in prompt_of(model.turn("#cron-1")), "a machine's session is shown no memory"
    host.openclaw("cron", "rm", job["id"])
    before = len(model.turns)
    host.openclaw("system", "event", "--text", f"{words} #system-1.", "--mode", "now")
    until(lambda: len(model.turns) > before, "the event's turn")
    host.say(PASS_ON)
    until(lambda: any(DONE in prompt_of(asked) for asked in model.turns), "the subagent has reported")
    assert BRIEF not in prompt_of(model.turn(TASK))


def audit(host: Host) -> None:
    """OpenClaw's own audit has nothing to say about the skill."""
    findings = host.ask("security", "audit", "--deep")["findings"]
    assert findings
    assert [found for found in findings if "total-recall" in json.dumps(found)] == []


def uninstall(host: Host) -> None:
    """All that setup.py added to OpenClaw goes; memory stays as it is."""
    before = host.remembered
    host.layer("setup.py", "--uninstall", seconds=SETUP_SECONDS)
    assert host.remembered == before
    assert jobs_of(host) == {}
    assert not (host.state / "hooks" / "total-recall").exists()
    assert "total-recall" not in [hook["name"] for hook in host.ask("hooks", "list")["hooks"]]
