"""Carrying it out: tombstones first, then the log and the ledger in one commit, then every other file of ours.

All of it is done under the memory lock. What is to be done stands in .total-recall/forgetting.json until it is; the
next run of a layer that changes memory finishes it first, and doing a step twice is doing it once.
"""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from _cli import LOG_FILES
from _compat import Stamp, stamp
from _dream_files import Desk, kept
from _dream_files.update import refresh
from _errors import DAMAGED, BusyError, StorageError
from _files import TEMPORARY_SUFFIX, decode, encode, names_in, read_bytes, remove_file, replace_file
from _forget import scrub
from _forget.choose import ARCHIVES, LOGS, STAGING, Choice
from _forget.listing import files_below
from _forget.order import Order
from _forget.task import Burial, Task
from _ledger import read_ledger
from _markers import LEFT, TAKEN
from _state import Filing, file_away, load_state, save_state
from _tombstones import Tombstones, load_tombstones, save_tombstones, with_key

_ROUNDS = 5
# So many files of others are looked at, none larger than this.
_MOST_OTHERS, _LARGEST_BYTES = 20_000, 5_000_000
# Ours too, but they hold nothing that anybody said.
_WITHOUT_TEXT = ("state.json", "calls.json", "tombstones.json", "forgetting.json", "journal.json")
_PASSED_OVER = (".git", "node_modules", ".venv", "venv", "__pycache__")


@dataclass(frozen=True)
class Forgotten:
    """What went, or would go: `files` are how many places in each file of ours (paths relative to the workspace),
    `others` how many lines of files that belong to others, which are left as they are, `unseen` how many of those were
    not looked at."""

    files: "Mapping[str, int]" = field(default_factory=dict)
    others: "Mapping[str, int]" = field(default_factory=dict)
    unseen: int = 0


def look(desk: Desk, order: Order) -> Forgotten:
    """What would go, and what is left to the person; nothing is written."""
    found = {}
    for path, scrubber in _our_files(desk):
        text = _text_of(path, order)
        if text is not None and scrubber(text, order) != text:
            found[_shown(desk, path)] = max(1, scrub.counted(text, order, scrubber))
    return Forgotten(found, *others(desk, order))


def clean_files(desk: Desk, order: Order) -> "dict[Path, Stamp]":
    """The files of ours in which there is nothing about it, as they are now: until they change they need no second
    look. Reads them all; no lock is held meanwhile."""
    found = {}
    for path, scrubber in _our_files(desk):
        was = stamp(path)
        text = _text_of(path, order)
        if was is not None and (text is None or scrubber(text, order) == text):
            found[path] = was
    return found


def carry_out(
    desk: Desk, choice: Choice, words: "tuple[str, ...]", at: str, clean: "Mapping[Path, Stamp]"
) -> "dict[str, int]":
    """Forget it; returns how much went from which file of ours. `clean` are files in which there was nothing. The
    caller holds the memory lock, and has finished what was unfinished.

    What is to be done is written down before anything is: from then on nothing of it can be left half done.
    """
    task = Task(choice.order, choice.rows, words, at, tuple(burials_of(choice)))
    replace_file(desk.places.forgetting, json.dumps(task.as_json()).encode())
    return _do(desk, task, clean)


def finish_unfinished(desk: Desk) -> bool:
    """Finish what was begun by a run that was killed, under the memory lock; True when there was something."""
    data = read_bytes(desk.places.forgetting)
    if data is None:
        return False
    try:
        task = Task.from_json(json.loads(data))
    except DAMAGED as problem:
        raise StorageError(
            f"{desk.places.forgetting} is damaged ({type(problem).__name__})",
            "remove it, and forget the same once more",
        ) from problem
    _do(desk, task, {})
    return True


def burials_of(choice: Choice) -> "Iterator[Burial]":
    """What a tombstone is put up for, beside the words that were asked for. What was made of it and says only what a
    part that stays says is not kept out."""
    texts = {item.id: item.text for item in choice.items if item.id and item.text}
    texts = {name: text for name, text in texts.items() if text not in choice.spared}
    for name, (alone, near) in sorted(choice.origins.items()):
        if not name.startswith("CHUNK-"):
            yield Burial(texts.get(name, ""), alone, near)
    for text in sorted({item.text for item in choice.items if not item.id and item.is_observation}):
        yield Burial(text)


def bury(desk: Desk, task: Task) -> None:
    """Put up the tombstones: from now on none of it comes back from what was said before."""
    found = with_key(load_tombstones(desk.places))
    stones = [found.for_words(task.at, task.words)] if task.words else []
    stones += [found.for_line(task.at, one.text, one.uids, one.near) for one in task.burials]
    new = tuple(stone for stone in dict.fromkeys(stones) if stone not in found.stones)
    if new:
        save_tombstones(desk.places, Tombstones((*found.stones, *new), found.key))


def _do(desk: Desk, task: Task, clean: "Mapping[Path, Stamp]") -> "dict[str, int]":
    """Returns how much went from which file."""
    order, rows = task.order, task.rows
    bury(desk, task)
    found: "Counter[str]" = Counter()
    known = {
        _name_of(row) for kind in {row["e"] for row in rows} for row in read_ledger(desk.places.ledger, kind)
    }
    missing = tuple(row for row in rows if _name_of(row) not in known)
    log = desk.log()
    new = scrub.log(log, order)
    if new != log:
        found[_shown(desk, desk.places.observations)] = max(1, scrub.counted(log, order))
    if missing or new != log:
        file_away(desk.places, Filing(log=(log, new) if new != log else None, rows=missing))
    clean = dict(clean)
    for _round in range(_ROUNDS):
        changed = _sweep(desk, order, clean)
        found.update(changed)
        if not changed:
            break
    else:
        raise BusyError("the files keep changing", "run it again: what is left goes then")
    _forget_state(desk, order)
    remove_file(desk.places.forgetting)
    return found


def _name_of(row: "Mapping[str, Any]") -> "tuple[object, ...]":
    return row.get("e"), row.get("id"), row.get("at")


def _sweep(desk: Desk, order: Order, clean: "dict[Path, Stamp]") -> "dict[str, int]":
    """Scrub every file of ours but those that are still as `clean` has them, and note there which are clean; returns
    how much went from which."""
    changed = _scrub_nights(desk, order)
    for path, scrubber in _our_files(desk):
        was = stamp(path)
        if was is not None and clean.get(path) == was:
            continue
        text = _text_of(path, order)
        new = scrubber(text, order) if text is not None else None
        if text is None or new == text:
            if was is not None:
                clean[path] = was
            continue
        changed[_shown(desk, path)] = max(1, scrub.counted(text, order, scrubber))
        if new is None:
            remove_file(path)
        else:
            replace_file(path, encode(new), instead_of=encode(text))
    return changed


def _scrub_nights(desk: Desk, order: Order) -> "dict[str, int]":
    """What preflight kept. The manifest says first what a copy will be: a kill in between leaves one that does not fit
    its manifest, which nothing is put back from, and the next try mends that."""
    changed = {}
    for night in kept.snapshots(desk):
        for name in night.files:
            path = kept.copy_of(night, name)
            text = _text_of(path, order)
            new = _scrubber_of(name)(text, order) if text is not None else None
            if text is not None and new is not None and new != text:
                night = kept.rewrite(night, name, encode(new))
                changed[_shown(desk, path)] = max(1, scrub.counted(text, order))
    return changed


def _forget_state(desk: Desk, order: Order) -> None:
    """What is kept between runs: marks of lines that are gone, and the brief."""
    state = load_state(desk.places)
    waiting = {name: found for name, found in state.provisional.items() if name not in order.ids}
    save_state(desk.places, state._replace(provisional=waiting, last_hash="", brief_of=""))
    remove_file(desk.memory / ".observer-last-hash")
    refresh(desk)


# Which files ---------------------------------------------------------------------------------------------------------


def _our_files(desk: Desk) -> "Iterator[tuple[Path, scrub.Scrubber]]":
    """Every file of ours that may hold what somebody said, and how it is scrubbed. Raises StorageError for a folder of
    ours that cannot be listed; what others keep below them is passed over where it cannot."""
    memory, workspace = desk.memory, desk.config.workspace
    for name in LOGS:
        yield memory / name, scrub.log
    for folder in ARCHIVES:
        yield from ((path, scrub.records) for path in files_below(memory / folder))
    yield from ((path, scrub.lines) for path in files_below(memory / "dream-logs"))
    yield from ((path, scrub.proposal) for path in files_below(memory / STAGING))
    yield from ((path, scrub.log) for path in files_below(desk.places.backups))
    for path in files_below(memory / kept.FOLDER):
        yield path, _scrubber_of_backup(path.relative_to(memory / kept.FOLDER))
    yield from ((path, scrub.values) for path in files_below(workspace / "research" / "dream-cycle-metrics"))
    names_in(desk.config.logs_dir)
    for path in _shared_files_below(desk.config.logs_dir):
        if path.name.split(".log")[0] in LOG_FILES:
            yield path, scrub.lines
    yield from _private_files(desk)
    names_in(memory)
    yield from ((path, scrub.whole) for path in _shared_files_below(memory) if _is_temporary(path))
    # What a killed `staging_review.py approve --apply` left beside the file that it wrote to.
    for path in sorted(workspace.glob(f"*{TEMPORARY_SUFFIX}")) if workspace != memory else ():
        if path.is_file() and not path.is_symlink():
            yield path, scrub.whole


def _is_temporary(path: Path) -> bool:
    return path.name.endswith(TEMPORARY_SUFFIX)


def _private_files(desk: Desk) -> "Iterator[tuple[Path, scrub.Scrubber]]":
    """All that is kept about runs, in folders below it too. What we do not know goes as a whole: the folder is ours."""
    known = {desk.places.ledger: scrub.ledger, desk.places.brief: scrub.lines}
    without_text = {desk.places.private / name for name in _WITHOUT_TEXT}
    for path in files_below(desk.places.private):
        if path.parent == desk.places.markers and path.suffix in (LEFT, TAKEN):
            yield path, scrub.values
        elif path not in without_text and not path.name.endswith(".lock"):
            yield path, known.get(path, scrub.whole)


def _scrubber_of(name: str) -> "scrub.Scrubber":
    """How a file is scrubbed that preflight keeps, by its path below memory/."""
    return scrub.records if name.startswith("archive/") and name not in LOGS else scrub.log


def _scrubber_of_backup(path: Path) -> "scrub.Scrubber":
    if path.parts[0] == "targets":
        return scrub.whole
    if path.suffix == ".json":
        return _as_it_is if path.name == "manifest.json" else scrub.values
    if path.suffix in (".kept", ".undone"):
        return _scrubber_of(path.stem.replace("__", "/"))
    return scrub.log


def _as_it_is(text: str, _order: Order) -> str:
    return text


def _shared_files_below(folder: Path) -> "Iterator[Path]":
    """Plain files, not through symbolic links, in the order of names, of folders that others use too: what of theirs
    cannot be listed is counted by `others`."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(place, name)
            if not os.path.islink(path) and os.path.isfile(path):
                yield path


def _text_of(path: Path, order: Order) -> Optional[str]:
    """The text of a file in which it may be; None for any other."""
    data = read_bytes(path)
    text = decode(data) if data else ""
    return text if text and (path.name == "ledger.jsonl" or order.may_be_in(text)) else None


def others(desk: Desk, order: Order) -> "tuple[dict[str, int], int]":
    """Lines about it in files of the workspace that belong to the person or the agent, by path, and how many files and
    folders could not be looked at. Reads them all: no lock is held meanwhile."""
    ours = {path for path, _scrubber in _our_files(desk)}
    refused: "list[OSError]" = []
    # The memory folder may be part of the workspace: no file counts twice.
    paths = list(dict.fromkeys(one for one in _files_around(desk, refused) if one not in ours))
    found = {_shown(desk, path): _count_in(path, order) for path in paths[:_MOST_OTHERS]}
    folders = {problem.filename for problem in refused}
    unseen = len(folders) + len(paths[_MOST_OTHERS:]) + sum(number is None for number in found.values())
    return {name: number for name, number in sorted(found.items()) if number}, unseen


def _files_around(desk: Desk, refused: "list[OSError]") -> "Iterator[Path]":
    """The files of memory and workspace but for what is kept about runs, and the skill itself. What cannot be listed is
    added to `refused`."""
    skill = Path(__file__).resolve().parent.parent.parent
    left_out = {skill, Path(os.path.realpath(desk.places.private))}
    for top in dict.fromkeys((desk.memory, desk.config.workspace)):
        for place, folders, names in os.walk(top, onerror=refused.append):
            folders[:] = sorted(
                one
                for one in folders
                if one not in _PASSED_OVER and Path(place, one).resolve() not in left_out
            )
            yield from (path for path in (Path(place, name) for name in sorted(names)) if _may_be_file(path))


def _may_be_file(path: Path) -> bool:
    """False for what is surely none; one that cannot be reached is counted among those that were not looked at."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def _count_in(path: Path, order: Order) -> Optional[int]:
    """Lines about it; None where the file could not be looked at."""
    try:
        if os.stat(path).st_size > _LARGEST_BYTES:
            return None
        data = read_bytes(path)
    except (OSError, StorageError):
        return None
    text = decode(data) if data and b"\0" not in data[:1000] else ""
    return scrub.counted(text, order) if text and order.may_be_in(text) else 0


def _shown(desk: Desk, path: Path) -> str:
    """A path relative to the workspace, or as it is."""
    if path.is_relative_to(desk.memory):
        return f"memory/{path.relative_to(desk.memory).as_posix()}"
    if path.is_relative_to(desk.config.workspace):
        return path.relative_to(desk.config.workspace).as_posix()
    return str(path)
