# ruff: noqa: E501 (lines of a log are long)
"""READ_ONLY_MODE: no command of the night changes a byte of memory, although there is something to do for each."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any, Callable

import pytest

from dream_cycle import COMMANDS
from dream_testing import BICYCLE, DAY, DRAFT, FLIGHT, LOG, NIGHT, chunk, item, without
from night_testing import Night
from observer_testing import Ended
from test_dream_reports import METRICS, PROPOSAL, TELLING

LATER = NIGHT + timedelta(hours=2)
DUCKS = [f"OBS-20260905-{number:03d}" for number in (1, 2, 3)]
SOAP = "OBS-20260905-004"
TEXTS_LATER = {
    DUCKS[0]: "The pond of Oskar has seven ducks",
    DUCKS[1]: "The ducks in the pond of Oskar eat oats",
    DUCKS[2]: "The pond of Oskar with the ducks is frozen",
    SOAP: "Bought green soap",
}
# What came after the night: lines that may leave, and one thing on three days.
MORE = (
    "\nDate: 2026-09-05\n\n"
    + "".join(
        f"- 🟢 09:00 {text} <!-- dc:type=event dc:importance=2 dc:date=2026-09-05 dc:id={name} -->\n"
        for name, text in TEXTS_LATER.items()
    )
    + "".join(
        f"\nDate: 2026-11-{day}\n\n- 🟡 08:00 Swims in the harbour before breakfast <!-- dc:type=habit dc:importance=5 "
        f"dc:date=2026-11-{day} dc:id=OBS-202611{day}-001 -->\n"
        for day in (10, 17, 24)
    )
)
ARCHIVE_FILE = f"memory/archive/observations/{DAY}.md"
CHUNK = chunk(
    id="CHUNK-20261130-009",
    topic="The ducks in the pond of Oskar",
    date_range_start="2026-09-05",
    date_range_end="2026-09-05",
    source_ids=DUCKS,
    finding="The pond of Oskar has seven ducks, they eat oats",
)


def soap() -> "dict[str, Any]":
    tags = {"type": "event", "confidence": 0.8, "hooks": ["green soap", "what was bought"]}
    return item(SOAP, full_text=TEXTS_LATER[SOAP], **tags)


def redraft(memory: Night, **environ: str) -> Ended:
    memory.night("archive", ARCHIVE_FILE, payload=[soap()], now=LATER, **environ)
    return memory.redraft(without(memory.file(DRAFT) or memory.log, SOAP), now=LATER, **environ)


# How each command is called where there is something to do for it.
CALLS: "dict[str, Callable[..., Ended]]" = {
    "preflight": lambda memory, **environ: memory.night("preflight", now=LATER, **environ),
    "plan": lambda memory, **environ: memory.night("plan", now=LATER, **environ),
    "decay": lambda memory, **environ: memory.night("decay", now=LATER + timedelta(days=3), **environ),
    "archive": lambda memory, **environ: memory.night(
        "archive", ARCHIVE_FILE, payload=[soap()], now=LATER, **environ
    ),
    "chunk": lambda memory, **environ: memory.night(
        "chunk", f"memory/archive/chunks/{DAY}.md", payload=CHUNK, now=LATER, **environ
    ),
    "update-observations": redraft,
    "write-log": lambda memory, **environ: memory.night(
        "write-log", f"memory/dream-logs/{DAY}.md", payload=TELLING, now=LATER, **environ
    ),
    "write-metrics": lambda memory, **environ: memory.night(
        "write-metrics",
        f"research/dream-cycle-metrics/daily/{DAY}.json",
        payload=METRICS,
        now=LATER,
        **environ,
    ),
    "write-staging": lambda memory, **environ: memory.night(
        "write-staging",
        "memory/dream-staging/20261130-033000-fact.md",
        payload=PROPOSAL,
        now=LATER,
        **environ,
    ),
    "validate": lambda memory, **environ: memory.night("validate", now=LATER, **environ),
    "rollback": lambda memory, **environ: memory.night("rollback", "--force", now=LATER, **environ),
    "patterns": lambda memory, **environ: memory.night("patterns", now=LATER, **environ),
    "run": lambda memory, **environ: memory.night("run", now=LATER, **environ),
    "restore": lambda memory, **environ: memory.night("restore", BICYCLE, now=LATER, **environ),
    "account": lambda memory, **environ: memory.night("account", "--accept", now=LATER, **environ),
}
WANT_PREFLIGHT = ("archive", "chunk", "update-observations")
# These tell something, or write what a read-only night writes too.
ONLY_TELL = ("plan", "validate", "write-log", "write-metrics")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory after a night, with more to do for the next one; deleted and added to by hand since."""
    memory = Night(tmp_path_factory.mktemp("readonly") / "home", {"DREAM_PHASE": "2"})
    memory.put_with_ledger(LOG)
    assert memory.night("run").result["reason"] == "done"
    memory.put_with_ledger(memory.log + MORE)
    memory.put(without(memory.log, FLIGHT) + "- a note of my own\n")
    return memory.folder


@pytest.fixture
def memory(prepared: Path, tmp_path: Path) -> Night:
    shutil.copytree(prepared, tmp_path / "home")
    (tmp_path / "home" / ".openclaw" / "workspace" / "favorites.md").unlink()
    return Night(tmp_path / "home", {"DREAM_PHASE": "2"})


def protected(memory: Night) -> "dict[str, bytes]":
    """Every file below the home folder but those that a read-only night may write: its log and its figures, what it
    rehearses on, and locks."""
    found = {}
    for path in sorted(memory.folder.rglob("*")):
        name = path.relative_to(memory.folder).as_posix().replace(".openclaw/workspace/", "", 1)
        is_its = name.startswith(("memory/dream-logs/", "research/dream-cycle-metrics/", "logs/"))
        if (
            path.is_file()
            and path.suffix != ".lock"
            and name != DRAFT
            and not is_its
            and not is_rehearsed(path)
        ):
            found[name] = path.read_bytes()
    return found


def is_rehearsed(path: Path) -> bool:
    """Whether a file is of a night that was begun in read-only mode."""
    manifest = path.parent / "manifest.json"
    return manifest.exists() and bool(json.loads(manifest.read_text("utf-8"))["read_only"])


@pytest.mark.parametrize("begun", [True, False])
@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_no_command_changes_memory_in_read_only_mode(memory: Night, command: str, begun: bool) -> None:
    before = protected(memory)
    if begun:
        assert memory.night("preflight", now=LATER, READ_ONLY_MODE="true").code == 0
        assert protected(memory) == before
        if command == "rollback":
            memory.put(without(memory.log, SOAP))
            before = protected(memory)
    ended = CALLS[command](memory, READ_ONLY_MODE="true")
    assert protected(memory) == before
    if begun and command not in (*ONLY_TELL, "preflight", "account"):
        assert (ended.code, ended.result["reason"]) == (0, "read_only")


@pytest.mark.parametrize("command", sorted({*COMMANDS} - {*ONLY_TELL}))
def test_there_was_something_to_do_for_each_command(memory: Night, command: str) -> None:
    if command in WANT_PREFLIGHT:
        assert memory.night("preflight", now=LATER).code == 0
    before = protected(memory)
    CALLS[command](memory)
    assert protected(memory) != before
