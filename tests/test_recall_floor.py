"""What recall.py must at least find and may at most cost; bench/recall.py measures the same on more."""

from __future__ import annotations

import os
import runpy
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parent.parent / "bench" / "recall.py"


@pytest.fixture(scope="module")
def bench() -> Any:
    """bench/recall.py as a module of another name than the layer's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", list(sys.path))
        yield SimpleNamespace(**runpy.run_path(str(BENCH)))


def test_hooks_find_what_is_asked_for_in_other_words(bench: Any, tmp_path: Path) -> None:
    plain, table = bench.notes_among_others(300), bench.synonyms_with([], bench.shipped_synonyms())
    asked = [bench.Question(question, frozenset([f"P{n}"])) for n, (_, question) in enumerate(bench.PAIRS)][
        1::2
    ]
    share = {}
    for hooks in (0, 5):
        items = [bench.with_hooks(item, table, hooks) for item in plain]
        corpus = bench.archive(tmp_path / str(hooks), items)
        share[hooks] = bench.found_in(corpus, asked, bench.Weights()) / len(asked)
    assert share[5] >= 0.6
    assert share[5] - share[0] >= 0.4


def test_three_of_four_questions_about_long_conversations_find_their_evidence(
    bench: Any, tmp_path: Path
) -> None:
    if not list(bench.LOCOMO.glob("*.json")):
        pytest.skip("LoCoMo is not beside this repository")
    found = count = 0
    for number, talk in enumerate(bench.read_talks(bench.LOCOMO)):
        some = talk.questions[::3]
        corpus = bench.archive(tmp_path / str(number), talk.turns)
        found += bench.found_in(corpus, some, bench.Weights())
        count += len(some)
    assert count >= 100
    assert found / count >= 0.75


def test_a_search_over_years_is_quick_and_small(bench: Any, tmp_path: Path) -> None:
    """A tenth of the entries of bench/recall.py, and room for a machine that is busy with other things."""
    workspace = tmp_path / "workspace"
    question = bench.ten_years(workspace / "memory", 4_000)[3]
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "TZ": "UTC", "LC_ALL": "C.UTF-8"}
    command = [sys.executable, bench.RECALL, "search", question, "--workspace", str(workspace), "--quiet"]
    began = time.perf_counter()
    peak = bench.peak_bytes(command, env)
    assert time.perf_counter() - began < 5
    assert peak < 150_000_000
