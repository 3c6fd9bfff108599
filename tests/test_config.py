"""Where values come from, what is allowed, and what a wrong one is told."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Callable, Optional

import pytest

import _config
from _config import DEFAULTS, Config, environment_dir, load_config, load_what_holds, presentable_model
from _errors import ConfigError

KEY = "sk-or-" + "a1B2" * 8
SCRIPTS = Path(_config.__file__).resolve().parent.parent


def load(
    home: Path,
    environ: Optional[Mapping[str, str]] = None,
    flags: Optional[Mapping[str, str]] = None,
    script: str = "/opt/tool/scripts/_config.py",
) -> Config:
    return load_config(flags, {"HOME": str(home), "TZ": "UTC", **(environ or {})}, Path(script))


def env_file(home: Path, content: "str | bytes", place: str = ".openclaw/workspace") -> Path:
    """A .env below the home folder."""
    path = home / place / ".env"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def value(home: Path, line: "str | bytes", name: str = "LLM_MODEL") -> str:
    """What a .env with this content makes of LLM_MODEL or LLM_API_KEY."""
    env_file(home, line)
    config = load(home)
    return config.api_key if name == "LLM_API_KEY" else config.observer_models[0]


# Defaults and wrong values -------------------------------------------------------------------------------------------


def test_without_any_setting_the_documented_defaults_hold(tmp_path: Path) -> None:
    config = load(tmp_path)
    state = tmp_path / ".openclaw"
    assert (config.workspace, config.memory_dir) == (state / "workspace", state / "workspace" / "memory")
    assert config.sessions_dir == state / "agents" / "main" / "sessions"
    assert config.store_path == state / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    assert (config.lookback_minutes, config.morning_lookback_minutes) == (15, 480)
    assert (config.line_threshold, config.cooldown_seconds) == (40, 300)
    assert (config.reflect_over_words, config.dream_token_target, config.dream_phase) == (8000, 8000, 1)
    assert (config.daily_call_limit, config.daily_token_limit, config.read_only) == (200, 2_000_000, False)
    assert (config.provider, config.base_url) == ("none", "https://openrouter.ai/api/v1")
    assert {name for name, origin in config.origins.items() if origin != "default"} <= {"TZ"}


WRONG = [
    ("LLM_BASE_URL", "localhost:11434", "address"),
    ("LLM_BASE_URL", "ftp://example.org/v1", "address"),
    ("LLM_BASE_URL", "http://localhost:port/v1", "address"),
    ("LLM_BASE_URL", "http://[::1/v1", "address"),
    ("LLM_PROVIDER", "gpt", "auto, openai, openclaw, none"),
    ("OPENCLAW_WORKSPACE", "my/workspace", "absolute path"),
    ("MEMORY_DIR", "memory", "absolute path"),
    ("MEMORY_DIR", "/a\nb", "path"),
    ("SESSIONS_DIR", "./sessions", "absolute path"),
    ("OPENCLAW_STATE_DIR", "~other/state", "absolute path"),
    ("OPENCLAW_HOME", "home", "absolute path"),
    ("OPENCLAW_AGENT_ID", "../main", "letters"),
    ("OPENCLAW_AGENT_ID", "my agent", "letters"),
    ("OBSERVER_LOOKBACK_MIN", "-1", "from 0 to 5256000"),
    ("OBSERVER_LOOKBACK_MIN", "15m", "from 0 to 5256000"),
    ("OBSERVER_MORNING_LOOKBACK_MIN", "eight", "from 0 to 5256000"),
    ("OBSERVER_LINE_THRESHOLD", "0", "from 1 to 1000000"),
    ("OBSERVER_COOLDOWN_SECS", "3e2", "from 0 to 86400"),
    ("OBSERVER_COOLDOWN_SECS", "86401", "from 0 to 86400"),
    ("REFLECTOR_WORD_THRESHOLD", "99", "from 100 to 10000000"),
    ("DREAM_TOKEN_TARGET", "8_000", "from 100 to 10000000"),
    ("READ_ONLY_MODE", "maybe", "true or false"),
    ("DREAM_PHASE", "3", "from 1 to 2"),
    ("LLM_DAILY_CALL_LIMIT", "unlimited", "from 0 to 1000000"),
    ("LLM_DAILY_TOKEN_LIMIT", "9" * 30, "from 0 to 100000000000"),
    ("TZ", "Mars/Phobos", "Europe/Berlin"),
    ("TZ", "../../etc/passwd", "Europe/Berlin"),
    ("TZ", "Europe", "Europe/Berlin"),
    ("TZ", "tz5x/", "Europe/Berlin"),
]


@pytest.mark.parametrize(("name", "wrong", "allowed"), WRONG)
def test_a_wrong_value_is_told_with_its_name_origin_and_what_is_allowed(
    tmp_path: Path, name: str, wrong: str, allowed: str
) -> None:
    with pytest.raises(ConfigError) as found:
        load(tmp_path, {name: wrong})
    assert str(found.value) == f"{name} is {wrong!r} (from environment)"
    assert allowed in found.value.hint


def test_every_variable_that_can_be_wrong_is_tried() -> None:
    free = {name for name in DEFAULTS if name.endswith(("_MODEL", "_API_KEY"))}
    assert {name for name, _wrong, _allowed in WRONG} == set(DEFAULTS) - free


def test_a_wrong_value_in_a_file_is_told_with_the_file(tmp_path: Path) -> None:
    path = env_file(tmp_path, "DREAM_PHASE=9\n")
    with pytest.raises(ConfigError, match="DREAM_PHASE is '9'") as found:
        load(tmp_path)
    assert f"(from {path})" in str(found.value)


@pytest.mark.parametrize("name", ["LLM_BASE_URL", "LLM_PROVIDER", "LLM_DAILY_CALL_LIMIT", "MEMORY_DIR"])
def test_a_key_put_into_another_variable_is_not_shown(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=name) as found:
        load(tmp_path, {name: KEY})
    assert KEY not in str(found.value) + found.value.hint
    assert "38 characters that are not shown" in str(found.value)


def test_a_password_in_the_address_is_refused_and_not_shown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="LLM_BASE_URL") as found:
        load(tmp_path, {"LLM_BASE_URL": "http://ana:geheim@localhost/v1"})
    assert "geheim" not in str(found.value) and "localhost" in str(found.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("TRUE", True), ("yes", True), ("On", True), ("1", True), ("False", False), ("no", False), ("0", False)],
)
def test_true_and_false_in_the_words_people_use(tmp_path: Path, text: str, expected: bool) -> None:
    assert load(tmp_path, {"READ_ONLY_MODE": text}).read_only is expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://localhost:11434/v1/", "http://localhost:11434/v1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
        ("https://api.example.org", "https://api.example.org"),
        ("http://127.0.0.1:1234/v1/chat/completions", "http://127.0.0.1:1234/v1"),
    ],
)
def test_the_address_is_taken_as_people_copy_it(tmp_path: Path, address: str, expected: str) -> None:
    assert load(tmp_path, {"LLM_BASE_URL": address}).base_url == expected


# Grammar of .env -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("LLM_MODEL=a/b", "a/b"),
        ("  LLM_MODEL = a/b  ", "a/b"),
        ("export LLM_MODEL=a/b", "a/b"),
        ('LLM_MODEL="a b"', "a b"),
        ("LLM_MODEL='a b'", "a b"),
        ('export LLM_MODEL="a # b" # why', "a # b"),
        ("LLM_MODEL=a/b # why", "a/b"),
        ("LLM_MODEL=a/b#1", "a/b#1"),
        ("# LLM_MODEL=x\nLLM_MODEL=a/b", "a/b"),
        ("LLM_MODEL=$HOME/b", "$HOME/b"),
        ("LLM_MODEL=${HOME}b", "${HOME}b"),
        ('LLM_MODEL="$(id)"', "$(id)"),
        ("LLM_MODEL=`id`", "`id`"),
        ("LLM_MODEL=x\nLLM_MODEL=a/b", "a/b"),
        ("LLM_MODEL=a/b\r\nDREAM_PHASE=2\r\n", "a/b"),
        ("DREAM_PHASE=2\rLLM_MODEL=a/b\r", "a/b"),
        (b"\xef\xbb\xbfLLM_MODEL=a/b\n", "a/b"),
        ("LLM_MODEL=größe", "größe"),
        ("LLM_MODEL", "stepfun/step-3.5-flash:free"),
        ("LLM_MODEL=", "stepfun/step-3.5-flash:free"),
        ('LLM_MODEL=""', "stepfun/step-3.5-flash:free"),
        ('LLM_MODEL="  "', "stepfun/step-3.5-flash:free"),
    ],
)
def test_a_line_of_the_file_means_what_a_person_expects(
    tmp_path: Path, line: "str | bytes", expected: str
) -> None:
    assert value(tmp_path, line) == expected


@pytest.mark.parametrize(
    "line",
    [
        f"LLM_API_KEY: {KEY}",
        f'LLM_API_KEY="{KEY}',
        f"LLM_API_KEY {KEY} = 1",
        f"{KEY} is my key",
        f"= {KEY}",
        f"export LLM_API_KEY {KEY}",
        f"LLM_API_KEY='{KEY}' {KEY}",
    ],
)
def test_a_broken_line_is_named_by_its_number_and_never_shows_a_key(tmp_path: Path, line: str) -> None:
    path = env_file(tmp_path, f"# mine\nDREAM_PHASE=2\n{line}\nLLM_MODEL=a/b\n")
    with pytest.raises(ConfigError) as found:
        load(tmp_path)
    assert f"{path}, line 3: cannot be read as NAME=value" in str(found.value)
    assert "a1B2" not in str(found.value) + found.value.hint
    assert ("LLM_API_KEY" in str(found.value)) == ("LLM_API_KEY" in line)


def test_a_file_that_is_not_utf_8_is_named_with_the_place(tmp_path: Path) -> None:
    path = env_file(tmp_path, b"# gr\xfc\xdfe\n")
    with pytest.raises(ConfigError, match="is not UTF-8 text .byte 4.") as found:
        load(tmp_path)
    assert str(path) in str(found.value)


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / ".openclaw" / "workspace" / ".env"
    path.mkdir(parents=True)
    with pytest.raises(ConfigError, match="Is a directory") as found:
        load(tmp_path)
    assert str(path) in str(found.value)


def test_variables_that_are_not_ours_are_left_alone(tmp_path: Path) -> None:
    env_file(tmp_path, "TZ=Asia/Tokyo\nHOME=/nowhere\nPATH=/nowhere\nDREAM_PHASE=2\n")
    config = load(tmp_path)
    assert (config.dream_phase, config.state_dir) == (2, tmp_path / ".openclaw")
    assert config.zone.utcoffset(datetime(2026, 11, 30)) == timedelta(0)


# Precedence ----------------------------------------------------------------------------------------------------------


def test_the_nearest_source_wins_and_is_told(tmp_path: Path) -> None:
    layers: "list[tuple[str, int]]" = []

    def phase(environ: Mapping[str, str], flags: Mapping[str, str]) -> None:
        config = load(tmp_path, environ, flags)
        layers.append((config.origins["OBSERVER_COOLDOWN_SECS"], config.cooldown_seconds))

    phase({}, {})
    state = env_file(tmp_path, "OBSERVER_COOLDOWN_SECS=1\n", ".openclaw")
    phase({}, {})
    workspace = env_file(tmp_path, "OBSERVER_COOLDOWN_SECS=2\n")
    phase({}, {})
    phase({"OBSERVER_COOLDOWN_SECS": "3"}, {})
    phase({"OBSERVER_COOLDOWN_SECS": "3"}, {"OBSERVER_COOLDOWN_SECS": "4"})
    phase({"OBSERVER_COOLDOWN_SECS": ""}, {"OBSERVER_COOLDOWN_SECS": ""})
    assert layers == [
        ("default", 300),
        (str(state), 1),
        (str(workspace), 2),
        ("environment", 3),
        ("flag", 4),
        (str(workspace), 2),
    ]


def test_the_state_folders_file_may_name_the_workspace(tmp_path: Path) -> None:
    state = env_file(tmp_path, f"OPENCLAW_WORKSPACE={tmp_path}/mine\n", ".openclaw")
    env_file(
        tmp_path, "DREAM_PHASE=2\nOPENCLAW_WORKSPACE=/elsewhere\nOPENCLAW_STATE_DIR=/elsewhere\n", "mine"
    )
    config = load(tmp_path)
    assert (config.workspace, config.dream_phase) == (tmp_path / "mine", 2)
    assert config.origins["OPENCLAW_WORKSPACE"] == str(state)
    assert config.origins["OPENCLAW_STATE_DIR"] == "default"


def test_an_empty_key_in_the_environment_does_not_hide_the_one_in_the_file(tmp_path: Path) -> None:
    env_file(tmp_path, f"OPENROUTER_API_KEY={KEY}\n")
    config = load(tmp_path, {"OPENROUTER_API_KEY": "", "LLM_API_KEY": " "})
    assert (config.api_key, config.provider) == (KEY, "openai")


def test_the_key_never_shows_in_what_is_printed_of_a_config(tmp_path: Path) -> None:
    config = load(tmp_path, {"LLM_API_KEY": KEY, "OPENROUTER_API_KEY": KEY})
    assert config.api_key == KEY
    assert "a1B2" not in repr(config) + str(config) + repr(config.origins)


# Places --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "workspace"),
    [
        ("{home}/ws/skills/total-recall/scripts/_config.py", "{home}/ws"),
        ("{home}/ws/.agents/skills/total-recall/scripts/_config.py", "{home}/ws"),
        ('{home}/my ws/"it\'s"/übung/skills/total-recall/scripts/_config.py', '{home}/my ws/"it\'s"/übung'),
        ("{home}/.openclaw/skills/total-recall/scripts/_config.py", "{home}/.openclaw/workspace"),
        ("{home}/.agents/skills/total-recall/scripts/_config.py", "{home}/.openclaw/workspace"),
        ("{home}/.openclaw/workspace/skills/total-recall/scripts/x.py", "{home}/.openclaw/workspace"),
        ("{home}/code/total-recall/scripts/_config.py", "{home}/.openclaw/workspace"),
        ("/skills/total-recall/scripts/_config.py", "/"),
    ],
)
def test_the_workspace_is_the_one_that_the_skill_lies_in(tmp_path: Path, script: str, workspace: str) -> None:
    found = load(tmp_path, script=script.format(home=tmp_path)).workspace
    assert found == Path(workspace.format(home=tmp_path))


def test_a_shared_skill_is_known_through_a_linked_home_and_a_moved_state_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "real")
    home, real = tmp_path / "home", tmp_path / "real"
    shared = f"{real}/.openclaw/skills/total-recall/scripts/_config.py"
    assert load(home, script=shared).workspace == home / ".openclaw" / "workspace"
    agents = f"{real}/.agents/skills/total-recall/scripts/_config.py"
    moved = load(home, {"OPENCLAW_STATE_DIR": str(tmp_path / "state")}, script=agents)
    assert moved.workspace == tmp_path / "state" / "workspace"


def test_a_skill_linked_into_a_workspace_belongs_to_it(tmp_path: Path) -> None:
    workspace = tmp_path / 'my "ws" é\''
    (workspace / "skills").mkdir(parents=True)
    (workspace / "skills" / "total-recall").symlink_to(SCRIPTS.parent)
    sessions = tmp_path / ".openclaw" / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)
    subprocess.run(
        [sys.executable, str(workspace / "skills" / "total-recall" / "scripts" / "observer.py")],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "LLM_PROVIDER": "none"},
        check=True,
        capture_output=True,
    )
    assert (workspace / "memory" / ".total-recall" / "state.json").exists()
    assert not (tmp_path / ".openclaw" / "workspace").exists()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("~", "{home}"),
        ("~/ws", "{home}/ws"),
        ("{home}/ws/", "{home}/ws"),
        ("{home}//ws/./x/..", "{home}/ws"),
        ("{home}/a b\"'é $HOME", "{home}/a b\"'é $HOME"),
        ("  {home}/ws ", "{home}/ws"),
    ],
)
def test_a_folder_may_be_written_in_many_ways(tmp_path: Path, given: str, expected: str) -> None:
    names = ("OPENCLAW_WORKSPACE", "MEMORY_DIR", "SESSIONS_DIR", "OPENCLAW_STATE_DIR")
    config = load(tmp_path, {name: given.format(home=tmp_path) for name in names})
    places = {config.workspace, config.memory_dir, config.sessions_dir, config.state_dir}
    assert places == {Path(expected.format(home=tmp_path))}


def test_the_host_variables_move_the_state_folder_and_the_agent(tmp_path: Path) -> None:
    config = load(tmp_path, {"OPENCLAW_HOME": "~/oc", "OPENCLAW_AGENT_ID": "work.2"})
    assert config.sessions_dir == tmp_path / "oc" / ".openclaw" / "agents" / "work.2" / "sessions"
    assert config.workspace == tmp_path / "oc" / ".openclaw" / "workspace"
    config = load(tmp_path, {"OPENCLAW_HOME": "~/oc", "OPENCLAW_STATE_DIR": "/srv/state"})
    assert config.state_dir == Path("/srv/state")


def test_without_home_the_users_own_folder_counts(tmp_path: Path) -> None:
    known = pwd.getpwuid(os.getuid()).pw_dir  # wherever the HOME of whoever runs the tests points
    config = load_config({}, {"TZ": "UTC"}, tmp_path / "x" / "y.py")
    assert config.state_dir == Path(known) / ".openclaw"


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}])
@pytest.mark.parametrize("look", [load_config, load_what_holds])
def test_without_home_a_user_that_the_system_does_not_know_is_told_to_set_it(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    look: "Callable[..., object]",
    environ: Mapping[str, str],
) -> None:
    of_nobody(monkeypatch)
    with pytest.raises(ConfigError, match="^HOME is not set") as found:
        look({"LLM_PROVIDER": "none"}, environ, tmp_path / "x.py")
    assert "set HOME" in found.value.hint


def test_the_packages_place_is_told_to_depend_on_home_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    of_nobody(monkeypatch)
    monkeypatch.delenv("HOME")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    with pytest.raises(ConfigError, match="^HOME is not set"):
        environment_dir()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert environment_dir() == tmp_path / "total-recall" / "venv"


def of_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user id that the user database does not hold, as containers give out."""

    def unknown(uid: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)


def test_a_relative_home_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="^HOME is 'here'"):
        load_config({}, {"HOME": "here"}, tmp_path / "x.py")


# Models and provider -------------------------------------------------------------------------------------------------

STEP, NANO, DEEP = (
    "stepfun/step-3.5-flash:free",
    "nvidia/nemotron-3-nano-30b-a3b:free",
    "deepseek/deepseek-v3.2",
)
ELSEWHERE = "http://localhost:11434/v1"


@pytest.mark.parametrize(
    ("environ", "chain"),
    [
        ({}, (STEP, NANO, DEEP)),
        ({"LLM_MODEL": "m"}, ("m",)),
        ({"OBSERVER_MODEL": "o"}, ("o", NANO, DEEP)),
        ({"OBSERVER_MODEL": "o", "LLM_MODEL": "m"}, ("o", "m")),
        ({"OBSERVER_FALLBACK_MODEL": "f", "LLM_MODEL": "m"}, ("f", "m")),
        ({"OBSERVER_MODEL": "m", "OBSERVER_FALLBACK_MODEL": "m", "LLM_MODEL": "m"}, ("m",)),
        ({"LLM_BASE_URL": ELSEWHERE, "LLM_MODEL": "m"}, ("m",)),
        ({"LLM_BASE_URL": ELSEWHERE, "OBSERVER_MODEL": "o"}, ("o",)),
        ({"LLM_BASE_URL": ELSEWHERE}, (DEEP,)),
        ({"LLM_BASE_URL": "https://openrouter.ai/api/v1/", "LLM_API_KEY": "k"}, (STEP, NANO, DEEP)),
        ({"OBSERVER_MODEL": " ", "LLM_MODEL": " m "}, ("m",)),
        ({"REFLECTOR_MODEL": "r"}, (STEP, NANO, DEEP)),
    ],
)
def test_the_models_are_asked_in_this_order(
    tmp_path: Path, environ: Mapping[str, str], chain: "tuple[str, ...]"
) -> None:
    assert load(tmp_path, environ).observer_models == chain


def test_the_reflector_has_a_chain_of_its_own(tmp_path: Path) -> None:
    assert load(tmp_path).reflector_models == (
        "nvidia/nemotron-3-super-120b-a12b:free",
        "openrouter/hunter-alpha",
        DEEP,
    )


@pytest.mark.parametrize(
    ("environ", "provider"),
    [
        ({}, "none"),
        ({"LLM_MODEL": "m"}, "none"),
        ({"LLM_API_KEY": KEY}, "openai"),
        ({"OPENROUTER_API_KEY": KEY}, "openai"),
        ({"LLM_BASE_URL": ELSEWHERE}, "openai"),
        ({"LLM_API_KEY": KEY, "LLM_PROVIDER": "none"}, "none"),
        ({"LLM_PROVIDER": "OpenClaw"}, "openclaw"),
        ({"LLM_PROVIDER": "auto", "LLM_API_KEY": KEY}, "openai"),
    ],
)
def test_the_provider_follows_from_what_is_set(
    tmp_path: Path, environ: Mapping[str, str], provider: str
) -> None:
    assert load(tmp_path, environ).provider == provider


def test_the_general_key_goes_before_openrouters(tmp_path: Path) -> None:
    assert load(tmp_path, {"LLM_API_KEY": "general", "OPENROUTER_API_KEY": "special"}).api_key == "general"


# Time zones ----------------------------------------------------------------------------------------------------------

WINTER = datetime(2026, 11, 30, 12, 0, tzinfo=timezone.utc)
SUMMER = datetime(2026, 7, 1, 12, 0, tzinfo=timezone.utc)


def hours(config: Config, moment: datetime = WINTER) -> float:
    offset = moment.astimezone(config.zone).utcoffset()
    assert offset is not None
    return offset.total_seconds() / 3600


@pytest.mark.parametrize(
    ("tz", "winter", "summer"),
    [("Europe/Berlin", 1, 2), (":Europe/Berlin", 1, 2), ("Asia/Kolkata", 5.5, 5.5), ("UTC", 0, 0)],
)
def test_the_zone_of_the_environment_counts_with_its_summer_time(
    tmp_path: Path, tz: str, winter: float, summer: float
) -> None:
    config = load(tmp_path, {"TZ": tz})
    assert (hours(config), hours(config, SUMMER)) == (winter, summer)


@pytest.mark.parametrize(
    "line",
    [
        "Timezone: Asia/Tokyo",
        "- **Timezone:** Asia/Tokyo",
        "* Time zone: `Asia/Tokyo`",
        "time-zone: Asia/Tokyo (JST)",
        "\ufeffTimezone: Asia/Tokyo",
    ],
)
def test_else_the_person_file_names_the_zone(tmp_path: Path, line: str) -> None:
    workspace = tmp_path / ".openclaw" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "USER.md").write_text(f"{line}\n- **Name:** Ana\n", encoding="utf-8")
    assert hours(load(tmp_path, {"TZ": ""})) == 9
    assert hours(load(tmp_path, {"TZ": "UTC"})) == 0


@pytest.mark.parametrize(
    "line", ["Timezone:", "- **Timezone:** _ask_", "Timezone: Mars/Phobos", "Timezone: ../../x"]
)
def test_a_zone_that_nobody_knows_leaves_the_systems(tmp_path: Path, line: str) -> None:
    workspace = tmp_path / ".openclaw" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "USER.md").write_text(line + "\n", encoding="utf-8")
    assert load(tmp_path, {"TZ": ""}).zone.utcoffset(WINTER) is not None


@pytest.mark.parametrize("tz", ["/etc/localtime", ":/etc/localtime", ":UTC", "CET-1CEST", "<+03>-3"])
def test_an_odd_but_good_zone_is_taken(tmp_path: Path, tz: str) -> None:
    assert load(tmp_path, {"TZ": tz}).zone.utcoffset(WINTER) is not None


def test_a_zone_that_only_the_c_library_knows_counts(tmp_path: Path) -> None:
    ask = (
        "from _config import load_config; from datetime import datetime, timezone;"
        "print(datetime(2026, 11, 30, tzinfo=timezone.utc).astimezone(load_config().zone).isoformat())"
    )
    done = subprocess.run(
        [sys.executable, "-c", ask],
        cwd=SCRIPTS,
        env={"HOME": str(tmp_path), "TZ": "XYZ-5:45"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "2026-11-30T05:45:00+05:45\n"


@pytest.mark.parametrize(
    "environ", [{"LLM_PROVIDER": "openai"}, {"LLM_BASE_URL": "https://openrouter.ai/api/v1"}]
)
def test_no_default_address_is_asked_without_a_key(tmp_path: Path, environ: Mapping[str, str]) -> None:
    with pytest.raises(ConfigError, match="there is no key") as found:
        load(tmp_path, environ)
    assert "OPENROUTER_API_KEY" in found.value.hint


def test_an_empty_home_variable_is_none() -> None:
    config = load_config({"LLM_PROVIDER": "none"}, {"HOME": ""})
    assert str(config.state_dir) == f"{pwd.getpwuid(os.getuid()).pw_dir}/.openclaw"


@pytest.mark.parametrize("begins", ["nvapi-", "hf_", "r8_", "rk-", "gho_"])
def test_what_begins_as_a_key_is_not_shown_as_a_model(begins: str) -> None:
    assert presentable_model(begins + "a1B2" * 8) == f"{len(begins) + 32} characters that look like a key"


@pytest.mark.parametrize("model", ["hf-internal-testing/tiny-random-model", "pplx-70b-online", "r8/large"])
def test_an_id_that_begins_like_one_is_shown(model: str) -> None:
    assert presentable_model(model) == model
