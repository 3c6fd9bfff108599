"""A memory of which a person wants something forgotten, for tests of recall.py forget."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Optional

import recall
from _staging import Evidence, Proposal, render_proposal
from dream_testing import BICYCLE, CAT, LOG
from night_testing import Night
from observer_testing import Ended, dated, run_here

MORNING = datetime(2026, 11, 30, 9, 0, tzinfo=timezone.utc)
PROPOSAL = "20261130-033000-fact.md"
OTHERS = ["MEMORY.md", "memory/2026-11-29.md"]  # what stays as it is


class Person(Night):
    """A machine on which a person wants something forgotten."""

    def recall(self, *argv: str, now: Optional[datetime] = MORNING, **environ: str) -> Ended:
        """One command of recall.py in this process."""
        return run_here(lambda: recall.main([*dated(now), *argv]), {**self.environ, **environ})

    def call_recall(self, *argv: str, now: datetime = MORNING) -> Ended:
        """One command of recall.py as a process."""
        return self.call(*argv, now=now, script="recall.py")

    def holding(self, *words: str) -> "list[str]":
        """The files of the workspace that hold one of the words, as UTF-8 or as JSON escapes them."""
        needles = [form.encode() for word in words for form in (word, json.dumps(word)[1:-1])]
        needles += [needle.lower() for needle in needles]
        found = []
        for path in sorted(self.workspace.rglob("*")):
            data = path.read_bytes() if path.is_file() else b""
            if any(needle in data or needle in data.lower() for needle in needles):
                found.append(str(path.relative_to(self.workspace)))
        return found

    def account(self) -> "dict[str, int]":
        """How many observations are in which state; nothing may be missing."""
        ended = self.night("account")
        assert (ended.code, ended.result["faults"]) == (0, [])
        return {name: ended.result[name] for name in ("live", "merged", "archived", "chunked", "forgotten")}


def a_person(folder: Path) -> Person:
    """A memory with a log, archives, chunks, hook lines, dream logs, proposals, backups, and files of others."""
    person = Person(folder, {"DREAM_PHASE": "2"})
    person.put_with_ledger(LOG + "- 🟢 22:01 The cat is called Miso <!-- dc:type=fact dc:importance=2 -->\n")
    (person.workspace / "research").mkdir(parents=True, exist_ok=True)
    assert person.reflect("--force").code == 0
    assert person.night("run").code == 0
    staging = person.memory / "dream-staging"
    staging.mkdir(exist_ok=True)
    (staging / "rejected").mkdir(exist_ok=True)
    said = (
        Evidence("2026-09-02", "The cat is called Miso", CAT),
        Evidence("2026-09-01", "Bought a blue bicycle", BICYCLE),
    )
    cat = Proposal(
        "2026-11-30",
        "fact",
        "MEMORY.md",
        "low",
        "The cat Miso",
        "- Miso is the cat",
        said,
        f"{CAT}, {BICYCLE}",
    )
    ride = Proposal(
        "2026-11-30",
        "fact",
        "MEMORY.md",
        "low",
        "The bicycle",
        "- Has a blue bicycle",
        said,
        f"{CAT}, {BICYCLE}",
    )
    (staging / PROPOSAL).write_text(render_proposal(ride), "utf-8")
    (staging / "20261130-033001-fact.md").write_text(render_proposal(cat), "utf-8")
    (staging / "rejected" / "20261129-033001-fact.md").write_text(render_proposal(cat), "utf-8")
    (person.workspace / "MEMORY.md").write_text("# Memory\n\n- Miso likes the garden\n", "utf-8")
    (person.memory / "2026-11-29.md").write_text("Miso was at the vet\n", "utf-8")
    return person
