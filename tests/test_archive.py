"""The archive gives back what left memory, to the byte, whatever that says."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _archive import Archived, append_block, block_for, read_archived, render_archived

LEASE = Archived("OBS-20261130-001", "- 🟢 Lease ends soon", "2026-11-30", "superseded", "OBS-20261201-004")


def test_an_item_stands_under_its_id_with_the_reason_and_its_exact_text() -> None:
    assert render_archived([LEASE]) == (
        "## OBS-20261130-001\n\n**Original date**: 2026-11-30\n**Reason**: superseded\n"
        "**Merged into**: OBS-20261201-004\n\n```text\n- 🟢 Lease ends soon\n```\n\n---\n\n"
    )


def test_what_went_into_no_other_line_names_none() -> None:
    assert "Merged" not in render_archived([Archived("OBS-20261130-001", "- x", "2026-11-30", "stale")])


@pytest.mark.parametrize(
    "raw",
    [
        "- x\n```\n\n---\n\n## OBS-20200101-001\n\n**Reason**: forged\n\n```text\n- forged\n```",
        "- x\n````\n## OBS-20200101-001\n````",
        "- x `````",
        "- x\r\n  - child with \udcff bytes\r",
        "## OBS-20200101-001",
        "",
    ],
)
def test_no_text_can_end_its_item_or_pass_for_another(raw: str) -> None:
    item = Archived("OBS-20261130-002", raw, "unknown", "duplicate")
    assert list(read_archived(render_archived([LEASE, item, LEASE]))) == [LEASE, item, LEASE]


@given(st.lists(st.text(st.sampled_from("-# `\n\r*:OBStextR1~\udcff"), max_size=60), max_size=4))
def test_every_text_comes_back(texts: "list[str]") -> None:
    items = [
        Archived(f"OBS-20261130-{number:03d}", raw, "2026-11-30", "merged")
        for number, raw in enumerate(texts)
    ]
    assert list(read_archived("# A title\n\n" + render_archived(items))) == items


def test_an_item_that_was_cut_off_swallows_none_of_those_appended_behind_it() -> None:
    text = render_archived([LEASE])[:-16] + "\n" + render_archived([LEASE])
    assert list(read_archived(text)) == [LEASE]


# Once, wherever the write was cut short ------------------------------------------------------------------------------


def test_a_block_is_appended_once_however_much_of_it_is_there(tmp_path: Path) -> None:
    path = tmp_path / "reflections" / "2026-11-30.md"
    block = block_for(path, "twelve bytes\n")
    append_block(path, block)
    append_block(path, block)
    head = b"# What left memory on 2026-11-30\n\n"
    assert path.read_bytes() == head + b"twelve bytes\n"
    second = block_for(path, " and more")
    for length in range(len(" and more") + 1):
        path.write_bytes(head + b"twelve bytes\n" + b" and more"[:length])
        append_block(path, second)
        assert path.read_bytes() == head + b"twelve bytes\n and more"


@pytest.mark.parametrize("is_new", [True, False])
def test_what_another_program_appends_meanwhile_neither_doubles_a_block_nor_is_lost(
    tmp_path: Path, is_new: bool
) -> None:
    path, old = tmp_path / "2026-11-30.md", b"" if is_new else b"# Head\n"
    if old:
        path.write_bytes(old)
    text = render_archived([LEASE])
    block = block_for(path, text)
    new = block.text.encode()
    for theirs in (b"A remark of theirs\n", b"## A heading of theirs\n\n"):
        path.write_bytes(old + theirs)
        append_block(path, block)
        append_block(path, block)
        assert path.read_bytes() == old + theirs + new
        for length in range(len(new)):
            path.write_bytes(old + theirs + new[:length])
            append_block(path, block)
            assert path.read_bytes() == old + theirs + new
        path.write_bytes(old + new + theirs)
        append_block(path, block)
        assert path.read_bytes() == old + new + theirs
        assert list(read_archived(path.read_text())) == [LEASE]


def test_a_file_that_a_person_has_changed_meanwhile_keeps_the_change(tmp_path: Path) -> None:
    path = tmp_path / "2026-11-30.md"
    path.write_bytes(b"old\n")
    block = block_for(path, "new\n")
    path.write_bytes(b"old, corrected\n")
    append_block(path, block)
    append_block(path, block)
    assert path.read_bytes() == b"old, corrected\nnew\n"
