"""Telling a random token (a key) from words, names, hashes and slugs."""

from __future__ import annotations

import base64
import binascii
import re

_HEX = re.compile(r"[0-9a-fA-F-]+")
_RUN = re.compile(r"[A-Za-z0-9]{12,}")
# Random letters and digits change their class at 62 % of the steps, CamelCase words with a number at 25 to 40 %.
_LEAST_CHANGES, _LEAST_CHANGES_LOWER = 0.42, 0.3


def has_random_run(text: str) -> bool:
    """True when 12 letters and digits in a row hold a digit: keys with a prefix have that, slugs have not."""
    return any(any(character.isdecimal() for character in run) for run in _RUN.findall(text))


def looks_random(token: str) -> bool:
    """True for a token that is most likely a key.

    Not for UUIDs and plain hexadecimal (commits, checksums), base64 of readable text, slugs, paths and identifiers.
    """
    token = token.rstrip("=")
    core = re.sub(r"[^A-Za-z0-9]", "", token)
    if len(core) < 28 or len(token) - len(core) > 2 + len(token) // 16 or _HEX.fullmatch(token):
        return False
    digit_runs = len(re.findall(r"\d+", core))
    lower, upper = re.search("[a-z]", core), re.search("[A-Z]", core)
    # A third of all base64 digits is missing from few random tokens: 32 characters hold five digits on average.
    if digit_runs < (2 if lower and upper else 4) or len(set(core)) < 10:
        return False
    least = _LEAST_CHANGES if lower and upper else _LEAST_CHANGES_LOWER
    changes = sum(_class(a) != _class(b) for a, b in zip(core, core[1:]))
    return changes >= least * (len(core) - 1) and not _is_readable_base64(token)


def _class(character: str) -> int:
    return 0 if character.isdecimal() else 1 if character.islower() else 2


def _is_readable_base64(token: str) -> bool:
    token = token.replace("-", "+").replace("_", "/")
    try:
        plain = base64.b64decode(token + "=" * (-len(token) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return all(32 <= byte < 127 or byte in (9, 10, 13) for byte in plain)
