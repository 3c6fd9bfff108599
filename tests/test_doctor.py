"""doctor.py as a process: what is well, what is wrong and what could not be looked at are told apart."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from _config import load_what_holds
from _doctor import Finding, Scene, models
from _doctor.finding import Check, carried_out
from _setup import crontab
from _setup.schedule import system_lines
from fake_model import FakeModel, Reply, fails, says, sends
from setup_testing import SKILL, Ended, Host, Machine, end_of, mode_of, tree
from transcript_builders import SID, SID_2, JsonlStore, SqliteStore, iso

NOW = datetime(2026, 11, 30, 9, 10, tzinfo=timezone.utc)
SAID = "My sister Ana is getting married on 12 June 2027 in Porto."
KEY = "sk-or-" + "a1B2" * 8
GONE = fails(404, "No endpoints found for test/model.")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with an OpenClaw that nobody has set up for memory."""
    return Machine(tmp_path / "home")


@pytest.fixture
def host(machine: Machine) -> Host:
    return Host(machine).have("openclaw", "systemctl", "loginctl", "crontab").set(linger=True)


def command(machine: Machine, script: str, *flags: str, now: datetime = NOW) -> "list[str]":
    stamp = [] if script == "setup.py" else ["--now", iso(now)]
    return [machine.python, str(machine.skill / "scripts" / script), *stamp, *flags]


def run(machine: Machine, script: str, *flags: str, now: datetime = NOW, **environ: str) -> Ended:
    """A layer as a process."""
    process = subprocess.Popen(
        command(machine, script, *flags, now=now),
        env={**machine.variables, **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    return end_of(process)


def look(machine: Machine, *flags: str, now: datetime = NOW, **environ: str) -> Ended:
    return run(machine, "doctor.py", *flags, now=now, **environ)


def told(ended: Ended) -> "dict[str, dict[str, Any]]":
    """The checks by name."""
    return {one["name"]: one for one in ended.result["checks"]}


def states(ended: Ended, state: str) -> "set[str]":
    return {name for name, one in told(ended).items() if one["state"] == state}


def speak(machine: Machine, minute: int = 1, sid: str = SID, text: str = SAID) -> None:
    """Somebody says something, some minutes past nine."""
    store = JsonlStore(machine.sessions)
    at = NOW.replace(minute=minute)
    store.start(sid, at=at)
    store.user(sid, text, at=at)


def begin(machine: Machine) -> Path:
    """A memory that has observed one thing; returns its folder."""
    speak(machine)
    assert run(machine, "observer.py", now=NOW.replace(minute=5)).code == 0
    memory = machine.workspace / "memory"
    for name in ("observations", "chunks", "reflections"):
        (memory / "archive" / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    (memory / "archive").chmod(0o700)
    if not (machine.programs / "crontab").exists():
        schedule(machine)
    return memory


def schedule(machine: Machine) -> None:
    """Put the lines of setup.py into the crontab."""
    host = Host(machine).have("crontab")
    with mock.patch.dict(os.environ, machine.variables, clear=True):
        config, _ = load_what_holds({}, script=machine.skill / "scripts" / "doctor.py")
        mark, lines = crontab.mark(config), system_lines(config)
    table = [f"{crontab.BEGIN} {mark}", *lines, f"{crontab.END} {mark}"]
    (host.place / "crontab").write_text("".join(f"{line}\n" for line in table))


def shown(machine: Machine, *flags: str) -> str:
    """What a person sees on a terminal."""
    main, side = pty.openpty()
    process = subprocess.Popen(
        command(machine, "doctor.py", *flags),
        env=machine.variables,
        stdin=subprocess.DEVNULL,
        stdout=side,
        stderr=subprocess.DEVNULL,
    )
    os.close(side)
    seen = b""
    with contextlib.suppress(OSError):  # Linux says so when the other side is closed
        while piece := os.read(main, 65536):
            seen += piece
    os.close(main)
    process.wait(timeout=60)
    return seen.decode("utf-8").replace("\r\n", "\n")


# Well ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def well(machine: Machine, host: Host) -> Machine:
    """Everything installed and running, one thing observed."""
    begin(machine)
    ended = machine.run("--hook", "--watcher", "--cron", "system")
    assert ended.code == 0, ended.said
    return machine


def test_a_healthy_memory_ends_with_0_and_nothing_to_do(well: Machine) -> None:
    before = tree(well.home)
    ended = look(well)
    assert (ended.code, ended.result["status"], ended.result["reason"]) == (0, "ok", "well")
    assert ended.result["counts"] == {"ok": len(told(ended)), "warn": 0, "fail": 0, "unknown": 0}
    assert [one for one in told(ended).values() if "todo" in one] == []
    assert tree(well.home) == before
    found = told(ended)
    assert (found["messages"]["covered"], found["messages"]["pending"]) == (1, 0)
    assert (found["ledger"]["live"], found["ledger"]["faults"]) == (1, 0)
    assert found["observer"]["last_good_run"] == "2026-11-30T09:05:00Z"
    assert found["observer"]["age_seconds"] == 300
    assert (found["hook"]["installed"], found["watcher"]["service"]) == ("installed", "running")
    assert (found["cron"]["scheduled"], found["watcher"]["lingering"]) == ("system", True)


def test_it_is_fast(well: Machine) -> None:
    """In seconds of the processor, its own and those of the programs that it starts: others may be at work here."""
    before = os.times()
    assert look(well).code == 0
    after = os.times()
    spent = after.children_user - before.children_user + after.children_system - before.children_system
    assert spent < 2.0


def test_a_person_on_a_terminal_reads_a_page_and_with_json_gets_json(well: Machine) -> None:
    page = shown(well)
    assert page.startswith("Total Recall: all is well\n")
    assert "\n  ok    hook           enabled, in" in page
    assert all(
        str(well.workspace) in line for line in page.splitlines() if "workspace" in line
    )  # no path broken
    assert "{" not in page
    assert json.loads(shown(well, "--json"))["reason"] == "well"


def test_nothing_that_was_said_and_no_key_is_shown(well: Machine) -> None:
    (well.workspace / ".env").write_text(f"LLM_PROVIDER=none\nOPENROUTER_API_KEY={KEY}\nLLM_MODEL={KEY}\n")
    ended, page = look(well), shown(well)
    for text in (json.dumps(ended.result), ended.said, page):
        assert KEY not in text and KEY[6:] not in text
        assert "Ana" not in text and "Porto" not in text
    settings = ended.result["settings"]
    assert settings["OPENROUTER_API_KEY"] == {"value": "set", "source": str(well.workspace / ".env")}
    assert settings["LLM_MODEL"]["value"] == "38 characters that look like a key"


def test_a_watcher_that_ends_with_the_login_is_a_note(well: Machine, host: Host) -> None:
    host.set(linger=False)
    ended = look(well)
    assert (ended.code, ended.result["reason"], states(ended, "warn")) == (0, "noted", {"watcher"})
    assert "loginctl enable-linger" in told(ended)["watcher"]["todo"]


def test_each_setting_is_shown_with_its_source(machine: Machine) -> None:
    begin(machine)
    (machine.workspace / ".env").write_text('export OBSERVER_LINE_THRESHOLD="25"\r\nDREAM_PHASE=1\n')
    (machine.state_dir / ".env").write_text("DREAM_PHASE=2\nDREAM_TOKEN_TARGET=9000\n")
    ended = look(machine, "--workspace", str(machine.workspace), LLM_PROVIDER="none")
    assert ended.result["settings"] == {
        "LLM_PROVIDER": {"value": "none", "source": "environment"},
        "OPENCLAW_WORKSPACE": {"value": str(machine.workspace), "source": "flag"},
        "OBSERVER_LINE_THRESHOLD": {"value": "25", "source": str(machine.workspace / ".env")},
        "DREAM_PHASE": {"value": "1", "source": str(machine.workspace / ".env")},
        "DREAM_TOKEN_TARGET": {"value": "9000", "source": str(machine.state_dir / ".env")},
        "TZ": {"value": "UTC", "source": "environment"},
    }
    assert "LLM_PROVIDER" in told(ended)["configuration"]["says"]  # cron does not see it


# Nothing there, or out of reach --------------------------------------------------------------------------------------


def test_where_nothing_is_set_up_it_says_what_to_do_first(machine: Machine) -> None:
    before = tree(machine.home)
    ended = look(machine)
    assert (ended.code, states(ended, "fail")) == (3, {"memory", "sources"})
    assert told(ended)["memory"]["todo"] == f"python3 {SKILL}/scripts/setup.py"
    assert "ledger" not in told(ended)  # there is nothing to be well
    assert tree(machine.home) == before
    assert "nothing is set up yet" in shown(machine)


def test_fix_does_not_set_up_what_nobody_has_asked_for(machine: Machine) -> None:
    ended = look(machine, "--fix")
    assert (ended.code, ended.result["fixed"]) == (3, [])
    assert not (machine.workspace / "memory").exists()


def test_other_agents_are_named(machine: Machine) -> None:
    begin(machine)
    (machine.state_dir / "agents" / "work" / "sessions").mkdir(parents=True)
    (machine.state_dir / "agents" / "empty").mkdir()
    assert told(look(machine))["sources"]["other_agents"] == ["work"]


def test_a_home_that_is_not_set_is_looked_up(machine: Machine) -> None:
    begin(machine)
    ended = look(machine, "--workspace", str(machine.workspace), HOME="", SESSIONS_DIR=str(machine.sessions))
    assert told(ended)["memory"]["state"] == "ok"
    assert told(ended)["sources"]["state"] == "ok"


# No function: Python 3.9's pathlib keeps some of them in a class.
REFUSING = """
import os
class Refusing:
    real = os.{call}
    def __call__(self, path, *args, **named):
        if str(path) == {path!r}:
            raise PermissionError(13, "Permission denied", path)
        return Refusing.real(path, *args, **named)
os.{call} = Refusing()
"""


def test_a_sessions_folder_that_may_not_be_read_is_named_with_its_mode(
    machine: Machine, tmp_path: Path
) -> None:
    begin(machine)
    machine.sessions.chmod(0o000)
    # Root may read it all the same.
    (tmp_path / "sitecustomize.py").write_text(REFUSING.format(path=str(machine.sessions), call="open"))
    ended = look(machine, PYTHONPATH=str(tmp_path))
    machine.sessions.chmod(0o700)
    assert (ended.code, told(ended)["sources"]["state"]) == (3, "fail")
    says = told(ended)["sources"]["says"]
    assert f"{machine.sessions} cannot be listed: Permission denied" in says
    assert f"the folder {machine.sessions} has mode 0000 and belongs to " in says
    # What is new is then not known: never "nothing".
    assert told(ended)["messages"]["state"] == "unknown"
    assert told(ended)["memory"]["state"] == "ok"


def test_a_damaged_store_is_wrong_and_a_busy_one_could_not_be_looked_at(machine: Machine) -> None:
    begin(machine)
    path = machine.sessions.parent / "agent" / "openclaw-agent.sqlite"
    with SqliteStore(path, wal=False) as store:
        store.start(SID_2, at=NOW)
        store.user(SID_2, SAID, at=NOW)
        store.db.commit()
        store.db.execute("BEGIN EXCLUSIVE")
        ended = look(machine)
        assert (ended.code, states(ended, "fail")) == (4, set())
        assert {"sources", "messages"} <= states(ended, "unknown")
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    ended = look(machine)
    assert (ended.code, states(ended, "fail")) == (3, {"sources"})
    assert str(path) in told(ended)["sources"]["says"]


def test_a_memory_folder_that_is_no_folder_is_told_and_the_rest_looked_at(machine: Machine) -> None:
    speak(machine)
    machine.workspace.mkdir(parents=True)
    (machine.workspace / "memory").write_text("not a folder")
    ended = look(machine)
    assert ended.code == 3
    assert "it is not a folder" in told(ended)["memory"]["says"]
    assert told(ended)["sources"]["state"] == "ok"


def test_many_that_could_not_be_looked_at_are_one_row_of_the_page(machine: Machine) -> None:
    memory = begin(machine)
    for path in (memory / ".total-recall").iterdir():
        path.unlink()
        path.mkdir(mode=0o700)
    ended = look(machine)
    unseen = states(ended, "unknown")
    assert {"messages", "failures", "provisional", "reflection", "ledger"} <= unseen
    assert all(told(ended)[name]["says"].startswith("could not look") for name in unseen)
    page = shown(machine)
    assert "out of reach" in page and len(page.splitlines()) < 50
    assert [line for line in page.splitlines() if line.startswith("  ?")] == [
        line for line in page.splitlines() if line.startswith("  ?     out of reach")
    ]


def test_a_log_that_was_never_needed_is_not_missed(machine: Machine) -> None:
    speak(machine, text="ok thanks")
    assert run(machine, "observer.py").result["observations_written"] == 0
    assert told(look(machine))["memory"]["says"].endswith("nothing has been noted yet")


def test_a_missing_log_is_wrong(machine: Machine) -> None:
    memory = begin(machine)
    (memory / "observations.md").unlink()
    ended = look(machine)
    assert {"memory"} <= states(ended, "fail")
    assert "observation-backups" in told(ended)["memory"]["todo"]
    assert told(ended)["ledger"]["first_faults"][0]["kind"] == "gone"


def test_sessions_of_machines_alone_are_told(machine: Machine) -> None:
    begin(machine)
    (machine.sessions / f"{SID}.jsonl").unlink()
    store = JsonlStore(machine.sessions)
    store.start(SID_2, at=NOW)
    key = {"agent:main:cron:job": {"sessionId": SID_2}}
    (machine.sessions / "sessions.json").write_text(json.dumps(key))
    found = told(look(machine))["sources"]
    assert (found["state"], found["sessions"], found["of_people"]) == ("warn", 1, 0)


# Configuration -------------------------------------------------------------------------------------------------------


def test_wrong_settings_are_told_all_at_once_and_the_rest_is_looked_at(machine: Machine) -> None:
    begin(machine)
    (machine.workspace / ".env").write_text("DREAM_PHASE=7\nLLM_PROVIDER=openai\n")
    ended = look(machine, OBSERVER_LINE_THRESHOLD="many", SESSIONS_DIR="relative")
    assert (ended.code, states(ended, "fail")) == (3, {"configuration"})
    says = told(ended)["configuration"]["says"]
    for name in ("DREAM_PHASE is '7'", "OBSERVER_LINE_THRESHOLD is 'many'", "SESSIONS_DIR is 'relative'"):
        assert name in says
    assert "there is no key for" in says
    assert len(told(ended)["configuration"]["wrong"]) == 4
    assert told(ended)["ledger"]["state"] == "ok"


def test_an_env_file_that_cannot_be_read_is_told_and_the_other_one_counts(machine: Machine) -> None:
    begin(machine)
    (machine.workspace / ".env").write_bytes(b"DREAM_PHASE=2\n\xff\xfe")
    (machine.state_dir / ".env").write_text("DREAM_PHASE=2\n")
    ended = look(machine)
    assert told(ended)["configuration"]["state"] == "fail"
    assert "is not UTF-8 text" in told(ended)["configuration"]["says"]
    assert ended.result["settings"]["DREAM_PHASE"]["source"] == str(machine.state_dir / ".env")


def test_a_relative_home_is_a_wrong_setting() -> None:
    config, problems = load_what_holds(
        {}, {"HOME": "here", "TZ": "Nowhere/Atall"}, SKILL / "scripts" / "x.py"
    )
    assert [str(one).split(" is ")[0] for one in problems] == ["HOME", "TZ"]
    assert config.state_dir.is_absolute()


def test_a_python_without_packages_is_told_and_the_rest_looked_at(machine: Machine, tmp_path: Path) -> None:
    begin(machine)
    (machine.workspace / ".env").write_text("LLM_BASE_URL=http://127.0.0.1:9/v1\n")
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-I", "-m", "venv", "--without-pip", str(bare)], check=True)
    machine.python = str(bare / "bin" / "python")
    ended = look(machine)
    assert ended.code == 3 and {"packages", "configuration"} <= states(ended, "fail")
    assert "requests" in told(ended)["packages"]["lacking"]
    assert told(ended)["packages"]["todo"] == f"python3 {SKILL}/scripts/setup.py"
    assert "python-dotenv" in told(ended)["configuration"]["says"]  # so that .env was not read
    assert (told(ended)["memory"]["state"], told(ended)["messages"]["covered"]) == ("ok", 1)


# Models --------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def model_at(
    machine: Machine, replies: Any, models: "tuple[str, ...]" = ("test/model",)
) -> Iterator[FakeModel]:
    with FakeModel(replies, models) as server:
        machine.environ = {"LLM_BASE_URL": server.base_url, "LLM_MODEL": "test/model", "LLM_API_KEY": KEY}
        yield server


def only(machine: Machine, *flags: str, now: datetime = NOW) -> "tuple[Ended, dict[str, Any]]":
    """A look, and what it says of the models."""
    ended = look(machine, *flags, now=now)
    return ended, told(ended).get("models", {})


def test_models_that_the_server_offers_are_well_and_ask_for_no_answer(machine: Machine) -> None:
    begin(machine)
    with model_at(machine, says("x"), ("test/model:latest", "other")) as server:
        ended, found = only(machine)
        assert (ended.code, found["state"], found["offered"]) == (0, "ok", 2)
        assert server.models_asked == []
        assert told(ended)["budget"]["calls"] == 0
        before = len(server.requests)
        ended, found = only(machine, "--offline")
        assert (ended.code, found, len(server.requests)) == (0, {}, before)
        assert (ended.result["offline"], "was not asked" in shown(machine, "--offline")) == (True, True)


def test_a_model_that_is_not_offered_is_named(machine: Machine) -> None:
    begin(machine)
    with model_at(machine, says("x"), ("other",)):
        ended, found = only(machine)
    assert (ended.code, found["state"], found["not_offered"]) == (3, "fail", ["test/model"])
    assert "set LLM_MODEL" in found["todo"]


def test_a_key_in_the_place_of_a_model_is_not_shown(machine: Machine) -> None:
    begin(machine)
    with model_at(machine, says("x"), ("other",)):
        machine.environ["LLM_MODEL"] = KEY
        ended, found = only(machine)
        page = shown(machine)
    assert found["not_offered"] == ["38 characters that look like a key"]
    assert KEY[6:] not in json.dumps(ended.result) + ended.said + page


def test_a_key_in_the_address_of_the_server_is_not_shown(machine: Machine) -> None:
    begin(machine)
    with model_at(machine, says("x"), ("other",)):
        # What the list is asked of has the key in its path; the server here answers wherever it is asked.
        config, _ = load_what_holds({}, {**machine.variables, "LLM_BASE_URL": f"http://host/{KEY}/v1"})
    scene = mock.Mock(config=config, run=mock.Mock(now=NOW))
    with mock.patch("_llm.offered_models", return_value=["other"]):
        found = models.models(scene)
    assert found.state == "fail" and KEY not in f"{found.says} {found.todo}"


@pytest.mark.parametrize("of_memory", [True, False])
def test_only_for_files_of_memory_a_copy_is_what_helps(of_memory: bool, tmp_path: Path) -> None:
    def look_at(_scene: Scene) -> Finding:
        raise ValueError

    scene = mock.Mock(places=mock.Mock(private=tmp_path))
    found = carried_out(Check("it", look_at, of_memory=of_memory), scene)
    assert (found.state, "from a copy" in found.todo) == ("unknown", of_memory)


def test_one_of_several_that_is_not_offered_is_a_note(machine: Machine) -> None:
    begin(machine)
    with model_at(machine, says("x")):
        machine.environ["OBSERVER_MODEL"] = "test/gone"
        ended, found = only(machine)
    assert (ended.code, found["state"], found["not_offered"]) == (0, "warn", ["test/gone"])
    assert "set OBSERVER_MODEL " in found["todo"]


def test_a_key_that_is_not_taken_is_wrong(machine: Machine) -> None:
    begin(machine)
    with model_at(machine, says("x")) as server:
        server._models = fails(401, f"No auth credentials found for {KEY}")
        ended, found = only(machine)
    assert (ended.code, found["state"]) == (3, "fail")
    assert "LLM_API_KEY" in found["todo"] and KEY not in json.dumps(ended.result)


@pytest.mark.parametrize(
    "answer",
    [
        fails(503, "upstream is down"),
        sends("<html>"),
        Reply(drop=True),
        Reply(then="hang", length=100),
        sends({"data": []}),
    ],
    ids=["503", "no JSON", "drops", "hangs", "empty"],
)
def test_a_server_that_gives_no_list_could_not_be_looked_at(machine: Machine, answer: Reply) -> None:
    begin(machine)
    with model_at(machine, says("x")) as server:
        server._models = answer
        began = time.perf_counter()
        ended, found = only(machine)
        assert time.perf_counter() - began < 20
    assert (ended.code, found["state"]) == (4, "unknown")
    assert found["says"].startswith("could not look") and "--offline" in found["todo"]
    assert ended.error["code"] == ended.result["reason"] == "could_not_look"


def test_models_that_fail_are_told_with_the_budget_that_they_cost(machine: Machine) -> None:
    begin(machine)
    with model_at(machine, GONE):
        speak(machine, 6, SID_2)
        for minute in (6, 7, 8):
            assert run(machine, "observer.py", now=NOW.replace(minute=minute)).code == 5
        ended = look(machine)
    found = told(ended)
    assert (ended.code, found["failures"]["state"], found["failures"]["in_row"]) == (3, "fail", 3)
    assert found["failures"]["last"] == "model_failed"
    assert (found["messages"]["pending"], found["messages"]["state"]) == (1, "ok")
    assert (found["provider"]["gone"], found["provider"]["state"]) == (["test/model"], "fail")
    assert found["budget"]["calls"] == 3
    # A day later it is asked again.
    assert "gone" not in told(look(machine, now=NOW + timedelta(days=2)))["provider"]


def test_a_ceiling_that_is_reached_is_told(machine: Machine) -> None:
    memory = begin(machine)
    with model_at(machine, says("x")):
        (memory / ".total-recall" / "calls.json").write_text(
            json.dumps({"day": "2026-11-30", "calls": 200, "tokens": 5})
        )
        found = told(look(machine))["budget"]
    assert (found["state"], found["calls"], found["calls_limit"]) == ("warn", 200, 200)
    assert "2026-12-01 00:00" in found["says"]


def test_ids_that_nobody_chose_are_told_as_such(machine: Machine) -> None:
    begin(machine)
    with model_at(machine, says("x")):
        del machine.environ["LLM_MODEL"]
        ended, found = only(machine)
    assert (ended.code, found["not_offered"]) == (3, ["deepseek/deepseek-v3.2"])
    assert "ids of OpenRouter" in found["says"]


# The observer --------------------------------------------------------------------------------------------------------


def test_what_waits_is_counted_and_grows_from_a_note_to_a_fault(machine: Machine) -> None:
    begin(machine)
    speak(machine, 7, SID_2)
    ended = look(machine)
    assert (told(ended)["messages"]["pending"], told(ended)["observer"]["state"]) == (1, "ok")
    later = look(machine, now=NOW + timedelta(hours=3))
    assert (later.code, told(later)["observer"]["state"]) == (0, "warn")
    assert "1 session with something new" in told(later)["observer"]["says"]
    late = look(machine, now=NOW + timedelta(hours=30))
    assert (late.code, told(late)["observer"]["state"]) == (3, "fail")


def test_an_observer_that_has_nothing_to_do_is_well_for_a_day(machine: Machine) -> None:
    begin(machine)
    assert told(look(machine, now=NOW + timedelta(hours=20)))["observer"]["state"] == "ok"
    assert told(look(machine, now=NOW + timedelta(hours=30)))["observer"]["state"] == "warn"
    ended = look(machine, now=NOW + timedelta(days=6))
    if sys.platform.startswith("linux"):  # elsewhere a watcher with nothing to do may be at work
        assert (ended.code, states(ended, "fail")) == (3, {"observer"})
        assert "nothing has run it" in told(ended)["observer"]["says"]


def test_a_clock_that_was_ahead_is_told(machine: Machine) -> None:
    begin(machine)
    assert told(look(machine, now=NOW - timedelta(days=1)))["clock"]["state"] == "warn"


def test_provisional_lines_are_counted(machine: Machine) -> None:
    begin(machine)
    with model_at(machine, fails(500, "down")):
        speak(machine, 6, SID_2, "My dentist appointment is on 3 December at 15:00.")
        run(machine, "observer.py", "--flush", now=NOW.replace(minute=7))
        ended = look(machine)
    assert told(ended)["provisional"]["waiting"] == 1
    assert told(ended)["failures"]["state"] == "warn"


def test_a_damaged_state_is_told_and_the_rest_goes_by_the_ledger(machine: Machine) -> None:
    memory = begin(machine)
    private = memory / ".total-recall"
    (private / "state.json").write_text("{")
    ended = look(machine)
    assert (ended.code, told(ended)["bookkeeping"]["state"]) == (0, "warn")
    assert told(ended)["messages"]["pending"] == 0
    run(machine, "observer.py")
    assert (private / "state.damaged").exists()
    assert "state.damaged lies beside" in told(look(machine))["bookkeeping"]["says"]
    (private / "tombstones.json").write_text("{")
    assert told(look(machine))["bookkeeping"]["state"] == "fail"


def test_a_forgetting_that_cannot_be_finished_counts_as_a_failure(machine: Machine) -> None:
    memory = begin(machine)
    (memory / ".total-recall" / "forgetting.json").write_text("{")
    for times in (1, 2, 3):
        assert run(machine, "observer.py").code == 1
        assert told(look(machine))["failures"]["in_row"] == times
    assert {"failures", "unfinished"} <= states(look(machine), "fail")


def test_what_is_half_done_is_told(machine: Machine) -> None:
    memory = begin(machine)
    private = memory / ".total-recall"
    (private / "forgetting.json").write_text('{"schema": 1, "order": {}, "rows": []}')
    (private / "journal.json").write_text("{}")
    (private / "night.json").write_text("{}")
    found = told(look(machine))["unfinished"]
    assert (found["state"], found["begun"]) == ("fail", 3)
    assert "forgotten only in part" in found["says"] and "is damaged" in found["says"]
    assert found["todo"].startswith(f"rm {private / 'forgetting.json'}")
    order = {"ids": [], "words": [], "texts": [], "prints": []}
    (private / "forgetting.json").write_text(json.dumps({"schema": 1, "order": order, "rows": []}))
    assert told(look(machine))["unfinished"]["state"] == "warn"
    assert "what a night had set out to do is damaged" in found["says"]
    night = {
        "run": "20261130-033000",
        "day": "2026-11-30",
        "phase": 1,
        "began": "2026-11-30T03:30:00Z",
        "types": {},
    }
    numbers = {"schema": 1, "observations": 1, "tokens_before": 90, "tokens_leaving": 0}
    (private / "night.json").write_text(json.dumps({**night, **numbers, "going": [], "chunks": []}))
    assert "the night of 2026-11-30 has not ended" in told(look(machine))["unfinished"]["says"]


def test_a_night_that_was_only_begun_is_told(machine: Machine) -> None:
    begin(machine)
    assert run(machine, "dream_cycle.py", "preflight", now=NOW).code == 0
    found = told(look(machine))["unfinished"]
    assert "the night of 2026-11-30 was begun" in found["says"]
    assert told(look(machine))["night"]["last_night"] == ""


def test_a_night_that_ran_is_told_with_its_figures(machine: Machine) -> None:
    begin(machine)
    ended = run(machine, "dream_cycle.py", "run", now=NOW)
    assert ended.code == 0, ended.said
    ended = look(machine)
    found = told(ended)["night"]
    assert (found["last_night"], found["validation_passed"]) == ("2026-11-30", True)
    assert states(ended, "fail") == set() and told(ended)["unfinished"]["state"] == "ok"


# Memory --------------------------------------------------------------------------------------------------------------


def test_observations_that_are_nowhere_are_named(machine: Machine) -> None:
    memory = begin(machine)
    rows = [
        {"e": "observed", "at": "2026-11-30T09:05:00Z", "id": f"OBS-20261130-{number:03}", "importance": 5}
        for number in range(101, 121)
    ]
    with open(memory / ".total-recall" / "ledger.jsonl", "a") as ledger:
        ledger.writelines(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    ended = look(machine)
    found = told(ended)["ledger"]
    assert (ended.code, found["state"], found["faults"]) == (3, "fail", 20)
    assert found["first_faults"][0] == {"kind": "gone", "id": "OBS-20261130-101", "where": "observations.md"}
    assert "OBS-20261130-101: gone" in found["says"] and "--accept" in found["todo"]


def test_one_line_deleted_by_hand_is_a_note_and_a_lost_archive_a_fault(machine: Machine) -> None:
    memory = begin(machine)
    ledger = memory / ".total-recall" / "ledger.jsonl"
    log = memory / "observations.md"
    log.write_text("".join(line for line in log.read_text().splitlines(True) if "dc:id" not in line))
    ended = look(machine)
    assert (ended.code, told(ended)["ledger"]["state"], told(ended)["ledger"]["faults"]) == (0, "warn", 1)
    assert "dream_cycle.py account --accept" in told(ended)["ledger"]["todo"]
    assert "1 does not add up" in told(ended)["ledger"]["says"]
    with open(ledger, "a") as file:
        row = {"e": "archived", "id": "OBS-20261130-001", "in": "archive/observations/2026-11-30.md"}
        file.write(json.dumps({**row, "at": "2026-11-30T09:06:00Z"}, separators=(",", ":")) + "\n")
    ended = look(machine)
    assert (ended.code, told(ended)["ledger"]["first_faults"][0]["kind"]) == (3, "not_in_archive")


def test_lines_of_the_ledger_that_cannot_be_read_are_counted(machine: Machine) -> None:
    memory = begin(machine)
    with open(memory / ".total-recall" / "ledger.jsonl", "a") as file:
        file.write('{"e":"covered"\nnonsense\n')
    ended = look(machine)
    assert (ended.code, told(ended)["ledger"]["damaged_rows"]) == (3, 2)


OLD_LOG = """# Observations Log

Date: 2026-03-02

```markdown
- 🔴 2:05 PM Decided: the shop moves to Ghent <!-- dc:type=decision dc:importance=8 dc:date=2026-03-02 -->
- 🟡 09:10 The cat is called Miso
```

<think>
The user wants observations.
</think>
- 🟡 09:20 Likes mint tea
- 🟡 09:20 Likes mint tea
- 🟡 09:20 Likes mint tea
"""


def test_the_memory_of_an_older_edition_is_understood(machine: Machine) -> None:
    memory = machine.workspace / "memory"
    memory.mkdir(parents=True)
    (memory / "observations.md").write_text(OLD_LOG, "utf-8")
    (memory / "archived-observations.md").write_text("- old\n", "utf-8")
    speak(machine)
    assert machine.run().code == 0
    run(machine, "observer.py", now=NOW.replace(minute=5))
    schedule(machine)
    before = tree(machine.home)
    ended = look(machine)
    found = told(ended)["older_edition"]
    assert (ended.code, found["state"]) == (0, "warn")
    assert (found["lines_without_tags"], found["twelve_hour_times"], found["decision_types"]) == (4, 1, 1)
    assert (found["thoughts_of_a_model"], found["code_fence"], found["duplicates"]) == (3, 2, 2)
    assert found["old_archives"] == ["archived-observations.md"]
    assert "all is kept" in found["says"] and "--clean --dry-run" in found["todo"]
    assert told(ended)["ledger"]["state"] == "ok"
    assert tree(machine.home) == before


def test_an_older_log_before_the_first_run_is_no_fault_of_the_ledger(machine: Machine) -> None:
    memory = machine.workspace / "memory"
    memory.mkdir(parents=True)
    hook = (
        "- **Tea**: likes mint tea (2026-03-01). [ref: archive/observations/2026-03-01.md#OBS-20260301-001]\n"
    )
    (memory / "observations.md").write_text(OLD_LOG + hook, "utf-8")
    ended = look(machine)
    assert told(ended)["ledger"]["state"] == "warn"  # what the hook points at is not there
    assert "memory" in states(ended, "fail")
    assert told(ended)["memory"]["todo"] == f"python3 {SKILL}/scripts/setup.py"


def test_a_log_that_has_grown_too_long_is_told(machine: Machine) -> None:
    begin(machine)
    ended = look(machine, DREAM_TOKEN_TARGET="100", REFLECTOR_WORD_THRESHOLD="100")
    found = told(ended)["size"]
    assert (found["state"], found["token_target"], found["word_threshold"]) == ("ok", 100, 100)
    with open(machine.workspace / "memory" / "observations.md", "a") as log:
        log.write("- 🟡 09:30 " + "tea " * 200 + "\n")
    found = told(look(machine, DREAM_TOKEN_TARGET="100", REFLECTOR_WORD_THRESHOLD="100"))["size"]
    assert (found["state"], "reflector.py --force" in found["todo"]) == ("warn", True)


# What makes it run ---------------------------------------------------------------------------------------------------


def test_parts_that_are_not_installed_are_notes(machine: Machine, host: Host) -> None:
    begin(machine)
    ended = look(machine)
    assert (ended.code, states(ended, "warn"), states(ended, "fail")) == (3, {"hook", "watcher"}, {"cron"})
    assert told(ended)["cron"]["todo"] == (
        f"python3 {SKILL}/scripts/setup.py --cron openclaw  # or: --cron system"
    )
    # Another scheduler, which setup does not know, has run it.
    with open(machine.workspace / "logs" / "observer.log", "a") as log:
        log.write('2026-11-30T09:00:00Z {"status":"ok","trigger":"cron"}\n')
    ended = look(machine)
    assert (ended.code, told(ended)["cron"]["state"]) == (0, "warn")
    assert told(look(machine, now=NOW + timedelta(hours=2)))["cron"]["state"] == "fail"


def test_a_hook_that_is_off_and_a_watcher_that_stopped_are_wrong(well: Machine, host: Host) -> None:
    host.set(internal={"enabled": True, "entries": {"total-recall": {"enabled": False}}}, active=[])
    ended = look(well)
    assert (ended.code, states(ended, "fail")) == (3, {"hook", "watcher"})
    assert "not enabled" in told(ended)["hook"]["says"]


def test_openclaw_that_cannot_be_asked_is_not_taken_for_well(well: Machine, host: Host) -> None:
    host.set(broken=["config get"])
    ended = look(well)
    assert (ended.code, told(ended)["hook"]["state"]) == (4, "unknown")


def test_without_openclaw_its_cron_could_not_be_looked_at(machine: Machine) -> None:
    begin(machine)
    (machine.programs.parent / "host" / "crontab").unlink()
    ended = look(machine)
    found = told(ended)["cron"]
    assert (ended.code, found["state"], found["scheduled"]) == (4, "unknown", "unknown")
    assert "no program `openclaw` in PATH" in found["says"]
    assert "nothing wrong was found" in shown(machine)


def test_without_openclaw_in_path_its_file_is_read(well: Machine) -> None:
    (well.programs / "openclaw").unlink()
    assert told(look(well))["hook"]["state"] == "unknown"
    path = well.state_dir / "openclaw.json"
    path.write_text('{"hooks": {"internal": {"entries": {"total-recall": {"enabled": true}}}}}')
    assert told(look(well))["hook"]["state"] == "ok"
    path.write_text('{"hooks": {}}')
    assert told(look(well))["hook"]["state"] == "fail"
    path.write_text("{// a comment\n}")
    assert told(look(well))["hook"]["state"] == "unknown"


def test_a_watcher_that_was_started_by_hand_is_seen_by_its_lock(machine: Machine, host: Host) -> None:
    memory = begin(machine)
    path = memory / ".total-recall" / "watcher-main.lock"
    with open(path, "w") as file:
        assert told(look(machine))["watcher"]["at_work"] in (False, None)
        fcntl.flock(file, fcntl.LOCK_EX)
        found = told(look(machine))["watcher"]
    if sys.platform.startswith("linux"):
        assert (found["at_work"], found["state"]) == (True, "ok")
    else:
        assert found["at_work"] is None


# Files, and mending them ---------------------------------------------------------------------------------------------


def test_fix_mends_what_is_safe_and_changes_nothing_the_second_time(well: Machine, host: Host) -> None:
    memory = well.workspace / "memory"
    (memory / "observations.md").chmod(0o644)
    (memory / ".total-recall").chmod(0o755)
    left = memory / ".total-recall" / "state.json.total-recall-tmp"
    left.write_text("{")
    left.chmod(0o600)
    os.utime(left, (NOW.timestamp() - 3600, NOW.timestamp() - 3600))
    fresh = memory / "observations.md.total-recall-tmp"
    fresh.write_text("being written")
    os.utime(fresh, (NOW.timestamp(), NOW.timestamp()))
    (memory / "archive" / "chunks").rmdir()
    handler = well.state_dir / "hooks" / "total-recall" / "handler.js"
    handler.write_text("// of another version")
    (memory / "2026-11-30.md").write_text("the agent's own notes")
    (memory / "2026-11-30.md").chmod(0o644)
    before = tree(well.home)
    ended = look(well)
    assert {"permissions", "files", "hook"} <= states(ended, "warn")
    pretended = look(well, "--fix", "--dry-run")
    assert tree(well.home) == before
    ended = look(well, "--fix")
    assert (ended.code, ended.result["reason"], ended.result["not_fixed"]) == (0, "well", [])
    assert [one.split(" ")[-1] for one in ended.result["fixed"]] == [
        one.split(" ")[-1] for one in pretended.result["would_fix"]
    ]
    assert len(ended.result["fixed"]) == 5 and f"removed {left}" in ended.result["fixed"]
    assert "memoryFlush" not in ended.said and "setup:" not in ended.said
    assert mode_of(memory / "observations.md") == 0o600 and mode_of(memory / ".total-recall") == 0o700
    assert (left.exists(), fresh.exists(), (memory / "archive" / "chunks").is_dir()) == (False, True, True)
    assert mode_of(memory / "2026-11-30.md") == 0o644  # not ours
    assert handler.read_bytes() == (SKILL / "hooks" / "total-recall" / "handler.js").read_bytes()
    again = look(well, "--fix")
    assert (again.code, again.result["fixed"]) == (0, [])
    assert "\nthere is nothing to mend\n" in shown(well, "--fix")
    assert "\nthere is nothing to mend\n" in shown(well, "--fix", "--dry-run")


def test_fix_does_nothing_by_settings_of_which_one_was_left_out(well: Machine, host: Host) -> None:
    (well.workspace / "memory" / "archive" / "chunks").rmdir()
    handler = well.state_dir / "hooks" / "total-recall" / "handler.js"
    handler.write_text("// of another version")
    assert told(look(well))["files"]["state"] == "warn"  # what --fix would make is told before
    (well.workspace / ".env").write_text("DREAM_PHASE='1\n")
    ended = look(well, "--fix")
    assert "configuration" in states(ended, "fail") and ended.result["fixed"] == []
    assert len(ended.result["not_fixed"]) == 2
    assert all("every setting" in one for one in ended.result["not_fixed"])
    assert handler.read_text() == "// of another version"
    assert not (well.workspace / "memory" / "archive" / "chunks").exists()


def test_a_key_and_a_memory_folder_that_others_may_read_are_told(machine: Machine) -> None:
    memory = begin(machine)
    env = machine.workspace / ".env"
    env.write_text("LLM_PROVIDER=none\n")
    env.chmod(0o644)
    assert told(look(machine))["permissions"]["state"] == "ok"  # no key in it
    env.write_text(f"LLM_PROVIDER=none\nLLM_API_KEY={KEY}\n")
    memory.chmod(0o755)
    found = told(look(machine))["permissions"]
    assert (found["state"], found["todo"]) == ("warn", f"chmod 600 {env}; chmod 700 {memory}")
    env.chmod(0o600)
    memory.chmod(0o700)
    assert told(look(machine))["permissions"]["state"] == "ok"


def test_what_to_do_can_be_done_as_it_is_told(machine: Machine, tmp_path: Path) -> None:
    machine.workspace.mkdir(parents=True)
    other = tmp_path / "my workspace"
    todo = told(look(machine, "--workspace", str(other), OPENCLAW_AGENT_ID="work"))["memory"]["todo"]
    assert todo == (f"env OPENCLAW_AGENT_ID=work python3 {SKILL}/scripts/setup.py --workspace '{other}'")


def test_fix_puts_what_setup_had_installed_of_another_version_in_order(well: Machine, host: Host) -> None:
    (unit,) = (well.home / ".config" / "systemd" / "user").glob("*.service")
    whole = unit.read_text()
    unit.write_text(whole.replace("Nice=10", "Nice=5"))
    crontab = host.place / "crontab"
    lines = crontab.read_text()
    crontab.write_text(lines.replace("*/15", "*/20"))
    ended = look(well)
    assert {"watcher", "cron"} <= states(ended, "warn")
    ended = look(well, "--fix")
    assert (ended.code, unit.read_text(), crontab.read_text()) == (0, whole, lines)


def test_what_is_out_of_place_is_named_and_left_alone(machine: Machine, tmp_path: Path) -> None:
    memory = begin(machine)
    (memory / "observation-backups").mkdir(mode=0o700, exist_ok=True)
    stray = memory / "observation-backups" / "observations-1.md"
    stray.write_text("- old")
    stray.chmod(0o600)
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    (outside / "x.md").write_text("mine")
    (memory / "archive" / "elsewhere").symlink_to(outside)
    ended = look(machine, "--fix")
    found = told(ended)["files"]
    assert (found["strays"], found["links"], found["state"]) == (1, 1, "warn")
    assert stray.exists() and mode_of(outside) == 0o755


def test_files_that_cannot_be_reached_are_neither_well_nor_mended(machine: Machine, tmp_path: Path) -> None:
    memory = begin(machine)
    (memory / "observations.md").chmod(0o644)
    private = str(memory / ".total-recall")
    (tmp_path / "sitecustomize.py").write_text(REFUSING.format(path=private, call="scandir"))
    ended = look(machine, "--fix", PYTHONPATH=str(tmp_path))
    assert {"permissions", "files"} <= states(ended, "unknown")
    assert private in told(ended)["permissions"]["says"] and private in told(ended)["files"]["says"]
    assert (ended.code, ended.result["fixed"][0]) == (4, f"made private {memory / 'observations.md'}")
    assert states(ended, "unknown") == {"permissions", "files"}


def test_a_run_with_fix_is_logged_and_one_without_is_not(machine: Machine) -> None:
    begin(machine)
    log = machine.workspace / "logs" / "doctor.log"
    look(machine)
    assert not log.exists()
    look(machine, "--fix")
    assert len(log.read_text().splitlines()) == 1 and "Porto" not in log.read_text()
