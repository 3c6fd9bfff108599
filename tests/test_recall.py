"""recall.py as the command that people and agents call."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from _archive import Archived, ArchivedObservation, render_archived, render_observations
from observer_testing import SCRIPTS, Home
from transcript_builders import iso

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=timezone.utc)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A machine whose observer has taken in one conversation."""
    home = Home(tmp_path / "home")
    store = home.jsonl()
    store.now = NOON - timedelta(minutes=10)
    session = store.start()
    store.user(session, "My lease in Porto ends on 31 May 2027, remind me of it.")
    store.assistant(session, "I will remind you.")
    assert home.run(now=NOON).code == 0
    return home


def recall(home: Home, *arguments: str) -> "tuple[int, dict[str, Any], str]":
    """Exit code, result and stderr of a run."""
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / "recall.py"), *arguments, "--now", iso(NOON)],
        env=home.environ,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.stdout.count("\n") == 1, done.stdout
    return done.returncode, json.loads(done.stdout), done.stderr


def on_a_terminal(home: Home, *arguments: str) -> str:
    """What a person sees."""
    mine, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / "recall.py"), *arguments, "--now", iso(NOON)],
        env={**home.environ, "LC_ALL": "C.UTF-8"},
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        timeout=60,
    )
    os.close(theirs)
    assert done.returncode == 0
    seen = b""
    with contextlib.suppress(OSError), os.fdopen(mine, "rb", buffering=0) as terminal:
        while chunk := terminal.read(4096):
            seen += chunk
    return seen.decode("utf-8").replace("\r\n", "\n")


def put_into_archive(home: Home, item: ArchivedObservation) -> None:
    folder = home.memory / "archive" / "observations"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "2026-03-10.md").write_text(render_observations([item]), encoding="utf-8")


OLD = ArchivedObservation(
    "OBS-20260301-001",
    "The boiler was repaired",
    "2026-03-01",
    4.0,
    "older than 14 days",
    hooks=("heating fixed",),
)


def test_search_tells_what_was_found_and_why(home: Home) -> None:
    put_into_archive(home, OLD)
    code, result, _ = recall(home, "search", "who fixed the heating")
    assert (code, result["status"], result["reason"], result["hits"]) == (0, "ok", "found", 1)
    (hit,) = result["results"]
    assert hit.pop("score") > 0
    assert hit == {
        "id": "OBS-20260301-001",
        "kind": "archived",
        "text": "The boiler was repaired",
        "date": "2026-03-01",
        "importance": 4.0,
        "file": "archive/observations/2026-03-10.md",
        "reason": "older than 14 days",
        "hooks": ["heating fixed"],
        "why": ["fixed", "heating"],
    }


def test_search_takes_words_with_and_without_quotes_and_flags_behind_them(home: Home) -> None:
    for words in (["lease in Porto"], ["lease", "in", "Porto"]):
        code, result, _ = recall(home, "search", *words, "--limit", "1", "--kind", "live", "--json")
        assert (code, result["hits"]) == (0, 1)
        assert "Porto" in result["results"][0]["text"]


def test_days_and_kinds_leave_others_out(home: Home) -> None:
    put_into_archive(home, OLD)
    assert recall(home, "search", "boiler", "--until", "2026-02-28")[1]["hits"] == 0
    assert recall(home, "search", "boiler", "--since", "2026-03-01", "--kind", "archived")[1]["hits"] == 1
    assert recall(home, "search", "boiler", "--kind", "live", "--kind", "chunked")[1]["hits"] == 0


def test_nothing_found_is_no_error(home: Home) -> None:
    code, result, _ = recall(home, "search", "zeppelin")
    assert (code, result["reason"], result["results"]) == (0, "nothing_found", [])


@pytest.mark.parametrize(
    "arguments",
    [
        ["search"],
        ["search", " "],
        ["search", "x", "--limit", "0"],
        ["search", "x", "--limit", "many"],
        ["search", "x", "--since", "May"],
        ["search", "x", "--kind", "lost"],
        ["show"],
        [],
        ["find", "x"],
    ],
)
def test_a_wrong_command_line_says_what_is_wrong(home: Home, arguments: "list[str]") -> None:
    code, result, _ = recall(home, *arguments)
    assert (code, result["status"], result["error"]["code"]) == (2, "error", "usage")
    assert result["error"]["message"]


def test_a_hit_without_a_word_of_the_question_says_why_it_is_there(home: Home) -> None:
    texts = ("- The zebra question", "- It was answered with a plum")
    items = [
        ArchivedObservation(f"OBS-20260301-00{n}", text, "2026-03-01") for n, text in enumerate(texts, 1)
    ]
    folder = home.memory / "archive" / "observations"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "2026-03-10.md").write_text(render_observations(items), encoding="utf-8")
    first, second = recall(home, "search", "zebra")[1]["results"]
    assert (first["why"], first.get("beside")) == (["zebra"], None)
    assert ("why" in second, second["beside"]) == (False, True)
    assert "by: what stands next to it" in on_a_terminal(home, "search", "zebra")


def test_show_gives_the_messages_that_an_item_came_from(home: Home) -> None:
    name = home.ledger("observed")[0]["id"]
    code, result, _ = recall(home, "show", name.lower())
    assert (code, result["id"], result["places"], result["not_found"]) == (0, name, ["observations.md"], 0)
    assert [message["text"] for message in result["messages"]] == [
        "My lease in Porto ends on 31 May 2027, remind me of it."
    ]
    assert result["messages"][0]["who"] == "user"
    assert result["messages"][0]["at"].startswith("2026-11-30 11:5")


def test_show_says_when_the_messages_are_gone(home: Home) -> None:
    name = home.ledger("observed")[0]["id"]
    for path in home.sessions.iterdir():
        path.unlink()
    code, result, _ = recall(home, "show", name)
    assert (code, result["messages"], result["not_found"]) == (0, [], 1)
    assert "in no transcript any more" in on_a_terminal(home, "show", name)


def test_show_says_nothing_that_was_forgotten(home: Home) -> None:
    """A message may have said more than what was forgotten; who is shown all of it says it again."""
    store = home.jsonl()
    store.now = NOON - timedelta(minutes=5)
    store.user(
        store.start(), "My boiler was mended on 3 November for 240 euros. Zebulon paid it on 4 November."
    )
    assert home.run(now=NOON).code == 0
    name = recall(home, "search", "boiler")[1]["results"][0]["id"]
    assert "Zebulon" in recall(home, "show", name)[1]["messages"][0]["text"]
    assert recall(home, "forget", "Zebulon", "--apply")[0] == 0
    code, result, _ = recall(home, "show", name)
    assert (code, result["not_found"]) == (0, 0)
    assert result["messages"][0]["text"] == "My boiler was mended on 3 November for 240 euros."


def test_one_is_told_as_one(home: Home) -> None:
    page = on_a_terminal(home, "forget", "Porto")
    assert "It came from 1 message of 1 conversation." in page


def test_explain_tells_how_an_item_came(home: Home) -> None:
    name = home.ledger("observed")[0]["id"]
    code, result, _ = recall(home, "explain", name)
    assert (code, result["state"], result["places"]) == (0, "live", ["observations.md"])
    (row,) = result["history"]
    assert (row["e"], row["by"], row["trigger"]) == ("observed", "extractor", "manual")
    page = on_a_terminal(home, "explain", name)
    assert f"{name} is live" in page
    assert "observed, by extractor, started by manual, from 1 message" in page


def test_explain_tells_where_an_item_went_and_why(home: Home) -> None:
    folder = home.memory / "archive" / "reflections"
    folder.mkdir(parents=True)
    gone = Archived(
        "OBS-20261129-001", "- 🟢 09:00 Lease ends", "2026-11-29", "superseded", "OBS-20261130-001"
    )
    (folder / "2026-11-30.md").write_text(render_archived([gone]), encoding="utf-8")
    rows = [
        {
            "e": "observed",
            "at": "2026-11-29T09:00:00Z",
            "id": "OBS-20261129-001",
            "by": "test/model",
            "from": [],
        },
        {
            "e": "merged",
            "at": "2026-11-30T03:30:00Z",
            "id": "OBS-20261129-001",
            "into": "OBS-20261130-001",
            "why": "superseded",
        },
    ]
    with open(home.memory / ".total-recall" / "ledger.jsonl", "a", encoding="utf-8") as ledger:
        ledger.writelines(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    code, result, _ = recall(home, "explain", "OBS-20261129-001")
    assert (code, result["state"], [row["e"] for row in result["history"]]) == (
        0,
        "merged",
        ["observed", "merged"],
    )
    page = on_a_terminal(home, "explain", "OBS-20261129-001")
    assert "OBS-20261129-001 is merged: Lease ends" in page
    assert "merged, into OBS-20261130-001, because superseded" in page
    assert "OBS-20261129-001 was merged into it" in on_a_terminal(home, "explain", "OBS-20261130-001")


def test_what_is_in_the_ledger_only_is_told_to_be_gone(home: Home) -> None:
    row = {"e": "forgotten", "at": "2026-11-30T10:00:00Z", "id": "OBS-20261128-001", "why": "asked for"}
    with open(home.memory / ".total-recall" / "ledger.jsonl", "a", encoding="utf-8") as ledger:
        ledger.write(json.dumps(row, separators=(",", ":")) + "\n")
    code, result, _ = recall(home, "show", "OBS-20261128-001")
    assert (code, result["error"]["message"]) == (2, "OBS-20261128-001 is forgotten: its text is in no file")
    code, result, _ = recall(home, "explain", "OBS-20261128-001")
    assert (code, result["state"], result["history"][0]["why"]) == (0, "forgotten", "asked for")


def delete_by_hand(home: Home) -> str:
    """Delete the only observation from the log; returns its id."""
    log = home.memory / "observations.md"
    (line,) = (one for one in log.read_text("utf-8").splitlines(keepends=True) if "dc:id=" in one)
    log.write_text(log.read_text("utf-8").replace(line, ""), "utf-8")
    return line.partition("dc:id=")[2].split()[0]


def test_what_a_person_deleted_is_gone_and_it_is_told_how_to_accept_that(home: Home) -> None:
    name = delete_by_hand(home)
    gone = f"{name} is gone: its line is in no file (deleted by hand?)"
    accept = "python3 scripts/dream_cycle.py account --accept"
    for command, ends in (("show", 2), ("restore", 6)):
        code, result, _ = recall(home, command, name)
        assert (code, result["error"]["message"]) == (ends, gone)
        assert accept in result["error"]["hint"]
    code, result, _ = recall(home, "explain", name)
    assert (code, result["state"], result["reason"]) == (0, "gone", "gone")
    assert accept in result["hint"]
    page = on_a_terminal(home, "explain", name)
    assert page.startswith(f"{gone}\n") and accept in page and "live" not in page


def test_what_could_not_be_looked_for_is_not_told_to_be_gone(home: Home) -> None:
    name = delete_by_hand(home)
    chunks = home.memory / "archive" / "chunks"
    chunks.mkdir(parents=True, exist_ok=True)
    (chunks / "2026-11-01.md").mkdir()
    code, result, said = recall(home, "explain", name)
    assert (code, result["state"]) == (0, "live")
    assert "2026-11-01.md" in said


@pytest.mark.parametrize("command", ["show", "explain"])
def test_an_unknown_id_is_told(home: Home, command: str) -> None:
    code, result, said = recall(home, command, "OBS-20200101-999")
    assert code == 2
    assert result["error"]["message"] == "nothing is known of 'OBS-20200101-999'"
    assert "recall.py search" in said


def test_an_item_of_another_edition_is_shown_and_explained(home: Home) -> None:
    put_into_archive(home, OLD)
    assert recall(home, "show", "OBS-20260301-001")[1]["items"][0]["text"] == "The boiler was repaired"
    code, result, _ = recall(home, "explain", "OBS-20260301-001")
    assert (code, result["state"], result["history"]) == (0, "archived", [])


def test_people_read_text_and_no_control_characters(home: Home) -> None:
    put_into_archive(
        home, ArchivedObservation("OBS-20260301-001", "boiler \x1b[31mred\x07", hooks=("\x1b]0;x",))
    )
    page = on_a_terminal(home, "search", "boiler")
    assert page.startswith(
        " 1. boiler [31mred\n    OBS-20260301-001 · archived · archive/observations/2026-03-10.md"
    )
    assert "\x1b" not in page and "\x07" not in page
    assert "\x1b" not in on_a_terminal(home, "show", "OBS-20260301-001")
    said = on_a_terminal(home, "search", "zeppelin")
    assert said == "Nothing was found in 2 files. Fewer words, or other words for it, may find it.\n"
    assert json.loads(on_a_terminal(home, "search", "boiler", "--json"))["hits"] == 1


def test_neither_questions_nor_memory_get_into_the_log(home: Home) -> None:
    put_into_archive(home, OLD)
    recall(home, "search", "boiler zeppelin")
    recall(home, "show", "OBS-20260301-001")
    log = (home.memory.parent / "logs" / "recall.log").read_text(encoding="utf-8")
    assert '"hits":1' in log
    assert "boiler" not in log and "zeppelin" not in log


def test_what_cannot_be_read_is_told(home: Home) -> None:
    put_into_archive(home, OLD)
    (home.memory / "archive" / "observations" / "2026-03-11.md").mkdir()
    code, result, said = recall(home, "search", "boiler")
    assert (code, result["hits"], result["unreadable"]) == (0, 1, 1)
    assert "2026-03-11.md cannot be read" in said


def test_the_tables_of_other_words_are_checked(home: Home) -> None:
    code, result, _ = recall(home, "synonyms")
    assert (code, result["reason"], result["own"]) == (0, "checked", 0)
    (home.memory / "synonyms.txt").write_text("flat: bedsit\n", encoding="utf-8")
    assert recall(home, "synonyms")[1]["own"] == 1
    (home.memory / "synonyms.txt").write_text("flat: bedsit\nno colon\n", encoding="utf-8")
    code, result, _ = recall(home, "synonyms")
    assert (code, result["error"]["code"]) == (3, "configuration")
    assert "line 2" in result["error"]["message"]


def test_nothing_found_is_not_the_same_as_not_all_looked_at(home: Home) -> None:
    (home.memory / "observations.md").unlink()
    assert on_a_terminal(home, "search", "zeppelin").startswith("Nothing was found: ")
    put_into_archive(home, OLD)
    (home.memory / "archive" / "chunks" / "2026-03-10.md").mkdir(parents=True)
    page = on_a_terminal(home, "search", "zeppelin")
    assert page == "Nothing was found in the 1 file that could be read; 1 could not be looked at.\n"
