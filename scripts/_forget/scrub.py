"""A file's text without what is to be forgotten: pure, and doing it twice is doing it once."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Callable, Optional

from _archive import Record, headings, read_archived, read_records
from _dream import hooked_id, without
from _forget.order import Order, ids_in, ids_present
from _observations import BOM, HEAD, Entry, bare_day, parse_log
from _staging import Proposal, parse_proposal
from _state import says_something

# What a file becomes; None: it goes as a whole.
Scrubber = Callable[[str, Order], Optional[str]]

# Free text of an agent about an item: it goes by itself, and the item stays.
_REMARKS = ("Hooks", "Archived reason", "Reason")
LEFT_BEHIND, NOT_TOLD = "what it went into is forgotten", "not told any more"
# The kinds of rows of which `why` is always in our own words.
_OUR_WORDS = ("forgotten", "dissolved", "restored", "removed")
_MADE_OF = ("source_ids", "from_ids")
_FIELD, _VALUE = re.compile(r"\*\*([A-Z][A-Za-z ]{0,40})\*\*:(.*)$"), re.compile(r"[-*] +\S")
_PRINT, _WHY = re.compile(r'fp":"(\w+)"'), re.compile(r'"why":"((?:[^"\\]|\\.)*)"')
# What no line before it runs on into: an item of a list, a heading, a quotation, a row, a field, a fence.
_BEGINS = re.compile(r"\s*(?:[-*+•>|#]|\d+[.)]\s|\*\*|```|Date:|<!--)")
_HEADING = re.compile(rf"{BOM}*#+ *")
_HEAD_LINES = frozenset(HEAD.split("\n"))


def log(text: str, order: Order) -> str:
    """A log without the entries that are about it: observations, hook lines, remarks. Of a date line the day stays, and
    of a heading its marks: what stands below needs them."""
    entries = parse_log(text)
    gone = going(entries, order)
    bared = {position for position in gone if entries[position].kind in _BARED}
    left = [Entry(_BARED[e.kind](e.raw), e.kind) if place in bared else e for place, e in enumerate(entries)]
    return without(left, gone - bared) if gone else text


def bare_heading(raw: str) -> str:
    """A heading without its words."""
    found = _HEADING.match(raw)
    return f"{found[0]}…{raw[len(raw.rstrip()) :]}" if found else raw


_BARED: "dict[str, Callable[[str], str]]" = {"date": bare_day, "heading": bare_heading}


def going(entries: "Sequence[Entry]", order: Order) -> "set[int]":
    """The positions of the entries of a log that go, or, where they are date lines or headings, go but for their day or
    marks."""
    gone = {position for position, entry in enumerate(entries) if takes(entry, order)}
    loose = [entry.raw if entry.kind == "other" else "" for entry in entries]
    return gone | _halves(loose, gone, order)


def _halves(texts: "Sequence[str]", gone: "set[int]", order: Order) -> "set[int]":
    """The lines, by number, that only together with the line before or after them are about it: a sentence may be
    broken anywhere. Those that begin something of their own are no such halves."""
    found: "set[int]" = set()
    for number in range(1, len(texts)):
        before, line = texts[number - 1], texts[number]
        if not before.strip() or not line.strip() or _BEGINS.match(line) or {number - 1, number} & gone:
            continue
        if before not in _HEAD_LINES and line not in _HEAD_LINES and order.has(f"{before} {line.strip()}"):
            found |= {number - 1, number}
    return found


def takes(entry: Entry, order: Order) -> bool:
    """Whether an entry of a log goes, or what it says beside its day."""
    if not says_something(entry) or entry.raw in _HEAD_LINES:
        return False
    name = entry.observation.id if entry.observation else hooked_id(entry)
    return name in order.ids or order.has(entry.raw)


def records(text: str, order: Order) -> str:
    """An archive file without the items that are about it. One that went into a line that goes stays, and says so no
    longer."""
    lines = text.split("\n")
    starts = headings(lines)
    if not starts:
        return log(text, order)
    parts = ["\n".join(lines[: starts[0]])]
    for start, end in zip(starts, [*starts[1:], len(lines)]):
        kept = _record("\n".join(lines[start:end]), order)
        # The last item has the file's last newline behind it.
        parts += ([""] if end == len(lines) else []) if kept is None else [kept]
    parts[0] = _without_lines(parts[0], order)
    return "\n".join(parts)


def _record(block: str, order: Order) -> Optional[str]:
    """One item; None when it goes."""
    record = next(iter(read_records(block)))
    if record.id in order.ids or any(name in order.ids for name in record.source_ids):
        return None
    archived = next(iter(read_archived(block)), None)
    if archived is not None and archived.into and order.is_about(archived.into):
        block = block.replace(f"**Merged into**: {archived.into}\n", "", 1)
    return None if order.has(said_in(record)) else _without_remarks(block, order)


def said_in(record: Record) -> str:
    """What an item says: not what an agent has noted about it, nor its type and weight."""
    return f"{record.text}\n{record.fields.get('Topic', '')}"


def _without_remarks(block: str, order: Order) -> str:
    """An item that stays without the hooks that are about what goes; a reason that is says so no longer."""
    every, inside = block.split("\n"), ""
    kept: "list[str]" = []
    for number, line in enumerate(every):
        field, is_value = _FIELD.match(line), bool(inside and _VALUE.match(line))
        if number and line.strip() and not field and not is_value:
            return "\n".join([*kept, *every[number:]])  # here its text begins
        if field:
            inside = field[1]
            if inside in _REMARKS and field[2].strip() and _mentions(field[2], order):
                line = f"**{inside}**: {LEFT_BEHIND if order.names(field[2]) else NOT_TOLD}"
        elif not is_value:
            inside = ""
        if not (is_value and inside in _REMARKS and _mentions(line, order)):
            kept.append(line)
    return "\n".join(kept)


def _mentions(text: str, order: Order) -> bool:
    return order.names(text) or order.has(text)


def lines(text: str, order: Order) -> str:
    """A text without the lines that are about it."""
    return _without_lines(text, order)


def _without_lines(text: str, order: Order) -> str:
    every = text.split("\n")
    gone = {number for number, line in enumerate(every) if order.is_about(line)}
    gone |= _halves(every, gone, order)
    return "\n".join(line for number, line in enumerate(every) if number not in gone) if gone else text


def proposal(text: str, order: Order) -> Optional[str]:
    """A proposal without the evidence that is about it; None when the proposal itself is, or nothing else supports it.
    What lost the form of a proposal, or never had it, loses its lines."""
    found = parse_proposal(text)
    if found is None:
        return lines(text, order)
    kept = "\n".join(_without_ids(line, order) for line in text.split("\n") if not _is_evidence(line, order))
    if order.tells(found.text) or any(map(order.tells, kept.split("\n"))):
        return None
    left = parse_proposal(kept) if kept != text else found
    return None if left is None or (left != found and not _is_supported(left)) else kept


def _is_supported(found: Proposal) -> bool:
    """Whether a proposal quotes anything, or names an observation."""
    return bool(found.evidence or ids_in(found.supporting))


def _is_evidence(line: str, order: Order) -> bool:
    return bool(re.match(r"- \d{4}-\d{2}-\d{2}(?: \(|:)", line)) and order.is_about(line)


def _without_ids(line: str, order: Order) -> str:
    mark = "**Supporting observations**: "
    if not line.startswith(mark) or not order.names(line):
        return line
    kept = [name for name in line[len(mark) :].split(", ") if name.strip() not in order.ids]
    return mark + (", ".join(kept) or "0")


def values(text: str, order: Order) -> Optional[str]:
    """A JSON file without the strings that are about it, what stands under an id that goes, and the objects that bear
    one or were made of one; as lines when it is no JSON."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return lines(text, order)
    kept = None if _is_its(found, order) else _without_strings(found, order)
    return text if kept == found else None if kept is None else json.dumps(kept, indent=2) + "\n"


def _without_strings(value: Any, order: Order) -> Any:
    if isinstance(value, dict):
        return {
            name: _without_strings(one, order)
            for name, one in value.items()
            if not (order.is_about(str(name)) or _is_its(one, order))
        }
    if isinstance(value, list):
        return [
            _without_strings(one, order)
            for one in value
            if not (_is_its(one, order) or (isinstance(one, str) and order.is_about(one)))
        ]
    return "" if isinstance(value, str) and order.is_about(value) else value


def _is_its(value: Any, order: Order) -> bool:
    """Whether a value is an id that goes, or an object that bears one or was made of one."""
    if isinstance(value, str):
        return value in order.ids
    if not isinstance(value, dict):
        return False
    lists = [value.get(name) for name in _MADE_OF]
    names = [value.get("id"), *(one for found in lists if isinstance(found, list) for one in found)]
    return any(isinstance(name, str) and name in order.ids for name in names)


def whole(text: str, order: Order) -> Optional[str]:
    """A file that is of no use in parts."""
    return None if _mentions(text, order) or any(map(order.tells, text.split("\n"))) else text


def ledger(text: str, order: Order) -> str:
    """The ledger without what could tell the text: of a forgotten observation the rows stay, with its id, its days and
    the messages that it came from, not the reasons that an agent gave. The only rows that are ever changed."""
    whys = frozenset(found for found in set(_WHY.findall(text)) if order.has(found))
    signs = [f'"{one}"' for one in ids_present(text, order.ids) | (order.prints & set(_PRINT.findall(text)))]
    signs += [f'"why":"{why}"' for why in whys]
    if not signs:
        return text
    said = re.compile("|".join(map(re.escape, sorted(signs))))
    return "\n".join(_row(line, order) if said.search(line) else line for line in text.split("\n"))


def _row(line: str, order: Order) -> str:
    try:
        row = json.loads(line) if line else None
    except (ValueError, RecursionError):
        return line
    if not isinstance(row, dict):
        return line
    is_its = row.get("id") in order.ids
    kept = {
        name: value
        for name, value in row.items()
        if not (is_its and name in ("fp", "into_fp", "sha"))
        and not (is_its and name == "why" and row.get("e") not in _OUR_WORDS)
        and not (name in ("fp", "into_fp") and value in order.prints)
        and not (name == "why" and order.has(str(value)))
    }
    if is_its and kept.get("line"):
        kept["line"] = ""  # that it was provisional stays, its hash does not
    return line if kept == row else json.dumps(kept, separators=(",", ":"))


def counted(text: str, order: Order, scrubber: Scrubber = lines) -> int:
    """How many lines of a text are about it; of the ledger, how many rows change."""
    every = text.split("\n")
    if scrubber is ledger:
        return sum(old != new for old, new in zip(every, ledger(text, order).split("\n")))
    gone = {number for number, line in enumerate(every) if order.is_about(line)}
    return len(gone | _halves(every, gone, order))
