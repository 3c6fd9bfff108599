"""What the watcher tells: on stderr (the journal) and in its log, each trouble once, and once that it is over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable

from _compat import utc_now
from _errors import TotalRecallError
from _files import append_log


class Voice:
    """`say` prints a sentence for people. A log that cannot be written is a trouble like others. `agent_id` stands in
    each of its lines: agents that share a workspace share the log."""

    def __init__(self, say: Callable[[str], None], log: Path, agent_id: str) -> None:
        self._say, self._agent = say, agent_id
        self.log = log
        self._troubles: "dict[str, str]" = {}
        self.errors = 0

    def tell(self, event: str, sentence: str = "", **facts: object) -> None:
        """Something that happened: a line in the log, and the sentence."""
        if sentence:
            self._say(f"watcher: {sentence}")
        line = f"{utc_now():%Y-%m-%dT%H:%M:%SZ} " + json.dumps(
            {"event": event, "agent": self._agent, **facts}, separators=(",", ":")
        )
        try:
            append_log(self.log, line)
        except TotalRecallError as problem:
            if "log" not in self._troubles:
                self._troubles["log"] = "log"
                self._say(f"watcher: no log written: {problem}")
        else:
            self._troubles.pop("log", None)

    def trouble(self, about: str, code: str, sentence: str, counted: bool = True) -> None:
        """Something is out of order. Told once, as long as it is the same."""
        if self._troubles.get(about) != code:
            self._troubles[about] = code
            self.errors += counted
            self.tell("trouble", sentence, about=about, code=code)

    def mended(self, about: str) -> None:
        """It works; told when it did not before."""
        if self._troubles.pop(about, None) is not None:
            self.tell("mended", f"{about}: in order again", about=about)
