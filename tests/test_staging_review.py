"""staging_review.py: a person looks at what the night proposes, and decides."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Optional
from unittest import mock

import pytest

import staging_review
from _cli import Result
from _staging import (
    Evidence,
    Proposal,
    Staged,
    is_in,
    lost_texts,
    parse_proposal,
    render_proposal,
    same_as,
)
from dream_testing import Dream
from observer_testing import SCRIPTS, Ended, dated, run_here
from transcript_builders import iso

MORNING = datetime(2026, 11, 30, 9, 0, tzinfo=timezone.utc)
SWIM, CALLS = "20261130-033000-habit.md", "20261130-033001-rule.md"
SWIMMING = Proposal(
    "2026-11-30 03:30",
    "habit",
    "MEMORY.md",
    "medium",
    "Swims on Mondays (3 times on 3 days)",
    "- Swims on Mondays",
    (
        Evidence("2026-11-09", "Swam 2 km", "OBS-20261109-001"),
        Evidence("2026-11-16", "Swam again", "OBS-20261116-002"),
    ),
    "OBS-20261109-001, OBS-20261116-002",
)
CALLING = Proposal(
    "2026-11-30 03:30", "rule", "AGENTS.md", "low", "No calls before 10", "- Never call before 10", (), "3"
)


class Desk(Dream):
    """A machine on which proposals wait."""

    def review(self, *argv: str, now: Optional[datetime] = MORNING) -> Ended:
        """One command of staging_review.py in this process."""
        return run_here(lambda: staging_review.main([*dated(now), *argv]), self.environ)

    @property
    def staging(self) -> Path:
        return self.memory / "dream-staging"

    def names(self) -> "list[str]":
        return sorted(
            str(path.relative_to(self.staging)) for path in self.staging.rglob("*") if path.is_file()
        )

    def propose(self, name: str, proposal: Proposal) -> None:
        self.staging.mkdir(parents=True, exist_ok=True)
        (self.staging / name).write_text(render_proposal(proposal), "utf-8")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path / "home")
    desk.propose(SWIM, SWIMMING)
    desk.propose(CALLS, CALLING)
    return desk


# Looking -------------------------------------------------------------------------------------------------------------


def test_the_list_tells_what_waits(desk: Desk) -> None:
    ended = desk.review("list")
    assert (ended.code, ended.result["waiting"], ended.result["unreadable"]) == (0, 2, 0)
    assert ended.result["proposals"][0] == {
        "name": SWIM,
        "status": "waiting",
        "type": "habit",
        "target_file": "MEMORY.md",
        "confidence": "medium",
        "generated": "2026-11-30 03:30",
        "summary": "Swims on Mondays (3 times on 3 days)",
        "evidence": 2,
    }


def test_nothing_waits_where_there_is_no_folder(tmp_path: Path) -> None:
    ended = Desk(tmp_path / "new").review("list")
    assert (ended.code, ended.result["waiting"], ended.result["proposals"]) == (0, 0, [])


def test_show_has_the_quotes_with_their_dates_and_the_difference(desk: Desk) -> None:
    (desk.workspace / "MEMORY.md").write_text("# Memory\n\n- Likes tea\n", "utf-8")
    shown = desk.review("show", "20261130-033000").result["proposal"]
    assert shown["evidence"] == [
        {"date": "2026-11-09", "quote": "Swam 2 km", "id": "OBS-20261109-001"},
        {"date": "2026-11-16", "quote": "Swam again", "id": "OBS-20261116-002"},
    ]
    assert shown["difference"].endswith(" - Likes tea\n+- Swims on Mondays\n")


def test_the_log_file_has_no_text_of_memory(desk: Desk) -> None:
    desk.review("list")
    desk.review("show", SWIM)
    desk.review("approve", SWIM, "--apply")
    logged = (desk.workspace / "logs" / "staging-review.log").read_text("utf-8")
    assert logged.count("\n") == 3 and "Swims" not in logged and "Swam" not in logged


def test_without_a_subcommand_the_command_line_is_wrong(desk: Desk) -> None:
    assert desk.review().code == 2


def test_a_file_of_another_shape_is_told(desk: Desk) -> None:
    (desk.staging / "20261130-033002-fact.md").write_text("my own words\n", "utf-8")
    ended = desk.review("list")
    assert (ended.result["waiting"], ended.result["unreadable"]) == (2, 1)
    assert "20261130-033002-fact.md is no proposal" in ended.said
    assert desk.review("approve", "20261130-033002-fact.md", "--apply").code == 2


# Names ---------------------------------------------------------------------------------------------------------------


def test_a_name_for_several_proposals_lists_them(desk: Desk) -> None:
    ended = desk.review("approve", "20261130", "--apply")
    message = ended.result["error"]["message"]
    assert (ended.code, desk.names()) == (2, [SWIM, CALLS])
    assert SWIM in message and CALLS in message


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "..", "", "rejected/x", f"./{SWIM}", "20269999"])
def test_a_name_never_leaves_the_folder(desk: Desk, name: str) -> None:
    (desk.memory / "x").write_text(render_proposal(SWIMMING), "utf-8")
    for command in (("show", name), ("approve", name, "--apply"), ("reject", name, "--reason", "no")):
        assert desk.review(*command).code == 2
    assert desk.names() == [SWIM, CALLS]
    assert not (desk.workspace / "MEMORY.md").exists()


def test_symbolic_links_are_no_proposals(desk: Desk) -> None:
    outside = desk.workspace / "outside.md"
    outside.write_text(render_proposal(SWIMMING), "utf-8")
    (desk.staging / "20261130-033009-habit.md").symlink_to(outside)
    assert desk.review("approve", "20261130-033009-habit.md", "--apply").code == 2


def test_a_folder_that_is_a_link_is_refused(desk: Desk, tmp_path: Path) -> None:
    desk.staging.rename(tmp_path / "elsewhere")
    desk.staging.symlink_to(tmp_path / "elsewhere")
    assert desk.review("list").code == 6


def test_a_target_that_leads_out_of_the_workspace_is_refused(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "shell.rc").write_text("x=1\n", "utf-8")
    (desk.workspace / "MEMORY.md").symlink_to(tmp_path / "shell.rc")
    assert desk.review("approve", SWIM, "--apply").code == 6
    assert (tmp_path / "shell.rc").read_text("utf-8") == "x=1\n"
    assert desk.names() == [SWIM, CALLS]


# Approving -----------------------------------------------------------------------------------------------------------


def test_approve_renames_and_writes_nothing_else(desk: Desk) -> None:
    ended = desk.review("approve", SWIM)
    assert (ended.code, ended.result["reason"], ended.result["applied"]) == (0, "approved", False)
    assert desk.names() == ["20261130-033000-habit.approved.md", CALLS]
    assert not (desk.workspace / "MEMORY.md").exists()


def test_apply_appends_the_text_and_keeps_the_file_as_it_was(desk: Desk) -> None:
    (desk.workspace / "MEMORY.md").write_bytes(b"# Memory\n\n- Likes tea")
    ended = desk.review("approve", SWIM, "--apply")
    assert (ended.result["reason"], ended.result["applied"]) == ("applied", True)
    assert (desk.workspace / "MEMORY.md").read_bytes() == b"# Memory\n\n- Likes tea\n- Swims on Mondays\n"
    assert "+- Swims on Mondays" in ended.result["difference"]
    assert ended.result["copy"] == "memory/.dream-backups/targets/MEMORY.md.20261130-090000.kept"
    assert (desk.workspace / ended.result["copy"]).read_bytes() == b"# Memory\n\n- Likes tea"
    assert desk.names() == ["20261130-033000-habit.approved.md", CALLS]


def patched(old: bytes, change: str) -> bytes:
    """The old bytes with a unified difference applied by hand."""
    before, new = re.findall(rb"[^\n]*\n|[^\n]+", old), b""
    place, lines = 0, change.encode("utf-8", "surrogateescape").split(b"\n")
    assert lines.pop() == b""
    for number, line in enumerate(lines[2:], start=2):
        begins = re.match(rb"@@ -(\d+)(?:,(\d+))? \+", line)
        if begins:
            start = int(begins[1]) - (begins[2] != b"0")
            new, place = new + b"".join(before[place:start]), start
            continue
        sign, text = line[:1], line[1:]
        text += b"" if lines[number + 1 : number + 2] == [b"\\ No newline at end of file"] else b"\n"
        if sign in (b" ", b"-"):
            assert before[place] == text
            place += 1
        if sign in (b" ", b"+"):
            new += text
    return new + b"".join(before[place:])


@pytest.mark.parametrize(
    "old",
    [
        None,
        b"",
        b"\n",
        b"# Memory\n\n- Likes tea\n",
        b"# Memory\n\n- Likes tea",
        b"# Memory\n\nText\n\n",
        b"# Memory\r\n\r\n- Likes tea\r\n",
        b"# Memory\r\n\r\nText",
        b"# Memory\n- one\r\n- two\x0b\xe2\x80\xa8 and \xff\n" + b"- line\n" * 9,
    ],
)
def test_the_difference_that_is_shown_is_what_is_written(desk: Desk, old: "Optional[bytes]") -> None:
    target = desk.workspace / "MEMORY.md"
    if old is not None:
        target.write_bytes(old)
    shown = desk.review("show", SWIM).result["proposal"]["difference"]
    told = desk.review("approve", SWIM, "--apply").result["difference"]
    assert told == shown
    assert patched(old or b"", told) == target.read_bytes()
    assert told.count("\n+") == target.read_bytes().count(b"\n") - (old or b"").count(b"\n") + 1  # and "+++"


def test_what_was_approved_can_be_applied_later_but_only_once(desk: Desk) -> None:
    desk.review("approve", SWIM)
    assert desk.review("approve", SWIM).code == 2
    assert desk.review("approve", "20261130-033000", "--apply").result["reason"] == "applied"
    assert desk.review("approve", "20261130-033000", "--apply").result["reason"] == "already_there"
    assert (desk.workspace / "MEMORY.md").read_text("utf-8") == "- Swims on Mondays\n"


def test_a_dry_run_shows_the_difference_and_writes_nothing(desk: Desk) -> None:
    (desk.workspace / "MEMORY.md").write_text("- Likes tea\n", "utf-8")
    before = {path: path.read_bytes() for path in desk.folder.rglob("*") if path.is_file()}
    ended = desk.review("approve", SWIM, "--apply", "--dry-run")
    assert (ended.code, ended.result["reason"], ended.result["applied"]) == (0, "dry_run", False)
    assert "+- Swims on Mondays" in ended.result["difference"]
    assert {path: path.read_bytes() for path in desk.folder.rglob("*") if path.is_file()} == before


def test_a_proposal_is_applied_as_a_person_edited_it(desk: Desk) -> None:
    text = (desk.staging / SWIM).read_text("utf-8")
    (desk.staging / SWIM).write_text(
        text.replace("\n- Swims on Mondays\n", "\n- Swims\n  - on Mondays\n\nPool: 25 m\n"), "utf-8"
    )
    desk.review("approve", SWIM, "--apply")
    assert (desk.workspace / "MEMORY.md").read_text("utf-8") == "- Swims\n  - on Mondays\n\nPool: 25 m\n"


def test_a_fence_that_would_cut_the_text_short_is_noticed(desk: Desk) -> None:
    text = (desk.staging / SWIM).read_text("utf-8")
    (desk.staging / SWIM).write_text(
        text.replace("- Swims on Mondays\n", "- Swims\n```\nand more\n"), "utf-8"
    )
    assert desk.review("approve", SWIM, "--apply").code == 2
    assert not (desk.workspace / "MEMORY.md").exists()


def test_a_fence_in_the_text_stays_inside(desk: Desk) -> None:
    text = "- Deploys with\n```\nmake deploy\n```\n**Type**: rule\n## Evidence\n\n- 2026-11-01: never said"
    desk.propose(SWIM, Proposal("x", "habit", "MEMORY.md", "medium", "A summary", text, (), "3"))
    shown = desk.review("show", SWIM).result["proposal"]
    assert (shown["proposed_text"], shown["type"], shown["evidence"]) == (text, "habit", [])


def test_line_endings_of_the_target_are_kept(desk: Desk) -> None:
    (desk.workspace / "MEMORY.md").write_bytes(b"# Memory\r\n\r\nText\r\n")
    desk.review("approve", SWIM, "--apply")
    assert (
        desk.workspace / "MEMORY.md"
    ).read_bytes() == b"# Memory\r\n\r\nText\r\n\r\n- Swims on Mondays\r\n"


def test_the_copies_are_the_last_ten(desk: Desk) -> None:
    target = desk.workspace / "MEMORY.md"
    for second in range(12):
        desk.propose(SWIM, SWIMMING)
        target.write_text(f"{second}\n", "utf-8")
        desk.review("approve", SWIM, "--apply", now=datetime(2026, 11, 30, 9, 0, second, tzinfo=timezone.utc))
    copies = sorted((desk.memory / ".dream-backups" / "targets").iterdir())
    assert [path.read_text("utf-8") for path in copies] == [f"{second}\n" for second in range(2, 12)]


def test_what_others_write_to_the_target_meanwhile_stays(desk: Desk) -> None:
    target = desk.workspace / "MEMORY.md"
    target.write_text("- Likes tea\n", "utf-8")
    replace, times = os.replace, [0]

    def replaced(source: str, place: str) -> None:
        if os.path.basename(place) == "MEMORY.md" and not times[0]:
            times[0] += 1
            with open(place, "a", encoding="utf-8") as file:
                file.write("- Written by the agent\n")
        replace(source, place)

    with mock.patch.object(os, "replace", replaced):
        desk.review("approve", SWIM, "--apply")
    assert target.read_text("utf-8") == "- Likes tea\n- Swims on Mondays\n- Written by the agent\n"


def test_killed_between_writing_and_renaming_it_ends_the_same(desk: Desk) -> None:
    with mock.patch.object(staging_review, "rename_file", side_effect=KeyboardInterrupt):
        assert desk.review("approve", SWIM, "--apply").code == 130
    desk.review("approve", SWIM, "--apply")
    assert (desk.workspace / "MEMORY.md").read_text("utf-8") == "- Swims on Mondays\n"
    assert desk.names() == ["20261130-033000-habit.approved.md", CALLS]


def test_an_approval_is_not_written_over_by_another_proposal(desk: Desk) -> None:
    assert desk.review("approve", SWIM).code == 0
    approved = (desk.staging / "20261130-033000-habit.approved.md").read_bytes()
    desk.propose(SWIM, replace(SWIMMING, summary="Runs", text="- Runs on Tuesdays"))
    for flags in ((), ("--apply",)):
        assert desk.review("approve", SWIM, *flags).code == 6
    assert (desk.staging / "20261130-033000-habit.approved.md").read_bytes() == approved
    assert desk.names() == ["20261130-033000-habit.approved.md", SWIM, CALLS]
    assert not (desk.workspace / "MEMORY.md").exists()


def test_a_proposal_that_was_saved_with_other_line_endings_is_one(desk: Desk) -> None:
    for name in (SWIM, CALLS):
        path = desk.staging / name
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert desk.review("list").result["unreadable"] == 0
    assert desk.review("approve", SWIM, "--apply").result["reason"] == "applied"
    assert (desk.workspace / "MEMORY.md").read_bytes() == b"- Swims on Mondays\n"
    assert desk.review("reject", CALLS, "--reason", "no").code == 0
    text = (desk.staging / "rejected" / CALLS).read_text("utf-8")
    assert parse_proposal(text) == CALLING
    assert text.index("**Reason**: no\n") < text.index("## Summary\n")


def test_what_a_person_decides_is_done_while_the_night_may_only_read(desk: Desk) -> None:
    desk.environ["READ_ONLY_MODE"] = "true"
    assert desk.review("approve", SWIM, "--apply").result["reason"] == "applied"
    assert (desk.workspace / "MEMORY.md").read_text("utf-8") == "- Swims on Mondays\n"


# Rejecting -----------------------------------------------------------------------------------------------------------


def test_reject_moves_it_with_the_reason_and_the_day(desk: Desk) -> None:
    ended = desk.review("reject", SWIM, "--reason", "only\ntrue last year")
    assert (ended.code, ended.result["path"]) == (0, f"memory/dream-staging/rejected/{SWIM}")
    assert desk.names() == [CALLS, f"rejected/{SWIM}"]
    text = (desk.staging / "rejected" / SWIM).read_text("utf-8")
    assert "**Rejected**: 2026-11-30\n**Reason**: only true last year\n" in text
    assert parse_proposal(text) == SWIMMING
    assert desk.review("list", "--all").result["rejected"] == 1


def test_a_file_that_lost_its_form_can_be_rejected(desk: Desk) -> None:
    (desk.staging / SWIM).write_text("my own words\n", "utf-8")
    assert desk.review("reject", SWIM, "--reason", "no", "--dry-run").code == 0
    assert desk.names() == [SWIM, CALLS]
    assert desk.review("reject", "20261130-033000", "--reason", "no").code == 0
    assert desk.names() == [CALLS, f"rejected/{SWIM}"]
    assert (desk.staging / "rejected" / SWIM).read_text("utf-8").startswith("my own words\n")
    (desk.staging / SWIM).write_text("other words\n", "utf-8")
    assert desk.review("reject", SWIM, "--reason", "no").code == 6
    assert desk.names() == [SWIM, CALLS, f"rejected/{SWIM}"]


def test_only_names_of_proposals_can_be_rejected(desk: Desk) -> None:
    (desk.staging / "notes.md").write_text("my own words\n", "utf-8")
    (desk.staging / "20261130-033009-habit.md").symlink_to(desk.staging / "notes.md")
    for name in ("notes.md", "20261130-033009-habit.md"):
        assert desk.review("reject", name, "--reason", "no").code == 2
    assert (desk.staging / "notes.md").exists()


def test_a_reason_is_needed(desk: Desk) -> None:
    assert desk.review("reject", SWIM).code == 2
    assert desk.review("reject", SWIM, "--reason", " ").code == 2
    assert desk.names() == [SWIM, CALLS]


def test_what_was_rejected_is_not_proposed_again(desk: Desk) -> None:
    desk.put("Date: 2026-11-09\n\n- 🟡 09:00 Swam 2 km <!-- dc:type=event dc:importance=4 -->\n")
    payload = {
        "type": "habit",
        "target_file": "MEMORY.md",
        "confidence": "medium",
        "pattern_summary": "Swims on Mondays",
        "proposed_text": "- Swims on Mondays",
        "evidence": [{"date": "2026-11-09", "quote": "Swam 2 km"}],
        "supporting_observations": 3,
    }
    desk.review("reject", SWIM, "--reason", "not true")
    told = desk.night("write-staging", "memory/dream-staging/20261201-033000-habit.md", payload=payload)
    assert told.result["reason"] == "rejected_before"


# On a terminal -------------------------------------------------------------------------------------------------------


def on_terminal(desk: Desk, *argv: str) -> str:
    """What a person at a terminal gets to see on stdout."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        [sys.executable, str(SCRIPTS / "staging_review.py"), "--now", iso(MORNING), *argv],
        env={**desk.environ, "PYTHONUTF8": "1"},
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(slave)
        shown = b""
        with contextlib.suppress(OSError):  # how Linux says that the other end is closed
            while piece := os.read(master, 65_536):
                shown += piece
        process.communicate(timeout=30)
    os.close(master)
    return shown.decode("utf-8").replace("\r\n", "\n")


def test_a_person_gets_text(desk: Desk) -> None:
    shown = on_terminal(desk, "list")
    assert shown.startswith(
        f"{SWIM}: habit for MEMORY.md, medium confidence, said on 2026-11-09, 2026-11-16\n"
    )


def test_signs_that_move_the_cursor_are_shown_not_sent(desk: Desk) -> None:
    said = Evidence("2026-11-09", "Swam \x1b[2J\u202e 2 km")
    desk.propose(
        SWIM,
        Proposal(
            "x", "habit", "MEMORY.md", "medium", "Tidy\x1b]0;owned\x07", "- Swims\x1b[31m\x9b2J", (said,), "3"
        ),
    )
    for argv in (("list",), ("show", SWIM), ("approve", SWIM, "--apply", "--dry-run")):
        shown = on_terminal(desk, *argv)
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown)
    assert "Swam \\x1b[2J\\u202e 2 km" in on_terminal(desk, "show", SWIM)


# The same pattern again, and other files -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "comes_back"),
    [
        ("- SWIMS ON MONDAYS", False),
        ("- Goes to the pool at the start of each week", False),
        ("- Trains in the water, usually two kilometres", False),
    ],
)
def test_a_rejected_pattern_does_not_come_back_in_other_words(
    desk: Desk, text: str, comes_back: bool
) -> None:
    days = ("2026-11-09", "2026-11-16", "2026-11-23", "2026-11-30")
    said = tuple(
        Evidence(day, f"Swam {n} km", f"OBS-{day.replace('-', '')}-001") for n, day in enumerate(days, 1)
    )
    first = replace(SWIMMING, evidence=said[:3], supporting=", ".join(one.id for one in said[:3]))
    later = replace(
        first, text=text, summary=text, evidence=said, supporting=", ".join(one.id for one in said)
    )
    rejected = Staged(desk.staging / "rejected" / SWIM, first, "rejected")
    assert (same_as(later, [rejected]) is None) is comes_back


def test_another_pattern_may_rest_on_some_of_the_same_observations(desk: Desk) -> None:
    ids = [f"OBS-20261109-{number:03d}" for number in range(1, 9)]
    one = replace(SWIMMING, evidence=(), supporting=", ".join(ids[:5]))
    other = replace(
        SWIMMING, text="- Eats soup", summary="Eats soup", evidence=(), supporting=", ".join(ids[3:])
    )
    assert same_as(other, [Staged(desk.staging / SWIM, one, "rejected")]) is None


MISO = ("OBS-20260901-001", "OBS-20260901-002")
HAS_A_CAT = replace(
    SWIMMING, type="fact", text="- Has a cat called Miso that eats tuna", summary="Miso", evidence=(),
    supporting=", ".join(MISO),
)  # fmt: skip


@pytest.mark.parametrize(
    "text, ids, comes_back",
    [
        ("Owns a cat named Miso who eats tuna", (MISO[1], "OBS-20260901-003"), False),
        ("Owns a cat named Miso who eats tuna", ("OBS-20260901-003",), False),
        ("Miso the cat eating tuna", MISO, False),
        ("Has a cat that sleeps in the blue basket", MISO, True),
        ("Buys fish for the cat at the market", MISO, True),
        ("Has a cat called Miso that never eats tuna", MISO, True),
        ("Has a cat called Pablo that eats tuna", MISO, True),
    ],
)
def test_a_rejected_pattern_is_known_by_its_words_and_what_it_rests_on(
    desk: Desk, text: str, ids: "tuple[str, ...]", comes_back: bool
) -> None:
    later = replace(HAS_A_CAT, text=f"- {text}", summary="A pattern", supporting=", ".join(ids))
    rejected = Staged(desk.staging / "rejected" / SWIM, HAS_A_CAT, "rejected")
    assert (same_as(later, [rejected]) is None) is comes_back


def test_another_pattern_over_the_same_observations_gets_through(desk: Desk) -> None:
    said = tuple(
        Evidence(f"2026-11-0{n}", f"Swims {n} km and eats lentil soup", f"OBS-2026110{n}-001")
        for n in range(1, 5)
    )
    swims = replace(SWIMMING, text="- Swims in the lake", summary="Swims", evidence=said, supporting="4")
    rejected = [Staged(desk.staging / "rejected" / SWIM, swims, "rejected")]
    assert same_as(replace(swims, text="- Eats lentil soup", summary="Lentils"), rejected) is None
    assert same_as(replace(swims, text="- Swims several km", summary="Sport"), rejected) is not None
    other = replace(swims, type="preference", target="favorites.md", evidence=(), supporting="4")
    assert same_as(replace(other, text="- Prefers the lake to swim in", summary="Lakes"), rejected) is None


def test_a_target_in_another_encoding_is_refused(desk: Desk) -> None:
    target = desk.workspace / "MEMORY.md"
    target.write_bytes("# Memory\n".encode("utf-16"))
    ended = desk.review("approve", SWIM, "--apply")
    assert (ended.code, ended.result["error"]["code"]) == (6, "refused")
    assert target.read_bytes() == "# Memory\n".encode("utf-16")
    assert SWIM in desk.names()


def test_one_line_of_windows_does_not_make_a_file_one_of_windows(desk: Desk) -> None:
    target = desk.workspace / "MEMORY.md"
    target.write_bytes(b"# Memory\n\n- one\n- two\r\n")
    assert desk.review("approve", SWIM, "--apply").code == 0
    assert target.read_bytes() == b"# Memory\n\n- one\n- two\r\n- Swims on Mondays\n"


def test_what_was_typed_instead_of_a_name_is_in_no_log(desk: Desk) -> None:
    assert desk.review("show", "Zebulon Smith").code == 2
    assert "Zebulon" not in (desk.workspace / "logs" / "staging-review.log").read_text("utf-8")


def test_the_copy_is_kept_after_the_clock_was_set_back(desk: Desk) -> None:
    copies = desk.memory / ".dream-backups" / "targets"
    copies.mkdir(parents=True)
    for second in range(10):
        (copies / f"MEMORY.md.20261201-09000{second}.kept").write_text(f"{second}\n", "utf-8")
    (desk.workspace / "MEMORY.md").write_text("# Memory\n", "utf-8")
    copy = desk.review("approve", SWIM, "--apply").result["copy"]
    assert (desk.workspace / copy).read_text("utf-8") == "# Memory\n"
    assert len(list(copies.iterdir())) == 10


def test_a_target_that_appears_meanwhile_is_not_lost(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    target, difference = desk.workspace / "MEMORY.md", staging_review.difference

    def appearing(name: str, old: bytes, new: bytes) -> str:
        if not target.exists():
            target.write_text("# Written by the agent\n", "utf-8")
        return difference(name, old, new)

    monkeypatch.setattr(staging_review, "difference", appearing)
    ended = desk.review("approve", SWIM, "--apply")
    assert target.read_text("utf-8") == "# Written by the agent\n\n- Swims on Mondays\n"
    assert (ended.result["created"], " # Written by the agent\n" in ended.result["difference"]) == (
        False,
        True,
    )
    assert (desk.workspace / ended.result["copy"]).read_text("utf-8") == "# Written by the agent\n"


def test_a_target_that_was_not_there_is_told_to_be_created(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = []
    monkeypatch.setattr(staging_review, "Result", lambda *a, **k: pages.append(k["page"]) or Result(*a, **k))
    assert desk.review("approve", SWIM, "--apply", "--dry-run").result["created"] is True
    assert not (desk.workspace / "MEMORY.md").exists()
    ended = desk.review("approve", SWIM, "--apply")
    assert (ended.result["created"], ended.result["copy"]) == (True, "")
    assert "MEMORY.md would be created" in pages[0] and "created with its text" in pages[1]
    (desk.workspace / "AGENTS.md").write_text("# Agents\n", "utf-8")
    assert desk.review("approve", CALLS, "--apply").result["created"] is False
    assert "its text was appended to AGENTS.md" in pages[2]


def test_names_of_other_files_in_the_folder_are_in_no_log(desk: Desk, tmp_path: Path) -> None:
    (desk.staging / "Zebulon Smith.md").write_text("mine\n", "utf-8")
    ended = desk.review("show", "Zebulon")
    assert ended.code == 2 and "Zebulon Smith.md" in ended.result["error"]["hint"]
    (desk.workspace / "MEMORY.md").symlink_to(tmp_path / "Zebulon.rc")
    ended = desk.review("approve", SWIM, "--apply")
    assert ended.code == 6 and "Zebulon.rc" in ended.result["error"]["hint"]
    assert "Zebulon" not in (desk.workspace / "logs" / "staging-review.log").read_text("utf-8")


@pytest.mark.parametrize(
    "old, new", [("**Type**: habit\n", ""), ("## Summary\n", ""), ("```text\n", ""), ("```", "")]
)
def test_a_rejected_proposal_that_lost_its_form_is_known(desk: Desk, old: str, new: str) -> None:
    content = render_proposal(SWIMMING).replace(old, new)
    (desk.staging / "rejected").mkdir()
    (desk.staging / "rejected" / SWIM).write_text(content, "utf-8")
    (desk.staging / "rejected" / "README.md").write_text("What I do not want.\n", "utf-8")
    lost = list(lost_texts(desk.staging))
    for text, known in (
        ("- Swims on Mondays", True),
        ("* swims, on Mondays!", True),
        ("- Eats soup", False),
    ):
        later = replace(SWIMMING, text=text, summary=text[2:], evidence=(), supporting="3")
        assert any(is_in(later, content) for content in lost) is known
    on_the_same = replace(SWIMMING, text="- Likes the water", summary="Water")
    assert not any(is_in(on_the_same, content) for content in lost)
