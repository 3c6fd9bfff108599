"""What the benches share: flags, the environment of a run, figures taken and told beside what is required of them."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Optional


def make_parser(manual: "Optional[str]", quick: str = "") -> argparse.ArgumentParser:
    """The flags that most benches have: --folder, and where it is told what it leaves out, --quick."""
    parser = argparse.ArgumentParser(description=manual, formatter_class=argparse.RawDescriptionHelpFormatter)
    if quick:
        parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument(
        "--folder", type=Path, help="where to put the data (a new folder in it; removed afterwards)"
    )
    return parser


def environment(home: Path, **more: str) -> "dict[str, str]":
    """The variables of a machine without a model, whose home is this folder."""
    return {"HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC", "LLM_PROVIDER": "none", **more}


def fill_folder(home: Path, files: int) -> None:
    """That many session files of a few lines each."""
    from transcript_builders import JsonlStore

    store = JsonlStore(home / ".openclaw/agents/main/sessions")
    for number in range(files):
        session = store.start(f"0f0e0d0c-0b0a-4987-8654-{number:012d}", "")
        store.user(session, "ok thanks, see you")


def timed(command: Sequence[str], env: Mapping[str, str]) -> float:
    """Wall seconds of one process that must succeed."""
    begin = time.perf_counter()
    done = subprocess.run(command, env=env, capture_output=True)
    took = time.perf_counter() - begin
    if done.returncode:
        raise SystemExit(f"{command[1]} ended with {done.returncode}: {done.stderr.decode()[-500:]}")
    return took


def in_turn(runs: int, *commands: "Callable[[], float]") -> "list[list[float]]":
    """A B C, A B C ...: a machine whose speed drifts slows all of them."""
    rounds = [[command() for command in commands] for _ in range(runs)]
    return [list(times) for times in zip(*rounds)]


def peak_bytes(command: Sequence[str], env: Mapping[str, str]) -> int:
    """Peak memory of one process that must succeed."""
    child = (
        "import resource,subprocess,sys;r=subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL).returncode;"
        "print(r, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", child, *command], env=env, stdout=subprocess.PIPE)
    code, peak = map(int, done.stdout.split())
    if code:
        raise SystemExit(f"{command[1]} ended with {code}")
    return peak * (1 if sys.platform == "darwin" else 1024)


def verdict(
    what: str, figure: float, unit: str = "", most: float = 0.0, least: "Optional[float]" = None
) -> bool:
    """Print a figure beside what is required of it; true when it is met."""
    met = figure <= most if least is None else figure >= least
    required = f"at most {most:g}" if least is None else f"at least {least:g}"
    print(f"{what:<52} {figure:10.3f} {unit}  (required: {required}){'' if met else '  NOT MET'}")
    return met
