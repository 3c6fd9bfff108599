"""The turn that OpenClaw makes before it compacts (memoryFlush): what we ask of it, where it still takes a prompt.

That turn can read files and append to memory/YYYY-MM-DD.md, nothing else: it cannot run the observer.
"""

from __future__ import annotations

import json
from typing import Any, Optional

from _cli import Run

# 2026.8.1 and newer refuse a configuration with `prompt` or `systemPrompt` in it.
PROMPT_REFUSED_SINCE = (2026, 8)
# OpenClaw puts the date in for YYYY-MM-DD. By the first sentence the observer knows that no person said this.
PROMPT = (
    "Pre-compaction memory flush. The earlier part of this conversation is about to be summarised. Append to "
    "memory/YYYY-MM-DD.md, one bullet a fact, what must not be lost: names, dates, numbers, decisions and their "
    "reasons, preferences, promises, open tasks. Write what was said, with the day instead of words like tomorrow; "
    "no guesses, no keys or passwords. Never change what is there. If there is nothing to add, reply with NO_REPLY."
)
SYSTEM_PROMPT = (
    "Pre-compaction memory flush turn. Append lasting facts to memory/YYYY-MM-DD.md, then say NO_REPLY."
)


def settings() -> "dict[str, Any]":
    """The part of openclaw.json for hosts up to 2026.7."""
    flush = {"enabled": True, "softThresholdTokens": 4000, "prompt": PROMPT, "systemPrompt": SYSTEM_PROMPT}
    return {"agents": {"defaults": {"compaction": {"memoryFlush": flush}}}}


def say_flush(run: Run, version: "Optional[tuple[int, int]]") -> None:
    """Print the configuration for a host that takes it, and say why not for one that does not."""
    if version is None or version < PROMPT_REFUSED_SINCE:
        which = "OpenClaw up to 2026.7" if version is None else "this OpenClaw"
        run.say(
            f"setup: hook: {which} can be asked to write facts down before it compacts, by this in openclaw.json:"
        )
        run.say(json.dumps(settings(), indent=2))
    if version is None or version >= PROMPT_REFUSED_SINCE:
        which = "2026.8 and newer take" if version is None else "this OpenClaw takes"
        run.say(
            f"setup: hook: {which} no memoryFlush prompt (it would refuse its configuration); the hook's marker before "
            "a compaction and the observer do that work"
        )
