"""The brief that a new session begins with: what stands in which order, and what there is room for."""

from __future__ import annotations

from _observations import parse_log, render_brief

NOTES = """Date: 2026-11-01

- 🟡 09:00 Uses pnpm, not npm <!-- dc:type=preference dc:importance=5 -->
- 🔴 10:00 Is allergic to walnuts <!-- dc:type=fact dc:importance=8 -->
"""
HOOKS = """## Archived (memory/archive holds the whole text)

- **Pad thai**: was cold (2026-09-02). [ref: archive/observations/2026-11-30.md#OBS-20260902-001]
- **Cat (chunked)**: eats tuna. Confidence: established. [ref: archive/chunks/2026-11-30.md#CHUNK-20261130-001]

"""


def test_what_is_archived_stands_last_and_without_its_path() -> None:
    assert render_brief(parse_log(HOOKS + NOTES)).splitlines()[2:-1] == [
        "- 🔴 2026-11-01 10:00 Is allergic to walnuts",
        "- 🟡 2026-11-01 09:00 Uses pnpm, not npm",
        "In the archive, which `recall.py show ID` opens:",
        "- was cold (2026-09-02). OBS-20260902-001",
        "- eats tuna. Confidence: established. CHUNK-20261130-001",
    ]


def test_what_is_archived_takes_a_fifth_of_the_room_at_most() -> None:
    hooks = [
        f"- **Topic {n}**: outcome number {n} of many. [ref: archive/observations/2026-11-30.md#OBS-20260902-{n:03d}]"
        for n in range(1, 400)
    ]
    brief = render_brief(parse_log("\n".join([*hooks, NOTES])), 5_000)
    archived = brief.split("In the archive", 1)[1]
    assert 700 < len(archived) <= 1_000 + len("</total-recall-brief>\n")
    assert "outcome number 1 of" in archived and "walnuts" in brief


def test_notes_come_before_all_that_is_archived() -> None:
    notes = "\n".join(f"- 🟡 09:00 Note number {n} says something" for n in range(100))
    brief = render_brief(parse_log(f"{HOOKS}Date: 2026-11-01\n\n{notes}\n"), 2_000)
    assert "In the archive" not in brief and brief.count("Note number") > 20
