"""From the sources to the checked Config."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Optional

from _config.settings import DEFAULTS, SECRET_VARIABLES, Config, Found
from _config.sources import ENV_FILES, Sources, find_places
from _config.values import (
    as_agent_id,
    as_base_url,
    as_path,
    as_truth,
    as_whole_number,
    models_of,
    provider_of,
)
from _config.zone import zone_of
from _errors import ConfigError, MissingPackage


def load_config(
    flags: Optional[Mapping[str, str]] = None,
    environ: Optional[Mapping[str, str]] = None,
    script: Optional[Path] = None,
    without: "frozenset[str]" = frozenset(),
) -> Config:
    """Read every source and return a checked Config. `flags` are variables by name, given on the command line.

    Variables and paths of files in `without` count as not set and not there (ENV_FILES: all of these files). Raises
    ConfigError naming the variable, the value found and what is allowed, and MissingPackage when there is a `.env` to
    read but python-dotenv is not installed.
    """
    sources = Sources(flags or {}, environ, without)
    home, state_dir, workspace = find_places(sources, script or Path(__file__).parent)
    settings = {name: sources.find(name) for name in DEFAULTS}
    return _config_of(settings, home, state_dir, workspace)


def load_what_holds(
    flags: Optional[Mapping[str, str]] = None,
    environ: Optional[Mapping[str, str]] = None,
    script: Optional[Path] = None,
) -> "tuple[Config, tuple[ConfigError, ...]]":
    """The Config without the settings that cannot be taken, and the error of each: for a look at all the rest."""
    from _config.wrong import WrongSetting

    problems: "list[ConfigError]" = []
    without: "frozenset[str]" = frozenset()
    while True:
        try:
            return load_config(flags, environ, script, without), tuple(problems)
        except (WrongSetting, MissingPackage) as problem:
            about = frozenset(problem.about if isinstance(problem, WrongSetting) else (ENV_FILES,))
            if about <= without:
                raise
            without |= about
            problems.append(problem)


def _config_of(settings: Mapping[str, Found], home: Path, state_dir: Path, workspace: Path) -> Config:
    """Check and convert every value; pure but for the time zone's files."""

    def number(name: str) -> int:
        return as_whole_number(name, settings[name])

    def folder(name: str, otherwise: Path) -> Path:
        return as_path(name, settings[name], home) if settings[name][0] else otherwise

    key = settings["LLM_API_KEY"][0] or settings["OPENROUTER_API_KEY"][0]
    base_url = as_base_url("LLM_BASE_URL", settings["LLM_BASE_URL"])
    provider = provider_of(settings, key, base_url)
    agent = as_agent_id("OPENCLAW_AGENT_ID", settings["OPENCLAW_AGENT_ID"])
    return Config(
        workspace=workspace,
        memory_dir=folder("MEMORY_DIR", workspace / "memory"),
        sessions_dir=folder("SESSIONS_DIR", state_dir / "agents" / agent / "sessions"),
        agent_id=agent,
        state_dir=state_dir,
        zone=zone_of(settings["TZ"], workspace),
        provider=provider,
        base_url=base_url,
        api_key=key,
        observer_models=models_of("OBSERVER", settings, base_url),
        reflector_models=models_of("REFLECTOR", settings, base_url),
        lookback_minutes=number("OBSERVER_LOOKBACK_MIN"),
        morning_lookback_minutes=number("OBSERVER_MORNING_LOOKBACK_MIN"),
        line_threshold=number("OBSERVER_LINE_THRESHOLD"),
        cooldown_seconds=number("OBSERVER_COOLDOWN_SECS"),
        reflect_over_words=number("REFLECTOR_WORD_THRESHOLD"),
        dream_token_target=number("DREAM_TOKEN_TARGET"),
        read_only=as_truth("READ_ONLY_MODE", settings["READ_ONLY_MODE"]),
        dream_phase=number("DREAM_PHASE"),
        daily_call_limit=number("LLM_DAILY_CALL_LIMIT"),
        daily_token_limit=number("LLM_DAILY_TOKEN_LIMIT"),
        origins={name: origin for name, (_, origin) in settings.items()},
        values={name: _unlocked(name, value) for name, (value, _) in settings.items()},
    )


def _unlocked(name: str, value: str) -> str:
    """A setting, of a key only whether it is set."""
    return ("set" if value else "unset") if name in SECRET_VARIABLES else value
