"""The shape that everything below memory/archive has: a heading, fields, a text, a rule.

    ## OBS-20261130-001

    **Original date**: 2026-11-30
    **Hooks**:
    - end of the lease

    ```text
    The text, to the byte.
    ```

    ---

The fences are longer than any run of backticks in the text, so that no text can pass for a heading, a field or the end
of its item. Files of other editions have the text bare, leave fields out, or put blank lines between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Optional, Union

from _observations import Entry, parse_log

_HEADING = re.compile(r"^## +\S")
_FIELD = re.compile(r"^\*\*([A-Z][A-Za-z ]{0,40})\*\*:(.*)$")
_LOWERED_FIELD = re.compile(r"^\*\*([a-z][a-z ]{0,40})\*\*:(.*)$")
_VALUE = re.compile(r"^[-*] +(\S.*)$")
_FENCE = re.compile(r"^(`{3,})text\r?$")
_RULE = re.compile(r"^---\s*$")


class Record(NamedTuple):
    """One item of an archive file. `fields` go by name ("Original date"); a list stands in one as lines. `is_whole` is
    False for an item that its file ends in the middle of."""

    id: str
    fields: "Mapping[str, str]"
    text: str
    is_whole: bool = True

    def list_of(self, name: str) -> "tuple[str, ...]":
        """The values of a field that is a list."""
        return tuple(filter(None, self.fields.get(name, "").split("\n")))

    @property
    def entry(self) -> Optional[Entry]:
        """The text as an entry of the log; None when it is none."""
        day = self.fields.get("Original date", "")
        head = f"Date: {day}\n" if day else ""
        return next((entry for entry in parse_log(head + self.text) if entry.observation), None)

    @property
    def source_ids(self) -> "tuple[str, ...]":
        """The observations that a chunk was made of."""
        return tuple(re.findall(r"OBS-[0-9]{8}-[0-9]{3,9}", self.fields.get("Source ids", "")))


def is_one_line(text: str) -> bool:
    """True for what fits a field: one line, without white space around it."""
    return "\n" not in text and "\r" not in text and text.strip() == text


def render_record(name: str, fields: "Mapping[str, Union[str, Sequence[str]]]", text: str) -> str:
    """The item as it is appended to a file; empty fields are left out. `read_records` is the inverse.

    Raises ValueError when its id or a field is more than one line.
    """
    head = ""
    for field, value in fields.items():
        values = (value,) if isinstance(value, str) else tuple(value)
        if not all(map(is_one_line, values)) or (not isinstance(value, str) and not all(values)):
            raise ValueError(f"{field} is not one line each: {values!r:.80}")
        if isinstance(value, str):
            head += f"**{field}**: {value}\n" if value else ""
        elif values:
            head += f"**{field}**:\n" + "".join(f"- {one}\n" for one in values)
    if not name or not is_one_line(name):
        raise ValueError(f"not an id: {name!r:.80}")
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"## {name}\n\n{head}\n{fence}text\n{text}\n{fence}\n\n---\n\n"


def read_records(content: str) -> Iterator[Record]:
    """The items of a file, in order. What stands before the first heading is passed over."""
    lines = content.split("\n")
    starts = headings(lines)
    for start, end in zip(starts, [*starts[1:], len(lines)]):
        yield _record(_clean(lines[start][3:]), lines[start + 1 : end])


def headings(lines: "Sequence[str]", is_lowered: bool = False) -> "list[int]":
    """The numbers of the lines that are headings of items: those in a text between fences are not. `is_lowered`: the
    file is in lower case."""
    found: "list[int]" = []
    number = 0
    while number < len(lines):
        if _HEADING.match(lines[number]):
            found.append(number)
            _fields, number = _head(lines, number + 1, is_lowered)
            end = closing(lines, number)
            number = number if end is None else end + 1
        else:
            number += 1
    return found


def _clean(text: str) -> str:
    return text.replace("\r", " ").strip()


def _record(name: str, lines: "Sequence[str]") -> Record:
    fields, start = _head(lines, 0)
    end = closing(lines, start)
    has_rule = any(map(_RULE.match, lines[start if end is None else end :]))
    if end is not None:
        return Record(name, fields, "\n".join(lines[start + 1 : end]), has_rule)
    if start == len(lines) or (_FENCE.match(lines[start]) and not has_rule):
        return Record(name, fields, "\n".join(lines[start + 1 :]), False)
    return _bare(name, fields, lines[start:])


def _head(lines: "Sequence[str]", start: int, is_lowered: bool = False) -> "tuple[dict[str, str], int]":
    """The fields that begin at a line, and the number of the first line behind them that is not blank."""
    pattern = _LOWERED_FIELD if is_lowered else _FIELD
    fields: "dict[str, str]" = {}
    inside = ""
    for number in range(start, len(lines)):
        line = lines[number]
        field, value = pattern.match(line), _VALUE.match(line) if inside else None
        if field and field.group(1) not in fields:
            inside = field.group(1)
            fields[inside] = _clean(field.group(2))
            inside = "" if fields[inside] else inside
        elif value:
            fields[inside] = f"{fields[inside]}\n{_clean(value.group(1))}".lstrip("\n")
        elif line.strip():
            return fields, number
        else:
            inside = ""
    return fields, len(lines)


def closing(lines: "Sequence[str]", start: int) -> Optional[int]:
    """The number of the line that ends the fence which begins at line `start`; None when none does.

    No line between the two holds as many backticks: `render_record` sees to that. Where one does, the text is bare or
    was cut off, and what begins like a fence is a part of it: it must not swallow the items behind.
    """
    opened = _FENCE.match(lines[start]) if start < len(lines) else None
    if not opened:
        return None
    fence = opened.group(1)
    end = next((number for number in range(start + 1, len(lines)) if fence in lines[number]), None)
    return end if end is not None and lines[end].rstrip("\r") == fence else None


def _bare(name: str, fields: "Mapping[str, str]", lines: "Sequence[str]") -> Record:
    end = next((number for number, line in enumerate(lines) if _RULE.match(line)), len(lines))
    plain = [line.rstrip("\r") for line in lines[:end]]
    return Record(name, fields, "\n".join(plain).strip("\n"))
