"""What a person does with the skill in OpenClaw, and what has to be so afterwards; for more than one test."""

from __future__ import annotations

import json
from typing import Any

from facts import once, tag
from host import Host, first_json, until
from stand_in_model import StandIn, prompt_of, text_of

SETUP_SECONDS = 240.0  # a dozen openclaw commands, each of which takes some seconds
QUESTION = "What did I ask you to keep in mind?"
MAIN = "agent:main:main"
IDLE_SECONDS = 60.0  # the shortest that OpenClaw takes


def tell(host: Host, what: str) -> None:
    """A line for who reads the tests' output (pytest -rP)."""
    tags = ", ".join(f"{name} x{count}" for name, count in sorted(host.tags.items()))
    print(f"{host.version} after {host.age:.0f} s: {what}; in memory: {tags or 'nothing'}")


def install(host: Host, *flags: str, **settings: str) -> "dict[str, Any]":
    """Install the skill and set it up beside a running gateway, with these variables in `.env`; what setup.py says."""
    host.install_skill()
    assert host.ask("skills", "info", "total-recall")["eligible"] is True
    host.start_gateway()
    host.settings(**settings)
    command = host.command("setup.py", "--hook", *flags, "--cron", "openclaw")
    done = host.attempt(command, SETUP_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    said = first_json(done.stdout)
    parts = said["parts"]
    assert {part["outcome"] for part in parts.values()} == {"done"}, parts
    # 2026.7 says that it takes up a new gateway hook at once, but does so only when it starts.
    assert parts["hook"]["restart_gateway"] is host.version.startswith("2026.7")
    if parts["hook"]["restart_gateway"]:
        host.stop_gateway()
        host.start_gateway()
    tell(host, f"set up: {', '.join(parts)}")
    return {**said, "sentences": done.stderr}


def remembers(host: Host, upto: int) -> None:
    """Wait until each fact up to this one is in memory; once each, and nothing besides."""
    until(lambda: tag(upto) in host.tags, f"fact {upto} in memory")
    assert host.tags == once(upto)


def chat(host: Host, model: StandIn, text: str) -> None:
    """Write something in the main session, and wait until the model was asked."""
    host.write(text)
    until(lambda: any(text in prompt_of(asked) for asked in model.turns), f"a turn for: {text}")


def is_shown(host: Host, model: StandIn, question: str, upto: int) -> None:
    """Ask, and see that the model is shown each fact up to this one among its instructions."""
    chat(host, model, question)
    asked = model.turn(question)
    system = "\n".join(text_of(said) for said in asked.body["messages"] if said["role"] == "system")
    missing = [number for number in range(1, upto + 1) if tag(number) not in system]
    assert missing == [], f"facts that the prompt lacks; in memory: {host.tags}"


def is_new_session(model: StandIn, said: str) -> None:
    """What was said last was the first thing that was said in its session."""
    roles = [message["role"] for message in model.turn(said).body["messages"]]
    assert "assistant" not in roles, f"an old session: {roles}"


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


def runs_by_itself(host: Host, model: StandIn, job: "dict[str, Any]", upto: int) -> None:
    """Have OpenClaw's scheduler run a job of setup.py's every few seconds, and see that it does so, without a model."""
    assert tag(upto) not in host.tags
    before = len(model.turns)
    host.openclaw("cron", "edit", job["id"], "--every", "5s")
    until(lambda: tag(upto) in host.tags, "the job ran by itself", 60.0)
    assert len(model.turns) == before, "no model was asked"
    every = job["schedule"]["everyMs"] // 60_000
    host.openclaw("cron", "edit", job["id"], "--every", f"{every}m")
    runs = first_json(host.openclaw("cron", "runs", "--id", job["id"], "--limit", "20"))["entries"]
    assert {run["status"] for run in runs} == {"ok"}, runs
    tell(host, f"{job['name']} ran by itself, {len(runs)} times")


def resets(host: Host, **when: object) -> None:
    """Have OpenClaw begin a new session by itself; takes effect without a restart."""
    host.openclaw("config", "set", "session.reset", json.dumps(when), "--strict-json")
