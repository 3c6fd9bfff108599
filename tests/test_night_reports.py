"""What a night says of itself in its log and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from _night import report
from dream_testing import BICYCLE, DAY, LOG, Dream

PAGE = f"memory/dream-logs/{DAY}.md"


def test_a_night_killed_between_its_log_and_its_figures_is_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = Dream(tmp_path / "home")
    memory.put(LOG)

    def killed(*_given: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(report, "write_metrics", killed)
        patch.setattr("time.monotonic", iter([number * 3.7 for number in range(10_000)]).__next__)
        assert memory.night("run").code == 130
    assert memory.file(PAGE).count("**Status**") == 1
    assert memory.night("run").code == 0
    assert memory.file(PAGE).count("**Status**") == 1


def test_the_log_of_a_night_says_how_each_note_begins(tmp_path: Path) -> None:
    memory = Dream(tmp_path / "home")
    memory.put(LOG)
    told = f"- {BICYCLE} “Bought a blue bicycle at the market in Porto” (event, low): impact"
    assert memory.night("run", READ_ONLY_MODE="true").code == 0
    assert told in memory.file(PAGE)
    assert memory.night("run").code == 0
    assert memory.file(PAGE).count(told) == 2
