"""JSON payloads: read, checked against a schema, and every fault named at once.

What a fault says is made from the schema alone: a payload holds what people said, and results do not repeat that.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, NoReturn, Optional

import _cli
from _counting import many
from _errors import ConfigError, MissingPackage, PayloadError

if TYPE_CHECKING:
    from jsonschema import ValidationError

SCHEMAS = Path(__file__).resolve().parent.parent.parent / "schemas"
MAX_PAYLOAD_BYTES = 4_000_000
MAX_FAULTS = 100
_HINT = "mend all of these and send it again; nothing was written"


def read_payload(given: "Optional[str]") -> object:
    """The JSON that was given as an argument, or piped in when that is "-" or missing.

    Raises UsageError when there is none, and PayloadError when it is no JSON.
    """
    data: "str | bytes" = _cli.read_input(MAX_PAYLOAD_BYTES) if given in (None, "-") else given or ""
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number, parse_float=_finite)
    except json.JSONDecodeError as problem:
        where = f"line {problem.lineno}, column {problem.colno}"
        raise _not_json(f"not JSON: {problem.msg} at {where}") from problem
    except UnicodeDecodeError as problem:
        raise _not_json(f"not UTF-8 text at byte {problem.start}") from problem
    except RecursionError as problem:
        raise _not_json("nested too deeply") from problem
    except ValueError as problem:  # Python reads no integer of more than 4,300 digits
        raise _not_json("not to be read: a number in it is too long") from problem


def _not_json(problem: str) -> PayloadError:
    return PayloadError(f"the payload is {problem}", (("", problem),), _HINT)


def _once(pairs: "list[tuple[str, Any]]") -> "dict[str, Any]":
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _not_json("not clear: a name stands twice in one object")
    return found


def _no_number(_text: str) -> NoReturn:
    raise _not_json("not JSON: NaN and Infinity are no numbers there")


def _finite(text: str) -> float:
    found = float(text)
    return found if math.isfinite(found) else _no_number(text)


def load_schema(name: str) -> "dict[str, Any]":
    """schemas/NAME.schema.json. Raises ConfigError when it is missing or damaged."""
    path = SCHEMAS / f"{name}.schema.json"
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as problem:
        raise ConfigError(f"{path} cannot be read", "reinstall the skill") from problem
    return dict(found)


def check(payload: object, name: str, part: str = "") -> "dict[str, Any]":
    """The payload, when it fits the schema (and the `part` of it in "$defs" that holds besides).

    Raises PayloadError with every fault.
    """
    try:
        import jsonschema
    except ImportError as problem:
        raise MissingPackage("jsonschema") from problem
    schema = load_schema(name)
    schemas = [schema, schema["$defs"][part]] if part else [schema]
    make_validator: Any = jsonschema.Draft202012Validator  # untyped in its package
    faults: "set[tuple[str, str]]" = set()
    for one in schemas:
        validator = make_validator(one, format_checker=make_validator.FORMAT_CHECKER)
        for error in validator.iter_errors(payload):
            faults.update(_faults_of(error))
    refuse(faults)
    assert isinstance(payload, dict)
    return payload


def refuse(faults: "set[tuple[str, str]]") -> None:
    """Raise PayloadError when there are any faults."""
    if faults:
        ordered = tuple(sorted(faults))[:MAX_FAULTS]
        more = f"; the first {MAX_FAULTS} are listed" if len(faults) > MAX_FAULTS else ""
        first = f"{ordered[0][0] or 'the payload'}: {ordered[0][1]}"
        raise PayloadError(
            f"{many(len(faults), 'fault')} in the payload{more}, beginning with {first}", ordered, _HINT
        )


def _faults_of(error: "ValidationError") -> "list[tuple[str, str]]":
    """(path, problem) for what the validator complains of; several where names are missing or unknown."""
    path, value = _path_of(error), error.validator_value
    if error.validator == "required":
        missing = [name for name in value if name not in error.instance]
        return [(_join(path, name), "is missing") for name in missing]
    if error.validator == "additionalProperties":
        known = error.schema.get("properties", {})
        unknown = [name for name in error.instance if name not in known]
        return [(_join(path, name[:40]), f"is not one of {', '.join(known)}") for name in unknown]
    return [(path, _problem(str(error.validator), value, error.schema))]


def _path_of(error: "ValidationError") -> str:
    path = ""
    for part in error.absolute_path:
        path = f"{path}[{part}]" if isinstance(part, int) else _join(path, str(part)[:40])
    return path


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _problem(kind: str, value: Any, schema: Mapping[str, Any]) -> str:
    """What a value has to be, in words."""
    told: "Mapping[str, Callable[[], str]]" = {
        "type": lambda: f"must be {' or '.join([value] if isinstance(value, str) else value)}",
        "enum": lambda: f"must be one of {', '.join(map(str, value))}",
        "pattern": lambda: f"must be {schema.get('x-shape', f'of the form {value}')}",
        "format": lambda: f"must be {schema.get('x-shape', value)}",
        "minLength": lambda: "must not be empty",
        "maxLength": lambda: f"must have at most {value} characters",
        "minItems": lambda: f"must have {value} or more entries",
        "maxItems": lambda: f"must have at most {value} entries",
        "uniqueItems": lambda: "must not hold an entry twice",
        "minimum": lambda: f"must be {value} or more",
        "maximum": lambda: f"must be {value} or less",
    }
    return told[kind]() if kind in told else f"does not fit the schema ({kind})"
