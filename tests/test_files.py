"""Bytes on disk: what is there after a write, also when the write failed or another program was at it."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

import _files
from _errors import BusyError, StorageError
from _files import (
    append_file,
    append_log,
    cut_file,
    decode,
    encode,
    lock,
    lock_for_life,
    private_folder,
    read_bytes,
    read_lines,
    remove_file,
    replace_file,
)

SCRIPTS = Path(_files.__file__).resolve().parent


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    old = os.umask(0o022)
    yield
    os.umask(old)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names_in(folder: Path) -> "list[str]":
    return sorted(path.name for path in folder.iterdir())


def before_call(
    monkeypatch: pytest.MonkeyPatch, name: str, action: "Callable[[], None]", times: int = 1
) -> None:
    """Have `action` done by "another program" right before the next calls of os.NAME."""
    real, left = getattr(os, name), [times]

    def call(*args: Any, **named: Any) -> Any:
        if left[0]:
            left[0] -= 1
            action()
        return real(*args, **named)

    monkeypatch.setattr(os, name, call)


def failing(monkeypatch: pytest.MonkeyPatch, name: str, number: int) -> None:
    def fail(*_args: Any, **_named: Any) -> Any:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, name, fail)


# Replace -------------------------------------------------------------------------------------------------------------


def test_a_new_file_is_private_and_leaves_no_temporary_one(tmp_path: Path) -> None:
    assert replace_file(tmp_path / "a", b"new") is True
    assert (tmp_path / "a").read_bytes() == b"new"
    assert mode_of(tmp_path / "a") == 0o600
    assert names_in(tmp_path) == ["a"]


def test_the_mode_of_an_existing_file_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "a").chmod(0o640)
    replace_file(tmp_path / "a", b"new")
    assert ((tmp_path / "a").read_bytes(), mode_of(tmp_path / "a")) == (b"new", 0o640)


def test_a_link_stays_a_link_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "log").write_bytes(b"old")
    (tmp_path / "near").symlink_to(tmp_path / "far" / "log")
    replace_file(tmp_path / "near", b"new")
    append_file(tmp_path / "near", b"er")
    assert (tmp_path / "near").is_symlink()
    assert (tmp_path / "far" / "log").read_bytes() == b"newer"
    assert names_in(tmp_path / "far") == ["log"]


@pytest.mark.parametrize("name", ["open", "write", "fchmod", "fsync", "replace"])
def test_a_replace_that_fails_leaves_the_old_bytes_and_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / "memory.md"
    path.write_bytes(b"old")
    with monkeypatch.context() as patched:
        failing(patched, name, errno.ENOSPC)
        with pytest.raises(StorageError, match="memory.md cannot be written: No space left") as found:
            replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["memory.md"]
    assert "free some space" in found.value.hint


def test_what_a_crash_left_behind_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "a.total-recall-tmp").write_bytes(b"half of something")
    replace_file(tmp_path / "a", b"new")
    assert names_in(tmp_path) == ["a"]


def test_a_planted_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"mine")
    (tmp_path / "a.total-recall-tmp").symlink_to(tmp_path / "precious")
    with pytest.raises(StorageError):
        replace_file(tmp_path / "a", b"new")
    assert (tmp_path / "precious").read_bytes() == b"mine"
    replace_file(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_file_that_changed_since_it_was_read_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    for changed in (b"one, two", b"One", b"on", b"", b"two\none\n"):
        path.write_bytes(changed)
        assert replace_file(path, b"new", instead_of=b"one") is False
        assert path.read_bytes() == changed
    path.unlink()
    assert replace_file(path, b"new", instead_of=b"one") is False
    assert names_in(tmp_path) == []


def test_what_is_appended_in_the_last_moment_before_a_replace_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\ntwo\n")

    def person() -> None:
        with open(path, "ab") as file:
            file.write(b"mine\n")

    before_call(monkeypatch, "replace", person)
    assert replace_file(path, b"two\n", instead_of=b"one\ntwo\n") is True
    assert path.read_bytes() == b"two\nmine\n"
    assert names_in(tmp_path) == ["a"]


def test_what_was_appended_before_a_replace_survives_a_kill_right_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = tmp_path / "a", os.replace
    path.write_bytes(b"one\ntwo\nmine\n")

    def killed(source: Any, target: Any) -> None:
        real(source, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        replace_file(path, b"two", instead_of=b"one\ntwo\n")
    assert path.read_bytes() == b"two\nmine\n"


def test_an_old_file_that_is_edited_in_place_in_the_last_moment_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\ntwo\n")
    before_call(monkeypatch, "replace", lambda: path.write_bytes(b"One\ntwo\n") and None)
    assert replace_file(path, b"two\n", instead_of=b"one\ntwo\n") is False
    assert (path.read_bytes(), names_in(tmp_path)) == (b"One\ntwo\n", ["a"])


@pytest.mark.skipif(not hasattr(fcntl, "F_SETLEASE"), reason="only Linux tells who has a file open")
def test_whoever_has_the_old_file_open_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, asked = tmp_path / "a", []
    path.write_bytes(b"one\ntwo\n")
    person = os.open(path, os.O_WRONLY | os.O_APPEND)

    def write_now(_seconds: float) -> None:
        asked.append(path.read_bytes())
        os.write(person, b"mine\n")
        os.close(person)

    monkeypatch.setattr(_files.time, "sleep", write_now)
    assert replace_file(path, b"two\n", instead_of=b"one\ntwo\n") is True
    assert (asked, path.read_bytes()) == ([b"two\n"], b"two\nmine\n")


@pytest.mark.skipif(not hasattr(fcntl, "F_SETLEASE"), reason="only Linux tells who has a file open")
def test_whoever_only_keeps_it_open_does_not_hold_us_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\n")
    monkeypatch.setattr(_files, "WRITERS_WAIT_SECONDS", 0.01)
    with open(path, "r+b") as file:
        before_call(monkeypatch, "replace", lambda: file.truncate(1) and None)  # half saved
        assert replace_file(path, b"two\n", instead_of=b"one\n") is True
    assert path.read_bytes() == b"two\n"


# Append --------------------------------------------------------------------------------------------------------------


def test_an_append_makes_the_file_when_asked_to(tmp_path: Path) -> None:
    append_file(tmp_path / "a", b"one\n")
    append_file(tmp_path / "a", b"two\n")
    assert ((tmp_path / "a").read_bytes(), mode_of(tmp_path / "a")) == (b"one\ntwo\n", 0o600)
    with pytest.raises(StorageError, match="No such file"):
        append_file(tmp_path / "b", b"one\n", create=False)


def test_an_append_goes_into_the_file_that_an_editor_put_there_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\n")

    def editor() -> None:
        (tmp_path / "new").write_bytes(b"edited\n")
        (tmp_path / "new").rename(path)

    before_call(monkeypatch, "write", editor)
    append_file(path, b"ours\n")
    assert path.read_bytes() == b"edited\nours\n"


def test_an_append_that_the_editor_had_already_read_is_not_made_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\n")

    def editor() -> None:
        (tmp_path / "new").write_bytes(b"edited\n" + path.read_bytes())
        (tmp_path / "new").rename(path)

    before_call(monkeypatch, "fsync", editor)
    append_file(path, b"ours\n")
    assert path.read_bytes() == b"edited\none\nours\n"


def test_a_file_that_never_settles_ends_in_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"

    def editor() -> None:
        (tmp_path / "new").write_bytes(b"edited\n")
        (tmp_path / "new").rename(path)

    before_call(monkeypatch, "write", editor, times=1000)
    with pytest.raises(BusyError, match="again and again"):
        append_file(path, b"ours\n")


def test_a_part_that_the_disk_took_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, real, calls = tmp_path / "a", os.write, []
    path.write_bytes(b"one\n")

    def write(descriptor: int, data: bytes) -> int:
        calls.append(data)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data[:3])

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(StorageError, match="No space left"):
        append_file(path, b"ours\n")
    assert path.read_bytes() == b"one\n"


@pytest.mark.parametrize("taken", [0, 3])
def test_what_another_program_wrote_is_not_taken_back_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    path, real, calls = tmp_path / "a", os.write, []
    path.write_bytes(b"one\n")

    def write(descriptor: int, data: bytes) -> int:
        calls.append(data)
        if len(calls) <= bool(taken):
            return real(descriptor, data[:taken])
        with open(path, "ab") as file:
            file.write(b"x\n")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(StorageError):
        append_file(path, b"ours, a longer line\n")
    assert path.read_bytes() == b"one\n" + b"ours, a longer line\n"[:taken] + b"x\n"


def test_an_append_that_cannot_be_made_durable_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"one\n")
    failing(monkeypatch, "fsync", errno.EIO)
    with pytest.raises(StorageError, match="Input/output error"):
        append_file(tmp_path / "a", b"ours\n")
    assert (tmp_path / "a").read_bytes() == b"one\n"


LIMITED = """
import resource, signal, sys
from pathlib import Path
from _files import append_file, replace_file
from _errors import StorageError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
for write in (append_file, replace_file):
    try:
        write(Path(sys.argv[1]), b"y" * 200)
    except StorageError as problem:
        print(problem, problem.hint)
"""


def test_a_size_limit_leaves_the_old_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 60)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], cwd=SCRIPTS, capture_output=True, text=True, check=True
    )
    assert path.read_bytes() == b"x" * 60
    assert names_in(tmp_path) == ["a"]
    told = f"{path} cannot be written: File too large it would pass the size limit in force (ulimit -f)\n"
    assert done.stdout == told * 2


# Reading, folders, the rest ------------------------------------------------------------------------------------------


def test_reading_tells_nothing_there_from_cannot_be_read(tmp_path: Path) -> None:
    assert read_bytes(tmp_path / "none") is None
    assert list(read_lines(tmp_path / "none")) == []
    with pytest.raises(StorageError, match="cannot be read: Is a directory"):
        read_bytes(tmp_path)
    with pytest.raises(StorageError, match="cannot be read: Is a directory"):
        list(read_lines(tmp_path))


def test_a_file_can_be_read_from_a_place_on_and_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\ntwo\nthr")
    assert read_bytes(tmp_path / "a", 4) == b"two\nthr"
    assert list(read_lines(tmp_path / "a")) == [b"one\n", b"two\n", b"thr"]


@pytest.mark.parametrize("data", [b"", b"plain", "größe 🔴".encode(), b"\xff\xfe\x80", b"a\r\nb\x00"])
def test_any_bytes_survive_as_text(data: bytes) -> None:
    assert encode(decode(data)) == data


def test_folders_are_made_private_and_existing_ones_keep_their_mode(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    private_folder(tmp_path / "open" / "a" / "b")
    private_folder(tmp_path / "open" / "a" / "b")
    modes = [mode_of(tmp_path / part) for part in ("open", "open/a", "open/a/b")]
    assert modes == [0o755, 0o700, 0o700]


def test_a_file_in_the_place_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "memory").write_bytes(b"")
    with pytest.raises(StorageError, match="memory is in the way: it is not a folder"):
        private_folder(tmp_path / "memory" / ".total-recall")


def test_cutting_and_removing(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\ntw")
    assert cut_file(tmp_path / "a", 4, 5) is False  # somebody has written to it meanwhile
    assert cut_file(tmp_path / "a", 4, 6) is True
    assert (tmp_path / "a").read_bytes() == b"one\n"
    remove_file(tmp_path / "a")
    remove_file(tmp_path / "a")
    assert names_in(tmp_path) == []
    with pytest.raises(StorageError, match="cannot be shortened"):
        cut_file(tmp_path / "a", 0, 1)
    with pytest.raises(StorageError, match="cannot be removed"):
        remove_file(tmp_path)


def test_a_log_past_a_megabyte_is_set_aside_once(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "observer.log"
    append_log(path, "first")
    append_log(path, "über \udce9")
    assert path.read_bytes() == "first\nüber ?\n".encode()
    path.write_bytes(b"x" * 1_000_001)
    append_log(path, "second")
    assert names_in(path.parent) == ["observer.log", "observer.log.1"]
    assert (path.read_bytes(), path.with_name("observer.log.1").stat().st_size) == (b"second\n", 1_000_001)


def test_a_lock_is_held_by_one_and_free_again_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "run.lock"
    with lock(path), pytest.raises(BusyError, match="run.lock is held by another run"), lock(path):
        raise AssertionError("two hold the lock")
    with lock(path, 5.0):
        assert mode_of(path) == 0o600


def test_a_lock_for_life_and_a_lock_keep_each_other_out(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "watcher.lock"
    for first, second in ((lock_for_life, lock), (lock, lock_for_life), (lock_for_life, lock_for_life)):
        with first(path), pytest.raises(BusyError, match="is held by another run"), second(path):
            raise AssertionError("two hold the lock")
    assert mode_of(path) == 0o600
    (tmp_path / "folder").mkdir()
    with (
        pytest.raises(StorageError, match="folder cannot be locked: Is a directory"),
        lock_for_life(tmp_path / "folder"),
    ):
        raise AssertionError("locked a folder")


def test_a_lock_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.lock").mkdir()
    with (
        pytest.raises(StorageError, match="run.lock cannot be locked: Is a directory"),
        lock(tmp_path / "run.lock"),
    ):
        raise AssertionError("locked a folder")


def test_a_folder_goes_with_all_that_is_in_it_and_no_link_is_followed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "a.txt").write_text("mine")
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "b.txt").write_text("b")
    (folder / "inner" / "link").symlink_to(kept)
    _files.remove_folder(folder)
    _files.remove_folder(folder)
    assert not folder.exists()
    assert (kept / "a.txt").read_text() == "mine"


def test_a_folder_that_cannot_be_removed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_path: Path) -> None:
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "rmdir", fail)
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError, match="cannot be removed"):
        _files.remove_folder(tmp_path / "folder")


def test_the_room_on_a_disk_is_told_in_bytes(tmp_path: Path) -> None:
    assert _files.free_bytes(tmp_path) > 1_000
    with pytest.raises(StorageError, match="free space"):
        _files.free_bytes(tmp_path / "missing")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_writes_belongs_to_the_owner_of_the_memory(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    os.chown(folder, 1234, 1235)
    replace_file(folder / "state.json", b"{}")
    append_file(folder / "ledger.jsonl", b"{}\n")
    (folder / "log.md").write_bytes(b"old")
    os.chown(folder / "log.md", 1236, 1237)
    replace_file(folder / "log.md", b"new")
    owners = {path.name: (path.stat().st_uid, path.stat().st_gid) for path in folder.iterdir()}
    assert owners == {
        "state.json": (1234, 1235),
        "ledger.jsonl": (1234, 1235),
        "log.md": (1236, 1237),
    }
