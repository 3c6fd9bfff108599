"""What a session's key and origin tell: whether a machine speaks in it, or several people. Pure."""

from __future__ import annotations

# Parts of a session key after "agent:<id>:" (measured 2026.3 to 2026.9, but for the last three: documented).
_MACHINE_KEY_PARTS = frozenset(("subagent", "cron", "hook", "heartbeat", "active-memory", "dreaming", "boot"))
_MACHINE_ORIGINS = frozenset(("spawn", "cron", "internal"))


def is_machine_key(session_key: str) -> bool:
    """Whether a session key ("agent:main:cron:<job>") names a session in which nobody speaks."""
    parts = session_key.split(":")
    parts = parts[2:] if parts[0] == "agent" else parts
    if "group" in parts or "channel" in parts or "direct" in parts:
        parts = parts[:1]  # what follows is an id from outside, which may be any word
    return any(part in _MACHINE_KEY_PARTS or part.startswith("dreaming-") for part in parts)


def is_group_key(session_key: str) -> bool:
    """Whether several people may speak in this session."""
    return ":group:" in session_key or ":channel:" in session_key


def is_machine_origin(created_via: str) -> bool:
    """Whether OpenClaw's record of how a session came to be ("spawn", "operator", ...) names a machine."""
    return created_via in _MACHINE_ORIGINS
