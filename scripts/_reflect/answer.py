"""What a model answers: changes, one a line; what it does not name stays as it is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from _observations import parse_line

_CHANGE = re.compile(
    r"^(?:[-*•]\s+)?(?P<verb>merge|drop)\s+(?P<numbers>#?\d{1,4}(?:(?:\s*(?:,|\+|&|and)\s*|\s+)#?\d{1,4})*)"
    r"(?:\s+by\s+#?(?P<by>\d{1,4}))?\s*(?P<rest>[:.(,;–—-].*)?$",
    re.I,
)
_LABEL = re.compile(r"^\s*\[[^\[\]]{0,60}\]\s*")
_UNCHANGED = re.compile(r"[\W_]*UNCHANGED[\W_]*", re.I)
# More changes than this for each note shown is a model that does not stop.
_MAX_CHANGES_A_NOTE = 2
# Five times what the answer limit allows for: an answer of megabytes is not even looked at.
_MAX_CHARS = 100_000


@dataclass(frozen=True)
class Proposal:
    """One change that a model proposes. `numbers` are those of the notes that leave; `text` the line that they are
    merged into, "" for a drop; `by` the number of the note that makes it superfluous, 0 for none."""

    numbers: "tuple[int, ...]"
    text: str = ""
    by: int = 0


def read_changes(answer: str, shown: int, cut: bool = False) -> "tuple[list[Proposal], str]":
    """What an answer proposes for `shown` notes, and "" or the reason why it is no use: "prose", "list" or "loop".

    Only lines that begin with a change count. An answer without any has to be the word UNCHANGED; one that writes the
    notes anew is no answer, since nobody can tell what became of which. Of a `cut` answer the last line is left out.
    """
    if len(answer) > _MAX_CHARS:
        return [], "loop"
    lines = answer.splitlines()
    if cut and not answer.endswith("\n"):
        lines = lines[:-1]
    proposals = [proposal for line in lines for proposal in _read_line(line)]
    if len(proposals) > _MAX_CHANGES_A_NOTE * shown + 10:
        return [], "loop"
    if proposals or _UNCHANGED.fullmatch(answer.strip()):
        return proposals, ""
    noted = sum(parse_line(line.strip()) is not None for line in lines)
    return [], "list" if noted > 2 else "prose"


def _read_line(line: str) -> "list[Proposal]":
    found = _CHANGE.match(line.rstrip())
    if not found:
        return []
    numbers = tuple(int(number) for number in re.findall(r"\d+", found["numbers"]))
    rest = found["rest"] or ""
    if found["verb"].lower() == "drop":
        return [Proposal((number,), by=int(found["by"] or 0)) for number in numbers]
    text = _text_of(rest[1:]) if rest.startswith(":") and not found["by"] else ""
    return [Proposal(numbers, text)] if text else []


def _text_of(rest: str) -> str:
    """The text of a line, whether the model wrote it bare, as an observation, or with the label of the list."""
    bare = _LABEL.sub("", rest).strip()
    made = parse_line(bare if re.match(r"[-*]\s", bare) else f"- {bare}")
    return _LABEL.sub("", made.text).strip() if made else ""
