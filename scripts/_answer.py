"""From a window to what may enter memory: ask the model, or the built-in extractor, and pass the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Callable, Optional

from _config import Config
from _errors import ModelError
from _observations import Candidate, Observation, make_observation, shorten, tidy
from _prompts import Prompt, fence_for, load_prompt
from _window import Window, read_answer, render_now, render_transcript, select_known, speaker

if TYPE_CHECKING:
    import _llm

EXTRACTOR, AS_SAID = "extractor", "as said"
# Reasoning counts as answer with many providers, so a few hundred tokens of notes need room for thoughts.
MAX_ANSWER_TOKENS = 4096
AS_SAID_CHARS = 450
# Above this a cut answer means that too much was asked at a time; below it the model spends its tokens otherwise.
CUT_RETRY_CHARS = 2_000


@dataclass(frozen=True)
class Settled:
    """What came of one window: what may enter memory, who proposed it, and the counts of the gate."""

    accepted: "tuple[Candidate, ...]"
    by: str
    counts: Mapping[str, int] = field(default_factory=dict)


class AnswerCut(ModelError):
    """The answer ends at the token limit. What it would have gone on to say is unknown, so less is asked at a time."""


def extracted(window: Window, known: Sequence[Observation], config: Config) -> Settled:
    """The built-in extractor's choice."""
    from _extract import extract

    safe, secrets = _masked(window)
    # Each conversation has its own share of what may be kept, as if its run had not been late.
    sessions = dict.fromkeys(message.session_id for message in safe.messages)
    candidates = [
        candidate
        for session in sessions
        for candidate in extract([one for one in safe.messages if one.session_id == session], config.zone)
    ]
    return _judged(candidates, safe, known, config, EXTRACTOR, secrets)


def as_said(window: Window, _known: Sequence[Observation], config: Config) -> Settled:
    """What people said, word for word but masked and shortened: the last resort, which needs no rules and no prompt."""
    safe, secrets = _masked(window)
    candidates = []
    for message in safe.messages:
        local = message.at.astimezone(config.zone)
        words = f"{speaker(message)} said: {_ends_of(tidy(message.text))}"
        line = make_observation(
            words[:1].upper() + words[1:], "context", 5.0, f"{local:%Y-%m-%d}", f"{local:%H:%M}"
        )
        if line is not None and message.role == "user":
            candidates.append(Candidate(line, (message.uid,)))
    return Settled(tuple(candidates), AS_SAID, {"masked": secrets})


def _ends_of(text: str) -> str:
    """A long text's beginning and its end, where people put what matters."""
    if len(text) <= AS_SAID_CHARS:
        return text
    return shorten(text, AS_SAID_CHARS * 2 // 3) + " " + text[-AS_SAID_CHARS // 3 :].partition(" ")[2]


def asked(
    window: Window,
    known: Sequence[Observation],
    config: Config,
    update: "Callable[[Callable[[_llm.Memo], _llm.Memo]], _llm.Memo]",
    clock: "Callable[[], datetime]",
    urgent: bool = False,
) -> Settled:
    """A model's answer. Raises AnswerCut, PromptCut and other ModelErrors; ConfigError for a refused key."""
    import _llm

    safe, secrets = _masked(window)
    accepted: "list[Settled]" = []

    def accept(found: _llm.Answer) -> Optional[str]:
        if found.cut and window.size > CUT_RETRY_CHARS:
            raise AnswerCut(
                f"{found.model} stopped at its token limit", "set a model with a larger answer limit"
            )
        if found.cut:
            return "cut at the token limit"
        candidates, fault = read_answer(found.text)
        if fault:
            return fault
        settled = _judged(candidates, safe, known, config, found.model, secrets)
        if candidates and not settled.accepted and settled.counts["duplicates"] < len(candidates):
            return "nothing of it is in the conversation"
        accepted.append(settled)
        return None

    asking = question(safe, known, config, clock())
    _llm.ask(asking, config.observer_models, config, accept, update, now=clock, urgent=urgent)
    return accepted[-1]


def question(window: Window, known: Sequence[Observation], config: Config, now: datetime) -> "_llm.Question":
    """The system part never changes, so that providers can cache it; what changes comes behind it."""
    import _llm

    transcript = render_transcript(window, config.zone)
    user = load_prompt("observer-window.txt").fill(
        now=render_now(now, config.zone),
        known="\n".join(select_known(window, known)) or "nothing yet",
        fence=fence_for(transcript),
        transcript=transcript,
    )
    return _llm.Question(system_prompt().text, user, MAX_ANSWER_TOKENS)


def system_prompt() -> Prompt:
    """The fixed part of every question."""
    return load_prompt("observer-system.txt")


def is_about_the_window(problem: ModelError) -> bool:
    """True when a model was reached and its answer was no use: waiting will not change that, less text might."""
    from _llm import ModelsFailed, PromptCut

    if isinstance(problem, (AnswerCut, PromptCut)):
        return True
    kinds = {attempt.kind for attempt in problem.attempts} if isinstance(problem, ModelsFailed) else set()
    useless = {"bad_reply", "bad_request", "empty", "refused", "refused_by_caller", "prompt_cut", "too_long"}
    return bool(kinds & useless)


def _masked(window: Window) -> "tuple[Window, int]":
    """The window without secrets: neither a model nor the disk gets to see them."""
    from _gate import mask_messages

    messages, secrets = mask_messages(window.messages)
    return Window(tuple(messages)), secrets


def _judged(
    candidates: Sequence[Candidate],
    window: Window,
    known: Sequence[Observation],
    config: Config,
    by: str,
    secrets: int,
) -> Settled:
    from _gate import judge

    examples = [found.observation.text for found in read_answer(system_prompt().text)[0]]
    verdict = judge(candidates, window.messages, known, config.zone, examples)
    reasons = [code for code, _text in verdict.refused]
    counts = {
        "duplicates": reasons.count("duplicate"),
        "refused": len(reasons) - reasons.count("duplicate"),
        "demoted": verdict.demoted,
        "salvaged": verdict.salvaged,
        "masked": verdict.masked + secrets,
    }
    return Settled(verdict.accepted, by, counts)
