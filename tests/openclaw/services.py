"""systemd for the user of one home: a real manager where one can be started, else a stand-in for it.

The real one gets a control group and a mount namespace of its own: it sees nothing of the machine's other services and
ends with all that it started. That takes systemd's program, control groups that may be written to, and leave to mount:
root has them, but in most containers not even root.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

from host import STOP_SECONDS, Host, stop, until

STAND_IN = Path(__file__).resolve().parent / "stand_in_systemctl.py"
MANAGER = "/lib/systemd/systemd"
GROUPS = Path("/sys/fs/cgroup")
READY_SECONDS = 10.0
# For a user systemd only starts where it has started the machine, which is what a folder below /run stands for. Without
# a group of its own it would take every process of its group along.
START = """set -e
for group in {groups}; do mkdir "$group"; echo $$ > "$group/cgroup.procs"; done
exec unshare {alone} sh -c 'mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system && exec {manager} --user'
"""


class Manager(NamedTuple):
    """Who runs the services. `flags`: what setup.py is told for the watcher."""

    name: str
    flags: "tuple[str, ...]" = ("--watcher",)


@contextlib.contextmanager
def services_of(host: Host) -> Iterator[Manager]:
    """Give the host's user a `systemctl --user`. In the end the host is closed.

    What services print goes to services.log in the home. On macOS there is none: launchd knows no home but the user's.
    """
    if not sys.platform.startswith("linux"):
        yield Manager("hand", ())
        return
    runtime = Path(tempfile.mkdtemp(prefix="tr-run-", dir="/tmp"))  # the path of a socket has to be short
    host.lend(XDG_RUNTIME_DIR=str(runtime))
    groups = own_groups(runtime.name)
    try:
        real = bool(groups) and start_manager(host, groups)
        if not real:
            put_stand_in(host)
        yield Manager("systemd" if real else "a stand-in for systemd")
    finally:
        host.close()
        remove(groups)
        shutil.rmtree(runtime, ignore_errors=True)


def start_manager(host: Host, groups: "Sequence[Path]") -> bool:
    """Start systemd for this home; False where it does not come up."""
    if not (os.access(MANAGER, os.X_OK) and shutil.which("unshare") and shutil.which("systemctl")):
        return False
    settings = host.home / ".config" / "systemd" / "user" / "service.d"
    settings.mkdir(parents=True)
    log = f"append:{host.home / 'services.log'}"
    content = f"[Service]\nStandardOutput={log}\nStandardError={log}\n"
    (settings / "log.conf").write_text(content, encoding="utf-8")
    alone = "--mount" if os.getuid() == 0 else "--map-root-user --mount"
    script = START.format(groups=shlex.join(map(str, groups)), alone=alone, manager=MANAGER)
    process = host.start(["sh", "-c", script], "manager.log")
    deadline = time.monotonic() + READY_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        if host.attempt(["systemctl", "--user", "show-environment"]).returncode == 0:
            return True
        time.sleep(0.1)
    stop(process)
    return False


def put_stand_in(host: Host) -> None:
    """Put the stand-in before any real systemctl."""
    folder = host.home / "stand-in"
    folder.mkdir()
    program = folder / "systemctl"
    command = shlex.join([sys.executable, str(STAND_IN)])
    program.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    host.lend(folder)


def own_groups(name: str) -> "list[Path]":
    """Control groups of this name, not made yet, below those of this process; none where systemd could have none."""
    found = []
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _number, kind, place = line.split(":", 2)
            if kind in ("", "name=systemd"):
                tree = GROUPS / "systemd" if kind else GROUPS / "unified"
                found.append((tree if tree.is_dir() else GROUPS) / place.lstrip("/") / name)
    return found if found and all(os.access(group.parent, os.W_OK) for group in found) else []


def remove(groups: "Sequence[Path]") -> None:
    """Remove these groups and those below them, in each tree of groups; the kernel keeps none that is in use."""
    trees = [GROUPS, *GROUPS.glob("*/")]
    inside = {group.relative_to(tree) for group in groups for tree in trees if tree in group.parents}
    for top in [tree / place for tree in trees for place in inside]:
        for folder, _folders, _files in os.walk(top, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)


class Watcher:
    """The watcher as the service that setup.py told of; where it installed none, started by hand."""

    def __init__(self, host: Host, told: "Optional[Mapping[str, Any]]") -> None:
        self._host = host
        self._name = told["service"] if told else ""
        if told:
            self._is_in_order(told)
        else:
            command = host.command("watcher.py", "--workspace", str(host.workspace))
            self._process = host.start(command, "services.log")
        until(lambda: "watching" in self._log, "the watcher watches")

    def _is_in_order(self, told: "Mapping[str, Any]") -> None:
        """systemd has nothing to say against the unit, and setup.py finds the service running."""
        if shutil.which("systemd-analyze"):
            done = self._host.attempt(["systemd-analyze", "--user", "verify", told["path"]])
            assert (done.returncode, done.stdout + done.stderr) == (0, ""), done
        assert self._host.layer("setup.py", "--check")["watcher"] == "running"

    @property
    def _log(self) -> str:
        path = self._host.home / "services.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    @property
    def pid(self) -> int:
        """Its process, 0 when it does not run."""
        if not self._name:
            return 0 if self._process.poll() is not None else self._process.pid
        return int(self._host.run(["systemctl", "--user", "show", "-p", "MainPID", "--value", self._name]))

    def signal(self, name: str) -> None:
        """Send it a signal, by its name without SIG."""
        os.kill(self.pid, signal.Signals[f"SIG{name}"])

    def stopped(self) -> "dict[str, Any]":
        """What it said in the end. Uninstalled by now, it does not run."""
        if not self._name:
            self.signal("TERM")
            self._process.wait(STOP_SECONDS)
        assert self.pid == 0, "uninstalled, but it runs"
        told = json.loads(self._log.splitlines()[-1])
        assert (told["status"], told["reason"]) == ("ok", "stopped"), told
        return dict(told)
