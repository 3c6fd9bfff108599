"""The hook lines of the log: what is left in it of what was archived, as many as there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional

from _archive import ArchivedObservation, Record, chunk_of, observation_of, read_records, read_reference
from _dream import most_new_hooks, room_for_hooks, without
from _dream.size import HOOKS_HEADING, is_hooks_heading
from _dream_files.desk import Desk
from _files import decode, read_bytes
from _gate import mask_secrets
from _hooks import chunk_hook_line, hook_line
from _likeness import fingerprint, words_of
from _night.progress import Agenda
from _night.steps import CHUNKS, OBSERVATIONS
from _observations import Entry, estimate_tokens, parse_log, shorten
from _state import Filing, file_away

TOPIC_WORDS, OUTCOME_CHARS = 4, 100
HEADING = f"\n{HOOKS_HEADING}\n\n"
_BELOW_HOOKS = ("date", "observation")
_PROBE = "- [ref: any]"


@dataclass(frozen=True)
class HookLine:
    """A hook line of the log: what it points at, and how soon it goes. `weight` is the importance of what it is for."""

    line: str
    day: str
    id: str
    weight: float = 0.0

    @property
    def rank(self) -> "tuple[bool, str, float, str]":
        """For putting the ones first that stay longest: chunks, then the newest, then the heaviest."""
        return self.id.startswith("CHUNK-"), self.day, self.weight, self.id


def hooked(
    log: str, new: "Sequence[HookLine]", archived: "frozenset[str]", target: int, most_new: int
) -> str:
    """The log with as many hook lines as there is room for, the new ones, of at most `most_new` tokens, in a section of
    their own in front of the first day. One that points at nothing in the archive stays whatever happens."""
    entries = parse_log(log)
    there: "dict[int, HookLine]" = {}
    for position, entry in enumerate(entries):
        found = read_reference(entry.raw) if entry.kind == "hook" else None
        if found and found.id in archived:
            there[position] = HookLine(entry.raw, found.day, found.id)
    known = {one.id for one in there.values()}
    fresh = [one for one in _fitting(new, most_new) if one.id not in known]
    room = room_for_hooks(estimate_tokens(without(entries, there)) + estimate_tokens(HEADING), target)
    staying = {one.id for one in _fitting([*there.values(), *fresh], room)}
    gone = [position for position, one in there.items() if one.id not in staying]
    return _with_section(without(entries, gone), [one.line for one in fresh if one.id in staying])


def _fitting(lines: "Sequence[HookLine]", tokens: int) -> "list[HookLine]":
    """The lines that stay longest, as far as the room goes."""
    fitting = []
    for one in sorted(lines, key=lambda one: one.rank, reverse=True):
        tokens -= estimate_tokens(one.line + "\n")
        if tokens < 0:
            break
        fitting.append(one)
    return fitting


def _with_section(log: str, lines: "list[str]") -> str:
    """The log with these lines at the top of the section of hooks, which is made where there is none."""
    if not lines:
        return log
    end = "\r" if "\r\n" in log else ""
    lines = [line + end for line in lines]
    parsed = parse_log(log)
    entries = [entry.raw for entry in parsed]
    for place, entry in enumerate(parsed):
        if is_hooks_heading(entry):
            after = place + 1
            while after < len(entries) and not entries[after].strip() and after < place + 2:
                after += 1
            return "\n".join([*entries[:after], *lines, *entries[after:]])
    first = _first_day(parsed)
    if first is None:
        return (
            log.rstrip("\r\n")
            + f"{end}\n{end}\n" * bool(log.strip())
            + "\n".join([HOOKS_HEADING + end, end, *lines, ""])
        )
    return "\n".join([*entries[:first], HOOKS_HEADING + end, end, *lines, end, *entries[first:]])


def _first_day(entries: "Sequence[Entry]") -> Optional[int]:
    """The position of the first date line or observation that is not quoted in a code fence or a comment: in front of
    it a hook is read as one, and closes nothing."""
    places = [place for place, entry in enumerate(entries) if entry.kind in _BELOW_HOOKS]
    raws: "list[str]" = []
    for entry in entries:
        raws += [_PROBE, entry.raw] if entry.kind in _BELOW_HOOKS else [entry.raw]
    probed = parse_log("\n".join(raws))
    return next((place for number, place in enumerate(places) if probed[place + number].kind == "hook"), None)


def records_in(path: Path) -> "dict[str, Record]":
    """The items of an archive file by id."""
    return {record.id: record for record in read_records(decode(read_bytes(path) or b""))}


def refresh_hooks(desk: Desk, agenda: Agenda) -> int:
    """Put hook lines for tonight's items into the log, and thin the old ones; returns how many new ones are in it."""
    new = lines_of_tonight(desk, agenda)
    log = desk.log()
    rest = estimate_tokens(log) + (0 if HOOKS_HEADING in log else estimate_tokens(HEADING))
    target = desk.config.dream_token_target
    most = most_new_hooks(agenda.tokens_leaving, agenda.tokens_before, rest, target)
    after = hooked(log, new, in_archive(desk, log), target, most)
    if after != log:
        file_away(desk.places, Filing(log=(log, after)))
    return sum(one.line in after for one in new)


def lines_of_tonight(desk: Desk, agenda: Agenda) -> "list[HookLine]":
    """A hook line for each chunk of tonight and each item that is part of none; one for all that say the same."""
    observations, chunks = f"{OBSERVATIONS}/{agenda.day}.md", f"{CHUNKS}/{agenda.day}.md"
    alone = {going.id: going for going in agenda.going if not going.into}
    made = {chunk.id for chunk in agenda.chunks}
    items, found = records_in(desk.memory / observations), records_in(desk.memory / chunks)
    lines = []
    by_words: "dict[str, HookLine]" = {}
    for name, record in items.items():
        if name in alone:
            said = record.entry.observation.text if record.entry and record.entry.observation else record.text
            line = hook_line(_briefly(record), shorten(mask_secrets(said)[0], OUTCOME_CHARS), observations)
            one = HookLine(line, agenda.day, name, alone[name].written)
            words = fingerprint(_whole(record))
            by_words[words] = max(one, by_words.get(words, one), key=lambda other: other.rank)
    for name, record in found.items():
        if name in made:
            lines.append(HookLine(chunk_hook_line(chunk_of(record), chunks), agenda.day, name))
    return [*by_words.values(), *lines]


def _whole(record: Record) -> str:
    """All that an item says, its children included."""
    head, *children = record.text.split("\n")
    said = record.entry.observation.text if record.entry and record.entry.observation else head
    return "\n".join([said, *children])


def _briefly(record: Record) -> ArchivedObservation:
    """The item with a topic for its hook, for a line that every session pays for: what the first hook has of the item's
    own words, in few of them; where it has none, the beginning of that hook."""
    item = observation_of(record)
    own = set(words_of(item.text))
    words = item.hooks[0].split() if item.hooks else []
    topic = [word for word in words if own.issuperset(words_of(word))] or words
    return replace(item, hooks=tuple(filter(None, [" ".join(topic[:TOPIC_WORDS])])))


def in_archive(desk: Desk, log: str) -> "frozenset[str]":
    """What the hook lines of a log point at and the archive holds."""
    wanted: "dict[str, set[str]]" = {}
    for entry in parse_log(log):
        found = read_reference(entry.raw) if entry.kind == "hook" else None
        if found:
            wanted.setdefault(found.file, set()).add(found.id)
    return frozenset(
        name for where, names in wanted.items() for name in names & set(records_in(desk.memory / where))
    )
