"""A stand-in for `systemctl --user` where no systemd can run: it starts and ends what a unit file says, and no more.

Takes what setup.py and these tests ask of systemctl. Of a service's settings it follows ExecStart and Environment; the
limits and the sandbox are left out. A service that runs has its process id in $XDG_RUNTIME_DIR/NAME.pid, and what it
prints is in ~/services.log.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

STOP_SECONDS = 60.0
HOME = Path(os.environ["HOME"])
UNITS = HOME / ".config" / "systemd" / "user"
PATH = "/usr/local/bin:/usr/bin:/bin"  # what a manager gives its services, whatever the caller has


class Service:
    """One unit, by its name."""

    def __init__(self, name: str) -> None:
        self.unit = UNITS / name
        self._wanted = UNITS / "default.target.wants" / name
        self._mark = Path(os.environ["XDG_RUNTIME_DIR"]) / f"{name}.pid"

    @property
    def pid(self) -> int:
        """Its process, 0 when it does not run."""
        try:
            pid = int(self._mark.read_text(encoding="utf-8"))
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except (OSError, ValueError):
            return 0
        return 0 if state == "Z" else pid

    @property
    def is_enabled(self) -> bool:
        return self._wanted.is_symlink()

    def enable(self) -> None:
        self._wanted.parent.mkdir(exist_ok=True)
        if not self.is_enabled:
            self._wanted.symlink_to(self.unit)

    def disable(self) -> None:
        self._wanted.unlink(missing_ok=True)

    def start(self) -> None:
        if self.pid:
            return
        [command] = self._said("ExecStart")
        variables = dict(word.split("=", 1) for line in self._said("Environment") for word in line)
        given = {name: os.environ[name] for name in ("HOME", "XDG_RUNTIME_DIR")}
        with open(HOME / "services.log", "ab") as log:
            process = subprocess.Popen(
                command,
                cwd=HOME,
                env={"PATH": PATH, **given, **variables},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._mark.write_text(str(process.pid), encoding="utf-8")
        process.returncode = 0  # it goes on without us

    def stop(self) -> None:
        pid, deadline = self.pid, time.monotonic() + STOP_SECONDS
        if pid:
            os.kill(pid, signal.SIGTERM)
        while self.pid:
            if time.monotonic() > deadline:
                os.killpg(pid, signal.SIGKILL)
            time.sleep(0.05)

    def _said(self, name: str) -> "list[list[str]]":
        """The words of each line with this setting."""
        lines = self.unit.read_text(encoding="utf-8").splitlines()
        said = [line.partition("=")[2] for line in lines if line.startswith(f"{name}=")]
        return [[word.replace("%%", "%").replace("$$", "$") for word in shlex.split(words)] for words in said]


def main(words: "list[str]") -> int:
    """Do one command; returns the exit code."""
    command, *rest = [word for word in words if word not in ("--user", "--quiet", "--now", "--value")]
    if command in ("show-environment", "daemon-reload"):
        return 0
    service = Service(rest[-1])
    if command == "is-active":
        return 0 if service.pid else 3
    if command == "is-enabled":
        return 0 if service.is_enabled else 1
    if command == "show":
        print(service.pid)
    elif command in ("enable", "restart", "disable"):
        if command != "enable":
            service.stop()
        if command == "enable":
            service.enable()
        if command == "disable":
            service.disable()
        else:
            service.start()
    else:
        print(f"the stand-in for systemctl knows no {command}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
