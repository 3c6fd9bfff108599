"""The account: every observation ever written is live, merged, archived, chunked or forgotten, whatever happens."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Callable, Optional

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import doctor
from _archive import read_archived, read_records
from _ledger import read_ledger
from _likeness import fingerprint
from _observations import parse_log
from dream_testing import ARCHIVE, BICYCLE, CANTEEN, CAT, DAY, FLIGHT, LOG, NIGHT, RULE, without
from forget_testing import Person
from night_testing import Night
from observer_testing import DatedStore, Ended, dated, run_here
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
    memory.put(without(memory.log, FLIGHT))
    ended = memory.night("run")
    assert (ended.result["reason"], ended.result["deleted_by_hand"]) == ("nothing_to_do", 1)
    assert DELETED.replace(CAT, FLIGHT) in ended.said
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


SMALL = "".join(
    f"- 🟡 09:00 Person {n} likes tea <!-- dc:type=fact dc:importance=5 dc:id=OBS-20260901-{n:03d} -->\n"
    for n in range(1, 13)
)


def doctor_of(memory: Night) -> "dict[str, Any]":
    """What the doctor says of the ledger."""
    ended = run_here(lambda: doctor.main([*dated(NIGHT), "--offline"]), memory.environ)
    (found,) = [one for one in ended.result["checks"] if one["name"] == "ledger"]
    return dict(found)


def small_memory(folder: Path, critical: int, lines: int) -> "tuple[Night, list[str]]":
    """A memory of so many lines, the first ones of them critical, and the lines."""
    memory = Night(folder / "home")
    every = SMALL.splitlines(keepends=True)[:lines]
    every = [line.replace("importance=5", "importance=9") for line in every[:critical]] + every[critical:]
    memory.put_with_ledger("Date: 2026-09-01\n\n" + "".join(every))
    return memory, every


@pytest.mark.parametrize(
    ("critical", "lines", "gone"),
    [(2, 3, 2), (1, 12, 1), (1, 1, 1), (0, 2, 2), (0, 3, 2), (0, 4, 2), (0, 12, 6), (0, 12, 12)],
)
def test_what_is_critical_and_half_of_a_small_log_are_not_written_off(
    tmp_path: Path, critical: int, lines: int, gone: int
) -> None:
    memory, every = small_memory(tmp_path, critical, lines)
    memory.put("Date: 2026-09-01\n\n" + "".join(every[gone:]))
    found = doctor_of(memory)
    assert found["state"] == "fail" and "account --accept" in found["todo"]
    assert "critical, or too much at once" in found["says"]
    assert memory.night("preflight").result["unexplained"] == gone
    ended = memory.night("run")
    assert (ended.code, ended.result["deleted_by_hand"]) == (0, 0)
    assert len(faults(memory)) == gone and doctor_of(memory)["state"] == "fail"
    assert memory.night("account", "--accept").result["mended"] == gone
    assert faults(memory) == [] and doctor_of(memory)["state"] == "ok"


@pytest.mark.parametrize(("lines", "gone"), [(1, 1), (2, 1), (3, 1), (5, 2), (12, 5)])
def test_a_few_lines_of_a_small_log_are_taken_for_tidied_up(tmp_path: Path, lines: int, gone: int) -> None:
    memory, every = small_memory(tmp_path, 0, lines)
    memory.put("Date: 2026-09-01\n\n" + "".join(every[gone:]))
    assert doctor_of(memory)["state"] == "warn"
    assert memory.night("run").result["deleted_by_hand"] == gone
    assert faults(memory) == [] and doctor_of(memory)["state"] == "ok"


def test_beside_a_critical_line_others_are_still_written_off(tmp_path: Path) -> None:
    memory, every = small_memory(tmp_path, 1, 12)
    memory.put("Date: 2026-09-01\n\n" + "".join(every[2:]))
    ended = memory.night("preflight")
    assert (ended.result["deleted_by_hand"], ended.result["unexplained"]) == (1, 1)
    assert faults(memory) == [("gone", "OBS-20260901-001")]


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


class Killed(BaseException):
    """The process is gone: nobody catches this."""


CHANGES = ("write", "replace", "unlink", "truncate", "ftruncate", "mkdir", "rmdir")


@contextlib.contextmanager
def killed_at(change: Optional[int], half: bool) -> "Iterator[None]":
    """Let the process be gone at a change of a file, by its number; a write can be half done then. Whatever would still
    be written while it unwinds is not."""
    left, dead = [change], [False]

    def dying(name: str) -> "Callable[..., Any]":
        real = getattr(os, name)

        def call(*args: Any, **named: Any) -> Any:
            if left[0] == 0:
                if half and name == "write" and not dead[0]:
                    real(args[0], bytes(args[1])[: len(args[1]) // 2])
                dead[0] = True
                raise Killed
            left[0] -= 1
            return real(*args, **named)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in CHANGES if change is not None else ():
            patch.setattr(os, name, dying(name))
        with contextlib.suppress(Killed):
            yield


# No kill as often as one, and early ones more often than late ones.
changes = st.one_of(st.none(), st.integers(0, 12), st.integers(0, 60))
# What people do to the log by hand; the next night tells the ledger of it.
BY_HAND_FAULTS = {"gone", "two_states", "live_twice", "live_unknown"}


class Memory(RuleBasedStateMachine):
    """A memory that is observed, reflected on, slept over, cleaned, and edited by hand, in any order, and killed at any
    change of a file. `kept` is what must be somewhere: all that the log ever said, but what a person deleted, reworded
    or had forgotten. `touched` are the ids of lines that a person has changed."""

    @initialize(phase=st.sampled_from(["1", "2"]))
    def begin(self, phase: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="account"))
        self.home = Person(self.folder / "home", {"DREAM_PHASE": phase, "DREAM_TOKEN_TARGET": "600"})
        self.now = NIGHT - timedelta(days=90)
        self.store: DatedStore = self.home.jsonl()
        self.store.start(SID, at=self.now)
        self.home.run(now=self.now)
        self.home.put_with_ledger(LOG)
        self.archived: "list[str]" = []
        self.kept: "set[str]" = set()
        self.touched: "set[str]" = set()
        self.texts: "dict[str, set[str]]" = {}

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)

    def carry_out(
        self, run: "Callable[[], Ended]", kill: Optional[int], half: bool, codes: "tuple[int, ...]" = (0,)
    ) -> None:
        """A command, killed at a change of a file or not."""
        ended: "list[Ended]" = []
        with killed_at(kill, half):
            ended.append(run())
        assert all(one.code in codes for one in ended), ended
        self.archived = self.ids_in_ledger("archived")

    def ids_in_ledger(self, kind: str) -> "list[str]":
        """Its last row may be half written."""
        return [row["id"] for row in read_ledger(self.home.memory / ".total-recall" / "ledger.jsonl", kind)]

    @rule(
        said=st.lists(sentences, min_size=1, max_size=3),
        days=st.integers(0, 9),
        kill=changes,
        half=st.booleans(),
    )
    def observe(self, said: "list[str]", days: int, kill: Optional[int], half: bool) -> None:
        self.now += timedelta(days=days, minutes=20)
        for number, text in enumerate(said):
            self.store.user(
                SID, f"My {text} is at Anna's since March.", at=self.now + timedelta(seconds=number)
            )
        self.carry_out(lambda: self.home.run(now=self.now + timedelta(minutes=1)), kill, half)

    @rule(days=st.integers(0, 40), kill=changes, half=st.booleans())
    def reflect(self, days: int, kill: Optional[int], half: bool) -> None:
        self.now += timedelta(days=days)
        self.carry_out(lambda: self.home.reflect("--force", now=self.now), kill, half)

    @rule(days=st.integers(0, 40), kill=changes, half=st.booleans())
    def sleep(self, days: int, kill: Optional[int], half: bool) -> None:
        self.now += timedelta(days=days)
        self.carry_out(lambda: self.home.night("run", now=self.now), kill, half)

    @precondition(lambda self: self.archived)
    @rule(data=st.data(), kill=changes, half=st.booleans())
    def restore(self, data: st.DataObject, kill: Optional[int], half: bool) -> None:
        name = data.draw(st.sampled_from(self.archived))
        self.carry_out(lambda: self.home.night("restore", name, now=self.now), kill, half, (0, 6))

    @precondition(lambda self: set(self.texts) - {""})
    @rule(data=st.data(), kill=changes, half=st.booleans())
    def forget(self, data: st.DataObject, kill: Optional[int], half: bool) -> None:
        """Whatever says the same as what is forgotten goes with it, now or with the next run."""
        name = data.draw(st.sampled_from(sorted(set(self.texts) - {""})))
        before = set(self.ids_in_ledger("forgotten"))
        self.carry_out(
            lambda: self.home.recall("forget", name, "--apply", now=self.now), kill, half, (0, 2, 6)
        )
        for gone in set(self.ids_in_ledger("forgotten")) - before:
            self.kept -= self.texts.get(gone, set())

    def doomed(self) -> "set[str]":
        """What is forgotten as soon as the next run finishes what a killed one began."""
        task = self.home.memory / ".total-recall" / "forgetting.json"
        rows = json.loads(task.read_text("utf-8"))["rows"] if task.exists() else []
        gone = [row["id"] for row in rows if row["e"] == "forgotten"]
        return {said for name in gone for said in self.texts.get(name, ())}

    @rule(kill=changes, half=st.booleans())
    def clean(self, kill: Optional[int], half: bool) -> None:
        self.carry_out(lambda: self.home.run("--clean", now=self.now), kill, half)

    @rule(kill=changes, half=st.booleans())
    def roll_back(self, kill: Optional[int], half: bool) -> None:
        self.carry_out(lambda: self.home.night("rollback", now=self.now), kill, half, (0, 6))

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
        end = "" if self.home.raw.endswith("\n") else "\n"
        self.home.put(f"{self.home.raw}{end}- {text}\n")

    def _by_hand(self, data: st.DataObject, change: Any) -> None:
        lines = self.home.raw.split("\n")
        notes = [place for place, line in enumerate(lines) if line.startswith("- ") and "[ref: " not in line]
        if notes:
            place = data.draw(st.sampled_from(notes))
            before = said_in(lines[place])
            lines[place] = change(lines[place])
            self.touched |= before.keys() | said_in(lines[place]).keys()
            if before != said_in(lines[place]):
                self.kept -= set().union(*before.values())
            self.home.put("\n".join(lines))

    @invariant()
    def whatever_was_said_is_somewhere_and_the_account_is_whole(self) -> None:
        if not hasattr(self, "home"):
            return
        # Behind the last newline there may be half a line, which the next run takes back.
        for name, texts in said_in(self.home.raw[: self.home.raw.rfind("\n") + 1]).items():
            self.texts.setdefault(name, set()).update(texts)
            self.kept |= texts
        self.kept -= self.doomed()
        assert self.kept - held_by(self.home) == set()
        copy = Person(self.folder / "copy")
        shutil.rmtree(copy.folder, ignore_errors=True)
        shutil.copytree(self.home.folder, copy.folder)
        # Before anything mends it nothing is wrong but what a person did.
        faults = copy.night("account", now=self.now).result["faults"]
        assert [one for one in faults if not self._is_by_hand(one)] == []
        # A night that begins gives what is in the log twice an id of its own; one that is gone on with does not. What a
        # person deleted stays to be accepted where it is critical, or much.
        tomorrow = self.now + timedelta(days=1)
        assert copy.night("preflight", now=tomorrow).code == 0
        faults = copy.night("account", now=tomorrow).result["faults"]
        assert [one for one in faults if one["kind"] != "gone" or one["id"] not in self.touched] == []
        told = copy.night("account", "--accept", now=tomorrow).result
        assert told["faults"] == []
        live = [entry.observation for entry in parse_log(copy.raw) if entry.observation]
        assert told["live"] == len(live)
        assert self.kept - held_by(copy) == set()

    def _is_by_hand(self, fault: "dict[str, Any]") -> bool:
        return fault["kind"] in BY_HAND_FAULTS and fault["id"] in self.touched


QUICKLY = (Phase.explicit, Phase.reuse, Phase.generate)  # a shorter way to a fault is not worth minutes
Memory.TestCase.settings = settings(
    max_examples=40,
    stateful_step_count=16,
    deadline=None,
    phases=QUICKLY,
    suppress_health_check=list(HealthCheck),
)
TestAnyOrderOfEverything = pytest.mark.timeout(300)(Memory.TestCase)
