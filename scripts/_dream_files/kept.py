"""What preflight kept: for each night a folder with the old bytes of all that the night may change.

The folder is memory/.dream-backups/RUN/. Its manifest says of every file what it was (size, SHA-256) or that it was
not there; a file that is about to be changed for the first time is kept then. Names end in ".kept", since OpenClaw
indexes every .md below memory/.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional

from _compat import sha256_hex
from _dream_files.desk import SHELVES, Desk, is_name
from _errors import DAMAGED, RefusedError, StorageError
from _files import private_folder, read_bytes, remove_folder, replace_file
from _memory import iso

FOLDER = ".dream-backups"
OPEN, VALID, UNDONE, SUPERSEDED, REHEARSED = "open", "valid", "undone", "superseded", "rehearsed"
NIGHTS_KEPT = 7
LOG = "observations.md"
_RUN = re.compile(r"\d{8}-\d{6}(?:-\d+)?", re.ASCII)
_MANIFEST = "manifest.json"
_FOLDERS = frozenset(f"archive/{name}" for name in ("observations", "chunks", "reflections"))


@dataclass(frozen=True)
class Snapshot:
    """One preflight and what followed. `files` maps a path below the memory folder to (size, SHA-256), or to None when
    it was not there; `at` is when it began, UTC; `day` the person's day. `number` counts the nights: their names go by
    a clock that may have been wrong, or gone back an hour. `is_rehearsal`: it was begun in read-only mode and has
    changed nothing."""

    folder: Path
    at: str
    day: str
    status: str
    files: "Mapping[str, Optional[tuple[int, str]]]"
    number: int = 0
    is_rehearsal: bool = False

    @property
    def name(self) -> str:
        return self.folder.name

    def bytes_of(self, name: str) -> Optional[bytes]:
        """The bytes that were kept of a file; None when it was not there. Raises StorageError when they are damaged."""
        kept = self.files[name]
        if kept is None:
            return None
        data = read_bytes(copy_of(self, name))
        if data is None or (len(data), sha256_hex(data)) != kept:
            raise StorageError(
                f"{copy_of(self, name)} is not what was kept any more", "nothing was put back from it"
            )
        return data

    def keeping(self, name: str, data: Optional[bytes]) -> "Snapshot":
        """The night with one more file kept, on disk before this returns."""
        if name in self.files:
            return self
        if data is not None:
            replace_file(copy_of(self, name), data)
        kept = None if data is None else (len(data), sha256_hex(data))
        return replace(self, files={**self.files, name: kept})


def snapshots(desk: Desk) -> "list[Snapshot]":
    """All nights that are kept, in the order in which they began. One without a manifest was cut off before anything
    changed; one with a damaged manifest is told by `damaged`."""
    found = [_read(path) for path in _folders(desk)]
    return sorted(filter(None, found), key=lambda night: (night.number, night.name))


def damaged(desk: Desk) -> "list[Path]":
    """The manifests that do not say what a night kept, or name files that none keeps, in the order of their names."""
    return [path / _MANIFEST for path in _folders(desk) if (path / _MANIFEST).exists() and not _read(path)]


def _folders(desk: Desk) -> "list[Path]":
    folder = desk.memory / FOLDER
    there = sorted(folder.iterdir()) if folder.is_dir() else []
    return [path for path in there if _RUN.fullmatch(path.name) and path.is_dir() and not path.is_symlink()]


def _read(folder: Path) -> Optional[Snapshot]:
    try:
        found = json.loads(read_bytes(folder / _MANIFEST) or b"")
        files = {str(k): (int(v["size"]), str(v["sha256"])) if v else None for k, v in found["files"].items()}
        if LOG not in files or not all(map(_may_be_kept, files)):
            return None
        status, number = str(found["status"]), int(found.get("number", 0))
        is_rehearsal = bool(found.get("read_only", status == REHEARSED))
        return Snapshot(folder, str(found["at"]), str(found["day"]), status, files, number, is_rehearsal)
    except DAMAGED:
        return None


def _may_be_kept(name: str) -> bool:
    """Whether a night can have kept a file of that name: a rollback writes and removes what a manifest names."""
    folder, _, file = name.rpartition("/")
    return name == LOG or (folder in _FOLDERS and is_name(SHELVES["archive"], file))


def save(night: Snapshot) -> Snapshot:
    """Write the manifest."""
    files: "dict[str, Any]" = {
        name: {"size": kept[0], "sha256": kept[1]} if kept else None for name, kept in night.files.items()
    }
    told = {
        "schema": 1,
        "at": night.at,
        "day": night.day,
        "status": night.status,
        "number": night.number,
        "read_only": night.is_rehearsal,
        "files": files,
    }
    new = json.dumps(told, indent=1).encode()
    if new != read_bytes(night.folder / _MANIFEST):
        replace_file(night.folder / _MANIFEST, new)
    return night


def newest(desk: Desk) -> Optional[Snapshot]:
    """The last night, whatever became of it; in read-only mode the last rehearsal. Neither goes on with the other."""
    found = [night for night in snapshots(desk) if night.is_rehearsal == desk.config.read_only]
    return found[-1] if found else None


def begin(desk: Desk) -> Snapshot:
    """A night that begins now, with nothing kept yet."""
    number = max((night.number for night in snapshots(desk)), default=0) + 1
    at = iso(desk.run.now)
    return Snapshot(_new_folder(desk), at, desk.today, OPEN, {}, number, desk.config.read_only)


def open_night(desk: Desk) -> Snapshot:
    """The night that is under way. Raises RefusedError when preflight has not been run."""
    night = newest(desk)
    if night is None or night.status != OPEN:
        raise RefusedError(
            "no night is under way: what is there has not been kept", "run: dream_cycle.py preflight"
        )
    return night


def _new_folder(desk: Desk) -> Path:
    """The folder of a night that begins now, named by the person's time."""
    moment = f"{desk.run.now.astimezone(desk.config.zone):%Y%m%d-%H%M%S}"
    folder, number = desk.memory / FOLDER / moment, 1
    while (folder / _MANIFEST).exists():
        number += 1
        folder = desk.memory / FOLDER / f"{moment}-{number}"
    private_folder(folder)
    return folder


def keep(desk: Desk, night: Snapshot, path: Path) -> Snapshot:
    """Keep the bytes of a file that is about to be changed, unless they are kept already."""
    name = path.relative_to(desk.memory).as_posix()
    return save(night.keeping(name, read_bytes(path)))


def mark(night: Snapshot, status: str) -> Snapshot:
    """Write down what became of a night."""
    return save(replace(night, status=status))


def prune(desk: Desk) -> int:
    """Remove old nights but the last 7 that are valid, 7 others and 7 rehearsals; returns how many went."""
    groups: "dict[tuple[bool, bool], list[Snapshot]]" = {}
    for night in snapshots(desk):
        groups.setdefault((night.is_rehearsal, night.status == VALID), []).append(night)
    going = [night for group in groups.values() for night in group[:-NIGHTS_KEPT]]
    for night in going:
        remove_folder(night.folder)
    return len(going)


def copy_of(night: Snapshot, name: str) -> Path:
    """Where the bytes are that a night keeps of a file."""
    return night.folder / (name.replace("/", "__") + ".kept")


def rewrite(night: Snapshot, name: str, data: bytes) -> Snapshot:
    """Keep other bytes of a file than were kept, for what is to be forgotten; the manifest first."""
    new = save(replace(night, files={**night.files, name: (len(data), sha256_hex(data))}))
    replace_file(copy_of(new, name), data)
    return new
