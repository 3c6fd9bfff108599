"""One `.env` file, read as data: nothing in it is expanded or run."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

from _config.settings import DEFAULTS
from _config.wrong import WrongSetting
from _errors import MissingPackage

if TYPE_CHECKING:
    from dotenv.parser import Binding


def variables_in(path: Path, raw: bytes) -> "dict[str, str]":
    """The variables that are ours in the bytes of a `.env` file; `path` is for what is told of it.

    Quotes, `export`, CRLF and a byte order mark are understood; `$` stays a dollar sign. Raises ConfigError for what
    cannot be read as such, and MissingPackage when python-dotenv is not installed.
    """
    try:
        content = raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as problem:
        raise WrongSetting(
            f"{path} is not UTF-8 text (byte {problem.start})", "save it as UTF-8", (str(path),)
        ) from problem
    try:
        import dotenv.parser
    except ImportError as problem:
        raise MissingPackage("python-dotenv") from problem
    values: "dict[str, str]" = {}
    for binding in dotenv.parser.parse_stream(io.StringIO(content)):
        if binding.error:
            raise _broken(path, binding)
        if binding.key and binding.key in DEFAULTS and binding.value is not None:
            values[binding.key] = binding.value
    return values


def _broken(path: Path, binding: "Binding") -> WrongSetting:
    """The error for a line. It tells nothing of it but a name that we know: the rest can be a key."""
    name = re.match(r"\s*(?:export\s+)?(\w*)", binding.original.string)
    known = f" (it is about {name.group(1)})" if name and name.group(1) in DEFAULTS else ""
    return WrongSetting(
        f"{path}, line {binding.original.line}: cannot be read as NAME=value{known}",
        "write one NAME=value a line; close every quote",
        (str(path),),
    )
