"""Where the files of one memory folder are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from _files import lock

MEMORY_LOCK_WAIT_SECONDS = 30.0


class Places(NamedTuple):
    """The files of one memory folder. `observations` may be a symbolic link."""

    observations: Path
    private: Path

    @property
    def state(self) -> Path:
        return self.private / "state.json"

    @property
    def journal(self) -> Path:
        return self.private / "journal.json"

    @property
    def ledger(self) -> Path:
        return self.private / "ledger.jsonl"

    @property
    def tombstones(self) -> Path:
        """What was forgotten and must not come back."""
        return self.private / "tombstones.json"

    @property
    def forgetting(self) -> Path:
        """What is being forgotten, until it is done."""
        return self.private / "forgetting.json"

    @property
    def calls(self) -> Path:
        return self.private / "calls.json"

    @property
    def brief(self) -> Path:
        return self.private / "brief.txt"

    @property
    def run_lock(self) -> Path:
        """Held for a whole observer run, so that two of them do not pay for the same question."""
        return self.private / "observer.lock"

    @property
    def reflector_lock(self) -> Path:
        """Held for a whole reflector run."""
        return self.private / "reflector.lock"

    @property
    def reflections(self) -> Path:
        """Where the lines are that left the log in a reflection, a file for each day."""
        return self.observations.parent / "archive" / "reflections"

    @property
    def backups(self) -> Path:
        """Copies of the log as it was before a reflection."""
        return self.observations.parent / "observation-backups"

    @property
    def calls_lock(self) -> Path:
        """Held while calls.json is changed: an observer and a reflector may ask models at the same time."""
        return self.private / "calls.lock"

    @property
    def markers(self) -> Path:
        """Where OpenClaw's gateway hook says that a session ended or is to be compacted."""
        return self.private / "markers"

    @property
    def memory_lock(self) -> Path:
        """Held only while files are read and written, never during a model call."""
        return self.private / "memory.lock"

    @contextmanager
    def memory(self) -> Iterator[None]:
        """Hold the memory lock. Raises BusyError when another run still has it after 30 seconds."""
        with lock(self.memory_lock, MEMORY_LOCK_WAIT_SECONDS):
            yield
