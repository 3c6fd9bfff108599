"""What is kept between runs: a commit is carried out once, wherever it was cut short."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _archive import read_archived
from _errors import BusyError, StorageError
from _files import private_folder
from _ledger import append_rows, covered_uids, is_observation_id, read_ledger, row_in
from _observations import Entry, Observation, is_bare_day, is_date, next_ids, parse_line, parse_log
from _state import (
    Addition,
    Commit,
    Filing,
    Places,
    Provisional,
    Reflection,
    State,
    Step,
    begin,
    commit,
    commit_reflection,
    cursors_of,
    file_away,
    is_unedited,
    key_of,
    last_good_run,
    load_calls,
    load_state,
    redrafted,
    replay,
    save_calls,
    save_state,
)
from _transcripts import Cursors
from _transcripts.message import Cursor

AT = "2026-11-30T09:10:00Z"
HEAD = (
    "# Observations Log\n\n"
    "Written by Total Recall. Edit freely: lines of any other shape are kept as they are.\n\n---\n"
)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return made(tmp_path)


def made(folder: Path) -> Places:
    """A memory in which observing began."""
    found = Places(folder / "observations.md", folder / ".total-recall")
    begin(found, State(since_ms=1000), AT)
    return found


def addition(text: str, uid: str = "u1", day: str = "2026-11-30") -> Addition:
    return Addition(Observation(text, date=day, time="09:01"), {"from": [uid], "date": day, "by": "test"})


def change(base: State, *additions: Addition, position: int = 100, provisional: bool = False) -> Commit:
    """A commit that moves the cursor of session s1 and covers the messages that its lines came of."""
    kind = "provisional" if provisional else "final"
    cursor = Cursor("jsonl", "s1", position, since_ms=1000)
    covered = {} if provisional else {"s1": tuple(uid for row in additions for uid in row.origin["from"])}
    expected = {cursor.key: cursors_of(base, kind).get(cursor.key)}
    return Commit(AT, tuple(additions), covered, {cursor.key: cursor}, expected, kind)


def log_of(places: Places) -> str:
    return places.observations.read_text(encoding="utf-8")


def bytes_of(places: Places) -> "dict[str, bytes]":
    """The files that a commit writes; the copy put aside before a rewrite is not among them."""
    files = (path for path in places.observations.parent.rglob("*") if path.is_file())
    return {path.name: path.read_bytes() for path in files if path.name != "observations.before-rewrite"}


# Commits -------------------------------------------------------------------------------------------------------------


def test_a_commit_leaves_the_lines_the_ledger_and_the_cursor(places: Places) -> None:
    ids = commit(places, change(load_state(places), addition("Likes tea"), addition("Has a boat", "u2")))
    assert ids == ("OBS-20261130-001", "OBS-20261130-002")
    assert log_of(places) == (
        HEAD + "\nDate: 2026-11-30\n\n"
        "- 🟡 09:01 Likes tea <!-- dc:type=fact dc:importance=5 dc:date=2026-11-30 dc:id=OBS-20261130-001 -->\n"
        "- 🟡 09:01 Has a boat <!-- dc:type=fact dc:importance=5 dc:date=2026-11-30 dc:id=OBS-20261130-002 -->\n"
    )
    assert covered_uids(places.ledger) == {"s1": {"u1", "u2"}}
    assert load_state(places).cursors["jsonl:s1"].position == 100
    assert load_state(places).highest == {"2026-11-30": 2}
    assert not places.journal.exists()
    assert replay(places) is False


def test_ids_go_on_where_they_were_also_after_a_line_has_gone(places: Places) -> None:
    commit(places, change(load_state(places), addition("Likes tea"), addition("Has a boat", "u2")))
    places.observations.write_text("", encoding="utf-8")
    ids = commit(places, change(load_state(places), addition("Has a cat", "u3"), position=200))
    assert ids == ("OBS-20261130-003",)
    places.state.unlink()
    ids = commit(places, change(load_state(places), addition("Has a dog", "u4"), position=300))
    assert ids == ("OBS-20261130-004",)


def test_an_answer_that_came_too_late_is_refused(places: Places) -> None:
    base = load_state(places)
    commit(places, change(base, addition("Likes tea")))
    before = bytes_of(places)
    with pytest.raises(BusyError, match="another run observed the same messages first"):
        commit(places, change(base, addition("Likes tea, it seems")))
    assert bytes_of(places) == before


def test_a_commit_without_lines_moves_the_cursor_and_makes_no_log(places: Places) -> None:
    assert commit(places, change(load_state(places))) == ()
    assert load_state(places).cursors["jsonl:s1"].position == 100
    assert not places.observations.exists()


def test_provisional_lines_go_when_the_answer_comes(places: Places) -> None:
    base = load_state(places)
    commit(places, change(base, addition("Tea, provisionally"), addition("A boat", "u2"), provisional=True))
    waiting = load_state(places)
    assert {name: found.uids for name, found in waiting.provisional.items()} == {
        "OBS-20261130-001": ("u1",),
        "OBS-20261130-002": ("u2",),
    }
    with open(places.observations, "ab") as file:
        file.write(b"A line of mine, half \xff written")
    commit(places, change(waiting, addition("Likes tea"), position=200))
    text = places.observations.read_bytes()
    assert b"provisionally" not in text
    assert b"A line of mine, half \xff written\n" in text
    assert text.count(b"Likes tea") == 1 and text.count(b"A boat") == 1
    assert [row["id"] for row in read_ledger(places.ledger, "removed")] == ["OBS-20261130-001"]
    assert set(load_state(places).provisional) == {"OBS-20261130-002"}


def test_a_provisional_line_that_a_person_has_edited_stays(places: Places) -> None:
    commit(places, change(load_state(places), addition("Tea"), provisional=True))
    places.observations.write_text(log_of(places).replace("Tea", "Green tea"), encoding="utf-8")
    commit(
        places,
        change(load_state(places), addition("Likes tea"), position=200),
    )
    assert "Green tea" in log_of(places) and "Likes tea" in log_of(places)
    assert load_state(places).provisional == {}


def test_what_a_person_adds_between_our_read_and_our_write_stays(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(places, change(load_state(places), addition("Tea"), provisional=True))
    real, told = os.replace, []

    def replace_late(source: Any, target: Any) -> None:
        if os.fspath(target).endswith("observations.md"):
            told.append(f"mine {len(told)}")
            with open(target, "a", encoding="utf-8") as file:
                file.write(told[-1] + "\n")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace_late)
    commit(
        places,
        change(load_state(places), addition("Likes tea"), position=200),
    )
    assert told and all(log_of(places).count(line + "\n") == 1 for line in told)
    assert log_of(places).count("Likes tea") == 1 and " Tea " not in log_of(places)


def test_an_editor_that_saves_between_our_read_and_our_write_is_not_written_over(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(places, change(load_state(places), addition("Tea"), provisional=True))
    real, saved = os.fchmod, []

    def edit_first(descriptor: int, mode: int) -> None:
        real(descriptor, mode)
        beside = places.observations.with_suffix(".swp")
        if os.fstat(descriptor).st_size and not saved and beside.parent.exists():
            text = log_of(places).replace("# Observations Log", "# My log")
            if "Tea" in text:
                saved.append(text)
                beside.write_text(text, encoding="utf-8")
                beside.rename(places.observations)

    monkeypatch.setattr(os, "fchmod", edit_first)
    commit(
        places,
        change(load_state(places), addition("Likes tea"), position=200),
    )
    assert saved
    assert log_of(places).startswith("# My log\n")
    assert log_of(places).count("Likes tea") == 1 and " Tea " not in log_of(places)


# Cut short -----------------------------------------------------------------------------------------------------------


class Cut(BaseException):
    """The power goes."""


CALLS = ("open", "write", "fsync", "replace", "unlink", "truncate")


def cut_at(patch: pytest.MonkeyPatch, number: int, half: bool) -> "list[str]":
    """Have the nth system call not happen (`half`: of a write, only half of it), nor any after it."""
    made_calls: "list[str]" = []

    def wrap(name: str) -> None:
        real = getattr(os, name)

        def call(*args: Any, **named: Any) -> Any:
            made_calls.append(name)
            if len(made_calls) == number and half and name == "write":
                real(args[0], bytes(args[1])[: len(args[1]) // 2])
            if len(made_calls) >= number:
                raise Cut
            return real(*args, **named)

        patch.setattr(os, name, call)

    for name in CALLS:
        wrap(name)
    return made_calls


def prepared(folder: Path) -> "tuple[Places, Commit]":
    """A memory with a provisional line, and the commit that replaces it and adds two."""
    places = made(folder)
    commit(places, change(load_state(places), addition("Tea"), provisional=True))
    new = addition("Likes tea"), addition("Größe 44 🎈", "u2", "2026-12-01")
    return places, change(load_state(places), *new, position=200)


def appending(folder: Path) -> "tuple[Places, Commit]":
    """A memory with a line, and a commit that adds two."""
    places = made(folder)
    commit(places, change(load_state(places), addition("Tea")))
    new = addition("Likes tea", "u2"), addition("Größe 44 🎈", "u3", "2026-12-01")
    return places, change(load_state(places), *new, position=200)


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("prepare", [prepared, appending])
def test_a_commit_cut_at_any_call_is_finished_once(tmp_path: Path, prepare: Any, half: bool) -> None:
    places, wanted = prepare(tmp_path / "whole")
    untouched = bytes_of(places)
    with pytest.MonkeyPatch.context() as patch:
        calls = cut_at(patch, 10_000, half)
        commit(places, wanted)
    whole = bytes_of(places)
    assert len(calls) > 15
    taken_up = 0
    for number in range(1, len(calls) + 1):
        places, wanted = prepare(tmp_path / str(number))
        with pytest.MonkeyPatch.context() as patch:
            cut_at(patch, number, half)
            with pytest.raises(Cut):
                commit(places, wanted)
        taken_up += places.journal.exists()
        for again in (2, 5, 9):  # the replay is cut short as well, each time a little later
            with pytest.MonkeyPatch.context() as patch, contextlib.suppress(Cut):
                cut_at(patch, again, half)
                replay(places)
        replay(places)
        found = {name: data for name, data in bytes_of(places).items() if "tmp" not in name}
        assert found in (untouched, whole), f"cut at call {number} ({calls[number - 1]})"
        if found == untouched:
            commit(places, wanted)
            assert {n: d for n, d in bytes_of(places).items() if "tmp" not in n} == whole
        assert replay(places) is False
    assert taken_up > 8


def test_replaying_a_finished_commit_changes_nothing(places: Places) -> None:
    commit(places, change(load_state(places), addition("Tea")))
    kept: "list[bytes]" = []
    with pytest.MonkeyPatch.context() as patch:
        real = os.unlink

        def keep(path: Any) -> None:
            if os.fspath(path).endswith("journal.json"):
                kept.append(places.journal.read_bytes())
            real(path)

        patch.setattr(os, "unlink", keep)
        commit(places, change(load_state(places), addition("Likes tea", "u2"), position=200))
    before = bytes_of(places)
    for _time in range(3):
        places.journal.write_bytes(kept[0])
        assert replay(places) is True
        assert bytes_of(places) == before


def test_what_a_person_writes_after_a_crash_stays(places: Places) -> None:
    wanted = change(load_state(places), addition("Tea"))
    with pytest.MonkeyPatch.context() as patch:

        def die(*_args: Any, **_named: Any) -> None:
            raise Cut

        patch.setattr(os, "unlink", die)
        with pytest.raises(Cut):
            commit(places, wanted)
    with open(places.observations, "a", encoding="utf-8") as file:
        file.write("mine\n")
    assert replay(places) is True
    assert log_of(places).endswith("-->\nmine\n") and log_of(places).count("Tea") == 1


def test_a_damaged_journal_is_refused_before_anything_is_done(places: Places) -> None:
    line = "- 🟡 Tea <!-- dc:type=fact dc:id=OBS-20261130-001 -->"
    journal = {"lines": [line], "removed": {}, "before": {"size": 0, "sha256": ""}, "rows": [], "state": []}
    places.journal.write_text(json.dumps(journal), encoding="utf-8")
    with pytest.raises(StorageError, match="journal.json is damaged"):
        replay(places)
    assert not places.observations.exists()


# State, ledger, calls ------------------------------------------------------------------------------------------------

NAMES = st.text(st.characters(exclude_categories=()), max_size=12)
CURSORS = st.builds(
    Cursor,
    st.sampled_from(["jsonl", "sqlite"]),
    NAMES,
    st.integers(-1, 2**60),
    NAMES,
    st.integers(0, 10**6),
    NAMES,
    st.booleans(),
    st.integers(0, 2**53),
)
BY_KEY = st.lists(CURSORS, max_size=3).map(lambda found: {cursor.key: cursor for cursor in found})
STATES = st.builds(
    State,
    st.integers(0, 2**53),
    BY_KEY,
    BY_KEY,
    st.integers(-1, 2**53),
    st.dictionaries(NAMES, st.builds(Provisional, NAMES, st.lists(NAMES, max_size=3).map(tuple)), max_size=2),
    BY_KEY,
    st.dictionaries(NAMES, st.integers(0, 9999), max_size=2),
    st.dictionaries(NAMES, st.integers(0, 9), max_size=2),
    st.integers(0, 99),
    NAMES,
    NAMES,
    NAMES,
)


@given(STATES)
def test_a_state_comes_back_as_it_was_written(state: State) -> None:
    assert State.from_json(json.loads(json.dumps(state.as_json()).encode())) == state


@given(STATES)
@settings(max_examples=20)
def test_a_state_comes_back_from_disk(tmp_path_factory: pytest.TempPathFactory, state: State) -> None:
    places = Places(Path("unused"), tmp_path_factory.mktemp("state"))
    save_state(places, state)
    assert load_state(places) == state


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from([*State().as_json(), "other"])


@given(st.binary(max_size=30) | st.dictionaries(FIELDS, ANYTHING).map(lambda data: json.dumps(data).encode()))
@settings(max_examples=60)
def test_no_content_of_the_state_file_stops_a_run(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    places = Places(Path("unused"), tmp_path_factory.mktemp("state"))
    places.state.write_bytes(content)
    state = load_state(places)
    save_state(places, state._replace(since_ms=7))
    assert load_state(places).since_ms == 7


def test_a_damaged_cursor_counts_as_none() -> None:
    good = Cursor("sqlite", "b", 2, "y", generation="g")
    found = Cursors({"sqlite:a": "1 id=x gen=y junk", good.key: good.as_row()})
    assert not found.unchanged("sqlite:a", 1, "y") and found.unchanged("sqlite:b", 2, "g")
    assert found.get("sqlite:a") is None
    assert found == Cursors(dict(found.rows)) and found != {good.key: good} and found != {"sqlite:a": 1}
    assert Cursors({good.key: good.as_row()}) == {good.key: good}


def test_a_lost_state_begins_where_the_ledger_says(places: Places) -> None:
    commit(places, change(load_state(places), addition("Tea")))
    places.state.write_bytes(b"{")
    found = load_state(places)
    assert (found.since_ms, found.cursors, found.highest) == (1000, {}, {"2026-11-30": 1})
    save_state(places, found)
    assert places.private.joinpath("state.damaged").read_bytes() == b"{"


def test_an_unchanged_state_is_not_written_again(places: Places) -> None:
    before = places.state.stat().st_mtime_ns, places.state.stat().st_ino
    save_state(places, load_state(places))
    assert (places.state.stat().st_mtime_ns, places.state.stat().st_ino) == before


@pytest.mark.parametrize(
    ("mark", "known", "minute"),
    [
        (b"1796029500\n", "2026-11-30T09:10:00Z", 5),  # 09:05 in seconds since 1970
        (None, "2026-11-30T09:10:00Z", 10),
        (b"", "2026-11-30T09:10:00Z", 10),
        (b"soon", "2026-11-30T09:10:00Z", 10),
        (b"9" * 30, "2026-11-30T09:10:00Z", 10),
        (None, "", None),
        (None, "yesterday", None),
    ],
)
def test_the_last_good_run_is_told_by_the_mark_or_else_by_the_state(
    places: Places, mark: "bytes | None", known: str, minute: "int | None"
) -> None:
    if mark is not None:
        places.observations.with_name(".observer-last-run").write_bytes(mark)
    expected = None if minute is None else datetime(2026, 11, 30, 9, minute, tzinfo=timezone.utc)
    assert last_good_run(places, State(last_good_run=known)) == expected


def test_the_ledger_is_read_by_kind_and_damaged_lines_are_passed_over(places: Places) -> None:
    with open(places.ledger, "ab") as file:
        file.write(
            b'{"e":"covered","uids":["a","b"]}\n\xff\n{"e":"covered"\n[]\n{"e":"covered","uids":null}\n'
        )
        file.write(b'{"e":"covered","uids":["c"]}')
    assert covered_uids(places.ledger) == {"None": {"a", "b", "c"}}
    assert [row["e"] for row in read_ledger(places.ledger)] == ["installed", "covered", "covered"]


def test_a_half_written_end_of_the_ledger_is_cut_before_more_is_written(places: Places) -> None:
    with open(places.ledger, "ab") as file:
        file.write(b'{"e":"observed","id":"OBS-2026')
    commit(places, change(load_state(places), addition("Tea")))
    rows = [json.loads(line) for line in places.ledger.read_bytes().splitlines()]
    assert [row["e"] for row in rows] == ["installed", "observed", "covered"]


def test_a_last_row_that_only_lacks_its_newline_stays(places: Places) -> None:
    commit(places, change(load_state(places), addition("Tea")))
    whole = places.ledger.read_bytes()
    places.ledger.write_bytes(whole[:-1])
    commit(places, change(load_state(places), addition("A boat", "u2"), position=200))
    assert places.ledger.read_bytes().startswith(whole)
    assert [row["e"] for row in read_ledger(places.ledger)] == ["installed"] + ["observed", "covered"] * 2


def test_a_last_row_that_was_written_but_for_its_newline_is_not_written_again(tmp_path: Path) -> None:
    rows = [{"e": "forgotten", "at": AT, "id": f"OBS-20261130-00{number}"} for number in (1, 2)]
    ledger = tmp_path / "ledger.jsonl"
    append_rows(ledger, rows)
    whole = ledger.read_bytes()
    for size in range(len(whole) + 1):
        ledger.write_bytes(whole[:size])
        append_rows(ledger, rows)
        assert ledger.read_bytes() == whole


def test_a_last_row_of_any_length_is_kept_or_cut_as_a_whole(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    long = {"e": "covered", "at": AT, "session": "s", "uids": [f"{number:08x}" for number in range(100_000)]}
    new = {"e": "begun", "at": AT}
    append_rows(ledger, [{"e": "installed", "at": AT, "since_ms": 1}, long])
    whole = ledger.read_bytes()
    ledger.write_bytes(whole[:-1])
    append_rows(ledger, [new])
    assert ledger.read_bytes().startswith(whole) and [row["e"] for row in read_ledger(ledger)][-1] == "begun"
    ledger.write_bytes(whole[:-2])
    append_rows(ledger, [new])
    assert [row["e"] for row in read_ledger(ledger)] == ["installed", "begun"]


def test_a_later_commit_with_the_same_rows_writes_them_again(places: Places) -> None:
    rows = ({"e": "archived", "at": AT, "id": "OBS-20261130-001", "why": "old", "in": "x"},)
    for _time in range(3):
        file_away(places, Filing(rows=rows))
    found = list(read_ledger(places.ledger, "archived"))
    assert len(found) == len({row["commit"] for row in found}) == 3


@pytest.mark.parametrize(
    "row",
    [
        b'{"e":"restored","id":"OBS-20260901-001","at":null}',
        b'{"e":"restored","id":"OBS-20260901-001","at":"2026-99-99"}',
        b'{"e":"restored","id":"OBS-20260901-001","at":"\xd9\xa2026-09-01"}',
        b'{"e":"restored","id":"OBS-20260901-001"}',
        b'{"e":"restored","id":5,"at":"2026-09-01"}',
        b'{"e":"observed","id":"OBS-20260901-001","from":5}',
        b'{"e":"observed","id":"OBS-20260901-001","from":"u1"}',
        b'{"e":"observed","id":"OBS-20260901-001","from_ids":5}',
        b'{"e":"observed","id":"OBS-20260901-001","importance":1e999}',
        b'{"e":"observed","id":"OBS-20260901-001","importance":NaN}',
        b'{"e":"observed","id":"OBS-20260901-001","importance":"high"}',
        b'{"e":"observed","id":"OBS-20260901-001","line":["x"]}',
        b'{"e":"archived","id":"OBS-20260901-001","in":7}',
        b'{"e":"merged","id":"OBS-20260901-001","into":["OBS-20260901-002"]}',
        b'{"e":"covered","session":"s","uids":[1]}',
        b'{"e":"covered","session":["s"],"uids":["a"]}',
        b'{"e":"installed","since_ms":true}',
        b'{"e":["observed"],"id":"OBS-20260901-001"}',
        b'{"e":"","id":"OBS-20260901-001"}',
        b'{"id":"OBS-20260901-001"}',
    ],
)
def test_a_row_that_has_something_else_in_it_than_ours_is_none(places: Places, row: bytes) -> None:
    with open(places.ledger, "ab") as file:
        file.write(row + b"\n")
    assert row_in(row) is None
    assert [one["e"] for one in read_ledger(places.ledger)] == ["installed"]
    places.state.unlink()
    assert load_state(places) == State(since_ms=1000)


@pytest.mark.parametrize(
    "row",
    [
        b'{"e":"observed","at":"2026-09-01T10:00:00Z","id":"OBS-20260901-001","importance":6.5,"from":[],"of_later":1}',
        b'{"e":"restored","at":"","id":"","from":"archive/x.md"}',
        b'{"e":"of a later edition","from":["x"],"at":"2026-09-01"}',
    ],
)
def test_rows_of_other_editions_are_rows(row: bytes) -> None:
    assert row_in(row) == json.loads(row)


def test_an_id_has_no_digits_but_ours(places: Places) -> None:
    wide = "OBS-\uff120261130-007"
    with open(places.ledger, "ab") as file:
        file.write(json.dumps({"e": "observed", "id": wide}).encode() + b"\n")
    assert not is_observation_id(wide) and not is_observation_id("OBS-20261130-001\n")
    assert next_ids("2026-11-30", 1, [wide, "OBS-20261130-001\n"]) == ["OBS-20261130-001"]
    places.state.unlink()
    assert load_state(places).highest == {}
    assert not is_date("\uff12026-11-30")
    (plain,) = [parse_line("- \uff10\uff19:05 Tea <!-- dc:importance=\u0663 -->")]
    assert plain is not None and (plain.time, plain.importance) == ("", 5.0)
    assert [entry.kind for entry in parse_log("Date: \u0662026-11-30")] == ["other"]


def test_names_that_are_no_unicode_go_through_a_commit(places: Places) -> None:
    base = load_state(places)
    wanted = replace(
        change(base, addition("Tea")),
        covered={"caf\udce9": ("u\udce9",)},
        moves={"jsonl:caf\udce9": Cursor("jsonl", "caf\udce9", 10)},
        expected={"jsonl:caf\udce9": None},
    )
    with pytest.MonkeyPatch.context() as patch:

        def die(*_args: Any, **_named: Any) -> None:
            raise Cut

        patch.setattr(os, "unlink", die)
        with pytest.raises(Cut):
            commit(places, wanted)
    assert replay(places) is True
    assert load_state(places).cursors["jsonl:caf\udce9"].position == 10
    assert covered_uids(places.ledger) == {"caf\udce9": {"u\udce9"}}


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 200_000])
def test_damaged_calls_are_none(places: Places, content: bytes) -> None:
    assert load_calls(places) is None
    places.calls.write_bytes(content)
    assert load_calls(places) is None
    save_calls(places, {"calls": 3})
    assert load_calls(places) == {"calls": 3}


def test_a_log_that_is_a_link_stays_one(tmp_path: Path) -> None:
    private_folder(tmp_path / "vault")
    (tmp_path / "vault" / "log.md").write_text("# Mine\n", encoding="utf-8")
    (tmp_path / "observations.md").symlink_to(tmp_path / "vault" / "log.md")
    places, wanted = prepared(tmp_path)
    commit(places, wanted)
    assert places.observations.is_symlink()
    assert (
        (tmp_path / "vault" / "log.md").read_text(encoding="utf-8").startswith("# Mine\n\nDate: 2026-11-30\n")
    )


# Reflections ---------------------------------------------------------------------------------------------------------

TEA = "- 🟡 09:00 Likes tea <!-- dc:type=fact dc:importance=4 dc:date=2026-10-01 dc:id=OBS-20261001-001 -->"
GREEN = "- 🟡 09:05 Likes green tea <!-- dc:type=fact dc:importance=4 dc:date=2026-10-02 dc:id=OBS-20261002-001 -->"
BOAT = "- 🟡 Owns a boat"
TEAS = f"Date: 2026-10-01\n\n{TEA}\n\nDate: 2026-10-02\n\n{GREEN}\n{BOAT}\n"


def entries_of(log: str) -> "dict[str, Entry]":
    return {entry.raw: entry for entry in parse_log(log) if entry.observation}


def reflection(*steps: Step) -> Reflection:
    return Reflection(AT, "2026-11-30", steps, "v1")


def merging(log: str = TEAS) -> Step:
    """The two teas made one line."""
    found = entries_of(log)
    new = Observation("Likes tea, green", date="2026-10-02", time="09:05", importance=4.0)
    return Step((found[TEA], found[GREEN]), "merged", "test/model", new=new)


@pytest.fixture
def teas(places: Places) -> Places:
    places.observations.write_text(TEAS, encoding="utf-8")
    return places


def test_a_new_line_stands_below_the_date_that_it_carries_and_an_emptied_day_goes(teas: Places) -> None:
    assert commit_reflection(teas, reflection(merging())) == {"written": 1, "merged": 2, "archived": 0}
    assert log_of(teas) == (
        "Date: 2026-10-02\n\n- 🟡 09:05 Likes tea, green "
        f"<!-- dc:type=fact dc:importance=4 dc:date=2026-10-02 dc:id=OBS-20261002-002 -->\n{BOAT}\n"
    )
    assert load_state(teas).highest == {"2026-10-01": 1, "2026-10-02": 2}
    assert replay(teas) is False


def test_what_leaves_without_an_id_gets_one_of_its_day(teas: Places) -> None:
    boat = entries_of(TEAS)[BOAT]
    assert commit_reflection(teas, reflection(Step((boat,), "stale", "reflector")))["archived"] == 1
    (item,) = read_archived((teas.reflections / "2026-11-30.md").read_text(encoding="utf-8"))
    assert (item.id, item.raw, item.date) == ("OBS-20261002-002", BOAT, "2026-10-02")
    assert [(row["id"], row["in"]) for row in read_ledger(teas.ledger, "archived")] == [
        ("OBS-20261002-002", "archive/reflections/2026-11-30.md")
    ]


def test_ids_of_archived_lines_are_known_to_the_ledger(teas: Places) -> None:
    commit_reflection(teas, reflection(Step((entries_of(TEAS)[BOAT],), "stale", "reflector")))
    teas.state.unlink()
    assert load_state(teas).highest == {"2026-10-02": 2}


def test_observing_begins_with_the_ids_that_a_reflector_gave_before(tmp_path: Path) -> None:
    places = Places(tmp_path / "observations.md", tmp_path / ".total-recall")
    private_folder(places.private)
    places.observations.write_text(TEAS, encoding="utf-8")
    commit_reflection(places, reflection(Step((entries_of(TEAS)[BOAT],), "stale", "reflector")))
    begin(places, State(since_ms=1000), AT)
    assert (load_state(places).since_ms, load_state(places).highest) == (1000, {"2026-10-02": 2})


def test_of_two_lines_that_are_the_same_to_the_byte_one_stays(places: Places) -> None:
    places.observations.write_text(f"Date: 2026-10-02\n\n{BOAT}\n{BOAT}\n{BOAT}\n", encoding="utf-8")
    first, second, third = [entry for entry in parse_log(log_of(places)) if entry.observation]
    steps = [Step((one,), "duplicate", "reflector", kept=third) for one in (first, second)]
    assert commit_reflection(places, reflection(*steps))["merged"] == 2
    assert log_of(places) == f"Date: 2026-10-02\n\n{BOAT}\n"


def test_a_line_never_goes_for_one_that_goes_too(teas: Places) -> None:
    found = entries_of(TEAS)
    there = Step((found[TEA],), "superseded", "test/model", kept=found[GREEN])
    back = Step((found[GREEN],), "superseded", "test/model", kept=found[TEA])
    assert commit_reflection(teas, reflection(there, back))["merged"] == 0
    assert log_of(teas) == TEAS


@pytest.mark.parametrize(
    ("old", "new"),
    [("Likes tea", "Likes coffee"), (TEA + "\n", ""), ("Date: 2026-10-02", "Date: 2026-10-03")],
)
def test_a_step_falls_out_when_one_of_its_lines_is_another_by_now(teas: Places, old: str, new: str) -> None:
    step, boat = merging(), Step((entries_of(TEAS)[BOAT],), "stale", "reflector")
    teas.observations.write_text(TEAS.replace(old, new), encoding="utf-8")
    done = commit_reflection(teas, reflection(step, boat))
    if old.startswith("Date"):  # the teas carry their date themselves, the boat has it from the date line
        assert done == {"written": 1, "merged": 2, "archived": 0}
    else:
        assert done == {"written": 0, "merged": 0, "archived": 1}
        assert log_of(teas) == TEAS.replace(old, new).replace(BOAT + "\n", "")


def test_lines_with_windows_ends_stay_such_lines(teas: Places) -> None:
    teas.observations.write_bytes(TEAS.replace("\n", "\r\n").encode())
    found = entries_of(teas.observations.read_bytes().decode())
    new = Observation("Likes tea, green", date="2026-10-02", importance=4.0)
    commit_reflection(
        teas, reflection(Step((found[TEA + "\r"], found[GREEN + "\r"]), "merged", "m", new=new))
    )
    data = teas.observations.read_bytes()
    assert b"Likes tea, green" in data and data.count(b"\n") == data.count(b"\r\n")


def test_an_observers_commit_completes_a_reflection_that_was_cut_short(
    teas: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("_state.reflected.rewrite_log", interrupt)
        commit_reflection(teas, reflection(merging()))
    assert log_of(teas) == TEAS and teas.journal.exists()
    save_state(teas, load_state(teas)._replace(last_hash="changed meanwhile"))
    commit(teas, change(load_state(teas), addition("Has a cat")))
    assert "Likes tea, green" in log_of(teas) and "Has a cat" in log_of(teas)
    assert load_state(teas).highest == {"2026-10-01": 1, "2026-10-02": 2, "2026-11-30": 1}
    assert len(list(read_archived((teas.reflections / "2026-11-30.md").read_text(encoding="utf-8")))) == 2


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def test_a_person_who_edits_between_the_journal_and_its_replay_keeps_the_edit(
    teas: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("_state.reflected.rewrite_log", interrupt)
        commit_reflection(teas, reflection(merging()))
    teas.observations.write_text(TEAS.replace("Likes tea", "Likes black tea"), encoding="utf-8")
    assert replay(teas) is True
    # The other source leaves, and the line that both are in takes its place.
    assert "Likes black tea" in log_of(teas) and "Likes tea, green" in log_of(teas)
    assert "Likes green tea" not in log_of(teas)


def test_a_state_of_before_reflections_is_read(places: Places) -> None:
    old = json.loads(places.state.read_text())
    for name in ("reflected_at", "reflected_words", "reflect_from"):
        del old[name]
    places.state.write_text(json.dumps(old))
    state = load_state(places)
    assert (state.since_ms, state.reflected_at, state.reflected_words, state.reflect_from) == (
        1000,
        "",
        0,
        "",
    )


# What a person does to the log ---------------------------------------------------------------------------------------

MARK = "\ufeff"


def test_an_entry_is_known_by_all_of_its_text() -> None:
    long = "- 🟡 09:00 " + "word " * 2_000 + "end <!-- dc:type=event dc:importance=2 dc:date=2026-09-05 -->"
    edited = long.replace("end <", "the code is blue <")
    first, second = (parse_log(text)[0] for text in (long, edited))
    assert first.observation == second.observation
    assert key_of(first) != key_of(second)
    assert key_of(first) == key_of(
        parse_log(long.replace("importance=2", "importance=8").replace("🟡", "🔴"))[0]
    )
    assert redrafted(long + "\n", "", edited + "\n") == f"\nDate: 2026-09-05\n\n{edited}\n"
    assert redrafted(long + "\n", long.replace("e=2", "e=1") + "\n", edited + "\n").count("blue") == 1


@pytest.mark.parametrize(
    ("comment", "is_child"),
    [
        ("  <!-- call the dealer back -->", True),
        ("  <!-- dc:type=fact, says Dr Petrov -->", True),
        ("  <!-- see dc:id=OBS-20260901-001 -->", True),
        ("  <!-- dc:type=fact dc:importance=4 -->", False),
        ("<!--dc:type=fact-->", False),
    ],
)
def test_a_comment_of_a_person_below_an_observation_is_a_child(comment: str, is_child: bool) -> None:
    (plain,), (found,) = parse_log(TEA), parse_log(f"{TEA}\n{comment}")
    assert (key_of(plain) != key_of(found)) is is_child
    assert redrafted(TEA + "\n", "", f"{TEA}\n{comment}\n").count(comment.strip()) == is_child


@pytest.mark.parametrize(
    "first", [TEA, "Date: 2026-10-01", "# Observations Log", "- **Tea**: x [ref: a.md#b]", BOAT]
)
def test_a_mark_of_the_byte_order_is_not_there_for_readers(first: str) -> None:
    text = f"{first}\n\n{GREEN}\n"
    plain, marked = parse_log(text), parse_log(MARK + text)
    assert "\n".join(entry.raw for entry in marked) == MARK + text
    assert [entry[1:] for entry in marked] == [entry[1:] for entry in plain]
    assert [key_of(entry) for entry in marked] == [key_of(entry) for entry in plain]
    assert parse_line(MARK + first) == parse_line(first)
    assert not is_bare_day(f"{MARK}Date: 2026-10-01 (my birthday)") and is_bare_day(f"{MARK}Date: 2026-10-01")


def test_a_mark_that_an_editor_puts_in_front_stays_there() -> None:
    base = f"# Observations Log\n\n{TEA}\n{GREEN}\n"
    without_tea = base.replace(TEA + "\n", "")
    assert redrafted(base, without_tea, MARK + base + "mine\n") == MARK + without_tea + "mine\n"
    assert redrafted(MARK + base, MARK + without_tea, MARK + base + "mine\n") == MARK + without_tea + "mine\n"
    assert redrafted(MARK + base, without_tea, base + "mine\n") == without_tea + "mine\n"
    assert redrafted(f"{TEA}\n{GREEN}\n", f"{GREEN}\n", f"{MARK}{TEA}\n{GREEN}\n") == f"{MARK}{GREEN}\n"
    assert redrafted(base, without_tea, MARK + without_tea) == MARK + without_tea


def test_the_mark_stays_when_the_line_behind_it_leaves(teas: Places) -> None:
    teas.observations.write_text(MARK + f"{TEA}\n{GREEN}\n", encoding="utf-8")
    found = {entry.raw.lstrip(MARK): entry for entry in parse_log(log_of(teas)) if entry.observation}
    commit_reflection(teas, reflection(Step((found[TEA],), "stale", "reflector")))
    assert log_of(teas) == MARK + GREEN + "\n"
    file_away(teas, Filing(log=(log_of(teas), "")))
    assert log_of(teas) == MARK


def test_a_provisional_line_behind_a_mark_is_unedited(places: Places) -> None:
    commit(places, change(load_state(places), addition("Tea"), provisional=True))
    line = log_of(places).splitlines()[-1]
    places.observations.write_text(f"{MARK}{line}\n", encoding="utf-8")
    waiting = {name: found.line for name, found in load_state(places).provisional.items()}
    assert is_unedited(parse_log(log_of(places))[0], waiting)
    commit(places, change(load_state(places), addition("Likes tea"), position=200))
    assert " Tea " not in log_of(places) and log_of(places).startswith(MARK)
