"""The account: every observation ever written is live, merged, archived, chunked or forgotten, whatever happens."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from _observations import parse_log
from dream_testing import ARCHIVE, BICYCLE, CAT, LOG, NIGHT, RULE, without
from night_testing import Night
from observer_testing import DatedStore
from transcript_builders import SID


@pytest.fixture
def memory(tmp_path: Path) -> Night:
    made = Night(tmp_path / "home")
    made.put_with_ledger(LOG)
    return made


def faults(memory: Night) -> "list[tuple[str, str]]":
    """(kind, id) of all that does not add up; the exit code says whether there is any."""
    ended = memory.night("account")
    found = [(one["kind"], one["id"]) for one in ended.result["faults"]]
    assert ended.code == (6 if found else 0)
    assert ended.result["fault_count"] == len(found)
    return found


def counts(memory: Night) -> "tuple[int, ...]":
    told = memory.night("account").result
    return tuple(told[name] for name in ("live", "merged", "archived", "chunked", "forgotten"))


def in_ledger(memory: Night, row: "dict[str, Any]") -> None:
    with open(memory.memory / ".total-recall" / "ledger.jsonl", "a", encoding="utf-8") as ledger:
        ledger.write(json.dumps(row, separators=(",", ":")) + "\n")


def test_a_memory_as_we_left_it_is_whole(memory: Night) -> None:
    assert (faults(memory), counts(memory)) == ([], (8, 0, 0, 0, 0))


def test_a_line_deleted_by_hand_is_found_and_the_night_writes_it_down(memory: Night) -> None:
    memory.put(without(memory.log, CAT))
    assert faults(memory) == [("gone", CAT)]
    memory.night("run")
    assert faults(memory) == []
    (row,) = memory.ledger("forgotten")
    assert (row["id"], row["why"]) == (CAT, "deleted by hand")
    assert CAT not in memory.file(ARCHIVE)


def test_an_edited_line_is_still_live(memory: Night) -> None:
    memory.put(memory.log.replace("The cat is called Miso <", "The cat is called Mimi <"))
    assert faults(memory) == []


def test_a_line_whose_metadata_was_taken_away_lives_on_without_it(memory: Night) -> None:
    memory.put(re.sub(r"(The cat is called Miso) <!--.*?-->", r"\1", memory.log))
    assert faults(memory) == [("gone", CAT)]
    memory.night("run", "--deadline", "0")
    assert faults(memory) == []
    (row,) = memory.ledger("merged")
    assert (row["id"], row["why"]) == (CAT, "written anew by hand")


def test_a_line_added_by_hand_is_live_and_gets_an_id_from_the_night(memory: Night) -> None:
    memory.put(memory.log + "- a note of my own\n")
    assert counts(memory)[0] == 9
    assert memory.night("account").result["without_id"] == 1
    memory.night("run")
    (row,) = [
        row for row in memory.ledger("adopted") if row["date"] == "2026-11-29" and row["id"].endswith("-002")
    ]
    assert f"- a note of my own <!-- dc:id={row['id']} -->\n" in memory.log
    assert faults(memory) == []


def test_a_line_put_back_by_hand_is_in_two_states_until_the_night(memory: Night) -> None:
    memory.night("run")
    memory.put(memory.log + next(line for line in LOG.splitlines(keepends=True) if BICYCLE in line))
    assert faults(memory) == [("two_states", BICYCLE)]
    memory.night("run")
    assert faults(memory) == []
    assert BICYCLE in memory.log


def test_a_line_that_stands_twice_is_found_and_the_night_gives_the_second_an_id(memory: Night) -> None:
    line = next(line for line in LOG.splitlines(keepends=True) if RULE in line)
    memory.put(memory.log + line)
    assert faults(memory) == [("live_twice", RULE)]
    memory.night("run")
    assert faults(memory) == []
    assert memory.log.count("Never call before 10") == 2


def test_an_archive_that_lost_an_item_is_a_fault_that_nothing_mends(memory: Night) -> None:
    memory.night("run")
    path = memory.workspace / ARCHIVE
    path.write_text(memory.file(ARCHIVE).replace(f"## {CAT}\n", "## OBS-20260902-099\n"), "utf-8")
    found = faults(memory)
    assert ("not_in_archive", CAT) in found
    memory.night("run", now=NIGHT + timedelta(days=1))
    assert faults(memory) == [("not_in_archive", CAT)]


def test_an_item_of_the_archive_that_the_ledger_does_not_know_is_found(memory: Night) -> None:
    memory.night("run")
    path = memory.workspace / ARCHIVE
    path.write_text(
        memory.file(ARCHIVE) + "## OBS-20260902-050\n\n**Impact**: low\n\nA lamp\n\n---\n", "utf-8"
    )
    assert faults(memory) == [("archive_unknown", "OBS-20260902-050")]
    memory.night("run", now=NIGHT + timedelta(days=1))
    assert faults(memory) == []


def test_an_item_that_lies_in_the_archive_twice_is_found(memory: Night) -> None:
    memory.night("run")
    (memory.workspace / ARCHIVE).write_text(memory.file(ARCHIVE) * 2, "utf-8")
    assert ("archived_twice", BICYCLE) in faults(memory)


def test_when_a_large_part_is_gone_at_once_nothing_is_written_off(tmp_path: Path) -> None:
    memory = Night(tmp_path / "home")
    lines = [
        f"- 🔴 09:00 Never call person {n} <!-- dc:type=rule dc:id=OBS-20260901-{n:03d} -->\n"
        for n in range(1, 41)
    ]
    memory.put_with_ledger("Date: 2026-09-01\n\n" + "".join(lines))
    memory.put("Date: 2026-09-01\n\n" + "".join(lines[:20]))
    memory.night("run")
    assert {kind for kind, _name in faults(memory)} == {"gone"}
    assert "20 observations are gone from the log" in memory.file("memory/dream-logs/2026-11-30.md")
    assert memory.night("account", "--accept").result["mended"] == 20
    assert faults(memory) == []
    assert counts(memory) == (20, 0, 0, 0, 20)


def test_a_memory_without_a_ledger_has_nothing_that_does_not_add_up(tmp_path: Path) -> None:
    memory = Night(tmp_path / "home")
    memory.put(LOG)
    assert (faults(memory), counts(memory)) == ([], (8, 0, 0, 0, 0))


def test_a_row_that_is_no_row_is_passed_over(memory: Night) -> None:
    in_ledger(memory, {"e": "archived", "id": 7})
    in_ledger(memory, {"e": "archived"})
    assert faults(memory) == []


def test_a_dry_account_accepts_nothing(memory: Night) -> None:
    memory.put(without(memory.log, CAT))
    memory.night("account", "--accept", "--dry-run")
    assert faults(memory) == [("gone", CAT)]


# Any order of everything ---------------------------------------------------------------------------------------------

WORDS = "Anna Bruno lamp lease Porto kettle choir violin ladder 12 40 not broken sold painted".split()
sentences = st.lists(st.sampled_from(WORDS), min_size=3, max_size=8).map(" ".join)


class Memory(RuleBasedStateMachine):
    """A memory that is observed, reflected on, slept over, killed, and edited by hand, in any order."""

    @initialize(phase=st.sampled_from(["1", "2"]))
    def begin(self, phase: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="account"))
        self.home = Night(self.folder / "home", {"DREAM_PHASE": phase, "DREAM_TOKEN_TARGET": "600"})
        self.now = NIGHT - timedelta(days=90)
        self.store: DatedStore = self.home.jsonl()
        self.store.start(SID, at=self.now)
        self.home.run(now=self.now)
        self.home.put(LOG)
        self.archived: "list[str]" = []

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)

    @rule(said=st.lists(sentences, min_size=1, max_size=3), days=st.integers(0, 9))
    def observe(self, said: "list[str]", days: int) -> None:
        self.now += timedelta(days=days, minutes=20)
        for number, text in enumerate(said):
            self.store.user(
                SID, f"My {text} is at Anna's since March.", at=self.now + timedelta(seconds=number)
            )
        assert self.home.run(now=self.now + timedelta(minutes=1)).code == 0

    @rule(days=st.integers(0, 40))
    def reflect(self, days: int) -> None:
        self.now += timedelta(days=days)
        assert self.home.reflect("--force", now=self.now).code == 0

    @rule(days=st.integers(0, 40))
    def sleep(self, days: int) -> None:
        self.now += timedelta(days=days)
        assert self.home.night("run", now=self.now).code == 0
        self.archived = [row["id"] for row in self.home.ledger("archived")]

    @rule(point=st.integers(0, 12), days=st.integers(0, 9))
    def sleep_and_be_killed(self, point: int, days: int) -> None:
        """The journal is written, and nothing of what it says is done yet."""
        import _state.journal as journal

        self.now += timedelta(days=days)
        left = [point]
        real = journal._apply

        def dying(*args: Any) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            real(*args)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(journal, "_apply", dying)
            assert self.home.night("run", now=self.now).code in (0, 130)

    @precondition(lambda self: self.archived)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        assert self.home.night("restore", data.draw(st.sampled_from(self.archived)), now=self.now).code in (
            0,
            6,
        )

    @rule(data=st.data())
    def edit(self, data: st.DataObject) -> None:
        self._by_hand(data, lambda line: line.replace(" the ", " that ", 1).replace("a", "e", 1))

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        self._by_hand(data, lambda line: "")

    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        self._by_hand(data, lambda line: f"{line}\n{line}")

    @rule(text=sentences)
    def add(self, text: str) -> None:
        self.home.put(self.home.raw + f"- {text}\n")

    def _by_hand(self, data: st.DataObject, change: Any) -> None:
        lines = self.home.raw.split("\n")
        notes = [place for place, line in enumerate(lines) if line.startswith("- ") and "[ref: " not in line]
        if notes:
            place = data.draw(st.sampled_from(notes))
            lines[place] = change(lines[place])
            self.home.put("\n".join(lines))

    @rule()
    def roll_back(self) -> None:
        assert self.home.night("rollback", now=self.now).code in (0, 6)

    @invariant()
    def the_account_is_whole_once_what_was_done_by_hand_is_told(self) -> None:
        if not hasattr(self, "home"):
            return
        copy = Night(self.folder / "copy")
        shutil.rmtree(copy.folder, ignore_errors=True)
        shutil.copytree(self.home.folder, copy.folder)
        # What is still in the log twice gets an id of its own.
        assert copy.night("preflight", now=self.now).code == 0
        told = copy.night("account", "--accept", now=self.now).result
        assert told["faults"] == []
        live = [entry.observation for entry in parse_log(copy.raw) if entry.observation]
        assert told["live"] == len(live)


Memory.TestCase.settings = settings(
    max_examples=8, stateful_step_count=10, deadline=None, suppress_health_check=list(HealthCheck)
)
TestAnyOrderOfEverything = pytest.mark.timeout(120)(Memory.TestCase)
