"""setup.py --hook, --watcher, --cron, --uninstall and what --check says of them, as processes.

OpenClaw, systemd, launchd and cron are programs that answer as the real ones do (fake_host.py); no other is in PATH.
"""

from __future__ import annotations

import configparser
import json
import os
import plistlib
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from setup_testing import ODD_NAME, SKILL, Ended, Host, Machine, mode_of, tree

OBSERVER = str(SKILL / "scripts" / "observer.py")
WATCHER = str(SKILL / "scripts" / "watcher.py")
NIGHT = str(SKILL / "scripts" / "dream_cycle.py")
JOB_NAMES = ["memory-dream-cycle", "memory-dream-patterns", "memory-observer", "memory-reflector"]
HOOK_FILES = ("HOOK.md", "handler.js", "package.json")
BUNDLED = {"boot-md", "bootstrap-extra-files", "command-logger", "compaction-notifier", "session-memory"}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine whose Python has all packages: this one."""
    return Machine(tmp_path / "home")


@pytest.fixture
def odd_machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / (ODD_NAME + " 100% $HOME"))


@pytest.fixture
def host(machine: Machine) -> Host:
    """All programs, OpenClaw 2026.9.6 with its gateway running."""
    return Host(machine).have("openclaw", "systemctl", "loginctl", "crontab")


def outcome(ended: Ended, part: str) -> str:
    return str(ended.result["parts"][part]["outcome"])


def hook_folder(machine: Machine) -> Path:
    return machine.state_dir / "hooks" / "total-recall"


def memories(machine: Machine) -> "list[dict[str, str]]":
    found = json.loads((hook_folder(machine) / "config.json").read_text())
    assert found["schema"] == 1
    return list(found["memories"])


# The hook ------------------------------------------------------------------------------------------------------------


def test_the_hook_is_copied_told_of_the_memory_and_enabled(machine: Machine, host: Host) -> None:
    ended = machine.run("--hook")
    assert (ended.code, outcome(ended, "hook")) == (0, "done"), ended.said
    for name in HOOK_FILES:
        assert (hook_folder(machine) / name).read_bytes() == (
            SKILL / "hooks" / "total-recall" / name
        ).read_bytes()
    workspace = str(machine.workspace)
    entry = {"workspace": workspace, "agent_id": "main", "memory_dir": f"{workspace}/memory"}
    assert memories(machine) == [entry]
    assert host.loaded == {"total-recall"}
    assert mode_of(hook_folder(machine)) == 0o700
    assert {mode_of(path) for path in hook_folder(machine).iterdir()} == {0o600}
    assert not any("setup.py --hook" in step for step in ended.result["left_to_do"])


def test_a_second_install_of_the_hook_changes_nothing_and_says_so(machine: Machine, host: Host) -> None:
    machine.run("--hook")
    host.changes()
    before = tree(hook_folder(machine))
    ended = machine.run("--hook")
    assert (ended.code, ended.result["reason"], outcome(ended, "hook")) == (0, "nothing_to_do", "unchanged")
    assert "hook: in order" in ended.said
    assert tree(hook_folder(machine)) == before
    assert host.changes() == []


def test_a_dry_run_installs_no_part(machine: Machine, host: Host) -> None:
    before = tree(machine.home)
    ended = machine.run("--hook", "--watcher", "--cron", "openclaw", "--dry-run")
    assert (ended.code, ended.result["reason"]) == (0, "dry_run"), ended.said
    assert {outcome(ended, part) for part in ("hook", "watcher", "cron")} == {"would_change"}
    assert tree(machine.home) == before
    assert host.changes() == []


def test_another_handler_of_a_newer_skill_is_copied_and_a_restart_asked_for(
    machine: Machine, host: Host
) -> None:
    machine.run("--hook")
    (hook_folder(machine) / "handler.js").write_text("// an older one\n")
    assert machine.run("--check").result["hook"] == "outdated"
    host.changes()
    ended = machine.run("--hook")
    assert ended.result["parts"]["hook"]["written"] == ["handler.js"]
    assert "openclaw gateway restart" in ended.said
    assert host.changes() == []


def test_two_workspaces_and_two_agents_are_told_to_one_hook(machine: Machine, host: Host) -> None:
    machine.run("--hook")
    machine.run("--hook", "--workspace", str(machine.home / "ws 2"))
    machine.environ = {"OPENCLAW_AGENT_ID": "work"}
    machine.run("--hook", "--workspace", str(machine.home / "ws 2"))
    found = [(Path(one["workspace"]).name, one["agent_id"]) for one in memories(machine)]
    assert found == [("workspace", "main"), ("ws 2", "main"), ("ws 2", "work")]


def test_a_memory_that_moves_is_told_anew_in_its_place(machine: Machine, host: Host) -> None:
    machine.run("--hook")
    machine.run("--hook", "--workspace", str(machine.home / "other"))
    machine.environ = {"MEMORY_DIR": str(machine.home / "notes")}
    machine.run("--hook")
    assert [Path(one["memory_dir"]).name for one in memories(machine)] == ["notes", "memory"]


def test_a_workspace_that_is_gone_is_forgotten_with_a_word(machine: Machine, host: Host) -> None:
    gone = machine.home / "gone"
    machine.run("--hook", "--workspace", str(gone))
    shutil.rmtree(gone)
    ended = machine.run("--hook")
    assert f"{gone} is gone" in ended.said
    assert [Path(one["workspace"]).name for one in memories(machine)] == ["workspace"]


def test_a_workspace_that_is_a_link_is_told_by_its_real_path(machine: Machine, host: Host) -> None:
    (machine.home / "real").mkdir()
    (machine.home / "link").symlink_to(machine.home / "real")
    machine.run("--hook", "--workspace", str(machine.home / "link"))
    assert [one["workspace"] for one in memories(machine)] == [str(machine.home / "real")]


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"memories": 5}', '{"memories": [5, {}]}'])
def test_a_damaged_file_of_the_hook_is_mended_and_kept_aside(
    machine: Machine, host: Host, damage: str
) -> None:
    machine.run("--hook")
    (hook_folder(machine) / "config.json").write_text(damage)
    assert machine.run("--check").result["hook"] == "damaged"
    dry = machine.run("--hook", "--dry-run")
    assert (outcome(dry, "hook"), "would be kept" in dry.said) == ("would_change", True)
    assert not (hook_folder(machine) / "config.damaged").exists()
    ended = machine.run("--hook")
    assert (ended.code, outcome(ended, "hook")) == (0, "done")
    assert "Every other workspace needs once more: setup.py --hook\n" in ended.said
    assert [one["agent_id"] for one in memories(machine)] == ["main"]
    assert (hook_folder(machine) / "config.damaged").read_text() == damage
    assert outcome(machine.run("--hook"), "hook") == "unchanged"


def cut_short(machine: Machine) -> bytes:
    """The hook's file as a crash may leave it; returns what is left."""
    path = hook_folder(machine) / "config.json"
    path.write_bytes(path.read_bytes()[:-20])
    return path.read_bytes()


def test_the_other_workspaces_in_a_damaged_file_are_named(machine: Machine, host: Host) -> None:
    other = str(machine.home / 'ws "2"')
    machine.run("--hook")
    machine.run("--hook", "--workspace", other)
    machine.environ = {"OPENCLAW_AGENT_ID": "work"}
    machine.run("--hook", "--workspace", other)
    first = cut_short(machine)
    said = machine.run("--hook", "--workspace", other).said
    assert f"it named {machine.workspace} (agent main), {other} (agent main)\n" in said
    second = cut_short(machine)
    machine.run("--hook")
    assert (hook_folder(machine) / "config.damaged").read_bytes() == first + b"\n" + second


@pytest.mark.parametrize("mended", [True, False])
def test_a_damaged_file_is_no_reason_to_take_the_hook_from_the_others(
    machine: Machine, host: Host, mended: bool
) -> None:
    other = str(machine.home / "other")
    machine.run("--hook", "--workspace", other)
    machine.run("--hook")
    left = cut_short(machine)
    if mended:
        machine.run("--hook")
    dry = machine.run("--uninstall", "--dry-run")
    assert outcome(dry, "hook") == "would_change"
    ended = machine.run("--uninstall")
    assert (ended.code, outcome(ended, "hook")) == (0, "done"), ended.said
    assert "it stays for the workspaces named in" in ended.said
    assert "rm -r" in ended.said
    assert (memories(machine), host.loaded) == ([], {"total-recall"})
    assert (hook_folder(machine) / "config.damaged").read_bytes() == left
    assert outcome(machine.run("--uninstall"), "hook") == "unchanged"
    machine.run("--hook", "--workspace", other)
    assert [Path(one["workspace"]).name for one in memories(machine)] == ["other"]


def test_without_openclaw_the_command_that_is_left_is_said(machine: Machine) -> None:
    ended = machine.run("--hook")
    assert (ended.code, ended.result["parts"]["hook"]["enabled"]) == (0, None), ended.said
    assert "openclaw hooks enable total-recall" in ended.said
    assert ended.result["left_to_do"][0].endswith("PATH: openclaw hooks enable total-recall")
    assert len(memories(machine)) == 1


EVERYTHING = {"enabled": True}
ONE_NAMED = {"enabled": True, "entries": {"session-memory": {"enabled": True}}}
ONE_WITHOUT_ALL = {"entries": {"session-memory": {"enabled": True}}}
ONE_OFF = {"enabled": True, "entries": {"boot-md": {"enabled": False}}}


@pytest.mark.parametrize("version", ["2026.3.13", "2026.7.1", "2026.8.1", "2026.9.6"])
@pytest.mark.parametrize("internal", [None, {}, EVERYTHING, ONE_NAMED, ONE_WITHOUT_ALL, ONE_OFF])
def test_the_other_hooks_stay_as_they_were(
    machine: Machine, host: Host, version: str, internal: object
) -> None:
    host.set(version=version, internal=internal)
    before = host.loaded - {"total-recall"}
    assert machine.run("--hook").code == 0
    assert host.loaded == before | {"total-recall"}
    assert machine.run("--uninstall").code == 0
    assert host.loaded == before


def test_in_a_new_openclaw_the_first_name_would_have_been_a_list_of_all() -> None:
    """The stand-in behaves as the real one: else the test above proves nothing."""
    import fake_host

    new, old = fake_host.State(version="2026.9.6"), fake_host.State(version="2026.7.1")
    ours = {"enabled": True, "entries": {"total-recall": {"enabled": True}}}
    new["internal"] = old["internal"] = ours
    assert fake_host.loaded(new) == {"total-recall"}
    assert fake_host.loaded(old) == {"total-recall", *BUNDLED}


def test_hooks_that_are_switched_off_as_a_whole_are_not_switched_on(machine: Machine, host: Host) -> None:
    host.set(internal={"enabled": False})
    ended = machine.run("--hook")
    assert (ended.code, outcome(ended, "hook")) == (3, "failed")
    assert "switched off" in ended.error["message"]
    assert host.state["internal"] == {"enabled": False}


@pytest.mark.parametrize(
    ("version", "prompt", "refused"),
    [("2026.7.1", True, False), ("2026.9.6", False, True), ("unknown", True, True)],
)
def test_the_flush_prompt_is_offered_to_hosts_that_take_it(
    machine: Machine, host: Host, version: str, prompt: bool, refused: bool
) -> None:
    host.set(version=version)
    said = machine.run("--hook").said
    assert ('"memoryFlush"' in said) is prompt
    assert ("no memoryFlush prompt" in said) is refused


def test_the_flush_prompt_is_one_that_the_observer_knows_as_a_machines() -> None:
    from _setup.flush import PROMPT, settings
    from _transcripts.machine import is_machine_prompt

    assert settings()["agents"]["defaults"]["compaction"]["memoryFlush"]["prompt"] == PROMPT
    assert is_machine_prompt(PROMPT)


# The watcher ---------------------------------------------------------------------------------------------------------


def unit(machine: Machine, name: str = "total-recall-watcher.service") -> Path:
    return machine.home / ".config" / "systemd" / "user" / name


def settings_of(path: Path) -> configparser.ConfigParser:
    """A unit file's settings; of those that repeat, the last."""
    found = configparser.ConfigParser(interpolation=None, strict=False)
    found.optionxform = str  # type: ignore[assignment, method-assign]
    found.read_string(path.read_text("utf-8"))
    return found


def test_the_watcher_becomes_a_service_of_the_user(machine: Machine, host: Host) -> None:
    ended = machine.run("--watcher")
    assert (ended.code, outcome(ended, "watcher")) == (0, "done"), ended.said
    service = settings_of(unit(machine))["Service"]
    assert shlex.split(service["ExecStart"]) == [
        sys.executable,
        WATCHER,
        "--workspace",
        str(machine.workspace),
    ]
    assert service["NoNewPrivileges"] == "yes"
    assert service["ProtectSystem"] == "strict"
    for folder in (machine.workspace / "memory", machine.workspace / "logs"):
        assert f'ReadWritePaths="-{folder}"\n' in unit(machine).read_text()
    name = "total-recall-watcher.service"
    assert host.changes() == [
        ["systemctl", "--user", "daemon-reload"],
        ["systemctl", "--user", "enable", "--now", name],
    ]
    assert machine.run("--check").result["watcher"] == "running"


def test_a_log_that_is_a_link_can_be_replaced_where_it_really_is(machine: Machine, host: Host) -> None:
    notes = machine.home / "notes 100%"
    notes.mkdir()
    (notes / "log.md").write_text("")
    machine.run("--watcher")
    assert "notes" not in unit(machine).read_text()
    (machine.workspace / "memory" / "observations.md").unlink()
    (machine.workspace / "memory" / "observations.md").symlink_to(notes / "log.md")
    assert machine.run("--check").result["watcher"] == "outdated"
    machine.run("--watcher")
    assert f'ReadWritePaths="-{machine.home}/notes 100%%"\n' in unit(machine).read_text()


def test_a_second_install_of_the_watcher_changes_nothing(machine: Machine, host: Host) -> None:
    machine.run("--watcher")
    host.changes()
    before = unit(machine).stat()
    ended = machine.run("--watcher")
    assert (outcome(ended, "watcher"), ended.result["reason"]) == ("unchanged", "nothing_to_do")
    assert host.changes() == []
    assert unit(machine).stat().st_ino == before.st_ino


def test_a_unit_that_changes_is_written_anew_and_restarted(machine: Machine, host: Host) -> None:
    machine.run("--watcher")
    host.changes()
    machine.environ = {"SESSIONS_DIR": str(machine.home / "elsewhere")}
    assert machine.run("--check").result["watcher"] == "outdated"
    assert outcome(machine.run("--watcher"), "watcher") == "done"
    assert f'Environment="SESSIONS_DIR={machine.home}/elsewhere"' in unit(machine).read_text()
    assert [call[2] for call in host.changes()] == ["daemon-reload", "enable", "restart"]


def test_a_watcher_that_was_stopped_is_started_again(machine: Machine, host: Host) -> None:
    machine.run("--watcher")
    host.set(active=[])
    assert machine.run("--check").result["watcher"] == "stopped"
    assert outcome(machine.run("--watcher"), "watcher") == "done"
    assert machine.run("--check").result["watcher"] == "running"


def test_services_of_two_workspaces_and_two_agents_have_names_of_their_own(
    machine: Machine, host: Host
) -> None:
    machine.run("--watcher")
    machine.run("--watcher", "--workspace", str(machine.home / "other"))
    machine.environ = {"OPENCLAW_AGENT_ID": "work"}
    machine.run("--watcher", "--workspace", str(machine.home / "other"))
    names = sorted(path.name for path in unit(machine).parent.iterdir())
    assert names[2] == "total-recall-watcher.service"
    assert re.fullmatch(r"total-recall-watcher-main-[0-9a-f]{8}\.service", names[0])
    assert re.fullmatch(r"total-recall-watcher-work-[0-9a-f]{8}\.service", names[1])
    assert 'Environment="OPENCLAW_AGENT_ID=work"' in unit(machine, names[1]).read_text()


@pytest.mark.parametrize("lingers", [True, False])
def test_lingering_is_looked_at_and_the_one_command_is_said(
    machine: Machine, host: Host, lingers: bool
) -> None:
    host.set(linger=lingers)
    ended = machine.run("--watcher")
    assert ended.result["parts"]["watcher"]["lingering"] is lingers
    assert ("loginctl enable-linger " in ended.said) is not lingers
    assert machine.run("--check").result["lingering"] is lingers


@pytest.mark.parametrize("programs", [(), ("systemctl",)])
def test_without_a_service_manager_the_line_to_run_by_hand_is_said(
    machine: Machine, programs: "tuple[str]"
) -> None:
    host = Host(machine).have(*programs).set(user_manager=False)
    ended = machine.run("--watcher")
    assert (ended.code, outcome(ended, "watcher")) == (3, "failed")
    assert (
        f"{sys.executable} {WATCHER} --workspace {machine.workspace} >/dev/null 2>&1 &" in ended.error["hint"]
    )
    assert "nohup" in ended.error["hint"]
    assert ("systemd has no manager" in ended.error["message"]) is bool(programs)
    assert not unit(machine).exists()
    assert host.changes() == []


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
def test_systemd_understands_the_unit_whatever_the_folders_are_called(odd_machine: Machine) -> None:
    Host(odd_machine).have("systemctl", "loginctl")
    odd_machine.environ = {"OPENCLAW_STATE_DIR": str(odd_machine.home / 'a\\b "c" %h')}
    assert odd_machine.run("--watcher", "--workspace", str(odd_machine.home / "ws")).code == 0
    path = next(unit(odd_machine).parent.iterdir())
    done = subprocess.run(
        [str(shutil.which("systemd-analyze")), "--user", "verify", str(path)],
        env={
            "HOME": str(odd_machine.home),
            "PATH": "/usr/bin:/bin",
            "XDG_RUNTIME_DIR": str(odd_machine.home / "tmp"),
        },
        capture_output=True,
        text=True,
    )
    complaints = [line for line in done.stderr.splitlines() if "total-recall" in line]
    assert (done.returncode, complaints) == (0, []), done.stderr


def test_words_are_quoted_for_systemd() -> None:
    from _setup.commands import Command
    from _setup.service import exec_line, quoted

    assert quoted('a "b" \\ 50% \u00fc\t') == '"a \\"b\\" \\\\ 50%% \u00fc\\x09"'
    assert exec_line(Command(("/p q/python", "$x"), {})) == '"/p q/python" "$$x"'
    # $ is no sign of a variable in the program's path, but it is in the name that it is called by.
    assert exec_line(Command(("/p$q/python", "s"), {})) == '@"/p$q/python" "/p$$q/python" "s"'


def test_on_macos_it_becomes_a_launchd_agent(odd_machine: Machine) -> None:
    machine = odd_machine
    host = Host(machine).have("launchctl")
    ended = machine.run("--watcher")
    assert (ended.code, outcome(ended, "watcher")) == (0, "done"), ended.said
    path = machine.home / "Library" / "LaunchAgents" / "ai.total-recall.watcher.plist"
    found = plistlib.loads(path.read_bytes())
    assert found["Label"] == "ai.total-recall.watcher"
    assert found["ProgramArguments"] == [
        sys.executable,
        WATCHER,
        "--workspace",
        str(machine.workspace),
        "--quiet",
    ]
    assert found["EnvironmentVariables"] == {"HOME": str(machine.home)}
    assert found["Umask"] == 0o077
    assert host.changes() == [["launchctl", "bootstrap", f"gui/{os.getuid()}", str(path)]]
    assert outcome(machine.run("--watcher"), "watcher") == "unchanged"
    assert machine.run("--check").result["watcher"] == "running"


def test_a_launchd_agent_that_changes_is_loaded_anew_even_when_the_old_one_leaves_slowly(
    machine: Machine,
) -> None:
    host = Host(machine).have("launchctl")
    machine.run("--watcher", "--workspace", str(machine.home / "other"))
    host.changes()
    machine.environ = {"OBSERVER_LINE_THRESHOLD": "9", "MEMORY_DIR": str(machine.home / "notes")}
    assert outcome(machine.run("--watcher", "--workspace", str(machine.home / "other")), "watcher") == "done"
    assert [call[1] for call in host.changes()] == ["bootout", "bootstrap", "bootstrap"]
    assert machine.run("--uninstall", "--workspace", str(machine.home / "other")).code == 0
    assert list((machine.home / "Library" / "LaunchAgents").iterdir()) == []
    assert host.state["active"] == []


# OpenClaw's cron -----------------------------------------------------------------------------------------------------


def jobs_by_name(host: Host) -> "dict[str, dict[str, object]]":
    return {job["name"]: job for job in host.state.get("jobs", [])}


def test_the_jobs_are_declared_to_openclaw_as_commands(machine: Machine, host: Host) -> None:
    ended = machine.run("--cron", "openclaw")
    assert (ended.code, outcome(ended, "cron")) == (0, "done"), ended.said
    observer, reflector = (jobs_by_name(host)[name] for name in ("memory-observer", "memory-reflector"))
    assert observer["declarationKey"] == "total-recall/main/observer"
    assert observer["schedule"] == {"kind": "every", "everyMs": 900_000}
    workspace = str(machine.workspace)
    argv = [sys.executable, OBSERVER, "--trigger", "cron", "--quiet", "--workspace", workspace]
    assert observer["payload"] == {"kind": "command", "argv": argv, "env": {}, "timeoutSeconds": 1800}
    assert reflector["schedule"] == {"kind": "every", "everyMs": 3_600_000}
    assert machine.run("--check").result["cron"] == "openclaw"


def test_the_night_and_the_weekly_patterns_are_commands_too(machine: Machine, host: Host) -> None:
    machine.run("--cron", "openclaw")
    night, patterns = (jobs_by_name(host)[name] for name in ("memory-dream-cycle", "memory-dream-patterns"))
    assert night["schedule"] == {"kind": "cron", "expr": "30 3 * * *", "staggerMs": 0}
    assert patterns["schedule"] == {"kind": "cron", "expr": "10 4 * * 0", "staggerMs": 0}
    for job, command in ((night, "run"), (patterns, "patterns")):
        words = job["payload"]["argv"]  # type: ignore[index]
        assert words == [sys.executable, NIGHT, command, "--quiet", "--workspace", str(machine.workspace)]
        done = subprocess.run(words, env=machine.variables, capture_output=True)
        assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "ok"), done.stderr


def test_openclaw_gives_the_observer_the_time_that_its_reflector_may_take_and_its_own(
    machine: Machine, host: Host
) -> None:
    from observer import REFLECT_TIMEOUT_SECONDS
    from session_recovery import OBSERVER_TIMEOUT_SECONDS

    machine.run("--cron", "openclaw")
    given = jobs_by_name(host)["memory-observer"]["payload"]["timeoutSeconds"]  # type: ignore[index]
    assert given >= REFLECT_TIMEOUT_SECONDS + OBSERVER_TIMEOUT_SECONDS


def test_a_job_that_an_older_setup_did_not_declare_is_missed_by_the_check(
    machine: Machine, host: Host
) -> None:
    machine.run("--cron", "openclaw")
    host.set(jobs=[job for job in host.state["jobs"] if "dream" not in job["name"]])
    ended = machine.run("--check")
    assert ended.result["cron"] == "outdated"
    assert "without memory-dream-cycle, memory-dream-patterns (setup.py --cron openclaw)" in ended.said
    assert outcome(machine.run("--cron", "openclaw"), "cron") == "done"
    assert machine.run("--check").result["cron"] == "openclaw"


def test_declaring_again_changes_nothing_and_another_place_is_an_update(machine: Machine, host: Host) -> None:
    machine.run("--cron", "openclaw")
    jobs = host.state["jobs"]
    ended = machine.run("--cron", "openclaw")
    assert (outcome(ended, "cron"), ended.result["reason"], host.state["jobs"]) == (
        "unchanged",
        "nothing_to_do",
        jobs,
    )
    machine.environ = {"SESSIONS_DIR": str(machine.home / "elsewhere")}
    ended = machine.run("--cron", "openclaw")
    assert ended.result["parts"]["cron"]["jobs"] == dict.fromkeys(JOB_NAMES, "changed")
    assert [job["id"] for job in host.state["jobs"]] == [job["id"] for job in jobs]
    assert host.state["jobs"][0]["payload"]["env"] == {"SESSIONS_DIR": str(machine.home / "elsewhere")}


@pytest.mark.parametrize("version", ["2026.3.13", "2026.9.6"])
def test_a_second_workspace_does_not_take_the_first_ones_jobs(
    machine: Machine, host: Host, version: str
) -> None:
    host.set(version=version)
    other = str(machine.home / "other")
    machine.run("--cron", "openclaw")
    first = host.state["jobs"]
    machine.run("--cron", "openclaw", "--workspace", other)
    assert [job for job in host.state["jobs"] if other not in json.dumps(job)] == first
    names = sorted(job["name"] for job in host.state["jobs"] if job not in first)
    assert [re.sub(r"[0-9a-f]{8}$", "#", name) for name in names] == [f"{name}-main-#" for name in JOB_NAMES]
    machine.run("--uninstall", "--workspace", other)
    assert host.state["jobs"] == first


def declared_before(workspace: Path, agent: str = "main", key: bool = True) -> "dict[str, object]":
    """The observer's job as setup declared it before it told workspaces apart."""
    argv = [sys.executable, OBSERVER, "--trigger", "cron", "--quiet", "--workspace", str(workspace)]
    job: "dict[str, object]" = {
        "id": f"old-{workspace.name}-{agent}",
        "name": "memory-observer" if agent == "main" else f"memory-observer-{agent}",
        "agentId": agent,
        "schedule": {"kind": "every", "everyMs": 900_000},
        "payload": {"kind": "command", "argv": argv, "env": {}, "timeoutSeconds": 900},
    }
    return {**job, "declarationKey": f"total-recall/{agent}/observer"} if key else job


@pytest.mark.parametrize(
    "words",
    [
        ["python3", "/skills/other/scripts/watch.py", "--quiet", "--workspace", "{workspace}"],
        ["python3", "/skills/other/scripts/observer.py", "--workspace", "{workspace}", "--quiet"],
        ["sh", "-lc", "python3 /skills/other/scripts/observer.py --workspace {workspace}"],
    ],
)
def test_another_skills_job_of_the_same_name_stays(machine: Machine, host: Host, words: "list[str]") -> None:
    argv = [word.format(workspace=machine.workspace) for word in words]
    job = {**declared_before(machine.workspace, key=False), "payload": {"kind": "command", "argv": argv}}
    host.set(jobs=[job])
    assert "there is another job memory-observer" in machine.run("--cron", "openclaw").said
    assert job in host.state["jobs"] and len(host.state["jobs"]) == 5
    machine.run("--uninstall")
    assert host.state["jobs"] == [job]


@pytest.mark.parametrize("agent", ["main", "work"])
@pytest.mark.parametrize("key", [True, False])
def test_the_job_of_an_older_setup_is_replaced_and_not_doubled(
    machine: Machine, host: Host, agent: str, key: bool
) -> None:
    other = machine.home / "other"
    machine.environ = {"OPENCLAW_AGENT_ID": agent}
    host.set(jobs=[declared_before(other, agent, key)])
    assert machine.run("--check", "--workspace", str(other)).result["cron"] == "outdated"
    ended = machine.run("--cron", "openclaw", "--workspace", str(other))
    states = ended.result["parts"]["cron"]["jobs"].values()
    assert sorted(states) == ["added", "added", "added", "changed"]
    assert len(host.state["jobs"]) == 4
    assert not any(job["id"].startswith("old") for job in host.state["jobs"])
    assert "there is another job" not in ended.said
    assert outcome(machine.run("--cron", "openclaw", "--workspace", str(other)), "cron") == "unchanged"
    assert machine.run("--check", "--workspace", str(other)).result["cron"] == "openclaw"


def test_the_default_workspace_keeps_the_job_of_an_older_setup(machine: Machine, host: Host) -> None:
    host.set(jobs=[declared_before(machine.workspace)])
    machine.run("--cron", "openclaw")
    observers = [job for job in host.state["jobs"] if job["name"] == "memory-observer"]
    assert [(job["id"], job["payload"]["timeoutSeconds"]) for job in observers] == [
        ("old-workspace-main", 1800)
    ]


def test_a_job_from_before_openclaw_kept_keys_is_not_doubled(machine: Machine, host: Host) -> None:
    host.set(version="2026.3.13")
    machine.run("--cron", "openclaw")
    host.set(version="2026.9.6")
    assert outcome(machine.run("--cron", "openclaw"), "cron") == "done"
    assert sorted(job["name"] for job in host.state["jobs"]) == JOB_NAMES
    assert all(job["payload"]["kind"] == "command" for job in host.state["jobs"])


def test_who_loses_a_job_to_the_default_workspace_is_named(machine: Machine, host: Host) -> None:
    other = machine.home / "the other"
    host.set(jobs=[declared_before(other)])
    assert outcome(machine.run("--uninstall"), "openclaw_cron") == "unchanged"
    said = machine.run("--cron", "openclaw").said
    assert f"memory-observer was for '{other}'" in said
    assert f"setup.py --cron openclaw --workspace '{other}'\n" in said
    machine.run("--cron", "openclaw", "--workspace", str(other))
    assert len(host.state["jobs"]) == 8


def test_an_openclaw_without_commands_is_asked_for_a_turn_with_the_flags_that_it_has(
    machine: Machine, host: Host
) -> None:
    host.set(version="2026.3.13")
    ended = machine.run("--cron", "openclaw")
    assert (ended.code, ended.result["parts"]["cron"]["without_model"]) == (0, False), ended.said
    message = str(jobs_by_name(host)["memory-observer"]["payload"]["message"])  # type: ignore[index]
    assert message.startswith("Run this one command")
    assert f"{sys.executable} {OBSERVER} --trigger cron --quiet --workspace {machine.workspace}" in message
    ids = [job["id"] for job in host.state["jobs"]]
    assert outcome(machine.run("--cron", "openclaw"), "cron") == "unchanged"
    assert [job["id"] for job in host.state["jobs"]] == ids
    jobs = host.state["jobs"]
    jobs[0]["payload"]["timeoutSeconds"] = 900
    host.set(jobs=jobs)
    assert machine.run("--cron", "openclaw").result["parts"]["cron"]["jobs"]["memory-observer"] == "changed"
    assert sorted(job["name"] for job in host.state["jobs"]) == JOB_NAMES
    assert {job["payload"]["timeoutSeconds"] for job in host.state["jobs"]} == {1800, 3600, 900}
    assert set(ids) - {job["id"] for job in host.state["jobs"]} == {ids[0]}


def test_without_declaration_keys_a_changed_job_takes_the_old_ones_place(
    machine: Machine, host: Host
) -> None:
    host.set(version="2026.3.13")
    machine.run("--cron", "openclaw")
    machine.environ = {"SESSIONS_DIR": str(machine.home / "elsewhere")}
    machine.run("--cron", "openclaw")
    assert sorted(job["name"] for job in host.state["jobs"]) == JOB_NAMES
    assert all(str(machine.home / "elsewhere") in json.dumps(job) for job in host.state["jobs"])


def test_a_job_that_a_person_made_under_the_same_name_is_named_and_left(machine: Machine, host: Host) -> None:
    own = {
        "id": "mine",
        "name": "memory-observer",
        "payload": {"kind": "command", "argv": ["sh", "-lc", "old.sh"]},
    }
    host.set(jobs=[own])
    assert "openclaw cron rm mine" in machine.run("--cron", "openclaw").said
    machine.run("--uninstall")
    assert host.state["jobs"] == [own]


@pytest.mark.parametrize("version", ["2026.7.1", "2026.9.6"])
def test_a_gateway_that_is_not_running_is_named_with_the_ways_out(
    machine: Machine, host: Host, version: str
) -> None:
    host.set(version=version, gateway=False)
    ended = machine.run("--cron", "openclaw")
    assert (ended.code, outcome(ended, "cron")) == (3, "failed")
    assert "that is not running" in ended.error["message"]
    assert "openclaw gateway run" in ended.error["hint"]
    assert "--cron system" in ended.error["hint"]
    assert machine.run("--check").result["cron"] == "unknown"


def test_without_openclaw_its_cron_is_an_error_that_names_the_other(machine: Machine) -> None:
    ended = machine.run("--cron", "openclaw")
    assert (ended.code, ended.error["code"]) == (3, "configuration")
    assert "--cron system" in ended.error["hint"]


# The system's cron ---------------------------------------------------------------------------------------------------

OWN_LINES = b"MAILTO=nora@example.org\n\n# backup\n0 4 * * * /bin/true \xff 100\\%\n"


def lines_for(workspace: Path, before: str = "") -> "list[str]":
    """The lines of a memory, as they stand in the crontab."""
    run = f"{before}{sys.executable} {SKILL}/scripts/"
    return [
        f"*/15 * * * * {run}observer.py --trigger cron --quiet --workspace {workspace} >/dev/null",
        f"7 * * * * {run}reflector.py --quiet --workspace {workspace} >/dev/null",
        f"30 3 * * * {run}dream_cycle.py run --quiet --workspace {workspace} >/dev/null",
        f"10 4 * * 0 {run}dream_cycle.py patterns --quiet --workspace {workspace} >/dev/null",
    ]


def test_the_lines_stand_between_marks_and_the_others_stay_byte_for_byte(
    machine: Machine, host: Host
) -> None:
    (host.place / "crontab").write_bytes(OWN_LINES)
    ended = machine.run("--cron", "system")
    assert (ended.code, outcome(ended, "cron")) == (0, "done"), ended.said
    assert host.crontab.startswith(OWN_LINES)
    block = host.crontab[len(OWN_LINES) :].decode().splitlines()
    assert re.fullmatch(r"# total-recall begin main [0-9a-f]{8}", block[0])
    assert block[1:-1] == lines_for(machine.workspace, f"HOME={machine.home} ")
    assert block[-1] == block[0].replace("begin", "end")
    host.changes()
    assert outcome(machine.run("--cron", "system"), "cron") == "unchanged"
    assert host.changes() == []
    assert machine.run("--check").result["cron"] == "system"
    assert machine.run("--uninstall").code == 0
    assert host.crontab == OWN_LINES


def test_blocks_of_two_memories_do_not_meet_and_an_old_one_is_renewed_in_its_place(
    machine: Machine, host: Host
) -> None:
    other = str(machine.home / "other")
    machine.run("--cron", "system", "--workspace", other)
    machine.run("--cron", "system")
    theirs = host.crontab
    (host.place / "crontab").write_bytes(theirs.replace(b"*/15", b"*/45"))
    assert machine.run("--check").result["cron"] == "outdated"
    assert outcome(machine.run("--cron", "system"), "cron") == "done"
    assert host.crontab.count(b"*/15") == host.crontab.count(b"*/45") == 1
    machine.run("--uninstall")
    assert b"*/45" in host.crontab and b"*/15" not in host.crontab
    assert host.crontab.decode().count(other) == 4


@pytest.mark.parametrize("cut", ["begin", "end"])
def test_a_block_that_lost_a_mark_is_left_to_the_person(machine: Machine, host: Host, cut: str) -> None:
    machine.run("--cron", "system")
    damaged = b"".join(
        line for line in host.crontab.splitlines(True) if f"total-recall {cut}".encode() not in line
    )
    (host.place / "crontab").write_bytes(damaged)
    ended = machine.run("--cron", "system")
    assert (ended.code, outcome(ended, "cron")) == (3, "failed")
    assert "crontab -e" in ended.error["hint"]
    assert host.crontab == damaged


def test_a_line_that_a_person_wrote_for_the_observer_is_named(machine: Machine, host: Host) -> None:
    (host.place / "crontab").write_text(
        f"*/5 * * * * /usr/bin/python3 {OBSERVER} --trigger cron\n# {OBSERVER}\n"
    )
    assert "another line in the crontab runs the observer" in machine.run("--cron", "system").said
    assert host.crontab.startswith(b"*/5 * * * * ")


def test_without_crontab_it_is_an_error_that_names_the_others(machine: Machine) -> None:
    ended = machine.run("--cron", "system")
    assert (ended.code, ended.error["code"]) == (3, "configuration")
    assert "--cron print" in ended.error["hint"]


def test_the_line_works_in_the_empty_environment_of_cron_whatever_the_folders_are_called(
    odd_machine: Machine,
) -> None:
    machine = odd_machine
    host = Host(machine).have("crontab")
    machine.environ = {"OPENCLAW_STATE_DIR": str(machine.home / ".openclaw 100%")}
    machine.run("--cron", "system")
    line = next(line for line in host.crontab.decode().splitlines() if "observer.py" in line)
    assert not re.search(r"(?<!\\)%", line)
    # As cron does: the five fields aside, \% is a per cent sign, and the rest goes to the shell.
    command = line.split(" ", 5)[5].replace("\\%", "%").replace(">/dev/null", "")
    (machine.home / ".openclaw 100%" / "agents" / "main" / "sessions").mkdir(parents=True)
    done = subprocess.run(
        ["/usr/bin/env", "-i", "/bin/sh", "-c", command],
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    told = json.loads(done.stdout)
    assert (done.returncode, told["trigger"], done.stderr) == (0, "cron", b""), told
    assert told["observations_path"] == str(
        machine.home / ".openclaw 100%" / "workspace" / "memory" / "observations.md"
    )


def test_printing_schedules_nothing(machine: Machine, host: Host) -> None:
    ended = machine.run("--cron", "print")
    assert ended.result["parts"]["cron"]["lines"] == lines_for(machine.workspace, f"HOME={machine.home} ")
    said = next(line for line in ended.said.splitlines() if line.startswith("  openclaw cron add"))
    words = shlex.split(said)
    assert json.loads(words[words.index("--command-argv") + 1])[:2] == [sys.executable, OBSERVER]
    assert words[words.index("--declaration-key") + 1] == "total-recall/main/observer"
    assert host.changes() == []
    assert not (host.place / "crontab").exists()


def test_with_openclaws_own_model_the_jobs_get_a_path_to_it(machine: Machine, host: Host) -> None:
    machine.workspace.mkdir(parents=True)
    (machine.workspace / ".env").write_text("LLM_PROVIDER=openclaw\n")
    machine.run("--cron", "system")
    assert f"PATH={machine.programs}:/bin:/usr/bin " in host.crontab.decode()


# All together --------------------------------------------------------------------------------------------------------


def test_one_part_that_fails_stops_no_other(machine: Machine, host: Host) -> None:
    host.set(user_manager=False)
    ended = machine.run("--hook", "--watcher", "--cron", "openclaw")
    assert ended.code == 3
    found = {part: outcome(ended, part) for part in ("hook", "watcher", "cron")}
    assert found == {"hook": "done", "watcher": "failed", "cron": "done"}
    assert ended.error["message"].startswith("watcher: ")
    assert len(host.state["jobs"]) == 4


def test_uninstall_takes_all_away_but_memory_and_can_be_repeated(machine: Machine, host: Host) -> None:
    machine.run("--hook", "--watcher", "--cron", "openclaw")
    machine.run("--cron", "system")
    (machine.workspace / ".env").write_text("LLM_PROVIDER=none\n")
    memory = tree(machine.workspace / "memory")
    dry = machine.run("--uninstall", "--dry-run")
    assert {part["outcome"] for part in dry.result["parts"].values()} == {"would_change"}
    ended = machine.run("--uninstall")
    assert (ended.code, ended.result["reason"]) == (0, "uninstalled"), ended.said
    assert {part["outcome"] for part in ended.result["parts"].values()} == {"done"}
    assert not hook_folder(machine).exists()
    assert not unit(machine).exists()
    assert (host.state["jobs"], host.state["active"], host.crontab) == ([], [], b"")
    assert tree(machine.workspace / "memory") == memory
    assert (machine.workspace / ".env").exists()
    host.changes()
    again = machine.run("--uninstall")
    assert (again.code, again.result["reason"]) == (0, "nothing_to_do")
    assert host.changes() == []


def test_uninstall_leaves_the_hook_to_the_other_memories(machine: Machine, host: Host) -> None:
    machine.run("--hook")
    machine.run("--hook", "--workspace", str(machine.home / "other"))
    ended = machine.run("--uninstall")
    assert ended.result["parts"]["hook"]["memories_left"] == 1
    assert [Path(one["workspace"]).name for one in memories(machine)] == ["other"]
    assert host.loaded == {"total-recall"}


def installed_parts(machine: Machine, host: Host) -> "set[str]":
    """All that setup put on the machine, each thing by itself."""
    config = hook_folder(machine) / "config.json"
    entries = [json.dumps(one) for one in memories(machine)] if config.exists() else []
    units = [f"{path.name} {path.read_text()}" for path in unit(machine).parent.glob("*")]
    running = [f"{state} {name}" for state in ("active", "enabled") for name in host.state.get(state, [])]
    table = host.crontab.decode() if (host.place / "crontab").exists() else ""
    blocks = re.findall(r"# total-recall begin .*\n(?:[^#].*\n)*# total-recall end .*\n", table)
    assert "".join(blocks) == table
    jobs = [json.dumps(job) for job in host.state.get("jobs", [])]
    assert len({job["id"] for job in host.state.get("jobs", [])}) == len(jobs)
    return {*entries, *units, *running, *blocks, *jobs}


@pytest.mark.timeout(120)
def test_two_agents_and_two_workspaces_of_one_user_never_meet(machine: Machine, host: Host) -> None:
    places = [machine.workspace, machine.home / "other"]
    own: "dict[tuple[str, Path], set[str]]" = {}
    for agent, workspace in [(agent, place) for place in places for agent in ("main", "work")]:
        machine.environ = {"OPENCLAW_AGENT_ID": agent}
        before = installed_parts(machine, host)
        for flags in (["--hook", "--watcher", "--cron", "openclaw"], ["--cron", "system"]):
            assert machine.run(*flags, "--workspace", str(workspace)).code == 0
        after = installed_parts(machine, host)
        own[agent, workspace] = after - before
        assert before < after, (agent, workspace)
        # A memory of the hook, a unit that is enabled and active, a block of the crontab, four jobs of OpenClaw.
        assert len(own[agent, workspace]) == 1 + 3 + 1 + 4
    for agent, workspace in list(own):
        machine.environ = {"OPENCLAW_AGENT_ID": agent}
        assert machine.run("--uninstall", "--workspace", str(workspace)).code == 0
        del own[agent, workspace]
        assert installed_parts(machine, host) == set().union(*own.values()), (agent, workspace)
    assert not hook_folder(machine).exists()


def test_what_uninstall_cannot_remove_is_told_and_the_rest_goes_on(machine: Machine, host: Host) -> None:
    machine.run("--hook", "--watcher", "--cron", "openclaw")
    host.set(gateway=False)
    ended = machine.run("--uninstall")
    assert ended.code == 3
    assert outcome(ended, "openclaw_cron") == "failed"
    assert (outcome(ended, "watcher"), outcome(ended, "hook")) == ("done", "done")


def test_the_check_says_how_each_part_stands_and_needs_none_of_them(machine: Machine) -> None:
    machine.run()
    ended = machine.run("--check")
    assert (ended.code, ended.result["reason"]) == (0, "in_order"), ended.said
    assert [ended.result[part] for part in ("hook", "watcher", "cron")] == ["missing", "missing", "unknown"]
    assert "no program `openclaw` in PATH" in ended.said  # which would have to tell of its jobs
    assert ended.result["dry_run"] is False


def test_what_could_not_be_looked_for_is_not_told_as_nothing_there(machine: Machine, host: Host) -> None:
    assert machine.run("--cron", "openclaw").code == 0
    (machine.programs / "openclaw").unlink()
    ended = machine.run("--uninstall")
    assert (ended.result["reason"], outcome(ended, "openclaw_cron")) == ("not_all_looked_at", "unknown")
    assert "openclaw_cron: could not look" in ended.said and "memory-dream-cycle" in ended.said
    host.have("openclaw")
    assert outcome(machine.run("--uninstall"), "openclaw_cron") == "done"


def test_the_check_with_everything_in_place_changes_nothing(machine: Machine, host: Host) -> None:
    machine.run("--hook", "--watcher", "--cron", "openclaw")
    host.changes()
    before = tree(machine.home)
    ended = machine.run("--check")
    found = [ended.result[part] for part in ("hook", "watcher", "lingering", "cron")]
    assert found == ["installed", "running", False, "openclaw"]
    assert tree(machine.home) == before
    assert host.changes() == []


def test_the_check_finds_a_hook_that_was_switched_off(machine: Machine, host: Host) -> None:
    machine.run("--hook")
    host.set(internal={"enabled": True, "entries": {"total-recall": {"enabled": False}}})
    assert machine.run("--check").result["hook"] == "disabled"


def test_the_check_lives_with_an_openclaw_that_fails(machine: Machine, host: Host) -> None:
    machine.run("--hook")
    host.set(broken=["config get", "cron list"])
    ended = machine.run("--check")
    assert (ended.code, ended.result["hook"], ended.result["cron"]) == (0, "unknown", "unknown")
    assert "last written by a newer version" in ended.said
