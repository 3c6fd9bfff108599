"""What a person does with the skill in OpenClaw, and what has to be so afterwards; for more than one test."""

from __future__ import annotations

from typing import Any

from facts import once, tag
from host import Host, first_json, until
from stand_in_model import StandIn, prompt_of, text_of

SETUP_SECONDS = 240.0  # a dozen openclaw commands, each of which takes some seconds
QUESTION = "What did I ask you to keep in mind?"


def install(host: Host, **settings: str) -> None:
    """Install the skill and set it up beside a running gateway, with these variables in `.env`."""
    host.install_skill()
    assert host.ask("skills", "info", "total-recall")["eligible"] is True
    host.start_gateway()
    host.settings(**settings)
    parts = host.layer("setup.py", "--hook", "--cron", "openclaw", seconds=SETUP_SECONDS)["parts"]
    # 2026.7 says that it takes up a new gateway hook at once, but does so only when it starts.
    assert parts["hook"]["restart_gateway"] is host.version.startswith("2026.7")
    if parts["hook"]["restart_gateway"]:
        host.stop_gateway()
        host.start_gateway()


def remembers(host: Host, upto: int) -> None:
    """Wait until each fact up to this one is in memory; once each, and nothing besides."""
    until(lambda: tag(upto) in host.tags, f"fact {upto} in memory")
    assert host.tags == once(upto)


def is_shown(host: Host, model: StandIn, question: str, upto: int) -> None:
    """Ask, and see that the model is shown each fact up to this one among its instructions."""
    host.say(question)
    asked = model.turn(question)
    system = "\n".join(text_of(said) for said in asked.body["messages"] if said["role"] == "system")
    missing = [number for number in range(1, upto + 1) if tag(number) not in system]
    assert missing == [], f"facts that the prompt lacks; in memory: {host.tags}"


def jobs_of(host: Host) -> "dict[str, Any]":
    """The skill's cron jobs, by name."""
    jobs = host.ask("cron", "list")["jobs"]
    return {job["name"]: job for job in jobs if job.get("declarationKey", "").startswith("total-recall")}


def run_job(host: Host, model: StandIn, job: "dict[str, Any]") -> None:
    """Have OpenClaw run a job now. It has to end well, as a plain command for which the agent's model is not asked."""
    assert job["payload"]["kind"] == "command"
    done = first_json(host.openclaw("cron", "run", job["id"], "--wait", "--wait-timeout", "60s"))
    assert done["status"] == "ok", done
    assert '"status": "ok"' in done["run"]["summary"], done
    assert [asked for asked in model.turns if job["id"] in prompt_of(asked)] == []
