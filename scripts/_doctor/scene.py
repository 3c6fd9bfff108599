"""What the checks look at, each thing read once. Nothing is written and no lock is taken."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from _cli import Run, called_script
from _config import Config
from _doctor.ours import Ours, look_at_ours
from _errors import ConfigError, SourceError, StorageError, TotalRecallError
from _files import decode, is_there, read_bytes
from _setup import Packages, memory
from _setup.commands import SKILL
from _state import Places, State, last_good_run, load_state

if TYPE_CHECKING:
    from datetime import datetime

    from _settle import Work
    from _transcripts import Listing


# Where memory and transcripts are: what a command has to be given again.
_GIVEN = ("OPENCLAW_AGENT_ID", "OPENCLAW_HOME", "OPENCLAW_STATE_DIR", "MEMORY_DIR", "SESSIONS_DIR")


@dataclass(frozen=True)
class Scene:
    """One look. `problems` are the settings that could not be taken, `packages` is None where nobody could say."""

    run: Run
    problems: "Sequence[ConfigError]"
    packages: Optional[Packages]
    offline: bool = False

    @property
    def config(self) -> Config:
        """The settings that hold."""
        return self.run.config

    def command(self, script: str, *words: str) -> str:
        """How to run a layer for this memory, for a shell: as this look was called, with what was given to it."""
        config = self.config
        called = called_script("doctor")
        folder = Path(os.path.abspath(called)).parent if called else SKILL / "scripts"
        given = [f"{name}={config.values[name]}" for name in _GIVEN if config.origins[name] == "environment"]
        workspace = (
            []
            if config.origins["OPENCLAW_WORKSPACE"] == "default"
            else ["--workspace", str(config.workspace)]
        )
        told = [*(["env", *given] if given else []), "python3", str(folder / script), *words, *workspace]
        return shlex.join(told)

    @cached_property
    def places(self) -> Places:
        """The files of this memory."""
        return Places(self.config.observations_path, self.config.private_dir)

    @cached_property
    def is_begun(self) -> bool:
        """Whether there is a memory, of whatever edition; also when that cannot be told."""
        try:
            return is_there(self.places.private) or is_there(self.places.observations)
        except StorageError:
            return True

    @cached_property
    def state(self) -> State:
        """state.json, or what the ledger tells in its place."""
        return load_state(self.places)

    @cached_property
    def log(self) -> str:
        """observations.md, "" when there is none."""
        return decode(read_bytes(self.places.observations) or b"")

    @cached_property
    def ours(self) -> Ours:
        """Every file and folder of ours."""
        return look_at_ours(self.config, self.run.now)

    @cached_property
    def lacking_folders(self) -> "list[Path]":
        """Which of the folders that setup makes are missing, where it has been run; memory's own are told elsewhere."""
        if not os.path.isdir(self.config.private_dir):
            return []
        return [folder for folder in memory.folders(self.config) if not os.path.lexists(folder)]

    @cached_property
    def everything(self) -> "Listing":
        """All transcripts that there are. Raises SourceError."""
        from _transcripts import find_sessions

        return find_sessions(self.config)

    @cached_property
    def work(self) -> "Work":
        """What an observer's run would go by."""
        from _settle import Job, Work, first_sight_ms

        found = Work(self.config, self.run.now, self.run.clock, Job("manual"), self.places, self.state)
        if not found.state.since_ms:
            found.state = State(since_ms=first_sight_ms(found))
        return found

    @cached_property
    def news(self) -> "Listing":
        """The transcripts with something new. Raises ConfigError when there is nowhere to look."""
        from _settle import find

        if any(problem.busy for problem in self.everything.problems):
            raise SourceError("OpenClaw's store is busy", "look again in a moment")
        return find(self.work)

    @property
    def sessions_waiting(self) -> Optional[int]:
        """How many sessions of people hold something new; None when that cannot be told."""
        try:
            return sum(not session.machine for session in self.news.sessions)
        except (TotalRecallError, OSError):
            return None

    @cached_property
    def last_run(self) -> "Optional[datetime]":
        """When the observer last ended well; None for never."""
        return last_good_run(self.places, self.state)
