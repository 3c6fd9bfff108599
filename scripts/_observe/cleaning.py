"""`observer.py --clean`: what is no note, out of the log and into the archive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from _clean import clean, look
from _cli import Result, Run
from _files import decode, read_bytes
from _memory import keep_copy, refresh_brief
from _observations import shorten, tidy
from _state import Places, load_state, replay, save_state

LINES_SHOWN, CHARS_SHOWN = 200, 60


def clean_log(run: Run) -> Result:
    """Take out of the log what is no note; each piece lies in the archive with the reason, and a copy of the log is
    kept. Raises BusyError when another run has the memory lock."""
    places, zone = Places(run.config.observations_path, run.config.private_dir), run.config.zone
    if run.dry_run:
        return _told(run, look(_log_of(places), run.now, zone).found, {})
    with places.memory():
        replay(places)
        log, backup = _log_of(places), ""
        cleaning = look(log, run.now, zone)
        if cleaning.found:
            backup = keep_copy(places, run.now.astimezone(zone))
            clean(places, cleaning, log, run.now, zone)
        state = load_state(places)
        save_state(places, state._replace(brief_of=refresh_brief(places, state)[1]))
    return _told(run, cleaning.found, {"backup": backup})


def _log_of(places: Places) -> str:
    return decode(read_bytes(places.observations) or b"")


def _told(run: Run, found: "Sequence[tuple[int, str, str]]", facts: "dict[str, Any]") -> Result:
    """How many lines of each kind, and which. What they say is shown to a person at a terminal alone, never printed
    where it may be kept."""
    lines: "dict[str, list[int]]" = {}
    for line, reason, text in found:
        lines.setdefault(reason, []).append(line)
        if run.on_terminal and sum(map(len, lines.values())) <= LINES_SHOWN:
            run.say(f"  line {line}: {reason}: {shorten(tidy(text), CHARS_SHOWN)}")
    counts = {reason: len(numbers) for reason, numbers in sorted(lines.items())}
    told = ", ".join(f"{number} {reason}" for reason, number in counts.items()) or "nothing"
    run.say(f"observer: {told} {'would be' if run.dry_run else 'was'} taken out of the log")
    shown = {reason: numbers[:LINES_SHOWN] for reason, numbers in sorted(lines.items())}
    facts = {"found": len(found), "reasons": counts, "lines": shown, **facts}
    reason = "dry_run" if run.dry_run else "cleaned" if found else "nothing_to_clean"
    return Result("ok", reason, facts)
