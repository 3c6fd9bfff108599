# ruff: noqa: E501 (lines of a log are long)
"""prompts/dream-*.md: every command in them is run as written, in order, and the night that they lead ends valid."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import dream_cycle
from dream_testing import Dream
from observer_testing import Ended

ROOT = Path(dream_cycle.__file__).resolve().parent.parent
PROMPT = (ROOT / "prompts" / "dream-cycle-prompt.md").read_text("utf-8")
PATTERNS = (ROOT / "prompts" / "dream-patterns-prompt.md").read_text("utf-8")
REFERENCE = (ROOT / "dream-cycle" / "README.md").read_text("utf-8")
PAYLOADS = (ROOT / "schemas" / "dream-cycle.md").read_text("utf-8")
DAY = "2026-03-31"
SCHEMA_OF = {
    "archive": "archive",
    "chunk": "chunk",
    "write-log": "dream-log",
    "write-metrics": "dream-metrics",
    "write-staging": "staging",
}
# The memory that the examples of the prompts are about.
LOG = """# Observations Log

Date: 2026-03-02

- 🟢 09:10 Tried the new canteen near the office <!-- dc:type=context dc:importance=2 dc:date=2026-03-02 dc:id=OBS-20260302-001 -->
- 🔴 09:20 Never call before 10 in the morning <!-- dc:type=rule dc:importance=9 dc:date=2026-03-02 dc:id=OBS-20260302-002 -->

Date: 2026-03-04

- 🟡 10:10 The cat Miso eats tuna on Fridays <!-- dc:type=fact dc:importance=4 dc:date=2026-03-04 dc:id=OBS-20260304-001 -->

Date: 2026-03-05

- 🟡 10:20 The cat Miso sleeps in the blue basket <!-- dc:type=fact dc:importance=4 dc:date=2026-03-05 dc:id=OBS-20260305-001 -->

Date: 2026-03-06

- 🟡 10:30 The cat Miso hates the vacuum cleaner <!-- dc:type=fact dc:importance=4 dc:date=2026-03-06 dc:id=OBS-20260306-001 -->

Date: 2026-03-20

- 🟡 11:00 Two sentences are enough for a reply <!-- dc:type=preference dc:importance=5 dc:date=2026-03-20 dc:id=OBS-20260320-001 -->

Date: 2026-03-24

- 🟡 11:00 No bullet points unless asked for <!-- dc:type=preference dc:importance=5 dc:date=2026-03-24 dc:id=OBS-20260324-001 -->

Date: 2026-03-27

- 🟡 11:00 Asked to cut the long summary <!-- dc:type=preference dc:importance=5 dc:date=2026-03-27 dc:id=OBS-20260327-001 -->

Date: 2026-03-30

- 🔴 22:00 The bank account for the shop was opened <!-- dc:type=fact dc:importance=9.5 dc:date=2026-03-30 dc:id=OBS-20260330-001 -->
"""


@dataclass(frozen=True)
class Step:
    """One section of a prompt: its heading, the commands in it, and what it says is to be added to the draft."""

    heading: str
    commands: "tuple[str, ...]"
    addition: str


def steps(prompt: str) -> "list[Step]":
    found = []
    for section in re.split(r"(?m)^## (?=\d)", prompt)[1:]:
        heading, _, body = section.partition("\n")
        commands = tuple(re.findall(r"(?ms)^```bash\n(.*?)^```$", body))
        found.append(Step(heading, commands, "".join(re.findall(r"(?ms)^```markdown\n(.*?)^```$", body))))
    return found


def subcommand(command: str) -> str:
    """The subcommand of a command line; every line of the block has to belong to that one command."""
    first, _, rest = command.partition("\n")
    words = shlex.split(first.replace("<<'JSON'", ""))
    assert words[:2] == ["python3", "{baseDir}/scripts/dream_cycle.py"]
    assert not rest or rest.endswith("\nJSON\n")
    return words[2]


def payloads(prompt: str) -> "list[tuple[str, Any]]":
    """(subcommand, payload) of every command that has one."""
    found = []
    for step in steps(prompt):
        for command in step.commands:
            _, _, body = command.partition("<<'JSON'\n")
            if body:
                filled = body[: -len("JSON\n")].replace("DAY", DAY)
                found.append((subcommand(command), json.loads(filled)))
    return found


def run(dream: Dream, command: str, **environ: str) -> Ended:
    """A command of a prompt as an agent runs it: by a shell in the workspace."""
    filled = command.replace("DAY", DAY).replace("STAMP", "20260331-040000")
    filled = filled.replace(
        "{baseDir}/scripts/dream_cycle.py", f"{dream_cycle.__file__} --now {DAY}T03:30:00Z"
    )
    filled = filled.replace("python3", sys.executable, 1)
    done = subprocess.run(
        ["bash", "-c", filled],
        cwd=dream.workspace,
        env={**dream.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    return Ended(done.returncode, json.loads(done.stdout), done.stderr.decode())


def edit_draft(dream: Dream, addition: str, phase: str) -> None:
    """What the prompt tells the agent to do to the draft: archived lines out, hooks in."""
    archived = {
        one["id"] for name, payload in payloads(PROMPT) if name == "archive" for one in payload["items"]
    }
    draft = dream.workspace / "memory" / ".dream-backups" / "new-observations.txt"
    kept = [line for line in draft.read_text("utf-8").splitlines(keepends=True)
            if not any(f"dc:id={name} " in line for name in archived)]  # fmt: skip
    hooks = [line for line in addition.replace("DAY", DAY).splitlines(keepends=True)
             if phase == "2" or "(chunked)" not in line]  # fmt: skip
    draft.write_text("".join(kept) + "\n" + "".join(hooks), "utf-8")


@pytest.fixture
def dream(tmp_path: Path) -> Dream:
    dream = Dream(tmp_path / "home")
    dream.put(LOG)
    return dream


@pytest.mark.parametrize("read_only", ["false", "true"])
@pytest.mark.parametrize("phase", ["1", "2"])
def test_the_night_of_the_prompt_ends_valid(dream: Dream, phase: str, read_only: str) -> None:
    environ = {"DREAM_PHASE": phase, "READ_ONLY_MODE": read_only}
    results: "dict[str, dict[str, Any]]" = {}
    for step in steps(PROMPT):
        if ("only when `dream_phase` is 2" in step.heading and phase == "1") or "exit code 6" in step.heading:
            continue
        if step.addition:
            edit_draft(dream, step.addition, phase)
        for command in step.commands:
            ended = run(dream, command, **environ)
            assert ended.code == 0, (command, ended.result)
            results[subcommand(command)] = ended.result
    assert results["preflight"]["day"] == DAY
    assert results["validate"]["validation_passed"] is True
    assert results["archive"]["written"] == 4 and len(results["archive"]["references"]) == 4
    assert results["write-log"]["reason"] == results["write-metrics"]["reason"] == "written"
    if read_only == "true":
        assert dream.raw == LOG
        assert results["validate"]["tokens"] < results["validate"]["tokens_before"]
        assert not list((dream.memory / "archive" / "observations").iterdir())
    else:
        assert "canteen near" not in dream.raw and "Never call before 10" in dream.raw
        assert f"[ref: archive/observations/{DAY}.md#OBS-20260302-001]" in dream.raw
        assert ("decay" in results) is (phase == "2")
        assert dream.night("account").code == 0


def test_what_the_plan_says_is_what_the_prompt_archives(dream: Dream) -> None:
    planned = dream.night("plan", now=None, DREAM_PHASE="2").result
    going = {one["id"] for one in planned["observations"] if one["verdict"] != "keep"}
    archived = {
        one["id"] for name, payload in payloads(PROMPT) if name == "archive" for one in payload["items"]
    }
    assert archived <= going


def test_every_step_can_be_repeated(dream: Dream) -> None:
    for step in steps(PROMPT):
        if "exit code 6" in step.heading:
            continue
        if step.addition:
            edit_draft(dream, step.addition, "2")
        for command in step.commands:
            assert run(dream, command, DREAM_PHASE="2").code == 0
            before = {
                path: path.read_bytes()
                for path in dream.memory.rglob("*")
                if path.suffix in (".md", ".txt", ".jsonl")
            }
            again = run(dream, command, DREAM_PHASE="2")
            assert again.code == 0, (command, again.result)
            after = {
                path: path.read_bytes()
                for path in dream.memory.rglob("*")
                if path.suffix in (".md", ".txt", ".jsonl")
            }
            assert after == before, command


def test_a_night_that_does_not_hold_is_undone_by_the_prompt(dream: Dream) -> None:
    (undo,) = [step for step in steps(PROMPT) if "exit code 6" in step.heading]
    (check,) = [step for step in steps(PROMPT) if step.heading.endswith("Check")]
    assert run(dream, steps(PROMPT)[0].commands[0]).code == 0
    dream.put("# Observations Log\n")
    assert run(dream, check.commands[0]).code == 6
    assert run(dream, undo.commands[0]).code == 0
    assert dream.raw == LOG


@pytest.mark.parametrize("read_only, staged", [("false", 1), ("true", 0)])
def test_the_weekly_prompt_proposes(dream: Dream, read_only: str, staged: int) -> None:
    ended = [
        run(dream, command, READ_ONLY_MODE=read_only) for step in steps(PATTERNS) for command in step.commands
    ]
    assert [one.code for one in ended] == [0, 0]
    assert ended[1].result["written"] == staged
    files = list((dream.memory / "dream-staging").glob("*-preference.md"))
    assert len(files) == staged


@pytest.mark.parametrize("command, payload", [*payloads(PROMPT), *payloads(PATTERNS)])
def test_every_example_fits_its_schema(command: str, payload: Any) -> None:
    schema = json.loads((ROOT / "schemas" / f"{SCHEMA_OF[command]}.schema.json").read_text("utf-8"))
    if command == "chunk":
        payload = {"chunks": [payload]}
    jsonschema.Draft202012Validator(schema).validate(payload)
    if command == "archive":
        jsonschema.Draft202012Validator(schema["$defs"]["phase_2"]).validate(payload)


def test_the_prompts_are_short_and_name_only_what_is_there() -> None:
    for prompt, most in ((PROMPT, 8_000), (PATTERNS, 4_000)):
        assert len(prompt) < most
        for step in steps(prompt):
            assert all(subcommand(command) in dream_cycle.COMMANDS for command in step.commands)
    assert not re.search(r"\bgit (?:add|commit|reset|checkout|stash)\b", PROMPT + PATTERNS + REFERENCE)


# The pages -----------------------------------------------------------------------------------------------------------


def test_the_reference_names_every_command_and_no_other() -> None:
    named = set(re.findall(r"(?m)^\| `([a-z-]+)[ `]", REFERENCE))
    assert named == set(dream_cycle.COMMANDS)


def examples() -> "list[tuple[str, str]]":
    """(schema, example) of the page about payloads."""
    return re.findall(r"(?ms)^## [^\n]*`([a-z-]+)\.schema\.json`\n.*?^```json\n(.*?)^```$", PAYLOADS)


def test_the_page_about_payloads_has_an_example_for_every_schema() -> None:
    assert {name for name, _example in examples()} == set(SCHEMA_OF.values())


@pytest.mark.parametrize("name, example", examples())
def test_every_example_of_the_page_fits_its_schema(name: str, example: str) -> None:
    schema = json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.loads(example))


@pytest.mark.parametrize("name", sorted(set(SCHEMA_OF.values())))
def test_the_page_about_payloads_names_every_field(name: str) -> None:
    schema = json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text("utf-8"))
    part = schema["properties"].get(
        "items" if name == "archive" else "chunks" if name == "chunk" else "", schema
    )
    fields = part.get("items", part)["properties"]
    section = re.split(r"(?m)^## ", PAYLOADS.split(f"`{name}.schema.json`", 1)[1])[0]
    assert set(re.findall(r"(?m)^\| `([a-z_]+)` \|", section)) == set(fields)
