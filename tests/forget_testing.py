"""A memory of which a person wants something forgotten, for tests of recall.py forget."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Optional
from unittest import mock

import recall
from _staging import Evidence, Proposal, render_proposal
from dream_testing import ARCHIVE, BASKET, BICYCLE, CAT, CHUNKS, DAY, LOG, TUNA, chunk, item, without
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


# One name in every place where something that was said can come to lie.
WHO, NAME = CAT, "Zebulon"
SECRET = f"{NAME} Quill rents the old tower"
BELOW = f"The key of {NAME} hangs behind the stove of the kitchen"
KNOWN_BY = [SECRET, f"{NAME} the tenant", f"{NAME} lodging", f"{NAME} in a turret", f"landlord of {NAME}"]
ABOUT = f"{NAME} Quill and the cat Miso"
FOUND = f"{NAME} Quill rents the old tower, and the cat Miso eats tuna on Fridays"
MEANT = {
    "MEMORY.md": f"- {SECRET}\n",
    "notes/mine.txt": f"rents: the old tower, {NAME} Quill\n",
    "memory/2026-11-29.md": f"{SECRET}\n",
}
_LINE = (
    f"- 🟡 10:00 {SECRET} <!-- dc:type=fact dc:importance=5 dc:date=2026-09-02 dc:id={WHO} -->\n  - {BELOW}\n"
)


def told_everywhere(folder: Path) -> Person:
    """A memory in which one name went every way that there is, over several nights."""
    person = Person(folder, {"DREAM_PHASE": "2"})
    old = next(line for line in LOG.splitlines(keepends=True) if CAT in line)
    person.put_with_ledger(LOG.replace(old, _LINE))
    assert person.reflect("--force").code == 0  # makes a backup
    _rehearse(person)
    _one_night(person)
    assert person.night("rollback").result["reason"] == "undone"
    _one_night(person)
    _report(person)
    _propose(person)
    _leave_behind(person)
    return person


def _items() -> "list[dict[str, object]]":
    full = f"{SECRET}\n  - {BELOW}"
    later = {"type": "fact", "confidence": 0.8}
    return [
        item(WHO, full_text=full, archived_reason=f"{NAME} moved out", hooks=KNOWN_BY, **later),
        item(TUNA, hooks=["fish for the pet", "weekly dinner", "end of the week", "food"], **later),
        item(BASKET, hooks=["where it rests", "bed of the pet", "wicker", "slumber"], **later),
    ]


def _rehearse(person: Person) -> None:
    """A night that may only read, and notes what it would have done."""
    reading = {"READ_ONLY_MODE": "true"}
    assert person.night("preflight", **reading).code == 0
    assert person.night("archive", ARCHIVE, payload={"items": _items()}, **reading).code == 0


def _one_night(person: Person) -> None:
    """An agent's night: archive, chunk, draft with a hook line."""
    assert person.night("preflight").code == 0
    assert person.night("archive", ARCHIVE, payload={"items": _items()}).code == 0
    assert person.night("chunk", CHUNKS, payload=chunk(topic=ABOUT, finding=FOUND)).code == 0
    line = f"- **{ABOUT} (chunked)**: {FOUND}. [ref: archive/chunks/{DAY}.md#CHUNK-20261130-001]\n"
    left = without(person.log, WHO, TUNA, BASKET).replace(f"  - {BELOW}\n", "")
    assert person.redraft(f"{left}\n{line}").code == 0


def _report(person: Person) -> None:
    """The log and the figures of the night, with all that an agent may write into them."""
    shared = {
        "date": DAY,
        "model": f"{NAME} Quill rents the old tower",
        "runtime_seconds": 1,
        "dry_run": False,
    }
    for name in ("observations_total", "observations_archived", "hooks_created", "tokens_before"):
        shared[name] = 1
    shared.update(tokens_after=1, tokens_saved=0)
    quotes = [SECRET, f"the old tower: ask {NAME} Quill, who rents it", BELOW, ABOUT, FOUND, *KNOWN_BY]
    told = {
        **shared,
        "archived_items": [{"id": WHO, "reason": f"{NAME} moved out"}, SECRET],
        "hooks": [f"{ABOUT} (chunked)", *KNOWN_BY],
        "pattern_findings": quotes,
        "validation_results": {"notes": quotes},
        "flagged_for_review": quotes,
        "next_steps": quotes,
    }
    assert person.night("write-log", f"memory/dream-logs/{DAY}.md", payload=told).code == 0
    figures = {
        **shared,
        "reduction_pct": 0.0,
        "critical_false_archives": 0,
        "validation_passed": True,
        "notes": quotes,
    }
    place = f"research/dream-cycle-metrics/daily/{DAY}.json"
    assert person.night("write-metrics", place, payload=figures).code == 0


def _propose(person: Person) -> None:
    """Proposals made of it, in each state, and one that rests on something else as well."""
    staging = person.memory / "dream-staging"
    (staging / "rejected").mkdir(parents=True)
    said = (Evidence("2026-09-02", SECRET, WHO),)
    both = (*said, Evidence("2026-09-02", "The cat Miso eats tuna on Fridays", TUNA))
    frame = ("2026-11-30", "fact", "MEMORY.md", "low")
    only = Proposal(*frame, f"About {NAME}", f"- {NAME} lives there", said, WHO)
    quoted = Proposal(*frame, "A tenant", f"- {SECRET}", both, f"{WHO}, {TUNA}")
    partly = Proposal(*frame, "The people of the house", "- The house has a cat", both, f"{WHO}, {TUNA}")
    for number, one in enumerate((only, quoted, partly)):
        name = f"20261130-03300{number}-fact"
        for place in (f"{name}.md", f"{name}.approved.md", f"rejected/{name}.md"):
            (staging / place).write_text(render_proposal(one), "utf-8")


def _leave_behind(person: Person) -> None:
    """What runs leave that were killed, markers, things that nobody knows, and files of others."""
    private = person.memory / ".total-recall"
    marker = json.dumps({"event": "command:new", "at_ms": 1, "session_file": f"/s/{SECRET}.jsonl"})
    left = {
        private / "markers" / "1764500000000-ab.json": marker,
        private / "markers" / "1764500000001-ab.taken": marker,
        private / "later" / "index.json": json.dumps({"lines": [SECRET]}),
        private / "observations.md.total-recall-tmp": SECRET,
        person.memory / "archive" / "observations" / f"{DAY}.md.total-recall-tmp": SECRET,
        person.memory / ".dream-backups" / "targets" / "MEMORY.md": f"- {SECRET}\n",
        person.workspace / "MEMORY.md.total-recall-tmp": SECRET,
        person.workspace / "logs" / "observer.log": f"{SECRET}\n",
        **{person.workspace / name: text for name, text in MEANT.items()},
    }
    for path, text in left.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    with mock.patch("_state.filing.apply", side_effect=KeyboardInterrupt):
        person.recall("restore", WHO)  # killed: its journal has the line
    assert NAME in (private / "journal.json").read_text("utf-8")
