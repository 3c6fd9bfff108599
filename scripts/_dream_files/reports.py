"""write-log and write-metrics: what the night tells of itself. No memory, so written in read-only mode too."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from _cli import Result
from _dream_files.archive import plain
from _dream_files.desk import Desk
from _dream_files.payload import inspect, read_payload
from _files import decode, encode, private_folder, read_bytes, replace_file
from _observations import TYPES

_SUMMARY = (
    ("run_time", "Run time"),
    ("model", "Model"),
    ("runtime_seconds", "Runtime in seconds"),
    ("status", "Status"),
    ("observations_total", "Observations"),
    ("observations_archived", "Archived"),
    ("hooks_created", "Hooks created"),
    ("tokens_before", "Tokens before"),
    ("tokens_after", "Tokens after"),
    ("tokens_saved", "Tokens saved"),
    ("dry_run", "Dry run"),
)
_ROUNDED = 1.0  # a percentage may be rounded to a whole one


def write_log(desk: Desk, file: str, given: "str | None") -> Result:
    """Add the night to the log of its day; the same night is not added twice."""
    path = desk.file_for("write-log", file)
    payload = _read(given, "dream-log", path)
    text = render_log(payload)
    with desk.holding_memory():
        before = decode(read_bytes(path) or b"")
        new = before if text in before else (before or f"# Dream log {path.stem}\n\n") + text
        return _write(desk, path, before, new)


def write_metrics(desk: Desk, file: str, given: "str | None") -> Result:
    """Put the figures of the night in the place of those that the day has."""
    path = desk.file_for("write-metrics", file)
    payload = _read(given, "dream-metrics", path)
    if "notes" in payload:
        payload["notes"] = _plain_all(payload["notes"])
    payload["model"] = plain(payload["model"])
    with desk.holding_memory():
        before = decode(read_bytes(path) or b"")
        return _write(desk, path, before, json.dumps(payload, indent=2) + "\n")


def _read(given: "str | None", schema: str, path: Path) -> "dict[str, Any]":
    """The payload of a report for this file. Raises PayloadError with every fault, figures that contradict each other
    included."""
    found = inspect(read_payload(given), schema)
    told = found.fields()
    if told.get("date", path.stem) != path.stem:
        found.faults.add(("date", "must be the day in the file's name"))
    found.faults.update(contradictions(told))
    return found.passed()


def contradictions(told: "Mapping[str, Any]") -> "Iterator[tuple[str, str]]":
    """(path, problem) for figures that cannot all be true, as far as they are there."""
    if told.get("observations_archived", 0) > told.get("observations_total", math.inf):
        yield "observations_archived", "must not be more than observations_total"
    if "tokens_before" in told and "tokens_after" in told:
        before, saved = told["tokens_before"], told["tokens_before"] - told["tokens_after"]
        if told.get("tokens_saved", saved) != saved:
            yield "tokens_saved", "must be tokens_before less tokens_after"
        percent = 100.0 * saved / before if before else 0.0
        if before and abs(told.get("reduction_pct", percent) - percent) > _ROUNDED:
            yield "reduction_pct", "must be what was saved of tokens_before, in percent"
    if told.get("validation_passed") is True and told.get("critical_false_archives", 0) > 0:
        yield "validation_passed", "must be false when critical_false_archives is not 0"
    for kind, numbers in told.get("type_distribution", {}).items():
        if numbers.get("archived", 0) + numbers.get("retained", 0) > numbers.get("count", math.inf):
            yield f"type_distribution.{kind}", "must not have more archived and retained than its count"


def _write(desk: Desk, path: Path, before: str, new: str) -> Result:
    if new != before and not desk.run.dry_run:
        private_folder(path.parent)
        replace_file(path, encode(new))
    reason = "dry_run" if desk.run.dry_run else "written" if new != before else "already_there"
    return Result("ok", reason, {"path": desk.shown(path)})


def render_log(payload: "dict[str, Any]") -> str:
    """A night as it stands in the log of its day."""
    summary = [f"- **{title}**: {_shown(payload[name])}" for name, title in _SUMMARY if name in payload]
    parts = [("Summary", summary)]
    parts.append(("Archived items", [f"- {_item(one)}" for one in payload.get("archived_items", ())]))
    parts.append(("Hooks", [f"- {plain(one)}" for one in payload.get("hooks", ())]))
    if "type_distribution" in payload:
        parts.append(("Types", _distribution(payload["type_distribution"])))
    if "pattern_findings" in payload:
        parts.append(("Patterns", [f"- {plain(one)}" for one in payload["pattern_findings"]]))
    parts.append(("Validation", _validation(payload.get("validation_results", []))))
    parts.append(("Flagged for review", [f"- {plain(one)}" for one in payload.get("flagged_for_review", ())]))
    parts.append(("Next steps", [f"- {plain(one)}" for one in payload.get("next_steps", ())]))
    body = "".join(f"## {title}\n\n" + "\n".join(lines or ["None."]) + "\n\n" for title, lines in parts)
    return body + "---\n\n"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "; ".join(_plain_all(value))
    return (
        plain(value) if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)
    )


def _item(one: "str | dict[str, Any]") -> str:
    if isinstance(one, str):
        return plain(one)
    frame = ", ".join(str(one[name]) for name in ("type", "impact") if name in one)
    said = f" {plain(one['text'])}" if "text" in one else ""
    return f"{one['id']}{said}{f' ({frame})' if frame else ''}: {plain(one.get('reason', 'archived'))}"


def _distribution(found: "Mapping[str, Mapping[str, int]]") -> "list[str]":
    rows = []
    for kind in TYPES:
        numbers = [str(found.get(kind, {}).get(name, 0)) for name in ("count", "archived", "retained")]
        rows.append(f"| {kind} | {' | '.join(numbers)} |")
    return ["| type | count | archived | retained |", "|---|---|---|---|", *rows]


def _validation(found: "str | list[str] | dict[str, Any]") -> "list[str]":
    if isinstance(found, dict):
        return [f"- {plain(name)}: {_shown(value)}" for name, value in found.items()]
    return [f"- {plain(one)}" for one in ([found] if isinstance(found, str) else found)]


def _plain_all(found: "Any") -> "Any":
    """Secrets masked in a string, or in each string of a list."""
    return plain(found) if isinstance(found, str) else [plain(str(one)) for one in found]
