"""Which JSONL sessions are a machine's: sessions.json, read in pieces.

OpenClaw keeps prompts and reports of some ten KB for every session in it. Parsed as a whole it would take more memory
than all the rest of the watcher, and nothing of it is needed but the key, the id and the file of each session.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Optional

from _compat import Stamp, stamp
from _transcripts.find import names_of
from _transcripts.keys import is_machine_key

_PIECE = 1 << 18  # bytes read at a time
# A string with what tells a key from a value, a bracket, or a string that goes on in the next piece.
_TOKEN = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|[{}\[\]]|"', re.DOTALL)
_LOOK_AHEAD = 16  # bytes: whether a string is a key shows behind it
_FIELDS = (b"sessionId", b"sessionFile", b"spawnedBy")


class Keys:
    """What sessions.json says about sessions, looked up again when it has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._machine: "dict[str, bool]" = {}
        self._stamp: Optional[Stamp] = None

    def is_machine(self, stem: str) -> Optional[bool]:
        """Whether nobody speaks in the session of this file stem; None when sessions.json does not know it."""
        return self.are_machines([stem])[stem]

    def are_machines(self, stems: Collection[str]) -> "dict[str, Optional[bool]]":
        """`is_machine` of each; sessions.json is looked at once for all that it did not know."""
        found = {stem: self._find(stem) for stem in stems}
        if None in found.values() and self._read_again():
            found = {stem: self._find(stem) for stem in stems}
        return found

    def _find(self, stem: str) -> Optional[bool]:
        return self._machine.get(stem, self._machine.get(stem[:36]))

    def _read_again(self) -> bool:
        """Read sessions.json unless it is the one that was read last. One that cannot be read says nothing."""
        try:
            now = stamp(self._path)
            if now is None or now == self._stamp:
                return False
            with open(self._path, "rb") as file:
                found: "dict[str, bool]" = {}
                for names, machine in _entries(file):
                    for name in names:
                        # One session under two keys is a machine's only when both are.
                        found[name] = machine and found.get(name, True)
        except OSError:
            return False
        self._machine, self._stamp = found, now
        return True


def _entries(file: "IO[bytes]") -> "Iterator[tuple[set[str], bool]]":
    """For each entry of sessions.json the names of its session, and whether it is a machine's."""
    depth, key, name = 0, b"", b""
    fields: "dict[bytes, bytes]" = {}
    for token, is_name in _tokens(file):
        if token in (b"{", b"["):
            depth += 1
            name = b""
        elif token in (b"}", b"]"):
            depth -= 1
            if depth == 1 and fields:
                yield _names_of(fields), is_machine_key(_text(key)) or bool(fields.get(b"spawnedBy"))
                fields = {}
        elif depth == 1 and is_name:
            key = token[1:]
        elif depth == 2 and is_name:
            name = token[1:]
        elif depth == 2 and name in _FIELDS:
            fields[name] = token[1:]
            name = b""


def _tokens(file: "IO[bytes]") -> "Iterator[tuple[bytes, bool]]":
    """Brackets, and strings with a quote in front of them; with each whether it is a name, that is, before a colon."""
    rest, ended = b"", False
    while not ended:
        piece = file.read(_PIECE)
        ended = not piece
        data, at = rest + piece, 0
        for match in _TOKEN.finditer(data):
            open_ended = match.group() == b'"'
            if not ended and (open_ended or len(data) - match.end() < _LOOK_AHEAD):
                break
            at = match.end()
            if not open_ended:
                text = match.group(1)
                yield (match.group(), False) if text is None else (b'"' + text, match.group(2) is not None)
        rest = data[at:] if not ended else b""


def _names_of(fields: "dict[bytes, bytes]") -> "set[str]":
    """The session id of an entry and the stem of its file, which may be a marker of the SQLite store."""
    return names_of(_text(fields.get(b"sessionId", b"")), _text(fields.get(b"sessionFile", b"")))


def _text(raw: bytes) -> str:
    try:
        found = json.loads(b'"' + raw + b'"', strict=False)
    except ValueError:
        return ""
    return found if isinstance(found, str) else ""
