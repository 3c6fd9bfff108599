"""Several processes at the same memory: no line is lost, torn or written twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fake_model
from fake_model import fails, says
from observer_testing import SCRIPTS, Ended, Home, at, cite, minutes, tags_in
from transcript_builders import SID, SID_2

APPEND = """
import sys
from pathlib import Path
from _files import append_file
sys.stdin.readline()
for number in range(50):
    line = f"- process {sys.argv[2]} line {number} " + "x" * 200 + " end\\n"
    append_file(Path(sys.argv[1]), line.encode())
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def ended(process: "subprocess.Popen[str]") -> Ended:
    out, err = process.communicate(timeout=100)
    assert out.count("\n") == 1, (out, err)
    return Ended(process.returncode, json.loads(out), err)


def test_20_processes_append_50_lines_each_while_observers_commit(home: Home) -> None:
    store = home.jsonl()
    store.start(SID, at=at("09:00"))
    home.memory.mkdir(parents=True)
    log = home.memory / "observations.md"
    log.write_bytes(b"# Mine\n")
    appenders = [
        subprocess.Popen(
            [sys.executable, "-c", APPEND, str(log), str(number)],
            cwd=SCRIPTS,
            stdin=subprocess.PIPE,
            text=True,
        )
        for number in range(20)
    ]
    with fake_model.FakeModel(cite) as server:
        home.model(server)
        for process in appenders:
            assert process.stdin
            process.stdin.write("go\n")
            process.stdin.flush()
        for number in range(5):
            store.user(SID, f"The lease is #note-{number}", at=at("09:01") + minutes(number))
            assert home.run(now=at("09:02") + minutes(number)).code == 0
        for process in appenders:
            process.communicate(timeout=100)
            assert process.returncode == 0
    lines = home.log.splitlines()
    written = [line for line in lines if line.startswith("- process ")]
    assert len(written) == 1000 and len(set(written)) == 1000
    assert all(line.endswith("x end") for line in written)
    assert tags_in(home.log) == {f"#note-{number}": 1 for number in range(5)}
    assert all(line.startswith("- 🟡") for line in lines if "#note-" in line)


def test_12_observers_at_once_observe_each_message_once(home: Home) -> None:
    store = home.jsonl()
    for number, session in enumerate((SID, SID_2)):
        store.start(session, f"agent:main:telegram:direct:{number}", at=at("09:00"))
        for minute in range(5):
            store.user(session, f"The lease is #note-{5 * number + minute}", at=at("09:01") + minutes(minute))
    with fake_model.FakeModel(cite) as server:
        home.model(server)
        runs = [ended(process) for process in [home.start(now=at("09:10")) for _ in range(12)]]
        reasons = {found.result["reason"] for found in runs}
        assert [found.code for found in runs] == [0] * 12
        assert reasons <= {"observed", "locked", "nothing_new"} and "observed" in reasons
        assert sum(found.result.get("messages_covered", 0) for found in runs) == 10
        assert len(server.requests) == 1
    assert tags_in(home.log) == {f"#note-{number}": 1 for number in range(10)}
    assert {row["id"] for row in home.ledger("observed")} == {f"OBS-20261130-{n:03d}" for n in range(1, 11)}


def test_three_agents_of_one_person_at_once_never_meet(tmp_path: Path) -> None:
    homes = [Home(tmp_path / "home", {"OPENCLAW_AGENT_ID": name}) for name in ("main", "work", "kids")]
    with fake_model.FakeModel(cite) as server:
        running = []
        for number, home in enumerate(homes):
            name = home.environ["OPENCLAW_AGENT_ID"]
            home.environ["OPENCLAW_WORKSPACE"] = str(tmp_path / name)
            home.model(server)
            store = type(home.jsonl())(home.state_dir / "agents" / name / "sessions")
            store.start(SID, at=at("09:00"))
            store.user(SID, f"The lease is #note-{number}", at=at("09:01"))
            running.append(home.start(now=at("09:10")))
        assert [ended(process).result["reason"] for process in running] == ["observed"] * 3
    for number, home in enumerate(homes):
        log = tmp_path / home.environ["OPENCLAW_AGENT_ID"] / "memory" / "observations.md"
        assert tags_in(log.read_text(encoding="utf-8")) == {f"#note-{number}": 1}


def test_a_killed_observer_leaves_no_lock(home: Home) -> None:
    store = home.jsonl()
    store.start(SID, at=at("09:00"))
    store.user(SID, "The lease is #note-1", at=at("09:01"))
    running: "list[subprocess.Popen[str]]" = []

    killing = fake_model.meanwhile(lambda: running[0].kill(), fake_model.Reply(then="hang"))
    with fake_model.FakeModel(killing) as server:
        home.model(server)
        running.append(home.start(now=at("09:10")))
        running[0].communicate(timeout=60)
    assert running[0].returncode == -signal.SIGKILL
    with fake_model.FakeModel(cite) as server:
        home.model(server)
        again = home.run(now=at("09:11"))
        assert (again.code, again.result["reason"]) == (0, "observed")
    assert tags_in(home.log) == {"#note-1": 1}


def test_no_lock_on_memory_is_held_while_a_model_is_asked(home: Home) -> None:
    store = home.jsonl()
    store.start(SID, at=at("09:00"))
    store.user(SID, "The lease is #note-1", at=at("09:01"))
    take = (
        "import sys; from pathlib import Path; from _files import lock\n"
        "with lock(Path(sys.argv[1])): print('got it')"
    )
    told: "list[str]" = []

    def try_it(request: fake_model.Request) -> Any:
        memory_lock = home.memory / ".total-recall" / "memory.lock"
        done = subprocess.run(
            [sys.executable, "-c", take, str(memory_lock)], cwd=SCRIPTS, capture_output=True, text=True
        )
        told.append(done.stdout)
        return cite(request)

    with fake_model.FakeModel(try_it) as server:
        home.model(server)
        home.run(now=at("09:10"))
    assert told == ["got it\n"]


def with_provisional(home: Home, lines: int) -> None:
    """A memory in which provisional lines wait for a model's answer."""
    store = home.jsonl()
    store.start(SID, at=at("09:00"))
    for number in range(lines):
        text = f"The rent of flat {number} is {900 + number} euros from March on."
        store.user(SID, text, at=at("09:01") + minutes(number / 10))
    with fake_model.FakeModel(fails(402, "no credit")) as server:
        home.model(server)
        home.run("--flush", now=at("09:20"))
    assert home.log.count("dc:source=provisional") == lines


WRITE = """
import os, select, sys
number = 0
print("writing", flush=True)
while os.path.exists(sys.argv[2]):
    with open(sys.argv[1], "a") as file:
        file.write(f"person {number}\\n")
    number += 1
    select.select([], [], [], 0.002)
print(number)
"""


def test_a_person_who_writes_all_the_time_loses_no_line_to_a_rewrite(home: Home, tmp_path: Path) -> None:
    with_provisional(home, 3)
    going = tmp_path / "going"
    going.touch()
    person = subprocess.Popen(
        [sys.executable, "-c", WRITE, str(home.memory / "observations.md"), str(going)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert person.stdout and person.stdout.readline() == "writing\n"
    with fake_model.FakeModel("NO_OBSERVATIONS") as server:
        home.model(server)
        found = home.run(now=at("23:10"))
    going.unlink()
    wrote = int(person.communicate(timeout=60)[0])
    assert (found.code, found.result["provisional_replaced"]) == (0, 3)
    assert "provisional" not in home.log
    # Lines that come while the file is replaced are carried over, which can change their order.
    assert sorted(line for line in home.log.splitlines() if line.startswith("person")) == sorted(
        [f"person {number}" for number in range(wrote)]
    )


def test_an_editor_that_saves_during_the_question_loses_nothing(home: Home) -> None:
    with_provisional(home, 2)
    log = home.memory / "observations.md"

    def save(_request: fake_model.Request) -> Any:
        beside = log.with_suffix(".swp")
        beside.write_text(log.read_text(encoding="utf-8") + "My own words\n", encoding="utf-8")
        os.replace(beside, log)
        line = (
            "- 🟡 09:01 The rent of flat 0 is 900 euros from March on <!-- dc:type=fact dc:importance=6 -->"
        )
        return says(line)

    with fake_model.FakeModel(save) as server:
        home.model(server)
        assert home.run(now=at("23:10")).code == 0
    assert home.log.count("My own words\n") == 1
    assert home.log.count("900 euros") == 1 and "provisional" not in home.log
