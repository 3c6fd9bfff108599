"""Differences between platforms and Python versions: time, stat, hashing, making bytes durable.

Nothing here knows about memory or transcripts. Runs on Python 3.9 and newer, Linux and macOS.
"""

from __future__ import annotations

import os
import sys
from datetime import datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import NamedTuple, Optional


class Stamp(NamedTuple):
    """What tells one state of a file from another: (device, inode, size in bytes, mtime in nanoseconds)."""

    device: int
    inode: int
    size: int
    mtime_ns: int


def stamp(path: Path) -> Optional[Stamp]:
    """The file's Stamp (symlinks followed), or None when there is no such file. Other OSErrors are raised."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def utc_now() -> datetime:
    """The current time, in UTC: the only place that asks the clock for a date."""
    return datetime.now(timezone.utc)


def parse_instant(text: str, zone: tzinfo = timezone.utc) -> Optional[datetime]:
    """Read an ISO-8601 time ("2026-11-30T02:14:28.714Z", "2026-11-30 02:14", "2026-11-30"); None if it is none.

    A time without an offset is taken to be in `zone`. Python 3.9's fromisoformat knows neither "Z" nor
    fractions of other than 3 or 6 digits; OpenClaw writes both "Z" and milliseconds.
    """
    text = text.strip()
    if text.endswith(("Z", "z")):
        text = text[:-1] + "+00:00"
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=zone)


def from_epoch_ms(milliseconds: float) -> Optional[datetime]:
    """Epoch milliseconds as UTC time; None when no calendar holds it."""
    try:
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=milliseconds)
    except (OverflowError, ValueError):
        return None


def epoch_ms(moment: datetime) -> int:
    """Whole milliseconds since 1970, UTC."""
    return int((moment - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1))


def home_of_user() -> Optional[str]:
    """The user's home by the system's records, for when HOME is empty or not set: expanduser takes "" for "/". None for
    a user id that is not among them, as containers give out."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return None


def sha256_hex(data: bytes) -> str:
    """SHA-256, hexadecimal. Not MD5: builds with FIPS refuse it."""
    import hashlib  # with OpenSSL behind it, a tenth of the start of a run that needs no hash

    return hashlib.sha256(data).hexdigest()


def md5_hex(data: bytes) -> str:
    """MD5, hexadecimal, only for `.observer-last-hash`, whose format is older than this code."""
    import hashlib

    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def keyed_hash(key: bytes, data: bytes, size: int) -> bytes:
    """`size` bytes that nobody can compute without the key (at most 64 bytes of it)."""
    import hashlib

    return hashlib.blake2b(data, digest_size=size, key=key).digest()


def fsync_file(descriptor: int) -> None:
    """Ask the disk to keep what was written. On macOS fsync alone stops at the drive's cache."""
    if sys.platform == "darwin":
        import fcntl

        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
        except OSError:
            pass  # network and FAT volumes have no F_FULLFSYNC
    os.fsync(descriptor)


def fsync_folder(folder: Path) -> None:
    """Make a rename in `folder` durable. File systems that cannot sync a folder are left alone."""
    descriptor = os.open(str(folder), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as problem:
        import errno

        if problem.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
