"""A state.json that is older than the ledger, as one of a backup is: no id is given twice, nothing observed twice."""

from __future__ import annotations

import json
import re
import shutil
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import _state.state
from _ledger import mark_of, read_ledger, rows_since
from _observations import Observation
from _state import (
    Addition,
    Commit,
    Filing,
    Places,
    State,
    begin,
    commit,
    cursors_of,
    file_away,
    load_state,
    save_state,
)
from _transcripts.message import Cursor
from night_testing import Night
from transcript_builders import SID, SID_2

AT = "2026-11-30T09:10:00Z"
OBSERVED_ID = re.compile(r"dc:id=(OBS-[0-9]{8}-[0-9]{3})")


def moment(day: int, hour: int, minute: int = 0, month: int = 11) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=timezone.utc)


LATE = moment(20, 3, 30, 12)  # a night in which notes of November are old


# The layers ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def memory(tmp_path: Path) -> Night:
    """Two notes of one day that the night has archived, and the state.json of before the second was observed."""
    found = Night(tmp_path / "home", {"LLM_PROVIDER": "none", "DREAM_PHASE": "2"})
    store = found.jsonl()
    store.start(SID, at=moment(29, 8))
    found.run(now=moment(29, 8, 1))
    store.user(SID, "I bought a red kayak at the harbour on Monday", at=moment(29, 8, 5))
    found.run(now=moment(29, 8, 30))
    old = state_of(found).read_bytes()
    store.user(SID, "I sold the old trombone for 240 euros yesterday", at=moment(29, 9, 5))
    found.run(now=moment(29, 9, 30))
    assert found.night("run", now=LATE).code == 0
    assert OBSERVED_ID.findall(found.log) == []
    state_of(found).write_bytes(old)
    return found


def state_of(memory: Night) -> Path:
    return memory.memory / ".total-recall" / "state.json"


def test_a_new_note_gets_an_id_that_no_archived_one_has(memory: Night) -> None:
    store = memory.jsonl()
    store.path(SID).unlink()
    store.start(SID_2, at=moment(29, 21))
    store.user(SID_2, "I met Irina at the opera, on 29 November 2026 we saw Tosca", at=moment(29, 22))
    assert memory.run(now=moment(20, 9, 0, 12)).code == 0
    assert OBSERVED_ID.findall(memory.log) == ["OBS-20261129-003"]


def test_what_was_covered_is_not_observed_again(memory: Night) -> None:
    ended = memory.run(now=moment(20, 9, 0, 12))
    assert (ended.code, ended.result["reason"], OBSERVED_ID.findall(memory.log)) == (0, "nothing_new", [])
    memory.jsonl().user(SID, "I met Irina at the opera, we saw Tosca", at=moment(20, 9, 5, 12))
    ended = memory.run(now=moment(20, 9, 30, 12))
    assert (ended.result["messages_covered"], len(OBSERVED_ID.findall(memory.log))) == (1, 1)
    assert sorted(row["session"] for row in memory.ledger("covered")) == [SID, SID, SID]
    assert memory.night("account", now=LATE).result["faults"] == []


def test_a_look_without_writing_tells_the_same(memory: Night) -> None:
    before = state_of(memory).read_bytes()
    ended = memory.run("--dry-run", now=moment(20, 9, 0, 12))
    assert (ended.result["messages_new"], state_of(memory).read_bytes()) == (0, before)


# The state -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return made(tmp_path)


def made(folder: Path) -> Places:
    found = Places(folder / "observations.md", folder / ".total-recall")
    begin(found, State(since_ms=1000), AT)
    return found


def observed(places: Places, session: str, text: str, uid: str, position: int, kind: str = "final") -> str:
    """Commit a line that came of one message; returns its id."""
    cursor = Cursor("jsonl", session, position, since_ms=1000)
    line = Addition(Observation(text, date="2026-11-30", time="09:01"), {"from": [uid], "by": "test"})
    covered = {session: (uid,)} if kind != "provisional" else {}
    expected = {cursor.key: cursors_of(load_state(places), kind).get(cursor.key)}
    (name,) = commit(places, Commit(AT, (line,), covered, {cursor.key: cursor}, expected, kind))
    return name


def filed(places: Places, *rows: "dict[str, object]") -> None:
    file_away(places, Filing(rows=rows))


def test_only_sessions_that_were_covered_since_lose_their_cursor(places: Places) -> None:
    observed(places, "s1", "Tea", "u1", 10)
    observed(places, "s2", "A boat", "u2", 20)
    old = places.state.read_bytes()
    observed(places, "s2", "A cat", "u3", 30)
    places.state.write_bytes(old)
    found = load_state(places)
    assert (list(found.cursors), found.highest) == (["jsonl:s1"], {"2026-11-30": 3})
    save_state(places, found)
    assert load_state(places) == found._replace(ledger=mark_of(places.ledger))


def test_a_cursor_of_a_backfill_goes_too(places: Places) -> None:
    observed(places, "s1", "Tea", "u1", 10, "backfill")
    old = places.state.read_bytes()
    observed(places, "s1", "A boat", "u2", 20, "backfill")
    places.state.write_bytes(old)
    assert dict(load_state(places).backfill) == {}


def test_lines_that_wait_for_an_answer_are_known_again(places: Places) -> None:
    first = observed(places, "s1", "Tea, perhaps", "u1", 10, "provisional")
    old = places.state.read_bytes()
    second = observed(places, "s1", "A boat, perhaps", "u2", 20, "provisional")
    observed(places, "s1", "Likes tea", "u1", 10)
    wanted = load_state(places).provisional
    assert set(wanted) == {second} != {first}
    places.state.write_bytes(old)
    assert load_state(places).provisional == wanted


def test_what_a_night_adds_costs_no_cursor(places: Places) -> None:
    name = observed(places, "s1", "Tea", "u1", 10)
    filed(places, {"e": "archived", "at": AT, "id": name, "why": "old", "in": "archive/observations/x.md"})
    assert list(load_state(places).cursors) == ["jsonl:s1"]
    assert load_state(places).ledger == mark_of(places.ledger)


def test_an_id_that_a_person_typed_is_not_given_again_once_it_is_archived(places: Places) -> None:
    places.observations.write_text(
        "- 🟡 Mine <!-- dc:type=fact dc:date=2026-11-30 dc:id=OBS-20261130-007 -->\n"
    )
    filed(places, {"e": "archived", "at": AT, "id": "OBS-20261130-007", "why": "old", "in": "x"})
    places.observations.write_text("")
    assert observed(places, "s1", "Tea", "u1", 10) == "OBS-20261130-008"


def test_a_ledger_whose_rows_became_shorter_is_no_older_one(places: Places) -> None:
    observed(places, "s1", "Tea", "u1", 10)
    old = places.state.read_bytes()
    places.ledger.write_bytes(places.ledger.read_bytes().replace(b'"by":"test",', b""))
    assert list(load_state(places).cursors) == ["jsonl:s1"]
    observed(places, "s2", "A boat", "u2", 10)
    places.state.write_bytes(old)
    assert (list(load_state(places).cursors), load_state(places).highest) == (["jsonl:s1"], {"2026-11-30": 2})


def test_an_older_ledger_beside_the_state_takes_nothing_away(places: Places) -> None:
    observed(places, "s1", "Tea", "u1", 10)
    old = places.ledger.read_bytes()
    observed(places, "s1", "A boat", "u2", 20)
    wanted = load_state(places)
    for content in (old, b"", None):
        places.ledger.unlink(missing_ok=True)
        if content is not None:
            places.ledger.write_bytes(content)
        assert load_state(places) == wanted
    assert observed(places, "s1", "A cat", "u3", 30) == "OBS-20261130-003"


@pytest.mark.parametrize("mark", [None, "", "5", "x y", "5 \u20ac", "99999999999999999999999 x", 7])
def test_a_state_without_a_mark_is_as_old_as_its_ids(places: Places, mark: object) -> None:
    observed(places, "s1", "Tea", "u1", 10)
    before = json.loads(places.state.read_bytes())
    observed(places, "s1", "A boat", "u2", 20)
    now = json.loads(places.state.read_bytes())
    for one in (before, now):
        one.pop("ledger") if mark is None else one.update(ledger=mark)
    places.state.write_text(json.dumps(now))
    assert (list(load_state(places).cursors), load_state(places).highest) == (["jsonl:s1"], {"2026-11-30": 2})
    places.state.write_text(json.dumps(before))
    assert (list(load_state(places).cursors), load_state(places).highest) == ([], {"2026-11-30": 2})


def test_a_state_that_is_up_to_date_needs_no_row_of_the_ledger(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    observed(places, "s1", "Tea", "u1", 10)
    for name in ("read_ledger", "highest_named", "still_provisional"):
        monkeypatch.setattr(_state.state, name, None)
    assert list(load_state(places).cursors) == ["jsonl:s1"]


def test_the_rows_behind_a_mark(places: Places) -> None:
    marks = [mark_of(places.ledger)]
    for number in range(3):
        observed(places, "s1", f"Boat {number}", f"u{number}", 10 + number)
        marks.append(mark_of(places.ledger))
    every = list(read_ledger(places.ledger))
    for place, mark in enumerate(marks):
        assert list(rows_since(places.ledger, mark) or ()) == every[1 + 2 * place :]
    assert mark_of(places.private / "none") == ""


@given(
    st.lists(st.tuples(st.sampled_from(["commit", "archive", "old state"]), st.integers(0, 9)), max_size=14)
)
@settings(max_examples=25, deadline=None)
def test_no_id_is_given_twice_whichever_state_is_put_back(
    tmp_path_factory: pytest.TempPathFactory, steps: "list[tuple[str, int]]"
) -> None:
    places = made(tmp_path_factory.mktemp("memory"))
    copies, given_ids = [places.state.read_bytes()], []
    for number, (step, pick) in enumerate(steps):
        if step == "old state":
            places.state.write_bytes(copies[pick % len(copies)])
        elif step == "archive" and given_ids:
            filed(
                places,
                {"e": "archived", "at": AT, "id": given_ids[pick % len(given_ids)], "why": "old", "in": "x"},
            )
            places.observations.write_text("")
        else:
            given_ids.append(observed(places, f"s{pick % 3}", f"Boat {number}", f"u{number}", number))
        copies.append(places.state.read_bytes())
    assert len(set(given_ids)) == len(given_ids)
    shutil.rmtree(places.private)
