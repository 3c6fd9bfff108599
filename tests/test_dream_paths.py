# ruff: noqa: E501 (lines of a log are long)
"""dream_cycle.py: a command writes into the one folder that it is for, and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dream_testing import ARCHIVE, BASKET, CHUNKS, DAY, DRAFT, LOG, TUNA, Dream, item, without

COMMANDS = {
    "archive": ARCHIVE,
    "chunk": CHUNKS,
    "write-log": f"memory/dream-logs/{DAY}.md",
    "write-metrics": f"research/dream-cycle-metrics/daily/{DAY}.json",
    "write-staging": "memory/dream-staging/20261130-033000-habit.md",
    "update-observations": DRAFT,
}
WRONG = {
    "archive": f"memory/archive/observations/{DAY}.txt",
    "chunk": f"memory/archive/chunks/chunk-{DAY}.md",
    "write-log": "memory/dream-logs/2026-02-30.md",
    "write-metrics": f"research/dream-cycle-metrics/daily/{DAY}.md",
    "write-staging": "memory/dream-staging/20261130-033000-context.md",
    "update-observations": "memory/.dream-backups/manifest.json",
}


@pytest.fixture
def dream(tmp_path: Path) -> Dream:
    return Dream(tmp_path / "home").begun()


def everything(dream: Dream) -> "dict[str, bytes]":
    """All files of the machine but logs and locks."""
    return {
        str(path): path.read_bytes()
        for path in sorted(dream.folder.rglob("*"))
        if path.is_file() and path.suffix not in (".log", ".lock")
    }


def refused(dream: Dream, command: str, path: str) -> None:
    before = everything(dream)
    ended = dream.night(command, path, payload={"items": [item("OBS-20260901-001")]})
    assert (ended.code, ended.result["error"]["code"]) == (6, "refused"), path
    assert everything(dream) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_a_path_out_of_the_folder_is_refused(dream: Dream, command: str) -> None:
    path = COMMANDS[command]
    folder, _, name = path.rpartition("/")
    outside = dream.folder / "outside"
    outside.mkdir()
    for wrong in (
        f"{folder}/../{name}",
        f"{folder}/../{folder.rpartition('/')[2]}/{name}",
        f"../{path}",
        str(dream.workspace / path),
        str(outside / name),
        f"~/{name}",
        f"./{path}",
        f"{folder}//{name}",
        f"{folder}/sub/{name}",
        f"{folder}/{name}/",
        f"{folder}/",
        folder,
        name,
        "",
        "/",
        "AGENTS.md",
        "memory/observations.md",
        f"{path}\0.md",
        f"{folder}\0/{name}",
        path.upper(),
        WRONG[command],
        *(other for one, other in COMMANDS.items() if one != command),
    ):
        refused(dream, command, wrong)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_symbolic_link_at_the_path_is_refused(dream: Dream, command: str) -> None:
    target = dream.folder / "elsewhere.md"
    target.write_text("mine")
    path = dream.workspace / COMMANDS[command]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.symlink(target, path)
    refused(dream, command, COMMANDS[command])
    assert target.read_text() == "mine"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_symbolic_link_on_the_way_is_refused(dream: Dream, command: str) -> None:
    elsewhere = dream.folder / "elsewhere"
    folder = dream.workspace / Path(COMMANDS[command]).parent
    folder.rename(elsewhere)
    os.symlink(elsewhere, folder)
    refused(dream, command, COMMANDS[command])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_in_the_place_of_the_file_is_refused(dream: Dream, command: str) -> None:
    path = dream.workspace / COMMANDS[command]
    path.unlink(missing_ok=True)
    path.mkdir(parents=True)
    refused(dream, command, COMMANDS[command])


def test_a_pipe_in_the_place_of_the_file_is_refused(dream: Dream) -> None:
    os.mkfifo(dream.workspace / ARCHIVE)
    refused(dream, "archive", ARCHIVE)


LINKED = (
    ARCHIVE,
    CHUNKS,
    f"memory/archive/reflections/{DAY}.md",
    f"memory/dream-logs/{DAY}.md",
    f"research/dream-cycle-metrics/daily/{DAY}.json",
    DRAFT,
    "memory/archive/reflections",
)


@pytest.mark.parametrize("command", ["run", "preflight"])
@pytest.mark.parametrize("path", LINKED)
def test_a_night_that_would_write_through_a_symbolic_link_does_not_begin(
    tmp_path: Path, path: str, command: str
) -> None:
    dream = Dream(tmp_path / "home", {"DREAM_PHASE": "2"})
    dream.put(LOG)
    target = dream.folder / "elsewhere"
    target.mkdir() if path.endswith("reflections") else target.write_text("mine")
    (dream.workspace / path).parent.mkdir(parents=True, exist_ok=True)
    os.symlink(target, dream.workspace / path)
    dream.night("account", "--accept")
    before = everything(dream)
    ended = dream.night(command)
    assert (ended.code, ended.result["error"]["code"]) == (6, "refused")
    assert everything(dream) == before


@pytest.mark.parametrize("command", ["run", "preflight", "write-metrics"])
@pytest.mark.parametrize("is_there", [True, False])
def test_research_may_be_no_symbolic_link(tmp_path: Path, command: str, is_there: bool) -> None:
    dream = Dream(tmp_path / "home")
    dream.put(LOG)
    assert dream.night("account", "--accept").code == 0
    elsewhere = dream.folder / "elsewhere"
    if is_there:
        (elsewhere / "dream-cycle-metrics" / "daily").mkdir(parents=True)
    os.symlink(elsewhere, dream.workspace / "research")
    before = everything(dream)
    argv = [COMMANDS[command]] if command in COMMANDS else []
    ended = dream.night(command, *argv, payload={"date": DAY} if argv else None)
    assert (ended.code, ended.result["error"]["code"]) == (6, "refused")
    assert everything(dream) == before and not list(elsewhere.rglob("*.json"))


def test_memory_itself_may_be_a_link_to_a_folder(tmp_path: Path) -> None:
    dream = Dream(tmp_path / "home", {"DREAM_PHASE": "2"})
    dream.put(LOG)
    synchronized = tmp_path / "synchronized"
    dream.memory.rename(synchronized)
    os.symlink(synchronized, dream.memory)
    assert dream.night("run").result["reason"] == "done"
    assert (synchronized / "archive" / "observations" / f"{DAY}.md").exists()
    assert dream.night("rollback").code == 0
    assert TUNA in dream.raw and dream.memory.is_symlink()


@pytest.mark.parametrize("command", ["run", "preflight"])
@pytest.mark.parametrize("target", ["nothing", "a file", "itself"])
def test_memory_may_be_no_link_to_anything_else(tmp_path: Path, target: str, command: str) -> None:
    dream = Dream(tmp_path / "home")
    dream.workspace.mkdir(parents=True, exist_ok=True)
    if target == "a file":
        (tmp_path / target).write_text("mine")
    if dream.memory.exists():
        dream.memory.rename(tmp_path / "old")
    os.symlink(dream.memory if target == "itself" else tmp_path / target, dream.memory)
    ended = dream.night(command)
    assert ended.result["error"]["code"] in ("refused", "configuration", "storage"), ended.result
    assert not (tmp_path / "nothing").exists()


def test_lines_are_merged_into_no_archive_behind_a_link(dream: Dream) -> None:
    target = dream.folder / "elsewhere"
    (dream.memory / "archive" / "reflections").rmdir()
    target.mkdir()
    os.symlink(target, dream.memory / "archive" / "reflections")
    again = LOG.replace("\nDate: 2026-11-29", "- 🟡 The cat is called Miso\n\nDate: 2026-11-29")
    dream.put(again)
    assert dream.night("preflight").code == 6
    merged = f"- 🟢 The cat Miso eats tuna on Fridays, sleeps in the blue basket <!-- dc:from={TUNA},{BASKET} -->\n"
    dream.draft(without(LOG, TUNA, BASKET) + merged)
    assert dream.night("update-observations", DRAFT).code == 6
    assert dream.raw == again and list(target.iterdir()) == []


def test_a_rollback_that_a_link_stops_has_done_nothing_yet(dream: Dream) -> None:
    dream.night("archive", ARCHIVE, payload=[item("OBS-20260901-001")])
    assert dream.redraft(without(LOG, "OBS-20260901-001")).code == 0
    (dream.workspace / ARCHIVE).rename(dream.folder / "elsewhere")
    os.symlink(dream.folder / "elsewhere", dream.workspace / ARCHIVE)
    before = everything(dream)
    assert dream.night("rollback").code == 6
    assert everything(dream) == before


def test_no_favorites_are_made_at_the_end_of_a_link(tmp_path: Path) -> None:
    dream = Dream(tmp_path / "home")
    dream.put(LOG)
    os.symlink(dream.folder / "elsewhere.md", dream.workspace / "favorites.md")
    assert dream.night("preflight").result["favorites_created"] is False
    assert not (dream.folder / "elsewhere.md").exists()


def test_memory_may_lie_outside_of_the_workspace_and_keeps_its_name(tmp_path: Path) -> None:
    dream = Dream(tmp_path / "home", {"MEMORY_DIR": str(tmp_path / "notes")})
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "observations.md").write_text(
        "Date: 2026-09-01\n\n- 🟢 Tried the new canteen near the office <!-- dc:importance=2 dc:id=OBS-20260901-002 -->\n"
    )
    assert dream.night("preflight").code == 0
    assert dream.night("archive", ARCHIVE, payload=[item("OBS-20260901-002")]).result["written"] == 1
    assert (tmp_path / "notes" / "archive" / "observations" / f"{DAY}.md").exists()


def test_what_is_written_is_private(dream: Dream) -> None:
    dream.night("archive", ARCHIVE, payload=[item("OBS-20260901-001")])
    assert (dream.workspace / ARCHIVE).stat().st_mode & 0o777 == 0o600
    assert (dream.workspace / ARCHIVE).parent.stat().st_mode & 0o777 == 0o700
