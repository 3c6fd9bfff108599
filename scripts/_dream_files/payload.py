"""JSON payloads: read, checked against a schema, and every fault named at once.

What a fault says is made from the schema, or of ids and figures: a payload holds what people said, and results do not
repeat that.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, NoReturn, Optional

import _cli
from _counting import many
from _errors import ConfigError, MissingPackage, PayloadError, RefusedError

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


# What is wrong with a list or an object as a whole: its parts may be right all the same.
_OF_THE_WHOLE = ("required", "minItems", "maxItems", "uniqueItems")


@dataclass
class Inspection:
    """A payload, and all that is wrong with it so far: the `faults` in it, and the `refusals` of what memory does not
    allow, both as (path, problem). `broken` are the paths of what does not fit the schema."""

    value: object
    faults: "set[tuple[str, str]]" = field(default_factory=set)
    refusals: "list[tuple[str, str]]" = field(default_factory=list)
    broken: "set[str]" = field(default_factory=set)

    def fields(self) -> "dict[str, Any]":
        """What of the payload fits the schema."""
        found = self._sound(self.value, "")
        return found if isinstance(found, dict) and "" not in self.broken else {}

    def entries(self, name: str) -> "Iterator[tuple[str, Any]]":
        """(path, what of it fits the schema) for each entry of a list in the payload, whatever is wrong elsewhere."""
        found = self.value.get(name) if isinstance(self.value, dict) else None
        for place, entry in enumerate(found if isinstance(found, list) else ()):
            path = f"{name}[{place}]"
            if name not in self.broken and path not in self.broken:
                yield path, self._sound(entry, path)

    def _sound(self, value: object, path: str) -> object:
        if isinstance(value, dict):
            paths = {name: _join(path, name) for name in value}
            return {
                name: self._sound(part, paths[name])
                for name, part in value.items()
                if paths[name] not in self.broken
            }
        if isinstance(value, list):
            paths_of = [(f"{path}[{place}]", part) for place, part in enumerate(value)]
            return [self._sound(part, place) for place, part in paths_of if place not in self.broken]
        return value

    def passed(self, hint: str = "") -> "dict[str, Any]":
        """The payload, when nothing is wrong with it.

        Raises PayloadError with every fault and refusal; RefusedError, with the `hint`, when there are refusals alone.
        """
        if self.faults:
            raise _payload_error({*self.faults, *self.refusals})
        problems = list(dict.fromkeys(problem for _path, problem in self.refusals))
        if problems:
            more = f" and {len(problems) - MAX_FAULTS} more" if len(problems) > MAX_FAULTS else ""
            raise RefusedError("; ".join(problems[:MAX_FAULTS]) + more, hint)
        assert isinstance(self.value, dict)
        return self.value


def inspect(payload: object, name: str, part: str = "") -> Inspection:
    """A payload with all that does not fit the schema, and the `part` of it in "$defs" that holds besides."""
    try:
        import jsonschema
    except ImportError as problem:
        raise MissingPackage("jsonschema") from problem
    schema = load_schema(name)
    schemas = [schema, schema["$defs"][part]] if part else [schema]
    make_validator: Any = jsonschema.Draft202012Validator  # untyped in its package
    found = Inspection(payload)
    for one in schemas:
        validator = make_validator(one, format_checker=make_validator.FORMAT_CHECKER)
        for error in validator.iter_errors(payload):
            found.faults.update(_faults_of(error))
            if error.validator not in _OF_THE_WHOLE:
                found.broken.update(_broken_by(error))
    return found


def _payload_error(faults: "set[tuple[str, str]]") -> PayloadError:
    ordered = tuple(sorted(faults))[:MAX_FAULTS]
    more = f"; the first {MAX_FAULTS} are listed" if len(faults) > MAX_FAULTS else ""
    first = f"{ordered[0][0] or 'the payload'}: {ordered[0][1]}"
    message = f"{many(len(faults), 'fault')} in the payload{more}, beginning with {first}"
    return PayloadError(message, ordered, _HINT)


def _faults_of(error: "ValidationError") -> "list[tuple[str, str]]":
    """(path, problem) for what the validator complains of; several where names are missing. Of a payload's names only
    those are told that the schema has: others may be what somebody said."""
    path, value = _path_of(_told_place(error)), error.validator_value
    if error.validator == "required":
        missing = [name for name in value if name not in error.instance]
        return [(_join(path, name), "is missing") for name in missing]
    if error.validator == "additionalProperties":
        return [(path, f"has a field that is not one of {', '.join(error.schema.get('properties', {}))}")]
    return [(path, _problem(str(error.validator), value, error.schema))]


def _broken_by(error: "ValidationError") -> "list[str]":
    """The paths of what does not fit, by the payload's own names; of an object with unknown names, of these alone."""
    path = _path_of(error.absolute_path)
    if error.validator == "additionalProperties":
        known = error.schema.get("properties", {})
        return [_join(path, name) for name in error.instance if name not in known]
    return [path]


def _told_place(error: "ValidationError") -> "Iterator[int | str]":
    """Where it is, with "*" for a name that is not the schema's."""
    way = list(error.absolute_schema_path)
    names = {name for kind, name in zip(way, way[1:]) if kind == "properties"}
    for part in error.absolute_path:
        yield part if isinstance(part, int) or part in names else "*"


def _path_of(place: "Iterable[int | str]") -> str:
    path = ""
    for part in place:
        path = f"{path}[{part}]" if isinstance(part, int) else _join(path, part)
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
