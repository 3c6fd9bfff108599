"""One frozen Config, and the only reader of the environment and of `.env` files.

What every run needs is loaded with the room; `.env` files, and what is told of settings, only when they are met or
asked for by name, since session recovery has a tenth of a second.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from _config.load import load_config, load_what_holds
from _config.settings import (
    DEFAULTS,
    FLUSH_LOOKBACK_MIN,
    LLM_MODEL,
    OBSERVER_FALLBACK_MODEL,
    OBSERVER_MODEL,
    OPENROUTER_URL,
    PROVIDERS,
    RECOVER_LOOKBACK_MIN,
    REFLECTOR_FALLBACK_MODEL,
    REFLECTOR_MODEL,
    SECRET_VARIABLES,
    Config,
)
from _config.sources import ENV_FILES, PLACES, environment_copy, environment_dir, is_restarted

if TYPE_CHECKING:
    from _config.wrong import WrongSetting, presentable, presentable_model

_OF_WRONG = ("WrongSetting", "presentable", "presentable_model")

__all__ = [
    "Config",
    "DEFAULTS",
    "ENV_FILES",
    "FLUSH_LOOKBACK_MIN",
    "LLM_MODEL",
    "OBSERVER_FALLBACK_MODEL",
    "OBSERVER_MODEL",
    "OPENROUTER_URL",
    "PLACES",
    "PROVIDERS",
    "RECOVER_LOOKBACK_MIN",
    "REFLECTOR_FALLBACK_MODEL",
    "REFLECTOR_MODEL",
    "SECRET_VARIABLES",
    "WrongSetting",
    "environment_copy",
    "environment_dir",
    "is_restarted",
    "load_config",
    "load_what_holds",
    "presentable",
    "presentable_model",
]


def __getattr__(name: str) -> Any:
    """What is told of settings, loaded when it is asked for."""
    if name in _OF_WRONG:
        return getattr(import_module("_config.wrong"), name)
    raise AttributeError(f"module '_config' has no attribute {name!r}")
