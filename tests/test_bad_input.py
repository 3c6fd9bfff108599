"""Wrong variables, folders, files and flags: an exit code, one JSON object, a sentence; memory stays as it was."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import pytest

import fake_model
from dream_testing import LOG
from night_testing import Night
from observer_testing import SCRIPTS, Home, at, cite, minutes, tags_in
from transcript_builders import SID, SID_2, SqliteStore

KEY = "sk-or-" + "a1B2" * 8
FAILURES = re.compile(rb'"failures_in_row":\d+,|"last_failure":"\w*",')
SAID = "My sister's wedding is on 14 June in Porto."


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home that remembers one thing and has something new to observe."""
    found = Home(tmp_path / "home")
    store = found.jsonl()
    store.start(SID, at=at("09:00"))
    store.user(SID, SAID, at=at("09:01"))
    found.run(now=at("09:02"))
    store.user(SID, "The rent is 950 euros from March on.", at=at("09:05"))
    return found


def kept(folder: Path) -> "dict[str, bytes]":
    """Every file of a memory folder by name, but locks, and without the count of failures."""
    return {
        str(path.relative_to(folder)): FAILURES.sub(b"", path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


@dataclass(frozen=True)
class Told:
    """How the command ended. `result` is the object on stdout."""

    code: int
    result: "dict[str, Any]"
    said: str

    @property
    def error(self) -> "dict[str, str]":
        return dict(self.result["error"])


def observe(home: Home, *flags: str, before: "tuple[str, ...]" = (), **environ: str) -> Told:
    """The observer as a process, nine minutes later; what it tells has the promised form."""
    done = subprocess.run(
        [*before, *home.command(*flags, now=at("09:10"))],
        env={**home.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    out, said = done.stdout.decode("ascii"), done.stderr.decode("utf-8", "surrogateescape")
    assert out.count("\n") == 1 and out.endswith("\n"), out
    told = Told(done.returncode, json.loads(out), said)
    assert (told.result["layer"], told.result["schema"]) == ("observer", 1)
    assert "Traceback" not in said
    if told.code:
        assert told.result["status"] == "error"
        assert set(told.error) == {"code", "message", "hint"} and all(told.error.values())
        assert told.result["reason"] == told.error["code"]
        assert told.error["message"] in said.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return told


def in_process(home: Home, *flags: str) -> Told:
    """The same in this process: quicker, where the process makes no difference."""
    ended = home.run(*flags, now=at("09:10"))
    return Told(ended.code, ended.result, ended.said)


def refused(home: Home, code: int, *flags: str, **environ: str) -> Told:
    """The observer has to end with this code and leave memory as it was."""
    before = kept(home.memory)
    told = observe(home, *flags, **environ)
    assert told.code == code, told
    assert kept(home.memory) == before
    return told


# Variables and .env --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("OBSERVER_LOOKBACK_MIN", "soon"),
        ("LLM_PROVIDER", "gpt"),
        ("LLM_BASE_URL", "localhost"),
        ("MEMORY_DIR", "memory"),
        ("OPENCLAW_AGENT_ID", "a/b"),
    ],
)
def test_a_wrong_variable(home: Home, name: str, wrong: str) -> None:
    told = refused(home, 3, **{name: wrong})
    assert told.error["code"] == "configuration"
    assert told.error["message"] == f"{name} is '{wrong}' (from environment)"


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"LLM_API_KEY " + KEY.encode() + b"\n", ", line 1: cannot be read"),
        (b"DREAM_PHASE=1\nLLM_API_KEY='" + KEY.encode() + b"\n", ", line 2: cannot be read"),
        (b"\xff\xfeL\x00L\x00M\x00", "is not UTF-8 text"),
        (b"READ_ONLY_MODE=perhaps\n", "READ_ONLY_MODE is 'perhaps'"),
    ],
)
def test_an_unusable_env_file_is_named_without_its_key(home: Home, content: bytes, part: str) -> None:
    path = home.memory.parent / ".env"
    path.write_bytes(content)
    told = refused(home, 3)
    assert part in told.error["message"] and str(path) in told.error["message"]
    assert "a1B2" not in json.dumps(told.result) + told.said


def test_a_key_that_cannot_be_sent_is_told_without_showing_it(home: Home) -> None:
    with fake_model.FakeModel(cite) as server:
        home.model(server)
        told = observe(home, LLM_API_KEY=KEY + "ü")
    assert told.code == 3 and "LLM_API_KEY" in told.error["message"]
    assert "a1B2" not in json.dumps(told.result) + told.said
    assert "950" not in home.log


# Flags ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "part"),
    [
        (("--nonsense",), "--nonsense"),
        (("extra",), "1 word"),
        (("--flu",), "--flu"),
        (("--since", "2026-01-01"), "--since goes with --backfill"),
        (("--backfill", "--since", "yesterday"), "--since is 'yesterday'"),
        (("--flush", "--recover", SID), "not allowed with"),
        (("--recover",), "expected one argument"),
        (("--recover", ""), "--recover"),
        (("--provider", "gpt"), "gpt"),
        (("--trigger", "moon"), "moon"),
        (("--now", "late"), "--now is 'late'"),
    ],
)
def test_wrong_flags(home: Home, flags: "tuple[str, ...]", part: str) -> None:
    before = kept(home.memory)
    told = in_process(home, *flags)
    assert (told.code, told.error["code"], kept(home.memory)) == (2, "usage", before)
    assert part in told.error["message"]


# Transcripts ---------------------------------------------------------------------------------------------------------


def test_where_no_transcripts_are_both_places_and_the_other_agents_are_named(home: Home) -> None:
    told = refused(home, 3, OPENCLAW_AGENT_ID="work")
    agents = home.state_dir / "agents"
    assert str(agents / "work" / "sessions") in told.error["message"]
    assert str(agents / "work" / "agent" / "openclaw-agent.sqlite") in told.error["message"]
    assert "agents found: main" in told.error["hint"]
    told = refused(home, 3, SESSIONS_DIR=str(home.folder / "nowhere"))
    assert "SESSIONS_DIR" in told.error["hint"]


def test_a_sessions_folder_that_is_a_file(home: Home) -> None:
    (home.folder / "file").write_bytes(b"")
    told = refused(home, 3, SESSIONS_DIR=str(home.folder / "file"))
    assert str(home.folder / "file") in told.error["message"]


def test_a_store_that_is_no_database(home: Home) -> None:
    store = home.sessions.parent / "agent" / "openclaw-agent.sqlite"
    store.parent.mkdir()
    store.write_bytes(b"this is not a database, whatever its name says" * 100)
    told = observe(home)
    assert (told.code, told.result["reason"]) == (0, "observed")
    assert "950 euros" in home.log
    assert any(str(store) in problem for problem in told.result["problems"])
    told = refused(home, 3)  # nothing new in the files, and the store could not be looked at
    assert told.error["code"] == "source_unreadable"
    assert str(store) in told.error["message"]
    # The first run has taken something in, and was no good run all the same.
    assert (home.state["failures_in_row"], home.state["last_good_run"]) == (2, "2026-11-30T09:02:00Z")
    assert (home.memory / ".observer-last-run").read_text().strip() == str(int(at("09:02").timestamp()))


def test_a_backfill_that_could_not_look_everywhere_is_not_done(home: Home) -> None:
    store = home.sessions.parent / "agent" / "openclaw-agent.sqlite"
    store.parent.mkdir()
    assert observe(home).code == 0
    store.write_bytes(b"this is not a database, whatever its name says" * 100)
    observe(home, "--backfill", "--since", "2026-11-01")
    assert home.state["backfill_from_ms"] > 0
    store.unlink()
    with SqliteStore(store) as again:
        again.start(SID_2, at=at("08:00", day=5))
        again.user(SID_2, "The ferry to Oslo leaves on 3 December at 07:40.", at=at("09:01", day=5))
    assert observe(home, "--backfill", "--since", "2026-11-01").code == 0
    assert (home.state.get("backfill_from_ms", -1), home.log.count("Oslo")) == (-1, 1)


def test_a_damaged_cursor_costs_another_look_and_nothing_twice(home: Home) -> None:
    with SqliteStore(home.sessions.parent / "agent" / "openclaw-agent.sqlite") as store:
        store.start(SID_2, at=at("09:01"))
        store.user(SID_2, "The ferry to Oslo leaves on 3 December at 07:40.", at=at("09:01"))
    assert observe(home).code == 0
    state = home.state
    whole = state["cursors"][f"sqlite:{SID_2}"]
    (home.memory / ".total-recall" / "state.json").write_text(
        json.dumps({**state, "cursors": {**state["cursors"], f"sqlite:{SID_2}": f"{whole} junk"}})
    )
    assert observe(home).code == 0
    assert home.state["cursors"][f"sqlite:{SID_2}"] == whole and home.log.count("Oslo") == 1


def test_damaged_rows_of_a_store_do_not_hold_up_the_files(home: Home) -> None:
    with SqliteStore(home.sessions.parent / "agent" / "openclaw-agent.sqlite", schema=19, wal=False) as store:
        store.start(SID_2, at=at("08:59"))
        for number in range(40):
            store.user(SID_2, f"{number} is a number " + "and on " * 300, at=at("09:00"))
    whole = store.path.read_bytes()
    place = whole.index(b"20 is a number") // 4096 * 4096
    store.path.write_bytes(whole[:place] + b"\xff" * 4096 + whole[place + 4096 :])
    told = observe(home)
    assert "950 euros" in home.log
    assert any(str(store.path) in problem for problem in told.result["problems"])


def test_a_transcript_that_is_a_folder_does_not_hold_up_the_others(home: Home) -> None:
    (home.sessions / "0f0e0d0c-0b0a-4987-8654-32100000000f.jsonl").mkdir()
    assert observe(home).code == 0
    assert "950 euros" in home.log


def test_a_transcript_whose_name_is_not_utf_8_is_observed(home: Home) -> None:
    name = os.fsencode(str(home.sessions)) + b"/caf\xe9.jsonl"
    header = b'{"type":"session","version":3,"id":"caf","timestamp":"2026-11-30T09:06:00.000Z"}\n'
    entry = (
        b'{"type":"message","id":"feed0001","timestamp":"2026-11-30T09:06:00.000Z","message":{"role":"user",'
    )
    with open(name, "wb") as file:
        file.write(header + entry + b'"content":"My flight to Oslo leaves on 3 December at 07:40."}}\n')
    (home.sessions / "sessions.json").unlink()  # which would have to name a file whose name is no session id
    os.utime(name, (at("09:06").timestamp(), at("09:06").timestamp()))
    assert observe(home).code == 0
    assert home.log.count("Oslo") == 1
    assert observe(home).result["reason"] == "nothing_new"


def test_half_a_character_in_a_message_stops_nothing(home: Home) -> None:
    store = home.jsonl()
    entry = {
        "type": "message",
        "id": "feed0002",
        "timestamp": "2026-11-30T09:06:00.000Z",
        "message": {
            "role": "user",
            "content": "My flight to Oslo \ud83d leaves on 3 December at 07:40. \udce9",
        },
    }
    store.raw(SID, json.dumps(entry).encode("ascii"))
    assert observe(home).code == 0
    assert home.log.count("Oslo") == 1


# Memory that cannot be written ---------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="/proc and /sys are Linux's")
@pytest.mark.parametrize("place", ["/proc/total-recall", "/sys/total-recall"])
def test_a_read_only_place_for_memory(home: Home, place: str) -> None:
    told = refused(home, 1, MEMORY_DIR=place)
    assert told.error["code"] == "storage"
    assert place in told.error["message"]


# Root is stopped by no permission bits, so that these two rights are given up first.
WITHOUT_ROOT = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
if os.geteuid() == 0:
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, dropped (24) for what is started from here
        libc.prctl(24, capability, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="gives up rights as Linux does")
@pytest.mark.parametrize(
    ("part", "mode", "code", "kind"),
    [
        ("agents/main/sessions", 0o000, 3, "source_unreadable"),
        ("workspace/memory", 0o500, 0, ""),
        ("workspace/memory/observations.md", 0o000, 1, "storage"),
        ("workspace/memory/observations.md", 0o400, 1, "storage"),
        ("workspace/memory/.total-recall", 0o500, 1, "storage"),
        ("workspace/memory/.total-recall", 0o000, 1, "storage"),
        ("workspace/memory", 0o000, 1, "storage"),
        ("workspace", 0o000, 3, "configuration"),
        ("workspace/memory/.total-recall/state.json", 0o000, 1, "storage"),
        ("workspace/memory/.total-recall/ledger.jsonl", 0o000, 1, "storage"),
        ("workspace/logs/observer.log", 0o400, 0, ""),
    ],
)
def test_what_this_user_may_not_touch_is_named(
    home: Home, part: str, mode: int, code: int, kind: str
) -> None:
    path = home.state_dir / part
    usual, before = path.stat().st_mode, kept(home.memory)
    path.chmod(mode)
    try:
        told = observe(home, before=(sys.executable, "-c", WITHOUT_ROOT))
    finally:
        path.chmod(usual)
    if kind:
        assert (told.code, told.error["code"]) == (code, kind), told
        assert str(path) in told.error["message"] + told.error["hint"]
        if "ledger" not in part:  # by then the commit is under way, and the next run goes on with it
            assert before["observations.md"] == kept(home.memory)["observations.md"]
    if "logs" in part:
        assert told.code == 0 and "no log written" in told.said
    assert in_process(home).code == 0
    assert home.log.count("950 euros") == 1 and home.log.count("14 June") == 1


@pytest.mark.parametrize(
    "name", ["", ".total-recall", "observations.md", ".total-recall/ledger.jsonl", ".total-recall/state.json"]
)
def test_a_folder_where_a_file_should_be_and_the_reverse(home: Home, name: str) -> None:
    path = home.memory / name
    aside = home.folder / "aside"
    path.rename(aside)
    if aside.is_dir():
        path.write_bytes(b"in the way")
    else:
        path.mkdir()
    told = in_process(home)
    assert (told.code, told.error["code"]) == (1, "storage")
    assert str(path) in told.error["message"]
    assert path.is_dir() or path.read_bytes() == b"in the way"
    path.rmdir() if path.is_dir() else path.unlink()
    aside.rename(path)
    assert in_process(home).code == 0
    assert home.log.count("950 euros") == 1 and home.log.count("14 June") == 1


def test_a_log_folder_that_is_a_file_is_only_a_warning(home: Home) -> None:
    shutil.rmtree(home.memory.parent / "logs")
    (home.memory.parent / "logs").write_bytes(b"")
    told = observe(home)
    assert told.code == 0 and "no log written" in told.said
    assert "950 euros" in home.log


# Damaged bookkeeping -------------------------------------------------------------------------------------------------

DAMAGE = [b"", b"{", b"[]", b"null", b"5", b'"x"', b"{}", b"\xff\xfe", b"\x00" * 50, b"[" * 200_000]


@pytest.mark.parametrize(
    "content",
    [
        *DAMAGE,
        b'{"lines": [], "removed": {}, "rows": [], "before": {}, "state": 5}',
        b'{"lines": ["- x <!-- dc:type=fact -->"], "removed": {}, "rows": [], "before": {}, "state": {"cursors": [1]}}',
        b'{"lines": [5], "removed": {}, "rows": [], "before": {"size": 0, "sha256": ""}, "state": {}}',
    ],
)
def test_a_damaged_journal_is_named_and_touches_nothing(home: Home, content: bytes) -> None:
    journal = home.memory / ".total-recall" / "journal.json"
    journal.write_bytes(content)
    before = kept(home.memory)
    told = in_process(home)
    assert (told.code, kept(home.memory)) == (1, before)
    assert told.error["code"] == "storage"
    assert str(journal) in told.error["message"] and "move it away" in told.error["hint"]
    journal.unlink()
    assert in_process(home).code == 0
    assert home.log.count("950 euros") == 1 and home.log.count("14 June") == 1


@pytest.mark.parametrize(
    "content",
    [
        *DAMAGE,
        b'{"since_ms": 1e999}',
        b'{"since_ms": 5, "provisional": {"x": []}}',
        b'{"since_ms": 5, "cursors": {"jsonl:x": ""}}',
        b'{"since_ms": 5, "cursors": {"tape:x": "1"}}',
    ],
)
def test_a_damaged_state_is_made_good_and_kept_aside(home: Home, content: bytes) -> None:
    state = home.memory / ".total-recall" / "state.json"
    state.write_bytes(content)
    assert in_process(home).code == 0
    assert home.log.count("950 euros") == 1 and home.log.count("14 June") == 1
    assert state.with_suffix(".damaged").read_bytes() == content


@pytest.mark.parametrize(
    "content", [*DAMAGE, b'{"calls": "many", "day": 5, "holds": [1], "gone": {"m": "x"}}']
)
def test_a_damaged_memo_of_calls_begins_anew(home: Home, content: bytes) -> None:
    (home.memory / ".total-recall" / "calls.json").write_bytes(content)
    store = home.jsonl()
    store.user(SID, "The boat is #note-1", at=at("09:06"))
    with fake_model.FakeModel(cite) as server:
        home.model(server)
        assert in_process(home).code == 0
    assert tags_in(home.log) == {"#note-1": 1}


def test_damaged_lines_of_the_ledger_are_passed_over(home: Home) -> None:
    ledger = home.memory / ".total-recall" / "ledger.jsonl"
    junk = (
        b"\x00\xff\n"
        + b'{"e":"covered","uids":5}\n{"e":"covered"\n[1]\n"e"\n{"e":"observed","id":7,"date":[]}\n'
    )
    ledger.write_bytes(junk + ledger.read_bytes() + b'{"e":"covered","uids":["torn')
    (home.memory / ".total-recall" / "state.json").unlink()
    assert in_process(home).code == 0
    assert home.log.count("950 euros") == 1 and home.log.count("14 June") == 1
    assert all(line.endswith(b"}") for line in ledger.read_bytes().splitlines()[6:])


def test_a_mark_in_front_of_the_log_hides_no_note(tmp_path: Path) -> None:
    night = Night(tmp_path / "home")
    notes = [line for line in LOG.splitlines() if line.startswith("- ")]
    night.put("\n".join(notes) + "\n")
    assert night.night("account", "--accept").code == 0
    night.put("\ufeff" + night.log)
    told = night.night("account").result
    assert (told["faults"], told["live"]) == ([], len(notes))
    assert night.night("run").code == 0
    assert night.night("account").result["faults"] == []
    assert night.rows("forgotten") == [] and night.raw.startswith("\ufeff")


def test_a_mark_that_an_editor_adds_during_a_night_stays_in_front(tmp_path: Path) -> None:
    night = Night(tmp_path / "home").begun(LOG)
    draft = night.log
    night.put("\ufeff" + LOG + "- my plain note\n")
    assert night.redraft(draft).code == 0
    assert night.raw.startswith("\ufeff# Observations Log\n") and night.raw.count("# Observations Log") == 1
    assert night.raw.endswith("- my plain note\n")


# The program's own files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("damage", "part"),
    [
        (None, "cannot be read: No such file"),
        (b"  \n", "is empty"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"Now: $now, costs $5\n", "disagree on placeholders"),
        (b"Now: $now $later\n", "disagree on placeholders"),
    ],
)
def test_prompts_that_are_missing_or_damaged(
    home: Home, tmp_path: Path, damage: Optional[bytes], part: str
) -> None:
    skill = tmp_path / "skill"
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(SCRIPTS, skill / "scripts", ignore=ignored)
    shutil.copytree(SCRIPTS.parent / "prompts", skill / "prompts", ignore=ignored)
    prompt = skill / "prompts" / "observer-window.txt"
    prompt.unlink() if damage is None else prompt.write_bytes(damage)
    log = home.log
    with fake_model.FakeModel(cite) as server:
        home.model(server)
        done = subprocess.run(
            [sys.executable, str(skill / "scripts" / "observer.py"), "--now", "2026-11-30T09:10:00Z"],
            env={
                **home.environ,
                "PYTHONDONTWRITEBYTECODE": "1",
                "OPENCLAW_WORKSPACE": str(home.memory.parent),
            },
            capture_output=True,
        )
        told = json.loads(done.stdout)
        assert (done.returncode, server.requests) == (3, [])
    assert part in told["error"]["message"] and "observer-window.txt" in told["error"]["message"]
    assert home.log == log


# Surroundings --------------------------------------------------------------------------------------------------------


def test_an_empty_environment_is_enough(home: Home) -> None:
    home.environ = {"LLM_PROVIDER": "none", "OPENCLAW_STATE_DIR": str(home.state_dir), "TZ": "UTC"}
    assert observe(home).code == 0
    assert "950 euros" in home.log


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-16"])
def test_any_encoding_of_the_terminal_and_odd_names_of_folders(tmp_path: Path, encoding: str) -> None:
    home = Home(tmp_path / "hö me \"🦀' $x")
    store = home.jsonl()
    store.start(SID, at=at("09:00"))
    store.user(SID, "🎉 我妹妹的婚礼在六月十四日在波尔图 — don't forget 14 June", at=at("09:00") + minutes(1))
    done = subprocess.run(
        home.command(now=at("09:10")),
        env={**home.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C"},
        capture_output=True,
    )
    assert done.returncode == 0
    assert json.loads(done.stdout.decode(encoding))["observations_written"] == 1
    assert "1 observation written to" in done.stderr.decode(encoding)
    assert "六月十四日" in home.log


STREAMS = {
    "stdout closed": ">&-",
    "stderr closed": "2>&-",
    "everything closed": "<&- >&- 2>&-",
    "nobody reads": "| true",
    "disk full": ">/dev/full 2>/dev/full",
}


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")
@pytest.mark.parametrize("kind", STREAMS)
def test_a_run_that_nobody_listens_to_does_its_work_and_ends_well(home: Home, kind: str) -> None:
    script = f'"$@" {STREAMS[kind]}; echo "ended ${{PIPESTATUS[0]}}" >"$LEFT"'
    left = home.folder / "left"
    done = subprocess.run(
        ["bash", "-c", script, "bash", *home.command(now=at("09:10"))],
        env={**home.environ, "LEFT": str(left)},
        capture_output=True,
        text=True,
    )
    assert left.read_text() == "ended 0\n"
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    assert "950 euros" in home.log


def test_a_working_folder_that_is_gone_does_not_matter(home: Home) -> None:
    (home.folder / "gone").mkdir()
    leave = (
        "import os, sys; os.chdir(sys.argv[1]); os.rmdir(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])"
    )
    told = observe(home, before=(sys.executable, "-c", leave, str(home.folder / "gone")))
    assert told.code == 0 and "950 euros" in home.log


@pytest.mark.parametrize(
    "content", [b"", b"# Observations Log\n", b'`$HOME` "quotes" $(id) \\n {}\n', b"\xff\x00\r\n"]
)
def test_a_log_that_is_empty_or_odd_is_added_to(home: Home, content: bytes) -> None:
    path = home.memory / "observations.md"
    path.write_bytes(content)
    assert in_process(home).code == 0
    assert path.read_bytes().startswith(content)
    assert home.log.count("950 euros") == 1 if b"\xff" not in content else b"950 euros" in path.read_bytes()
