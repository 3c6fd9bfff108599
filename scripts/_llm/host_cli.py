"""Asking through OpenClaw's own provider and credentials: `openclaw infer model run` (2026.7 and newer).

The program takes the prompt on its command line only (2026.9.6 has neither a file nor standard input for it), so
the question can be seen in the process list while it runs. It tells neither tokens nor whether the answer was cut.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from datetime import datetime

from _config import DEFAULTS, Config, environment_copy
from _errors import ConfigError
from _llm.failures import meaning_of, refusal
from _llm.question import Answer, AttemptFailed, Limits, Question
from _llm.wording import clean_answer

# Linux takes 131,072 bytes (MAX_ARG_STRLEN) for one argument, its end mark included.
MAX_PROMPT_BYTES = 131_071
MODEL_VARIABLES = (
    "OBSERVER_MODEL",
    "OBSERVER_FALLBACK_MODEL",
    "REFLECTOR_MODEL",
    "REFLECTOR_FALLBACK_MODEL",
    "LLM_MODEL",
)


def chosen_models(models: "tuple[str, ...]", config: Config) -> "tuple[str, ...]":
    """The models of the chain that the person has set; ("",) for OpenClaw's own default when there are none.

    Our default ids are OpenRouter's: OpenClaw's configuration need not know them.
    """
    ours = {DEFAULTS[name] for name in MODEL_VARIABLES if config.origins.get(name, "default") == "default"}
    return tuple(model for model in models if model not in ours) or ("",)


def complete(question: Question, model: str, config: Config, limits: Limits, now: datetime) -> Answer:
    """One question through `openclaw`. Raises AttemptFailed, and ConfigError when there is no such program."""
    environment = environment_copy()
    program = shutil.which("openclaw", path=environment.get("PATH"))
    if program is None:
        raise ConfigError(
            "LLM_PROVIDER is openclaw, but there is no program `openclaw` in PATH",
            "give the full PATH (cron has a short one), or choose another LLM_PROVIDER",
        )
    prompt = f"{question.system}\n\n{question.user}".replace("\0", "").strip()
    size = len(prompt.encode("utf-8", "replace"))
    if size > MAX_PROMPT_BYTES:
        raise AttemptFailed(
            "too_long", f"the question has {size} bytes, a command line holds {MAX_PROMPT_BYTES}"
        )
    command = [
        program,
        "infer",
        "model",
        "run",
        "--prompt",
        prompt.encode("utf-8", "replace").decode(),
        "--json",
    ]
    command += ["--model", model] if model else []
    if config.origins.get("OPENCLAW_AGENT_ID", "default") != "default":
        command += ["--agent", config.agent_id]  # an installation with several agents asks for it
    code, out, err = _run(command, environment, limits.total_seconds + limits.start_seconds)
    return _answer(code, out, err, model, now)


def _run(command: "list[str]", environment: Mapping[str, str], seconds: float) -> "tuple[int, str, str]":
    """(exit code, stdout, stderr). At the deadline, and when we are interrupted, the whole process group is killed."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            start_new_session=True,
        )
    except OSError as problem:
        raise AttemptFailed("program", f"openclaw could not be started ({problem.strerror})") from None
    with process:
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise AttemptFailed("timeout", f"openclaw gave no answer within {seconds:g} seconds") from None
        finally:
            if process.returncode is None:
                _kill_group(process)
    return process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # it ended just now; macOS says so with EPERM


def _answer(code: int, out: str, err: str, model: str, now: datetime) -> Answer:
    found = _json_object(out)
    error = found.get("error")
    if code != 0 or found.get("ok") is False or error:
        said = error.get("message") if isinstance(error, Mapping) else error
        raise _failure(code, str(said or err.strip()), now)
    outputs = found.get("outputs")
    first = outputs[0] if isinstance(outputs, list) and outputs else None
    text = first.get("text") if isinstance(first, Mapping) else None
    if not isinstance(text, str):
        raise AttemptFailed("bad_reply", "openclaw printed no outputs[0].text")
    named = "/".join(str(found[name]) for name in ("provider", "model") if found.get(name))
    return Answer(clean_answer(text), named or model or "openclaw", False, None, None)


def _json_object(out: str) -> "Mapping[str, object]":
    """The JSON object in what openclaw printed: notices of plug-ins may stand before and after it."""
    for start in [found.start() for found in re.finditer(r"^\{", out, re.MULTILINE)][:20]:
        try:
            found, _end = json.JSONDecoder().raw_decode(out[start:])
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and ("outputs" in found or "ok" in found or "error" in found):
            return found
    return {}


def _failure(code: int, said: str, now: datetime) -> AttemptFailed:
    """What OpenClaw's message means. It repeats the provider's: `...model "M": 429 slow down; Retry-After: 60 seconds.`

    A key that one provider refuses says nothing about the next model, which may be another provider's: "no_access".
    """
    empty = re.match(
        r'No text output returned for provider "[^"]*" model "[^"]*"(?:: (?P<why>.+))?', said, re.DOTALL
    )
    if empty and not empty.group("why"):
        return AttemptFailed("empty", "the answer was blank")
    why = empty.group("why") if empty else said
    status = re.match(r"\W*(?:HTTP\W{0,2}|status(?: code)?\W{0,2})?([45]\d\d)\b", why)
    wait = re.search(r"Retry-After: (\d{1,9})", why)
    meant = meaning_of(why)
    if status:
        problem = refusal(int(status.group(1)), why, {"retry-after": wait.group(1)} if wait else {}, now)
    elif re.search(r"auth lookup failed|authentication failed", why, re.IGNORECASE):
        problem = AttemptFailed("bad_key", "OpenClaw has no credentials for this model", why)
    elif meant:
        problem = AttemptFailed(meant[0], meant[1], why)
    else:
        problem = AttemptFailed("program", f"openclaw failed (exit code {code})", why)
    problem.complaint = ""  # we do not write OpenClaw's requests
    problem.kind = "no_access" if problem.kind == "bad_key" else problem.kind
    return problem
