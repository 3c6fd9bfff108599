"""What is told of settings: of one that cannot be taken, and of any without showing what could be a key."""

from __future__ import annotations

import re

from _config.settings import Config, Found
from _errors import ConfigError

# The longer ones begin as ids of models may.
_KEY_FORMS = (
    r"\b(?:sk|pk|rk|gsk|xai|gh[pousr])[-_]\w|AIza|\bnvapi-\w|"
    r"\b(?:hf_|r8_|fw_|pplx-|tvly-|github_pat_|glpat-)[A-Za-z0-9_-]{20}"
)


class WrongSetting(ConfigError):
    """What was set cannot be taken. `about`: the variables, or the path of the `.env` file."""

    def __init__(self, message: str, hint: str, about: "tuple[str, ...]") -> None:
        super().__init__(message, hint)
        self.about = about


def wrong_value(name: str, found: Found, allowed: str) -> WrongSetting:
    """The error for a variable's value; one that looks like a key, put there by mistake, is not shown."""
    value, origin = found
    shown = _hidden(value) or f"{value!r}"
    return WrongSetting(f"{name} is {shown} (from {origin})", allowed, (name,))


def presentable(config: Config, name: str) -> str:
    """A setting for a person: what could be a key put there by mistake is not shown."""
    value = config.values[name]
    value = value.partition("?")[0] if name == "LLM_BASE_URL" else value
    if name.endswith("_MODEL"):
        return presentable_model(value)
    # A folder's name may be long and without blanks, and is no place for a key.
    return value if value.startswith(("/", "~")) else _hidden(value) or value


def presentable_model(model: str) -> str:
    """The id of a model for a person. Ids may be as long as keys are, so that a key is known by how it begins."""
    return f"{len(model)} characters that look like a key" if re.search(_KEY_FORMS, model) else model


def _hidden(value: str) -> str:
    """What is told in the place of a value that looks like a key; "" for one that may be shown."""
    if len(value) > 200 or re.search(rf"{_KEY_FORMS}|[A-Za-z0-9_-]{{32}}", value):
        return f"{len(value)} characters that are not shown"
    return ""
