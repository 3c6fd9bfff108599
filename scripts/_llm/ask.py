"""The chain: which model is asked next, what is waited for, and what is noted for later runs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Callable, Optional

from _config import Config
from _errors import ConfigError, ModelParked
from _llm import host_cli, http_api
from _llm.failures import PromptCut, attempt
from _llm.memo import GONE_FOR, Hold, Memo
from _llm.question import Answer, Attempt, AttemptFailed, Limits, ModelsFailed, Question
from _llm.reply import spent
from _observations import estimate_tokens

Change = Callable[[Memo], Memo]
Update = Callable[[Change], Memo]

# What fails for one model at this address fails for the others too.
_STOPS = frozenset({"no_credit", "bad_key", "unreachable", "tls", "redirected", "program"})
# The person repairs these; the next run after the repair must not be held off by us.
_REPAIRED_BY_HAND = frozenset({"bad_key", "redirected"})
_MAX_REQUESTS_A_MODEL = 3
_RETRY_SECONDS = 2.0


@dataclass
class _Course:
    """One `ask` under way."""

    question: Question
    config: Config
    update: Update
    now: Callable[[], datetime]
    sleep: Callable[[float], None]
    limits: Limits
    patience: float
    without: "frozenset[str]" = frozenset()
    attempts: "list[Attempt]" = field(default_factory=list)
    problems: "list[AttemptFailed]" = field(default_factory=list)

    @property
    def day(self) -> str:
        return _local_day(self.now(), self.config)


def ask(
    question: Question,
    models: Sequence[str],
    config: Config,
    accept: Callable[[Answer], Optional[str]],
    update: Update,
    *,
    now: Callable[[], datetime],
    sleep: Callable[[float], None] = time.sleep,
    urgent: bool = False,
    limits: Optional[Limits] = None,
) -> Answer:
    """The first answer that `accept` takes, asking `models` in turn.

    `accept` returns None for a usable answer, else why it is not, in words without conversation text ("prose, no
    entries"). `update(change)` applies a pure change to the stored Memo under the caller's lock, saves it, and
    returns the new Memo: it is called before each request, so that a kill does not lose the count, and after each
    outcome; no lock is held in between. `urgent` disregards a hold-off of our own making, never a wait that the
    provider asked for nor a daily ceiling.

    Raises ModelParked without a request (a hold-off or a daily ceiling), PromptCut (ask smaller pieces; no hold-off
    is noted), KeyRefused, ModelsFailed with `attempts`, ConfigError and MissingPackage. All but ModelParked come
    after the failure was noted; the model that answered usably clears the failures in a row.
    """
    if config.provider not in ("openai", "openclaw"):
        raise ConfigError(
            f"LLM_PROVIDER is {config.provider}: there is no model to ask", "set a key or LLM_PROVIDER"
        )
    limits = limits or Limits()
    course = _Course(question, config, update, now, sleep, limits, limits.patience_seconds)
    memo = update(lambda kept: kept)
    parked = _parked(memo, config, now(), urgent)
    if parked:
        raise parked
    for model in _willing(memo, _chain(models, config), config, now()):
        answer = _ask_model(course, model, accept)
        if answer:
            return answer
        if course.attempts[-1].kind in _STOPS:
            break
    raise _give_up(course)


def parked_until(memo: Memo, config: Config, now: datetime) -> "Optional[tuple[datetime, str]]":
    """(when, why) of the ceiling or hold-off now in force for this provider, None when questions may be asked."""
    hold = memo.holds.get(_provider(config))
    ceiling = _ceiling(memo, config, now)
    if ceiling:
        local = now.astimezone(config.zone) + timedelta(days=1)
        return local.replace(hour=0, minute=0, second=0, microsecond=0), ceiling
    if hold and hold.in_force(now):
        times = f"{hold.failures} failure{'s' if hold.failures > 1 else ''} in a row"
        why = "the provider asked us to wait" if hold.told else times
        return hold.until, f"{why} (last: {_IN_WORDS.get(hold.kind, hold.kind.replace('_', ' '))})"
    return None


def _ceiling(memo: Memo, config: Config, now: datetime) -> str:
    """Which daily ceiling is reached, "" for none."""
    today = memo.on(_local_day(now, config))
    if today.calls >= config.daily_call_limit:
        return f"the day's ceiling of {config.daily_call_limit} calls (LLM_DAILY_CALL_LIMIT) is reached"
    if today.tokens >= config.daily_token_limit:
        return f"the day's ceiling of {config.daily_token_limit} tokens (LLM_DAILY_TOKEN_LIMIT) is reached"
    return ""


def _parked(memo: Memo, config: Config, now: datetime, urgent: bool) -> Optional[ModelParked]:
    found, hold = parked_until(memo, config, now), memo.holds.get(_provider(config))
    ours = hold is not None and not hold.told and not _ceiling(memo, config, now)
    if found is None or (urgent and ours):
        return None
    until = found[0].astimezone(config.zone).strftime("%Y-%m-%d %H:%M")
    return ModelParked(
        f"no model is asked until {until}: {found[1]}", "nothing is lost: the next run after that asks"
    )


def _chain(models: Sequence[str], config: Config) -> "tuple[str, ...]":
    chain = tuple(dict.fromkeys(models))
    if config.provider == "openclaw":
        return host_cli.chosen_models(chain, config)
    if not chain:
        raise ConfigError("there is no model to ask", "set LLM_MODEL")
    return chain


def _willing(memo: Memo, chain: "tuple[str, ...]", config: Config, now: datetime) -> "tuple[str, ...]":
    """The models to ask: not those resting. When all are gone they are asked again, as often as hold-offs let us.

    Raises ModelParked when all that are left wait for a rate limit.
    """
    rests = {model: memo.resting.get(f"{_provider(config)} {model}") for model in chain}
    awake = tuple(model for model, rest in rests.items() if not rest or not rest.in_force(now))
    limited = [rest.until for rest in rests.values() if rest and rest.in_force(now) and rest.kind != "gone"]
    if awake or not limited:
        return awake or chain
    until = min(limited).astimezone(config.zone).strftime("%Y-%m-%d %H:%M")
    raise ModelParked(
        f"no model is asked until {until}: the provider asked us to wait (rate limited)",
        "nothing is lost: the next run after that asks; another provider or a paid model has no such limit",
    )


def _ask_model(course: _Course, model: str, accept: Callable[[Answer], Optional[str]]) -> Optional[Answer]:
    """The accepted answer of one model, after up to three requests; None when it failed (noted in `course`)."""
    for count in range(1, _MAX_REQUESTS_A_MODEL + 1):
        try:
            return _request(course, model, accept)
        except AttemptFailed as problem:
            if count < _MAX_REQUESTS_A_MODEL and _worth_repeating(course, problem, count):
                continue
            _note(course, model, problem)
            return None
    return None


def _request(course: _Course, model: str, accept: Callable[[Answer], Optional[str]]) -> Answer:
    """One counted request. Raises AttemptFailed, ModelParked when a ceiling is reached on the way."""
    question, config, day = course.question, course.config, course.day
    now = course.now()
    expected = estimate_tokens(question.system + question.user)
    ceiling = _ceiling(course.update(lambda kept: kept.on(day)), config, now)
    if ceiling:
        raise ModelParked(f"no more is asked today: {ceiling}", "nothing is lost: tomorrow's run asks")
    course.update(lambda kept: kept.with_call(day, expected))
    try:
        if config.provider == "openclaw":
            answer = host_cli.complete(question, model, config, course.limits, now)
        else:
            answer = http_api.complete(question, model, config, course.limits, now, course.without)
    except AttemptFailed as problem:
        # A question that was refused cost nothing; one that timed out probably did.
        cost = expected if problem.kind == "timeout" else problem.tokens
        course.update(lambda kept: kept.with_tokens(day, cost - expected))
        raise
    cost = spent(answer.prompt_tokens, answer.completion_tokens, question, answer.text)
    course.update(lambda kept: kept.with_tokens(day, cost - expected))
    reason = accept(answer)
    if reason is not None:
        raise AttemptFailed("refused_by_caller", f"the answer could not be used ({reason})")
    course.update(lambda kept: kept.after_success(_provider(config), model))
    return answer


def _worth_repeating(course: _Course, problem: AttemptFailed, count: int) -> bool:
    """Whether to ask the same model again, after what waiting it takes."""
    if problem.complaint and problem.complaint not in course.without:
        before, course.without = course.without, course.without | {problem.complaint}
        return _body(course, before) != _body(course, course.without)
    if problem.kind == "rate_limited" and problem.wait is not None:
        # A moment that has passed means that their clock or ours is off: a second, not a storm.
        seconds = max(problem.wait.total_seconds(), 1.0)
    elif problem.kind == "server" and count == 1:
        seconds = problem.wait.total_seconds() if problem.wait is not None else _RETRY_SECONDS
    else:
        return False
    if seconds > course.patience:
        return False
    course.patience -= seconds
    course.sleep(seconds)
    return True


def _body(course: _Course, without: "frozenset[str]") -> "dict[str, Any]":
    return http_api.request_body(course.question, "", course.config, without)


def _note(course: _Course, model: str, problem: AttemptFailed) -> None:
    """Keep what happened, and let the model rest where that outlasts this question."""
    course.problems.append(problem)
    name = model or "OpenClaw's default model"
    course.attempts.append(attempt(name, problem, course.config.api_key, course.question.user))
    now = course.now()
    rest: Optional[Hold] = None
    if problem.kind == "gone" and "data policy" not in problem.said:
        rest = Hold(now + GONE_FOR, "gone", told=True)
    elif problem.kind in ("rate_limited", "server") and problem.wait:
        rest = Hold(now + problem.wait, problem.kind, told=True)
    if rest:
        kept_rest = rest
        course.update(lambda kept: kept.with_rest(_provider(course.config), model, kept_rest, now))


def _give_up(course: _Course) -> Exception:
    """Note the failure of the whole question; the error to raise."""
    attempts, last = tuple(course.attempts), course.problems[-1]
    short = next((problem for problem in course.problems if problem.kind in ("prompt_cut", "too_long")), None)
    message = "no usable answer: " + "; ".join(f"{one.model}: {one.message}" for one in attempts)
    if short and last.kind not in _STOPS:
        return PromptCut(message, _HINTS["prompt_cut"], attempts, short.seen)
    wait = last.wait if last.kind == "no_credit" else None
    provider, now, hold = _provider(course.config), course.now(), last.kind not in _REPAIRED_BY_HAND
    course.update(lambda kept: kept.after_failure(provider, last.kind, now, wait, hold))
    if last.kind == "bad_key":
        return http_api.key_refused(course.config, attempts[-1].message)
    hints = [_HINTS[one.kind] for one in attempts if one.kind in _HINTS]
    return ModelsFailed(message, hints[-1] if hints else "nothing is lost: the next run asks again", attempts)


_IN_WORDS = {
    "refused_by_caller": "the answer could not be used",
    "bad_reply": "the answer could not be read",
    "empty": "an empty answer",
    "gone": "the model is not offered any more",
    "server": "an error of the server",
    "no_credit": "no credit",
}
_HINTS = {
    "gone": "set OBSERVER_MODEL, REFLECTOR_MODEL or LLM_MODEL to a model that the provider offers",
    "not_found": "check LLM_BASE_URL: it ends before /chat/completions",
    "redirected": "set LLM_BASE_URL to the address it redirects to, if you trust that",
    "no_credit": "add credit at the provider, or choose another one with LLM_BASE_URL and LLM_API_KEY",
    "no_access": "choose another model, or give this account access to it (for OpenClaw: openclaw models auth)",
    "unreachable": "check LLM_BASE_URL, the network, and that a local server is running",
    "tls": "check LLM_BASE_URL and the certificates of this machine; a local server speaks http://",
    "prompt_cut": "ask in smaller pieces; for Ollama, make a model with a larger num_ctx (PARAMETER num_ctx 16384)",
    "program": "try: openclaw infer model run --prompt hello --json",
}


def _provider(config: Config) -> str:
    """The name under which hold-offs are kept."""
    return "openclaw" if config.provider == "openclaw" else config.base_url


def _local_day(now: datetime, config: Config) -> str:
    return now.astimezone(config.zone).strftime("%Y-%m-%d")
