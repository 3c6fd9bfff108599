# ruff: noqa: E501 (lines of a log are long)
"""A memory that a night works on, for tests of dream_cycle.py: the log, the commands, and what the folders hold."""

from __future__ import annotations

import json
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Optional

import dream_cycle
from observer_testing import Ended, dated, run_here
from reflect_testing import Memory

NIGHT = datetime(2026, 11, 30, 3, 30, tzinfo=timezone.utc)
DAY = "2026-11-30"
ARCHIVE = f"memory/archive/observations/{DAY}.md"
CHUNKS = f"memory/archive/chunks/{DAY}.md"
DRAFT = "memory/.dream-backups/new-observations.txt"

# What may leave is old and light; each protected line is protected for one reason.
LOG = """# Observations Log

Written by Total Recall. Edit freely: lines of any other shape are kept as they are.

---

Date: 2026-09-01

- 🟡 09:00 Bought a blue bicycle at the market in Porto <!-- dc:type=event dc:importance=4 dc:date=2026-09-01 dc:id=OBS-20260901-001 -->
- 🟢 09:10 Tried the new canteen near the office <!-- dc:type=context dc:importance=2 dc:date=2026-09-01 dc:id=OBS-20260901-002 -->
- 🔴 09:20 Never call before 10 in the morning <!-- dc:type=rule dc:importance=9 dc:date=2026-09-01 dc:id=OBS-20260901-003 -->

A remark of mine

Date: 2026-09-02

- 🟡 10:00 The cat is called Miso <!-- dc:type=fact dc:importance=5 dc:date=2026-09-02 dc:id=OBS-20260902-001 -->
- 🟡 10:10 The cat Miso eats tuna on Fridays <!-- dc:type=fact dc:importance=4 dc:date=2026-09-02 dc:id=OBS-20260902-002 -->
- 🟡 10:20 The cat Miso sleeps in the blue basket <!-- dc:type=fact dc:importance=4 dc:date=2026-09-02 dc:id=OBS-20260902-003 -->
- 🟡 10:30 The flight to Lisbon leaves on 14 February 2027 <!-- dc:type=event dc:importance=5 dc:date=2026-09-02 dc:id=OBS-20260902-004 -->

Date: 2026-11-29

- 🔴 22:00 The bank account for the shop was opened <!-- dc:type=fact dc:importance=9.5 dc:date=2026-11-29 dc:id=OBS-20261129-001 -->
"""
BICYCLE, CANTEEN, RULE = "OBS-20260901-001", "OBS-20260901-002", "OBS-20260901-003"
CAT, TUNA, BASKET, FLIGHT = "OBS-20260902-001", "OBS-20260902-002", "OBS-20260902-003", "OBS-20260902-004"
BANK = "OBS-20261129-001"
TEXTS = {
    BICYCLE: "Bought a blue bicycle at the market in Porto",
    CANTEEN: "Tried the new canteen near the office",
    RULE: "Never call before 10 in the morning",
    CAT: "The cat is called Miso",
    TUNA: "The cat Miso eats tuna on Fridays",
    BASKET: "The cat Miso sleeps in the blue basket",
    FLIGHT: "The flight to Lisbon leaves on 14 February 2027",
    BANK: "The bank account for the shop was opened",
}
HOOK = (
    "- **Bicycle**: bought in Porto (2026-09-01). [ref: archive/observations/2026-11-30.md#OBS-20260901-001]"
)
# What an observer adds while a night is open.
OBSERVED = "- 🟡 03:31 The printer is on the second floor <!-- dc:type=fact dc:importance=4 dc:date=2026-11-30 dc:id=OBS-20261130-001 -->\n"


def item(name: str, **changes: Any) -> "dict[str, Any]":
    """An item of the archive's payload."""
    day = f"{name[4:8]}-{name[8:10]}-{name[10:12]}"
    return {
        "id": name,
        "original_date": day,
        "impact": "low",
        "archived_reason": "past its time",
        "full_text": TEXTS.get(name, "The text"),
        **changes,
    }


def chunk(**changes: Any) -> "dict[str, Any]":
    """A payload of chunk."""
    return {
        "id": "CHUNK-20261130-001",
        "topic": "The cat Miso",
        "date_range_start": "2026-09-02",
        "date_range_end": "2026-09-02",
        "confidence": "established",
        "source_ids": [CAT, TUNA, BASKET],
        "finding": "The cat Miso eats tuna on Fridays and sleeps in the blue basket",
        **changes,
    }


def without(log: str, *names: str) -> str:
    """The log without the lines of these ids."""
    return "".join(
        line for line in log.splitlines(keepends=True) if not any(f"dc:id={name} " in line for name in names)
    )


class Dream(Memory):
    """A machine whose memory a night works on."""

    @property
    def workspace(self) -> Path:
        return self.memory.parent

    def night(
        self, *argv: str, payload: object = None, now: Optional[datetime] = NIGHT, **environ: str
    ) -> Ended:
        """One command of dream_cycle.py in this process; a payload is piped in."""
        raw = (
            b""
            if payload is None
            else payload
            if isinstance(payload, bytes)
            else json.dumps(payload).encode()
        )
        return run_here(
            lambda: dream_cycle.main([*dated(now), *argv]), {**self.environ, **environ}, stdin=raw
        )

    def call_night(
        self, *argv: str, stdin: bytes = b"", now: Optional[datetime] = NIGHT, **environ: str
    ) -> Ended:
        """One command as a process."""
        done = subprocess.run(
            self.command(*argv, now=now, script="dream_cycle.py"),
            input=stdin,
            env={**self.environ, **environ},
            capture_output=True,
            timeout=60,
        )
        return Ended(done.returncode, json.loads(done.stdout), done.stderr.decode())

    def begun(self, log: str = LOG) -> "Dream":
        """The memory with this log, and preflight run."""
        self.put(log)
        assert self.night("preflight").code == 0
        return self

    def draft(self, text: str) -> None:
        """Put a new version of the log where update-observations reads it."""
        (self.workspace / DRAFT).write_bytes(text.encode("utf-8", "surrogateescape"))

    def redraft(self, text: str, now: Optional[datetime] = NIGHT, **environ: str) -> Ended:
        """Have update-observations put this text in the place of the log."""
        self.draft(text)
        return self.night("update-observations", DRAFT, now=now, **environ)

    def file(self, name: str) -> str:
        """A file of the workspace; "" when there is none."""
        path = self.workspace / name
        return path.read_bytes().decode("utf-8", "surrogateescape") if path.exists() else ""

    def rows(self, *kinds: str) -> "list[tuple[str, str]]":
        """(event, id) of the ledger's rows of these kinds, in their order."""
        path = self.memory / ".total-recall" / "ledger.jsonl"
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        found = [json.loads(line) for line in lines]
        return [(row["e"], row["id"]) for row in found if row["e"] in kinds]
