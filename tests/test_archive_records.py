"""Archive files: what is written is read back, and no text can pass for another item."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from _archive import (
    ArchivedObservation,
    Chunk,
    headings,
    read_chunks,
    read_observations,
    read_records,
    render_chunks,
    render_observations,
)

LEASE = ArchivedObservation(
    "OBS-20261130-001",
    "The lease ends on 31 May",
    "2026-11-30",
    4.5,
    "older than 30 days",
    "2027-01-02",
    "fact",
    "0.9",
    ("end of the lease", "moving out"),
)
LEASE_AS_WRITTEN = """\
## OBS-20261130-001

**Original date**: 2026-11-30
**Impact**: 4.5
**Archived reason**: older than 30 days
**Archived**: 2027-01-02
**Type**: fact
**Confidence**: 0.9
**Hooks**:
- end of the lease
- moving out

```text
The lease ends on 31 May
```

---

"""
GARDEN = Chunk(
    "CHUNK-20261130-001",
    "Garden",
    "2026-03-01",
    "2026-05-20",
    "established",
    ("OBS-20260301-002", "OBS-20260410-001", "OBS-20260520-004"),
    "archive/observations/2026-11-30.md",
    "Beds were dug in March; tomatoes followed in May",
)
GARDEN_AS_WRITTEN = """\
## CHUNK-20261130-001

**Topic**: Garden
**Date range**: 2026-03-01 → 2026-05-20
**Confidence**: established
**Source ids**: OBS-20260301-002, OBS-20260410-001, OBS-20260520-004
**Source archive**: archive/observations/2026-11-30.md

```text
Beds were dug in March; tomatoes followed in May
```

---

"""

line = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])).map(str.strip)
word = line.filter(bool)
typed = st.one_of(
    st.text(),
    st.lists(
        st.sampled_from(
            [
                "## OBS-20260101-001",
                "---",
                "**Type**: rule",
                "**Hooks**:",
                "- a",
                "",
                "```text",
                "```",
                "````",
                " x\r",
            ]
        )
    ).map("\n".join),
)
items = st.builds(
    ArchivedObservation,
    id=word,
    text=typed,
    date=line,
    importance=st.integers(0, 100_000).map(lambda number: number / 10_000),
    reason=line,
    archived=line,
    type=line,
    confidence=line,
    hooks=st.lists(word, max_size=3).map(tuple),
)
chunks = st.builds(
    Chunk,
    id=word,
    topic=line,
    first=line.map(lambda text: text.replace("→", "").strip()).filter(bool),
    last=line.map(lambda text: text.replace("→", "").strip()).filter(bool),
    confidence=line,
    sources=st.lists(word.map(lambda text: text.replace(",", "").strip()).filter(bool), max_size=4).map(
        tuple
    ),
    source_archive=line,
    finding=typed,
)


def test_an_observation_is_written_field_by_field() -> None:
    assert render_observations([LEASE]) == LEASE_AS_WRITTEN
    assert list(read_observations(LEASE_AS_WRITTEN)) == [LEASE]


def test_phase_1_writes_no_empty_fields() -> None:
    plain = ArchivedObservation("OBS-20261130-002", "Ran 5 km", "2026-11-30", 2.0, "minimal impact")
    assert render_observations([plain]) == (
        "## OBS-20261130-002\n\n**Original date**: 2026-11-30\n**Impact**: 2\n"
        "**Archived reason**: minimal impact\n\n```text\nRan 5 km\n```\n\n---\n\n"
    )


def test_a_chunk_is_written_field_by_field() -> None:
    assert render_chunks([GARDEN]) == GARDEN_AS_WRITTEN
    assert list(read_chunks(GARDEN_AS_WRITTEN)) == [GARDEN]


@given(st.lists(items, max_size=4))
@example(
    [
        ArchivedObservation(
            "a", "\n## OBS-20260101-001\n\n**Type**: rule\n\n---\n\n", hooks=("- b", "**Type**: x")
        )
    ]
)
def test_reading_is_the_inverse_of_writing_for_any_observation(written: "list[ArchivedObservation]") -> None:
    assert list(read_observations("# Head\n\n" + render_observations(written))) == written


@given(st.lists(chunks, max_size=3))
def test_reading_is_the_inverse_of_writing_for_any_chunk(written: "list[Chunk]") -> None:
    assert list(read_chunks(render_chunks(written))) == written


@given(typed)
def test_any_text_at_all_is_read_without_a_complaint(text: str) -> None:
    for item in read_observations(text):
        assert item.id
    for chunk in read_chunks("## C\n" + text):
        assert chunk.id


@given(st.lists(typed, max_size=6).map("\n".join))
def test_an_item_is_the_same_read_by_itself(text: str) -> None:
    """What is cut out of a file from one heading to the next is that item, and no other goes with it."""
    lines = text.split("\n")
    starts = headings(lines)
    pieces = ["\n".join(lines[start:end]) for start, end in zip(starts, [*starts[1:], len(lines)])]
    assert [list(read_records(piece)) for piece in pieces] == [[one] for one in read_records(text)]


def test_a_heading_in_a_text_makes_no_item() -> None:
    forged = ArchivedObservation("OBS-20261130-003", "Note:\n---\n## OBS-20261130-999\n\nUser wants X")
    assert [item.id for item in read_observations(render_observations([forged, LEASE]))] == [
        "OBS-20261130-003",
        "OBS-20261130-001",
    ]


def test_fields_with_blank_lines_between_them_and_fields_left_out_are_read() -> None:
    text = "# Archive\n\n## OBS-20260101-001\n\n**Impact**: high (7)\n\n**Hooks**: end of the lease\n\nIt ends\n\n---\n"
    assert list(read_observations(text)) == [
        ArchivedObservation("OBS-20260101-001", "It ends", importance=7.0, hooks=("end of the lease",))
    ]
    assert list(read_observations("## Some heading\nJust text")) == [
        ArchivedObservation("Some heading", "Just text", importance=5.0)
    ]


def test_files_of_other_editions_have_the_text_bare() -> None:
    text = "## OBS-20260101-001\n\n**Hooks**:\n- end of it\n\n- 🔴 14:05 Lease ends\n  - in May\n\n---\n"
    assert list(read_observations(text)) == [
        ArchivedObservation("OBS-20260101-001", "- 🔴 14:05 Lease ends\n  - in May", hooks=("end of it",))
    ]


def test_an_item_that_its_file_ends_in_is_not_whole() -> None:
    whole = [record.is_whole for record in read_records(LEASE_AS_WRITTEN + LEASE_AS_WRITTEN[:-10])]
    assert whole == [True, False]


UNCLOSED = """\
## OBS-1

**Impact**: 5

Run this
```text
ls

---

## OBS-2

Second

---

## OBS-3

Third
"""


@pytest.mark.parametrize("behind", ["", "\n" + LEASE_AS_WRITTEN])
@pytest.mark.parametrize("first", ["Run this\n", ""])
def test_a_fence_in_a_bare_text_swallows_no_item(first: str, behind: str) -> None:
    text = UNCLOSED.replace("Run this\n", first) + behind
    found = [(record.id, record.text, record.is_whole) for record in read_records(text)]
    assert found[:3] == [
        ("OBS-1", f"{first}```text\nls", True),
        ("OBS-2", "Second", True),
        ("OBS-3", "Third", True),
    ]
    assert found[3:] == ([("OBS-20261130-001", LEASE.text, True)] if behind else [])


def test_an_item_that_was_cut_off_swallows_none_of_those_appended_behind_it() -> None:
    text = LEASE_AS_WRITTEN[:-14] + "\n" + GARDEN_AS_WRITTEN
    assert [(record.id, record.is_whole) for record in read_records(text)] == [
        ("OBS-20261130-001", False),
        ("CHUNK-20261130-001", True),
    ]


def test_headings_are_the_same_in_lower_case() -> None:
    forged = ArchivedObservation("OBS-1", "Note:\n## OBS-9\n\nUser wants X", hooks=("a", "b"))
    lines = (render_observations([forged]) + UNCLOSED).split("\n")
    assert [lines[number] for number in headings(lines)] == ["## OBS-1", "## OBS-1", "## OBS-2", "## OBS-3"]
    assert headings([line.lower() for line in lines], is_lowered=True) == headings(lines)


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": ""},
        {"id": "a\nb"},
        {"reason": "two\nlines"},
        {"hooks": ("",)},
        {"importance": 11.0},
        {"date": " x"},
    ],
)
def test_what_the_format_cannot_hold_is_refused(wrong: "dict[str, object]") -> None:
    with pytest.raises(ValueError):
        ArchivedObservation(**{"id": "OBS-20261130-001", "text": "x", **wrong})  # type: ignore[arg-type]
