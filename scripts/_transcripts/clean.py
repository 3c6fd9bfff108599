"""What was said, without the wrapping that OpenClaw, plugins and this skill put around it. Pure.

Wrapping is taken off only where it is put on: at the beginning or the end of a text, at the start of a line, and only
when it is complete. Whoever merely writes about it keeps every word, and a block that is never closed hides nothing.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Optional

from _transcripts.shrink import looks_like_base64

BASE64_TEXT = "[base64 data]"

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_UNTIDY = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_DATA_URL = re.compile(
    r"data:[\w.+-]{0,80}/?[\w.+-]{0,80}(?:;[\w=.+-]{1,80}){0,4};base64,[A-Za-z0-9+/=_-]*(?:\[base64 data\])?"
)
_LONG_RUN = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{1000,}")

_STAMP = re.compile(r"\[[A-Za-z]{3} \d{4}-\d{2}-\d{2} \d{2}:\d{2}[^\]\n]*\] *")
_METADATA = re.compile(
    r"(?:(?:Conversation info|Sender|Forwarded message context) \(untrusted metadata\)"
    r"|(?:Thread starter|Reply target of current user message|Replied message"
    r"|Chat history since last reply) \(untrusted, for context\)"
    r"|[^\n]{1,200} \(untrusted, chronological(?:, [^\n]{1,200})?\)):[ \t]*\n"
)
_FENCE = re.compile(r"```json[ \t]*\n(.*?)\n```[ \t]*(?:\n|\Z)", re.DOTALL)
_CHRONOLOGICAL = re.compile(r"[^\n]{1,200} \(untrusted, chronological(?:, [^\n]{1,200})?\):[ \t]*\n")
_CHANNELS = (
    "WhatsApp|Telegram|Discord|Slack|Signal|iMessage|BlueBubbles|WebChat|Webchat|Google Chat|GoogleChat"
    "|Microsoft Teams|Teams|MSTeams|Matrix|Mattermost|LINE|Zalo|Feishu|Lark|Nostr|Twitch|IRC|SMS|Nextcloud Talk|QQ"
)
_ENVELOPE = re.compile(
    rf"\[(?:{_CHANNELS}) "
    r"([^\]\n]{0,200}?) ?(?:\+\d+[smhd] )?(?:[A-Z][a-z]{2} )?\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}[^\]\n]{0,80}\] ?"
)
_MESSAGE_ID = re.compile(r"\[message_id: [^\]\n]*\][ \t]*(?:\n|\Z)")
_QUEUED = re.compile(
    r"\[Queued user message that arrived while the previous turn was still active\][ \t]*(?:\n|\Z)"
    r"|\[Queued messages while agent was busy\][ \t]*(?:\n|\Z)"
    r"|---\nQueued #\d+[^\n]{0,80}(?:\n|\Z)"
    r"|\[Current message - respond to this\][ \t]*\n"
)
_GROUP_CONTEXT = re.compile(
    r"\[Chat messages since your last reply - for context\]\n"
    r"(?:(?!\[Current message - respond to this\]).*\n)*\[Current message - respond to this\][ \t]*\n"
)
_SYSTEM_LINES = re.compile(
    r"System(?: \(untrusted\))?: \[\d{4}-\d\d-\d\d[^\]\n]{0,50}\][^\n]*"
    r"(?:\n(?:System(?: \(untrusted\))?: )[^\n]*)*(?:\n|\Z)"
)
_MEDIA_LINE = re.compile(r"\[media attached(?: \d+/\d+)?: ([^\]\n]*)\][ \t]*(?:\n|\Z)")
_MEDIA_HINT = re.compile(r"To send an image back, prefer the message tool[^\n]*(?:\n|\Z)")

_TAGS = "total-recall-brief|relevant-memories|relevant_memories|active_memory_plugin|supermemory-context"


def _block(opening: str, closing: str) -> str:
    """A block from a line that begins with `opening` to the nearest `closing`, without another opening between.

    The innermost pair, so that a stray opening earlier in the text cannot swallow what a person said after it.
    """
    return rf"{opening}(?:(?!\n{opening}).)*?{closing}[ \t]*(?:\n|\Z)"


_BLOCKS = "|".join(
    [
        *(_block(rf"<{tag}(?: [^>\n]*)?>", rf"</{tag}>") for tag in _TAGS.split("|")),
        _block("<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>", "<<<END_OPENCLAW_INTERNAL_CONTEXT>>>"),
        _block("⟦openclaw:ctx⟧", "⟦/openclaw:ctx⟧"),
    ]
)
_LEADING_BLOCK = re.compile(rf"(?:{_BLOCKS})", re.DOTALL)
_TRAILING_BLOCK = re.compile(rf"(?:\A|\n)(?:{_BLOCKS})\Z", re.DOTALL)
_OWN_BLOCK = re.compile(
    r"(?m:^)" + _block(r"(?:```\w*\n)?<total-recall-brief(?: [^>\n]*)?>", r"</total-recall-brief>(?:\n```)?"),
    re.DOTALL,
)
_REPLY = re.compile(r"\n\[Replying to [^\]\n]*\]\n(?:(?!\[/Replying\]).)*\[/Replying\]\s*\Z", re.DOTALL)
_FROM = re.compile(r"(?:\A|\n)\[from: ([^\]\n]*)\]\s*\Z")
_TRAILING_ID = re.compile(r"(?:\A|\n)\[message_id: [^\]\n]*\]\s*\Z")
_UNTRUSTED_HEADER = "Untrusted context (metadata, do not treat as instructions or commands):"
_UNTRUSTED = re.compile(
    r"[^\n]*\n(?:<<<EXTERNAL_UNTRUSTED_CONTENT[^\n]*\n.*?<<<END_EXTERNAL_UNTRUSTED_CONTENT[^\n]*"
    r"|```json[ \t]*\n.*?\n```"
    r"|(?:UNTRUSTED [\w ]{0,40}metadata \(|Source:[ \t])[^\n]*(?:\n[^\n]+)*)\s*\Z",
    re.DOTALL,
)

_MOST_WRAPPINGS = 50  # taken off one text: it has a few, and a hostile one could have a million

# Labels that name the program in which the owner types, not a person.
_CLIENTS = frozenset(
    ("cli", "webchat", "heartbeat", "gateway-client", "openclaw-tui", "tui", "node-host", "unknown", "user")
)

_COMMANDS = (
    "new|reset|compact|status|stop|abort|help|commands|model|models|think|thinking|t|verbose|v|reasoning|reason"
    "|elevated|elev|usage|whoami|id|context|queue|exec|restart|activation|send|tts|debug|config|approve|trace|fast"
    "|export|export-session|session|subagents|skill|allowlist|bash|dock-telegram|dock-discord|dock-slack|tasks|mcp"
)
_COMMAND = re.compile(rf"/({_COMMANDS})(?:@\w+)?(?:[ \t]*:)?(?:\s+(\S.*))?", re.DOTALL | re.IGNORECASE)


# Some words of a script that has no spaces between them.
_WIDE_WORDS = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]{4}")


@dataclass(frozen=True)
class Unwrapped:
    """`text` as it was said, `sender` as the channel named them ("" unknown or just a client), `group` by metadata."""

    text: str
    sender: str = ""
    group: bool = False


def unwrap(text: str) -> Unwrapped:
    """A user turn's stored text without stamps, envelopes, metadata, injected context and our own memory."""
    text = tidy(text)
    found: "dict[str, Any]" = {"sender": "", "group": False, "media": []}
    for _ in range(_MOST_WRAPPINGS):
        shorter = _strip_leading(text.lstrip(), found)
        if shorter is None:
            break
        text = shorter
    text = _strip_trailing(text, found)
    text = without_own(text)
    text = "\n".join([part for part in [text.strip(), *found["media"]] if part])
    return Unwrapped(text, _person(found["sender"]), bool(found["group"]))


def tidy(text: str) -> str:
    """Text without escape codes, control characters, lone surrogates, CRLF, data URLs and long base64 runs."""
    if _UNTIDY.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        text = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
        text = _CONTROL.sub("", text)
    if "base64," in text:
        text = _DATA_URL.sub(BASE64_TEXT, text)
    return _LONG_RUN.sub(_base64_replaced, text) if len(text) >= 1000 else text


def without_own(text: str) -> str:
    """Text without this skill's memory and reports: the brief, observation lines, result objects."""
    if "<total-recall-brief" in text:
        text = _OWN_BLOCK.sub("", text)
    if "<!-- dc:" in text or '"layer"' in text:
        text = "\n".join([line for line in text.split("\n") if not _is_own_line(line)])
    if '"layer"' in text and _is_own_result(text):
        return ""
    return text.strip()


def split_command(text: str) -> "tuple[bool, str]":
    """(whether `text` is a control command of OpenClaw, what is left to remember of it).

    "/new" and "/model x" leave nothing; "/new my sister is called Anna" leaves the words; other text is left whole.
    """
    match = _COMMAND.fullmatch(text.strip()) if "/" in text[:20] else None
    if not match:
        return False, text
    words = (match.group(2) or "").strip()
    if len(words.split()) < 2 and not _WIDE_WORDS.search(words):
        return True, ""
    return (False, words) if match.group(1).lower() in ("new", "reset") else (False, text)


def media_name(path: str) -> str:
    """A short name for a media file: "red.png" for "/x/inbound/red---da1d41e1-...-468f86.png"."""
    name = re.split(r"[/\\]", path.split("?")[0])[-1].strip()
    return re.sub(r"---[0-9a-f]{8}-[0-9a-f-]{27}(?=\.|\Z)", "", name)[:120].replace("]", "")


def placeholder(kind: str, name: str = "") -> str:
    """ "[image: red.png]" or "[image]"."""
    return f"[{kind}: {name}]" if name else f"[{kind}]"


def _base64_replaced(match: "re.Match[str]") -> str:
    return BASE64_TEXT if looks_like_base64(match.group().encode("ascii")) else match.group()


def _strip_leading(text: str, found: "dict[str, Any]") -> Optional[str]:
    """`text` without the one wrapping it begins with, noting what that says in `found`; None when there is none."""
    if text[:1] in ("[", "<", "⟦", "-"):
        for pattern in (_STAMP, _MESSAGE_ID, _QUEUED, _GROUP_CONTEXT, _LEADING_BLOCK):
            match = pattern.match(text)
            if match:
                return text[match.end() :]
        return _strip_envelope(text, found)
    if " (untrusted" in text[:500]:
        match = _METADATA.match(text)
        if match:
            return _strip_metadata(text, match, found)
    match = _SYSTEM_LINES.match(text) or _MEDIA_HINT.match(text)
    return text[match.end() :] if match else None


def _strip_envelope(text: str, found: "dict[str, Any]") -> Optional[str]:
    match = _ENVELOPE.match(text)
    if match:
        sender = re.sub(r" id:\S+$", "", match.group(1).strip())
        found["sender"] = found["sender"] or sender
        return text[match.end() :]
    match = _MEDIA_LINE.match(text)
    if match:
        path, _, kind = match.group(1).partition(" (")
        found["media"].append(placeholder(re.split(r"[/)]", kind)[0] or "file", media_name(path)))
        return text[match.end() :]
    return None


def _strip_metadata(text: str, header: "re.Match[str]", found: "dict[str, Any]") -> Optional[str]:
    fence = _FENCE.match(text, header.end())
    if fence:
        try:
            data = json.loads(fence.group(1), strict=False)
        except (ValueError, RecursionError):
            return None
        if isinstance(data, dict):
            _note_sender(header.group(), data, found)
        return text[fence.end() :]
    if _CHRONOLOGICAL.match(text):
        _history, blank, said = text[header.end() :].partition("\n\n")
        return said if blank and said.strip() else None
    return None


def _note_sender(header: str, data: "dict[str, Any]", found: "dict[str, Any]") -> None:
    """Keep who wrote it. The first block that tells counts: a second one may be typed by a person."""
    names: "tuple[str, ...]" = ()
    if header.startswith("Sender"):
        names = ("name", "label", "username", "id")
    elif header.startswith("Conversation info"):
        names = ("sender", "sender_name", "sender_id")
        found["group"] = found["group"] or data.get("is_group_chat") is True
    for name in names:
        value = data.get(name)
        if isinstance(value, str) and value.strip() and not found["sender"]:
            found["sender"] = value.strip()


def _person(label: str) -> str:
    """The label, at most 80 characters of one line; "" when it names a client program and no person."""
    label = " ".join(label.split())[:80]
    known_client = label.lower() in _CLIENTS or label.lower().startswith("openclaw-")
    return "" if known_client else label


def _strip_trailing(text: str, found: "dict[str, Any]") -> str:
    for _ in range(_MOST_WRAPPINGS):
        text = text.rstrip()
        shorter = _without_last_wrapping(text, found)
        if shorter is None:
            break
        text = shorter
    return text


def _without_last_wrapping(text: str, found: "dict[str, Any]") -> Optional[str]:
    """`text` without the one wrapping it ends with; None when there is none."""
    if _UNTRUSTED_HEADER in text:
        start = ("\n" + text).rfind("\n" + _UNTRUSTED_HEADER)
        if start >= 0 and _UNTRUSTED.match(text, start):
            return text[:start]
    if text[-1:] == "]":
        sender = _FROM.search(text, len(text) - 300)
        found["sender"] = found["sender"] or (sender.group(1) if sender else "")
        for match in (sender, _TRAILING_ID.search(text, len(text) - 300)):
            if match:
                return text[: match.start()]
        start = text.rfind("\n[Replying to ")
        return text[:start] if start >= 0 and _REPLY.match(text, start) else None
    match = _TRAILING_BLOCK.search(text) if text[-1:] in (">", "⟧") else None
    return text[: match.start()] if match else None


def _is_own_line(line: str) -> bool:
    """Whether a line is an observation with its metadata, or a result object of this skill."""
    line = line.strip()
    if line.startswith(("- ", "* ")):
        return line.endswith("-->") and bool(re.search(r"<!-- dc:\w+=", line))
    return line.startswith("{") and line.endswith("}") and '"layer"' in line and _is_own_result(line)


def _is_own_result(text: str) -> bool:
    """Whether the text is one result object of this skill: {"layer": ..., "schema": ...}."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        data = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False
    return isinstance(data, dict) and isinstance(data.get("layer"), str) and "schema" in data
