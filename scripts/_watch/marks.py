"""The gateway hook's markers as the watcher goes through them: each is taken up once, and what it asks for is begun."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Callable, Optional

from _config import Config
from _errors import StorageError
from _markers import COMPACTS, ENDS, Marker, clear, read_markers, take
from _state import Places
from _watch.agenda import FLUSH, OBSERVE, RECOVERY
from _watch.voice import Voice

EVENTS: "dict[str, tuple[str, ...]]" = {RECOVERY: ENDS, FLUSH: COMPACTS, OBSERVE: ()}


class Marks:
    """The markers of one agent. None stands for those that could not be listed, which is told: never for no markers."""

    def __init__(self, config: Config, voice: Voice) -> None:
        self.folder = Places(config.observations_path, config.private_dir).markers
        self._agent, self._voice = config.agent_id, voice
        self._handed: "set[str]" = set()  # those that a job was begun for

    def take_up(self) -> "Optional[set[str]]":
        """Take those that are new; returns the jobs that they ask for. What is no marker is removed."""
        there = self._read()
        if there is None:
            return None
        self._handed &= {marker.path.stem for marker in there}
        fresh = [marker for marker in there if marker.path.stem not in self._handed]
        for marker in fresh:
            if marker.event:
                self._take(marker)  # or not: what it asks for is begun all the same
            if marker.event or not self.clear([marker]):
                self._handed.add(marker.path.stem)
        return {job for job, events in EVENTS.items() if any(marker.event in events for marker in fresh)}

    def left(self, job: str, among: "Optional[Iterable[Marker]]" = None) -> "Optional[list[Marker]]":
        """The markers of a job that are there, only those `among` when they are given."""
        there = self._read()
        if there is None:
            return None
        asking = [marker for marker in there if marker.event in EVENTS[job]]
        if among is None:
            return asking
        names = {marker.path.stem for marker in among}
        return [marker for marker in asking if marker.path.stem in names]

    def clear(self, markers: "Optional[Iterable[Marker]]") -> bool:
        """Away with them; False when they could not be removed."""
        return self._change(lambda: clear(markers or ()))

    def _take(self, marker: Marker) -> bool:
        return self._change(lambda: take(marker))

    def _change(self, change: Callable[[], object]) -> bool:
        try:
            change()
        except StorageError as problem:
            self._voice.trouble("marker", problem.code, str(problem))
            return False
        self._voice.mended("marker")
        return True

    def _read(self) -> "Optional[list[Marker]]":
        try:
            found = read_markers(self.folder, self._agent)
        except StorageError as problem:
            self._voice.trouble("markers", problem.code, str(problem))
            return None
        self._voice.mended("markers")
        return found
