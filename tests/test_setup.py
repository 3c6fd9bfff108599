"""setup.py as a process: under a Python without any package, at strange places, with what it needs missing.

The environments are real ones. Their packages come from wheels packed anew out of this Python's own, so that no test
needs a package index.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from importlib import metadata
from pathlib import Path
from typing import Optional

import pytest

from _errors import ConfigError
from _observations import HEAD
from _setup import environment
from _setup.packages import Requirement, missing, parse_requirements
from fake_model import FakeModel, Request
from setup_testing import ODD_NAME, SKILL, Ended, Machine, copy_tree, end_of, mode_of, tree
from transcript_builders import SID, JsonlStore

Installed = tuple[Machine, "list[Ended]", "dict[str, bytes]"]


# A Python with nothing, and the environment that setup makes for it ---------------------------------------------------


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python that has the standard library and no package, not even pip."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-I", "-m", "venv", "--without-pip", str(folder)], check=True)
    return str(folder / "bin" / "python")


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of wheels as `pip download` makes it: the packages of requirements.txt and what they need in turn."""
    folder = tmp_path_factory.mktemp("wheels")
    waiting = [one.name for one in parse_requirements((SKILL / "requirements.txt").read_text("utf-8"))]
    done: "set[str]" = set()
    while waiting:
        name = waiting.pop().lower().replace("_", "-")
        if name in done:
            continue
        done.add(name)
        package = metadata.distribution(name)
        pack(package, folder)
        waiting += [needed for needed in map(needed_always, package.requires or []) if needed]
    return folder


def needed_always(requirement: str) -> str:
    """The name in "urllib3<3,>=1.26"; "" for what only an option asks for, or is not needed here and so not here."""
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    if found is None or "extra ==" in requirement:
        return ""
    try:
        metadata.version(found.group())
    except metadata.PackageNotFoundError:
        return ""
    return found.group()


def pack(package: metadata.Distribution, folder: Path) -> None:
    """Write an installed package as a wheel."""
    tag = next(
        line.split(": ")[1]
        for line in (package.read_text("WHEEL") or "").splitlines()
        if line.startswith("Tag: ")
    )
    name = str(package.metadata["Name"]).replace("-", "_")
    with zipfile.ZipFile(folder / f"{name}-{package.version}-{tag}.whl", "w") as wheel:
        for file in package.files or []:
            inside = ".." not in file.parts and "__pycache__" not in file.parts
            if inside and file.name not in ("INSTALLER", "REQUESTED"):
                wheel.write(str(package.locate_file(file)), str(file))


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory, bare_python: str, wheels: Path) -> Installed:
    """A machine on which two setups were started at once, with everything in their way: odd names in every path, a
    .env to be read, and settings that would have pip put the packages elsewhere. With how they ended, and the skill's
    files as they were before."""
    home = tmp_path_factory.mktemp("installed") / ODD_NAME
    skill = home / "skill"
    for name in ("scripts", "examples", "prompts"):
        copy_tree(SKILL / name, skill / name)
    (skill / "requirements.txt").write_bytes((SKILL / "requirements.txt").read_bytes())
    machine = Machine(home, bare_python, skill)
    machine.environ = {
        "PIP_FIND_LINKS": str(wheels),
        "PIP_NO_COMPILE": "1",
        "PIP_USER": "1",
        "PIP_TARGET": str(home / "elsewhere"),
    }
    machine.workspace.mkdir(parents=True)
    (machine.workspace / ".env").write_text("REFLECTOR_WORD_THRESHOLD=9000\n")
    before = tree(skill)
    together = [machine.start(), machine.start()]
    ended = [end_of(process) for process in together]
    return machine, ended, before


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine whose Python has all packages: this one."""
    return Machine(tmp_path / "home")


@pytest.fixture
def machine_with_environment(tmp_path: Path, bare_python: str, installed: Installed) -> Machine:
    """A new home folder, and a bare Python with the environment that setup made."""
    return Machine(
        tmp_path / "home",
        bare_python,
        environ={"XDG_DATA_HOME": str(installed[0].data.parent)},
    )


# Packages ------------------------------------------------------------------------------------------------------------


@pytest.mark.timeout(300)
def test_two_setups_at_once_on_a_python_without_packages_make_one_environment(installed: Installed) -> None:
    machine, ended, _before = installed
    assert [one.code for one in ended] == [0, 0], [one.said for one in ended]
    assert [one.result["packages"] for one in ended] == ["environment", "environment"]
    assert (
        sum("installing 8 packages" in one.said or "installing 7 packages" in one.said for one in ended) == 1
    )
    assert sorted(path.name for path in machine.data.iterdir()) == ["setup.lock", "venv"]
    assert not (machine.home / "elsewhere").exists()


@pytest.mark.timeout(300)
def test_nothing_that_pip_says_is_shown_when_all_went_well(installed: Installed) -> None:
    for one in installed[1]:
        assert all(line.startswith(("setup:", "  ")) for line in one.said.splitlines()), one.said


@pytest.mark.timeout(300)
def test_setup_writes_nothing_into_the_folder_of_the_skill(installed: Installed) -> None:
    machine, _ended, before = installed
    assert tree(machine.skill) == before


@pytest.mark.timeout(300)
def test_a_second_run_changes_nothing(installed: Installed) -> None:
    machine = installed[0]
    log = machine.workspace / "logs" / "setup.log"
    before = {
        path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in machine.home.rglob("*") if path != log
    }
    again = machine.run()
    assert (again.code, again.result["reason"], again.result["made"]) == (0, "nothing_to_do", [])
    after = {
        path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in machine.home.rglob("*") if path != log
    }
    assert after.keys() == before.keys()
    changed = {path.name for path in before if before[path] != after[path]}
    assert changed <= {"memory.lock", "setup.lock"}


@pytest.mark.timeout(300)
def test_the_other_scripts_go_on_in_the_environment_when_their_python_lacks_packages(
    machine_with_environment: Machine,
) -> None:
    machine = machine_with_environment
    JsonlStore(machine.sessions).start(SID)
    ended = subprocess.run(
        [machine.python, str(SKILL / "scripts" / "observer.py")],
        env=machine.variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    assert (ended.returncode, json.loads(ended.stdout)["status"]) == (0, "ok"), ended.stderr


@pytest.mark.timeout(300)
def test_a_setup_killed_while_it_builds_leaves_nothing_that_the_next_one_trips_over(
    tmp_path: Path, bare_python: str, wheels: Path
) -> None:
    machine = Machine(tmp_path / "home", bare_python)
    machine.environ = {"PIP_FIND_LINKS": str(wheels), "PIP_NO_COMPILE": "1"}
    for stage in ("venv-*", "venv-*/bin/python", "venv-*/lib/python*/site-packages/requests"):
        process = machine.start("--quiet")
        while not list(machine.data.glob(stage)) and process.poll() is None:
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert not (machine.data / "venv").exists()
    ended = machine.run()
    assert (ended.code, ended.result["packages"]) == (0, "environment"), ended.said
    assert sorted(path.name for path in machine.data.iterdir()) == ["setup.lock", "venv"]


def test_no_environment_is_made_when_this_python_has_the_packages(machine: Machine) -> None:
    ended = machine.run()
    assert (ended.code, ended.result["packages"]) == (0, "this_python"), ended.said
    assert not machine.data.exists()


WANTED = [Requirement("json"), Requirement("email")]


def finished(folder: Path, requirements: bytes = b"json\n", version: Optional[str] = None) -> Path:
    """An environment as a finished setup leaves it, its Python being this one."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    digest = {b"json\n": "e6d4186a938579ceed4ed5b2fccd42a32448dcda6b0ddbcfd49fc70177bbe9ae"}[requirements]
    stamp = {"requirements": digest, "python": version or f"{sys.version_info[0]}.{sys.version_info[1]}"}
    (folder / "total-recall.json").write_text(json.dumps(stamp))
    return folder


def test_an_environment_finished_for_these_requirements_is_in_order(tmp_path: Path) -> None:
    assert environment.is_in_order(finished(tmp_path / "venv"), b"json\n", WANTED)


def test_an_environment_for_other_requirements_is_not_in_order(tmp_path: Path) -> None:
    assert not environment.is_in_order(finished(tmp_path / "venv"), b"json\nemail\n", WANTED)


def test_an_environment_whose_python_is_gone_is_not_in_order(tmp_path: Path) -> None:
    folder = finished(tmp_path / "venv")
    (folder / "bin" / "python").unlink()
    (folder / "bin" / "python").symlink_to(tmp_path / "python-that-was-removed")
    assert not environment.is_in_order(folder, b"json\n", WANTED)


def test_an_environment_whose_python_became_another_version_is_not_in_order(tmp_path: Path) -> None:
    assert not environment.is_in_order(finished(tmp_path / "venv", version="3.4"), b"json\n", WANTED)


def test_an_environment_from_which_a_package_is_gone_is_not_in_order(tmp_path: Path) -> None:
    wanted = [*WANTED, Requirement("package-that-was-removed")]
    assert not environment.is_in_order(finished(tmp_path / "venv"), b"json\n", wanted)


@pytest.mark.parametrize("stamp", ["", "{", "[]", '{"requirements": 1}', "\u00fc"])
def test_an_environment_with_a_damaged_stamp_is_not_in_order(tmp_path: Path, stamp: str) -> None:
    folder = finished(tmp_path / "venv")
    (folder / "total-recall.json").write_text(stamp, encoding="latin-1")
    assert not environment.is_in_order(folder, b"json\n", WANTED)


# What stands in the way ----------------------------------------------------------------------------------------------


def left_behind(machine: Machine) -> "list[str]":
    """What a failed setup left where the environment would be, its lock aside."""
    return [path.name for path in machine.data.glob("*") if path.name != "setup.lock"]


def test_debian_without_its_venv_package_is_told_what_to_install(tmp_path: Path, bare_python: str) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['ensurepip'] = None\n")
    machine = Machine(tmp_path / "home", bare_python, environ={"PYTHONPATH": str(tmp_path)})
    ended = machine.run()
    assert (ended.code, ended.error["code"]) == (3, "configuration")
    assert "sudo apt install python3-venv" in ended.error["hint"]
    assert "sudo apt install python3-venv" in ended.said
    assert left_behind(machine) == []


@pytest.mark.timeout(300)
def test_without_a_network_the_packages_are_named_and_how_to_bring_them(
    tmp_path: Path, bare_python: str
) -> None:
    secret = "pass" + "word-17"
    machine = Machine(tmp_path / "home", bare_python)
    machine.environ = {
        "PIP_NO_INDEX": "",
        "PIP_INDEX_URL": f"http://nora:{secret}@127.0.0.1:9/simple",
        "PIP_RETRIES": "0",
    }
    ended = machine.run()
    assert (ended.code, ended.error["code"]) == (3, "configuration"), ended.said
    assert "requests, python-dotenv, filelock" in ended.error["message"]
    assert "pip download" in ended.error["hint"]
    assert "PIP_FIND_LINKS=" in ended.error["hint"]
    assert secret not in ended.said + json.dumps(ended.result)
    assert "127.0.0.1" not in ended.said
    assert left_behind(machine) == []


@pytest.mark.parametrize("place", ["a file in the way", "a place where nobody can write"])
def test_a_data_folder_that_cannot_be_written_is_named(tmp_path: Path, bare_python: str, place: str) -> None:
    data = tmp_path / "file" if place == "a file in the way" else Path("/proc/nothing")
    (tmp_path / "file").write_text("not a folder")
    ended = Machine(tmp_path / "home", bare_python, environ={"XDG_DATA_HOME": str(data)}).run()
    assert (ended.code, ended.error["code"]) == (3, "configuration")
    assert str(data) in ended.error["message"]
    assert "set XDG_DATA_HOME" in ended.error["hint"]


def test_a_relative_data_folder_is_refused(tmp_path: Path, bare_python: str) -> None:
    machine = Machine(tmp_path / "home", bare_python, environ={"XDG_DATA_HOME": "share"})
    ended = machine.run()
    assert (ended.code, ended.error["code"]) == (3, "configuration")
    assert "XDG_DATA_HOME" in ended.error["hint"]
    assert not (machine.home / "share").exists()


@pytest.mark.parametrize(
    ("what", "output", "told"),
    [
        ("pip", "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "is full"),
        ("venv", "OSError: [Errno 122] Disk quota exceeded: '/home/nora/.local'", "is full"),
        ("pip", "error: externally-managed-environment\n\n\u00d7 This environment is externally managed", "refused"),
        ("pip", "ERROR: No matching distribution found for requests<3,>=2.28", "could not get"),
        ("pip", "OSError: [Errno 30] Read-only file system: '/home/nora'", "cannot be put into"),
        ("venv", "The virtual environment was not created successfully because ensurepip is not available.  On "
         "Debian/Ubuntu systems, you need to install the python3-venv package using\n    apt install python3.11-venv",
         "cannot make virtual environments"),
        ("pip", "ERROR: Failed building wheel for zstandard", "Failed building wheel for zstandard"),
    ],
)  # fmt: skip
def test_what_stopped_venv_or_pip_is_told_in_a_sentence(what: str, output: str, told: str) -> None:
    problem = environment.explain(what, output, WANTED, Path("/home/nora/.local/share/total-recall/venv"))
    assert isinstance(problem, ConfigError)
    assert told in str(problem)
    assert problem.hint


def test_the_last_words_of_pip_come_without_addresses() -> None:
    output = "Looking in indexes: https://nora:word@pypi.example/simple\n\nERROR: no  http://x/y?t=1 'git+ssh://h/z'\n"
    assert (
        environment.last_words(output) == "Looking in indexes: (address) / ERROR: no  (address) '(address)'"
    )


@pytest.mark.parametrize("version", [(3, 8, 18), (3, 6, 15), (2, 7, 18)])
def test_an_old_python_is_told_which_one_is_needed(tmp_path: Path, version: "tuple[int, int, int]") -> None:
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.version_info = {(*version, 'final', 0)}\n")
    ended = Machine(tmp_path / "home", environ={"PYTHONPATH": str(tmp_path)}).run("--try")
    assert (ended.code, ended.error["code"]) == (3, "configuration")
    assert f"Python {version[0]}.{version[1]} is too old" in ended.said
    assert "3.9 or newer" in ended.error["message"]


def test_an_old_python_understands_the_file_that_tells_it_so() -> None:
    parsed = ast.parse((SKILL / "scripts" / "setup.py").read_text("utf-8"), feature_version=(3, 4))
    late = [node for node in ast.walk(parsed) if isinstance(node, (ast.JoinedStr, ast.AnnAssign))]
    annotated = [
        node.name
        for node in ast.walk(parsed)
        if isinstance(node, ast.FunctionDef)
        and (node.returns or any(arg.annotation for arg in node.args.args))
    ]
    assert (late, annotated) == ([], [])


@pytest.mark.parametrize(
    "arguments",
    [
        ["--provider", "none"],
        ["--check", "--try"],
        ["--no-such-flag"],
        ["--try", "--provider", "cheap"],
        ["--cron"],
        ["--cron", "daily"],
        ["--check", "--hook"],
        ["--uninstall", "--watcher"],
        ["--try", "--cron", "print"],
        ["--uninstall", "--check"],
    ],
)
def test_wrong_flags_end_in_an_error_about_usage(machine: Machine, arguments: "list[str]") -> None:
    ended = machine.run(*arguments)
    assert (ended.code, ended.error["code"]) == (2, "usage")
    assert tree(machine.home) == {"tmp": b"/"}


@pytest.mark.parametrize("arguments", [[], ["--try"], ["--check"]])
def test_a_wrong_variable_is_named_and_nothing_is_made(machine: Machine, arguments: "list[str]") -> None:
    machine.environ = {"DREAM_PHASE": "7"}
    ended = machine.run(*arguments)
    assert (ended.code, ended.error["code"]) == (3, "configuration")
    assert "DREAM_PHASE is '7'" in ended.error["message"]
    assert tree(machine.home) == {"tmp": b"/"}


@pytest.mark.timeout(300)
def test_it_works_without_a_home_variable(machine_with_environment: Machine) -> None:
    machine = machine_with_environment
    machine.environ.update({"HOME": "", "PATH": "", "TZ": "", "LANG": "", "OPENCLAW_HOME": str(machine.home)})
    assert machine.run().code == 0
    assert machine.run("--check").result["reason"] == "in_order"


# For good ------------------------------------------------------------------------------------------------------------


def test_it_makes_private_folders_and_a_first_log(machine: Machine) -> None:
    ended = machine.run()
    assert (ended.code, ended.result["reason"]) == (0, "set_up"), ended.said
    memory = machine.workspace / "memory"
    assert (memory / "observations.md").read_text("utf-8") == HEAD
    assert mode_of(memory / "observations.md") == 0o600
    for name in (".total-recall", "archive", "archive/observations", "archive/chunks", "archive/reflections"):
        assert mode_of(memory / name) == 0o700
    assert mode_of(memory) == mode_of(machine.workspace / "logs") == 0o700


def test_from_setup_on_everything_is_observed_however_late_the_first_observer_comes(machine: Machine) -> None:
    assert machine.run("--now", "2026-11-30T09:00:00Z").code == 0
    assert machine.run("--now", "2026-11-30T11:00:00Z").result["reason"] == "nothing_to_do"
    store = JsonlStore(machine.sessions)
    store.now = datetime(2026, 11, 30, 9, 30, tzinfo=timezone.utc)
    store.user(store.start(), "My sister's wedding is on 14 June in Porto.")
    observer = [
        machine.python,
        str(machine.skill / "scripts" / "observer.py"),
        "--now",
        "2026-11-30T15:00:00Z",
    ]
    done = subprocess.run(observer, env=machine.variables, capture_output=True, text=True)
    assert json.loads(done.stdout)["observations_written"] == 1


def test_memory_that_is_there_is_left_as_it_is(machine: Machine) -> None:
    memory = machine.workspace / "memory"
    memory.mkdir(parents=True, mode=0o755)
    (memory / "observations.md").write_bytes(b"my own notes, no newline\r\n\xff")
    (memory / "2026-11-30.md").write_text("the agent's")
    before = (memory / "observations.md").stat()
    assert machine.run().code == 0
    after = (memory / "observations.md").stat()
    assert (memory / "observations.md").read_bytes() == b"my own notes, no newline\r\n\xff"
    assert (after.st_ino, after.st_mtime_ns, after.st_mode) == (
        before.st_ino,
        before.st_mtime_ns,
        before.st_mode,
    )
    assert (memory / "2026-11-30.md").read_text() == "the agent's"


def test_the_workspace_can_be_named(machine: Machine) -> None:
    ended = machine.run("--workspace", str(machine.home / "ws 100%"))
    assert ended.code == 0
    assert (machine.home / "ws 100%" / "memory" / "observations.md").exists()
    assert not machine.workspace.exists()
    # cron takes a bare % for the end of the line
    assert "ws 100\\%" in ended.result["cron_line"]
    assert "100%" not in ended.result["cron_line"].replace("\\%", "")


def test_it_says_what_is_left_to_do(machine: Machine) -> None:
    ended = machine.run()
    for flags in ("--cron openclaw", "--cron system", "--hook", "--watcher"):
        assert f"setup.py {flags}" in ended.said or f"or {flags}" in ended.said, flags
    assert f"no sessions of OpenClaw in {machine.sessions} yet" in ended.said
    words = shlex.split(ended.result["cron_line"])
    script = str(SKILL / "scripts" / "observer.py")
    assert words[:5] == ["*/15", "*", "*", "*", "*"]
    assert words[5:] == [
        f"HOME={machine.home}",
        *(sys.executable, script, "--trigger", "cron", "--quiet", "--workspace", str(machine.workspace)),
        ">/dev/null",
    ]


def test_variables_that_cron_does_not_see_are_named(machine: Machine) -> None:
    machine.environ = {"OBSERVER_LOOKBACK_MIN": "20", "MEMORY_DIR": str(machine.home / "memory")}
    steps = machine.run().result["left_to_do"]
    named = "write MEMORY_DIR, OBSERVER_LOOKBACK_MIN"
    assert any(named in step for step in steps), steps


def test_a_dry_run_changes_nothing_and_says_what_it_would_make(machine: Machine) -> None:
    ended = machine.run("--dry-run")
    assert (ended.code, ended.result["reason"]) == (0, "dry_run")
    assert str(machine.workspace / "memory" / "observations.md") in ended.result["would_make"]
    assert tree(machine.home) == {"tmp": b"/"}


def test_a_dry_run_without_packages_makes_no_environment(tmp_path: Path, bare_python: str) -> None:
    machine = Machine(tmp_path / "home", bare_python)
    ended = machine.run("--dry-run")
    assert (ended.code, ended.result["packages"]) == (0, "missing")
    assert "they would be installed into" in ended.said
    assert tree(machine.home) == {"tmp": b"/"}


# Checking ------------------------------------------------------------------------------------------------------------


def test_the_check_names_what_is_missing_and_changes_nothing(tmp_path: Path, bare_python: str) -> None:
    machine = Machine(tmp_path / "home", bare_python)
    ended = machine.run("--check")
    assert (ended.code, ended.error["code"]) == (3, "configuration")
    assert ended.result["missing"] == ["the packages", "the memory folder", "observations.md"]
    assert tree(machine.home) == {"tmp": b"/"}


def test_the_check_passes_after_setup_and_changes_nothing(machine: Machine) -> None:
    machine.run()
    before = tree(machine.home)
    ended = machine.run("--check")
    assert (ended.code, ended.result["reason"], ended.result["missing"]) == (0, "in_order", [])
    assert tree(machine.home) == before


def test_the_check_finds_a_log_that_was_removed(machine: Machine) -> None:
    machine.run()
    (machine.workspace / "memory" / "observations.md").unlink()
    ended = machine.run("--check")
    assert (ended.code, ended.result["missing"]) == (3, ["observations.md"])


# Trying it out -------------------------------------------------------------------------------------------------------


NOW = datetime(2026, 11, 30, 12, 0, tzinfo=timezone.utc)
AT_NOON = ("--now", "2026-11-30T12:00:00Z")


@pytest.fixture
def talk(machine: Machine) -> JsonlStore:
    """The sessions of an OpenClaw on the machine."""
    store = JsonlStore(machine.sessions)
    store.start(SID)
    return store


def without_trial(machine: Machine) -> "Mapping[str, bytes]":
    return {name: data for name, data in tree(machine.home).items() if not name.startswith("tmp/")}


def test_on_a_machine_without_openclaw_the_sample_is_observed(machine: Machine) -> None:
    ended = machine.run("--try")
    assert (ended.code, ended.result["source"], ended.result["provider"]) == (0, "sample", "none"), ended.said
    assert "nothing is sent anywhere" in ended.said
    assert "12 June 2027 in Porto" in ended.said
    assert "lol my cat" not in ended.said
    # 24 turns of the user, each with an answer, less the heartbeat poll
    assert ended.result["messages"] == 46
    assert ended.result["observations"] >= 5
    log = Path(ended.result["observations_path"])
    assert "12 June 2027 in Porto" in log.read_text("utf-8")
    assert log.parent.parent.parent == machine.home / "tmp"
    assert without_trial(machine) == {"tmp": b"/"}


def test_the_result_holds_nothing_of_what_was_said(machine: Machine) -> None:
    assert "Porto" not in json.dumps(machine.run("--try").result)


def test_the_trial_shows_the_important_first(machine: Machine) -> None:
    said = machine.run("--try").said
    assert (
        0 < said.index("\U0001f534 important") < said.index("12 June 2027") < said.index("To set up for good")
    )


@pytest.mark.timeout(300)
def test_the_trial_works_in_the_environment_too(machine_with_environment: Machine) -> None:
    ended = machine_with_environment.run("--try")
    assert (ended.code, ended.result["packages"]) == (0, "environment"), ended.said
    assert "12 June 2027 in Porto" in ended.said


def test_the_sessions_of_an_openclaw_are_observed_and_left_alone(machine: Machine, talk: JsonlStore) -> None:
    talk.user(SID, "My brother Luca moves to Trieste on 3 January 2027.", at=NOW - timedelta(days=2))
    talk.user(SID, "The old flat was in Bergamo until 4 May 2026.", at=NOW - timedelta(days=60))
    machine.run()
    before = without_trial(machine)
    ended = machine.run("--try", *AT_NOON)
    assert (ended.code, ended.result["source"], ended.result["messages"]) == (0, "openclaw", 1), ended.said
    assert "Trieste" in ended.said
    assert "Bergamo" not in ended.said
    assert without_trial(machine) == before


def test_older_sessions_are_observed_when_the_last_days_were_silent(
    machine: Machine, talk: JsonlStore
) -> None:
    talk.user(SID, "My brother Luca moves to Trieste on 3 January 2027.", at=NOW - timedelta(days=400))
    ended = machine.run("--try", *AT_NOON)
    assert (ended.result["source"], ended.result["messages"]) == ("openclaw", 1), ended.said
    assert "Trieste" in ended.said


def test_the_sample_is_observed_when_nobody_has_said_anything_yet(machine: Machine, talk: JsonlStore) -> None:
    talk.user(SID, "[OpenClaw heartbeat poll]", at=NOW)
    ended = machine.run("--try", *AT_NOON)
    assert (ended.code, ended.result["source"]) == (0, "sample"), ended.said


def test_a_dry_trial_says_what_would_be_observed(machine: Machine, talk: JsonlStore) -> None:
    talk.user(SID, "My brother Luca moves to Trieste on 3 January 2027.", at=NOW)
    before = tree(machine.home)
    ended = machine.run("--try", "--dry-run", *AT_NOON)
    assert (ended.code, ended.result["source"]) == (0, "openclaw"), ended.said
    assert str(machine.sessions) in ended.said
    assert tree(machine.home) == before


def test_a_key_is_of_no_concern_unless_a_provider_is_asked_for(machine: Machine) -> None:
    with FakeModel("- nothing") as model:
        machine.environ = {"LLM_BASE_URL": model.base_url, "LLM_API_KEY": "k" * 20}
        ended = machine.run("--try")
    assert (ended.code, ended.result["provider"]) == (0, "none"), ended.said
    assert model.requests == []


def test_the_settings_of_the_workspace_reach_the_model_that_is_asked_for(machine: Machine) -> None:
    key = "k3y" * 7

    def answer(_request: Request) -> str:
        return "Date: 2026-09-14\n\n- \U0001f534 12:43 My sister Ana is getting married on 12 June 2027 in Porto\n"

    with FakeModel(answer) as model:
        machine.workspace.mkdir(parents=True)
        settings = f"LLM_BASE_URL={model.base_url}\nLLM_API_KEY={key}\nLLM_MODEL=tiny/one\n"
        (machine.workspace / ".env").write_text(settings)
        ended = machine.run("--try", "--provider", "openai")
    assert (ended.code, ended.result["provider"]) == (0, "openai"), ended.said
    assert {request.headers["authorization"] for request in model.requests} == {f"Bearer {key}"}
    assert set(model.models_asked) == {"tiny/one"}
    assert "12 June 2027 in Porto" in ended.said
    assert not any(key.encode() in data for data in tree(machine.home / "tmp").values())


def test_a_model_that_cannot_be_reached_ends_the_trial_with_the_reason(machine: Machine) -> None:
    machine.environ = {"LLM_BASE_URL": "http://127.0.0.1:9/v1", "LLM_API_KEY": "k" * 20}
    ended = machine.run("--try", "--provider", "openai")
    assert (ended.code, ended.error["code"]) == (5, "model_failed")
    assert "the observer stopped" in ended.said


# requirements.txt ----------------------------------------------------------------------------------------------------


def test_every_line_of_the_real_file_is_understood_and_met_here() -> None:
    wanted = parse_requirements((SKILL / "requirements.txt").read_text("utf-8"))
    assert {"requests", "python-dotenv", "filelock", "zstandard", "tqdm"} <= {one.name for one in wanted}
    assert missing(wanted) == []


def test_a_requirement_for_another_platform_does_not_count() -> None:
    text = 'tqdm>=4\ninotify-simple>=1.3,<3; sys_platform == "linux"  # polling elsewhere\n'
    assert [one.name for one in parse_requirements(text, "darwin")] == ["tqdm"]
    assert [one.module for one in parse_requirements(text, "linux")] == ["tqdm", "inotify_simple"]


def test_a_line_of_another_form_is_an_error() -> None:
    with pytest.raises(ConfigError, match="git"):
        parse_requirements("tqdm @ git+https://example.org/tqdm\n")


@pytest.mark.parametrize(
    ("version", "lacking"),
    [("", True), ("2.9", True), ("3.12", False), ("3.12.0", False), ("3.12.0.post1", False), ("4.99", False),
     ("5.0.0rc1", True), ("5", True), ("dev", True)],
)  # fmt: skip
def test_a_version_outside_of_the_limits_counts_as_missing(version: str, lacking: bool) -> None:
    wanted = parse_requirements("filelock>=3.12,<5")
    assert (missing(wanted, lambda _name: version) == wanted) is lacking
