"""Noticing that something changed: inotify, watched by folder."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from _errors import TotalRecallError

SESSIONS, STORE, MARKERS = "sessions", "store", "markers"


class Exhausted(TotalRecallError):
    """inotify cannot be used: its limits are used up, or the system has none."""

    code = "inotify_exhausted"


@dataclass
class Dirt:
    """What may have changed. `names` and `gone` are file names in the sessions folder; `whole` are folders of which
    nothing is known any more."""

    names: "set[str]" = field(default_factory=set)
    gone: "set[str]" = field(default_factory=set)
    whole: "set[str]" = field(default_factory=set)
    store: bool = False
    markers: bool = False

    @property
    def to_gather(self) -> bool:
        """Whether there is anything but markers, which are looked at without delay."""
        return bool(self.names or self.whole or self.store)

    def add(self, other: "Dirt") -> None:
        """Take in another's."""
        self.names |= other.names
        self.gone |= other.gone
        self.whole |= other.whole
        self.store |= other.store
        self.markers |= other.markers


class _Aim(NamedTuple):
    """Where a folder is watched: itself, or the nearest one above it that is there, `awaited` then being the name below
    that."""

    path: str
    identity: "tuple[int, int]"
    awaited: str


class Inotify:
    """Watches folders by their names, whether they are there yet or not. `library` is the module inotify_simple."""

    def __init__(self, library: Any, folders: Mapping[str, Path], store_name: str) -> None:
        """Raises Exhausted."""
        self._flags = library.flags
        self._store_names = (store_name, store_name + "-wal")
        self._folders = {name: os.path.abspath(folder) for name, folder in folders.items()}
        self._aims: "dict[str, _Aim]" = {}
        self._watches: "dict[tuple[int, int], int]" = {}
        try:
            self._inotify = library.INotify()
        except OSError as problem:
            raise Exhausted(problem.strerror or str(problem)) from problem

    def close(self) -> None:
        """Give back what the kernel keeps for it."""
        self._inotify.close()

    def fileno(self) -> int:
        """The descriptor to wait at."""
        return int(self._inotify.fileno())

    def aim(self) -> "set[str]":
        """Watch every folder where it is now; returns those whose place has changed. Raises Exhausted."""
        before = {
            name: aim for name, aim in self._aims.items() if self._watches.get(aim.identity) is not None
        }
        self._aims = before
        for _attempt in range(10):  # a folder may appear between looking and watching
            plan = {name: _nearest(folder) for name, folder in self._folders.items()}
            if plan == self._aims:
                break
            self._aims = plan
            self._watch(plan)
        return {name for name, aim in self._aims.items() if before.get(name) != aim}

    def _watch(self, plan: "dict[str, _Aim]") -> None:
        masks: "dict[tuple[int, int], int]" = {}
        paths: "dict[tuple[int, int], str]" = {}
        for aim in plan.values():
            masks[aim.identity] = masks.get(aim.identity, 0) | self._mask(aim)
            paths[aim.identity] = aim.path
        watches = {}
        for identity, mask in masks.items():
            number = self._add(paths[identity], mask)
            if number is not None:
                watches[identity] = number
        for number in set(self._watches.values()) - set(watches.values()):
            try:
                self._inotify.rm_watch(number)
            except OSError:
                pass  # the kernel let go of it with the folder
        self._watches = watches

    def _add(self, path: str, mask: int) -> "int | None":
        """The number of a watch; None for a folder that is gone again or may not be looked into."""
        try:
            return int(self._inotify.add_watch(path, mask))
        except OSError as problem:
            if problem.errno in (errno.ENOENT, errno.ENOTDIR, errno.EACCES):
                return None
            raise Exhausted(problem.strerror or str(problem)) from problem

    def _mask(self, aim: _Aim) -> int:
        flags = self._flags
        mask = flags.ONLYDIR | flags.CREATE | flags.MOVED_TO | flags.DELETE_SELF | flags.MOVE_SELF
        if not aim.awaited:
            mask |= flags.MODIFY | flags.DELETE | flags.MOVED_FROM
        return int(mask)

    def read(self) -> Dirt:
        """What changed since the last time; does not wait. Raises Exhausted."""
        dirt, moved, flags = Dirt(), False, self._flags
        for event in self._inotify.read(timeout=0):
            if event.mask & flags.Q_OVERFLOW:
                dirt.whole.update(self._folders)
                moved = True
            elif event.mask & flags.MOVE_SELF:
                moved = True
            elif event.mask & (flags.IGNORED | flags.DELETE_SELF | flags.UNMOUNT):
                moved |= event.wd in self._watches.values()
                self._watches = {key: wd for key, wd in self._watches.items() if wd != event.wd}
            else:
                moved |= self._sort(event, dirt)
        if moved:
            dirt.whole |= self.aim()
        return dirt

    def _sort(self, event: Any, dirt: Dirt) -> bool:
        """Note what an event says; True when a folder that was waited for has appeared."""
        appeared = False
        for name, aim in self._aims.items():
            if self._watches.get(aim.identity) != event.wd:
                continue
            if aim.awaited:
                appeared |= event.name == aim.awaited
            elif name == SESSIONS:
                dirt.names.add(event.name)
                if event.mask & (self._flags.DELETE | self._flags.MOVED_FROM):
                    dirt.gone.add(event.name)
            elif name == STORE:
                # Only writing: a reader, such as ourselves, makes and removes an empty -wal file.
                written = event.mask & (self._flags.MODIFY | self._flags.MOVED_TO | self._flags.MOVED_FROM)
                dirt.store |= bool(written) and event.name in self._store_names
            else:
                dirt.markers |= event.name.endswith(".json")
        return appeared


def _nearest(folder: str) -> _Aim:
    """The folder, or the nearest one above it that is there."""
    awaited = ""
    while True:
        try:
            found = os.stat(folder)
            if os.path.isdir(folder):
                return _Aim(folder, (found.st_dev, found.st_ino), awaited)
        except OSError:
            pass
        parent = os.path.dirname(folder)
        if parent == folder:
            return _Aim(folder, (0, 0), awaited)
        folder, awaited = parent, os.path.basename(folder)
