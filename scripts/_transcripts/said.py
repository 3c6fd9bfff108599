"""What somebody said in a transcript entry. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, Optional

from _compat import epoch_ms, parse_instant, sha256_hex
from _transcripts import clean, machine
from _transcripts.entry import entry_id

_MESSAGE_TYPES = ("message", "user", "assistant")
_SILENT_BLOCKS = frozenset(
    (
        "thinking",
        "reasoning",
        "redacted_thinking",
        "toolCall",
        "tool_use",
        "toolUse",
        "toolResult",
        "tool_result",
        "server_tool_use",
    )
)
_TEXT_BLOCKS = frozenset(("text", "input_text", "output_text"))
_MEDIA_BLOCKS = {
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "audio": "audio",
    "input_audio": "audio",
    "video": "video",
    "file": "file",
    "document": "file",
}
_REPLY_TAG = re.compile(r"\[\[\s*(?:reply_to_current|reply_to:[^\]\n]{0,80}|audio_as_voice)\s*\]\]\s*")
_EPOCH = datetime(1970, 1, 1)
_COPIES = ("delivery-mirror", "gateway-injected")


class Said(NamedTuple):
    """What one entry says.

    `kind`: "message", or why it is none: "machine" (written by OpenClaw or this skill), "commands", "tools",
    "noise" (a copy, NO_REPLY, an empty or failed answer, text that was wrapping only), "other" (no turn at all).
    `starts_machine_turn` is True, False, or None when the entry changes nothing about whose turn it is.
    `at_ms` is the entry's time, epoch milliseconds, or None. `entry_id` is "" when it has none.
    """

    kind: str
    entry_id: str = ""
    at_ms: Optional[int] = None
    role: str = ""
    text: str = ""
    sender: str = ""
    trusted: bool = False
    starts_machine_turn: Optional[bool] = None
    unknown_blocks: int = 0

    @property
    def uid(self) -> str:
        """The same for the same entry in a JSONL file and in the store."""
        if len(self.entry_id) >= 32:
            return self.entry_id
        if self.entry_id:
            return f"{self.entry_id}@{self.at_ms or 0}"
        return (
            "sha256:"
            + sha256_hex(f"{self.role}\n{self.at_ms or 0}\n{self.text}".encode("utf-8", "replace"))[:32]
        )


def hear(entry: Mapping[str, Any], group: bool = False) -> Said:
    """What an entry says. `group`: several people may speak in this session."""
    message = entry.get("message")
    if entry.get("type") not in _MESSAGE_TYPES or not isinstance(message, dict):
        return Said("other", entry_id(entry), _time_of(entry, {}))
    own_id, at_ms, role = entry_id(entry), _time_of(entry, message), message.get("role")
    if role == "user":
        return _hear_user(message, own_id, at_ms, group)
    if role == "assistant":
        return _hear_assistant(message, own_id, at_ms)
    return Said("tools", own_id, at_ms)


def _hear_user(message: Mapping[str, Any], own_id: str, at_ms: Optional[int], group: bool) -> Said:
    stored, unknown = _content_text(message)
    if machine.is_machine_provenance(message):
        return Said("machine", own_id, at_ms, "user", clean.unwrap(stored).text, starts_machine_turn=True)
    if machine.is_tool_text(stored.lstrip()) or _only_tool_results(message):
        return Said("tools", own_id, at_ms, "user")
    unwrapped = clean.unwrap(stored)
    if machine.is_machine_prompt(unwrapped.text):
        return Said("machine", own_id, at_ms, "user", unwrapped.text, starts_machine_turn=True)
    if machine.is_continuation(unwrapped.text):
        return Said("machine", own_id, at_ms, "user")
    is_command, text = clean.split_command(unwrapped.text)
    if is_command:
        return Said("commands", own_id, at_ms, "user")
    text = _with_media(text, message)
    if not text:
        # Wrapping and nothing in it: system events, injected memory. Nobody spoke, so the answer is to a machine.
        injected = bool(stored.strip())
        return Said(
            "machine" if injected else "noise", own_id, at_ms, "user", starts_machine_turn=injected or None
        )
    owner = _host_notes(message).get("senderIsOwner")
    trusted = owner is True or (owner is None and not group and not unwrapped.group)
    return Said("message", own_id, at_ms, "user", text, unwrapped.sender, trusted, False, unknown)


def _hear_assistant(message: Mapping[str, Any], own_id: str, at_ms: Optional[int]) -> Said:
    if message.get("provider") == "openclaw" and message.get("model") in _COPIES:
        return Said("noise", own_id, at_ms, "assistant")
    if machine.is_machine_run(_host_notes(message).get("runId")):
        return Said("machine", own_id, at_ms, "assistant")
    stored, unknown = _content_text(message)
    text = _REPLY_TAG.sub("", clean.tidy(stored)) if "[[" in stored else clean.tidy(stored)
    text = machine.without_silence(clean.without_own(text))
    if not text:
        return Said("noise", own_id, at_ms, "assistant", unknown_blocks=unknown)
    return Said("message", own_id, at_ms, "assistant", text, unknown_blocks=unknown)


def _host_notes(message: Mapping[str, Any]) -> Mapping[str, Any]:
    notes = message.get("__openclaw")
    return notes if isinstance(notes, dict) else {}


_EARLIEST_MS, _LATEST_MS = 946_684_800_000, 7_258_118_400_000  # the years 2000 to 2200


def _time_of(entry: Mapping[str, Any], message: Mapping[str, Any]) -> Optional[int]:
    """The entry's own time, else the message's; epoch milliseconds. None for one that no conversation can have: a
    clock that was never set, seconds taken for milliseconds."""
    for value in (entry.get("timestamp"), message.get("timestamp")):
        at_ms = None
        if isinstance(value, str):
            at_ms = _iso_ms(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < _LATEST_MS:
            at_ms = int(value)
        if at_ms is not None and _EARLIEST_MS < at_ms < _LATEST_MS:
            return at_ms
    return None


def _iso_ms(text: str) -> Optional[int]:
    """An ISO-8601 time as epoch milliseconds; quick for "2026-11-30T02:14:28.714Z", as OpenClaw writes them."""
    if len(text) == 24 and text[-1] == "Z":
        try:
            passed = datetime.fromisoformat(text[:-1]) - _EPOCH
        except (ValueError, TypeError):
            return None
        return passed.days * 86_400_000 + passed.seconds * 1000 + passed.microseconds // 1000
    moment = parse_instant(text)
    return epoch_ms(moment) if moment is not None else None


def _only_tool_results(message: Mapping[str, Any]) -> bool:
    """Whether this is a tool's result in the vocabulary that calls it a user turn."""
    content = message.get("content")
    if not isinstance(content, list) or not content:
        return False
    return all(
        isinstance(block, dict) and block.get("type") in ("tool_result", "toolResult") for block in content
    )


def _content_text(message: Mapping[str, Any]) -> "tuple[str, int]":
    """(the text of a message with placeholders for images, how many blocks are of no known type)."""
    content = message.get("content")
    if isinstance(content, str):
        return content, 0
    texts, unknown = [], 0
    for block in content if isinstance(content, list) else []:
        if isinstance(block, str):
            texts.append(block)
            continue
        kind = block.get("type") if isinstance(block, dict) else None
        if kind in _TEXT_BLOCKS and isinstance(block.get("text"), str):
            texts.append(block["text"])
        elif kind in _MEDIA_BLOCKS:
            if not _media_names(message):
                texts.append(clean.placeholder(_MEDIA_BLOCKS[kind], _block_name(block)))
        elif kind not in _SILENT_BLOCKS:
            unknown += 1
    return "\n".join(texts), unknown


def _block_name(block: Mapping[str, Any]) -> str:
    for name in ("fileName", "filename", "name", "path"):
        value = block.get(name)
        if isinstance(value, str) and value:
            return clean.media_name(value)
    return ""


def _with_media(text: str, message: Mapping[str, Any]) -> str:
    if "MediaPaths" not in message and "__openclaw" not in message:
        return text
    marks = [mark for mark in _media_names(message) if mark not in text]
    return "\n".join(part for part in [text, *marks] if part)


def _media_names(message: Mapping[str, Any]) -> "list[str]":
    """Placeholders for what was sent along: MediaPaths (2026.7), `__openclaw.media` (2026.9)."""
    marks = []
    media = _host_notes(message).get("media")
    for item in media if isinstance(media, list) else []:
        if isinstance(item, dict):
            name = _block_name(item) or clean.media_name(str(item.get("url") or ""))
            marks.append(clean.placeholder(_media_kind(item.get("contentType") or item.get("kind")), name))
    paths, types = message.get("MediaPaths"), message.get("MediaTypes")
    if not marks and isinstance(paths, list):
        for index, path in enumerate(paths):
            kind = types[index] if isinstance(types, list) and index < len(types) else ""
            marks.append(clean.placeholder(_media_kind(kind), clean.media_name(str(path))))
    return marks


def _media_kind(content_type: object) -> str:
    """ "image" for "image/png"."""
    kind = str(content_type or "").split("/")[0]
    return kind if kind in ("image", "audio", "video") else "file"
