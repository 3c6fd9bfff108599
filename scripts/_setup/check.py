"""setup.py --check: what is in order and what is missing; nothing is changed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import _cli
from _cli import Result, Run
from _config import Config, presentable, presentable_model
from _errors import ConfigError, TotalRecallError
from _setup import hook, schedule, service

LOOKED_FOR = ("the packages", "the memory folder", "observations.md")


def check(run: Run, packages_found: bool, known: Mapping[str, Any]) -> Result:
    """Say what is in order and what is missing; exit code 3 unless everything needed is there.

    The hook, the watcher and cron are for each to choose, so that none of them is needed.
    """
    from _transcripts import find_sessions

    config = run.config
    writable = os.access(config.memory_dir, os.W_OK) and os.access(config.private_dir, os.W_OK)
    in_order = (packages_found, writable, os.access(config.observations_path, os.R_OK | os.W_OK))
    for name, found in zip(LOOKED_FOR, in_order):
        run.say(f"setup: {name}: {'in order' if found else 'missing or out of reach'}")
    transcripts = find_sessions(config).found_any
    run.say(f"setup: sessions of OpenClaw in {config.sessions_dir}: {'found' if transcripts else 'none yet'}")
    run.say(f"setup: who reads the conversations: {who_reads(config)}")
    lacking = [name for name, found in zip(LOOKED_FOR, in_order) if not found]
    facts = {**known, "dry_run": False, "missing": lacking, "transcripts": transcripts, **look_at_parts(run)}
    if lacking:
        what = f"not set up: {', '.join(lacking)} missing or not writable"
        return _cli.failed(ConfigError(what, "run: python3 scripts/setup.py"), facts)
    return Result("ok", "in_order", facts)


def look_at_parts(run: Run) -> "dict[str, Any]":
    """How it stands with the hook, the watcher and cron; "unknown" for one that cannot be asked."""
    facts: "dict[str, Any]" = {}
    told = {}
    for name, look in (("hook", hook.look), ("watcher", service.look), ("cron", schedule.look)):
        try:
            found = look(run)
        except TotalRecallError as problem:
            facts[name], told[name] = "unknown", f"cannot be told: {problem}"
            continue
        facts[name], told[name] = found[0], found[-1]
        if name == "watcher":
            facts["lingering"] = found[1]
    for name, sentence in told.items():
        run.say(f"setup: {name}: {sentence}")
    return facts


def who_reads(config: Config) -> str:
    """The provider in words, with what the person should know of it."""
    if config.provider == "none":
        return "the built-in extractor (nothing leaves this machine)"
    if config.provider == "openclaw":
        return "OpenClaw's own model (openclaw infer model run)"
    key = "with a key" if config.api_key else "without a key"
    return f"{presentable_model(config.observer_models[0])} at {presentable(config, 'LLM_BASE_URL')}, {key}"
