"""LLM_PROVIDER=openclaw: questions go through the program `openclaw`, here a small stand-in on PATH."""

from __future__ import annotations

import fcntl
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from _errors import ConfigError, ModelParked
from _llm import Limits, ModelsFailed, PromptCut, Question
from llm_testing import ENTRY, KEY, Desk

GOOD = {"ok": True, "provider": "mock", "model": "mock-1", "outputs": [{"text": ENTRY, "mediaUrl": None}]}


def refused(message: str) -> str:
    """What `openclaw` 2026.9.6 prints when it fails."""
    return json.dumps({"ok": False, "error": {"type": "cli_error", "message": message}})


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return Desk(tmp_path, "", LLM_PROVIDER="openclaw", LLM_API_KEY="")


def install(home: Path, out: str = "", code: int = 0, err: str = "", then: str = "") -> None:
    """A stand-in that notes its arguments, prints, runs the Python of `then` and exits."""
    lines = [
        f"#!{sys.executable}",
        "import json, os, sys, time",
        f"home = {str(home)!r}",
        "open(home + '/argv', 'a').write(json.dumps(sys.argv[1:]) + '\\n')",
        f"sys.stdout.write({out!r}); sys.stderr.write({err!r}); sys.stdout.flush()",
        then,
        f"sys.exit({code})",
    ]
    program = home / "bin" / "openclaw"
    program.write_text("\n".join(lines) + "\n")
    program.chmod(0o755)


def arguments(home: Path) -> "list[list[str]]":
    return [json.loads(line) for line in (home / "argv").read_text().splitlines()]


def failure(desk: Desk, **more: Any) -> "tuple[str, str, str]":
    with pytest.raises(ModelsFailed) as caught:
        desk.ask("one", **more)
    return caught.value.attempts[-1].kind, caught.value.attempts[-1].message, caught.value.hint


def test_the_whole_question_is_handed_over_and_the_answer_comes_back(desk: Desk, tmp_path: Path) -> None:
    install(tmp_path, json.dumps(GOOD, indent=2))
    found = desk.ask(*desk.config.observer_models)
    assert (found.text, found.model, found.cut, found.prompt_tokens) == (ENTRY, "mock/mock-1", False, None)
    prompt = "You compress conversations.\n\nUSER: my sister's wedding is on 14 June in Porto"
    assert arguments(tmp_path) == [["infer", "model", "run", "--prompt", prompt, "--json"]]
    assert desk.kept.memo.calls == 1
    assert desk.kept.memo.tokens == 32  # 75 characters asked, 51 answered, at 4 a token


def test_only_models_that_the_person_chose_are_named(desk: Desk, tmp_path: Path) -> None:
    install(tmp_path, json.dumps(GOOD))
    desk.environment.update(OBSERVER_MODEL="anthropic/claude-x", OPENCLAW_AGENT_ID="work")
    desk.ask(*desk.config.observer_models)
    assert arguments(tmp_path)[0][5:] == ["--json", "--model", "anthropic/claude-x", "--agent", "work"]


def test_the_next_chosen_model_is_asked_when_one_is_unknown(desk: Desk, tmp_path: Path) -> None:
    wrong = json.dumps({"ok": False, "error": {"type": "cli_error", "message": "Unknown model: x/one"}})
    good = json.dumps(GOOD)
    install(
        tmp_path,
        then=f"bad = 'x/one' in sys.argv\nprint({wrong!r} if bad else {good!r})\nsys.exit(1 if bad else 0)",
    )
    desk.environment.update(OBSERVER_MODEL="x/one", LLM_MODEL="x/two")
    desk.ask(*desk.config.observer_models)
    desk.ask(*desk.config.observer_models)
    assert [line[-1] for line in arguments(tmp_path)] == ["x/one", "x/two", "x/two"]


def test_notices_around_the_json_are_passed_over(desk: Desk, tmp_path: Path) -> None:
    install(tmp_path, "[plugins] loaded {\n" + json.dumps(GOOD, indent=2) + "\nbye }\n", err="a warning\n")
    assert desk.ask("one").text == ENTRY


def test_thoughts_and_fences_come_off_here_too(desk: Desk, tmp_path: Path) -> None:
    wrapped = {"outputs": [{"text": f"<think>hm</think>\n```\n{ENTRY}\n```"}]}
    install(tmp_path, json.dumps(wrapped))
    assert desk.ask("one").text == ENTRY


@pytest.mark.parametrize(
    ("out", "code", "kind"),
    [
        ("", 0, "bad_reply"),
        ("{}", 0, "bad_reply"),
        ("{", 0, "bad_reply"),
        (json.dumps({"ok": True, "outputs": []}), 0, "bad_reply"),
        (json.dumps({"ok": True, "outputs": [{"text": None}]}), 0, "bad_reply"),
        (json.dumps({"ok": True, "outputs": [{"text": " "}]}), 0, "empty"),
        ("", 1, "program"),
        (json.dumps(GOOD), 1, "program"),
        (refused("429 rate limit"), 1, "rate_limited"),
        (refused("HTTP 404: model not found"), 1, "gone"),
        (refused("402 Insufficient credits"), 1, "no_credit"),
        (refused('Auth lookup failed for provider "openai": none'), 1, "no_access"),
        (refused('No text output returned for provider "p" model "m": 500 boom.'), 1, "server"),
        (refused('No text output returned for provider "p" model "m".'), 1, "empty"),
        (
            refused('No text output returned for provider "p" model "m": 401 Incorrect API key.'),
            1,
            "no_access",
        ),
        (
            refused('No text output returned for provider "p" model "m": 404 No endpoints found for m..'),
            1,
            "gone",
        ),
        (refused("Model overrides must use the form <provider/model>."), 1, "program"),
        (refused("the socket closed after 500 bytes"), 1, "program"),
        (json.dumps({"ok": False, "error": "prompt is too long"}), 1, "too_long"),
    ],
)
def test_what_the_program_says_becomes_a_typed_failure(
    desk: Desk, tmp_path: Path, out: str, code: int, kind: str
) -> None:
    install(tmp_path, out, code)
    assert failure(desk)[0] == kind


def test_a_wait_that_openclaw_repeats_is_kept_to(desk: Desk, tmp_path: Path) -> None:
    said = 'No text output returned for provider "p" model "m": 429 slow down; Retry-After: 3600 seconds.'
    install(tmp_path, refused(said), 1)
    assert failure(desk)[0] == "rate_limited"
    with pytest.raises(ModelParked, match="until 2026-11-30 13:00"):
        desk.ask("one", urgent=True)


def test_what_it_writes_to_stderr_is_told_without_keys(desk: Desk, tmp_path: Path) -> None:
    install(tmp_path, code=1, err=f"[openclaw] The command failed with {KEY}\n")
    kind, message, hint = failure(desk)
    assert message == "openclaw failed (exit code 1): [openclaw] The command failed with ***"
    assert "openclaw infer model run" in hint


def test_it_is_killed_with_all_its_children_at_the_deadline(desk: Desk, tmp_path: Path) -> None:
    child = (
        "import fcntl\nif os.fork() == 0:\n"
        "    held = open(home + '/held', 'w'); fcntl.flock(held, fcntl.LOCK_EX); held.write('yes'); held.flush()\n"
    )
    install(tmp_path, then=child + "time.sleep(600)")
    limits = Limits(total_seconds=0.5, start_seconds=0.5)
    assert failure(desk, limits=limits)[0] == "timeout"
    assert (tmp_path / "held").read_text() == "yes"
    with open(tmp_path / "held") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # is had only when the child that held it is dead


def test_a_missing_program_is_a_configuration_error(desk: Desk) -> None:
    with pytest.raises(ConfigError, match="no program `openclaw` in PATH"):
        desk.ask("one")
    assert desk.kept.memo.failures_in_a_row == 0


def test_a_program_that_cannot_be_started_is_told(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "bin" / "openclaw").write_text("#!/no/such/interpreter\n")
    (tmp_path / "bin" / "openclaw").chmod(0o755)
    assert failure(desk)[:2] == ("program", "openclaw could not be started (No such file or directory)")


def test_a_question_too_long_for_a_command_line_asks_for_smaller_pieces(desk: Desk, tmp_path: Path) -> None:
    install(tmp_path, json.dumps(GOOD))
    with pytest.raises(PromptCut):
        desk.ask("one", question=Question("s", "ö" * 65_536))
    assert not (tmp_path / "argv").exists()
    assert desk.ask("one", question=Question("s", "ö" * 65_534)).text == ENTRY


def test_text_that_no_argument_can_hold_is_left_out(desk: Desk, tmp_path: Path) -> None:
    install(tmp_path, json.dumps(GOOD))
    desk.ask("one", question=Question("s", "a\0b \ud800 $(touch x) `y`"))
    assert arguments(tmp_path)[0][4] == "s\n\nab ? $(touch x) `y`"


def test_a_hold_off_is_kept_for_openclaw_as_well(desk: Desk, tmp_path: Path) -> None:
    install(tmp_path, code=1)
    failure(desk)
    with pytest.raises(ModelParked):
        desk.ask("one")
    assert list(desk.kept.memo.holds) == ["openclaw"]
