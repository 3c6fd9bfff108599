"""The commit that a reflection makes: entries that leave the log, each kept in the archive, and lines for them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional

from _archive import Archived, Block, append_block, block_for, render_archived
from _compat import sha256_hex
from _errors import RefusedError
from _files import decode, read_bytes
from _ledger import append_rows, facts_of, mark_of, sha_of
from _observations import Entry, Observation, next_ids, observations_in, parse_log, render_line
from _state.places import Places
from _state.rewrite import name_of, names_in, rewrite_log, rewritten
from _state.state import SCHEMA, load_state, save_state


@dataclass(frozen=True)
class Step:
    """Entries that leave the log for one reason, and what says the same from then on: a line that stays (`kept`), a new
    one (`new`, still without id), or none, when they are only archived. `why` and `by` are code words."""

    leaving: "tuple[Entry, ...]"
    why: str
    by: str
    kept: Optional[Entry] = None
    new: Optional[Observation] = None


@dataclass(frozen=True)
class Reflection:
    """What one answer, or the rules, change in the log. `at` is UTC, `day` the person's day. `prompt` is the version of
    the prompt behind the answer, "" without one."""

    at: str
    day: str
    steps: "tuple[Step, ...]"
    prompt: str = ""


def journal_of(places: Places, change: Reflection) -> "dict[str, Any]":
    """What the journal says of a reflection. A step of which any entry was edited or removed since is left out: what a
    person does to the log counts for more. Raises RefusedError when the new log would lose something."""
    text = decode(read_bytes(places.observations) or b"")
    entries = parse_log(text)
    steps = _still_possible(change.steps, names_in(entries))
    numbers = _Numbers(observations_in(entries), load_state(places).highest, change.day)
    new = [numbers.named(step.new) if step.new else None for step in steps]
    left = [
        [numbers.named(entry.observation).id for entry in step.leaving if entry.observation] for step in steps
    ]
    remaining = _remaining(steps, names_in(entries))
    arriving = [
        [render_line(line), _places_for(step, line)] for step, line in zip(steps, new) if line is not None
    ]
    rows = [row for found in zip(steps, new, left) for row in _rows(change, *found)]
    archived = [item for found in zip(steps, new, left) for item in _items(change, *found)]
    after = rewritten(text, remaining, _pairs(arriving))
    leaving = names_in(entry for step in steps for entry in step.leaving)
    _check(text, after, leaving, [line for line, _names in _pairs(arriving)])
    path = places.reflections / f"{change.day}.md"
    block = block_for(path, render_archived(archived))
    told = [mark_of(places.ledger), rows, remaining, arriving, block._asdict()]
    number = sha256_hex(json.dumps(told).encode())[:16]
    return {
        "schema": SCHEMA,
        "kind": "reflection",
        "commit": number,
        "remaining": remaining,
        "arriving": arriving,
        "archive": {"file": path.name, **block._asdict()},
        "rows": [{**row, "commit": number} for row in rows],
        "highest": numbers.highest,
    }


def apply(places: Places, journal: Mapping[str, Any]) -> None:
    """Do what such a journal says, as far as it is not done: what leaves is in the archive before it leaves."""
    archive, highest = journal["archive"], journal["highest"]
    path = _file_of(places, archive["file"])
    remaining, arriving = dict(journal["remaining"]), _pairs(journal["arriving"])
    if not journal["rows"]:
        return
    block = Block(archive["text"], archive["size"], archive["sha256"])
    append_block(path, block)
    rewrite_log(places, lambda text: rewritten(text, remaining, arriving))
    append_rows(places.ledger, journal["rows"])
    state = load_state(places)
    given = {day: max(number, state.highest.get(day, 0)) for day, number in highest.items()}
    save_state(places, state._replace(highest={**state.highest, **given}))


def _file_of(places: Places, name: str) -> Path:
    """The archive's file of that name; ValueError, which stands for a damaged journal, when it is not that of a day."""
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\.md", name):
        raise ValueError(name)
    return places.reflections / name


def _pairs(arriving: "Iterable[Sequence[Any]]") -> "list[tuple[str, list[str]]]":
    return [(str(line), list(names)) for line, names in arriving]


def _still_possible(steps: "Sequence[Step]", there: "Counter[str]") -> "list[Step]":
    """The steps of which every entry still stands in the log as it was, the line that stays included."""
    free = Counter(there)
    possible = []
    for step in steps:
        wanted = names_in(step.leaving)
        if all(free[name] >= number for name, number in wanted.items()):
            free -= wanted
            possible.append(step)
    # A line that stays must not be one of those that leave.
    kept = [step for step in possible if step.kept is None or free[name_of(step.kept)]]
    return kept if len(kept) == len(possible) else _still_possible(kept, there)


def _remaining(steps: "Iterable[Step]", there: "Counter[str]") -> "dict[str, int]":
    """How many entries of each name that leaves still stand afterwards."""
    leaving = names_in(entry for step in steps for entry in step.leaving)
    return {name: there[name] - number for name, number in leaving.items()}


def _places_for(step: Step, line: Observation) -> "list[str]":
    """The names of the entries in whose place a new line stands, best first: under its own day's date line."""
    ordered = sorted(
        step.leaving, key=lambda entry: entry.observation is None or entry.observation.date != line.date
    )
    return [name_of(entry) for entry in ordered]


class _Numbers:
    """Gives ids. `highest` is, by day, the highest number given."""

    def __init__(self, log: "Sequence[Observation]", given: Mapping[str, int], today: str) -> None:
        self.highest = dict(given)
        self._used = [found.id for found in log if found.id]
        self._today = today

    def named(self, observation: Observation) -> Observation:
        """The observation with its id, a new one of its day (today where it has none) when it has none yet."""
        if observation.id:
            return observation
        day = observation.date or self._today
        name = next_ids(day, 1, self._used, self.highest.get(day, 0))[0]
        self.highest[day] = int(name.rsplit("-", 1)[1])
        return replace(observation, id=name)


def _rows(
    change: Reflection, step: Step, new: Optional[Observation], left: "list[str]"
) -> "list[dict[str, Any]]":
    """The ledger's rows for one step."""
    rows: "list[dict[str, Any]]" = []
    if new is not None:
        rows.append({"e": "observed", "at": change.at, "id": new.id, **facts_of(new), "from_ids": left})
        rows[0].update({"by": step.by, "trigger": "reflection"})
        if change.prompt and step.by != "reflector":
            rows[0]["prompt"] = change.prompt
    stands = new or (step.kept.observation if step.kept else None)
    for name, entry in zip(left, step.leaving):
        if stands is None:
            row = {"e": "archived", "at": change.at, "id": name, "why": step.why}
        else:
            row = {"e": "merged", "at": change.at, "id": name, "into": stands.id, "why": step.why}
            if not stands.id:
                row["into_fp"] = facts_of(stands)["fp"]
        lies = {"in": f"archive/reflections/{change.day}.md", "sha": sha_of(entry.raw)}
        rows.append({**row, "by": step.by, **lies})
    return rows


def _items(change: Reflection, step: Step, new: Optional[Observation], left: "list[str]") -> "list[Archived]":
    """What the archive keeps of one step."""
    stands = new or (step.kept.observation if step.kept else None)
    into = (stands.id or stands.text) if stands else ""
    dated = [(entry.observation.date or "unknown") if entry.observation else "" for entry in step.leaving]
    return [
        Archived(name, entry.raw, day, step.why, into) for name, entry, day in zip(left, step.leaving, dated)
    ]


def _check(before: str, after: str, leaving: "Counter[str]", arriving: "Sequence[str]") -> None:
    """Every line of the old log is in the new one or leaves, in its order, and nothing else has come in."""
    old, new = parse_log(before), parse_log(after)
    came = set(arriving)
    stays = [entry for entry in new if entry.raw.rstrip("\r") not in came]
    others = [[entry.raw for entry in log if _is_text(entry)] for log in (old, stays)]
    kept = [name_of(entry) for entry in stays if entry.observation]
    rest = iter(name_of(entry) for entry in old if entry.observation)
    in_order = all(name in rest for name in kept)
    accounted = names_in(old) == names_in(stays) + leaving
    if not accounted or not in_order or others[0] != others[1] or len(new) - len(stays) != len(came):
        raise RefusedError(
            "the new log would not account for every line of the old one", "nothing was changed"
        )


def _is_text(entry: Entry) -> bool:
    """Whether an entry is one that no reflection may touch."""
    return entry.kind in ("heading", "hook", "other") and bool(entry.raw.strip())
