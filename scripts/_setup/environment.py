"""The virtual environment with the packages: made whole or not at all, and made anew when it no longer works.

It is built under another name beside its place and moved there when every package in it can be imported, so that a
run killed at any point leaves either the old environment, the new one or none; what it left behind goes with the next.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from _compat import sha256_hex
from _config import environment_copy
from _counting import many
from _errors import BusyError, ConfigError, TotalRecallError
from _files import private_folder, read_bytes, replace_file
from _setup.packages import Requirement

STAMP = "total-recall.json"
BUILDING = "venv-"
BUSY_WAIT_SECONDS = 600
# They would send the packages elsewhere than into the environment.
_MISLEADING = ("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_PYTHON", "__PYVENV_LAUNCHER__")
_FULL = re.compile(r"No space left on device|Disk quota exceeded|\[Errno (?:28|122)\]")
_READ_ONLY = re.compile(r"Read-only file system|Permission denied|\[Errno (?:30|13)\]")
_EXTERNAL = re.compile(r"externally[- ]managed")
_UNREACHED = re.compile(
    r"No matching distribution found|Could not find a version|Failed to establish a new connection"
    r"|[Nn]ame resolution|Network is unreachable|Connection (?:refused|reset)|ProxyError|Max retries exceeded"
    r"|[Tt]imed out|SSLError|NewConnectionError|ConnectTimeout"
)


def python_of(folder: Path) -> Path:
    """The environment's Python."""
    return folder / "bin" / "python"


def is_in_order(folder: Path, requirements: bytes, wanted: Sequence[Requirement]) -> bool:
    """True when the environment was finished for these requirements and its Python still finds them."""
    try:
        stamp = json.loads(read_bytes(folder / STAMP) or b"{}")
    except (ValueError, TotalRecallError):
        return False
    if not isinstance(stamp, dict) or stamp.get("requirements") != sha256_hex(requirements):
        return False
    return bool(stamp.get("python")) and _python_sees(folder, wanted) == stamp["python"]


def _python_sees(folder: Path, wanted: Sequence[Requirement], importing: bool = False) -> str:
    """Version ("3.11") of the environment's Python if it starts and has the packages, else ""."""
    look = "__import__(name)" if importing else "importlib.util.find_spec(name) or sys.exit(1)"
    code = (
        f"import importlib.util, sys\nfor name in sys.argv[1:]: {look}\nprint('%d.%d' % sys.version_info[:2])"
    )
    command = [str(python_of(folder)), "-I", "-c", code, *(one.module for one in wanted)]
    done = _start(command)
    return done.stdout.strip() if done is not None and done.returncode == 0 else ""


def make(folder: Path, requirements: Path, wanted: Sequence[Requirement], say: Callable[[str], None]) -> bool:
    """Make the environment unless it is in order; True when it was made.

    Raises ConfigError, and leaves nothing half made, when that cannot be done; BusyError when another setup is at it.
    """
    if not folder.is_absolute():
        raise ConfigError(
            f"the environment would go to {folder}, which is not an absolute path",
            "set HOME, or set XDG_DATA_HOME to an absolute path",
        )
    content = read_bytes(requirements) or b""
    if is_in_order(folder, content, wanted):
        return False
    _refuse_without_venv()
    with _only_one(folder.parent):
        if is_in_order(folder, content, wanted):
            return False
        _clear(folder.parent)
        say(f"setup: installing {many(len(wanted), 'package')} into {folder}; this takes a minute or less")
        _build(folder, requirements, wanted)
    return True


def _refuse_without_venv() -> None:
    """Debian and Ubuntu have venv and ensurepip in a package of their own."""
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        raise ConfigError(
            f"{sys.executable} cannot make virtual environments: its modules venv and ensurepip are missing",
            "on Debian and Ubuntu run: sudo apt install python3-venv; then run setup.py again",
        )


@contextlib.contextmanager
def _only_one(parent: Path) -> Iterator[None]:
    """Hold the folder for ourselves. Not with `_files.lock`: its package is not there yet."""
    import fcntl

    try:
        private_folder(parent)
        descriptor = os.open(parent / "setup.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except (OSError, TotalRecallError) as problem:
        raise _cannot_write(parent, str(problem)) from problem
    try:
        _wait_for(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int, operation: int) -> None:
    import fcntl

    from _files import wait

    for _second in range(BUSY_WAIT_SECONDS):
        try:
            fcntl.flock(descriptor, operation)
            return
        except OSError as problem:
            if problem.errno not in (errno.EAGAIN, errno.EACCES):
                return  # a file system without locks: two setups at once are rare, and the last one wins
        wait(1.0)
    raise BusyError("another setup.py has been at work for ten minutes", "try again when it has ended")


def _clear(parent: Path) -> None:
    """Remove what a killed setup left."""
    for left in parent.glob(BUILDING + "*"):
        shutil.rmtree(left, ignore_errors=True)


def _build(folder: Path, requirements: Path, wanted: Sequence[Requirement]) -> None:
    """Build beside, check, move into place."""
    building = None
    try:
        building = Path(tempfile.mkdtemp(prefix=BUILDING, dir=folder.parent))
        _run_or_explain([sys.executable, "-I", "-m", "venv", str(building)], "venv", wanted, folder)
        install = ["-I", "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
        pip = [str(python_of(building)), *install, "-r", str(requirements)]
        _run_or_explain(pip, "pip", wanted, folder)
        version = _python_sees(building, wanted, importing=True)
        if not version:
            raise ConfigError(
                f"the packages in {folder} were installed but cannot be imported by {sys.executable}",
                "run setup.py with another Python, for example: python3.11 scripts/setup.py",
            )
        stamp = {"requirements": sha256_hex(read_bytes(requirements) or b""), "python": version}
        replace_file(building / STAMP, json.dumps(stamp).encode())
        _move(building, folder)
    except (OSError, TotalRecallError) as problem:
        if isinstance(problem, ConfigError):
            raise
        raise _cannot_write(folder.parent, str(problem)) from problem
    finally:
        if building is not None:
            shutil.rmtree(building, ignore_errors=True)


def _move(building: Path, folder: Path) -> None:
    """Put the new environment in the place of the old one, which goes."""
    old = folder.with_name(building.name + "-old")
    if os.path.lexists(folder):
        os.replace(folder, old)
    os.replace(building, folder)
    if old.is_dir() and not old.is_symlink():
        shutil.rmtree(old, ignore_errors=True)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(old)


def _start(command: "Sequence[str]") -> "subprocess.CompletedProcess[str] | None":
    """Run to the end with all output in `stdout`; None when there is no such program."""
    surroundings = {name: value for name, value in environment_copy().items() if name not in _MISLEADING}
    # 0 and not just absent: pip.conf may ask for it too.
    surroundings.update({"PIP_USER": "0", "PYTHONIOENCODING": "utf-8:replace"})
    try:
        return subprocess.run(
            command,
            env=surroundings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
    except OSError:
        return None


def _run_or_explain(command: Sequence[str], what: str, wanted: Sequence[Requirement], folder: Path) -> None:
    done = _start(command)
    if done is None:
        raise ConfigError(f"{command[0]} could not be started", "run setup.py with another Python")
    if done.returncode != 0:
        raise explain(what, done.stdout, wanted, folder)


def explain(what: str, output: str, wanted: Sequence[Requirement], folder: Path) -> ConfigError:
    """What a failed `what` ("venv" or "pip") means, as an error with the command that helps."""
    names = ", ".join(one.name for one in wanted)
    if _FULL.search(output):
        return ConfigError(
            f"the disk with {folder.parent} is full: the packages need about 50 MB",
            "free some space, or set XDG_DATA_HOME to a folder on another disk",
        )
    if what == "venv" and "ensurepip" in output and "apt" in output:
        return ConfigError(
            f"{sys.executable} cannot make virtual environments",
            "on Debian and Ubuntu run: sudo apt install python3-venv; then run setup.py again",
        )
    if what == "pip" and _EXTERNAL.search(output):
        return ConfigError(
            f"pip refused to install into the environment in {folder}, as if it were the system's Python",
            "run setup.py with the system's Python: /usr/bin/python3 scripts/setup.py",
        )
    if what == "pip" and _UNREACHED.search(output):
        return ConfigError(
            f"pip could not get all of these packages: {names}. Last words: {last_words(output)}",
            "check the network (behind a proxy set HTTPS_PROXY); or where there is one run: python3 -m pip download "
            "-r requirements.txt -d wheels, copy that folder here, then: "
            "PIP_NO_INDEX=1 PIP_FIND_LINKS=/path/to/wheels python3 scripts/setup.py",
        )
    if _READ_ONLY.search(output):
        return _cannot_write(folder.parent, last_words(output))
    return ConfigError(
        f"{what} failed for {folder}. Last words: {last_words(output)}",
        f"try another Python, or install these packages into this one: {names}",
    )


def last_words(output: str, lines: int = 3) -> str:
    """The end of a program's output in one line, without addresses, which can hold names and passwords."""
    kept = [line.strip() for line in output.splitlines() if line.strip()]
    told = " / ".join(kept[-lines:]) or "none"
    return re.sub(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"]*", "(address)", told)[:600]


def _cannot_write(folder: Path, reason: str) -> ConfigError:
    return ConfigError(
        f"the packages cannot be put into {folder}: {reason}",
        "set XDG_DATA_HOME to a folder that you can write to, here and wherever the scripts are run (cron, services)",
    )
