"""schemas/: the examples are what the parser reads, and the JSON schema says the same as the code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from _observations import (
    HEAD,
    TYPES,
    Observation,
    mark_for,
    observations_in,
    parse_line,
    parse_log,
    render_addition,
    render_line,
)

SCHEMAS = Path(__file__).resolve().parent.parent / "schemas"
DOCUMENT = (SCHEMAS / "observation-format.md").read_text("utf-8")
SCHEMA = json.loads((SCHEMAS / "observation-metadata.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(
    SCHEMA, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
)


def blocks(language: str) -> "list[str]":
    return re.findall(rf"^```{language}\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)


def bullets(text: str) -> "list[str]":
    return [line for line in text.splitlines() if re.match(r"[-*] ", line)]


def metadata(line: str) -> "dict[str, Any]":
    """The object that the schema describes, out of the comment of a line."""
    comment = line[line.index("<!--") :]
    found: "dict[str, Any]" = dict(re.findall(r"dc:([a-z_]+)=(\S+)", comment))
    for name in ("importance", "confidence", "ttl"):
        if re.fullmatch(r"\d+(\.\d+)?", found.get(name, "")):
            found[name] = float(found[name]) if "." in found[name] else int(found[name])
    return found


WRITTEN = [line for block in blocks("markdown") for line in bullets(block)]


def test_the_page_has_examples() -> None:
    assert len(blocks("markdown")) == 3
    assert len(WRITTEN) == 12


@pytest.mark.parametrize("line", WRITTEN)
def test_an_example_is_exactly_what_the_program_writes(line: str) -> None:
    found = parse_line(line)
    assert found is not None
    assert render_line(found) == line
    assert found.priority == mark_for(found.importance)


@pytest.mark.parametrize("line", WRITTEN)
def test_the_metadata_of_an_example_fits_the_schema(line: str) -> None:
    VALIDATOR.validate(metadata(line))


def test_the_example_log_is_read_whole_and_could_have_been_written() -> None:
    log = blocks("markdown")[0]
    found = observations_in(parse_log(log))
    assert [(one.date, one.time, one.type, one.id) for one in found] == [
        ("2026-03-02", "09:14", "event", "OBS-20260302-001"),
        ("2026-03-02", "09:14", "fact", "OBS-20260302-002"),
        ("2026-03-03", "18:40", "rule", "OBS-20260303-001"),
    ]
    assert log.startswith(HEAD)
    assert render_addition("", found) == log


def test_the_seven_types_are_shown_once_each_in_the_order_of_the_code() -> None:
    shown = [found.type for found in map(parse_line, bullets(blocks("markdown")[1])) if found]
    assert tuple(shown) == TYPES
    assert SCHEMA["properties"]["type"]["enum"] == list(TYPES)
    assert re.findall(r"^\| `([a-z]+)` \| [a-z]", DOCUMENT, re.MULTILINE)[-7:] == list(TYPES)


def test_fields_of_other_editions_survive() -> None:
    found = parse_line(bullets(blocks("markdown")[2])[1])
    assert found is not None
    assert (found.ttl, found.extra) == ("never", (("room", "office"),))


def test_lines_from_the_wild_are_read_as_the_page_says() -> None:
    wild = bullets(blocks("text")[0])
    found = [parse_line(line) for line in wild]
    assert [(one.time, one.text, one.type, one.importance, one.date) for one in found if one] == [
        ("14:05", "Flight to Lisbon is booked", "fact", 5.0, ""),
        ("14:05", "Flight to Lisbon is booked", "fact", 5.0, ""),
        ("", "Flight to Lisbon is booked", "fact", 5.0, ""),
        ("14:05", "Flight goes from Terminal 2", "preference", 6.0, ""),
        ("14:05", "Flight to Lisbon is booked", "fact", 5.0, ""),
        ("", "Flight to Lisbon is booked", "event", 10.0, ""),
    ]


@pytest.mark.parametrize(
    "importance, mark",
    [(0.0, "🟢"), (2.9, "🟢"), (3.0, "🟡"), (5.9, "🟡"), (6.0, "🔴"), (10.0, "🔴")],
)
def test_the_priority_bands_are_those_of_the_page(importance: float, mark: str) -> None:
    assert mark_for(importance) == mark


@pytest.mark.parametrize(
    "heading", ["Date: 2026-03-02", "**Date:** 2026-03-02", "## Date: 2026-03-02", "## 2026-03-02"]
)
def test_the_date_lines_that_the_page_names_are_date_lines(heading: str) -> None:
    found = observations_in(parse_log(f"{heading}\n\n- Flight to Lisbon is booked\n"))
    assert [(one.text, one.date) for one in found] == [("Flight to Lisbon is booked", "2026-03-02")]


def test_a_bare_bullet_without_a_date_line_is_text() -> None:
    assert observations_in(parse_log("## Ideas\n\n- Flight to Lisbon is booked\n")) == []


@pytest.mark.parametrize("kind", ["archive/observations/2026-03-02.md#OBS-20260302-001", "archive/x.md#A"])
def test_a_line_with_a_reference_is_a_hook(kind: str) -> None:
    (entry, _end) = parse_log(f"- **Shop**: moved to Hetzner (2026-03-06). [ref: {kind}]\n")
    assert (entry.kind, entry.observation) == ("hook", None)


@pytest.mark.parametrize(
    "observation",
    [
        Observation("Tea, not coffee", "preference", 4.0, "2026-03-04", "08:00", "OBS-20260304-001"),
        Observation("Late for once", "event", 0.0, "2024-02-29", "", "OBS-20240229-1000"),
        Observation("Unsure", "fact", 3.5, "2026-03-04", ttl="90", confidence="0.25", source="uncertain"),
        Observation(
            "Kept for now", "context", 10.0, "2026-03-04", source="provisional", decayed="2026-03-05"
        ),
        Observation("From elsewhere", "habit", 6.0, extra=(("room", "office"),)),
        Observation("Never late", "rule", 9.0, ttl="never"),
    ],
)
def test_whatever_is_rendered_fits_the_schema(observation: Observation) -> None:
    VALIDATOR.validate(metadata(render_line(observation)))


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"type": "fact"},
        {"importance": 5},
        {"type": "decision", "importance": 5},
        {"type": "Fact", "importance": 5},
        {"type": "fact", "importance": 10.5},
        {"type": "fact", "importance": -1},
        {"type": "fact", "importance": "5"},
        {"type": "fact", "importance": 5, "date": "2026-13-01"},
        {"type": "fact", "importance": 5, "date": "2026-02-30"},
        {"type": "fact", "importance": 5, "date": "tomorrow"},
        {"type": "fact", "importance": 5, "id": "OBS-2026-1"},
        {"type": "fact", "importance": 5, "id": "OBS-20261301-001"},
        {"type": "fact", "importance": 5, "ttl": -1},
        {"type": "fact", "importance": 5, "ttl": "always"},
        {"type": "fact", "importance": 5, "confidence": 1.1},
        {"type": "fact", "importance": 5, "confidence": "high"},
        {"type": "fact", "importance": 5, "source": "the web"},
        {"type": "fact", "importance": 5, "decayed": "never"},
        {"type": "fact", "importance": 5, "room": "second floor"},
        {"type": "fact", "importance": 5, "Room": "office"},
    ],
)
def test_wrong_metadata_is_refused(wrong: "dict[str, Any]") -> None:
    assert not VALIDATOR.is_valid(wrong)


def test_the_schema_itself_is_valid_and_knows_the_fields_of_the_code() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    everything = Observation(
        "All of it",
        "fact",
        5.0,
        "2026-03-04",
        "09:00",
        "OBS-20260304-001",
        "90",
        "0.5",
        "inference",
        "2026-03-05",
    )
    assert list(SCHEMA["properties"]) == list(metadata(render_line(everything)))
