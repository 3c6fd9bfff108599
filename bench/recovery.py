"""What session recovery costs when there is nothing to do, and how soon a fact is in the brief when there is.

    python3 bench/recovery.py            all of it
    python3 bench/recovery.py --quick    a tenth of the data

Printed are medians of several runs in turn, in milliseconds of wall time:
  - `python3 -c pass`, and recovery with nothing to do over nothing at all, over 10,000 session files, and over a SQLite
    store with 5,000 sessions;
  - from the start of recovery, beside a model that takes its time, until the fact is in brief.txt.

Exit code 1 when a figure misses what is required of it.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from figures import environment, fill_folder, in_turn, make_parser, timed, verdict

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

OBSERVER, RECOVERY = (str(ROOT / "scripts" / name) for name in ("observer.py", "session_recovery.py"))
FACT = "My daughter Lea starts school on 24 August"


def fill_store(home: Path, sessions: int) -> None:
    """A SQLite store with that many sessions."""
    from transcript_builders import SqliteStore

    with SqliteStore(home / ".openclaw/agents/main/agent/openclaw-agent.sqlite") as store:
        store.db.execute("BEGIN")
        for number in range(sessions):
            session = store.start(
                f"0f0e0d0c-0b0a-4987-8654-{number:012d}", f"agent:main:telegram:direct:{number}"
            )
            store.user(session, "ok thanks, see you")
        store.db.execute("COMMIT")


def nothing_to_do(folder: Path, scale: float, runs: int) -> "list[bool]":
    files, sessions = int(10_000 * scale), int(5_000 * scale)
    homes = [folder / name for name in ("empty", "files", "store")]
    fill_folder(homes[0], 0)
    fill_folder(homes[1], files)
    fill_store(homes[2], sessions)
    for home in homes:
        # Gives every session a cursor, so that recovery has it all to compare.
        timed([sys.executable, OBSERVER, "--quiet", "--now", "2026-11-30T08:00:05Z"], environment(home))
    nothing, recovery = [sys.executable, "-c", "pass"], [sys.executable, RECOVERY, "--quiet"]
    commands = [partial(timed, nothing, environment(homes[0]))]
    commands += [partial(timed, recovery, environment(home)) for home in homes]
    python, *took = [statistics.median(times) * 1000 for times in in_turn(runs, *commands)]
    print(f"python3 -c pass: {python:.1f} ms")
    most = 2 * python + 100
    print(
        f"nothing to do, a SQLite store of {sessions} sessions: {took.pop():.1f} ms (nothing is required of it)"
    )
    told = ("nothing at all", f"{files} session files")
    return [verdict(f"nothing to do, {what}:", figure, "ms", most) for what, figure in zip(told, took)]


def in_the_brief(folder: Path, runs: int) -> bool:
    """How long it takes until a fact is in the brief while the model has not answered yet."""
    import fake_model
    from transcript_builders import JsonlStore

    times = []
    with fake_model.FakeModel(fake_model.Reply(then="hang")) as server:
        for number in range(runs):
            home = folder / f"fact-{number}"
            store = JsonlStore(home / ".openclaw/agents/main/sessions")
            session = store.start()
            store.user(session, f"{FACT}.")
            env = environment(
                home, LLM_PROVIDER="openai", LLM_BASE_URL=server.base_url, LLM_MODEL="test/model"
            )
            times.append(until_seen(home / ".openclaw/workspace/memory/.total-recall/brief.txt", env))
    return verdict("a fact in the brief, after:", statistics.median(times), "ms", 3000)


def until_seen(brief: Path, env: "dict[str, str]") -> float:
    begin = time.perf_counter()
    command = [sys.executable, RECOVERY, "--quiet", "--now", "2026-11-30T08:00:05Z"]
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL) as process:
        while not (brief.exists() and FACT in brief.read_text("utf-8")):
            if process.poll() is not None or time.perf_counter() - begin > 30:
                raise SystemExit("the fact never came into the brief")
            time.sleep(0.005)
        took = time.perf_counter() - begin
        process.terminate()  # asked, it ends the observer that it has started, which has a session of its own
    return took * 1000


def main() -> int:
    """Run the parts in turn."""
    parser = make_parser(__doc__, quick="a tenth of the data")
    parser.add_argument("--runs", type=int, default=9, help="runs of each command (9)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        met = nothing_to_do(Path(name), 0.1 if options.quick else 1.0, options.runs)
        met.append(in_the_brief(Path(name), min(3, options.runs)))
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
