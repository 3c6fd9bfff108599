"""Signals as something to wait for beside files and children."""

from __future__ import annotations

import os
import signal
from typing import Any


class Signals:
    """Notes SIGTERM and SIGINT (`stop`) and SIGHUP (`reload`). `descriptor` becomes readable with each of them, and
    when a child ends. In force between `with` and its end."""

    def __init__(self) -> None:
        self.stop = False
        self.reload = False

    def __enter__(self) -> "Signals":
        self.descriptor, self._inlet = os.pipe()
        os.set_blocking(self.descriptor, False)
        os.set_blocking(self._inlet, False)
        self._before: "dict[int, Any]" = {}
        self._wakeup = signal.set_wakeup_fd(self._inlet, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup)
        os.close(self.descriptor)
        os.close(self._inlet)

    def forget(self) -> None:
        """Empty the descriptor."""
        try:
            while os.read(self.descriptor, 4096):
                pass
        except BlockingIOError:
            pass

    def _note(self, number: int, _frame: object) -> None:
        self.stop = self.stop or number in (signal.SIGTERM, signal.SIGINT)
        self.reload = self.reload or number == signal.SIGHUP
