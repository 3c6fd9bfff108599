"""What every command of the night works with: the run, the places, and which file a path may name."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from _cli import Run
from _config import Config
from _dream.notes import Night
from _errors import RefusedError
from _files import decode, read_bytes
from _ledger import read_ledger
from _observations import is_date
from _state import Places, load_state, replay

ROLLBACK = "rollback"  # in the ledger: a line came back because the whole night was undone
_DAY_FILE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}\.md"


@dataclass(frozen=True)
class Shelf:
    """A folder that one command writes to (or reads from), below the workspace, and the names its files have."""

    folder: "tuple[str, ...]"
    names: str
    example: str


SHELVES = {
    "archive": Shelf(("memory", "archive", "observations"), _DAY_FILE, "2026-11-30.md"),
    "chunk": Shelf(("memory", "archive", "chunks"), _DAY_FILE, "2026-11-30.md"),
    "write-log": Shelf(("memory", "dream-logs"), _DAY_FILE, "2026-11-30.md"),
    "write-metrics": Shelf(
        ("research", "dream-cycle-metrics", "daily"), r"[0-9]{4}-[0-9]{2}-[0-9]{2}\.json", "2026-11-30.json"
    ),
    "write-staging": Shelf(
        ("memory", "dream-staging"),
        r"[0-9]{8}-[0-9]{6}-(?:fact|preference|goal|habit|rule)\.md",
        "20261130-033000-habit.md",
    ),
    "update-observations": Shelf(
        ("memory", ".dream-backups"), r"[a-z0-9][a-z0-9-]{0,60}\.(?:txt|md)", "new-observations.txt"
    ),
}


@dataclass(frozen=True)
class Desk:
    """One command of the night at work."""

    run: Run
    places: Places

    @property
    def config(self) -> Config:
        return self.run.config

    @property
    def memory(self) -> Path:
        return self.config.memory_dir

    @property
    def today(self) -> str:
        """The person's day."""
        return f"{self.run.now.astimezone(self.config.zone):%Y-%m-%d}"

    @property
    def pretends(self) -> str:
        """Why memory is not to be changed: "dry_run", "read_only", or "" when it may be."""
        return "dry_run" if self.run.dry_run else "read_only" if self.config.read_only else ""

    @contextmanager
    def holding_memory(self) -> Iterator[None]:
        """Hold the memory lock, with whatever a killed run left finished. A dry run locks nothing, and neither does it
        finish anything, nor does read-only mode: that would change memory."""
        if self.run.dry_run:
            yield
            return
        with self.places.memory():
            if not self.pretends:
                replay(self.places)
            yield

    def log(self) -> str:
        """The text of observations.md, "" when there is none."""
        return decode(read_bytes(self.places.observations) or b"")

    def night(self) -> Night:
        """When this night is, for weighing observations."""
        asked_back = [
            row for row in read_ledger(self.places.ledger, "restored") if row.get("from") != ROLLBACK
        ]
        restored = {str(row.get("id")): str(row.get("at"))[:10] for row in asked_back}
        state = load_state(self.places)
        return Night(
            self.run.now,
            self.config.zone,
            self.config.dream_phase,
            self.config.dream_token_target,
            restored,
            state.highest,
            frozenset(state.provisional),
        )

    def file_for(self, command: str, given: str) -> Path:
        """The file that a path names, which is relative to the workspace.

        Raises RefusedError for a path that leaves the one folder of this command, passes a symbolic link, is no plain
        file, or has a name of another shape.
        """
        shelf = SHELVES[command]
        folder, parts = "/".join(shelf.folder), tuple(given.split("/"))
        hint = f"{command} takes a path such as {folder}/{shelf.example}, relative to the workspace"
        if "\0" in given or parts[:-1] != shelf.folder or not is_name(shelf, parts[-1]):
            # What is no path may be what somebody said, and an error stands in the log.
            what = repr(given) if re.fullmatch(r"[\w./\\-]{1,120}", given, re.ASCII) else "that was given"
            raise RefusedError(f"{command} may not use the path {what}", hint)
        top = self.memory if parts[0] == "memory" else self.config.workspace / parts[0]
        inside(top, parts[1:], hint)
        return top.joinpath(*parts[1:])

    def shown(self, path: Path) -> str:
        """A path as the commands take it: relative to the workspace."""
        if path.is_relative_to(self.memory):
            return f"memory/{path.relative_to(self.memory).as_posix()}"
        return path.relative_to(self.config.workspace).as_posix()


def make_desk(run: Run) -> Desk:
    """The Desk of a run."""
    return Desk(run, Places(run.config.observations_path, run.config.private_dir))


def is_name(shelf: Shelf, name: str) -> bool:
    """Whether a file of this shelf can have that name; a date in it has to be one of the calendar."""
    if not re.fullmatch(shelf.names, name):
        return False
    return not re.match(r"\d{4}-", name) or is_date(name[:10])


def inside(top: Path, parts: "tuple[str, ...]", hint: str = "") -> None:
    """Raise RefusedError when anything on the way from `top` down is a symbolic link, or no plain file at its end. The
    memory folder itself may be a link to a folder: people keep theirs where it is synchronized. `research` may not."""
    if top.is_symlink() and (top.name == SHELVES["write-metrics"].folder[0] or not top.is_dir()):
        raise RefusedError(f"{top} is a symbolic link: nothing was read or written", hint)
    path = top
    for number, part in enumerate(parts, start=1):
        path = path / part
        try:
            mode = os.lstat(path).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return
        wanted = stat.S_ISREG if number == len(parts) else stat.S_ISDIR
        if not wanted(mode):
            kind = "a symbolic link" if stat.S_ISLNK(mode) else "not what should be there"
            raise RefusedError(f"{path} is {kind}: nothing was read or written", hint)
