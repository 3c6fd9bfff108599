"""What was forgotten does not come back from old transcripts, nor in other words; said again by a person it does."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

import fake_model
from _errors import StorageError
from _observations import Candidate, Observation
from _state import Places
from _tombstones import Tombstones, load_tombstones, save_tombstones, with_key, words_in
from _transcripts import Cursor, Message
from fake_model import says
from forget_testing import Person
from observer_testing import at, cite, tags_in
from transcript_builders import SID, SID_2

LEASE = "OBS-20261130-001"


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path / "home")


def said(person: Person, *texts: str, session: str = SID, clock: str = "09:01", role: str = "user") -> None:
    """Say these things, a minute apart."""
    store = person.jsonl()
    if not store.path(session).exists():
        store.start(session, at=at("09:00"))
    for number, text in enumerate(texts):
        getattr(store, role)(session, text, at=at(clock) + timedelta(minutes=number))


def lose_everything_but_tombstones(person: Person) -> None:
    """As when a person deletes the log and its state and starts over."""
    kept = (person.memory / ".total-recall" / "tombstones.json").read_bytes()
    shutil.rmtree(person.memory)
    (person.memory / ".total-recall").mkdir(parents=True)
    (person.memory / ".total-recall" / "tombstones.json").write_bytes(kept)


def read_it_all_again(person: Person, clock: str = "12:30") -> None:
    lose_everything_but_tombstones(person)
    assert person.run("--backfill", now=at(clock)).code == 0


def line(text: str, kind: str = "fact") -> str:
    return f"- 🟡 09:01 {text} <!-- dc:type={kind} dc:importance=5 -->"


# Old transcripts -----------------------------------------------------------------------------------------------------


def test_a_message_that_is_forgotten_whole_is_not_even_read_again(person: Person) -> None:
    said(person, "The lease is #note-1", "The boat is #note-2")
    with fake_model.FakeModel(cite) as server:
        person.model(server)
        person.run(now=at("09:10"))
        assert "#note-1" in person.log.split(LEASE)[0]
        assert person.recall("forget", LEASE, "--apply", now=at("12:00")).code == 0
        assert tags_in(person.log) == {"#note-2": 1}
        read_it_all_again(person)
        assert "#note-1" not in server.requests[-1].prompt and "#note-2" in server.requests[-1].prompt
    assert tags_in(person.log) == {"#note-2": 1}


def test_of_a_message_that_said_more_only_the_forgotten_thing_stays_away(person: Person) -> None:
    said(person, "My sister Anna has diabetes, and the boiler was mended on 3 November for 240 euros")
    first = [
        line("The user's sister Anna has diabetes"),
        line("The boiler was mended on 3 November for 240 euros"),
    ]
    again = [line("Anna, the sister, has diabetes"), line("Boiler mended on 3 November, 240 euros")]
    with fake_model.FakeModel([says("\n".join(first)), says("\n".join(again))]) as server:
        person.model(server)
        person.run(now=at("09:10"))
        person.recall("forget", LEASE, "--apply", now=at("12:00"))
        read_it_all_again(person)
    assert "diabetes" not in person.log
    assert "240 euros" in person.log


def test_without_a_model_it_stays_away_too(person: Person) -> None:
    said(person, "My sister's wedding is on 14 June in Porto.", "I am allergic to penicillin.")
    person.run(now=at("09:10"))
    assert "14 June" in person.log
    person.recall("forget", "wedding", "--apply", now=at("12:00"))
    read_it_all_again(person)
    assert "wedding" not in person.log and "penicillin" in person.log


def test_the_same_thing_in_another_old_message_stays_away(person: Person) -> None:
    said(person, "The wedding of my sister is on 14 June in Porto.")
    said(person, "As I said, the wedding of my sister is on 14 June in Porto.", session=SID_2, clock="09:05")
    person.run(now=at("09:10"))
    assert person.log.count("14 June") == 1
    person.recall("forget", LEASE, "--apply", now=at("12:00"))
    read_it_all_again(person)
    assert "14 June" not in person.log


def test_the_other_era_of_the_host_brings_nothing_back(person: Person) -> None:
    said(person, "The wedding of my sister is on 14 June in Porto.")
    person.run(now=at("09:10"))
    person.recall("forget", LEASE, "--apply", now=at("12:00"))
    with person.sqlite() as store:
        store.start(SID_2, at=at("09:00"))
        store.user(SID_2, "The wedding of my sister is on 14 June in Porto.", at=at("09:01"))
        read_it_all_again(person)
    assert "14 June" not in person.log


def test_a_line_of_another_edition_stays_away_by_its_words(person: Person) -> None:
    person.put("## 2026-11-30\n\n- 🟡 09:01 The wedding of the sister is on 14 June in Porto\n")
    said(person, "The wedding of my sister is on 14 June in Porto.", "I am allergic to penicillin.")
    person.recall("forget", "Porto", "--apply", now=at("12:00"))
    assert person.run("--backfill", now=at("12:30")).code == 0
    assert "Porto" not in person.log and "14 June" not in person.log
    assert "penicillin" in person.log


# Words ---------------------------------------------------------------------------------------------------------------


def test_sentences_with_the_words_are_not_shown_to_a_model(person: Person) -> None:
    said(
        person, "Anna's number is 555. The lease is #note-1!! Call ANNA!", "Miso asked for Annapolis #note-2"
    )
    with fake_model.FakeModel(cite) as server:
        person.model(server)
        person.put("")
        person.recall("forget", "anna", "--apply", now=at("12:00"))
        person.run("--backfill", now=at("12:30"))
        prompt = server.requests[-1].prompt
    assert "555" not in prompt and "ANNA" not in prompt
    assert "Annapolis" in prompt
    assert tags_in(person.log) == {"#note-1": 1, "#note-2": 1}


def test_a_whole_window_that_is_forgotten_asks_nobody(person: Person) -> None:
    said(person, "Anna called", "Anna called again")
    with fake_model.FakeModel(cite) as server:
        person.model(server)
        person.put("")
        person.recall("forget", "Anna", "--apply", now=at("12:00"))
        ended = person.run("--backfill", now=at("12:30"))
        assert (ended.code, ended.result["messages_covered"], server.requests) == (0, 2, [])
    assert ended.result["models"] == []


def test_what_the_assistant_says_about_forgetting_does_not_bring_it_back(person: Person) -> None:
    person.put("")
    person.recall("forget", "Zebedee", "--apply", now=at("12:00"))
    said(person, "All about Zebedee is forgotten, on 30 November 2026.", clock="12:01", role="assistant")
    said(person, "I am allergic to penicillin.", clock="12:02")
    with fake_model.FakeModel(says("NO_OBSERVATIONS")) as server:
        person.model(server)
        person.run(now=at("12:10"))
        assert "Zebedee" not in server.requests[-1].prompt


# Said again ----------------------------------------------------------------------------------------------------------


def test_what_a_person_says_again_is_remembered(person: Person) -> None:
    said(person, "The wedding of my sister is on 14 June in Porto.")
    person.run(now=at("09:10"))
    person.recall("forget", LEASE, "--apply", now=at("12:00"))
    person.recall("forget", "Porto", "--apply", now=at("12:00"))
    assert "Porto" not in person.log
    said(person, "The wedding of my sister is on 14 June in Porto.", clock="13:00")
    person.run(now=at("13:10"))
    assert person.log.count("14 June in Porto") == 1
    (row,) = person.ledger("observed")[1:]
    assert row["id"] != LEASE


# While a model is asked ----------------------------------------------------------------------------------------------


def test_an_answer_that_comes_after_forgetting_does_not_bring_it_back(person: Person) -> None:
    said(person, "The boat of Zebedee is #note-1", "The lease is #note-2")
    person.put("")

    def forgetting(request: fake_model.Request) -> fake_model.Reply:
        assert person.call_recall("forget", "Zebedee", "--apply", now=at("09:09")).code == 0
        return cite(request)

    with fake_model.FakeModel(forgetting) as server:
        person.model(server)
        ended = person.call(now=at("09:10"))
        assert "Zebedee" in server.requests[0].prompt
    assert ended.result["forgotten"] == 1
    assert tags_in(person.log) == {"#note-2": 1}


def test_provisional_lines_obey_too(person: Person) -> None:
    said(person, "The wedding of Zebedee is on 14 June in Porto.", "I am allergic to penicillin.")
    person.put("")
    person.recall("forget", "Zebedee", "--apply", now=at("09:09"))
    with fake_model.FakeModel(fake_model.fails(500, "down", {"Retry-After": "0"})) as server:
        person.model(server)
        person.run("--flush", now=at("09:10"))
    assert "penicillin" in person.log and "Porto" not in person.log


# The file ------------------------------------------------------------------------------------------------------------


def test_the_file_has_no_word_that_can_be_read(person: Person) -> None:
    said(person, "The wedding of my sister is on 14 June in Porto.")
    person.run(now=at("09:10"))
    person.recall("forget", "Porto", "--apply", now=at("12:00"))
    path = person.memory / ".total-recall" / "tombstones.json"
    data = path.read_text("utf-8")
    assert not any(word in data.lower() for word in ("wedding", "sister", "porto", "june", LEASE.lower()))
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(json.loads(data)["stones"]) == 2


def test_a_damaged_file_stops_the_observer_and_it_says_so(person: Person) -> None:
    said(person, "The wedding of my sister is on 14 June in Porto.")
    (person.memory / ".total-recall").mkdir(parents=True)
    (person.memory / ".total-recall" / "tombstones.json").write_text("{}", "utf-8")
    ended = person.run(now=at("09:10"))
    assert (ended.code, ended.result["error"]["code"]) == (1, "storage")
    assert person.log == "" and person.state["failures_in_row"] == 1


def test_damage_is_never_taken_for_nothing(tmp_path: Path) -> None:
    places = Places(tmp_path / "observations.md", tmp_path / "private")
    assert load_tombstones(places).stones == ()
    (tmp_path / "private").mkdir()
    for damage in (b"", b"[]", b'{"stones": [{}], "key": ""}', b'{"stones": [], "key": "zz"}'):
        places.tombstones.write_bytes(damage)
        with pytest.raises(StorageError):
            load_tombstones(places)


def message(text: str, clock: str = "09:00", uid: str = "u", role: str = "user", sender: str = "") -> Message:
    after = Cursor("jsonl", "s", 10)
    return Message("s", "agent:main:main", "e", uid, role, text, at(clock), sender, True, after)


def stones() -> Tombstones:
    return with_key(Tombstones())


def candidate(text: str, *uids: str) -> Candidate:
    return Candidate(Observation(text), uids)


NOON = "2026-11-30T12:00:00Z"


def test_reading_gives_back_what_was_written(tmp_path: Path) -> None:
    places = Places(tmp_path / "observations.md", tmp_path)
    made = stones()
    found = (made.for_words(NOON, ("anna", "meier*")), made.for_line(NOON, "Anna has a dog", ["a"], ["b"]))
    save_tombstones(places, Tombstones(found, made.key))
    assert load_tombstones(places) == Tombstones(found, made.key)


@pytest.mark.parametrize(
    ("asked", "text", "meant"),
    [
        (("anna",), "ANNA's flat", True),
        (("anna",), "Annapolis", False),
        (("anna*",), "Annapolis", True),
        (("anna", "meier"), "Meier, Anna", True),
        (("anna", "meier"), "Anna", False),
        (("田中",), "昨日田中さんが来た", True),
        (("田中",), "田の中", False),
        (("müller",), "M\\u00fcller", True),
        (("नीता",), "नीता कल आई", True),
        (("नीता",), "नाता तोड़ दिया", False),
        (("محمد",), "مُحَمَّد هنا", True),
    ],
)
def test_words_are_whole_words(asked: "tuple[str, ...]", text: str, meant: bool) -> None:
    made = stones()
    found = Tombstones((made.for_words(NOON, asked),), made.key)
    assert (found.shown([message(text)]) == ()) is meant
    assert found.allows(candidate(text, "u"), [message(text)]) is not meant


def test_who_was_forgotten_is_not_quoted_either() -> None:
    made = stones()
    found = Tombstones((made.for_words(NOON, ("anna",)),), made.key)
    assert found.shown([message("The code is 555", sender="Anna M"), message("Hello", uid="v")]) == (
        message("Hello", uid="v"),
    )


@pytest.mark.parametrize(
    ("clock", "role", "allowed"),
    [("11:59", "user", False), ("12:01", "user", True), ("12:01", "assistant", False)],
)
def test_only_what_was_said_before_is_kept_out(clock: str, role: str, allowed: bool) -> None:
    made = stones()
    found = Tombstones((made.for_line(NOON, "Anna has a brown dog", [], []),), made.key)
    said_then = [message("Anna has a brown dog", clock, role=role)]
    assert found.allows(candidate("Anna has a brown dog", "u"), said_then) is allowed


def test_other_lines_pass(tmp_path: Path) -> None:
    """2,000 lines that have nothing to do with 300 forgotten ones."""
    made = stones()
    forgotten = [f"Person{n} keeps thing{n} in place{n} since year{n}" for n in range(300)]
    found = Tombstones(tuple(made.for_line(NOON, text, [], []) for text in forgotten), made.key)
    others = [f"Somebody{n} bought item{n} at market{n} for amount{n} cash" for n in range(2_000)]
    refused = sum(not found.allows(candidate(text, "u"), [message(text)]) for text in others)
    assert refused <= 20
    assert not any(found.allows(candidate(text, "u"), [message(text)]) for text in forgotten)


def test_words_of_a_text() -> None:
    assert words_in("Anna's ＡＢＣ-x_1 田中") == {"anna", "s", "abc", "x", "1", "田", "中", "田中"}


def test_of_a_message_that_still_waits_for_an_answer_only_the_forgotten_thing_stays_away(
    person: Person,
) -> None:
    said(person, "The wedding of Zebedee is on 14 June in Porto. Thanks a lot!")
    with fake_model.FakeModel(fake_model.fails(500, "down", {"Retry-After": "0"})) as server:
        person.model(server)
        person.run("--flush", now=at("09:10"))
    (wedding,) = [row["id"] for row in person.ledger("observed")]
    assert person.recall("forget", wedding, "--apply", now=at("09:20")).code == 0
    assert "14 June" not in person.log
    with fake_model.FakeModel(says(line("The wedding of Zebedee is on 14 June in Porto", "event"))) as server:
        person.model(server)
        ended = person.run(now=at("11:30"))
        assert "Thanks a lot!" in server.requests[-1].prompt
    assert (ended.code, ended.result["forgotten"]) == (0, 1)
    assert "14 June" not in person.log
