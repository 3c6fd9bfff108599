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
from dataclasses import dataclass
from typing import Optional, Union

from _observations import Entry, parse_log

_HEADING = re.compile(r"^## +\S")
_FIELD = re.compile(r"^\*\*([A-Z][A-Za-z ]{0,40})\*\*:(.*)$")
_VALUE = re.compile(r"^[-*] +(\S.*)$")
_FENCE = re.compile(r"^(`{3,})text\r?$")
_RULE = re.compile(r"^---\s*$")


@dataclass(frozen=True)
class Record:
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
        return tuple(re.findall(r"OBS-\d{8}-\d{3,9}", self.fields.get("Source ids", "")))


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


def headings(lines: "Sequence[str]") -> "list[int]":
    """The numbers of the lines that are headings of items: those in a text are not."""
    found: "list[int]" = []
    fence = ""
    for number, line in enumerate(lines):
        opened = _FENCE.match(line)
        if fence:
            fence = "" if line.rstrip("\r") == fence else fence
        elif opened:
            fence = opened.group(1)
        elif _HEADING.match(line):
            found.append(number)
    return found


def _clean(text: str) -> str:
    return text.replace("\r", " ").strip()


def _record(name: str, lines: "Sequence[str]") -> Record:
    fields: "dict[str, str]" = {}
    inside = ""
    for number, line in enumerate(lines):
        field, value, opened = _FIELD.match(line), _VALUE.match(line), _FENCE.match(line)
        if opened:
            return _fenced(name, fields, lines[number + 1 :], opened.group(1))
        if field and field.group(1) not in fields:
            inside = field.group(1)
            fields[inside] = _clean(field.group(2))
            inside = "" if fields[inside] else inside
        elif value and inside:
            fields[inside] = f"{fields[inside]}\n{_clean(value.group(1))}".lstrip("\n")
        elif line.strip():
            return _bare(name, fields, lines[number:])
        else:
            inside = ""
    return Record(name, fields, "", False)


def _fenced(name: str, fields: "Mapping[str, str]", lines: "Sequence[str]", fence: str) -> Record:
    end = next((number for number, line in enumerate(lines) if line.rstrip("\r") == fence), len(lines))
    is_whole = any(_RULE.match(line) for line in lines[end:])
    return Record(name, fields, "\n".join(lines[:end]), is_whole)


def _bare(name: str, fields: "Mapping[str, str]", lines: "Sequence[str]") -> Record:
    end = next((number for number, line in enumerate(lines) if _RULE.match(line)), len(lines))
    plain = [line.rstrip("\r") for line in lines[:end]]
    return Record(name, fields, "\n".join(plain).strip("\n"))
