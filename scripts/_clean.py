"""What got into a log without being a note: thoughts and fences of models, our own results, chatter of machines,
prompts that came back, and lines in the very same words again.

A line that fits none of these signs stays, whatever it is: nothing that a person may have typed is junk. All that
leaves lies in memory/archive/reflections with the reason.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

from _answer import system_prompt
from _archive import Archived, block_for, render_archived
from _dream import leaving_with, without
from _gate.notes import is_metadata
from _ledger import facts_of, read_ledger, sha_of
from _likeness import fingerprint
from _memory import iso
from _observations import MARKS, Entry, next_ids, observations_in, parse_log
from _reflect import exact_duplicates, read_items
from _state import Filing, Places, Reflection, Step, commit_reflection, file_away, load_state, name_of
from _transcripts.machine import is_machine_prompt, without_silence

BY = "clean"
THOUGHTS, FENCE, RESULT, MACHINE = "thoughts of a model", "code fence", "our own result", "machine chatter"
TALK, ECHO, METADATA = "talk about the task", "a prompt that came back", "metadata without a note"
DUPLICATE = "duplicate"
_THINK = r"(?:think|thinking|thought|reasoning|seed:think)"
_OPEN = re.compile(rf"^[-*\s]*(?:<{_THINK}>|\[THINK\]|◁think▷)", re.I)
_CLOSE = re.compile(rf"(?:</{_THINK}>|\[/THINK\]|◁/think▷)\s*$", re.I)
_ONLY_CLOSE = re.compile(rf"^\s*(?:</{_THINK}>|\[/THINK\]|◁/think▷)\s*$", re.I)
_FENCE = re.compile(r"^\s*```[\w-]*\s*$")
_NOTHING = re.compile(r"[\W_]*NO[_ ]?OBSERVATIONS[\W_]*", re.I)
_TALK = re.compile(
    r"(?:(?:sure|okay|ok|certainly)?[,!.]?\s*(?:here are|below are|these are) (?:the |my |some )?"
    r"(?:new |key |compressed |extracted |updated )*observations\b[^.]{0,60}"
    r"|(?:there (?:are|were) )?no (?:new |notable |significant |relevant |important )*observations"
    r"(?: (?:found|were found|were made|to (?:record|note|report|make)|in this (?:conversation|transcript|session)))?"
    r"|(?:the )?user asked the (?:assistant|ai|model) to (?:summari[sz]e|observe|extract|compress)\b[^.]{0,60}"
    r"|(?:the )?(?:conversation|transcript) (?:is empty|(?:contains|has) no\b[^.]{0,60})"
    r"|as an ai (?:language )?model\b.*)[:.]?",
    re.I,
)
_TEMPLATE = re.compile(r"(?:HH:MM|YYYY-MM-DD)\b")
_TEMPLATE_FIELD = re.compile(r"\bdc:(?:type=(?:TYPE|T)|importance=N)\b")
_FIELD = re.compile(r"\b\w+\s?[:=]\s?[\w./-]+")
_FEWEST_PROMPT_WORDS = 5
# What stands between two tags and is longer is more than the thoughts before one answer.
_MOST_THOUGHT_LINES = 60


@dataclass(frozen=True)
class Junk:
    """One entry of the log that is no note: its position, the number of its first line, and why."""

    position: int
    line: int
    reason: str
    entry: Entry


@dataclass(frozen=True)
class Cleaning:
    """What leaves a log: junk, and of lines in the same words all but one, by the number of their line. `spared` are
    notes that stay although they stand between tags of thoughts, since these may be tags of two answers."""

    junk: "tuple[Junk, ...]"
    duplicates: "tuple[tuple[int, Entry], ...]"
    spared: "tuple[tuple[int, Entry], ...]" = ()

    @property
    def found(self) -> "list[tuple[int, str, str]]":
        """(number of the line, reason, text) of all of it, in the order of the log."""
        junk = [(one.line, one.reason, one.entry.raw) for one in self.junk]
        return sorted(junk + [(line, DUPLICATE, entry.raw) for line, entry in self.duplicates])


def look(log: str, now: datetime, zone: tzinfo) -> Cleaning:
    """What a clean-up would take out of a log; afterwards there would be nothing left to take out.

    What leaves may bring together what stood apart, such as two fences around a thought: so it is looked again at what
    would stay, until nothing more is found.
    """
    entries, numbers, prompt = parse_log(log), lines_of(log), _read_prompt()
    junk: "dict[int, str]" = {}
    duplicates: "set[int]" = set()
    # Of each line the number of its entry: what follows on a line that left may be read as a part of another.
    owners = [at for at, entry in enumerate(entries) for _line in entry.raw.split("\n")]
    there = entries
    while True:
        found = _junk_among(there, prompt)
        again = [] if found else _repeated(there, now, zone)
        if not found and not again:
            break
        leaving, left, line = leaving_with(there, (*found, *again)), [], 0
        for place, entry in enumerate(there):
            own = owners[line : line + entry.raw.count("\n") + 1]
            line += len(own)
            junk.update((at, found[place]) for at in own if place in found)
            duplicates.update(own if place in again else ())
            left += own if place not in leaving else []
        there = parse_log("\n".join(one.raw for place, one in enumerate(there) if place not in leaving))
        owners = left
    duplicates -= set(junk)
    spared = _between_tags(entries) - set(junk) - duplicates
    return Cleaning(
        tuple(Junk(at, numbers[at], junk[at], entries[at]) for at in sorted(junk)),
        tuple((numbers[at], entries[at]) for at in sorted(duplicates)),
        tuple((numbers[at], entries[at]) for at in sorted(spared)),
    )


def _repeated(entries: "Sequence[Entry]", now: datetime, zone: tzinfo) -> "list[int]":
    """The positions of those that say what another one says in the same words; the last ones go."""
    log = "\n".join(entry.raw for entry in entries)
    leaving = Counter(name_of(step.leaving[0]) for step in _duplicates(log, now, zone))
    found = []
    for position in reversed(range(len(entries))):
        if entries[position].observation and leaving[name_of(entries[position])]:
            leaving[name_of(entries[position])] -= 1
            found.append(position)
    return found


def _duplicates(log: str, now: datetime, zone: tzinfo) -> "tuple[Step, ...]":
    """Lines in the same words as another; an item of a person's own list may well stand in it twice."""
    every = exact_duplicates(read_items(log, now, zone))
    return tuple(step for step in every if _is_marked(step.leaving[0]))


def lines_of(log: str) -> "list[int]":
    """The number of the first line of each entry."""
    numbers, line = [], 1
    for entry in parse_log(log):
        numbers.append(line)
        line += entry.raw.count("\n") + 1
    return numbers


def junk_in(log: str) -> "tuple[Junk, ...]":
    """The entries that are no notes at first sight, in the order of the log."""
    entries, numbers = parse_log(log), lines_of(log)
    found = _junk_among(entries, _read_prompt())
    return tuple(Junk(at, numbers[at], found[at], entries[at]) for at in sorted(found))


def _junk_among(entries: "Sequence[Entry]", prompt: _Prompt) -> "dict[int, str]":
    """Why the entries at these positions are no notes."""
    found = dict(_thoughts(entries))
    for position, entry in enumerate(entries):
        reason = "" if position in found else _reason(entry, prompt)
        if reason:
            found[position] = reason
    for position in _fences(entries, found):
        found[position] = FENCE
    return found


def _is_marked(entry: Entry) -> bool:
    """Whether an entry is a line that a model or an edition of this skill wrote, at least in part."""
    return entry.observation is not None and ("dc:" in entry.raw or any(mark in entry.raw for mark in MARKS))


def _thoughts(entries: "Sequence[Entry]") -> "Iterator[tuple[int, str]]":
    """Positions of thoughts: from the tag that opens them to the one that closes them on the same day; without such a
    one, up to the first blank line or note. The first date line or hook ends them in any case. Notes among them are
    drafts, unless the two tags may be of two answers: then they stay."""
    position = 0
    while position < len(entries):
        entry = entries[position]
        if not _OPEN.match(entry.raw):
            if _ONLY_CLOSE.match(entry.raw):
                yield position, THOUGHTS
            position += 1
            continue
        end = _end_of_thoughts(entries, position)
        drafts = _is_of_one_answer(entries[position:end])
        for at in range(position, end):
            if entries[at].raw.strip() and (drafts or not _is_marked(entries[at])):
                yield at, THOUGHTS
        position = end


def _is_of_one_answer(block: "Sequence[Entry]") -> bool:
    """Whether all from an opening tag on was thought before one answer: it is closed, not too long, and holds neither a
    day nor what was a note already."""
    notes = [entry.observation for entry in block if entry.observation]
    return (
        bool(_CLOSE.search(block[-1].raw))
        and sum(entry.raw.count("\n") + 1 for entry in block) <= _MOST_THOUGHT_LINES
        and not any(note.id for note in notes)
        and len({note.date for note in notes}) <= 1
        # In a fence a date line is none.
        and not any(parse_log(entry.raw)[0].kind == "date" for entry in block)
    )


def _between_tags(entries: "Sequence[Entry]") -> "set[int]":
    """The positions of notes between a tag that opens thoughts and the next one that closes them, however far."""
    found: "set[int]" = set()
    start = -1
    for position, entry in enumerate(entries):
        if _OPEN.match(entry.raw):
            start = position
        if start >= 0 and _CLOSE.search(entry.raw):
            found.update(at for at in range(start, position + 1) if _is_marked(entries[at]))
            start = -1
    return found


def _end_of_thoughts(entries: "Sequence[Entry]", start: int) -> int:
    unclosed = 0
    for position in range(start, len(entries)):
        entry = entries[position]
        if position > start and (entry.kind in ("date", "hook") or _OPEN.match(entry.raw)):
            break
        if _CLOSE.search(entry.raw):
            return position + 1
        if not unclosed and position > start and (not entry.raw.strip() or _is_marked(entry)):
            unclosed = position
    else:
        position = len(entries)
    return unclosed or position


def _fences(entries: "Sequence[Entry]", found: "Mapping[int, str]") -> "Iterator[int]":
    """Positions of fences that a model put around its answer: nothing but notes and date lines is between them. Those
    around anything else may be a person's."""
    places = [at for at, entry in enumerate(entries) if entry.kind == "other" and _FENCE.match(entry.raw)]
    while len(places) > 1:
        first, last = places[0], places[1]
        inside = [entry for at, entry in enumerate(entries[first + 1 : last], first + 1) if at not in found]
        told = [entry for entry in inside if entry.raw.strip()]
        if all(_is_marked(entry) or entry.kind == "date" for entry in told):
            yield from (first, last)
            places = places[2:]
        elif _FENCE.match(entries[first].raw) and _stands_beside_notes(entries, first):
            yield first
            places = places[1:]
        else:
            places = places[2:]
    if places and _stands_beside_notes(entries, places[0]):
        yield places[0]


def _stands_beside_notes(entries: "Sequence[Entry]", position: int) -> bool:
    """Whether a fence without its other half stands right above a note, or ends what a model wrote."""
    after = next((entry for entry in entries[position + 1 :] if entry.raw.strip()), None)
    before = next((entry for entry in reversed(entries[:position]) if entry.raw.strip()), None)
    if after is None or after.kind == "date":
        return before is not None and _is_marked(before)
    return _is_marked(after)


def _reason(entry: Entry, prompt: _Prompt) -> str:
    """Why an entry by itself is no note; "" when it may be one."""
    if entry.kind not in ("observation", "other"):
        return ""
    text = entry.observation.text if entry.observation else entry.raw.strip()
    bare = re.sub(r"^[-*]\s+", "", text).strip()
    if not bare:
        return ""
    if _is_own_result(bare):
        return RESULT
    if is_machine_prompt(bare) or not without_silence(bare):
        return MACHINE
    if _NOTHING.fullmatch(bare) or _TALK.fullmatch(bare):
        return TALK
    if fingerprint(bare) in prompt.lines or _TEMPLATE.match(bare) or _TEMPLATE_FIELD.search(entry.raw):
        return ECHO
    if not _is_marked(entry):
        return ""
    if entry.observation and not entry.observation.id and fingerprint(bare) in prompt.examples:
        return ECHO
    if _OPEN.match(bare) or _CLOSE.search(bare):
        return THOUGHTS
    several = len(_FIELD.findall(bare)) > 1 and len(_FIELD.sub("", bare).split()) < 3
    return METADATA if several and is_metadata(bare) else ""


def _is_own_result(text: str) -> bool:
    """Whether the text is a result object of this skill."""
    if not (text.startswith("{") and '"layer"' in text):
        return False
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and isinstance(found.get("layer"), str) and "status" in found


@dataclass(frozen=True)
class _Prompt:
    """The observer's prompt as it may come back: its lines that nobody types by chance, and the texts of its
    examples, all as fingerprints."""

    lines: "frozenset[str]"
    examples: "frozenset[str]"


def _read_prompt() -> _Prompt:
    text = system_prompt().text
    lines = [fingerprint(line) for line in text.split("\n") if not line.startswith("- ")]
    examples = observations_in(parse_log(f"Date: 2026-03-02\n{text}"))
    return _Prompt(
        frozenset(line for line in lines if len(line.split()) >= _FEWEST_PROMPT_WORDS),
        frozenset(fingerprint(one.text) for one in examples),
    )


# Doing it ------------------------------------------------------------------------------------------------------------


def clean(places: Places, cleaning: Cleaning, log: str, now: datetime, zone: tzinfo) -> "dict[str, int]":
    """Take it out of the log, which is `log`, under the memory lock that the caller holds; returns how many entries
    left, and how many of them were merged into one in the same words."""
    day = f"{now.astimezone(zone):%Y-%m-%d}"
    if cleaning.junk:
        file_away(places, _filing(places, cleaning.junk, log, day, iso(now)))
        log = without(parse_log(log), (one.position for one in cleaning.junk))
    steps = _duplicates(log, now, zone)
    done = commit_reflection(places, Reflection(iso(now), day, steps)) if steps else {"merged": 0}
    return {"removed": len(cleaning.junk), "merged": done["merged"]}


def _filing(places: Places, junk: "Sequence[Junk]", log: str, day: str, at: str) -> Filing:
    """Junk into the archive, each piece under an id of its own, so that it can be asked back."""
    entries = parse_log(log)
    known = {str(row.get("id")) for row in read_ledger(places.ledger)}
    highest = dict(load_state(places).highest)
    used = [one.id for one in observations_in(entries) if one.id]
    where, items, rows = f"archive/reflections/{day}.md", [], []
    for one in junk:
        observation = one.entry.observation
        said = (observation.date if observation else "") or day
        name = observation.id if observation and observation.id else ""
        if not name:
            name = next_ids(said, 1, used, highest.get(said, 0))[0]
            highest[said] = int(name.rsplit("-", 1)[1])
        if name not in known:
            facts: "Mapping[str, Any]" = facts_of(observation) if observation else {}
            rows.append({"e": "adopted", "at": at, "id": name, **facts})
        lies = {"in": where, "sha": sha_of(one.entry.raw)}
        rows.append({"e": "archived", "at": at, "id": name, "why": one.reason, "by": BY, **lies})
        items.append(Archived(name, one.entry.raw, said, one.reason))
    path = places.observations.parent.joinpath(*where.split("/"))
    block = block_for(path, render_archived(items))
    new = without(entries, (one.position for one in junk))
    return Filing({where: block}, (log, new), tuple(rows), highest)
