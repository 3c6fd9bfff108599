"""README.md, SKILL.md and the rest of the pages against the code: what they name exists, and what exists they name."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import _cli
import _config
import _settle
import _window
from _doctor.page import SIGNS
from _lexicon import lexicons
from _observations import BRIEF_MAX_CHARS, observations_in, parse_log, render_addition

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "scripts"
LAYERS = sorted(path.name for path in SCRIPTS.glob("*.py") if not path.name.startswith("_"))
PAGES = ("README.md", "SKILL.md", "CONTRIBUTING.md", "CHANGELOG.md", "schemas/observation-format.md")
# Variables that the packages we use read by themselves.
OF_LIBRARIES = {"HTTPS_PROXY", "NO_PROXY", "REQUESTS_CA_BUNDLE"}
# What SKILL.md sends an agent to; the watcher is a service, and the night has a prompt.
SCRIPTS_FOR_AGENTS = (
    "observer",
    "reflector",
    "session_recovery",
    "recall",
    "staging_review",
    "doctor",
    "setup",
)
# Words in capitals with an underscore that are no variables.
NO_VARIABLES = {"NO_OBSERVATIONS"}


def page(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


@cache
def help_of(layer: str, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / layer), *command, "--help"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "200"},
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def commands_of(layer: str) -> "list[str]":
    """The subcommands that --help lists."""
    return re.findall(r"^    ([a-z][a-z-]*)(?:  |$)", help_of(layer), re.MULTILINE)


def flags_of(layer: str) -> "set[str]":
    """The public flags: those that --help lists, each at the start of its line, its subcommands' included."""
    helps = [help_of(layer), *(help_of(layer, command) for command in commands_of(layer))]
    return set(re.findall(r"^  (?:-\w, )?(--[a-z][a-z-]*)", "\n".join(helps), re.MULTILINE))


def code_in(text: str) -> "list[str]":
    """Every piece of code on a page: inline, and the lines of fences with continued ones joined."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    fences = re.findall(r"^ *```\w*\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)
    lines = [line for fence in fences for line in fence.replace("\\\n", " ").splitlines()]
    return lines + re.findall(
        r"`([^`\n]+)`", re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
    )


def calls_in(text: str) -> "list[tuple[str, list[str]]]":
    """Every call of one of our scripts as (script, flags): what follows the name up to the end of the command."""
    found = []
    for piece in code_in(text):
        for script, rest in re.findall(r"([\w.-]+\.py)\b[\"']?([^\"'|>;&]*)", piece):
            if script in LAYERS:
                found.append((script, re.findall(r"--[a-z][a-z-]*", rest)))
    return found


def variables_in(text: str) -> "set[str]":
    named = {
        word for piece in code_in(text) for word in re.findall(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b", piece)
    }
    return named - NO_VARIABLES


def observe(workspace: Path, sessions: Path, *flags: str) -> "dict[str, Any]":
    """The result object of one run of the observer without a model."""
    command = [
        sys.executable,
        str(SCRIPTS / "observer.py"),
        "--workspace",
        str(workspace),
        "--provider",
        "none",
    ]
    done = subprocess.run(
        [*command, *flags],
        capture_output=True,
        text=True,
        env={"HOME": str(workspace), "PATH": os.environ["PATH"], "SESSIONS_DIR": str(sessions), "TZ": "UTC"},
        timeout=60,
    )
    return dict(json.loads(done.stdout))


def read_by_config() -> "set[str]":
    """Names that _config takes straight from the environment, beside those in DEFAULTS."""
    trees = [ast.parse(path.read_text("utf-8")) for path in (SCRIPTS / "_config").glob("*.py")]
    return {
        node.args[0].value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and ast.unparse(node.func.value).endswith("environ")
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    }


# Commands and flags --------------------------------------------------------------------------------------------------


def test_the_readme_starts_with_the_two_commands() -> None:
    fences = re.findall(r"^```bash\n(.*?)^```$", page("README.md"), re.MULTILINE | re.DOTALL)
    assert fences[:2] == ["python3 scripts/setup.py --try\n", "bash tests/run.sh\n"]


@pytest.mark.parametrize("name", ["README.md", "SKILL.md"])
def test_every_call_on_the_page_uses_flags_that_exist(name: str) -> None:
    calls = calls_in(page(name))
    assert {"observer.py", "setup.py"} <= {script for script, _ in calls}
    unknown = [(script, flag) for script, flags in calls for flag in flags if flag not in flags_of(script)]
    assert unknown == []


@pytest.mark.parametrize("name", ["README.md", "SKILL.md", "dream-cycle/README.md"])
def test_every_subcommand_on_the_page_exists(name: str) -> None:
    layers = [layer for layer in LAYERS if commands_of(layer)]
    assert {"dream_cycle.py", "recall.py", "staging_review.py"} == set(layers)
    called = [
        (script, word)
        for piece in code_in(page(name))
        for script, word in re.findall(r"(\w+\.py) ([a-z][a-z-]*)\b", piece)
        if script in layers
    ]
    assert called
    assert [(script, word) for script, word in called if word not in commands_of(script)] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_flag_named_alone_belongs_to_some_layer(name: str) -> None:
    ours = set().union(*(flags_of(layer) for layer in LAYERS))
    alone = {piece.split()[0] for piece in code_in(page(name)) if re.match(r"--[a-z]", piece)}
    assert alone - ours == set()


@pytest.mark.parametrize("layer", LAYERS)
def test_every_public_flag_is_in_the_readme(layer: str) -> None:
    flags = flags_of(layer)
    assert len(flags) > 3
    told = set(re.findall(r"--[a-z][a-z-]*", " ".join(code_in(page("README.md")))))
    assert flags - told == set()


def test_the_choices_of_a_flag_are_those_of_the_page() -> None:
    text = page("README.md")
    assert "--provider " + "|".join(_config.PROVIDERS) in text
    assert "{manual,cron,watcher}" in help_of("observer.py")
    assert "--trigger manual|cron|watcher" in text


def test_every_script_named_on_a_page_exists() -> None:
    named = {
        script
        for name in ("README.md", "SKILL.md", "CHANGELOG.md")
        for piece in code_in(page(name))
        for script in re.findall(r"\b(\w+\.py)\b", piece)
    }
    assert {"observer.py", "setup.py"} <= named
    assert named - {path.name for path in SCRIPTS.glob("*.py")} == set()


def test_the_exit_codes_of_the_readme_and_the_skill_are_those_of_the_help() -> None:
    codes = re.findall(r"\b(\d+) \w", _cli.EXIT_CODES)
    assert codes == ["0", "1", "2", "3", "4", "5", "6", "130"]
    assert re.findall(r"^\| (\d+) \|", page("README.md"), re.MULTILINE) == codes
    assert " ".join(_cli.EXIT_CODES.split()[2:]) in " ".join(page("SKILL.md").split())


def test_the_exit_codes_of_the_doctor_are_its_own_everywhere() -> None:
    assert "4 busy" in help_of("observer.py")
    assert "4 busy" not in help_of("doctor.py")
    unseen = "nothing is known to be wrong, but not all could be looked at"
    assert f"4 {unseen}" in help_of("doctor.py")
    assert f"from `doctor.py`: {unseen} |" in page("README.md")
    skill = " ".join(page("SKILL.md").split())
    assert "`doctor.py`: 0 well, 3 something is wrong, 4 not all could be looked at" in skill


def test_the_signs_of_the_doctor_and_its_states_are_on_the_pages() -> None:
    rows = re.findall(r"^\| `(\S+)` \| `(ok|warn|fail|unknown)` \|", page("README.md"), re.MULTILINE)
    assert {state: sign for sign, state in rows} == SIGNS
    assert dict(re.findall(r'^  (\S+) +"(\w+)"  ', help_of("doctor.py"), re.MULTILINE)) == {
        sign: state for state, sign in SIGNS.items()
    }
    assert all(f"`{state}`" in page("SKILL.md") for state in SIGNS)


def test_no_page_and_no_help_says_that_the_result_is_always_json() -> None:
    for text in (page("README.md"), *map(help_of, LAYERS)):
        told = " ".join(text.split())
        assert "JSON on a terminal too; anywhere else the result is JSON anyway" in told
        assert "no sentences on stderr but errors" in told


def test_the_example_of_a_result_has_the_fields_of_a_run(tmp_path: Path) -> None:
    (fence,) = re.findall(r"^```json\n(.*?)^```$", page("README.md"), re.MULTILINE | re.DOTALL)
    told = json.loads(fence)
    (tmp_path / "sessions").mkdir()
    really = observe(tmp_path, tmp_path / "sessions")
    assert (really["status"], really["reason"], told["status"]) == ("ok", "nothing_new", "ok")
    assert list(told) == list(really)


# Variables -----------------------------------------------------------------------------------------------------------


def readme_table() -> "list[tuple[str, str]]":
    section = page("README.md").split("## Variables")[1].split("\n## ")[0]
    return re.findall(r"^\| `([A-Z_]+)` \| (?:`([^`]*)`)? ?\| \S.*\|$", section, re.MULTILINE)


def test_the_table_of_the_readme_has_every_variable_with_its_default() -> None:
    assert readme_table() == list(_config.DEFAULTS.items())


@pytest.mark.parametrize("name", ["README.md", "SKILL.md"])
def test_every_variable_on_the_page_exists(name: str) -> None:
    named = variables_in(page(name))
    assert len(named) > 5
    assert named - set(_config.DEFAULTS) - read_by_config() - OF_LIBRARIES == set()


@pytest.mark.parametrize("name", ["README.md", "SKILL.md"])
def test_every_variable_that_is_read_stands_on_the_page(name: str) -> None:
    outside = read_by_config()
    assert {"HOME"} <= outside
    text = page(name)
    assert [variable for variable in sorted({*_config.DEFAULTS, *outside}) if variable not in text] == []


# SKILL.md ------------------------------------------------------------------------------------------------------------


def front_matter() -> "dict[str, Any]":
    """The head of SKILL.md: plain lines, and `metadata` as JSON, which is YAML too."""
    head = page("SKILL.md").split("---\n")[1]
    lines, block = head.split("metadata:\n")
    assert all(line.startswith("  ") for line in block.splitlines())
    found: "dict[str, Any]" = {}
    for line in lines.splitlines():
        name, value = line.split(": ", 1)
        assert not re.search(r": |^[\[{&*!|>'\"%@`#]| #", value), f"{name} would need quotes in YAML"
        found[name] = value
    found["metadata"] = json.loads(block)
    return found


def test_the_head_of_the_skill_is_what_openclaw_and_clawhub_take() -> None:
    head = front_matter()
    assert list(head) == ["name", "description", "license", "metadata"]
    assert (head["name"], head["license"]) == ("total-recall", "MIT-0")
    assert 40 < len(head["description"]) <= 300
    ours = head["metadata"]["openclaw"]
    assert ours["os"] == ["linux", "darwin"]
    # A variable in requires.env would make the skill ineligible for everybody who has not set it.
    assert ours["requires"] == {"bins": ["python3"]}
    assert "always" not in ours


def test_the_skill_declares_every_variable_as_optional() -> None:
    declared = front_matter()["metadata"]["openclaw"]["envVars"]
    assert all(row["required"] is False and row["description"] for row in declared)
    names = [row["name"] for row in declared]
    assert names[: len(_config.DEFAULTS)] == list(_config.DEFAULTS)
    assert set(names[len(_config.DEFAULTS) :]) == {"XDG_DATA_HOME"}


def test_defaults_that_the_skill_names_are_those_of_the_code() -> None:
    declared = {row["name"]: row["description"] for row in front_matter()["metadata"]["openclaw"]["envVars"]}
    numbers = {name: value for name, value in _config.DEFAULTS.items() if value.isdigit()}
    assert len(numbers) == 9
    assert {name: re.findall(r"default (\d+)", declared[name]) for name in numbers} == {
        name: [value] for name, value in numbers.items()
    }


def test_the_skill_sends_nobody_to_what_is_not_there() -> None:
    body = page("SKILL.md").split("---\n", 2)[2]
    routed = set(re.findall(r"\{baseDir\}/(\S+?)[`\s]", body))
    assert routed == {f"scripts/{name}.py" for name in SCRIPTS_FOR_AGENTS} | {
        f"prompts/dream-{name}-prompt.md" for name in ("cycle", "patterns")
    }
    assert len(body.split()) < 700


def test_the_skill_names_every_package_that_setup_installs() -> None:
    wanted = re.findall(r"^([a-z][a-z-]*)", page("requirements.txt"), re.MULTILINE)
    assert {"requests", "filelock"} <= set(wanted)
    (told,) = re.findall(r"installs ([\w, -]+) and ([\w-]+)\s+\(Linux\) with pip", page("SKILL.md"))
    assert sorted([*told[0].split(", "), told[1]]) == sorted(wanted)


# What is named exists ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_links_and_paths_lead_somewhere(name: str) -> None:
    text = page(name)
    links = re.findall(r"\]\(([^)#\s]+)\)", text)
    paths = [
        found
        for piece in code_in(text)
        for found in re.findall(
            r"(?:^|[\s/])((?:scripts|tests|prompts|schemas|bench|hooks)/[\w./-]+\w)", piece
        )
    ]
    here = [link for link in links if "://" not in link] + [
        path for path in paths if "ROOM" not in path and "LAYER" not in path
    ]
    folder = (ROOT / name).parent
    assert [path for path in here if not ((ROOT / path).exists() or (folder / path).exists())] == []
    anchors = {
        re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-")
        for title in re.findall(r"^#+ (.*)$", text, re.M)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= anchors


def test_every_file_that_a_run_leaves_is_named_where_people_look(tmp_path: Path) -> None:
    sessions = tmp_path / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)
    said = {
        "role": "user",
        "content": [{"type": "text", "text": "My sister Ana marries on 12 June 2027 in Porto."}],
    }
    entries = [
        {"type": "session", "version": 3, "id": "5b0c7e52-91d4-4c38-a6fe-2f60b87a1d93"},
        {"type": "message", "id": "a1", "timestamp": "2026-11-30T10:00:00.000Z", "message": said},
    ]
    lines = "".join(json.dumps(entry) + "\n" for entry in entries)
    transcript = sessions / "5b0c7e52-91d4-4c38-a6fe-2f60b87a1d93.jsonl"
    transcript.write_text(lines, "utf-8")
    os.utime(transcript, (1796032800, 1796032800))  # 2026-11-30T10:00:00Z
    workspace = tmp_path / "workspace"
    told = observe(workspace, sessions, "--now", "2026-11-30T10:05:00Z")
    assert told["observations_written"] == 1
    left = [path.relative_to(workspace).as_posix() for path in workspace.rglob("*") if path.is_file()]
    assert {"memory/observations.md", "memory/.observer-last-hash", "logs/observer.log"} <= set(left)
    named = page("README.md").split("## Files")[1].split("\n## ")[0]
    assert [path for path in left if path not in named and not path.endswith(".lock")] == []
    folders = re.findall(r"`((?:memory|logs)/[\w./-]*)`", page("SKILL.md"))
    assert [path for path in left if not path.startswith(tuple(folders))] == []


def test_the_readme_links_to_the_other_pages() -> None:
    assert {"LICENSE", "CONTRIBUTING.md", "CHANGELOG.md", "schemas/observation-format.md"} <= set(
        re.findall(r"\]\(([^)#\s]+)\)", page("README.md"))
    )


def test_the_example_of_memory_is_a_log_that_could_have_been_written() -> None:
    (log,) = re.findall(r"^```markdown\n(.*?)^```$", page("README.md"), re.MULTILINE | re.DOTALL)
    found = observations_in(parse_log(log))
    assert [one.type for one in found] == ["event", "fact", "rule", "context"]
    assert render_addition("", found) == log


def test_the_figures_of_the_readme_are_those_of_the_code() -> None:
    text = " ".join(page("README.md").split())
    assert f"the signs of {len(lexicons())} languages" in text
    assert f"at most {BRIEF_MAX_CHARS:,} characters" in text
    assert ("up to six lines of memory" in text, _window.KNOWN_MAX_LINES) == (True, 6)
    assert ("The fifth time in a row" in text, _settle.STUCK_AFTER) == (True, 5)


def test_the_newest_entry_of_the_changelog_is_this_version() -> None:
    assert re.findall(r"^## (\S+)", page("CHANGELOG.md"), re.MULTILINE)[0] == _cli.VERSION


def test_the_licence_is_mit_0() -> None:
    text = page("LICENSE")
    assert text.startswith("MIT No Attribution\n")
    # MIT asks for the notice in all copies; MIT-0 is MIT without that sentence.
    assert "shall be included" not in text


def test_what_the_page_says_to_set_for_a_provider_chooses_that_provider() -> None:
    section = page("README.md").split("## Providers")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([^|`]+) \| (.*) \|$", section, re.MULTILINE)[1:]
    assert [row[0] for row in rows] == [
        "OpenRouter", "Ollama", "LM Studio", "llama.cpp server", "Groq", "DeepSeek", "OpenClaw's own", "none",
    ]  # fmt: skip
    for provider, setting in rows:
        given = dict(re.findall(r"`([A-Z_]+)(?:=([^`]*))?`", setting))
        assert given and set(given) <= set(_config.DEFAULTS)
        flags = {name: value for name, value in given.items() if value} or {"OPENROUTER_API_KEY": "k"}
        config = _config.load_config({"OPENCLAW_WORKSPACE": "/nowhere/at/all", **flags}, {"HOME": "/nowhere"})
        expected = {"OpenClaw's own": "openclaw", "none": "none"}.get(provider, "openai")
        assert config.provider == expected, provider


# Nothing that does not belong ----------------------------------------------------------------------------------------


@cache
def published() -> "dict[str, str]":
    """Every file that is or could be tracked, by its path, as text."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, timeout=60
    )
    if listed.returncode == 0:
        names = [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    else:  # an installed copy is no repository
        files = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
        names = [
            path.as_posix()
            for path in files
            if not any(part.startswith((".", "__py")) for part in path.parts)
        ]
    return {
        name: (ROOT / name).read_bytes().decode("utf-8", "replace")
        for name in sorted(set(names))
        if (ROOT / name).is_file()
    }


def offences(patterns: "dict[str, str]", suffixes: "tuple[str, ...]" = ("",)) -> "list[str]":
    files = {name: text for name, text in published().items() if name.endswith(suffixes)}
    assert files
    return [
        f"{name}:{text.count(chr(10), 0, found.start()) + 1}: {what}"
        for name, text in files.items()
        for what, pattern in patterns.items()
        for found in re.finditer(pattern, text)
    ]


KEYS = {
    "key with a prefix": r"\b(?:sk|pk|rk|gsk|xai|nvapi|hf|ghp|gho|ghs|github_pat|glpat|xox[abprs])[-_]"
    r"(?:[a-z]{2,6}[-_])?"
    r"(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{16,}",
    "cloud key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{30,}",
    "signed token": r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}",
    "bot token": r"\b\d{8,10}:[A-Za-z0-9_-]{35}\b",
    "private key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----\\?n?\s*[A-Za-z0-9+/]{40}",
    "value of a key variable": r"(?:API_KEY|TOKEN|SECRET|PASSWORD)\s*=\s*[\"']?(?=[a-z_-]*[0-9])[A-Za-z0-9_-]{20,}",
}


def test_no_file_holds_anything_like_a_key() -> None:
    assert offences(KEYS) == []


@pytest.mark.parametrize(
    "text, kind",
    [
        ("sk-" + "a1B2" * 8, "key with a prefix"),
        ("sk-or-" + "v1a2" * 8, "key with a prefix"),
        ("AK" + "IA" + "ABCD1234" * 2, "cloud key"),
        ("eyJ" + "abcdefghij1" + ".eyJ" + "abcdefghij1", "signed token"),
        ("12345678" + "9:" + "abCD3" * 7, "bot token"),
        ("LLM_API" + "_KEY=" + "a1b2c3d4" * 4, "value of a key variable"),
    ],
)
def test_a_key_would_be_noticed(text: str, kind: str) -> None:
    assert re.search(KEYS[kind], f"x = {text!r}")


def test_no_page_holds_what_a_scanner_takes_for_an_attack() -> None:
    phrases = {
        "system prompt": r"(?i)\bsystem prompt\s*[:=]",
        "ignore instructions": r"(?i)\b(?:ignore|disregard|forget)\b.{0,20}\b(?:previous|prior|above)\b.{0,20}"
        r"\binstructions?",
        "always on": r"(?i)\balways[\"']?\s*:\s*true",
        "deleting": r"rm -r?f?r? ~|rm -rf /",
        "piping into a shell": r"(?:curl|wget)[^\n|]*\|\s*(?:ba|z)?sh\b",
        "newest of anything": r"npx\s+\S+@latest",
    }
    assert offences(phrases, (".md",)) == []


def test_no_data_file_holds_a_raw_address_or_is_always_on() -> None:
    patterns = {
        "raw address": r"https?://\d{1,3}(?:\.\d{1,3}){3}",
        "always on": r"(?i)\balways[\"']?\s*:\s*true",
    }
    assert offences(patterns, (".json", ".yaml", ".yml", ".toml")) == []


def test_no_file_holds_a_blob() -> None:
    # Long runs of letters and digits; a line of hexadecimal or base64 is one, a rule of dashes is none.
    blob = {"blob": r"(?=[A-Za-z0-9+/]{0,199}\d)(?=[A-Za-z0-9+/]{0,199}[A-Z])[A-Za-z0-9+/]{200,}"}
    assert offences(blob) == []


def test_the_code_runs_no_text_as_code_and_checks_certificates() -> None:
    # Put together from parts, because this file is looked at too.
    patterns = {
        "a text run as code": r"(?<![\w.])ev" + r"al\(",
        "no certificate check": r"verify\s*=\s*Fal" + r"se",
        "a module from bytes": r"\.exec_mo" + r"dule\(",
    }
    assert offences(patterns, (".py",)) == []


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    tops = "|".join(("wo" + "rk", "ro" + "ot"))
    patterns = {
        "a path of one machine": rf"(?<![\w.~/])/(?:{tops})/(?!\.\.)\w",
        "a scratch folder": r"/t" + r"mp/t" + r"r\b",
        "a private host": r"https?://[\w.-]+\.(?:internal|corp|lan|intra)\b"
        r"|https?://(?:registry|mirror|proxy|nexus|artifactory)\.",
    }
    assert offences(patterns) == []


def test_every_host_that_the_package_names_is_known() -> None:
    known = {
        "openrouter.ai",
        "localhost",
        "api.groq.com",
        "api.deepseek.com",
        "semver.org",
        "json-schema.org",
    }
    ours = {name: text for name, text in published().items() if not name.startswith(("tests/", "bench/"))}
    hosts = {
        host
        for text in ours.values()
        for host in re.findall(r"https?://([a-z0-9-]+(?:\.[a-z0-9-]+)+|localhost)", text)
    }
    assert hosts - known == set()


def test_the_skill_names_the_hosts_that_are_asked() -> None:
    default = re.sub(r"https://([^/]+)/.*", r"\1", _config.OPENROUTER_URL)
    assert default == "openrouter.ai"
    assert default in page("SKILL.md")
