"""The files in a folder: what cannot be listed cannot be forgotten, and is never taken for empty."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from _errors import StorageError
from _files import names_in


def files_below(folder: Path, deep: bool = True) -> "Iterator[Path]":
    """Plain files, not through symbolic links below the folder, in the order of names; those of the folders in it too,
    when `deep`. None where there is no folder. Raises StorageError for what cannot be listed or looked at."""
    names, folders = names_in(folder), []
    for name in names:
        path = Path(folder, name)
        mode = _mode_of(path)
        if stat.S_ISREG(mode):
            yield path
        elif deep and stat.S_ISDIR(mode):
            folders.append(path)
    for path in folders:
        yield from files_below(path)


def _mode_of(path: Path) -> int:
    try:
        return os.lstat(path).st_mode
    except FileNotFoundError:
        return 0
    except OSError as problem:
        reason = os.strerror(problem.errno) if problem.errno else str(problem)
        raise StorageError(
            f"{path} cannot be looked at: {reason}", f"check who owns it and its mode: ls -ld '{path}'"
        ) from problem
