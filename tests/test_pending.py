"""What is still to be observed: after each cursor, within bounds, in parts that fit, each message once."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any, Optional

import pytest

import fake_model
from _compat import epoch_ms
from _pending import Bounds, Pending, lookback_ms
from _transcripts import Cursor, Message, find_sessions
from fake_model import fails, says
from observer_testing import DatedStore, Home, at, cite, cited_lines, minutes, tags_in
from transcript_builders import SID, SID_2, SqliteStore
from transcript_testing import config_at


def sessions_of(folder: Path, cursors: "Optional[Mapping[str, Cursor]]" = None) -> Any:
    return find_sessions(config_at(folder), cursors or {}).sessions


def look(
    folder: Path,
    cursors: "Optional[Mapping[str, Cursor]]" = None,
    bounds: "Bounds" = Bounds(0),  # noqa: B008 (frozen)
    covered: "frozenset[str]" = frozenset(),
    compare_all: bool = False,
    most: int = 24_000,
) -> "tuple[list[Message], Pending]":
    """One pass over a folder; the messages, and the pass with what it found out."""
    asked: "list[int]" = []

    def known() -> "dict[str, frozenset[str]]":
        asked.append(1)
        return {SID: covered, "another": frozenset()}

    pending = Pending(cursors or {}, lambda session: bounds, known, compare_all, most)
    found = list(pending.messages(sessions_of(folder, cursors)))
    assert len(asked) <= 1
    return found, pending


def texts(messages: "list[Message]") -> "list[str]":
    return [message.text for message in messages]


@pytest.fixture
def store(tmp_path: Path) -> DatedStore:
    found = DatedStore(tmp_path / "sessions")
    found.start(SID, at=at("09:00"))
    return found


# One pass ------------------------------------------------------------------------------------------------------------


def test_what_comes_after_a_cursor_is_pending_and_nothing_before(store: DatedStore) -> None:
    store.user(SID, "one", at=at("09:01"))
    first, _ = look(store.folder)
    store.user(SID, "two", at=at("09:02"))
    found, pending = look(store.folder, {first[-1].after.key: first[-1].after})
    assert (texts(first), texts(found)) == (["one"], ["two"])
    assert pending.counts["messages_new"] == 1
    cursor = found[-1].after
    assert sessions_of(store.folder, {cursor.key: cursor}) == ()


def test_the_last_message_covers_the_noise_behind_it_too(store: DatedStore) -> None:
    store.user(SID, "one", at=at("09:01"))
    store.tool(SID, "output", at=at("09:02"))
    (found,), _ = look(store.folder)
    assert found.after.position == store.path(SID).stat().st_size


def test_a_session_with_nothing_to_say_leaves_its_end(store: DatedStore) -> None:
    store.user(SID, "[OpenClaw heartbeat poll]", at=at("09:01"))
    store.assistant(SID, "HEARTBEAT_OK", at=at("09:01"))
    found, pending = look(store.folder, bounds=Bounds(77))
    assert found == []
    assert {key: (cursor.position, cursor.since_ms) for key, cursor in pending.quiet.items()} == {
        f"jsonl:{SID}": (store.path(SID).stat().st_size, 77)
    }


def test_the_bounds_say_which_part_of_a_session_without_cursor_counts(store: DatedStore) -> None:
    for minute in range(1, 6):
        store.user(SID, f"at {minute}", at=at("09:00") + minutes(minute))

    def within(since: str, until: "Optional[str]" = None) -> "list[str]":
        end = epoch_ms(at(until)) if until else None
        return texts(look(store.folder, bounds=Bounds(epoch_ms(at(since)), end))[0])

    assert within("09:04") == ["at 4", "at 5"]
    assert within("09:00", "09:03") == ["at 1", "at 2"]
    assert within("09:02", "09:04") == ["at 2", "at 3"]


def test_what_is_covered_under_any_name_is_left_out_of_a_session_without_cursor(store: DatedStore) -> None:
    store.user(SID, "one", at=at("09:01"))
    store.user(SID, "two", at=at("09:02"))
    both, _ = look(store.folder)
    found, _ = look(store.folder, covered=frozenset({both[0].uid}))
    assert texts(found) == ["two"]
    found, pending = look(store.folder, covered=frozenset(message.uid for message in both))
    assert found == []
    assert pending.quiet[f"jsonl:{SID}"].position == both[-1].after.position


def test_the_ledger_is_not_asked_where_a_cursor_tells(store: DatedStore) -> None:
    store.user(SID, "one", at=at("09:01"))
    first, _ = look(store.folder)
    store.user(SID, "two", at=at("09:02"))
    cursors = {first[-1].after.key: first[-1].after}
    pending = Pending(cursors, lambda session: Bounds(0), lambda: 1 / 0)  # type: ignore[arg-type,return-value]
    assert texts(list(pending.messages(sessions_of(store.folder, cursors)))) == ["two"]


@pytest.mark.parametrize("era", ["jsonl", "sqlite"])
def test_a_long_message_is_taken_up_at_any_of_its_parts(tmp_path: Path, era: str) -> None:
    folder = tmp_path / "main" / "sessions"
    database = tmp_path / "main" / "agent" / "openclaw-agent.sqlite"
    store: Any = DatedStore(folder) if era == "jsonl" else SqliteStore(database)
    with contextlib.closing(store) if era == "sqlite" else contextlib.nullcontext():
        store.start(SID, at=at("09:00"))
        store.user(SID, "before", at=at("08:00"))
        store.user(SID, "first", at=at("09:01"))
        long = " ".join(f"word{number}" for number in range(200))
        store.user(SID, long, at=at("09:02"))
        store.user(SID, "last", at=at("09:03"))
        bounds = Bounds(epoch_ms(at("08:30")))
        found, _ = look(folder, bounds=bounds, most=100)
        assert texts(found)[0] == "first" and texts(found)[-1] == "last"
        assert "".join(texts(found)[1:-1]) == long and len(found) > 12
        for number, message in enumerate(found):
            rest, _ = look(folder, {message.after.key: message.after}, bounds, most=100)
            assert "".join(texts(rest)) == "".join(texts(found[number + 1 :])), number


def test_a_message_in_two_sessions_is_taken_once_in_a_pass_that_compares(store: DatedStore) -> None:
    store.user(SID, "one", at=at("09:01"))
    store.folder.joinpath(f"{SID_2}.jsonl").write_bytes(store.path(SID).read_bytes())
    assert texts(look(store.folder, compare_all=True)[0]) == ["one"]


@pytest.mark.parametrize(
    ("clock", "zone_hours", "back"),
    [
        ("07:59", 0, 480),
        ("08:00", 0, 15),
        ("23:59", 0, 15),
        ("07:30", 1, 15),
        ("06:30", 1, 480),
        ("22:30", 8, 480),
    ],
)
def test_before_eight_in_the_persons_morning_the_night_is_looked_at(
    clock: str, zone_hours: int, back: int
) -> None:
    zone = timezone(timedelta(hours=zone_hours))
    assert lookback_ms(at(clock), zone, 15, 480) == epoch_ms(at(clock) - minutes(back))


# Whole runs that stop halfway ----------------------------------------------------------------------------------------


def story(tags: "range") -> str:
    return "\n\n".join(f"{'Some words on and on. ' * 20}Then item {n} of it is #note-{n}" for n in tags)


class CutThenDown:
    """A model whose long answers are cut; after `good` short ones it has no credit left."""

    def __init__(self, good: int) -> None:
        self.left = good

    def __call__(self, request: fake_model.Request) -> Any:
        lines = cited_lines(request.prompt)
        if len(lines) > 3:
            return says(lines[0] + "\n- 🟡 09:", finish="length")
        if not self.left:
            return fails(402, "no credit")
        self.left -= 1
        return cite(request)


@pytest.mark.parametrize("era", ["jsonl", "sqlite"])
def test_half_of_a_first_message_that_was_cut_keeps_the_boundary(tmp_path: Path, era: str) -> None:
    home = Home(tmp_path)
    store: Any = home.jsonl() if era == "jsonl" else home.sqlite()
    store.start(SID, at=at("06:00"))
    store.user(SID, "Long ago it was #old-1 and more words " * 30, at=at("06:01"))
    store.user(SID, story(range(6)), at=at("09:01"))
    with fake_model.FakeModel(CutThenDown(1)) as server:
        home.model(server)
        assert home.run(now=at("09:10")).code == 5
    assert 0 < len(tags_in(home.log)) < 6
    with fake_model.FakeModel(cite) as server:
        home.model(server)
        assert home.run(now=at("15:10")).code == 0
    assert tags_in(home.log) == {f"#note-{n}": 1 for n in range(6)}
    if era == "sqlite":
        store.close()


@pytest.mark.parametrize("era", ["jsonl", "sqlite"])
def test_half_of_a_message_of_history_that_was_cut_does_not_end_the_backfill(
    tmp_path: Path, era: str
) -> None:
    home = Home(tmp_path)
    store: Any = home.jsonl() if era == "jsonl" else home.sqlite()
    store.start(SID, at=at("06:00", day=1))
    store.user(SID, story(range(6)), at=at("06:01", day=1))
    store.user(SID, "The boat is #note-6", at=at("06:02", day=2))
    store.user(SID, "The cat is #note-7", at=at("09:01"))
    with fake_model.FakeModel(cite) as server:
        home.model(server)
        home.run(now=at("09:02"))
    assert tags_in(home.log) == {"#note-7": 1}
    with fake_model.FakeModel(CutThenDown(1)) as server:
        home.model(server)
        assert home.run("--backfill", now=at("09:10")).code == 5
    with fake_model.FakeModel(cite) as server:
        home.model(server)
        assert home.run("--backfill", now=at("15:10")).code == 0
    assert tags_in(home.log) == {f"#note-{n}": 1 for n in range(8)}
    if era == "sqlite":
        store.close()


def test_after_a_backfill_of_everything_the_next_run_goes_on_where_it_was(tmp_path: Path) -> None:
    home = Home(tmp_path)
    store = home.jsonl()
    store.start(SID, at=at("06:00", day=1))
    store.user(SID, "The boat is #note-1", at=at("06:01", day=1))
    store.user(SID, "The cat is #note-2", at=at("09:01"))
    with fake_model.FakeModel(cite) as server:
        home.model(server)
        home.run(now=at("09:02"))
        home.run("--backfill", now=at("09:03"))
        before = home.state
        assert home.run(now=at("09:04")).result["reason"] == "nothing_new"
    assert home.state["cursors"] == before["cursors"] != {}
    assert home.state["highest"] == before["highest"] == {"2026-11-01": 1, "2026-11-30": 1}
    assert len(home.ledger("installed")) == 1
