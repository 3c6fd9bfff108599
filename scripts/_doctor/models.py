"""Checks of who reads the conversations: the provider, the models it offers, and how much may still be asked today."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from _config import Config, presentable_model
from _doctor.finding import FAIL, OK, UNKNOWN, WARN, Finding
from _doctor.scene import Scene
from _setup import host
from _state import load_calls

CONNECT_SECONDS, TOTAL_SECONDS = 2.0, 4.0
ROLES = (
    "OBSERVER_MODEL",
    "OBSERVER_FALLBACK_MODEL",
    "REFLECTOR_MODEL",
    "REFLECTOR_FALLBACK_MODEL",
    "LLM_MODEL",
)
# OpenRouter's ways to the same model, which its list does not have; and the tag that Ollama takes for granted.
_VARIANT = re.compile(r":(?:nitro|floor|online|exacto|latest)$")


def provider(scene: Scene) -> Finding:
    """Who reads the conversations, and whether that is possible."""
    config = scene.config
    facts = {"provider": config.provider, "models": presentable_models(chain(config))}
    if config.provider == "none":
        says = "the built-in extractor reads the conversations; nothing leaves this machine"
        return Finding("provider", OK, says, facts={**facts, "models": []})
    if config.provider == "openclaw":
        if host.find("openclaw") is None:
            says = "OpenClaw's own model is to be asked, but there is no program `openclaw` in PATH"
            todo = "give the PATH that has it, also to cron and services (setup.py does), or set another LLM_PROVIDER"
            return Finding("provider", FAIL, says, todo, facts)
        return Finding("provider", OK, "OpenClaw's own model, by `openclaw infer model run`", facts=facts)
    key = "with a key" if config.api_key else "without a key"
    says = f"{presentable_model(config.observer_models[0])} at {host_of(config)}, {key}"
    gone = remembered_as_gone(scene)
    if gone:
        facts["gone"] = presentable_models(gone)
        says += f"; not offered any more as of today: {', '.join(facts['gone'])}"
        state = FAIL if set(gone) >= set(chain(config)) else WARN
        return Finding("provider", state, says, f"set {variables_of(config, gone)}", facts)
    return Finding("provider", OK, says, facts=facts)


def host_of(config: Config) -> str:
    """The server's name."""
    return urlsplit(config.base_url).netloc


def chain(config: Config) -> "tuple[str, ...]":
    """Every model that may be asked, the first first."""
    return tuple(dict.fromkeys([*config.observer_models, *config.reflector_models]))


def presentable_models(models: "Iterable[str]") -> "list[str]":
    """Ids of models for a person."""
    return list(map(presentable_model, models))


def variables_of(config: Config, models: "Iterable[str]") -> str:
    """The variables that name these models."""
    wanted = set(models)
    return ", ".join(name for name in ROLES if config.values[name] in wanted) or "LLM_MODEL"


def remembered_as_gone(scene: Scene) -> "list[str]":
    """The models that the server called gone within the last day (calls.json)."""
    from _llm import Memo

    resting = Memo.from_json(load_calls(scene.places)).resting
    rests = {model: resting.get(f"{scene.config.base_url} {model}") for model in chain(scene.config)}
    return [
        model
        for model, rest in rests.items()
        if rest and rest.kind == "gone" and rest.in_force(scene.run.now)
    ]


def is_asked(config: Config) -> bool:
    """Whether there is a server whose list of models can be asked for."""
    return config.provider == "openai"


def models(scene: Scene) -> Finding:
    """Which of the models the server offers: one question, which spends no call of the day."""
    from _llm import KeyRefused, Limits, ModelsFailed, offered_models

    config = scene.config
    limits = Limits(connect_seconds=CONNECT_SECONDS, total_seconds=TOTAL_SECONDS)
    try:
        offered = {_VARIANT.sub("", name) for name in offered_models(config, scene.run.now, limits)}
    except KeyRefused as problem:
        return Finding("models", FAIL, str(problem), problem.hint)
    except ModelsFailed as problem:
        says = f"could not look: {problem}"
        return Finding("models", UNKNOWN, says, f"{problem.hint}; or leave this out: --offline")
    if not offered:
        return Finding(
            "models",
            UNKNOWN,
            f"could not look: {host_of(config)} lists no models",
            "--offline leaves this out",
        )
    lacking = [model for model in chain(config) if _VARIANT.sub("", model) not in offered]
    told = presentable_models(lacking)
    facts = {"offered": len(offered), "not_offered": told}
    if not lacking:
        return Finding("models", OK, f"{host_of(config)} offers all of them", facts=facts)
    says = f"{host_of(config)} does not offer {', '.join(told)}"
    todo = f"set {variables_of(config, lacking)} to ids that {host_of(config)} lists"
    defaults = [model for model in lacking if is_default(config, model)]
    if defaults:
        says += "; what nobody has set are ids of OpenRouter, where free models come and go"
    nobody_left = any(set(role) <= set(lacking) for role in (config.observer_models, config.reflector_models))
    return Finding("models", FAIL if nobody_left else WARN, says, todo, facts)


def is_default(config: Config, model: str) -> bool:
    """Whether nobody chose this model."""
    return any(config.values[name] == model and config.origins[name] == "default" for name in ROLES)


def budget(scene: Scene) -> Finding:
    """What was asked of models today, of how much; and whether nobody is asked for a while."""
    from _llm import Memo, parked_until

    config, now = scene.config, scene.run.now
    today = f"{now.astimezone(config.zone):%Y-%m-%d}"
    memo = Memo.from_json(load_calls(scene.places))
    spent = memo.on(today)
    facts = {
        "calls": spent.calls,
        "calls_limit": config.daily_call_limit,
        "tokens": spent.tokens,
        "tokens_limit": config.daily_token_limit,
    }
    says = (
        f"{spent.calls} of {config.daily_call_limit} questions and {spent.tokens:,} of "
        f"{config.daily_token_limit:,} tokens today"
    )
    parked = parked_until(memo, config, now) if config.provider != "none" else None
    if parked:
        until = f"{parked[0].astimezone(config.zone):%Y-%m-%d %H:%M}"
        return Finding("budget", WARN, f"{says}; no model is asked until {until}: {parked[1]}", facts=facts)
    return Finding("budget", OK, says, facts=facts)
