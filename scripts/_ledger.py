"""The ledger: one row for everything that ever happened to memory, in the order in which it happened.

Rows are only ever added. "installed" says from when on everything is observed, "observed" where a line came from,
"removed" that it went and why, "merged" in which line it lives on, "archived" where it lies, "covered" which messages
are done with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from _compat import sha256_hex, stamp
from _files import append_file, cut_file, encode, read_bytes, read_lines

if TYPE_CHECKING:
    from _observations import Observation

_ID = re.compile(r"^OBS-(\d{4})(\d\d)(\d\d)-(\d{3,9})$")


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
    return bool(_ID.match(name))


def sha_of(text: str) -> str:
    """What a row keeps of a text that leaves the log. An editor may give a file other line ends: that is the same."""
    return sha256_hex(encode(text.replace("\r", "")))[:16]


def append_rows(ledger: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add rows, those that are not at its end already; a half-written end of an earlier try is taken back first."""
    data = rows_as_bytes(rows)
    tail = _tail(ledger, len(data))
    if data in tail:
        return
    broken = len(tail) - (tail.rfind(b"\n") + 1)
    if broken:
        found = stamp(ledger)
        size = found.size if found else 0
        cut_file(ledger, size - broken, size)
    written = tail[: len(tail) - broken]
    missing = [line for line in data.splitlines(keepends=True) if line not in written]
    append_file(ledger, b"".join(missing))


def _tail(ledger: Path, size: int) -> bytes:
    """The last bytes of the ledger, at least `size` of them and a line more, from the start of a line."""
    found = stamp(ledger)
    if found is None:
        return b""
    return read_bytes(ledger, found.size - min(found.size, size + 65_536)) or b""


def read_ledger(ledger: Path, kind: str = "") -> "Iterable[dict[str, Any]]":
    """The rows of the ledger, all or of one kind ("observed", "covered", ...); damaged lines are passed over."""
    wanted = f'"e":"{kind}"'.encode()
    for line in read_lines(ledger):
        if kind and wanted not in line:
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            yield row


def covered_uids(ledger: Path) -> "dict[str, set[str]]":
    """By session, the uids of the messages that were ever done with: asked for only where a cursor is no help."""
    found: "dict[str, set[str]]" = {}
    for row in read_ledger(ledger, "covered"):
        uids = row.get("uids")
        if isinstance(uids, list):
            found.setdefault(str(row.get("session")), set()).update(map(str, uids))
    return found


def highest_given(ledger: Path) -> "dict[str, int]":
    """By day, the highest number that the ledger knows: no id is ever given twice, also after its line has gone."""
    found: "dict[str, int]" = {}
    for row in read_ledger(ledger):
        given = _ID.match(str(row.get("id", "")))
        if given:
            day = "-".join(given.groups()[:3])
            found[day] = max(found.get(day, 0), int(given.group(4)))
    return found


def still_provisional(ledger: Path) -> "dict[str, tuple[str, tuple[str, ...]]]":
    """The provisional lines that the ledger names and does not name as removed."""
    found: "dict[str, tuple[str, tuple[str, ...]]]" = {}
    for row in read_ledger(ledger):
        if row.get("e") == "observed" and row.get("line"):
            found[str(row["id"])] = (str(row["line"]), tuple(map(str, row.get("from", ()))))
        elif row.get("e") == "removed":
            found.pop(str(row.get("id")), None)
    return found


def first_sight(ledger: Path) -> Optional[int]:
    """From when on everything is observed (epoch milliseconds); None before the first run."""
    for row in read_ledger(ledger, "installed"):
        since = row.get("since_ms")
        if isinstance(since, int):
            return since
    return None
