"""The lines that stay in the log for what was archived, in the form of the shell edition."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional

from _archive import ArchivedObservation, Chunk, read_reference, reference_to
from _observations import shorten, tidy

MOST_CHARS = 160
_LINE = re.compile(r"^[-*]\s+\*\*(?P<topic>.*?)\*\*:\s*(?P<outcome>.*?)\s*\[ref: ")
_CHUNKED = " (chunked)"
_MARKED = re.compile(r"[\[\]*]+")


@dataclass(frozen=True)
class HookLine:
    """What a hook line says. `file` is relative to the memory folder; `id` that of the archived item or chunk."""

    topic: str
    outcome: str
    file: str
    id: str
    chunked: bool = False


def hook_line(item: ArchivedObservation, outcome: str, file: str) -> str:
    """`- **Topic**: outcome (date). [ref: archive/observations/DATE.md#ID]`, of at most about 300 characters.

    The topic is the primary hook; `outcome` the text of the item without metadata; `file` its file below memory.
    """
    topic = _plain(item.hooks[0] if item.hooks else outcome, 60)
    when = f" ({item.date})" if item.date else ""
    return f"- **{topic}**: {_plain(outcome, MOST_CHARS).rstrip('.')}{when}. {reference_to(file, item.id)}"


def chunk_hook_line(chunk: Chunk, file: str) -> str:
    """`- **Topic (chunked)**: finding. Confidence: level. Date range: A → B. [ref: archive/chunks/DATE.md#ID]`."""
    said = _plain(chunk.finding, MOST_CHARS).rstrip(".")
    return (
        f"- **{_plain(chunk.topic or said, 60)}{_CHUNKED}**: {said}. Confidence: {chunk.confidence}. "
        f"Date range: {chunk.first} → {chunk.last}. {reference_to(file, chunk.id)}"
    )


def _plain(text: str, most: int) -> str:
    """One line without what has a meaning in a hook line."""
    return shorten(tidy(_MARKED.sub(" ", text)) or "?", most)


def read_hook_line(line: str) -> Optional[HookLine]:
    """What a hook line says; None for any other line, and one that leads elsewhere than to our archive."""
    found = _LINE.match(line.strip())
    ref = read_reference(line)
    if not found or not ref:
        return None
    chunked = found["topic"].endswith(_CHUNKED)
    topic = found["topic"].removesuffix(_CHUNKED)
    return HookLine(topic, found["outcome"], ref.file, ref.id, chunked)
