"""Bytes on disk: atomic replace, durable append, locks, copies kept aside, private modes.

Every write of the package goes through here, and every system call by its name in `os`, so that a test can make the
nth one fail. A failed write leaves the old bytes in place and raises StorageError naming the file and the reason.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO, Callable, Optional

from _compat import fsync_file, fsync_folder, stamp
from _errors import BusyError, MissingPackage, StorageError

FOLDER_MODE = 0o700
FILE_MODE = 0o600
LOG_MAX_BYTES = 1_000_000
WRITERS_WAIT_SECONDS = 0.25
# Not ".md": OpenClaw indexes every .md below memory/, half-written ones too.
TEMPORARY_SUFFIX = ".total-recall-tmp"


def private_folder(folder: Path) -> None:
    """Make `folder` and its missing parents, readable by nobody else. Folders that are there keep their mode."""
    try:
        if folder.is_dir():
            return
        if not folder.parent.is_dir():
            private_folder(folder.parent)
        os.mkdir(folder, FOLDER_MODE)
    except FileExistsError:
        if not folder.is_dir():
            raise StorageError(f"{folder} is in the way: it is not a folder", "move it away") from None
    except OSError as problem:
        raise _storage_error(folder, "cannot be made", problem) from problem


def names_in(folder: Path) -> "list[str]":
    """What is in a folder, sorted; nothing where there is none. Raises StorageError when that cannot be told, which
    `Path.glob` takes for an empty folder."""
    try:
        with os.scandir(folder) as found:
            return sorted(one.name for one in found)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as problem:
        raise _storage_error(folder, "cannot be listed", problem) from problem


def read_bytes(path: Path, start: int = 0) -> Optional[bytes]:
    """The file from byte `start` on, or None when there is none. Raises StorageError when it cannot be read."""
    try:
        with open(path, "rb") as file:
            file.seek(start)
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise _storage_error(path, "cannot be read", problem) from problem


def is_there(path: Path) -> bool:
    """Whether there is such a file. Raises StorageError when that cannot be told, which exists() would not."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as problem:
        raise _storage_error(path, "cannot be reached", problem) from problem
    return True


def read_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file one after the other, for one that is too large to hold; none when there is no file."""
    try:
        with open(path, "rb") as file:
            yield from file
    except FileNotFoundError:
        return
    except OSError as problem:
        raise _storage_error(path, "cannot be read", problem) from problem


def decode(data: bytes) -> str:
    """Bytes as text; those that are not UTF-8 survive as surrogates and come back with `encode`."""
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """The inverse of `decode`."""
    return text.encode("utf-8", "surrogateescape")


def replace_file(path: Path, data: bytes, instead_of: Optional[bytes] = None) -> bool:
    """Put `data` in the place of the file: the old bytes or the new ones are there at any moment, never a mixture.

    The mode of an existing file is kept and a symbolic link is followed. With `instead_of` (the bytes that the new ones
    were made from) nothing is written, and False returned, when the file no longer begins with them; the lines that
    another program appended to the old file are appended to the new one. An old file that was edited in place in the
    last moment is put back, and False returned.

    One moment stays open to programs that do not take the memory lock, between the last look at the file and the
    rename, some microseconds: no system call that Python has replaces a file only if it is still the same one. What is
    renamed to the file in it is lost, and what is written to an old file that was opened before and is written to more
    than a quarter of a second after.
    """
    target = Path(os.path.realpath(path))
    if instead_of is None:
        return _replace(path, target, data, lambda: True)
    try:
        with open(target, "rb") as old:
            return _replace_same(path, target, data, old, instead_of)
    except FileNotFoundError:
        return False
    except OSError as problem:
        raise _storage_error(path, "cannot be read", problem) from problem


def _replace_same(path: Path, target: Path, data: bytes, old: BinaryIO, instead_of: bytes) -> bool:
    """`replace_file` once the old file is open. What was appended before the rename is in the new file from the start,
    so that a kill right after it loses nothing."""
    seen, new, is_done = instead_of, data, False
    for _attempt in range(50):
        content = _read_whole(old)
        grown = seen.endswith(b"\n") and content.startswith(seen)
        if not (grown or content == seen) or not _is_at(old, target):
            return False
        seen, new = content, _with_lines(data, content[len(instead_of) :])
        is_done = _replace(path, target, new, partial(_is_still, old, target, seen))
        if is_done:
            break
    return is_done and _kept_late(path, old, new, seen)


def _kept_late(path: Path, old: BinaryIO, new: bytes, seen: bytes) -> bool:
    """Keep what others did to the old file while it was replaced; False when that is now in place of the new one. What
    is only half saved, or empty, is not."""
    is_settled, last = _settled(old), _read_whole(old)
    if last.startswith(seen):
        if len(last) > len(seen):
            append_file(path, last[len(seen) :])
        return True
    if not last or not is_settled:
        return True
    replace_file(path, last, instead_of=new)
    return False


def _with_lines(data: bytes, late: bytes) -> bytes:
    return data + b"\n" + late if late and data and not data.endswith(b"\n") else data + late


def _is_still(old: BinaryIO, target: Path, content: bytes) -> bool:
    """Whether the open file holds this and is the one at `target`: that is looked at last."""
    return _read_whole(old) == content and _is_at(old, target)


def _is_at(old: BinaryIO, target: Path) -> bool:
    found, now = os.fstat(old.fileno()), stamp(target)
    return now is not None and (now.device, now.inode) == (found.st_dev, found.st_ino)


def _read_whole(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()


def _settled(old: BinaryIO) -> bool:
    """Wait until nobody has a file open to write that has lost its name: whoever opened it just before may be about to.
    False when somebody still has after a quarter of a second."""
    deadline = time.monotonic() + WRITERS_WAIT_SECONDS
    while _is_being_written(old):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.002)
    return True


def _is_being_written(file: BinaryIO) -> bool:
    """Whether another program has a file open to write. Linux tells, by refusing a lease; macOS does not."""
    import fcntl
    import signal

    lease = getattr(fcntl, "F_SETLEASE", None)
    if lease is None:
        return False
    try:
        # Whoever opens it while the lease is held has the kernel signal us, by default with one that ends a process.
        fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)  # type: ignore[attr-defined, unused-ignore]
        fcntl.fcntl(file, lease, fcntl.F_RDLCK)
        fcntl.fcntl(file, lease, fcntl.F_UNLCK)
    except OSError as problem:
        return problem.errno == errno.EAGAIN
    return False


def _give_to_owner(descriptor: int, path: Path) -> None:
    """What root writes belongs to whoever owns the file, or else the folder: one run by sudo would else lock its user
    out of their memory."""
    if os.geteuid() != 0:
        return
    try:
        owner = os.stat(path)
    except FileNotFoundError:
        owner = os.stat(path.parent)
    os.fchown(descriptor, owner.st_uid, owner.st_gid)


def _replace(path: Path, target: Path, data: bytes, may: Callable[[], bool]) -> bool:
    temporary = target.with_name(target.name + TEMPORARY_SUFFIX)
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, FILE_MODE)
        try:
            _write_all(descriptor, data)
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(descriptor, stat.S_IMODE(os.stat(target).st_mode))
            _give_to_owner(descriptor, target)
            fsync_file(descriptor)
        finally:
            os.close(descriptor)
        if not may():
            os.unlink(temporary)
            return False
        os.replace(temporary, target)
        fsync_folder(target.parent)
    except OSError as problem:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise _storage_error(path, "cannot be written", problem) from problem
    return True


def append_file(path: Path, data: bytes, create: bool = True) -> None:
    """Add `data` at the end in one go and make it durable.

    Other writers that append lose nothing. When the disk takes only a part of it, that part is taken back. A file that
    was swapped for another while we wrote (an editor saved it) is written to again, so that the addition is in it.
    """
    for _attempt in range(10):
        try:
            swapped = _append_once(path, data, create)
        except OSError as problem:
            raise _storage_error(path, "cannot be written", problem) from problem
        if not swapped or data in (
            read_bytes(path) or b""
        ):  # the other program had read the addition already
            return
    raise BusyError(
        f"{path} is being replaced by another program again and again", "try again when it has settled"
    )


def _append_once(path: Path, data: bytes, create: bool) -> bool:
    """Append; True when the bytes went into a file that is no longer at this path."""
    flags = os.O_WRONLY | os.O_APPEND | (os.O_CREAT if create else 0)
    descriptor = os.open(path, flags, FILE_MODE)
    try:
        before = os.fstat(descriptor)
        if before.st_size == 0:
            _give_to_owner(descriptor, path.parent)
        _write_or_take_back(descriptor, data)
        if before.st_size == 0:
            fsync_folder(Path(os.path.realpath(path)).parent)
        now = stamp(path)
        return now is None or (now.device, now.inode) != (before.st_dev, before.st_ino)
    finally:
        os.close(descriptor)


def _write_or_take_back(descriptor: int, data: bytes) -> None:
    """Write durably at the end; what a failed try left is cut off again, unless somebody else wrote behind it."""
    written = start = 0
    try:
        while written < len(data):
            number = os.write(descriptor, data[written:])
            start = start if written else os.lseek(descriptor, 0, os.SEEK_CUR) - number
            written += number
        fsync_file(descriptor)
    except OSError:
        with contextlib.suppress(OSError):
            if written and os.fstat(descriptor).st_size == start + written:
                os.ftruncate(descriptor, start)
        raise


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def cut_file(path: Path, size: int, from_size: int) -> bool:
    """Shorten a file from `from_size` to `size` bytes: takes back a half-written end that a crash left. False, and
    nothing done, when it has another size by now."""
    try:
        descriptor = os.open(path, os.O_WRONLY)
        try:
            if os.fstat(descriptor).st_size != from_size:
                return False
            os.ftruncate(descriptor, size)
            return True
        finally:
            os.close(descriptor)
    except OSError as problem:
        raise _storage_error(path, "cannot be shortened", problem) from problem


def remove_file(path: Path) -> None:
    """Remove a file of ours; one that is gone already is fine."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as problem:
        raise _storage_error(path, "cannot be removed", problem) from problem


def remove_folder(folder: Path) -> None:
    """Remove a folder of ours with all that is in it; symbolic links in it are removed, not followed."""
    try:
        for found in list(os.scandir(folder)):
            if found.is_dir(follow_symlinks=False):
                remove_folder(Path(found.path))
            else:
                os.unlink(found.path)
        os.rmdir(folder)
    except FileNotFoundError:
        pass
    except OSError as problem:
        raise _storage_error(folder, "cannot be removed", problem) from problem


def free_bytes(folder: Path) -> int:
    """How much the file system of a folder still takes from us, in bytes."""
    try:
        found = os.statvfs(folder)
    except OSError as problem:
        raise _storage_error(folder, "cannot be asked for its free space", problem) from problem
    return found.f_bavail * found.f_frsize


def make_private(path: Path) -> None:
    """Take away what others may do with a file or folder of ours; a symbolic link is not followed."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            os.fchmod(descriptor, stat.S_IMODE(os.fstat(descriptor).st_mode) & ~0o077)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        pass
    except OSError as problem:
        raise _storage_error(path, "cannot be made private", problem) from problem


def rename_file(path: Path, new: Path) -> bool:
    """Give a file another name, in place of one that has it; False when it is gone."""
    try:
        os.replace(path, new)
    except FileNotFoundError:
        return False
    except OSError as problem:
        raise _storage_error(path, "cannot be renamed", problem) from problem
    return True


def append_log(path: Path, line: str) -> None:
    """Add one line to a log file; past 1 MB it is set aside as NAME.1. Not synced: it is no memory."""
    private_folder(path.parent)
    try:
        found = stamp(path)
        if found and found.size > LOG_MAX_BYTES:
            os.replace(path, path.with_name(path.name + ".1"))
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, FILE_MODE)
        try:
            _write_all(descriptor, line.encode("utf-8", "replace") + b"\n")
        finally:
            os.close(descriptor)
    except OSError as problem:
        raise _storage_error(path, "cannot be written", problem) from problem


@contextlib.contextmanager
def lock(path: Path, wait_seconds: float = 0.0) -> Iterator[None]:
    """Hold an exclusive lock, which the kernel takes back whatever happens to us.

    Raises BusyError when another process still has it after `wait_seconds`.
    """
    try:
        import filelock
    except ImportError as problem:
        raise MissingPackage("filelock") from problem
    private_folder(path.parent)
    holder = filelock.FileLock(str(path), timeout=wait_seconds, mode=FILE_MODE)
    try:
        holder.acquire()
    except filelock.Timeout as problem:
        raise BusyError(
            f"{path.name} is held by another run", f"it was waited for {wait_seconds:g} s; try again later"
        ) from problem
    except (OSError, NotImplementedError) as problem:
        reason = (
            problem
            if isinstance(problem, OSError)
            else OSError(errno.ENOTSUP, "no locks on this file system")
        )
        raise _storage_error(path, "cannot be locked", reason) from problem
    try:
        yield
    finally:
        holder.release()


@contextlib.contextmanager
def lock_for_life(path: Path) -> Iterator[None]:
    """As `lock` without waiting, for a process that runs for months: what filelock loads (OpenSSL with it) takes 5 MB.

    The two know each other's locks: both are the kernel's flock.
    """
    import fcntl

    private_folder(path.parent)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
    except OSError as problem:
        raise _storage_error(path, "cannot be locked", problem) from problem
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as problem:
        os.close(descriptor)
        raise BusyError(
            f"{path.name} is held by another run", "only one may run; stop the other"
        ) from problem
    except OSError as problem:
        os.close(descriptor)
        raise _storage_error(path, "cannot be locked", problem) from problem
    try:
        yield
    finally:
        os.close(descriptor)


def wait(seconds: float) -> None:
    """Let another writer finish."""
    time.sleep(seconds)


def _storage_error(path: Path, what: str, problem: OSError) -> StorageError:
    hints = {
        errno.ENOSPC: "free some space: what was begun is completed by the next run",
        errno.EDQUOT: "the quota is used up: what was begun is completed by the next run once there is room",
        errno.EROFS: "the file system is read-only: what was begun is completed by the next run that can write",
        errno.EACCES: f"check who owns it and its mode: ls -ld '{path}' '{path.parent}'",
        errno.EPERM: f"check who owns it and its mode: ls -ld '{path}' '{path.parent}'",
        errno.EFBIG: "it would pass the size limit in force (ulimit -f)",
        errno.ENOTDIR: "a file stands where a folder should be",
        errno.EISDIR: "a folder stands where the file should be: move it away",
    }
    reason = os.strerror(problem.errno) if problem.errno else str(problem)
    return StorageError(f"{path} {what}: {reason}", hints.get(problem.errno or 0, "the next run tries again"))
