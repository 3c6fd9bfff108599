"""A folder of OpenClaw's JSONL transcripts (up to 2026.7): which files there are, and which belong together."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Optional

from _errors import SourceError
from _transcripts.session import Problem

_SUFFIX = ".jsonl"
_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_RESET = r"(\.reset\.[0-9TZ:.\-]+)?"
# "<uuid>.trajectory.jsonl" and its topic twin are debugging sidecars that hold whole prompts.
_NAME = rf"({_UUID}(?:-topic-(?:(?!\.trajectory\.).)+?)?)\.jsonl{_RESET}"
_OTHER_NAME = rf"((?:(?!\.trajectory\.|\.jsonl).)+)\.jsonl{_RESET}"
_NONE: "Mapping[str, int]" = {}
_LIVE = "~"  # sorts after every ".reset.<time>"

if TYPE_CHECKING:
    # One file of a transcript: (order, name, size in bytes, mtime in nanoseconds); `order` sorts the files of one stem
    # as they were written. A plain tuple: a folder may hold 10,000, and a run with nothing new does little but count.
    Part = tuple[str, str, int, int]


class Folder(NamedTuple):
    """A sessions folder: files by stem, oldest first; those whose stem is no uuid; stems that were deleted; transcripts
    that could not be looked at; and the stems of those that end where their cursor is."""

    path: Path
    stems: "dict[str, list[Part]]"
    others: "dict[str, list[Part]]"
    deleted: "set[str]"
    problems: "list[Problem]"
    settled: "set[str]"


def no_folder(path: Path) -> Folder:
    """What there is where nothing is."""
    return Folder(path, {}, {}, set(), [], set())


def scan_folder(folder: Path, positions: "Mapping[str, int]" = _NONE) -> Folder:
    """Look at every name in a sessions folder, one stat for each transcript and no content read.

    `positions` are those of the cursors, by key: what has one is a transcript whatever its name looks like. Raises
    FileNotFoundError when there is no such folder, SourceError when it cannot be listed.
    """
    found = no_folder(folder)
    try:
        descriptor = os.open(folder, os.O_RDONLY)  # names are looked up from it, not along the path each time
        try:
            with os.scandir(descriptor) as entries:
                _sort_in(entries, found, positions)
            _take_back(descriptor, found)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        raise
    except OSError as problem:
        raise SourceError(
            f"the sessions folder {folder} cannot be listed: {problem.strerror}",
            "make it readable for this user, or set SESSIONS_DIR to the right folder",
        ) from problem
    for parts in (*found.stems.values(), *found.others.values()):
        if len(parts) > 1:
            parts.sort()
    return found


def name_stem(name: str) -> str:
    """The stem of a transcript's file name, "" when the name is not one of a transcript."""
    match = re.fullmatch(_NAME, name, re.DOTALL) or re.fullmatch(_OTHER_NAME, name, re.DOTALL)
    return match.group(1) if match else ""


def has_session_header(path: Path) -> bool:
    """Whether a file's first line is a transcript's: {"type":"session",...}."""
    try:
        with open(path, "rb") as file:
            return b'"type":"session"' in file.read(200).replace(b'": "', b'":"')
    except OSError:
        return False


def _sort_in(entries: "Iterator[os.DirEntry[str]]", found: Folder, positions: "Mapping[str, int]") -> None:
    cut = -len(_SUFFIX)
    position_of, settle = positions.get, found.settled.add
    for entry in entries:
        name = entry.name
        stem, order, target = name[:cut], _LIVE, found.stems
        position = position_of("jsonl:" + stem)
        if position is None or name[cut:] != _SUFFIX:
            position = -1
            match = re.fullmatch(_NAME, name, re.DOTALL)
            if match is None:
                match = _other_name(name, found)
                if match is None:
                    continue
                if "jsonl:" + match[1] not in positions:
                    target = found.others
            stem, order = match[1], match[2] or _LIVE
        try:
            seen = entry.stat()
        except FileNotFoundError:
            continue  # renamed or removed since the listing, or a dangling link
        except OSError as problem:  # it must not hide the others
            found.problems.append(_unreachable(found.path / name, problem))
            continue
        if not stat.S_ISREG(seen.st_mode):
            continue
        if seen.st_size == position:
            # Most, and they cost no more than this: there may be 10,000, and recovery has a tenth of a second.
            settle(stem)
        else:
            part = (order, name, seen.st_size, seen.st_mtime_ns)
            if stem in target:
                target[stem].append(part)
            else:
                target[stem] = [part]


def _take_back(descriptor: int, found: Folder) -> None:
    """A transcript is not settled that has older files beside the live one: its cursor counts them all."""
    for stem in found.settled.intersection(found.stems):
        name = stem + _SUFFIX
        try:
            seen = os.stat(name, dir_fd=descriptor)
        except FileNotFoundError:
            found.settled.discard(stem)  # renamed or removed since
            continue
        except (
            OSError
        ) as problem:  # it must not hide the others, and its older files alone would look rewritten
            found.problems.append(_unreachable(found.path / name, problem))
            del found.stems[stem]
            continue
        found.settled.discard(stem)
        found.stems[stem].append((_LIVE, name, seen.st_size, seen.st_mtime_ns))


def _unreachable(path: Path, problem: OSError) -> Problem:
    """A link that leads to itself, or to no possible name, is no transcript and never will be; what else is out of
    reach is waited for."""
    what = f"the transcript cannot be looked at: {problem.strerror}"
    return Problem(str(path), what, waits=problem.errno not in (errno.ELOOP, errno.ENAMETOOLONG))


def _other_name(name: str, found: Folder) -> "Optional[re.Match[str]]":
    """The match of a name that may be a transcript's although its stem is no uuid; deleted ones are noted."""
    if ".jsonl.deleted." in name:
        found.deleted.add(name.split(".jsonl.", 1)[0])
        return None
    return re.fullmatch(_OTHER_NAME, name, re.DOTALL) if _SUFFIX in name else None
