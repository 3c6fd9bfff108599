"""What a night would do with a log: a verdict on each observation, and the size of the log afterwards.

Pure and deterministic: the same log, ledger and day give the same plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from _archive import Chunk, read_reference
from _dream.chunks import chunk_from
from _dream.clusters import clusters_of
from _dream.notes import Night, Note, day_of, read_notes
from _dream.size import HOOKS_HEADING, is_hooks_heading, without
from _dream.verdict import ARCHIVE, CHUNK, KEEP, Verdict, judge
from _dream.weight import IMPLICIT, confidence_of, impact
from _likeness import fingerprint
from _observations import Entry, estimate_tokens, parse_log

# What hook lines may take of the token target where the log is near it, and where there is room.
HOOKS_SHARE, HOOKS_SHARE_WITH_ROOM = 0.1, 0.25
HOOK_TOKENS = 40  # of one hook line, about
# New hook lines take what there is room for, as long as the log gets smaller by this share, which a rehearsed night
# must reach before a real one (SPEC 12); where that cannot be, half of what left. In a log that takes less than a
# quarter of its room, and of which so little left that the share is out of reach, as much as left.
LEAST_REDUCTION, NEW_HOOKS_SHARE, SMALL_SHARE = 0.1, 0.5, 0.25
MAX_CHUNKS = 12


@dataclass(frozen=True)
class Plan:
    """A verdict for each observation, in the order of the log, and the chunks. Tokens are those of the whole log;
    those afterwards include `hook_tokens` for hook lines. `held_by` says, where the target is not reached, how many
    tokens are kept by which protection."""

    night: Night
    verdicts: "tuple[Verdict, ...]"
    chunks: "tuple[Chunk, ...]"
    tokens_before: int
    tokens_after: int
    hook_tokens: int
    held_by: "Mapping[str, int]"

    @property
    def leaving(self) -> "list[Verdict]":
        """The verdicts on what leaves, the first first."""
        return sorted((found for found in self.verdicts if found.what != KEEP), key=_first_to_go)

    @property
    def tokens_leaving(self) -> int:
        """The tokens of what leaves."""
        return _leaving(self.verdicts)

    @property
    def kept_by(self) -> "dict[str, int]":
        """How many observations stay, by why: the protections, and "not due yet"."""
        return dict(Counter(one.note.protected or "not due yet" for one in self.verdicts if one.what == KEEP))

    @property
    def target_reached(self) -> bool:
        return self.tokens_after <= self.night.token_target

    def as_json(self) -> "dict[str, Any]":
        """The plan as `dream_cycle.py plan` prints it: no text of any observation."""
        counts = Counter(found.what for found in self.verdicts)
        return {
            "day": self.night.today.isoformat(),
            "phase": self.night.phase,
            "observations": [_as_json(found) for found in self.verdicts],
            "clusters": [
                {
                    "id": chunk.id,
                    "source_ids": list(chunk.sources),
                    "date_range_start": chunk.first,
                    "date_range_end": chunk.last,
                    "confidence": chunk.confidence,
                }
                for chunk in self.chunks
            ],
            "keep": counts[KEEP],
            "archive": counts[ARCHIVE],
            "chunk": counts[CHUNK],
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "hook_tokens": self.hook_tokens,
            "hook_lines": self.hook_tokens // HOOK_TOKENS,
            "tokens_after_estimated": True,  # how long the hook lines will be is not known yet
            "token_target": self.night.token_target,
            "target_reached": self.target_reached,
            "held_by": dict(self.held_by),
        }


def plan(
    log: str,
    night: Night,
    chunk_number: int = 0,
    in_archive: "frozenset[str]" = frozenset(),
    tokens_before: int = 0,
) -> Plan:
    """The plan for a log. `chunk_number` is the highest that a chunk of this day has; `in_archive` the ids that the
    archive holds: hook lines for them may go. `tokens_before` are those of the log before the night did anything to it,
    0 where it has not."""
    entries = parse_log(log)
    verdicts = [judge(note, night.phase) for note in read_notes(log, night)]
    chunks = _chunks([found.note for found in verdicts], night, chunk_number) if night.phase > 1 else ()
    into = {name: chunk.id for chunk in chunks for name in chunk.sources}
    verdicts = [
        replace(found, what=CHUNK, reason=f"part of {into[found.note.id]}")
        if found.note.id in into
        else found
        for found in verdicts
    ]
    hooks = [position for position, entry in enumerate(entries) if hooked_id(entry) in in_archive]
    verdicts = _down_to_target(verdicts, entries, hooks, night)
    gone = [found.note.item.position for found in verdicts if found.what != KEEP]
    rest = _tokens_without(entries, [*gone, *hooks])
    before = tokens_before or estimate_tokens(log)
    wanted = sum(estimate_tokens(entries[place].raw + "\n") for place in hooks)
    lines = len({fingerprint(found.note.text) for found in verdicts if found.what == ARCHIVE}) + 2 * len(
        chunks
    )
    most = most_new_hooks(_leaving(verdicts), before, rest + wanted, night.token_target)
    wanted += min(HOOK_TOKENS * lines, most)
    room = room_for_hooks(rest, night.token_target)
    after = rest + min(wanted, room)
    held = _held_by(verdicts, rest) if after > night.token_target else {}
    return Plan(night, tuple(verdicts), chunks, before, after, min(wanted, room), held)


def hooked_id(entry: Entry) -> str:
    """What a hook line points at; "" for any other entry."""
    found = read_reference(entry.raw) if entry.kind == "hook" else None
    return found.id if found else ""


def most_new_hooks(leaving: int, before: int, rest: int, target: int) -> int:
    """Tokens that new hook lines may take, for what left and took `leaving` of the `before` that the log had; `rest`
    are those of the log without them."""
    is_small = before <= SMALL_SHARE * target and leaving < LEAST_REDUCTION * before
    share = 1.0 if is_small else NEW_HOOKS_SHARE
    return max(int(share * leaving), int((1 - LEAST_REDUCTION) * before) - rest)


def _leaving(verdicts: "Sequence[Verdict]") -> int:
    """The tokens that leave."""
    return sum(found.note.tokens for found in verdicts if found.what != KEEP)


def room_for_hooks(rest: int, target: int) -> int:
    """Tokens that hook lines may take beside `rest` tokens of other text: what is free below the target, up to a
    quarter of it; where other text alone is over it, a tenth."""
    return (
        min(int(HOOKS_SHARE_WITH_ROOM * target), target - rest)
        if rest <= target
        else int(HOOKS_SHARE * target)
    )


def _chunks(notes: "Sequence[Note]", night: Night, number: int) -> "tuple[Chunk, ...]":
    day, archive = f"{night.today:%Y%m%d}", f"archive/observations/{night.today}.md"
    found: "list[Chunk]" = []
    for group in clusters_of(notes, MAX_CHUNKS):
        made = chunk_from(f"CHUNK-{day}-{number + len(found) + 1:03d}", group, archive)
        if estimate_tokens(made.finding) + HOOK_TOKENS < sum(note.tokens for note in group):
            found.append(made)
    return tuple(found)


def _down_to_target(
    verdicts: "list[Verdict]", entries: "Sequence[Entry]", hooks: "Sequence[int]", night: Night
) -> "list[Verdict]":
    """The verdicts with as many of the lightest archived besides as it takes to come under the target, and no more."""
    gone = [found.note.item.position for found in verdicts if found.what != KEEP]
    more = sorted(
        (found for found in verdicts if found.what == KEEP and not found.note.protected), key=_first_to_go
    )

    def is_enough(number: int) -> bool:
        going = [*gone, *hooks, *(found.note.item.position for found in more[:number])]
        wanted = HOOK_TOKENS * (len(gone) + len(hooks) + number)
        reserve = min(int(HOOKS_SHARE * night.token_target), wanted)
        return _tokens_without(entries, going) + reserve <= night.token_target

    least, most = 0, len(more)
    while least < most:
        middle = (least + most) // 2
        least, most = (least, middle) if is_enough(middle) else (middle + 1, most)
    extra = {found.note.item.position for found in more[:least]}
    reason = f"lightest of those that may go, to reach {night.token_target} tokens"
    return [
        replace(found, what=ARCHIVE, reason=f"importance {found.note.importance:g}: {reason}")
        if found.note.item.position in extra
        else found
        for found in verdicts
    ]


def _tokens_without(entries: "Sequence[Entry]", gone: "Sequence[int]") -> int:
    """The size of the log without entries, and with the heading of the hook lines where some go and it has none."""
    has_heading = any(map(is_hooks_heading, entries))
    return estimate_tokens(
        without(entries, gone) + ("" if has_heading or not gone else f"\n{HOOKS_HEADING}\n\n")
    )


def _first_to_go(found: Verdict) -> "tuple[float, str, int]":
    return found.note.importance, found.note.item.observation.date, found.note.item.position


def _held_by(verdicts: "Sequence[Verdict]", rest: int) -> "dict[str, int]":
    """Tokens that stay, by why they must: the protections, and "other text" for what is no observation."""
    held: "Counter[str]" = Counter()
    for found in verdicts:
        if found.what == KEEP:
            held[found.note.protected or "not protected"] += found.note.tokens
    held["other text"] = max(0, rest - sum(held.values()))
    return dict(held.most_common())


def _as_json(found: Verdict) -> "dict[str, Any]":
    note = found.note
    sure = confidence_of(note.observation)
    return {
        "id": note.id,
        "has_id": bool(note.item.observation.id),
        "type": note.observation.type,
        "age_days": note.age_days,
        "original_date": note.observation.date or day_of(note.id),
        "impact": impact(note.importance)[0],
        "confidence": IMPLICIT if sure is None else sure,
        "importance": note.written_importance,
        "importance_now": note.importance,
        "ttl": "never" if note.lifetime == float("inf") else note.lifetime,
        "protection": note.protected,
        "verdict": found.what,
        "reason": found.reason,
    }
