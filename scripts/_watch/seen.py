"""What one look at the transcripts found."""

from __future__ import annotations

from typing import NamedTuple


class Seen(NamedTuple):
    """`lines`: whole lines or rows of main sessions since the last look; below zero when a session that was counted
    turned out to be a machine's. `resets`: how many sessions ended. `problem`: what could not be looked at, "" when
    everything could."""

    lines: int = 0
    resets: int = 0
    problem: str = ""

    def plus(self, other: "Seen") -> "Seen":
        """Both together."""
        return Seen(self.lines + other.lines, self.resets + other.resets, self.problem or other.problem)
