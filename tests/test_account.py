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
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from _archive import read_archived, read_records
from _likeness import fingerprint
from _observations import parse_log
from dream_testing import ARCHIVE, BICYCLE, CANTEEN, CAT, DAY, LOG, NIGHT, RULE, without
from forget_testing import Person
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


DELETED = f"1 observation was deleted from the log by hand, which is taken for meant: {CAT}"


def test_a_night_says_what_was_deleted_by_hand(memory: Night) -> None:
    memory.put(without(memory.log, CAT))
    ended = memory.night("run")
    assert (ended.result["reason"], ended.result["deleted_by_hand"]) == ("done", 1)
    assert DELETED in ended.said and DELETED in memory.file(f"memory/dream-logs/{DAY}.md")
    memory.put(without(memory.log, RULE))
    ended = memory.night("run")
    assert (ended.result["reason"], ended.result["deleted_by_hand"]) == ("nothing_to_do", 1)
    assert DELETED.replace(CAT, RULE) in ended.said
    ended = memory.night("run")
    assert (ended.result["deleted_by_hand"], "by hand" in ended.said) == (0, False)


def test_preflight_says_what_was_deleted_by_hand(memory: Night) -> None:
    memory.put(without(memory.log, CAT))
    ended = memory.night("preflight")
    assert ended.result["deleted_by_hand"] == 1
    assert DELETED in ended.said


def test_a_night_with_nothing_to_do_says_that_too_much_is_gone(memory: Night) -> None:
    memory.night("run")
    lines = [
        f"- 🔴 09:00 Never call person {n} <!-- dc:type=rule dc:id=OBS-20260901-{n:03d} -->\n"
        for n in range(10, 50)
    ]
    before = memory.log
    memory.put(before + "\nDate: 2026-09-01\n\n" + "".join(lines))
    assert memory.night("account", "--accept").code == 0
    memory.put(before)
    ended = memory.night("run")
    assert (ended.result["reason"], ended.result["deleted_by_hand"]) == ("nothing_to_do", 0)
    assert "40 observations are gone from the log" in ended.said


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


def test_preflight_knows_a_line_again_whose_metadata_was_taken_away(memory: Night) -> None:
    memory.put(re.sub(rf" <!--[^>]*{CAT} -->", "", memory.log))
    assert memory.night("preflight").result["adopted"] == 1
    assert faults(memory) == []
    assert counts(memory) == (8, 1, 0, 0, 0)
    assert [row["why"] for row in memory.ledger("merged")] == ["written anew by hand"]


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
    assert faults(memory) == [("dangling_ref", CAT), ("not_in_archive", CAT)]


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


def test_a_memory_that_nothing_of_ours_has_touched_needs_no_ledger(tmp_path: Path) -> None:
    memory = Night(tmp_path / "home")
    memory.put(re.sub(r" <!--.*?-->", "", LOG))
    assert (faults(memory), counts(memory)) == ([], (8, 0, 0, 0, 0))


def test_a_ledger_that_is_lost_is_found(memory: Night) -> None:
    memory.night("run")
    (memory.memory / ".total-recall" / "ledger.jsonl").unlink()
    assert ("no_ledger", "") in faults(memory)
    hooks = [line for line in memory.log.splitlines(keepends=True) if "[ref: " in line]
    memory.put("".join(hooks))
    assert ("no_ledger", "") in faults(memory)
    assert memory.night("account", "--accept").code == 0
    assert faults(memory) == []


def test_hook_lines_that_point_at_nothing_are_found(memory: Night) -> None:
    memory.night("run")
    shutil.rmtree(memory.memory / "archive")
    (memory.memory / ".total-recall" / "ledger.jsonl").unlink()
    assert [kind for kind, _name in faults(memory)] == ["dangling_ref"] * hook_lines(memory) + ["no_ledger"]
    hint = memory.night("account").result["error"]["hint"]
    assert "put the files of memory/archive back" in hint
    assert memory.night("account", "--accept").code == 6


def hook_lines(memory: Night) -> int:
    return memory.log.count("[ref: ")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The cat is called Miso", ""),
        ("The cat is called Miso", "The cat is called Mimi"),
        ("dc:importance=5 dc:date", "dc:importance=1 dc:date"),
    ],
)
def test_an_archived_text_that_is_not_the_one_that_left_is_found(memory: Night, old: str, new: str) -> None:
    memory.night("run")
    assert memory.file(ARCHIVE).count(old) >= 1
    head, item = memory.file(ARCHIVE).split(f"## {CAT}\n")
    (memory.workspace / ARCHIVE).write_text(f"{head}## {CAT}\n{item.replace(old, new)}", "utf-8")
    assert faults(memory) == [("altered", CAT)]
    assert "account --accept" not in memory.night("account").result["error"]["hint"]


def test_a_text_that_a_reflection_archived_and_somebody_changed_there_is_found(memory: Night) -> None:
    assert memory.reflect("--force", now=NIGHT).result["archived"] == 1
    (path,) = (memory.memory / "archive" / "reflections").iterdir()
    path.write_text(path.read_text("utf-8").replace("new canteen", "old canteen"), "utf-8")
    assert faults(memory) == [("altered", CANTEEN)]


def test_an_archived_item_without_any_text_is_found_whoever_took_it_out(memory: Night) -> None:
    memory.night("run")
    in_ledger(memory, {"e": "archived", "id": CAT, "in": "archive/observations/2026-11-30.md"})
    assert faults(memory) == []
    emptied = re.sub(rf"(## {CAT}\n(?:.*\n)*?```text\n).*\n", r"\1\n", memory.file(ARCHIVE))
    (memory.workspace / ARCHIVE).write_text(emptied, "utf-8")
    assert faults(memory) == [("altered", CAT)]


def test_an_archive_with_other_line_ends_is_whole(memory: Night) -> None:
    memory.night("run")
    (memory.workspace / ARCHIVE).write_bytes(memory.file(ARCHIVE).replace("\n", "\r\n").encode())
    assert faults(memory) == []


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


def said_in(log: str) -> "dict[str, set[str]]":
    """By id, what the lines of a log say; "" for those without one."""
    found: "dict[str, set[str]]" = {}
    for entry in parse_log("Date: 2026-09-01\n\n" + log):
        if entry.observation:
            found.setdefault(entry.observation.id, set()).add(fingerprint(entry.observation.text))
    return found


def held_by(memory: Night) -> "set[str]":
    """What is said anywhere in the log or in the archives, told by their texts alone."""
    raws = [memory.raw]
    for path in (memory.memory / "archive").rglob("*.md"):
        content = path.read_bytes().decode("utf-8", "surrogateescape")
        raws += [item.raw for item in read_archived(content)] + [one.text for one in read_records(content)]
    return {said for raw in raws for texts in said_in(raw).values() for said in texts}


class Memory(RuleBasedStateMachine):
    """A memory that is observed, reflected on, slept over, killed, cleaned, and edited by hand, in any order. `kept` is
    what must be somewhere: all that the log ever said, but what a person deleted, reworded or had forgotten."""

    @initialize(phase=st.sampled_from(["1", "2"]))
    def begin(self, phase: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="account"))
        self.home = Person(self.folder / "home", {"DREAM_PHASE": phase, "DREAM_TOKEN_TARGET": "600"})
        self.now = NIGHT - timedelta(days=90)
        self.store: DatedStore = self.home.jsonl()
        self.store.start(SID, at=self.now)
        self.home.run(now=self.now)
        self.home.put(LOG)
        self.archived: "list[str]" = []
        self.kept: "set[str]" = set()
        self.texts: "dict[str, set[str]]" = {}

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

    @precondition(lambda self: set(self.texts) - {""})
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        """Whatever says the same as what is forgotten goes with it."""
        name = data.draw(st.sampled_from(sorted(set(self.texts) - {""})))
        before = {row["id"] for row in self.home.ledger("forgotten")}
        assert self.home.recall("forget", name, "--apply", now=self.now).code in (0, 2, 6)
        for gone in {row["id"] for row in self.home.ledger("forgotten")} - before:
            self.kept -= self.texts.get(gone, set())

    @rule()
    def clean(self) -> None:
        assert self.home.run("--clean", now=self.now).code == 0

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
            before = said_in(lines[place])
            lines[place] = change(lines[place])
            if before != said_in(lines[place]):
                self.kept -= set().union(*before.values())
            self.home.put("\n".join(lines))

    @rule()
    def roll_back(self) -> None:
        assert self.home.night("rollback", now=self.now).code in (0, 6)

    @invariant()
    def whatever_was_said_is_somewhere_and_the_account_is_whole(self) -> None:
        if not hasattr(self, "home"):
            return
        for name, texts in said_in(self.home.raw).items():
            self.texts.setdefault(name, set()).update(texts)
            self.kept |= texts
        assert self.kept - held_by(self.home) == set()
        copy = Person(self.folder / "copy")
        shutil.rmtree(copy.folder, ignore_errors=True)
        shutil.copytree(self.home.folder, copy.folder)
        # A night that begins gives what is in the log twice an id of its own; one that is gone on with does not.
        tomorrow = self.now + timedelta(days=1)
        assert copy.night("preflight", now=tomorrow).code == 0
        told = copy.night("account", now=tomorrow).result
        assert told["faults"] == []
        live = [entry.observation for entry in parse_log(copy.raw) if entry.observation]
        assert told["live"] == len(live)
        assert self.kept - held_by(copy) == set()


QUICKLY = (Phase.explicit, Phase.reuse, Phase.generate)  # a shorter way to a fault is not worth minutes
Memory.TestCase.settings = settings(
    max_examples=15,
    stateful_step_count=12,
    deadline=None,
    phases=QUICKLY,
    suppress_health_check=list(HealthCheck),
)
TestAnyOrderOfEverything = pytest.mark.timeout(120)(Memory.TestCase)
