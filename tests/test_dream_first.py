"""The first nights of a memory that no night has touched yet: lines without ids, in read-only mode first."""

from __future__ import annotations

from pathlib import Path

from night_testing import Night

LOG = """# Observations

Date: 2026-07-02

- 🔴 10:00 Is allergic to penicillin <!-- dc:type=fact dc:importance=9.5 dc:date=2026-07-02 -->
- 🟡 10:05 The canteen near the office closes at two <!-- dc:type=fact dc:importance=4 dc:date=2026-07-02 -->
- 🟢 10:06 Was tired after the move <!-- dc:type=event dc:importance=2 dc:date=2026-07-02 -->
"""


def test_without_any_night_nobody_is_sent_to_a_rollback(tmp_path: Path) -> None:
    memory = Night(tmp_path / "home")
    memory.put(LOG + "A remark that is longer than what the target has room for. " * 20)
    ended = memory.night("validate", DREAM_TOKEN_TARGET="100")
    assert ended.code == 6 and "preflight" in ended.result["error"]["hint"]


def test_a_rehearsed_night_over_lines_without_ids_holds(tmp_path: Path) -> None:
    memory = Night(tmp_path / "home")
    memory.put(LOG)
    for _ in range(2):
        ended = memory.night("run", READ_ONLY_MODE="true")
        assert (ended.code, ended.result["reason"]) == (0, "read_only")
        checked = memory.night("validate", READ_ONLY_MODE="true")
        assert checked.code == 0 and checked.result["critical_false_archives"] == 0
        assert "critical and archived" not in memory.file(f"memory/dream-logs/{ended.result['day']}.md")
    assert memory.log == LOG
