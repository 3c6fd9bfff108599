"""The command line of every layer: JSON, exit codes, interruption, restart, log lines."""

from __future__ import annotations

import argparse
import io
import json
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Callable

import pytest

import _cli
import fake_model
from _cli import Result, Run, make_parser
from _errors import (
    BusyError,
    ConfigError,
    MissingPackage,
    ModelError,
    ModelParked,
    RefusedError,
    SourceError,
    StorageError,
    TotalRecallError,
    UsageError,
)
from observer_testing import SCRIPTS, Ended, Home, at, cite, run_here, tags_in
from patience import until
from transcript_builders import SID

Work = Callable[[argparse.Namespace, Run], Result]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    found = Home(tmp_path / "home")
    store = found.jsonl()
    store.start(SID, at=at("09:00"))
    store.user(SID, "The lease is #note-1", at=at("09:01"))
    return found


def run(folder: Path, work: Work, *argv: str) -> Ended:
    """A layer "trial" that does this work, in this process."""
    parser = make_parser("trial", "What it does.")
    return run_here(lambda: _cli.run("trial", parser, work, list(argv)), {"HOME": str(folder), "TZ": "UTC"})


def raising(problem: BaseException) -> Work:
    def work(_options: argparse.Namespace, _run: Run) -> Result:
        raise problem

    return work


def log_lines(folder: Path) -> "list[str]":
    return (folder / ".openclaw" / "workspace" / "logs" / "trial.log").read_text("utf-8").splitlines()


# The result object ---------------------------------------------------------------------------------------------------


def test_a_result_has_the_usual_keys_around_its_facts(tmp_path: Path) -> None:
    def work(_options: argparse.Namespace, run: Run) -> Result:
        run.say("trial: all done")
        return Result("ok", "done", {"lines": 3, "path": "/ä"})

    ended = run(tmp_path, work)
    run_id = ended.result.pop("run_id")
    assert ended.result == {
        "layer": "trial",
        "status": "ok",
        "reason": "done",
        "dry_run": False,
        "lines": 3,
        "path": "/ä",
        "schema": 1,
    }
    assert (ended.code, ended.said, len(run_id)) == (0, "trial: all done\n", 8)
    (line,) = log_lines(tmp_path)
    assert line.endswith(
        f'Z {{"status":"ok","reason":"done","run_id":"{run_id}","dry_run":false,"lines":3,"path":"/\\u00e4"}}'
    )


@pytest.mark.parametrize(
    ("problem", "code", "word"),
    [
        (TotalRecallError("x", "do y"), 1, "unexpected"),
        (StorageError("x", "do y"), 1, "storage"),
        (UsageError("x", "do y"), 2, "usage"),
        (ConfigError("x", "do y"), 3, "configuration"),
        (SourceError("x", "do y"), 3, "source_unreadable"),
        (BusyError("x", "do y"), 4, "busy"),
        (ModelError("x", "do y"), 5, "model_failed"),
        (ModelParked("x", "do y"), 5, "model_parked"),
        (RefusedError("x", "do y"), 6, "refused"),
    ],
)
def test_each_way_to_stop_has_its_exit_code_and_its_word(
    tmp_path: Path, problem: TotalRecallError, code: int, word: str
) -> None:
    ended = run(tmp_path, raising(problem))
    assert (ended.code, ended.result["status"], ended.result["reason"]) == (code, "error", word)
    assert ended.result["error"] == {"code": word, "message": "x", "hint": "do y"}
    assert ended.said == "trial: x\n  -> do y\n"
    assert f'"reason":"{word}"' in log_lines(tmp_path)[0]


def test_what_nobody_foresaw_is_told_by_its_place_and_without_its_text(tmp_path: Path) -> None:
    ended = run(tmp_path, raising(KeyError("what a person said")))
    assert (ended.code, ended.result["reason"]) == (1, "unexpected")
    assert ended.result["error"]["message"].startswith("unexpected KeyError at test_cli.py:")
    assert "a person said" not in json.dumps(ended.result) + ended.said + log_lines(tmp_path)[0]


def test_an_interrupt_is_130(tmp_path: Path) -> None:
    ended = run(tmp_path, raising(KeyboardInterrupt()))
    assert (ended.code, ended.result["reason"], ended.result["error"]["code"]) == (
        130,
        "interrupted",
        "interrupted",
    )


@pytest.mark.parametrize(
    "argv", [("--nonsense",), ("--dry",), ("more",), ("--workspace",), ("--now", "noon")]
)
def test_a_wrong_flag_is_an_object_too_and_nothing_is_done(tmp_path: Path, argv: "tuple[str, ...]") -> None:
    ended = run(tmp_path, raising(AssertionError("it ran")), *argv)
    assert (ended.code, ended.result["reason"]) == (2, "usage")


@pytest.mark.parametrize("words", [["recall.py"], ["recall.py", "show"]])
def test_a_wrong_command_line_is_sent_to_a_help_that_is_there(tmp_path: Path, words: "list[str]") -> None:
    wrong = [sys.executable, str(SCRIPTS / words[0]), *words[1:], "--nonsense"]
    done = subprocess.run(wrong, env={"HOME": str(tmp_path)}, capture_output=True, text=True)
    hint = json.loads(done.stdout)["error"]["hint"]
    assert hint == f"see: python3 scripts/{' '.join(words)} --help"
    helped = subprocess.run(
        [sys.executable, *hint.split()[2:]], cwd=SCRIPTS.parent, capture_output=True, text=True
    )
    assert (helped.returncode, helped.stdout.startswith(f"usage: {' '.join(words)} ")) == (0, True)


def test_what_is_too_much_on_a_command_line_is_told_without_repeating_it(tmp_path: Path) -> None:
    ended = run(
        tmp_path, lambda options, run: Result("ok", "done"), '{"full_text": "Ana is ill"}', "--flush=Ana"
    )
    assert (ended.code, ended.result["error"]["message"]) == (2, "unrecognized arguments: --flush")
    ended = run(tmp_path, lambda options, run: Result("ok", "done"), '{"full_text": "Ana is ill"}')
    assert "Ana" not in json.dumps(ended.result) and "1 word" in ended.result["error"]["message"]


def test_a_dry_run_writes_no_log(tmp_path: Path) -> None:
    ended = run(tmp_path, lambda options, run: Result("ok", str(run.dry_run)), "--dry-run")
    assert (ended.result["dry_run"], ended.result["reason"]) == (True, "True")
    assert list(tmp_path.iterdir()) == []


def test_quiet_says_nothing_but_what_went_wrong(tmp_path: Path) -> None:
    def work(_options: argparse.Namespace, run: Run) -> Result:
        run.say("trial: all is well")
        raise ConfigError("x", "do y")

    assert run(tmp_path, work, "--quiet").said == "trial: x\n  -> do y\n"


def test_a_workspace_named_on_the_command_line_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def work(_options: argparse.Namespace, run: Run) -> Result:
        return Result("ok", "done", {"at": str(run.config.memory_dir)})

    assert run(tmp_path, work, "--workspace", "my ws").result["at"] == str(tmp_path / "my ws" / "memory")
    assert run(tmp_path, work, "--workspace", "~/ws").result["at"] == str(tmp_path / "ws" / "memory")
    assert (tmp_path / "my ws" / "logs" / "trial.log").exists()


def test_now_is_taken_in_the_persons_zone(tmp_path: Path) -> None:
    def work(_options: argparse.Namespace, run: Run) -> Result:
        return Result("ok", "done", {"now": run.now.isoformat()})

    assert run(tmp_path, work, "--now", "2026-11-30 14:05").result["now"] == "2026-11-30T14:05:00+00:00"


def test_the_log_is_set_aside_when_it_is_large(tmp_path: Path) -> None:
    logs = tmp_path / ".openclaw" / "workspace" / "logs"
    logs.mkdir(parents=True)
    (logs / "trial.log").write_bytes(b"x" * 1_000_001)
    run(tmp_path, lambda options, run: Result("ok", "done"))
    assert (logs / "trial.log.1").stat().st_size == 1_000_001
    assert len(log_lines(tmp_path)) == 1


def test_the_log_of_every_layer_is_among_those_that_forgetting_and_doctor_look_at() -> None:
    layers = [path.stem for path in SCRIPTS.glob("*.py") if not path.name.startswith("_")]
    assert {_cli.log_name(layer) for layer in layers} == set(_cli.LOG_FILES)


# Interrupted during a question ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_interrupted_during_a_question_ends_in_order(home: Home, number: signal.Signals) -> None:
    asked: "list[subprocess.Popen[str]]" = []

    stopping = fake_model.meanwhile(lambda: asked[0].send_signal(number), fake_model.Reply(then="hang"))
    with fake_model.FakeModel(stopping) as server:
        home.model(server)
        asked.append(home.start(now=at("09:10")))
        out, err = asked[0].communicate(timeout=60)
    told = json.loads(out)
    assert (asked[0].returncode, told["reason"], told["error"]["code"]) == (130, "interrupted", "interrupted")
    assert "Traceback" not in err
    assert home.log == "" and home.state["cursors"] == {}
    with fake_model.FakeModel(cite) as server:
        home.model(server)
        assert home.run(now=at("09:20")).code == 0
    assert tags_in(home.log) == {"#note-1": 1}


# Without packages ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python without any package."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-I", "-m", "venv", "--without-pip", str(folder)], check=True)
    return str(folder / "bin" / "python")


def environment(data: Path, python: str) -> Path:
    """An environment in the place where setup.py makes it, whose python counts its starts."""
    wrapper = data / "total-recall" / "venv" / "bin" / "python"
    wrapper.parent.mkdir(parents=True)
    wrapper.write_text(f'#!/bin/sh\necho start >>"{data}/starts"\nexec "{python}" "$@"\n')
    wrapper.chmod(stat.S_IRWXU)
    return wrapper


def observe_with(python: str, home: Home, data: Path, *flags: str) -> Ended:
    done = subprocess.run(
        [python, *home.command(*flags, now=at("09:10"))[1:]],
        env={**home.environ, "XDG_DATA_HOME": str(data), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return Ended(done.returncode, json.loads(done.stdout), done.stderr)


def starts(data: Path) -> int:
    return (data / "starts").read_text().count("start") if (data / "starts").exists() else 0


def test_a_python_without_packages_goes_on_in_the_environment_once(
    home: Home, bare: str, tmp_path: Path
) -> None:
    data = tmp_path / 'my "data'
    environment(tmp_path / "data", sys.executable)
    (tmp_path / "data").rename(data)
    wrapper = data / "total-recall" / "venv" / "bin" / "python"
    wrapper.write_text(f'#!/bin/sh\necho start >>"$XDG_DATA_HOME/starts"\nexec "{sys.executable}" "$@"\n')
    ended = observe_with(bare, home, data, "--trigger", "cron")
    assert (ended.code, ended.result["status"], ended.result["trigger"]) == (0, "ok", "cron")
    assert starts(data) == 1


def test_recovery_without_packages_asks_a_dead_model_once(home: Home, bare: str, tmp_path: Path) -> None:
    environment(tmp_path / "data", sys.executable)
    home.environ.update(LLM_PROVIDER="openai", LLM_BASE_URL="http://127.0.0.1:9/v1", LLM_MODEL="test/model")
    done = subprocess.run(
        [bare, str(SCRIPTS / "session_recovery.py"), "--now", "2026-11-30T09:10:00Z"],
        env={**home.environ, "XDG_DATA_HOME": str(tmp_path / "data"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    told = json.loads(done.stdout)
    assert (told["failures_in_row"], told["budget"]["calls"]) == (1, 1), done.stderr
    assert done.stderr.count("the observer failed") == 1


def test_an_environment_that_lacks_them_too_makes_no_loop(home: Home, bare: str, tmp_path: Path) -> None:
    environment(tmp_path / "data", bare)
    ended = observe_with(bare, home, tmp_path / "data")
    assert (ended.code, ended.result["error"]["code"]) == (3, "missing_package")
    assert "setup.py" in ended.result["error"]["hint"]
    assert starts(tmp_path / "data") == 1


@pytest.mark.parametrize("kind", ["none", "dangling", "not executable", "no program"])
def test_without_a_usable_environment_the_missing_package_is_told(
    home: Home, bare: str, tmp_path: Path, kind: str
) -> None:
    data = tmp_path / "data"
    if kind != "none":
        python = environment(data, sys.executable)
        python.unlink()
        if kind == "dangling":
            python.symlink_to(tmp_path / "gone")
        else:
            python.write_bytes(b"\x7fELF, not really")
            python.chmod(0o600 if kind == "not executable" else 0o700)
    ended = observe_with(bare, home, data)
    assert (ended.code, ended.result["error"]["code"]) == (3, "missing_package")
    assert ended.said.count("missing\n") + ended.said.count("not installed\n") == 1


@pytest.mark.parametrize(("flag", "part"), [("--help", "exit codes: 0 ok"), ("--version", "total-recall ")])
def test_help_and_version_need_no_package(bare: str, tmp_path: Path, flag: str, part: str) -> None:
    done = subprocess.run(
        [bare, str(SCRIPTS / "observer.py"), flag],
        env={"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert part in done.stdout


def test_a_missing_package_is_told_in_process_too(tmp_path: Path) -> None:
    ended = run(tmp_path, raising(MissingPackage("filelock")))
    assert (ended.code, ended.result["error"]["message"]) == (
        3,
        "the Python package 'filelock' is not installed",
    )


# Starting another layer ----------------------------------------------------------------------------------------------


def test_a_layer_that_is_not_there_or_prints_nothing_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_cli, "__file__", str(tmp_path / "_cli.py"))
    with pytest.raises(ConfigError, match="nothing.py is missing"):
        _cli.start_layer("nothing.py", [], 5)
    (tmp_path / "silent.py").write_text("raise SystemExit(7)")
    with pytest.raises(ConfigError, match="silent.py printed no result .exit code 7."):
        _cli.start_layer("silent.py", [], 5)
    (tmp_path / "layer.py").write_text(
        "import json, sys; print(json.dumps({'status': 'ok', 'argv': sys.argv[1:]}))"
    )
    assert _cli.start_layer("layer.py", ["--x", "a b"], 5) == {"status": "ok", "argv": ["--x", "a b"]}


def test_a_python_that_is_gone_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3.9"))
    with pytest.raises(
        ConfigError, match=r"observer.py could not be started with .*/python3.9: No such file"
    ):
        _cli.start_layer("observer.py", [], 5)


def test_when_the_observer_cannot_be_started_recovery_notes_what_was_said(home: Home, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    code = f"import sys\nsys.executable = {str(tmp_path / 'python-that-was-removed')!r}\n"
    (tmp_path / "site" / "sitecustomize.py").write_text(code)
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / "session_recovery.py"), "--now", "2026-11-30T09:10:00Z"],
        env={**home.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    told = json.loads(done.stdout)
    assert (done.returncode, told["reason"], told["raw"]) == (0, "captured_raw", 1), done.stderr
    assert told["observer"] == "configuration"
    assert "The lease is #note-1" in home.log


def test_a_layer_that_prints_something_else_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_cli, "__file__", str(tmp_path / "_cli.py"))
    (tmp_path / "odd.py").write_text("print(5)")
    with pytest.raises(ConfigError, match="odd.py printed no result"):
        _cli.start_layer("odd.py", [], 5)


def test_a_layer_that_does_not_end_in_time_goes_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_cli, "__file__", str(tmp_path / "_cli.py"))
    (tmp_path / "slow.py").write_text(
        "import os, pathlib, subprocess, sys, time\n"
        "grandchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "pathlib.Path(sys.argv[1]).write_text(str(grandchild.pid))\n"
        "time.sleep(60)\n"
    )
    with pytest.raises(ConfigError, match="slow.py did not end within 2 s"):
        _cli.start_layer("slow.py", [str(tmp_path / "pid")], 2)
    number = int((tmp_path / "pid").read_text())
    until(lambda: not is_running(number), "the end of the grandchild")


def is_running(number: int) -> bool:
    """Whether a process is there and no zombie that only waits for its parent."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(number)], capture_output=True, text=True)
    return bool(done.stdout.strip()) and not done.stdout.startswith("Z")


def test_piped_input_is_left_for_the_same_command_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    piped = io.TextIOWrapper(io.BytesIO(b'{"items": []}'))
    monkeypatch.setattr(sys, "stdin", piped)
    monkeypatch.setattr(_cli, "NEEDED_WITH_INPUT", ("no_such_package",))
    with pytest.raises(MissingPackage, match="no_such_package"):
        _cli.read_input(1000)
    assert piped.buffer.read() == b'{"items": []}'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"items": []}')))
    monkeypatch.setattr(_cli, "NEEDED_WITH_INPUT", ("json",))
    assert _cli.read_input(1000) == b'{"items": []}'
