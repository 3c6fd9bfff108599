"""The gateway hook, run by Node as OpenClaw runs it: markers, the brief, and never a word where it does not belong."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pytest

from _markers import read_markers
from _transcripts.keys import is_machine_key

HOOK = Path(__file__).resolve().parent.parent / "hooks" / "total-recall"
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="there is no node here: the gateway hook is JavaScript")

# Reads one event a line, calls the handler with it, answers with how long that took, how often it waited, and the event
# as it is by then.
# "take" and "done" (milliseconds) make a watcher that takes markers up and is done with them.
DRIVER = """
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
const { default: handler, isMachineKey } = await import(process.argv[2]);
const later = globalThis.setTimeout;
let waits = 0;
globalThis.setTimeout = (...told) => { waits += 1; return later(...told); };
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { event, keys, folder, take, done } = JSON.parse(line);
  if (keys) { console.log(JSON.stringify(keys.map(isMachineKey))); continue; }
  const watcher = take === undefined ? undefined : setInterval(() => {
    for (const name of fs.existsSync(folder) ? fs.readdirSync(folder) : []) {
      if (!name.endsWith(".json")) continue;
      const taken = path.join(folder, name.replace(/json$/, "taken"));
      fs.renameSync(path.join(folder, name), taken);
      if (done !== undefined) later(() => fs.rmSync(taken), done);
    }
  }, take);
  waits = 0;
  const begin = performance.now();
  const value = await handler(event);
  clearInterval(watcher);
  console.log(JSON.stringify({ took: performance.now() - begin, waits, event, value: value === undefined }));
}
"""


class Gateway:
    """An installed hook in a Node process, which handles events."""

    def __init__(self, folder: Path) -> None:
        self.hook = folder / "hooks" / "total-recall"
        shutil.copytree(HOOK, self.hook)
        driver = folder / "driver.mjs"
        driver.write_text(DRIVER, "utf-8")
        self._process = subprocess.Popen(
            [str(NODE), str(driver), (self.hook / "handler.js").as_uri()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ask(self, **told: Any) -> Any:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def fire(self, event: Any, **watcher: Any) -> "dict[str, Any]":
        """Handle an event; returns how it went."""
        told = self.ask(event=event, **watcher)
        assert isinstance(told, dict) and told["value"]
        return told

    def close(self) -> str:
        """End it; returns what it complained about."""
        _out, err = self._process.communicate(timeout=20)
        return err


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    running = Gateway(tmp_path)
    yield running
    assert running.close() == ""


class Memory:
    """A workspace with its memory, as setup leaves it."""

    def __init__(self, folder: Path, agent: str = "main", brief: str = "") -> None:
        self.workspace, self.agent = folder, agent
        self.folder = folder / "memory"
        self.private = self.folder / ".total-recall"
        self.folder.mkdir(parents=True)
        if brief:
            self.private.mkdir()
            (self.private / "brief.txt").write_text(brief, "utf-8")

    @property
    def entry(self) -> "dict[str, str]":
        return {
            "workspace": str(self.workspace),
            "agent_id": self.agent,
            "memory_dir": str(self.folder),
        }

    @property
    def markers(self) -> Path:
        return self.private / "markers"

    @property
    def events(self) -> "list[str]":
        return [marker.event for marker in read_markers(self.markers)]


def configure(gateway: Gateway, *memories: Memory) -> None:
    config = {"schema": 1, "memories": [memory.entry for memory in memories]}
    (gateway.hook / "config.json").write_text(json.dumps(config), "utf-8")


@pytest.fixture
def memory(gateway: Gateway, tmp_path: Path) -> Memory:
    found = Memory(tmp_path / "ws", brief=BRIEF)
    configure(gateway, found)
    return found


BRIEF = "<total-recall-brief>\nNotes.\n- 🔴 The boat is called Albatros\n</total-recall-brief>\n"


def event(
    name: str, key: str = "agent:main:main", workspace: Optional[Path] = None, **context: Any
) -> "dict[str, Any]":
    kind, _, action = name.partition(":")
    where = {"workspaceDir": str(workspace)} if workspace else {}
    return {
        "type": kind,
        "action": action,
        "sessionKey": key,
        "context": {**where, **context},
        "messages": [],
    }


# As 2026.3.13, 2026.7.1 and 2026.9.6 sent them.
OLD = {"sessionId": "0f0e-1", "sessionFile": "/home/me/.openclaw/agents/main/sessions/0f0e-1.jsonl"}
NEW = {"sessionId": "0f0e-2"}
ERAS: "dict[str, dict[str, Any]]" = {
    "2026.3.13": {"sessionEntry": NEW, "previousSessionEntry": OLD, "commandSource": "gateway:agent"},
    "2026.7.1": {"workspace": True, "sessionEntry": NEW, "previousSessionEntry": OLD, "cfg": {}},
    "2026.9.6": {
        "workspace": True,
        "agentId": "main",
        "sessionEntry": NEW,
        "previousSessionEntry": {"sessionId": "0f0e-1"},
    },
}


def of_era(name: str, era: str, memory: Memory) -> "dict[str, Any]":
    context = dict(ERAS[era])
    workspace = memory.workspace if context.pop("workspace", False) else None
    return event(name, workspace=workspace, **context)


# Markers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", ["command:new", "command:reset"])
def test_a_marker_names_the_session_that_ended(gateway: Gateway, memory: Memory, era: str, name: str) -> None:
    gateway.fire(of_era(name, era, memory))
    (marker,) = read_markers(memory.markers)
    assert (marker.event, marker.session_id, marker.session_key) == (name, "0f0e-1", "agent:main:main")
    assert marker.session_file == ("" if era == "2026.9.6" else OLD["sessionFile"])
    assert marker.at_ms > 1_700_000_000_000 and marker.path.name.startswith(f"{marker.at_ms}-")
    assert json.loads(marker.path.read_text("utf-8")) == {
        "schema": 1,
        "event": name,
        "at_ms": marker.at_ms,
        "session_id": "0f0e-1",
        "session_key": "agent:main:main",
        "session_file": marker.session_file,
        "agent_id": "main",
        "reason": "",
    }
    assert stat.S_IMODE(marker.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(memory.markers.stat().st_mode) == 0o700


def test_resets_of_the_clock_and_compactions_are_marked_too(gateway: Gateway, memory: Memory) -> None:
    context = {"agentId": "main", "sessionEntry": {"sessionId": "0f0e-3"}, "reason": "idle"}
    gateway.fire(event("session:auto-reset", workspace=memory.workspace, **context))
    gateway.fire(event("session:compact:before", sessionId="0f0e-4", messageCount=9))
    found = read_markers(memory.markers)
    assert [(one.event, one.session_id) for one in found] == [
        ("session:auto-reset", "0f0e-3"),
        ("session:compact:before", "0f0e-4"),
    ]
    assert json.loads(found[0].path.read_text("utf-8"))["reason"] == "idle"


@pytest.mark.parametrize(
    "key",
    ["agent:main:subagent:0f0e", "agent:main:cron:9", "agent:main:cron:9:run:0f0e", "agent:main:heartbeat"],
)
def test_sessions_of_machines_are_left_alone(gateway: Gateway, memory: Memory, key: str) -> None:
    gateway.fire(event("command:new", key, memory.workspace, previousSessionEntry=OLD))
    told = gateway.fire(event("agent:bootstrap", key, memory.workspace, bootstrapFiles=[]))
    assert memory.events == [] and told["event"]["context"]["bootstrapFiles"] == []


def test_events_that_nobody_asked_for_do_nothing(gateway: Gateway, memory: Memory) -> None:
    for name in (
        "command:stop",
        "session:compact:after",
        "gateway:startup",
        "message:received",
        "agent:other",
    ):
        gateway.fire(event(name, workspace=memory.workspace))
    assert memory.events == []


def leave_for_seconds(memory: Memory, seconds: int) -> None:
    """Make all markers so much older."""
    for path in memory.markers.iterdir():
        left_at, _, rest = path.name.partition("-")
        path.rename(path.with_name(f"{int(left_at) - seconds * 1000}-{rest}"))


def test_what_was_left_a_moment_ago_does_not_say_that_nobody_watches(
    gateway: Gateway, memory: Memory
) -> None:
    """Sessions that end at the same time, as at the daily reset, are all waited for."""
    (memory.markers).mkdir()
    gateway.fire(event("session:compact:before", sessionId="0f0e-4"))
    told = gateway.fire(
        of_era("command:new", "2026.9.6", memory), folder=str(memory.markers), take=10, done=600
    )
    assert told["took"] > 580


def test_markers_of_an_agent_that_nobody_watches_hold_up_no_other(gateway: Gateway, memory: Memory) -> None:
    other = Memory.__new__(Memory)
    other.workspace, other.agent = memory.workspace, "b"
    other.folder, other.private = memory.folder, memory.private
    configure(gateway, memory, other)
    for _ in range(205):
        gateway.fire(event("session:compact:before", "agent:b:main", memory.workspace))
    os.mkfifo(memory.markers / "1-pipe.json")
    leave_for_seconds(memory, 2)
    assert gateway.fire(of_era("command:new", "2026.9.6", memory))["took"] > 230
    assert [one.event for one in read_markers(memory.markers, "main")] == ["command:new"]


def test_without_a_watcher_it_waits_a_quarter_of_a_second_once(gateway: Gateway, memory: Memory) -> None:
    first = gateway.fire(of_era("command:new", "2026.9.6", memory))
    leave_for_seconds(memory, 2)
    second = gateway.fire(of_era("command:new", "2026.9.6", memory))
    # At least 230 ms, and not once more after a quarter of a second, however slow the machine is.
    assert first["took"] > 230 and 0 < first["waits"] <= 13
    assert second["waits"] == 0
    assert memory.events == ["command:new", "command:new"]


def test_a_compaction_is_not_held_up(gateway: Gateway, memory: Memory) -> None:
    assert gateway.fire(event("session:compact:before", sessionId="0f0e-4"))["waits"] == 0


def test_it_waits_until_what_was_said_is_in_memory(gateway: Gateway, memory: Memory) -> None:
    told = gateway.fire(
        of_era("command:new", "2026.9.6", memory), folder=str(memory.markers), take=10, done=600
    )
    assert told["took"] > 580 and told["waits"] > 0
    assert memory.events == []


def test_it_does_not_wait_for_ever(gateway: Gateway, memory: Memory) -> None:
    told = gateway.fire(of_era("command:new", "2026.9.6", memory), folder=str(memory.markers), take=10)
    assert told["took"] > 2900
    assert told["waits"] <= 3250 // 20 + 1
    assert [marker.taken for marker in read_markers(memory.markers)] == [True]


def test_markers_that_nobody_takes_do_not_pile_up(gateway: Gateway, memory: Memory) -> None:
    for _ in range(210):
        gateway.fire(event("session:compact:before", sessionId="0f0e-4"))
    assert len(memory.events) == 200
    assert [path for path in memory.markers.iterdir() if path.suffix != ".json"] == []


@pytest.mark.parametrize("part", [".total-recall", "markers"])
def test_a_link_leads_nowhere(gateway: Gateway, memory: Memory, tmp_path: Path, part: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "brief.txt").write_text("another's notes", "utf-8")
    if part == ".total-recall":
        shutil.rmtree(memory.private)
        memory.private.symlink_to(outside)
    else:
        memory.markers.symlink_to(outside)
    gateway.fire(of_era("command:new", "2026.9.6", memory))
    assert sorted(path.name for path in outside.iterdir()) == ["brief.txt"]
    told = gateway.fire(event("agent:bootstrap", workspace=memory.workspace, bootstrapFiles=[]))
    shown = json.dumps(told["event"], ensure_ascii=False)
    assert "another's notes" not in shown and ("Albatros" in shown) == (part == "markers")


def test_a_brief_that_is_a_link_is_not_shown(gateway: Gateway, memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text("another's notes", "utf-8")
    (memory.private / "brief.txt").unlink()
    (memory.private / "brief.txt").symlink_to(tmp_path / "key.pem")
    told = gateway.fire(event("agent:bootstrap", workspace=memory.workspace, bootstrapFiles=[]))
    assert told["event"]["context"]["bootstrapFiles"] == []


# The brief -----------------------------------------------------------------------------------------------------------


def shown(gateway: Gateway, *args: Any, **named: Any) -> "list[Any]":
    """The bootstrap files of a turn as the hook leaves them."""
    named.setdefault("bootstrapFiles", [{"name": "AGENTS.md", "path": "/ws/AGENTS.md", "content": "x"}])
    files = gateway.fire(event("agent:bootstrap", *args, **named))["event"]["context"]["bootstrapFiles"]
    assert isinstance(files, list)
    return files


def test_the_brief_is_added_to_a_turn(gateway: Gateway, memory: Memory) -> None:
    first, added = shown(gateway, workspace=memory.workspace)
    assert first["name"] == "AGENTS.md"
    path = str(memory.folder / "observations.md")
    assert added == {"name": "memory/observations.md", "path": path, "content": BRIEF, "missing": False}


def test_it_is_never_there_twice(gateway: Gateway, memory: Memory) -> None:
    path = str(memory.folder / "observations.md")
    for there in (
        {"name": "memory/observations.md", "path": "/elsewhere", "missing": True},
        {"name": "other.md", "path": path},
    ):
        (only,) = shown(gateway, workspace=memory.workspace, bootstrapFiles=[there])
        assert only == {**there, "content": BRIEF, "missing": False}


@pytest.mark.parametrize("text", [None, "", "  \n"])
def test_an_empty_brief_is_not_shown(gateway: Gateway, memory: Memory, text: Optional[str]) -> None:
    path = memory.private / "brief.txt"
    path.unlink()
    if text is not None:
        path.write_text(text, "utf-8")
    assert len(shown(gateway, workspace=memory.workspace)) == 1


def test_a_brief_longer_than_the_host_takes_is_cut_at_a_line_and_closed(
    gateway: Gateway, memory: Memory
) -> None:
    lines = "".join(f"- 🟡 note number {number}\n" for number in range(3000))
    (memory.private / "brief.txt").write_text(
        f"<total-recall-brief>\n{lines}</total-recall-brief>\n", "utf-8"
    )
    content = shown(gateway, workspace=memory.workspace)[1]["content"]
    assert len(content.encode("utf-16-le")) // 2 <= 20_000
    assert re.search(r"\n- 🟡 note number \d+\n</total-recall-brief>\n\Z", content)


@pytest.mark.parametrize(
    "key",
    ["agent:main:telegram:group:-100:topic:42", "agent:main:discord:channel:7", "agent:main:subagent:1"],
)
def test_notes_of_one_person_are_not_shown_where_others_read_along(
    gateway: Gateway, memory: Memory, key: str
) -> None:
    assert len(shown(gateway, key, memory.workspace)) == 1


@pytest.mark.parametrize(
    "key", ["agent:main:main", "agent:main:telegram:direct:4", "agent:main:explicit:think"]
)
def test_a_persons_own_sessions_see_them(gateway: Gateway, memory: Memory, key: str) -> None:
    assert len(shown(gateway, key, memory.workspace)) == 2


def test_what_is_shown_is_known_again_by_the_reader_of_transcripts(memory: Memory) -> None:
    from _transcripts.clean import unwrap

    heading = f"## {memory.folder}/observations.md\n"
    assert unwrap(BRIEF + "What is the boat called?").text == "What is the boat called?"
    assert "Albatros" not in unwrap("Please look:\n" + heading + BRIEF + "\nand tell me").text


# Whose memory --------------------------------------------------------------------------------------------------------


@pytest.fixture
def three(gateway: Gateway, tmp_path: Path) -> "dict[str, Memory]":
    """Two agents in workspaces of their own, and a third that shares the first one's."""
    made = {
        "main": Memory(tmp_path / "one", "main", BRIEF.replace("Albatros", "One")),
        "work": Memory(tmp_path / "two", "work", BRIEF.replace("Albatros", "Two")),
    }
    made["shared"] = Memory(tmp_path / "three" / "own", "shared", BRIEF.replace("Albatros", "Three"))
    made["shared"].workspace = made["main"].workspace
    configure(gateway, *made.values())
    return made


@pytest.mark.parametrize("agent", ["main", "work", "shared"])
@pytest.mark.parametrize("named", ["by id", "by key"])
def test_agents_and_workspaces_never_meet(
    gateway: Gateway, three: "dict[str, Memory]", agent: str, named: str
) -> None:
    context = {"agentId": agent} if named == "by id" else {}
    key = f"agent:{agent}:main" if named == "by key" else "main"
    gateway.fire(event("command:new", key, three[agent].workspace, **context))
    assert {name: len(memory.events) for name, memory in three.items()} == {
        name: int(name == agent) for name in three
    }
    files = shown(gateway, key, three[agent].workspace, bootstrapFiles=[], **context)
    assert [found["path"] for found in files] == [str(three[agent].folder / "observations.md")]


def test_a_stranger_is_left_alone(gateway: Gateway, three: "dict[str, Memory]", tmp_path: Path) -> None:
    main = three["main"].workspace
    for key, workspace in (
        ("agent:other:main", main),
        ("agent:main:main", three["work"].workspace),
        ("agent:main:main", tmp_path / "nowhere"),
        ("agent:other:main", None),
        ("main", main),  # two agents share it
        ("main", None),
    ):
        gateway.fire(event("command:new", key, workspace))
        assert shown(gateway, key, workspace, bootstrapFiles=[]) == []
    assert [memory.events for memory in three.values()] == [[], [], []]


def test_a_workspace_is_known_under_any_of_its_names(
    gateway: Gateway, three: "dict[str, Memory]", tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(three["work"].workspace)
    for name in (f"{three['work'].workspace}/", str(link), f"{tmp_path}/one/../two"):
        files = shown(gateway, "agent:work:main", bootstrapFiles=[], workspaceDir=name)
        assert [found["path"] for found in files] == [str(three["work"].folder / "observations.md")]


def test_a_host_that_names_no_workspace_is_served_by_the_agent_alone(
    gateway: Gateway, three: "dict[str, Memory]", tmp_path: Path
) -> None:
    gateway.fire(event("command:new", "agent:work:main"))
    assert three["work"].events == ["command:new"]
    twin = Memory(tmp_path / "twin", "work")
    configure(gateway, *three.values(), twin)
    gateway.fire(event("command:new", "agent:work:main"))
    assert (three["work"].events, twin.events) == (["command:new"], [])


# Whatever comes ------------------------------------------------------------------------------------------------------

CONFIGS = [
    None,
    b"",
    b"{",
    b"null",
    b"[]",
    b'{"schema":2,"memories":[]}',
    b'{"schema":1,"memories":{}}',
    b'{"schema":1,"memories":[null,1,"x",{}]}',
    b'{"schema":1,"memories":[{"workspace":"ws","agent_id":"main","memory_dir":"ws/memory"}]}',
    b"\xff\xfe",
]


@pytest.mark.parametrize("config", CONFIGS)
def test_a_configuration_that_is_none_switches_it_off(
    gateway: Gateway, memory: Memory, config: Optional[bytes]
) -> None:
    path = gateway.hook / "config.json"
    path.unlink()
    if config is not None:
        path.write_bytes(config)
    gateway.fire(of_era("command:new", "2026.9.6", memory))
    assert memory.events == [] and len(shown(gateway, workspace=memory.workspace)) == 1


def test_no_event_makes_it_throw(gateway: Gateway, memory: Memory) -> None:
    garbage: "list[Any]" = [None, 1, "x", [], {}, {"type": "command"}, {"type": "command", "action": "new"}]
    for context in (None, 1, "x", [], {"workspaceDir": 7, "agentId": {}, "previousSessionEntry": "x"}):
        for name in ("command:new", "session:auto-reset", "session:compact:before", "agent:bootstrap"):
            garbage.append({**event(name), "context": context})
            garbage.append({**event(name), "sessionKey": {"a": 1}, "context": context})
    for files in (None, 1, {}, "x", [None, 1, "x"]):
        garbage.append(event("agent:bootstrap", workspace=memory.workspace, bootstrapFiles=files))
    for one in garbage:
        gateway.fire(one)


def test_a_memory_folder_that_is_gone_or_a_file_is_left_alone(gateway: Gateway, memory: Memory) -> None:
    shutil.rmtree(memory.folder)
    gateway.fire(of_era("command:new", "2026.9.6", memory))
    assert not memory.folder.exists()
    memory.folder.write_text("", "utf-8")
    gateway.fire(of_era("command:new", "2026.9.6", memory))
    assert len(shown(gateway, workspace=memory.workspace)) == 1


def test_machines_are_told_by_their_keys_as_the_observer_tells_them(gateway: Gateway) -> None:
    keys = [
        "",
        "main",
        "agent",
        "agent:main",
        "agent:cron:main",
        "agent:main:main",
        "cron:1",
        "agent:main:cron:1:run:2",
        "agent:main:subagent:1",
        "agent:main:hook:gmail",
        "agent:main:heartbeat",
        "agent:main:main:heartbeat",
        "agent:main:active-memory",
        "agent:main:dreaming",
        "agent:main:dreaming-rem-1",
        "agent:main:boot",
        "agent:main:Cron:1",
        "agent:main:telegram:group:cron",
        "agent:main:discord:channel:hook",
        "agent:main:telegram:direct:subagent",
        "agent:main:cron:group:1",
        "cron:group:1",
        "agent:main:explicit:think",
        "agent:main:main:thread:9",
    ]
    expected = [is_machine_key(key) for key in keys]
    assert gateway.ask(keys=keys) == expected
    assert 8 < sum(expected) < len(keys)


def test_it_imports_nothing_but_files_and_a_dice() -> None:
    source = (HOOK / "handler.js").read_text("utf-8")
    assert sorted(re.findall(r'from "([^"]+)"', source)) == [
        "node:crypto",
        "node:fs",
        "node:path",
        "node:url",
    ]
    assert re.findall(r"\b(?:require|import|eval|fetch|Function|WebSocket|process)\b\s*[(.]", source) == [
        "import."
    ]


def test_its_manual_names_the_events_that_it_handles() -> None:
    manual = (HOOK / "HOOK.md").read_text("utf-8").split("---")[1]
    name, description = re.findall(r"^(?:name|description): (.*)$", manual, re.MULTILINE)
    metadata = json.loads(re.sub(r",(\s*[}\]])", r"\1", manual.split("metadata:")[1]))
    assert name == "total-recall" and description
    assert metadata["openclaw"]["events"] == [
        "command:new",
        "command:reset",
        "session:auto-reset",
        "session:compact:before",
        "agent:bootstrap",
    ]
