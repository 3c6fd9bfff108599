"""What the watcher costs and how exact it is, measured on the real process.

    python3 bench/watcher.py            about three minutes, most of it waiting
    python3 bench/watcher.py --quick    with half of the idle time and a tenth of the lines

Printed are, with what is required of them:
  - processor time while nothing is said, in per cent of one core, told by inotify and polling every 5 seconds, over a
    folder of 10,000 session files;
  - resident memory after a busy time: the appended lines below, in both kinds of transcripts;
  - how many of 100,000 appended lines (JSONL) and rows (SQLite) were not counted, or twice;
  - seconds from the 40th line until the observer's process starts, the slowest of several, in both kinds.

Needs Linux, for /proc. Exit code 1 when a figure misses what is required of it.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any, Callable

from figures import make_parser, verdict

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

LINE = b'{"type":"message","id":"%08x","message":{"role":"user","content":"The shop has %d kinds of tea."}}\n'
SESSION = "0f0e0d0c-0b0a-4987-8654-3210ffffffff"
TICKS = os.sysconf("SC_CLK_TCK")  # of processor time in a second: 30 s at 0.1 % of a core are three of them


class Watched:
    """A watcher over a home with a session in each kind of transcript, and stand-ins for the layers that it starts."""

    def __init__(self, folder: Path, scripts: Path, cooldown: str) -> None:
        from watcher_testing import Machine

        self.machine = Machine(folder, scripts, {"OBSERVER_COOLDOWN_SECS": cooldown})
        self.files, self.rows = self.machine.jsonl(), self.machine.sqlite()
        self.files.start(SESSION)
        self.rows.start(SESSION)
        (self.machine.workspace / ".env").write_text(f"OBSERVER_COOLDOWN_SECS={cooldown}\n")

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, *_: object) -> None:
        self.machine.clean()
        self.rows.close()

    def cpu_seconds(self) -> float:
        fields = self._proc("stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def megabytes(self, name: str) -> float:
        found = re.search(rf"{name}:\s+(\d+) kB", self._proc("status"))
        return int(found.group(1)) * 1024 / 1e6 if found else 0.0

    def _proc(self, name: str) -> str:
        assert self.machine.process is not None
        return Path(f"/proc/{self.machine.process.pid}/{name}").read_text()


def idle(process: Watched, seconds: float, *flags: str) -> float:
    """Per cent of one core while nothing is said."""
    for number in range(10_000):
        name = f"0f0e0d0c-0b0a-4987-8654-{number:012d}.jsonl"
        (process.machine.sessions / name).write_bytes(LINE % (number, 1))
    process.machine.begin(*flags)
    time.sleep(12)  # what the start brings with it is over
    before = process.cpu_seconds()
    time.sleep(seconds)
    return (process.cpu_seconds() - before) / seconds * 100


def append_lines(process: Watched, lines: int) -> None:
    """Pieces of odd sizes, so that looks fall into the middle of lines."""
    text = b"".join(LINE % (number, number) for number in range(lines))
    with open(process.files.path(SESSION), "ab", buffering=0) as file:
        for at in range(0, len(text), 77_777):
            file.write(text[at : at + 77_777])
            time.sleep(0.01)


def append_rows(process: Watched, lines: int) -> None:
    """Transactions of ten rows each, as fast as they go."""
    database, first = process.rows.db, process.rows.next_seq(SESSION)
    for begin in range(0, lines, 10):
        numbers = range(begin, min(begin + 10, lines))
        rows = [(SESSION, first + number, (LINE % (number, number)).decode().strip()) for number in numbers]
        database.execute("BEGIN IMMEDIATE")
        database.executemany(
            "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES (?,?,?,0)", rows
        )
        database.execute("COMMIT")


def counting(process: Watched, lines: int) -> "list[bool]":
    """Append to both kinds in turn, compare the counts, and look at the memory afterwards."""
    process.machine.begin()
    before, begin, met = process.cpu_seconds(), time.monotonic(), []
    for what, append in (("JSONL lines", append_lines), ("SQLite rows", append_rows)):
        already = process.machine.hang_up()
        append(process, lines)
        time.sleep(1.5)
        counted = process.machine.hang_up() - already
        met.append(verdict(f"{what} miscounted of {lines}:", abs(counted - lines)))
    busy = (process.cpu_seconds() - before) / (time.monotonic() - begin) * 100
    print(f"{'processor time while they came:':<52} {busy:10.3f} % of a core")
    memory = process.megabytes("VmRSS")
    met.append(verdict("resident memory after that:", memory, "MB", most=30))
    print(f"{'its highest:':<52} {process.megabytes('VmHWM'):10.3f} MB")
    return met


def seconds_to_the_observer(process: Watched, say: "Callable[[], Any]") -> float:
    """From the 40th line to the start of the child."""
    from patience import until

    machine = process.machine
    before = len(machine.started())
    for _ in range(39):
        say()
    time.sleep(0.7)  # they are counted by then
    say()
    at = time.time()
    until(lambda: len(machine.events("ended")) > before, "the observer")
    return float(machine.started()[before]["at"]) - at


def triggering(process: Watched, times: int) -> "list[bool]":
    """The slowest of several, in both kinds."""
    process.machine.begin()
    met = []
    for kind, store in (("JSONL", process.files), ("SQLite", process.rows)):
        slowest = max(
            seconds_to_the_observer(process, partial(store.user, SESSION, "one more")) for _ in range(times)
        )
        what = f"from the 40th line to the observer ({kind}):"
        met.append(verdict(what, slowest, "s", most=1))
    return met


def main() -> int:
    """Run the parts in turn."""
    from watcher_testing import copy_scripts

    parser = make_parser(__doc__, quick="less idle time, a tenth of the lines")
    options = parser.parse_args()
    idle_seconds, lines, times = (30.0, 10_000, 2) if options.quick else (60.0, 100_000, 5)
    met = []
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        scripts = copy_scripts(folder)
        for way, flags in (("inotify", ()), ("poll", ("--poll", "5"))):
            with Watched(folder / way, scripts, "3600") as process:
                used = idle(process, idle_seconds, *flags)
                memory = process.megabytes("VmRSS")
            met.append(verdict(f"resident memory, {way}, over 10,000 files:", memory, "MB", most=30))
            met.append(verdict(f"idle, {way}, over 10,000 files:", used, "% of a core", most=0.1))
        with Watched(folder / "count", scripts, "3600") as process:
            met += counting(process, lines)
        with Watched(folder / "trigger", scripts, "0") as process:
            met += triggering(process, times)
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
