"""Huge transcript lines made small while they are read: bytes in, bytes out, never the whole line in memory."""

from __future__ import annotations

import re
from collections.abc import Iterable

BASE64_RUN = 4_096  # shorter runs of such characters are tokens, hashes or long words
LONGEST_STRING = 4_000_000  # bytes kept of one JSON string
LONGEST_LINE = 12_000_000  # once this much is kept, further strings are kept to LEFTOVER bytes
LEFTOVER = 4_096
BASE64_MARK = b"[base64 data]"
CUT_MARK = b" [shortened] "

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-"
# The look-behind tries a run once, at its start: without it a run just under the limit costs its square.
_RUN = re.compile(rb"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{%d,}" % BASE64_RUN)
_SAFE_START = re.compile(rb"[ \xc2-\xf4]")


def looks_like_base64(run: bytes) -> bool:
    """Capitals, small letters and digits within the first 4,096 characters: "aaaa..." is not data."""
    head = run[:BASE64_RUN]
    return bool(re.search(rb"[A-Z]", head) and re.search(rb"[a-z]", head) and re.search(rb"[0-9]", head))


def shrink(chunks: Iterable[bytes]) -> "tuple[bytes, bool]":
    """One JSON line, given in chunks, with long base64 runs replaced and long strings cut to head and tail.

    Returns (the small line, whether a string was cut). Valid JSON stays valid.
    """
    strings = _Strings()
    for chunk in _without_base64(chunks):
        strings.feed(chunk)
    return strings.finish(), strings.cut


def _without_base64(chunks: Iterable[bytes]) -> Iterable[bytes]:
    """The same bytes with each long run that looks like base64 replaced by BASE64_MARK."""
    held = b""  # the run at the end of what was read: too short yet to tell
    inside = False
    for chunk in chunks:
        if inside:
            chunk = chunk.lstrip(_ALPHABET)
            if not chunk:
                continue
            inside = False
        block = held + chunk
        settled = block.rstrip(_ALPHABET)
        held = block[len(settled) :]
        yield _RUN.sub(_replaced, settled)
        if len(held) >= BASE64_RUN:
            inside = looks_like_base64(held)
            yield BASE64_MARK if inside else held
            held = b""
    yield held


def _replaced(run: "re.Match[bytes]") -> bytes:
    found = run.group()
    return BASE64_MARK if looks_like_base64(found) else found


class _Strings:
    """Follows JSON strings through chunks and keeps of each at most head and tail."""

    def __init__(self) -> None:
        self.cut = False
        self._kept = bytearray()
        self._inside = False
        self._body = bytearray()  # of the string we are in: its head, then its latest bytes
        self._dropped = False
        self._pending = b""  # a backslash at the end of a chunk belongs to the next one

    def feed(self, chunk: bytes) -> None:
        chunk = self._pending + chunk
        self._pending = b""
        at = 0
        while at < len(chunk):
            at = self._string(chunk, at) if self._inside else self._between(chunk, at)

    def finish(self) -> bytes:
        if self._inside:
            self._close()
        return bytes(self._kept + self._pending)

    def _between(self, chunk: bytes, at: int) -> int:
        quote = chunk.find(b'"', at)
        if quote < 0:
            self._kept += chunk[at:]
            return len(chunk)
        self._kept += chunk[at : quote + 1]
        self._inside = True
        return quote + 1

    def _string(self, chunk: bytes, at: int) -> int:
        end = _closing_quote(chunk, at)
        self._body += chunk[at : len(chunk) if end < 0 else end]
        self._trim(self._limit() * 2)
        if end < 0:
            if _backslashes_before(chunk, len(chunk), at) % 2:
                self._pending = b"\\"
                del self._body[-1:]
            return len(chunk)
        self._close()
        self._kept += b'"'
        self._inside = False
        return end + 1

    def _limit(self) -> int:
        return LONGEST_STRING if len(self._kept) < LONGEST_LINE else LEFTOVER

    def _trim(self, allowed: int) -> None:
        """Drop the middle of the string so far, when it has grown past `allowed` bytes."""
        half = self._limit() // 2
        if len(self._body) > allowed:
            del self._body[half : len(self._body) - half]
            self._dropped = True

    def _close(self) -> None:
        if len(self._body) > self._limit() or self._dropped:
            half = self._limit() // 2
            head, tail = bytes(self._body[:half]), bytes(self._body[max(half, len(self._body) - half) :])
            self._kept += _whole_escapes(head) + CUT_MARK + _from_safe_start(tail)
            self.cut = True
        else:
            self._kept += self._body
        self._body = bytearray()
        self._dropped = False


def _closing_quote(chunk: bytes, at: int) -> int:
    """Where the string that `at` lies in ends; -1 when not in this chunk."""
    quote = chunk.find(b'"', at)
    while quote >= 0 and _backslashes_before(chunk, quote, at) % 2:
        quote = chunk.find(b'"', quote + 1)
    return quote


def _backslashes_before(chunk: bytes, end: int, at: int) -> int:
    start = end
    while start > at and chunk[start - 1] == 0x5C:
        start -= 1
    return end - start


def _whole_escapes(head: bytes) -> bytes:
    """`head` without a character or an escape sequence that was cut in its middle."""
    head = head[:-4] + re.sub(rb"[\xc0-\xff][\x80-\xbf]{0,3}\Z", b"", head[-4:])
    tail = re.search(rb"\\(u[0-9a-fA-F]{0,3})?\Z", head[-6:])
    if not tail:
        return head
    start = len(head) - len(tail.group())
    backslashes = start + 1 - len(head[: start + 1].rstrip(b"\\"))
    return head[:start] if backslashes % 2 else head


def _from_safe_start(tail: bytes) -> bytes:
    """`tail` from the first byte that cannot belong to an escape sequence; empty when there is none."""
    start = _SAFE_START.search(tail)
    return tail[start.start() :] if start else b""
