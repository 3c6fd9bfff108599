"""Real OpenClaw and the Node it wants, from the npm registry, kept between runs.

They lie in `openclaw-VERSION` and `node-VERSION` below TOTAL_RECALL_TEST_ENVS (default: total-recall in the user's
cache folder); each OpenClaw takes about 600 MB. Run as a program it installs all that the tests use, about a minute.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

OLD, NEW = "2026.7.1", "2026.9.6"  # one that keeps conversations in files, one that has a database
NODE = "24.21.0"  # which both take
INSTALL_TIMEOUT_SECONDS = 600.0


def cache_folder() -> Path:
    """Where tests/run.sh keeps its environments."""
    named = os.environ.get("TOTAL_RECALL_TEST_ENVS")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(named) if named else Path(cache) / "total-recall"


def commands_of(version: str) -> "list[Path]":
    """The folders that hold `node` and `openclaw` of this version, installed when they are not there yet."""
    node = _installed("node", NODE, [])
    return [node, _installed("openclaw", version, [node])]


def _installed(package: str, version: str, before: "list[Path]") -> Path:
    """The package's folder of commands. It is made under another name first: what bears the name is whole."""
    place = cache_folder() / f"{package}-{version}"
    if not place.is_dir():
        place.parent.mkdir(parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(prefix=f".{package}-", dir=place.parent))
        try:
            _npm_install(making, f"{package}@{version}", before)
            _check(making / "node_modules" / ".bin" / package, before)
            making.rename(place)
        except OSError:
            if not place.is_dir():  # another run was faster
                raise
        finally:
            shutil.rmtree(making, ignore_errors=True)
    return place / "node_modules" / ".bin"


def _npm_install(folder: Path, wanted: str, before: "list[Path]") -> None:
    (folder / "package.json").write_text(
        '{"name": "installed-for-tests", "private": true}\n', encoding="utf-8"
    )
    # Without a network it is to say so within seconds.
    patience = ["--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"]
    _run(["npm", "install", wanted, "--no-audit", "--no-fund", "--loglevel=error", *patience], folder, before)


def _check(command: Path, before: "list[Path]") -> None:
    _run([str(command), "--version"], command.parent, before)


def _run(command: "list[str]", folder: Path, before: "list[Path]") -> None:
    """Raises RuntimeError with what the command said."""
    path = os.pathsep.join([*map(str, before), os.environ["PATH"]])
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=INSTALL_TIMEOUT_SECONDS,
    )
    if done.returncode:
        raise RuntimeError(
            f"{' '.join(command[:3])} ended with {done.returncode}: {done.stdout[:200].strip()}"
        )


def main() -> int:
    """Install all; what keeps it from that goes to stdout, in one line."""
    try:
        for version in (OLD, NEW):
            commands_of(version)
    except (OSError, RuntimeError, subprocess.TimeoutExpired) as problem:
        print(" ".join(str(problem).split()))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
