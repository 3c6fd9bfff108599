"""The ledger: one row for everything that ever happened to memory, in the order in which it happened.

Rows are only ever added. "installed" says from when on everything is observed, "observed" where a line came from,
"removed" that it went and why, "merged" in which line it lives on, "archived" where it lies, "covered" which messages
are done with.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Optional

from _compat import parse_instant, sha256_hex, stamp
from _files import append_file, cut_file, encode, read_bytes, read_lines

if TYPE_CHECKING:
    from _observations import Observation

# [0-9], not \d: that takes the digits of every script, and what is no id of ours must not count as one.
_ID = re.compile(r"OBS-([0-9]{4})([0-9]{2})([0-9]{2})-([0-9]{3,9})")
# The end of a row: `"commit":"0123456789abcdef"}` and a newline are 29 bytes.
_END_BYTES, _TAIL_BYTES = 32, 65_536
_TEXTS = ("e", "id", "session", "into", "into_fp", "in", "sha", "fp", "why", "by", "type", "date", "line")
_LISTS = ("uids", "from_ids", "source_ids")


def rows_as_bytes(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Rows as they stand in the file, a line each. ASCII with escapes: the name of a session need not be UTF-8."""
    return b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)


def facts_of(observation: Observation) -> "dict[str, Any]":
    """What a row keeps of an observation beside its id: the start of the SHA-256 of its words, and its frame."""
    from _likeness import fingerprint  # not needed by those that only read

    return {
        "fp": sha256_hex(fingerprint(observation.text).encode("utf-8", "replace"))[:16],
        "type": observation.type,
        "importance": observation.importance,
        "date": observation.date,
    }


def is_observation_id(name: str) -> bool:
    """Whether this is the id of an observation (OBS-20261130-001). A person or another edition can have typed
    anything."""
    return bool(_ID.fullmatch(name))


def sha_of(text: str) -> str:
    """What a row keeps of a text that leaves the log. An editor may give a file other line ends, and a
    mark in front: that is the same."""
    return sha256_hex(encode(text.replace("\r", "").lstrip("\ufeff")))[:16]


def append_rows(ledger: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add the rows of a commit, those that are not at its end already: a commit is told by its number, so a later one
    with the same rows adds them once more.

    The half row that an earlier try left at the end is taken back first. A whole one that only lacks its newline, as an
    editor may leave it, gets that.
    """
    data = rows_as_bytes(rows)
    tail, size = _tail(ledger, len(data) + _TAIL_BYTES)
    last = tail[tail.rfind(b"\n") + 1 :]
    if last and not _is_json(last):
        cut_file(ledger, size - len(last), size)
        tail, last = tail[: len(tail) - len(last)], b""
    newline = b"\n" if last else b""
    written = tail + newline
    missing = [line for line in data.splitlines(keepends=True) if line not in written]
    new = newline + b"".join(missing)
    if new:
        append_file(ledger, new)


def _tail(ledger: Path, least: int) -> "tuple[bytes, int]":
    """The last bytes of the ledger, `least` of them and as many more as its last row needs, and the ledger's size."""
    found = stamp(ledger)
    size = found.size if found else 0
    start = max(0, size - least)
    tail = (read_bytes(ledger, start) or b"") if size else b""
    if start and b"\n" not in tail:
        return _tail(ledger, 4 * least)
    return tail, start + len(tail)


def _is_json(line: bytes) -> bool:
    """Whether a line is whole: nothing shorter than a row of ours is JSON."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def mark_of(ledger: Path) -> str:
    """How far the ledger is written by now: its size in bytes, and its last ones. "" when there is none."""
    found = stamp(ledger)
    if found is None:
        return ""
    end = read_bytes(ledger, max(0, found.size - _END_BYTES)) or b""
    return f"{found.size} {end.decode('latin-1')}"


def rows_since(ledger: Path, mark: str) -> "Optional[Iterable[dict[str, Any]]]":
    """The rows behind such a mark; None when the ledger has no such place, or there is no mark. Where nothing was
    added, a few bytes are read."""
    size, _, text = mark.partition(" ")
    end = text.encode("latin-1", "replace")
    if not re.fullmatch(r"[0-9]{1,15}", size) or not end:
        return None
    late = read_bytes(ledger, max(0, int(size) - len(end)))
    if late is None:
        return ()
    if not late.startswith(end):
        # Another place by now: `forget` makes rows shorter, and leaves their ends.
        _, found, after = (read_bytes(ledger) or b"").rpartition(end)
        return _rows_in(after.splitlines()) if found else None
    return _rows_in(late[len(end) :].splitlines()) if len(late) > len(end) else ()


def read_ledger(ledger: Path, kind: str = "") -> "Iterable[dict[str, Any]]":
    """The rows of the ledger, all or of one kind ("observed", "covered", ...); what is no row is passed over."""
    return _rows_in(read_lines(ledger), kind)


def _rows_in(lines: Iterable[bytes], kind: str = "") -> "Iterable[dict[str, Any]]":
    wanted = f'"e":"{kind}"'.encode()
    for line in lines:
        row = row_in(line) if wanted in line or not kind else None
        if row is not None:
            yield row


def row_in(line: bytes) -> "Optional[dict[str, Any]]":
    """The row that a line of the ledger is; None when it is damaged, or has something in it that no row of ours has. A
    person, another program or a torn copy can have put anything there: nobody else need look for that."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) and _is_row(row) else None


def _is_row(row: Mapping[str, Any]) -> bool:
    """Whether each field that is read anywhere is of the kind that it has in rows of ours."""
    for name, value in row.items():
        is_right = _FIELDS.get(name)
        if is_right is not None and not is_right(value):
            return False
    kind = row.get("e")
    if kind == "observed":
        return not isinstance(row.get("from"), str)
    return bool(kind) and (kind != "restored" or "at" in row)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_origin(value: Any) -> bool:
    """The messages that a line came of, or the place that it was brought back from."""
    return isinstance(value, str) or _is_list(value)


def _is_weight(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 10


def _is_whole_number(value: Any) -> bool:
    return type(value) is int


def _is_time(value: Any) -> bool:
    """Whether it begins with a day of the calendar, or is "", for none told."""
    return isinstance(value, str) and (not value or _is_day(value[:10]))


@functools.lru_cache(maxsize=1024)
def _is_day(text: str) -> bool:
    found = re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text)
    return bool(found) and parse_instant(text) is not None


_FIELDS: "Mapping[str, Callable[[Any], bool]]" = {
    **{name: _is_text for name in _TEXTS},
    **{name: _is_list for name in _LISTS},
    "at": _is_time,
    "from": _is_origin,
    "importance": _is_weight,
    "since_ms": _is_whole_number,
}


def covered_uids(ledger: Path) -> "dict[str, set[str]]":
    """By session, the uids of the messages that were ever done with: asked for only where a cursor is no help."""
    found: "dict[str, set[str]]" = {}
    for row in read_ledger(ledger, "covered"):
        found.setdefault(str(row.get("session")), set()).update(row.get("uids", ()))
    return found


def highest_given(ledger: Path) -> "dict[str, int]":
    """By day, the highest number that the ledger knows: no id is ever given twice, also after its line has gone."""
    return highest_named(read_ledger(ledger))


def highest_named(rows: "Iterable[Mapping[str, Any]]") -> "dict[str, int]":
    """By day, the highest number that these rows name."""
    found: "dict[str, int]" = {}
    for row in rows:
        given = _ID.fullmatch(row.get("id", ""))
        if given:
            day = "-".join(given.groups()[:3])
            found[day] = max(found.get(day, 0), int(given.group(4)))
    return found


def still_provisional(
    rows: "Iterable[Mapping[str, Any]]", before: "Mapping[str, tuple[str, tuple[str, ...]]]"
) -> "dict[str, tuple[str, tuple[str, ...]]]":
    """The provisional lines that were there before, or that rows name, and that rows do not name as removed."""
    found = dict(before)
    for row in rows:
        if row["e"] == "observed" and row.get("line"):
            found[row.get("id", "")] = (row["line"], tuple(row.get("from", ())))
        elif row["e"] == "removed":
            found.pop(row.get("id", ""), None)
    return found


def first_sight(ledger: Path) -> Optional[int]:
    """From when on everything is observed (epoch milliseconds); None before the first run."""
    return next((row["since_ms"] for row in read_ledger(ledger, "installed") if "since_ms" in row), None)
