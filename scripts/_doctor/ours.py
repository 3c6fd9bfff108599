"""The files and folders of ours: whose they are, who may read them, and what should not lie among them."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from _cli import LOG_FILES
from _config import Config
from _files import TEMPORARY_SUFFIX

MOST_ENTRIES = 50_000
# A write in progress takes seconds: what is older was left by a run that was killed.
LEFT_AFTER_SECONDS = 600.0
FOLDERS = (".total-recall", "archive", "observation-backups", "dream-logs", "dream-staging", ".dream-backups")
FILES = ("observations.md", ".observer-last-run", ".observer-last-hash")
# OpenClaw indexes every .md below memory/; of ours only what is memory has such a name.
WITHOUT_NOTES = (".total-recall", "observation-backups", ".dream-backups")


@dataclass
class Ours:
    """What a look found, as paths: `loose` may be read by others, `foreign` belong to another user, `leftovers` are
    temporary files that nobody writes any more, `strays` are .md files that OpenClaw indexes by mistake, `links` are
    symbolic links, `unseen` could not be looked at."""

    loose: "list[Path]" = field(default_factory=list)
    foreign: "list[Path]" = field(default_factory=list)
    leftovers: "list[Path]" = field(default_factory=list)
    strays: "list[Path]" = field(default_factory=list)
    links: "list[Path]" = field(default_factory=list)
    unseen: "list[Path]" = field(default_factory=list)
    entries: int = 0


def look_at_ours(config: Config, now: datetime) -> Ours:
    """Go through all that is ours below the workspace; no link is followed."""
    found = Ours()
    owner = _owner(config)
    for path in _all(config, found):
        found.entries += 1
        if found.entries > MOST_ENTRIES:
            found.unseen.append(path)
            break
        try:
            seen = os.lstat(path)
        except FileNotFoundError:
            continue
        except OSError:
            found.unseen.append(path)
            continue
        _sort_in(path, seen, found, owner, now.timestamp())
    _strays_in(config, found)
    return found


def _owner(config: Config) -> int:
    """Whose these files have to be: this user's; for root, whosever the memory is."""
    if os.geteuid() != 0:
        return os.geteuid()
    try:
        return os.stat(config.memory_dir).st_uid
    except OSError:
        return 0


def _all(config: Config, found: Ours) -> Iterator[Path]:
    for name in FILES:
        yield config.memory_dir / name
    for name in LOG_FILES:
        yield config.logs_dir / f"{name}.log"
        yield config.logs_dir / f"{name}.log.1"
    yield from _beside(config.memory_dir, found)
    tops = [config.memory_dir / name for name in FOLDERS]
    for top in (*tops, config.workspace / "research" / "dream-cycle-metrics"):
        yield from _below(top, found)


def _beside(folder: Path, found: Ours) -> Iterator[Path]:
    """Temporary files of ours in a folder that others use as well."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return
    except OSError:
        found.unseen.append(folder)
        return
    yield from (folder / name for name in sorted(names) if name.endswith(TEMPORARY_SUFFIX))


def _below(folder: Path, found: Ours) -> Iterator[Path]:
    yield folder
    if os.path.islink(folder):
        return
    try:
        inside = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError:
        found.unseen.append(folder)
        return
    for entry in inside:
        if entry.is_dir(follow_symlinks=False):
            yield from _below(Path(entry.path), found)
        else:
            yield Path(entry.path)


def _sort_in(path: Path, seen: os.stat_result, found: Ours, owner: int, now: float) -> None:
    if stat.S_ISLNK(seen.st_mode):
        if path.name not in FILES:  # a log that is a link is followed on purpose
            found.links.append(path)
        return
    if seen.st_uid != owner:
        found.foreign.append(path)
    if path.name.endswith(TEMPORARY_SUFFIX):
        if now - seen.st_mtime > LEFT_AFTER_SECONDS:
            found.leftovers.append(path)
    elif stat.S_IMODE(seen.st_mode) & 0o077:
        found.loose.append(path)


def _strays_in(config: Config, found: Ours) -> None:
    for name in WITHOUT_NOTES:
        top = config.memory_dir / name
        if os.path.isdir(top) and not os.path.islink(top):
            found.strays += sorted(path for path in top.rglob("*.md") if os.path.isfile(path))


def described(path: Path) -> str:
    """What stands at a path, or at the first folder on the way to it that is there: "the folder /x has mode 0700 and
    belongs to ana"."""
    for place in (path, *path.parents):
        try:
            seen = os.stat(place)
        except OSError:
            continue
        kind = "folder" if stat.S_ISDIR(seen.st_mode) else "file"
        return f"the {kind} {place} has mode {stat.S_IMODE(seen.st_mode):04o} and belongs to {_name(seen.st_uid)}"
    return f"nothing on the way to {path} can be seen"


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


def named(paths: "list[Path]", most: int = 3) -> str:
    """The first few of them for a sentence."""
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(map(str, paths[:most])) + more
