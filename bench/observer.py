"""What an observer run costs in time and memory, as ratios within one run on one machine.

    python3 bench/observer.py            all of it; needs jq and about 2.5 GB of free disk below --folder
    python3 bench/observer.py --quick    the same with a tenth of the data

Printed are, each as the median of several runs in turn:
  - a run with nothing new over a 1 GB store, over 10,000 session files, and over nothing at all, in milliseconds, and
    the HTTP client modules that such a run imports;
  - reading new entries of a busy agent's session file against `jq` picking the same messages out of it;
  - peak memory of observing a 1 GB store, and 1 GB of session files with a line of 50 MB in them.

Exit code 1 when a figure misses what is required of it. With --quick, reading is so short that start-up counts.
"""

from __future__ import annotations

import base64
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from figures import environment, fill_folder, in_turn, make_parser, peak_bytes, timed, verdict

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

OBSERVER = str(ROOT / "scripts" / "observer.py")
JQ = 'select(.type=="message" and (.message.role=="user" or .message.role=="assistant")) | .message'
READ_ALL = """
import sys
from pathlib import Path
from _transcripts import Session, read_new
path = Path(sys.argv[1])
session = Session("jsonl", path.stem, "agent:main:main", path, path.stat().st_size, 0)
cursor, count, more = None, 0, True
while more:
    reading = read_new(session, cursor, 0)
    cursor, more = reading.end, reading.more
    count += len(reading.messages)
print(count)
"""
WORDS = "the lease budget garden server wants about tomorrow three because paint train before never always list".split()


def sentence(dice: random.Random, words: int) -> str:
    return " ".join(dice.choice(WORDS) for _ in range(words))


def fill_store(home: Path, megabytes: int) -> None:
    """A SQLite store of about that size: 200 sessions, mostly tool output."""
    from transcript_builders import SqliteStore

    dice = random.Random(1)
    with SqliteStore(home / ".openclaw/agents/main/agent/openclaw-agent.sqlite") as store:
        # Text that hardly compresses: a row of 200 KB is one of 150 KB in the store.
        blob = base64.b64encode(dice.getrandbits(8 * 150_000).to_bytes(150_000, "big")).decode()
        for number in range(200):
            session = store.start(
                f"0f0e0d0c-0b0a-4987-8654-{number:012d}", f"agent:main:telegram:direct:{number}"
            )
            for _ in range(max(1, round(megabytes / 0.15 / 200))):
                store.user(session, sentence(dice, 20))
                begin = dice.randrange(1000)
                store.tool(session, blob[begin:])
                store.assistant(session, sentence(dice, 40))


def heavy_file(path: Path, megabytes: int) -> None:
    """One session file as a busy agent leaves it: for each turn of talk four tool calls, whose outputs are of 0.3 to
    60 KB, so that most bytes stand in few lines. The more of it is talk, the smaller is our lead over jq."""
    dice = random.Random(2)
    blob = sentence(dice, 20_000)
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"type": "session", "version": 3, "id": path.stem}) + "\n")
        size, number = 0, 0
        while size < megabytes * 1_000_000:
            turn: "list[dict[str, object]]" = [{"role": "user", "content": sentence(dice, 25)}]
            for _ in range(4):
                begin, length = dice.randrange(1000), dice.choice((300, 1_000, 3_000, 12_000, 60_000))
                call = {
                    "type": "toolCall",
                    "id": f"call_{number}",
                    "name": "exec",
                    "arguments": {"command": "ls"},
                }
                output = [{"type": "text", "text": blob[begin : begin + length]}]
                turn += [{"role": "assistant", "content": [call]}, {"role": "toolResult", "content": output}]
            turn.append({"role": "assistant", "content": [{"type": "text", "text": sentence(dice, 60)}]})
            for message in turn:
                number += 1
                at = f"2026-11-{1 + number % 28:02d}T10:00:00.000Z"
                entry = {"type": "message", "id": f"{number:08x}", "timestamp": at, "message": message}
                size += file.write(json.dumps(entry, separators=(",", ":")) + "\n")


def nothing_new(folder: Path, scale: float, runs: int) -> "list[bool]":
    from transcript_builders import JsonlStore

    empty, store, files = folder / "empty", folder / "store", folder / "files"
    JsonlStore(empty / ".openclaw/agents/main/sessions").start()
    fill_store(store, int(1000 * scale))
    fill_folder(files, int(10_000 * scale))
    homes = (empty, store, files)
    peaks = []
    for home in homes:
        # The first run gives every session a cursor, so that each later one has it all to compare.
        timed([sys.executable, OBSERVER, "--quiet", "--now", "2026-11-30T08:00:05Z"], environment(home))
        peaks.append(peak_of_backfill(home))
    size = sum(path.stat().st_size for path in store.rglob("*.sqlite*"))
    commands = [partial(timed, [sys.executable, OBSERVER, "--quiet"], environment(home)) for home in homes]
    took = [statistics.median(times) * 1000 for times in in_turn(runs, *commands)]
    count = int(10_000 * scale)
    names = imported(environment(store))
    clients = sorted(names & {"requests", "urllib3", "httpx", "aiohttp", "http.client", "urllib.request"})
    print(f"nothing new, empty store:            {took[0]:7.1f} ms")
    return [
        verdict(f"nothing new, {size / 1e9:.2f} GB store:", took[1] - took[0], "ms more", most=20),
        verdict(f"nothing new, {count} session files:", took[2] - took[0], "ms more", most=100),
        verdict("HTTP clients that such a run loads:", len(clients), ", ".join(clients), most=0),
        verdict(f"peak memory over {size / 1e9:.2f} GB of SQLite:", peaks[1] / 1e6, "MB", most=150),
    ]


def peak_of_backfill(home: Path) -> int:
    """Peak memory of a backfill of everything, which must succeed."""
    return peak_bytes([sys.executable, OBSERVER, "--backfill", "--quiet"], environment(home))


def imported(env: "dict[str, str]") -> "set[str]":
    """The modules that a run imports."""
    command = [sys.executable, "-X", "importtime", OBSERVER, "--quiet"]
    done = subprocess.run(command, env=env, capture_output=True)
    lines = done.stderr.decode().splitlines()
    return {line.rsplit("|", 1)[1].strip() for line in lines if line.startswith("import time:")}


def against_jq(folder: Path, scale: float, runs: int) -> "list[bool]":
    jq = shutil.which("jq")
    if jq is None:
        raise SystemExit("jq is not installed: sudo apt install jq, or brew install jq")
    path = folder / "0f0e0d0c-0b0a-4987-8654-000000000001.jsonl"
    heavy_file(path, int(400 * scale))
    env = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
    ours, theirs = in_turn(
        runs,
        lambda: timed([sys.executable, "-c", READ_ALL, str(path)], env),
        lambda: timed([jq, "-c", JQ, str(path)], env),
    )
    print(
        f"reading {path.stat().st_size / 1e6:.0f} MB of new entries: {statistics.median(ours):.2f} s",
        end="; ",
    )
    print(f"jq over the same file: {statistics.median(theirs):.2f} s")
    ratio = statistics.median(b / a for a, b in zip(ours, theirs))
    return [verdict("reading, as fast as jq:", ratio, "times", least=4)]


def memory(folder: Path, scale: float) -> "list[bool]":
    home = folder / "memory"
    sessions = home / ".openclaw/agents/main/sessions"
    sessions.mkdir(parents=True)
    for number in range(5):
        heavy_file(sessions / f"0f0e0d0c-0b0a-4987-8654-{number:012d}.jsonl", int(200 * scale))
    pixels = base64.b64encode(random.Random(3).randbytes(int(37.5e6 * scale))).decode()
    content = [
        {"type": "text", "text": "My locker is number 4711, in the hall."},
        {"type": "image", "data": pixels},
    ]
    entry = {"type": "message", "id": "ffffffff", "timestamp": "2026-11-29T10:00:00.000Z"}
    line = json.dumps({**entry, "message": {"role": "user", "content": content}})
    with open(sessions / "0f0e0d0c-0b0a-4987-8654-000000000000.jsonl", "a", encoding="utf-8") as file:
        file.write(line + "\n")
    size = sum(path.stat().st_size for path in sessions.iterdir())
    what = f"peak memory over {size / 1e9:.2f} GB with a line of {len(line) / 1e6:.0f} MB:"
    peak = peak_of_backfill(home)
    if "4711" not in (home / ".openclaw/workspace/memory/observations.md").read_text(encoding="utf-8"):
        raise SystemExit("the sentence beside the image was lost")
    return [verdict(what, peak / 1e6, "MB", most=150)]


def main() -> int:
    """Run the parts in turn."""
    parser = make_parser(__doc__, quick="a tenth of the data")
    parser.add_argument("--runs", type=int, default=7, help="runs of each command (7)")
    options = parser.parse_args()
    scale = 0.1 if options.quick else 1.0
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        met = nothing_new(folder, scale, options.runs)
        met += against_jq(folder, scale, options.runs)
        met += memory(folder, scale)
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
