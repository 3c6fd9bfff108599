"""What nobody said: sessions, prompts and answers that OpenClaw or this skill made. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# A prompt that begins like this was not typed by a person. Matched after stamps and metadata are stripped.
_PROMPT = re.compile(
    r"""
      \[cron:\S+\ [^\]\n]+\] | \[cron:[0-9a-fA-F-]{36}\]
    | \[Subagent\ (?:Context|Task)\]
    | OpenClaw\ runtime\ (?:context|event)\ \(internal\):
    | \[Internal\ task\ completion\ event\]
    | \[Inter-session\ message\]
    | \[System\ Message\]\ \[sessionId:
    | \[OpenClaw\ heartbeat\ poll\]
    | A\ new\ session\ was\ started\ via\ /new\ or\ /reset\.
    | Read\ HEARTBEAT\.md\ if\ it\ exists\b.*\b(?:HEARTBEAT_OK|NO_REPLY)\b
    | Pre-compaction\ memory\ flush\.
    | Session\ nearing\ compaction\.\ Store\ durable\ memories
    | Continue\ the\ OpenClaw\ runtime\ event\.
    | An\ async\ command\ (?:you\ ran|the\ user\ already\ approved|did\ not\ run)\b.*\bcomplet
    | A\ (?:scheduled\ reminder|cron\ event)\ has\ been\ triggered\.
    | A\ scheduled\ cron\ event\ was\ triggered\b
    | Agent-to-agent\ (?:announce|reply)\ step\.
    | <total-recall-(?!brief>)
    """,
    re.VERBOSE | re.DOTALL,
)
# A session that begins like this belongs to a machine from end to end.
_SESSION_PROMPT = re.compile(r"\[cron:\S|\[Subagent (?:Context|Task)\]|<total-recall-(?!brief>)")
_CONTINUATION = re.compile(
    r"Continue where you left off\.?(?: The previous (?:model )?(?:attempt|turn)[^\n]{0,80})?", re.IGNORECASE
)
_TOOL_TEXT = re.compile(r"tool_?results?:\s", re.IGNORECASE)
_SILENCE = re.compile(r"(?:NO_REPLY|HEARTBEAT_OK)", re.IGNORECASE)


def is_machine_provenance(message: Mapping[str, Any]) -> bool:
    """Whether the message says of itself that another session or OpenClaw wrote it."""
    provenance = message.get("provenance")
    if not isinstance(provenance, dict):
        return False
    return provenance.get("kind") in ("internal_system", "inter_session")


def is_machine_run(run_id: object) -> bool:
    """Whether an answer belongs to a run that the announcement of a subagent's result started."""
    return isinstance(run_id, str) and run_id.startswith("announce:")


def is_machine_prompt(text: str) -> bool:
    """Whether a user turn's text, already unwrapped, was written by OpenClaw or by this skill."""
    return bool(_PROMPT.match(text))


def opens_machine_session(text: str) -> bool:
    """Whether a session whose first prompt is this text belongs to a machine altogether."""
    return bool(_SESSION_PROMPT.match(text))


def is_continuation(text: str) -> bool:
    """Whether the text only asks to go on after a failed attempt: no content, and no new turn."""
    return bool(_CONTINUATION.fullmatch(text.strip()))


def is_tool_text(text: str) -> bool:
    """Whether a tool's result stands in the text of a turn ("toolresult: {...}")."""
    return bool(_TOOL_TEXT.match(text))


def without_silence(text: str) -> str:
    """An answer without NO_REPLY or HEARTBEAT_OK where those stand alone on its first or last line."""
    shouted = text.upper()
    if "NO_REPLY" not in shouted and "HEARTBEAT_OK" not in shouted:
        return text.strip()
    lines = text.strip().split("\n")
    while lines and _is_silence(lines[0]):
        lines.pop(0)
    while lines and _is_silence(lines[-1]):
        lines.pop()
    return "\n".join(lines).strip()


def _is_silence(line: str) -> bool:
    return not line.strip() or bool(_SILENCE.fullmatch(line.strip(" \t*_`#>.!\"'()[]<b/")))
