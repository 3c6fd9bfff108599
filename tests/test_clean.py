"""observer.py --clean: what is no note leaves the log with its reason; whatever a person may have typed stays."""

from __future__ import annotations

import json
from datetime import timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _clean import junk_in, lines_of, look
from _dream import without
from _ledger import sha_of
from _observations import parse_log
from fault_testing import snapshot
from night_testing import Night
from observer_testing import at
from reflect_testing import NOW

MORNING = at("09:00")
# As the shell edition left logs: see the lines behind "#".
LOG = """# Observations Log

Kept by Total Recall.

---

Date: 2026-11-02

```markdown
- 🔴 2:05 PM Decided: the shop moves to Ghent <!-- dc:type=decision dc:importance=8 dc:date=2026-11-02 -->
- 🟡 09:10 The cat is called Miso
```

<think>
The user wants observations. Let me see.
- The user talks about tea
- 🟡 09:20 Likes mint tea

So I write one line.
</think>
- 🟡 09:20 Likes mint tea
Here are the observations:
NO_OBSERVATIONS
{"layer": "observer", "status": "ok", "reason": "observed", "run_id": "1", "schema": 1}
- 🟢 09:30 HEARTBEAT_OK
- 🟢 09:31 Read HEARTBEAT.md if it exists. If nothing needs attention, reply HEARTBEAT_OK
- 🟡 09:32 confidence: 0.58 status: staged
- 🔴 HH:MM text <!-- dc:type=TYPE dc:importance=N -->
If nothing matters, answer only NO_OBSERVATIONS
- 🔴 09:14 Shop moves to Hetzner on Friday (2026-03-06) <!-- dc:type=event dc:importance=8 -->
- 🟡 09:20 Likes mint tea

Anna called, ring back
## My own section
```
git push --force
```
- git push --force is forbidden here
- Keep the observations log short
"""
STAYS = """# Observations Log

Kept by Total Recall.

---

Date: 2026-11-02

- 🔴 2:05 PM Decided: the shop moves to Ghent <!-- dc:type=decision dc:importance=8 dc:date=2026-11-02 -->
- 🟡 09:10 The cat is called Miso

- 🟡 09:20 Likes mint tea


Anna called, ring back
## My own section
```
git push --force
```
- git push --force is forbidden here
- Keep the observations log short
"""
REASONS = {
    "code fence": [9, 12],
    "thoughts of a model": [14, 15, 16, 17, 19, 20],
    "duplicate": [31],
    "talk about the task": [22, 23],
    "our own result": [24],
    "machine chatter": [25, 26],
    "metadata without a note": [27],
    "a prompt that came back": [28, 29, 30],
}


@pytest.fixture
def memory(tmp_path: Path) -> Night:
    return Night(tmp_path / "home")


def test_a_dry_run_says_which_lines_would_go_and_why(memory: Night) -> None:
    memory.put(LOG)
    before = snapshot(memory)
    ended = memory.run("--clean", "--dry-run", now=MORNING)
    assert (ended.code, ended.result["reason"], ended.result["found"]) == (0, "dry_run", 18)
    assert ended.result["lines"] == REASONS
    assert ended.result["reasons"] == {reason: len(lines) for reason, lines in REASONS.items()}
    assert snapshot(memory) == before
    assert "mint tea" not in json.dumps(ended.result) + ended.said


def test_what_is_no_note_leaves_and_every_other_byte_stays(memory: Night) -> None:
    memory.put(LOG)
    ended = memory.run("--clean", now=MORNING)
    assert (ended.code, ended.result["reason"], ended.result["found"]) == (0, "cleaned", 18)
    # Of two lines in the same words either may stay.
    assert memory.log.replace("\n\n\n", "\n\n").replace("\n\n", "\n") == STAYS.replace(
        "\n\n\n", "\n\n"
    ).replace("\n\n", "\n")
    assert "Likes mint tea" in memory.brief and "HEARTBEAT" not in memory.brief


def test_what_left_lies_in_the_archive_with_its_reason(memory: Night) -> None:
    memory.put(LOG)
    ended = memory.run("--clean", now=MORNING)
    items = memory.archived()
    assert len(items) == 18
    found = {item.reason: item for item in items}
    assert set(found) == set(REASONS)
    assert found["machine chatter"].raw.startswith("- 🟢 09:31 Read HEARTBEAT.md")
    assert found["duplicate"].raw == "- 🟡 09:20 Likes mint tea"
    assert Path(ended.result["backup"]).read_text("utf-8") == LOG
    assert memory.night("account").result["faults"] == []


def test_cleaning_twice_is_cleaning_once(memory: Night) -> None:
    memory.put(LOG)
    memory.run("--clean", now=MORNING)
    before = snapshot(memory)
    ended = memory.run("--clean", now=MORNING)
    assert (ended.code, ended.result["reason"], ended.result["found"]) == (0, "nothing_to_clean", 0)
    assert snapshot(memory) == before


def test_what_left_can_be_asked_back(memory: Night) -> None:
    memory.put(LOG)
    memory.run("--clean", now=MORNING)
    name = next(item.id for item in memory.archived() if "confidence" in item.raw)
    assert memory.night("restore", name).result["restored"] == 1
    assert "confidence: 0.58 status: staged" in memory.log


def test_an_unclosed_thought_ends_at_a_blank_line_and_a_lone_tag_goes_alone() -> None:
    unclosed = "Date: 2026-11-03\n\n<think>\nNever closed\n\nA remark\n- 🟡 10:00 The lease ends in May\n"
    assert [one.line for one in junk_in(unclosed)] == [3, 4]
    assert [one.line for one in junk_in("Date: 2026-11-03\n\nA remark\n</think>\nAnother\n")] == [4]


DRAFT = "- 🔴 09:20 Hates mint tea <!-- dc:type=fact dc:importance=8 dc:date=2026-11-02 -->"


def test_a_draft_between_thoughts_goes_with_them_into_the_archive(memory: Night) -> None:
    log = f"Date: 2026-11-02\n\n<think>\nSo I write\n{DRAFT}\n\nor rather\n</think>\n- 🟡 09:20 Likes mint tea\n"
    memory.put(log)
    looked = memory.run("--clean", "--dry-run", now=MORNING).result
    assert (looked["lines"], looked["spared"]) == ({"thoughts of a model": [3, 4, 5, 7, 8]}, [])
    assert memory.run("--clean", now=MORNING).result["found"] == 5
    assert "Hates" not in memory.log and "Likes mint tea" in memory.log
    (item,) = [item for item in memory.archived() if item.raw == DRAFT]
    assert memory.night("account").result["faults"] == []
    assert memory.night("restore", item.id).result["restored"] == 1
    assert "Hates mint tea" in memory.log


LONG = "Hm\n" * 60


@pytest.mark.parametrize(
    "inside",
    [
        f"{DRAFT}\nDate: 2026-11-03\nHm\n",
        f"```\nDate: 2026-11-02\n{DRAFT}\n```\n",
        DRAFT.replace(" -->", " dc:id=OBS-20261102-001 -->\n"),
        f"{DRAFT}\n{DRAFT.replace('11-02', '11-03').replace('Hates', 'Buys')}\n",
        f"{DRAFT}\n{LONG}",
    ],
    ids=["another day", "a day in a fence", "an id", "two days", "long"],
)
def test_notes_between_tags_that_may_be_of_two_answers_stay_and_are_named(memory: Night, inside: str) -> None:
    log = f"Date: 2026-11-02\n\n<think>\nCut off\n{inside}The end</think>\n"
    memory.put(log)
    drafts = [number for number, line in enumerate(log.split("\n"), 1) if "mint tea" in line]
    ended = memory.run("--clean", "--dry-run", now=MORNING)
    assert ended.result["spared"] == drafts and not set(drafts) & set(sum(ended.result["lines"].values(), []))
    assert "that may be a model's draft" in ended.said and "mint tea" not in ended.said
    assert memory.run("--clean", now=MORNING).result["spared"] == drafts
    assert memory.log.count("mint tea") == len(drafts) and "<think>" not in memory.log
    assert memory.run("--clean", now=MORNING).result["spared"] == []


def test_a_draft_after_a_tag_that_is_never_closed_stays() -> None:
    log = f"Date: 2026-11-02\n\n<think>\nHm\n{DRAFT}\n<think>\nHm\n</think>\n"
    found = look(log, NOW, timezone.utc)
    assert [line for line, _, _ in found.found] == [3, 4, 6, 7, 8] and found.spared == ()


def test_a_thought_never_swallows_another_day(memory: Night) -> None:
    log = "Date: 2026-11-02\n\n<think>\nHm\n\nA remark\n\nDate: 2026-11-03\n\nAnother\n</think>\n"
    assert [one.line for one in junk_in(log)] == [3, 4, 11]


def test_the_same_line_by_the_hundred_becomes_one(memory: Night) -> None:
    line = "- 🟡 09:10 The cat is called Miso\n"
    memory.put("Date: 2026-11-02\n\n" + line * 300 + "- 🟡 09:11 Tom lives in Ghent\n")
    ended = memory.run("--clean", now=MORNING)
    assert ended.result["reasons"] == {"duplicate": 299}
    assert memory.log == "Date: 2026-11-02\n\n" + line + "- 🟡 09:11 Tom lives in Ghent\n"
    assert memory.night("account").result["faults"] == []


def test_the_same_event_on_another_day_is_no_duplicate(memory: Night) -> None:
    line = "- 🟡 Ran 5 km <!-- dc:type=event -->\n"
    log = f"Date: 2026-11-02\n\n{line}\nDate: 2026-11-03\n\n{line}"
    memory.put(log)
    assert memory.run("--clean", now=MORNING).result["found"] == 0
    assert memory.log == log


@pytest.mark.parametrize(
    "line",
    [
        "- 🟡 10:00 TTL=300 for the DNS of the shop",
        "- git push --force is forbidden",
        "- 🔴 09:00 Answers with HEARTBEAT_OK when the agent polls him",
        "HEARTBEAT_OK is what the agent says",
        '{"name": "Anna", "status": "married"}',
        "- 🟡 Keeps an observations log of birds",
        "Here are the keys: under the mat",
        "I think <think> is a funny tag",
        "- 🟡 No new observations of wolves in the valley since March",
        "```python",
        "- [ ] think about the lease",
        "---",
        "**Type**: rule",
    ],
)
def test_what_a_person_may_have_typed_stays(line: str) -> None:
    log = f"Date: 2026-11-02\n\nA remark\n{line}\nAnother remark\n\n- 🟡 09:10 The cat is called Miso\n"
    assert junk_in(log) == ()


def test_a_fence_around_anything_else_stays() -> None:
    assert junk_in("Date: 2026-11-02\n\n```\n- one\n- two\n```\n\n- 🟡 The cat is called Miso\n") == ()
    assert [one.line for one in junk_in("Date: 2026-11-02\n\n```\n- 🟡 The cat is called Miso\n")] == [3]


def test_nobody_adds_a_line_in_vain_while_it_is_cleaned(memory: Night) -> None:
    memory.put(LOG + "- 🟡 Added by hand at the end\n")
    memory.run("--clean", now=MORNING)
    assert memory.log.endswith("- 🟡 Added by hand at the end\n")


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="`<◁"), max_size=200))
def test_any_other_text_of_a_person_stays(text: str) -> None:
    log = "Date: 2026-11-02\n\n" + "\n".join(f"Note: {line}" for line in text.split("\n")) + "\n"
    assert look(log, NOW, NOW.tzinfo).found == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "log",
    [
        "```\n<think>\nHm\n\n```\n- 🟡 Likes mint tea\n```\n</think>\n```\n",
        "- 🟡 The cat is called Miso\nNO_OBSERVATIONS\n```\n",
        "\n```markdown\nNO_OBSERVATIONS\n- 🟡 09:20 Likes mint tea\n",
        "- 🟡 Miso\n- 🟡 Miso\n```\n</think>\n",
        "- one\n<think>short</think>\n  ```\nI close it</think>\n  ```\n  ```\n",
        "- 🟡 one\n<think>short</think>\n  ```\n- 🟡 one\n  ```\nA remark\n",
    ],
)
def test_what_a_first_look_brings_together_leaves_in_the_same_run(memory: Night, log: str) -> None:
    memory.put(f"Date: 2026-11-02\n\n{log}")
    looked = memory.run("--clean", "--dry-run", now=MORNING)
    assert memory.run("--clean", now=MORNING).result["found"] == looked.result["found"] > 0
    ended = memory.run("--clean", now=MORNING)
    assert (ended.code, ended.result["reason"]) == (0, "nothing_to_clean")
    assert memory.night("account").result["faults"] == []


_LINES = st.sampled_from(
    [
        *(
            "```",
            "```markdown",
            "  ```",
            "~~~",
            "<think>",
            "</think>",
            "<think>short</think>",
            "[THINK]",
            "\t</think>",
        ),
        *(
            "I close it</think>",
            "- </think>",
            "- 🟡 <think>",
            "",
            "Date: 2026-11-03",
            "A remark",
            "- one",
            "  - child",
        ),
        *(
            "- 🟡 09:10 The cat is called Miso",
            "- 🟡 Likes tea <!-- dc:type=fact -->",
            "NO_OBSERVATIONS",
            "> quote",
        ),
    ]
)


@given(st.lists(_LINES, max_size=9))
def test_nothing_is_left_to_clean_in_what_would_stay(lines: "list[str]") -> None:
    log = "Date: 2026-11-02\n\n" + "\n".join(lines) + "\n"
    entries, found = parse_log(log), look(log, NOW, timezone.utc)
    numbers = lines_of(log)
    gone = {one.position for one in found.junk} | {numbers.index(line) for line, _ in found.duplicates}
    rest = without(entries, gone)
    assert look(rest, NOW, timezone.utc).found == []
    for line in ("A remark", "> quote"):
        assert rest.count(line) >= log.count(line) or any("<" in one or "[" in one for one in lines)


def test_a_list_of_a_person_may_hold_a_thing_twice(memory: Night) -> None:
    log = "Date: 2026-11-02\n\n## Saturday\n- milk\n- bread\n\n## Sunday\n- milk\n"
    memory.put(log)
    assert memory.run("--clean", now=MORNING).result["found"] == 0
    assert memory.log == log


def test_a_row_of_what_left_tells_its_text_by_a_hash(memory: Night) -> None:
    memory.put(LOG)
    memory.run("--clean", now=MORNING)
    rows = [row for row in memory.ledger("archived") if row["by"] == "clean"]
    by_id = {item.id: item.raw for item in memory.archived()}
    assert rows and all(row["sha"] == sha_of(by_id[row["id"]]) for row in rows)
    path = memory.memory / rows[0]["in"]
    path.write_text(path.read_text("utf-8").replace("HEARTBEAT_OK", "altered"), "utf-8")
    kinds = {fault["kind"] for fault in memory.night("account").result["faults"]}
    assert kinds == {"altered"}
