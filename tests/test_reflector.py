"""The reflector as the observer, cron or a person meets it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta, timezone
from errno import ENOSPC
from pathlib import Path
from typing import Any, Callable
from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import fake_model
from _files import lock, private_folder
from _observations import count_words, parse_log, render_brief
from _reflect import read_items, steps_by_rule
from _reflect.answer import read_changes
from _reflect.gate import judge_proposals
from _state import Places, Provisional, Reflection, State, commit_reflection, reflected, save_state
from fake_model import fails, says
from observer_testing import at
from patience import until
from reflect_testing import NOW, Memory, diligent, notes_in, nothing_is_lost, three_months
from transcript_builders import SID

LONG = three_months()
SHORT = three_months(2_000)
MET = {"REFLECTOR_WORD_THRESHOLD": "100"}


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path / "home")


@pytest.fixture
def reflecting(memory: Memory) -> "Iterator[fake_model.FakeModel]":
    with fake_model.FakeModel(diligent) as server:
        memory.model(server)
        yield server


def bytes_of(memory: Memory) -> "dict[str, bytes]":
    """All files of memory/ but locks, by name."""
    files = (path for path in sorted(memory.folder.rglob("*")) if path.is_file() and path.suffix != ".lock")
    return {str(path.relative_to(memory.folder)): path.read_bytes() for path in files}


def protected_in(log: str) -> "dict[str, tuple[str, str]]":
    """The lines that must stay, by what can be seen in them, each with its text and type."""
    found = {}
    for entry in parse_log(log):
        said = entry.observation
        if said and (
            "🔴" in entry.raw
            or "dc:type=rule" in entry.raw
            or "dc:type=goal" in entry.raw
            or "2027" in entry.raw
            or (said.date == "2026-11-29" and said.time >= "09:00")
        ):
            found[entry.raw] = (said.text, said.type)
    return found


def nothing_protected_left(before: str, memory: Memory) -> None:
    """What had to stay stands there word for word; only one that was there twice may have become one."""
    old, new = protected_in(before), protected_in(memory.raw)
    assert len(old) > 50 and set(new) <= set(old)
    assert set(old.values()) == set(new.values())
    gone = set(old) - set(new)
    assert {item.reason for item in memory.archived() if item.raw in gone} <= {"duplicate"}


def nothing_is_invented(memory: Memory) -> None:
    """Each number, name and word of a new line stands in one of its sources."""
    sources: "dict[str, str]" = {}
    for item in memory.archived():
        sources[item.into] = sources.get(item.into, "") + " " + item.raw
    for entry in parse_log(memory.raw):
        said = entry.observation
        if said and said.id in sources and said.id in {row["id"] for row in memory.ledger("observed")}:
            for word in re.findall(r"\d+|[A-Z]\w+|\S*/\S+", said.text):
                assert word.lower() in sources[said.id].lower(), f"{word} of {said.text!r} is invented"


# The thin path -------------------------------------------------------------------------------------------------------


def test_a_diligent_model_makes_a_20000_word_log_smaller_by_40_percent_and_nothing_is_lost(
    memory: Memory, reflecting: fake_model.FakeModel
) -> None:
    memory.put(LONG)
    before = count_words(LONG)
    assert before > 20_000
    ended = memory.call_reflector()
    assert (ended.code, ended.result["status"], ended.result["reason"]) == (0, "ok", "reflected")
    assert ended.result["words_before"] == before
    assert ended.result["words_after"] == count_words(memory.raw) < 0.6 * before
    nothing_is_lost(LONG, memory)
    nothing_is_invented(memory)
    nothing_protected_left(LONG, memory)
    assert ended.result["kept_protected"] == len(protected_in(LONG))
    assert [path.read_bytes() for path in memory.backups()] == [LONG.encode("utf-8", "surrogateescape")]
    assert [path.name for path in memory.backups()] == ["observations-20261130-090000.md.bak"]
    assert "box 3 holds the contract" in memory.brief
    assert ended.result["questions"] == len(reflecting.requests) <= 12
    assert len({request.body["messages"][0]["content"] for request in reflecting.requests}) == 1


def test_without_a_model_the_rules_are_applied(memory: Memory) -> None:
    memory.put(LONG)
    ended = memory.call_reflector()
    assert (ended.code, ended.result["reason"], ended.result["questions"]) == (0, "reflected", 0)
    assert ended.result["words_after"] < 0.8 * ended.result["words_before"]
    assert (ended.result["merged"] > 100, ended.result["archived"] > 100) == (True, True)
    nothing_is_lost(LONG, memory)
    nothing_protected_left(LONG, memory)


def test_a_second_run_changes_nothing_and_asks_nothing(
    memory: Memory, reflecting: fake_model.FakeModel
) -> None:
    memory.put(SHORT)
    assert memory.reflect(**MET).result["reason"] == "reflected"
    before, asked = bytes_of(memory), len(reflecting.requests)
    ended = memory.reflect(now=at("15:00"), **MET)
    assert (ended.code, ended.result["reason"]) == (0, "nothing_to_gain")
    after = bytes_of(memory)
    log = ".openclaw/workspace/logs/reflector.log"
    assert {**after, log: b""} == {**before, log: b""} and len(reflecting.requests) == asked


def test_a_day_later_or_a_tenth_larger_it_is_reflected_on_again(
    memory: Memory, reflecting: fake_model.FakeModel
) -> None:
    memory.put(SHORT)
    memory.reflect(**MET)
    asked = len(reflecting.requests)
    memory.reflect(now=at("15:00"), **MET)
    assert len(reflecting.requests) == asked
    memory.put(memory.raw + "\nDate: 2026-11-30\n\n" + "- 🟡 Likes to walk by the sea at night\n" * 60)
    memory.reflect(now=at("15:00"), **MET)
    assert len(reflecting.requests) > asked
    asked = len(reflecting.requests)
    memory.reflect(now=at("15:30", day=1).replace(month=12), **MET)
    assert len(reflecting.requests) > asked


def test_under_the_threshold_nothing_is_written(memory: Memory) -> None:
    memory.put("Date: 2026-09-01\n\n- 🟢 Said hello\n")
    before = bytes_of(memory)
    ended = memory.reflect()
    assert (ended.code, ended.result["status"], ended.result["reason"]) == (0, "ok", "under_threshold")
    words = ended.result["words_before"]
    assert ended.said == f"reflector: {words} words, not over the 8000 of the threshold: nothing to do\n"
    del before[".openclaw/workspace/memory/observations.md"]
    assert set(bytes_of(memory)) == {
        ".openclaw/workspace/memory/observations.md",
        ".openclaw/workspace/logs/reflector.log",
    }


@pytest.mark.parametrize(
    "day", ["## Date: 2026-09-01 (first day at the new job)", "**Date: 2026-09-01** – moved to Porto"]
)
def test_a_date_line_that_says_more_than_its_day_stays(memory: Memory, day: str) -> None:
    memory.put(f"{day}\n\n- 🟢 Said hello\n\nDate: 2026-09-02\n\n- 🟢 Said hello again\n- 🟡 Owns a boat\n")
    memory.reflect("--force")
    assert memory.raw.startswith(f"{day}\n") and "hello" not in memory.raw


def test_force_reflects_on_a_small_log(memory: Memory) -> None:
    memory.put("Date: 2026-09-01\n\n- 🟢 Said hello\n- 🟡 Owns a boat\n")
    ended = memory.reflect("--force")
    assert (ended.result["archived"], memory.raw) == (1, "Date: 2026-09-01\n\n- 🟡 Owns a boat\n")
    (item,) = memory.archived()
    assert (item.id, item.raw, item.reason) == (
        "OBS-20260901-001",
        "- 🟢 Said hello",
        "low and older than 7 days",
    )


def test_without_a_log_there_is_nothing_to_do(memory: Memory) -> None:
    assert memory.reflect().result["reason"] == "under_threshold"
    ended = memory.reflect("--force")
    assert (ended.code, ended.result["reason"]) == (0, "nothing_to_gain")
    assert not (memory.memory / "observations.md").exists() and memory.backups() == []


def test_a_dry_run_counts_and_writes_nothing(memory: Memory, reflecting: fake_model.FakeModel) -> None:
    memory.put(LONG)
    before = bytes_of(memory)
    ended = memory.call_reflector("--dry-run")
    told = ended.result
    assert (ended.code, told["reason"], told["dry_run"]) == (0, "dry_run", True)
    assert (
        told["entries"] > 1_000 and told["archived"] > 100 and told["merged"] > 100 and told["questions"] > 5
    )
    assert bytes_of(memory) == before and reflecting.requests == []


def test_another_reflector_that_runs_is_not_disturbed(memory: Memory) -> None:
    memory.put(SHORT)
    with lock(memory.memory / ".total-recall" / "reflector.lock"):
        ended = memory.call_reflector("--force")
    assert (ended.code, ended.result["status"], ended.result["reason"]) == (0, "skipped", "locked")
    assert memory.raw == SHORT


# Models that are no good ---------------------------------------------------------------------------------------------


def drops_all(request: fake_model.Request) -> Any:
    numbers = [number for number, _label, _text in notes_in(request.prompt)]
    return "\n".join(f"drop {number} by {numbers[-1]}\ndrop {number}" for number in numbers)


def rewords(request: fake_model.Request) -> Any:
    notes = notes_in(request.prompt)
    return "\n".join(f"merge {number}: {text[::-1]}" for number, _label, text in notes)


def invents(request: fake_model.Request) -> Any:
    notes = [note for note in notes_in(request.prompt) if "keep" not in note[1]]
    made = ("{} at 17:43", "{} for 9999 euros", "{} in /srv/secret.txt", "{} on 2025-01-01", "{} with Zoltan")
    pairs = zip(notes[::2], notes[1::2])
    return "\n".join(
        f"merge {one[0]} {other[0]}: " + made[place % 5].format(f"{one[2]}, {other[2]}")
        for place, (one, other) in enumerate(pairs)
    )


def relabels(request: fake_model.Request) -> Any:
    """What it does is fine, what it says about type and weight is not."""
    answer = diligent(request)
    text = json.loads(answer.body)["choices"][0]["message"]["content"]
    return re.sub(
        r"(?m)^(merge [\d ]+:) (.*)$",
        r"\1 - 🟢 \2 <!-- dc:type=context dc:importance=0 dc:id=OBS-20200101-001 -->",
        text,
    )


def mixes_up(request: fake_model.Request) -> Any:
    """Merges each line with the one behind it, whatever they are about."""
    notes = notes_in(request.prompt)
    return "\n".join(
        f"merge {one[0]} {other[0]}: {one[2][:40]} {other[2][:40]}"
        for one, other in zip(notes[::2], notes[1::2])
    )


def rewrites(request: fake_model.Request) -> Any:
    return "\n".join(
        f"- 🟡 {text} <!-- dc:type=fact -->" for _number, _label, text in notes_in(request.prompt)
    )


def cuts(request: fake_model.Request) -> Any:
    text = json.loads(diligent(request).body)["choices"][0]["message"]["content"]
    return says(text[: len(text) // 2], finish="length")


MODELS: "dict[str, Callable[[fake_model.Request], Any]]" = {
    "drops all": drops_all,
    "rewords": rewords,
    "invents": invents,
    "relabels": relabels,
    "mixes up": mixes_up,
    "rewrites": rewrites,
    "cuts": cuts,
    "unchanged": lambda request: "UNCHANGED",
    "prose": lambda request: "I have consolidated the memory as you asked. **Compression applied:** 40 %",
    "refuses": lambda request: "I'm sorry, but I cannot assist with that.",
    "empty": lambda request: "  \n",
}


@pytest.mark.parametrize("name", MODELS)
def test_no_model_costs_a_protected_line_or_brings_in_what_nobody_said(memory: Memory, name: str) -> None:
    memory.put(LONG)
    with fake_model.FakeModel(MODELS[name]) as server:
        memory.model(server)
        ended = memory.call_reflector()
    useless = name in ("rewrites", "prose", "refuses", "empty")
    if name != "cuts":  # its last words may be half of UNCHANGED
        assert (ended.code, ended.result["status"]) == ((5, "error") if useless else (0, "ok"))
    nothing_protected_left(LONG, memory)
    nothing_is_lost(LONG, memory)
    nothing_is_invented(memory)
    # The rules are applied whatever the model does.
    assert ended.result["words_after"] < 0.8 * ended.result["words_before"]
    if name in ("invents", "rewords"):
        assert (ended.result["written"], ended.result["refused"] > 100) == (0, True)
    if name == "drops all":
        assert not {"Said", "Ran"} & {
            item.raw.split()[3] for item in memory.archived() if item.reason == "superseded"
        }
        for rent in (item for item in memory.archived() if item.raw[8:].startswith("Rent") and item.into):
            (stands,) = [line for line in (LONG + memory.raw).split("\n") if rent.into in line][:1]
            same = [word for word in re.findall(r"the (\w+) of (\w+)", rent.raw)[0] if word in stands]
            assert same, (rent.raw, stands)
    if name == "relabels":
        assert ended.result["written"] > 50
        new = {row["id"]: row for row in memory.ledger("observed")}
        assert {(row["type"], row["importance"]) for row in new.values()} == {("fact", 4.0)}
        assert all(name.startswith("OBS-2026") for name in new)


def test_the_second_model_is_asked_when_the_first_is_no_use(memory: Memory) -> None:
    memory.put(SHORT)
    with fake_model.FakeModel(
        lambda request: "Done!" if request.model == "test/first" else diligent(request)
    ) as server:
        memory.model(server)
        models = {"REFLECTOR_MODEL": "test/first", "REFLECTOR_FALLBACK_MODEL": "test/second"}
        ended = memory.reflect("--force", **models)
    assert (ended.code, ended.result["models"]) == (0, ["test/second"])
    assert server.models_asked[:2] == ["test/first", "test/second"]


def test_a_part_whose_answer_is_cut_is_asked_about_in_halves(memory: Memory) -> None:
    memory.put(SHORT)

    def short_of_breath(request: fake_model.Request) -> Any:
        return (
            says("merge 1 2: Ann", finish="length")
            if len(notes_in(request.prompt)) > 20
            else diligent(request)
        )

    with fake_model.FakeModel(short_of_breath) as server:
        memory.model(server)
        ended = memory.reflect("--force")
    assert ended.code == 0 and ended.result["written"] > 0
    assert ended.result["questions"] < len(server.requests)
    nothing_is_lost(SHORT, memory)


def test_a_model_that_is_down_leaves_what_the_rules_did_and_the_next_run_goes_on_there(
    memory: Memory,
) -> None:
    memory.put(LONG)
    asked: "list[str]" = []

    def fails_on_the_third(request: fake_model.Request) -> Any:
        asked.append(notes_in(request.prompt)[0][1][:10])
        return fails(402, "no credit") if len(asked) == 3 else diligent(request)

    with fake_model.FakeModel(fails_on_the_third) as server:
        memory.model(server)
        first = memory.reflect()
        assert (first.code, first.result["error"]["code"]) == (5, "model_failed")
        assert first.result["questions"] == 2 and first.result["merged"] > 0
        stopped_at = memory.state["reflect_from"]
        assert stopped_at > "2026-09-01"
        second = memory.reflect("--force")
    assert second.code == 0
    assert asked[3] == asked[2] and second.result["calls"] < len(asked)
    assert (
        memory.state["reflect_from"] == "" and memory.state["reflected_words"] == second.result["words_after"]
    )
    nothing_is_lost(LONG, memory)


def test_a_refused_key_is_a_mistake_of_configuration(memory: Memory) -> None:
    memory.put(SHORT)
    with fake_model.FakeModel(fails(401, "Incorrect API key provided")) as server:
        memory.model(server)
        ended = memory.reflect("--force", LLM_API_KEY="nonsense")
    assert (ended.code, ended.result["error"]["code"]) == (3, "key_refused")
    nothing_is_lost(SHORT, memory)


def test_nothing_that_was_said_is_in_the_result_or_the_log(
    memory: Memory, reflecting: fake_model.FakeModel
) -> None:
    memory.put(SHORT)
    ended = memory.reflect("--force")
    told = (
        json.dumps(ended.result)
        + ended.said
        + (memory.folder / ".openclaw/workspace/logs/reflector.log").read_text()
    )
    assert not re.search("Anna|Bruno|bakery|harbour|Miso", told)


# Out of time ---------------------------------------------------------------------------------------------------------


class SlowModel:
    """A model each of whose answers takes some minutes, and the clock that they pass on. `shown` are the notes
    of each question."""

    def __init__(self, minutes: int, answer: "Callable[[fake_model.Request], Any]") -> None:
        self.now, self.shown = NOW, list[list[str]]()
        self._minutes, self._answer = timedelta(minutes=minutes), answer

    def __call__(self, request: fake_model.Request) -> Any:
        self.now += self._minutes
        self.shown.append([f"[{label}] {text}" for _number, label, text in notes_in(request.prompt)])
        return self._answer(request)

    def run(self, memory: Memory, *flags: str) -> "dict[str, Any]":
        """A run of the reflector by this clock, a quarter of an hour after what was before it."""
        self.now += timedelta(minutes=15)
        with mock.patch("_cli.utc_now", lambda: self.now):
            ended = memory.reflect(*flags, now=None, **MET)
        return {"code": ended.code, **ended.result}

    def run_to_the_end(self, memory: Memory, most: int) -> "list[dict[str, Any]]":
        """Runs until one comes to the end; no more than `most`."""
        told = [self.run(memory)]
        while memory.state["reflect_from"]:
            assert len(told) < most, "no end"
            told.append(self.run(memory))
        return told


@pytest.fixture
def slow(memory: Memory) -> "Iterator[Callable[..., SlowModel]]":
    with ExitStack() as around:

        def make(minutes: int, answer: "Callable[[fake_model.Request], Any]") -> SlowModel:
            model = SlowModel(minutes, answer)
            memory.model(around.enter_context(fake_model.FakeModel(model)))
            return model

        yield make


def boxes(head: str, form: str, count: int = 600) -> str:
    return head + "".join(form.format(number) + "\n" for number in range(count))


DATED = "Date: 2026-10-01\n\n"
BOXES = {
    "a day": boxes(DATED, "- 🟡 Box {0} on the shelf by the door holds the cups of the blue set"),
    "no day": boxes("", "- 🟡 Box {0} on the shelf by the door holds the cups of the blue set"),
    "a minute": boxes(DATED, "- 🟡 09:00 Box {0} on the shelf by the door holds the cups of the blue set"),
    "ids": boxes(
        DATED, "- 🟡 Box {0} on the shelf holds the cups <!-- dc:type=fact dc:id=OBS-20261001-{0:03d} -->"
    ),
}


@pytest.mark.parametrize("name", BOXES)
def test_a_run_that_is_out_of_time_stops_between_two_questions_and_the_next_ones_ask_about_the_rest_once(
    memory: Memory, slow: "Callable[..., SlowModel]", name: str
) -> None:
    memory.put(BOXES[name])
    model = slow(5, lambda request: "UNCHANGED")
    told = model.run_to_the_end(memory, 10)
    assert [(one["code"], one["questions"]) for one in told[:-1]] == [(0, 2)] * (len(told) - 1)
    assert [one.get("out_of_time", 0) for one in told] == [1] * (len(told) - 1) + [0]
    assert len(told) > 2
    asked = [int(re.findall(r"Box (\d+)", text)[0]) for shown in model.shown for text in shown]
    assert asked == list(range(600))
    assert memory.state["reflected_at"] != ""


def test_what_was_asked_about_before_time_was_up_is_not_asked_about_again(
    memory: Memory, slow: "Callable[..., SlowModel]"
) -> None:
    memory.put(LONG)
    model = slow(5, diligent)
    first = model.run(memory)
    assert (first["code"], first["out_of_time"], first["questions"]) == (0, 1, 2)
    assert first["written"] > 0 and memory.state["reflected_at"] == ""
    model.run_to_the_end(memory, 30)
    asked = Counter(note for shown in model.shown for note in shown)
    assert set(asked.values()) == {1}
    nothing_is_lost(LONG, memory)


def test_halving_what_is_cut_takes_no_longer_than_a_run_may_and_comes_to_an_end(
    memory: Memory, slow: "Callable[..., SlowModel]"
) -> None:
    memory.put(BOXES["a day"])
    model = slow(3, lambda request: says("merge 1 2: Ann", finish="length"))
    asked = 0
    for _run in range(3):
        model.run(memory)
        assert asked < len(model.shown) <= asked + 3
        asked = len(model.shown)
    begins = [shown[0] for shown in model.shown[::3]]
    assert begins == sorted(set(begins), key=model.shown[0].index) and len(begins) == 3


@pytest.mark.parametrize("log", ["no day", "a day"])
def test_a_reflection_that_a_model_stopped_is_not_taken_for_a_finished_one(memory: Memory, log: str) -> None:
    memory.put(BOXES[log])
    with fake_model.FakeModel(fails(503, "overloaded")) as server:
        memory.model(server)
        assert memory.reflect(**MET).code == 5
    assert memory.state["reflected_at"] == "" and memory.state["reflect_from"] != ""
    with fake_model.FakeModel(lambda request: "UNCHANGED") as server:
        memory.model(server)
        ended = memory.reflect(now=at("15:00"), **MET)
    assert ended.code == 0 and ended.result["questions"] == len(server.requests) > 4
    assert memory.state["reflected_at"] == "2026-11-30T15:00:00Z" and memory.state["reflect_from"] == ""


def test_an_error_midway_leaves_a_brief_of_what_was_done_and_the_place_to_go_on(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.put(LONG)
    shown: "list[str]" = []
    real = os.write

    def write(descriptor: int, data: Any) -> int:
        if len(shown) == 3 and bytes(data).startswith(b"## OBS-"):  # what goes into the archive
            raise OSError(ENOSPC, "No space left on device")
        return real(descriptor, data)

    def answer(request: fake_model.Request) -> Any:
        shown.append(notes_in(request.prompt)[0][2])
        return diligent(request)

    monkeypatch.setattr(os, "write", write)
    with fake_model.FakeModel(answer) as server:
        memory.model(server)
        ended = memory.reflect(**MET)
        assert (ended.code, ended.result["error"]["code"], len(shown)) == (1, "storage", 3)
        log = (memory.memory / "observations.md").read_bytes()
        assert memory.raw != LONG and memory.state["brief_of"] == hashlib.sha256(log).hexdigest()
        assert memory.brief == render_brief(parse_log(memory.raw))
        assert memory.state["reflected_at"] == ""
        monkeypatch.undo()
        again = memory.reflect(now=at("10:00"), **MET)
    assert (again.code, again.result["replayed"]) == (0, 1)
    assert shown[3] not in (shown[0], shown[1])
    nothing_is_lost(LONG, memory)


def test_a_result_that_does_not_account_for_every_line_is_refused(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.put(SHORT)
    real = reflected.rewritten

    def forgetful(text: str, *more: Any) -> str:
        return real(text, *more).replace("A remark of mine, number 7,", "")

    monkeypatch.setattr(reflected, "rewritten", forgetful)
    ended = memory.reflect("--force")
    assert (ended.code, ended.result["error"]["code"]) == (6, "refused")
    assert memory.raw == SHORT and memory.archived() == []


def test_provider_none_asks_nobody(memory: Memory, reflecting: fake_model.FakeModel) -> None:
    memory.put(SHORT)
    ended = memory.reflect("--force", "--provider", "none")
    assert (ended.result["reason"], reflecting.requests) == ("reflected", [])


# While the model is asked --------------------------------------------------------------------------------------------

SHOPS = (
    "Date: 2026-10-01\n\n"
    "- 🟡 09:00 Anna runs the bakery at the harbour <!-- dc:type=fact dc:importance=4 dc:id=OBS-20261001-001 -->\n"
    "- 🟡 09:05 The bakery that Anna runs opens at 7 <!-- dc:type=fact dc:importance=4 dc:id=OBS-20261001-002 -->\n"
    "- 🟡 09:10 Rent for the boat is 900 euros <!-- dc:type=fact dc:importance=4 dc:id=OBS-20261001-003 -->\n"
    "- 🟡 09:15 Rent for the boat is 900 euros, 950 with heating "
    "<!-- dc:type=fact dc:importance=4 dc:id=OBS-20261001-004 -->\n"
)
ANSWER = "merge 1 2: Anna runs the bakery at the harbour that opens at 7\ndrop 3 by 4"
MERGED = (
    "- 🟡 09:05 Anna runs the bakery at the harbour that opens at 7 "
    "<!-- dc:type=fact dc:importance=4 dc:date=2026-10-01 dc:id=OBS-20261001-005 -->"
)


def while_asked(memory: Memory, change: "Callable[[str], str]") -> "dict[str, Any]":
    """Reflect on the shops; while the model thinks, somebody changes the log."""
    memory.put(SHOPS)

    answering = fake_model.meanwhile(lambda: memory.put(change(memory.raw)), ANSWER)
    with fake_model.FakeModel(answering) as server:
        memory.model(server)
        ended = memory.call_reflector("--force")
    assert ended.code == 0
    return ended.result


def test_the_log_the_archive_and_the_ledger_say_what_became_of_each_line(memory: Memory) -> None:
    while_asked(memory, lambda log: log)
    lines = SHOPS.splitlines()
    assert memory.raw == "\n".join([*lines[:2], MERGED, lines[5], ""])
    assert [(item.id, item.raw, item.date, item.reason, item.into) for item in memory.archived()] == [
        ("OBS-20261001-001", lines[2], "2026-10-01", "merged", "OBS-20261001-005"),
        ("OBS-20261001-002", lines[3], "2026-10-01", "merged", "OBS-20261001-005"),
        ("OBS-20261001-003", lines[4], "2026-10-01", "superseded", "OBS-20261001-004"),
    ]
    (born,) = memory.ledger("observed")
    assert (born["id"], born["from_ids"], born["by"], born["trigger"]) == (
        "OBS-20261001-005",
        ["OBS-20261001-001", "OBS-20261001-002"],
        "test/model",
        "reflection",
    )
    assert [(row["id"], row["into"], row["why"]) for row in memory.ledger("merged")] == [
        ("OBS-20261001-001", "OBS-20261001-005", "merged"),
        ("OBS-20261001-002", "OBS-20261001-005", "merged"),
        ("OBS-20261001-003", "OBS-20261001-004", "superseded"),
    ]
    assert memory.state["highest"] == {"2026-10-01": 5}


def test_lines_that_arrive_meanwhile_stay(memory: Memory) -> None:
    while_asked(
        memory,
        lambda log: (
            log + "\nDate: 2026-11-30\n\n- 🟢 Said hello\n- 🟡 A twin <!-- dc:id=OBS-20261001-005 -->\n"
        ),
    )
    assert "- 🟢 Said hello\n" in memory.raw and "- 🟡 A twin <!-- dc:id=OBS-20261001-005 -->\n" in memory.raw
    assert MERGED.replace("-005", "-006") in memory.raw


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("opens at 7", "opens at 8"),
        ("- 🟡 09:05 The bakery", "- 🔴 09:05 The bakery"),
        (
            "dc:importance=4 dc:id=OBS-20261001-002 -->",
            "dc:importance=4 dc:id=OBS-20261001-002 -->\n  - says her brother",
        ),
        (SHOPS.splitlines()[3] + "\n", ""),
    ],
)
def test_what_a_person_edits_or_removes_meanwhile_is_left_as_they_want_it(
    memory: Memory, old: str, new: str
) -> None:
    told = while_asked(memory, lambda log: log.replace(old, new))
    # The merge falls out: its line would bring back what was changed. The drop is carried out.
    expected = SHOPS.replace(old, new).replace(SHOPS.splitlines()[4] + "\n", "")
    assert memory.raw == expected
    assert (told["written"], told["merged"]) == (0, 1)
    assert [item.id for item in memory.archived()] == ["OBS-20261001-003"]


def test_a_line_stays_when_the_one_that_stands_for_it_was_removed_meanwhile(memory: Memory) -> None:
    while_asked(memory, lambda log: log.replace(SHOPS.splitlines()[5] + "\n", ""))
    assert "Rent for the boat is 900 euros" in memory.raw


def test_a_log_that_is_emptied_meanwhile_stays_empty(memory: Memory) -> None:
    while_asked(memory, lambda log: "")
    assert memory.raw == "" and memory.archived() == []


def test_the_same_words_under_another_date_are_another_line(memory: Memory) -> None:
    memory.put("Date: 2026-09-01\n\n- 🟢 Said hello\n\nDate: 2026-11-30\n\n- 🟢 Said hello\n")
    memory.reflect("--force")
    assert memory.raw == "\nDate: 2026-11-30\n\n- 🟢 Said hello\n".lstrip("\n")
    assert [item.date for item in memory.archived()] == ["2026-09-01"]


# Where it is written -------------------------------------------------------------------------------------------------


def test_ten_backups_are_kept_and_no_other_file_is_touched(memory: Memory) -> None:
    folder = memory.memory / "observation-backups"
    folder.mkdir(parents=True)
    for number in range(12):
        (folder / f"observations-202610{number + 1:02d}-120000.md.bak").write_text(str(number))
    mine = ["observations-20260101-120000.md", "observations-mine.md.bak", "observations-2026-120000.md.bak"]
    for name in mine:
        (folder / name).write_text("mine")
    memory.put("Date: 2026-09-01\n\n- 🟢 Said hello\n")
    memory.reflect("--force")
    kept = [path.name for path in memory.backups()]
    assert set(mine) <= set(kept) and len(kept) == 13
    assert "observations-20261003-120000.md.bak" not in kept and "observations-20261004-120000.md.bak" in kept


def test_the_copy_just_made_is_kept_whatever_the_others_are_called(memory: Memory) -> None:
    folder = memory.memory / "observation-backups"
    folder.mkdir(parents=True)
    # The clock was an hour ahead, and was set back: ten copies bear later names. The first of them is the last made.
    for number in range(10):
        path = folder / f"observations-20261130-10{number:02d}00.md.bak"
        path.write_text(str(number))
        os.utime(path, (2_000_000_000 - number, 2_000_000_000 - number))
    memory.put("Date: 2026-09-01\n\n- 🟢 Said hello\n")
    ended = memory.reflect("--force")
    kept = [path.name for path in memory.backups()]
    assert Path(ended.result["backup"]).read_text() == "Date: 2026-09-01\n\n- 🟢 Said hello\n"
    assert kept == ["observations-20261130-090000.md.bak"] + [
        f"observations-20261130-10{number:02d}00.md.bak" for number in range(9)
    ]


def test_a_backup_of_the_same_second_is_not_written_over(memory: Memory) -> None:
    memory.put("Date: 2026-09-01\n\n- 🟢 Said hello\n")
    memory.reflect("--force")
    memory.put("Date: 2026-09-02\n\n- 🟢 Said hello to Ana\n")
    memory.reflect("--force")
    assert [path.read_text() for path in memory.backups()] == [
        "Date: 2026-09-01\n\n- 🟢 Said hello\n",
        "Date: 2026-09-02\n\n- 🟢 Said hello to Ana\n",
    ]
    assert len(memory.archived()) == 2


def test_files_are_private_and_nothing_but_the_archive_ends_in_md(memory: Memory) -> None:
    memory.put(SHORT)
    memory.reflect("--force")
    found = [path for path in memory.memory.rglob("*") if path.name != "observations.md"]
    for path in found:
        assert path.stat().st_mode & 0o077 == 0, path
    ends = {path.relative_to(memory.memory).as_posix() for path in found if path.suffix == ".md"}
    assert ends == {"archive/reflections/2026-11-30.md"}


def test_ids_of_what_left_are_not_given_again(memory: Memory) -> None:
    memory.put("Date: 2026-09-01\n\n- 🟢 Said hello\n")
    memory.reflect("--force")
    (memory.memory / ".total-recall" / "state.json").unlink()
    memory.put("Date: 2026-09-01\n\n- 🟢 Said good-bye\n")
    memory.reflect("--force")
    assert [item.id for item in memory.archived()] == ["OBS-20260901-001", "OBS-20260901-002"]


def test_a_full_disk_changes_nothing_and_says_so(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.put(SHORT)
    real = os.write

    def full(descriptor: int, data: Any) -> int:
        path = os.readlink(f"/proc/self/fd/{descriptor}") if Path("/proc").exists() else "reflections"
        if "reflections" in path:
            raise OSError(28, "No space left on device")
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", full)
    ended = memory.reflect("--force")
    assert (ended.code, ended.result["error"]["code"]) == (1, "storage")
    assert memory.raw == SHORT
    monkeypatch.undo()
    assert memory.reflect("--force").result["replayed"] == 1
    nothing_is_lost(SHORT, memory)


@pytest.mark.parametrize("when", [signal.SIGKILL, signal.SIGTERM])
def test_a_reflector_that_is_stopped_while_it_asks_leaves_nothing_behind(memory: Memory, when: int) -> None:
    memory.put(SHORT)
    hanging = fake_model.Reply(then="hang")
    with fake_model.FakeModel(lambda request: hanging) as server:
        memory.model(server)
        process = memory.begin("--force")
        until(lambda: server.requests, "the question")
        process.send_signal(when)
        out, _err = process.communicate(timeout=20)
    assert process.returncode == (130 if when == signal.SIGTERM else -when)
    assert not out or json.loads(out)["error"]["code"] == "interrupted"
    with fake_model.FakeModel(diligent) as server:
        memory.model(server)
        assert memory.reflect("--force").code == 0
    nothing_is_lost(SHORT, memory)


# By the observer -----------------------------------------------------------------------------------------------------


def test_the_observer_starts_it_over_the_threshold_and_memory_really_shrinks(memory: Memory) -> None:
    memory.put(SHORT)
    store = memory.jsonl()
    store.start(SID, at=at("08:50"))
    store.user(SID, "My sister's wedding is on 14 June 2027 in Porto.", at=at("08:51"))
    memory.environ.update(MET)
    with memory.start(now=NOW) as process:
        out, _err = process.communicate(timeout=60)
    told = json.loads(out)
    assert (process.returncode, told["reflector"]) == (0, "ok")
    assert count_words(memory.raw) < 0.8 * told["words"]
    assert "wedding" in memory.raw and "wedding" in memory.brief
    assert len(memory.archived()) > 20
    assert len(memory.backups()) == 1


def test_what_a_killed_reflector_had_begun_the_observer_completes(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = memory.jsonl()
    store.start(SID, at=at("08:30"))
    store.user(SID, "My daughter Lea starts school on 24 August 2027.", at=at("08:31"))
    memory.run(now=at("08:35"))
    memory.put(memory.raw + SHORT)
    before = memory.raw

    def killed(*_: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr("_state.reflected.append_rows", killed)
        with pytest.raises(SystemExit):
            memory.reflect("--force")
    assert (memory.memory / ".total-recall" / "journal.json").exists()
    store.user(SID, "From now on never book flights before 9 in the morning.", at=at("08:50"))
    assert memory.run(now=NOW).result["replayed"] == 1
    assert "flights" in memory.raw
    log = memory.raw[: memory.raw.index("flights")].rsplit("\n- ", 1)[0]
    assert before.count("Lea") == log.count("Lea") == 1
    rows = {row["id"] for kind in ("merged", "archived") for row in memory.ledger(kind)}
    assert rows == {item.id for item in memory.archived()} and len(rows) == len(memory.archived()) > 20


# What is on disk -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("waiting", "stays"), [("OBS-20261001-001", True), ("OBS-20261001-002", False)])
def test_a_line_is_provisional_while_the_state_says_so_whatever_it_calls_itself(
    memory: Memory, waiting: str, stays: bool
) -> None:
    one = "- 🟢 09:00 Had soup <!-- dc:type=context dc:importance=1 dc:date=2026-10-01 dc:source=provisional dc:id="
    memory.put(one + "OBS-20261001-001 -->\n")
    places = Places(memory.memory / "observations.md", memory.memory / ".total-recall")
    private_folder(places.private)
    save_state(places, State(provisional={waiting: Provisional("", ("uid",))}))
    assert memory.reflect("--force").code == 0
    assert ("Had soup" in memory.raw) == stays


@pytest.mark.parametrize(
    "name", ["../../../../x.md", "/nowhere/x.md", "2026-11-30.md/../../x.md", "notes.md", 7]
)
def test_a_journal_that_names_another_file_than_a_days_is_damaged(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, name: object
) -> None:
    memory.put("- 🟢 09:00 Had soup <!-- dc:type=context dc:importance=1 dc:date=2026-10-01 -->\n")

    def killed(*_: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr("_state.reflected.append_block", killed)
        with pytest.raises(SystemExit):
            memory.reflect("--force")
    journal = memory.memory / ".total-recall" / "journal.json"
    planted = json.loads(journal.read_text())
    assert planted["archive"]["file"] == "2026-11-30.md"
    planted["archive"]["file"] = name
    journal.write_text(json.dumps(planted))
    before = bytes_of(memory)
    ended = memory.reflect("--force")
    assert (ended.code, ended.result["error"]["code"]) == (1, "storage")
    assert {path: data for path, data in bytes_of(memory).items() if path in before} == before
    assert not [*memory.folder.parent.parent.rglob("x.md"), *memory.folder.rglob("notes.md")]


# Anything at all -----------------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    (
        "Date: 2026-09-01",
        "Date: 2026-10-01",
        "## 2026-11-29",
        "# A heading",
        "",
        "  ",
        "A remark of mine, \udcff",
        "- bare",
        "- 🟢 Said hello to Ana",
        "- 🟢 Said hello to Ana\r",
        "- 🟢 Said hello to Ana <!-- dc:type=event dc:importance=1 dc:date=2026-10-02 dc:id=OBS-20261002-001 -->",
        "  - a child",
        "<!-- dc:type=fact dc:importance=2 -->",
        "- 🟡 The cat is called Miso <!-- dc:type=fact dc:importance=4 dc:date=2026-10-02 dc:id=OBS-20261002-003 -->",
        "- 🟡 The cat is called Miso and sleeps <!-- dc:type=fact dc:importance=4 dc:date=2026-10-03 -->",
        "- 🔴 09:00 Never call <!-- dc:type=rule dc:importance=9 dc:date=2026-10-02 -->",
        "- 🟡 Dentist tomorrow <!-- dc:type=event dc:importance=4 dc:date=2026-10-02 -->",
        "- 🟡 Tea <!-- dc:type=fact dc:importance=2 dc:source=provisional dc:id=OBS-20261002-009 -->",
        "- **Trip**: off (2026-09-01). [ref: archive/observations/2026-09-01.md#OBS-20260901-001]",
        "```",
        "## OBS-20261002-001",
    )
)
CHANGES = st.sampled_from(
    (
        "drop 1",
        "drop 2 by 3",
        "drop 1 by 4",
        "merge 1 2: The cat is called Miso and sleeps",
        "merge 2 3: Miso sleeps",
    )
)


def lines_that_say_something(*texts: str) -> "Counter[str]":
    """How often each line stands in some texts, but for blank lines and date lines."""
    lines = [line for text in texts for line in text.split("\n")]
    return Counter(line for line in lines if line.strip() and parse_log(line)[0].kind != "date")


@settings(max_examples=120)
@example("```\nDate: 2026-09-01\n- 🟢 Said hello to Ana", "", "```")
@example("```\nDate: 2026-09-01\n- bare\n- bare\n- 🟢 Said hello to Ana", "", "```")
@given(
    st.lists(PIECES, max_size=14).map("\n".join),
    st.lists(CHANGES, max_size=3).map("\n".join),
    st.lists(PIECES, max_size=2).map("\n".join),
)
def test_every_line_of_any_log_is_kept_or_archived_whatever_is_answered(
    tmp_path_factory: pytest.TempPathFactory, log: str, answer: str, late: str
) -> None:
    memory = Memory(tmp_path_factory.mktemp("any"))
    memory.put(log)
    places = Places(memory.memory / "observations.md", memory.memory / ".total-recall")
    private_folder(places.private)
    items, before = read_items(log, NOW, timezone.utc), parse_log(log)
    now = "2026-11-30T09:00:00Z"
    by_rule = steps_by_rule(items, timezone.utc)
    asked = judge_proposals(read_changes(answer, len(items))[0], items, "test/model").steps
    commit_reflection(places, Reflection(now, "2026-11-30", by_rule))
    if late:
        late = "Date: 2026-11-30\n\n" + late
        log += "\n" + late
        memory.put(memory.raw + "\n" + late)
    commit_reflection(places, Reflection(now, "2026-11-30", asked))
    if parse_log(log)[: len(before)] == before:
        nothing_is_lost(log, memory)
    else:  # a fence that came late has made text of what was notes when they left
        assert not lines_that_say_something(log) - lines_that_say_something(
            memory.raw, *(item.raw for item in memory.archived())
        )
    assert all(item.entry.raw in memory.raw for item in items if item.protected in ("provisional", "high"))
