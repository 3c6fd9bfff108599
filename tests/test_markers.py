"""Markers: what the gateway hook leaves, taken up by one and removed when it is settled."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from _errors import StorageError
from _markers import clear, read_markers, take


def leave(folder: Path, name: str, **fields: Any) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(json.dumps(fields), "utf-8")
    return path


def test_markers_come_oldest_first_with_what_they_say(tmp_path: Path) -> None:
    leave(
        tmp_path, "20-b.json", event="command:new", at_ms=20, session_id="0f0e", session_key="agent:main:main"
    )
    leave(tmp_path, "10-a.taken", event="session:compact:before", at_ms=10, session_file="/x/0f0e.jsonl")
    leave(tmp_path, "30-c.tmp", event="command:new", at_ms=30)
    first, second = read_markers(tmp_path)
    assert (first.event, first.at_ms, first.session_file, first.taken) == (
        "session:compact:before",
        10,
        "/x/0f0e.jsonl",
        True,
    )
    assert (second.event, second.session_id, second.session_key, second.taken) == (
        "command:new",
        "0f0e",
        "agent:main:main",
        False,
    )


def test_with_an_agent_only_its_own_are_read_and_those_of_nobody(tmp_path: Path) -> None:
    for number, agent in enumerate(("main", "tess", "", None)):
        leave(tmp_path, f"{number}-a.json", event="command:new", at_ms=number, agent_id=agent)
    (tmp_path / "4-a.json").write_text("no marker", "utf-8")
    assert [marker.path.name for marker in read_markers(tmp_path, "main")] == [
        "0-a.json",
        "4-a.json",
        "2-a.json",
        "3-a.json",
    ]
    assert len(read_markers(tmp_path)) == 5


def test_no_folder_is_no_marker(tmp_path: Path) -> None:
    assert read_markers(tmp_path / "markers") == []


def test_a_folder_that_cannot_be_listed_is_no_silence(tmp_path: Path) -> None:
    (tmp_path / "markers").write_text("", "utf-8")
    with pytest.raises(StorageError, match="markers cannot be listed"):
        read_markers(tmp_path / "markers")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"7", b"\xff", b"[" * 100_000, b'{"event":"x"}' + b" " * 100_001]
)
def test_what_is_no_marker_is_there_to_be_removed(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "1-a.json").write_bytes(content)
    (found,) = read_markers(tmp_path)
    assert (found.event, found.at_ms, found.session_id) == ("", 0, "")
    assert clear([found]) == 1
    assert list(tmp_path.iterdir()) == []


def test_fields_of_another_kind_count_as_empty(tmp_path: Path) -> None:
    leave(tmp_path, "1-a.json", event=7, at_ms=True, session_id=None, session_key=["x"], session_file={})
    (found,) = read_markers(tmp_path)
    assert (found.event, found.at_ms, found.session_id, found.session_key, found.session_file) == (
        "",
        0,
        "",
        "",
        "",
    )


def test_a_marker_is_taken_once_and_then_cleared(tmp_path: Path) -> None:
    path = leave(tmp_path, "1-a.json", event="command:new", at_ms=1, session_id="0f0e")
    (left,) = read_markers(tmp_path)
    mine = take(left)
    assert mine is not None and mine.taken and (mine.event, mine.session_id) == ("command:new", "0f0e")
    assert take(mine) == mine
    assert take(left) is None
    assert not path.exists() and mine.path.exists()
    assert clear([left]) == 1  # under either name
    assert read_markers(tmp_path) == []
    assert clear([mine]) == 1


def test_only_the_hooks_own_plain_files_are_read_and_removed(tmp_path: Path) -> None:
    folder = tmp_path / "markers"
    folder.mkdir()
    os.mkfifo(folder / "1-a.json")
    (folder / "2-b.json").mkdir()
    (tmp_path / "sessions.json").write_text("{}")
    (folder / "3-c.json").symlink_to(tmp_path / "sessions.json")
    (folder / "sessions.json").write_text("{}")
    (folder / "4-d.json").write_text('{"event": "command:new"}')
    found = read_markers(folder)
    assert [marker.path.name for marker in found] == ["4-d.json"]
    assert clear(found) == 1
    assert sorted(path.name for path in folder.iterdir()) == [
        "1-a.json",
        "2-b.json",
        "3-c.json",
        "sessions.json",
    ]


def test_a_markers_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "1-a.json").write_text("{}")
    (tmp_path / "markers").symlink_to(tmp_path / "sessions")
    with pytest.raises(StorageError, match="is a link"):
        read_markers(tmp_path / "markers")


def test_one_marker_that_cannot_be_removed_does_not_keep_the_others(tmp_path: Path) -> None:
    for name in ("1-a", "2-b"):
        (tmp_path / f"{name}.json").write_text('{"event": "command:new"}')
    found = read_markers(tmp_path)
    (tmp_path / "1-a.json").unlink()
    (tmp_path / "1-a.json").mkdir()
    with pytest.raises(StorageError, match="1-a.json"):
        clear(found)
    assert not (tmp_path / "2-b.json").exists()
