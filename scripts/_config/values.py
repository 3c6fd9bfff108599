"""Checking and converting values. Each function takes the name of a variable and what was found for it, and raises
ConfigError naming the variable, the value, its origin and what is allowed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Optional

from _config.settings import OPENROUTER_URL, PROVIDERS, RANGES, Found
from _errors import ConfigError


def refused(name: str, found: Found, allowed: str) -> ConfigError:
    """The error for a value that cannot be taken."""
    from _config.wrong import wrong_value  # most runs have no wrong setting

    return wrong_value(name, found, allowed)


def as_path(name: str, found: Found, home: Optional[Path] = None) -> Path:
    """An absolute path; `~` is the home folder. A relative one would mean another place under cron."""
    value = found[0]
    if "\0" in value or "\n" in value:
        raise refused(name, found, "it takes the path of a folder")
    if home is not None and (value == "~" or value.startswith("~/")):
        value = str(home) + value[1:]
    path = Path(value)
    if not path.is_absolute():
        raise refused(name, found, "it takes an absolute path, or one that begins with ~/")
    return Path(os.path.normpath(path))


def as_whole_number(name: str, found: Found) -> int:
    """A number within the range of its variable."""
    value = found[0]
    lowest, highest = RANGES[name]
    if not value.isdecimal() or len(value) > 12 or not lowest <= int(value) <= highest:
        raise refused(name, found, f"it takes a whole number from {lowest} to {highest}")
    return int(value)


def as_truth(name: str, found: Found) -> bool:
    """True or false, in the words that people use for them."""
    value = found[0].lower()
    if value in ("1", "true", "yes", "on"):
        return True
    if value in ("0", "false", "no", "off"):
        return False
    raise refused(name, found, "it takes true or false")


def as_agent_id(name: str, found: Found) -> str:
    """The name of an agent, which is the name of a folder too."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", found[0]):
        raise refused(name, found, "it takes letters, digits, dots, dashes and underscores, at most 64")
    return found[0]


def as_base_url(name: str, found: Found) -> str:
    """The address that questions go below, as people copy it: with or without the end of its path."""
    value, origin = found
    if origin == "default":
        return value  # most runs need not compile the pattern
    if not re.fullmatch(r"https?://(\[[\w:.%]+\]|[^\s/@:?#\[\]]+)(:\d{1,5})?(/\S*)?", value):
        shown = re.sub(r"//[^/@\s]*@", "//…@", value)
        allowed = "it takes an address such as https://openrouter.ai/api/v1, without a name or password in it"
        raise refused(name, (shown, origin), allowed)
    return value.rstrip("/").removesuffix("/chat/completions")


def provider_of(settings: Mapping[str, Found], key: str, base_url: str) -> str:
    """Who is asked: of "auto", what follows from the key and the address that are set."""
    found = settings["LLM_PROVIDER"]
    provider = found[0].lower()
    if provider not in PROVIDERS:
        raise refused("LLM_PROVIDER", found, f"it takes one of: {', '.join(PROVIDERS)}")
    if provider == "auto":
        provider = "openai" if key or settings["LLM_BASE_URL"][1] != "default" else "none"
    if provider == "openai" and not key and base_url == OPENROUTER_URL:
        # Nothing is sent to an address that nobody has asked for.
        from _config.wrong import WrongSetting

        raise WrongSetting(
            f"there is no key for {OPENROUTER_URL}, and LLM_PROVIDER or LLM_BASE_URL asks for it",
            "set OPENROUTER_API_KEY, or LLM_BASE_URL for a server that needs none, or LLM_PROVIDER=none",
            ("LLM_PROVIDER", "LLM_BASE_URL"),
        )
    return provider


def models_of(role: str, settings: Mapping[str, Found], base_url: str) -> "tuple[str, ...]":
    """The models to ask in turn: role, its fallback, LLM_MODEL; each once.

    A role model that nobody set stands aside for an LLM_MODEL that somebody did set (users of Ollama and Groq set
    only that), and the default ids, which are OpenRouter's, are no use at another address.
    """
    defaults_serve = base_url == OPENROUTER_URL and settings["LLM_MODEL"][1] == "default"
    chain = []
    for name in (f"{role}_MODEL", f"{role}_FALLBACK_MODEL", "LLM_MODEL"):
        value, origin = settings[name]
        if origin != "default" or defaults_serve:
            chain.append(value)
    return tuple(dict.fromkeys(chain or [settings["LLM_MODEL"][0]]))
