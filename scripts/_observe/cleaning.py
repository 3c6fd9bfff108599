"""`observer.py --clean`: what is no note, out of the log and into the archive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from _clean import Cleaning, clean, look
from _cli import Result, Run
from _counting import many
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
        return _told(run, look(_log_of(places), run.now, zone), {})
    with places.memory():
        replay(places)
        log, backup = _log_of(places), ""
        cleaning = look(log, run.now, zone)
        if cleaning.found:
            backup = keep_copy(places, run.now.astimezone(zone))
            clean(places, cleaning, log, run.now, zone)
        state = load_state(places)
        save_state(places, state._replace(brief_of=refresh_brief(places, state)[1]))
    return _told(run, cleaning, {"backup": backup})


def _log_of(places: Places) -> str:
    return decode(read_bytes(places.observations) or b"")


def _told(run: Run, cleaning: Cleaning, facts: "dict[str, Any]") -> Result:
    """How many lines of each kind, and which; also those that were spared. What they say is shown to a person at a
    terminal alone, never printed where it may be kept."""
    found = cleaning.found
    lines: "dict[str, list[int]]" = {}
    for line, reason, _text in found:
        lines.setdefault(reason, []).append(line)
    _show(run, found)
    counts = {reason: len(numbers) for reason, numbers in sorted(lines.items())}
    told = ", ".join(f"{reason} {number}" for reason, number in counts.items()) or "nothing"
    run.say(f"observer: {'to be taken' if run.dry_run else 'taken'} out of the log: {told}")
    shown = {reason: numbers[:LINES_SHOWN] for reason, numbers in sorted(lines.items())}
    if cleaning.spared:
        stay = many(len(cleaning.spared), "note stays", "notes stay")
        run.say(f"observer: {stay} that may be a model's draft, between tags of thoughts")
        _show(run, [(line, "stays", entry.raw) for line, entry in cleaning.spared])
    spared = [line for line, _entry in cleaning.spared]
    facts = {"found": len(found), "reasons": counts, "lines": shown, "spared": spared[:LINES_SHOWN], **facts}
    reason = "dry_run" if run.dry_run else "cleaned" if found else "nothing_to_clean"
    return Result("ok", reason, facts)


def _show(run: Run, found: "Sequence[tuple[int, str, str]]") -> None:
    """The first lines of it, for a person at a terminal."""
    for line, reason, text in found[:LINES_SHOWN] if run.on_terminal else ():
        run.say(f"  line {line}: {reason}: {shorten(tidy(text), CHARS_SHOWN)}")
