"""Noticing changes by inotify, and going on without it."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from _watch.notice import MARKERS, SESSIONS, STORE, Exhausted, Inotify
from _watch.outlook import Outlook, Ways
from _watch.seen import Seen
from _watch.voice import Voice
from transcript_builders import SID, JsonlStore, SqliteStore
from transcript_testing import config_at
from watcher_testing import until

if not sys.platform.startswith("linux"):
    pytest.skip("there is no inotify here", allow_module_level=True)

import inotify_simple  # noqa: E402


class Library:
    """inotify_simple, with limits and events as a test wants them."""

    def __init__(self) -> None:
        self.instances = self.watches = 1_000
        self.extra: "list[Any]" = []
        self.made = 0
        self.flags = inotify_simple.flags

    def INotify(self) -> Any:
        if self.instances <= 0:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        self.made += 1
        return Instance(self)


class Instance:
    def __init__(self, library: Library) -> None:
        self.library, self.real = library, inotify_simple.INotify()

    def add_watch(self, path: str, mask: int) -> int:
        if self.library.watches <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return int(self.real.add_watch(path, mask))

    def rm_watch(self, number: int) -> None:
        self.real.rm_watch(number)

    def read(self, timeout: int) -> "list[Any]":
        extra, self.library.extra = self.library.extra, []
        return [*self.real.read(timeout=timeout), *extra]

    def fileno(self) -> int:
        return int(self.real.fileno())

    def close(self) -> None:
        self.real.close()


@pytest.fixture
def folders(tmp_path: Path) -> "dict[str, Path]":
    return {
        SESSIONS: tmp_path / "main" / "sessions",
        STORE: tmp_path / "main" / "agent",
        MARKERS: tmp_path / "ws" / "memory" / "markers",
    }


@pytest.fixture
def inotify(folders: "dict[str, Path]") -> Any:
    found = Inotify(inotify_simple, folders, "openclaw-agent.sqlite")
    yield found
    found.close()


def test_folders_that_are_not_there_are_noticed_when_they_come(
    inotify: Inotify, folders: "dict[str, Path]"
) -> None:
    assert inotify.aim() == {SESSIONS, STORE, MARKERS}
    assert inotify.aim() == set()
    folders[SESSIONS].parent.mkdir()
    assert inotify.read().whole == {SESSIONS, STORE}  # both are awaited one folder further down now
    folders[SESSIONS].mkdir()
    assert inotify.read().whole == {SESSIONS}
    (folders[SESSIONS] / "a.jsonl").write_text("x")
    assert inotify.read().names == {"a.jsonl"}
    folders[MARKERS].mkdir(parents=True)  # three at once
    assert inotify.read().whole == {MARKERS}
    (folders[MARKERS] / "1.json").write_text("x")
    assert inotify.read().markers


def test_a_folder_that_goes_and_comes_back_is_watched_again(
    inotify: Inotify, folders: "dict[str, Path]"
) -> None:
    folders[SESSIONS].mkdir(parents=True)
    inotify.aim()
    for _ in range(3):
        folders[SESSIONS].rmdir()
        assert inotify.read().whole == {SESSIONS}
        folders[SESSIONS].mkdir()
        assert inotify.read().whole == {SESSIONS}
    folders[SESSIONS].rename(folders[SESSIONS].with_name("aside"))
    folders[SESSIONS].mkdir()
    assert inotify.read().whole == {SESSIONS}
    (folders[SESSIONS].with_name("aside") / "old.jsonl").write_text("x")
    (folders[SESSIONS] / "new.jsonl").write_text("x")
    assert inotify.read().names == {"new.jsonl"}


def test_names_that_went_are_told(inotify: Inotify, folders: "dict[str, Path]") -> None:
    folders[SESSIONS].mkdir(parents=True)
    (folders[SESSIONS] / "a").write_text("x")
    (folders[SESSIONS] / "b").write_text("x")
    inotify.aim()
    (folders[SESSIONS] / "a").unlink()
    (folders[SESSIONS] / "b").rename(folders[SESSIONS] / "c")
    dirt = inotify.read()
    assert (dirt.names, dirt.gone) == ({"a", "b", "c"}, {"a", "b"})


def test_of_the_store_only_its_own_files_matter(inotify: Inotify, folders: "dict[str, Path]") -> None:
    folders[STORE].mkdir(parents=True)
    inotify.aim()
    (folders[STORE] / "openclaw-agent.sqlite.reindex-lock.sqlite").write_text("x")
    (folders[STORE] / "openclaw-agent.sqlite-shm").write_text("x")
    assert not inotify.read().to_gather
    (folders[STORE] / "openclaw-agent.sqlite-wal").write_text("x")
    assert inotify.read().store


def test_watches_that_are_used_up_are_told(folders: "dict[str, Path]") -> None:
    library = Library()
    library.watches = 0
    found = Inotify(library, folders, "s")
    with pytest.raises(Exhausted, match="No space left"):
        found.aim()
    found.close()
    library.instances = 0
    with pytest.raises(Exhausted, match="Too many open files"):
        Inotify(library, folders, "s")


# The outlook, with a clock of its own --------------------------------------------------------------------------------


class Place:
    """An outlook over made-up folders; `said` is what it told."""

    def __init__(self, folder: Path, ways: Ways) -> None:
        self.said: "list[str]" = []
        self.sessions = folder / "agents" / "main" / "sessions"
        config = config_at(self.sessions)
        voice = Voice(self.said.append, folder / "logs" / "x.log", "main")
        self.outlook = Outlook(config, folder / "memory" / "markers", ways, voice)

    def seen(self, now: float) -> Seen:
        return self.outlook.look(now)[0]


@pytest.fixture
def library() -> Library:
    return Library()


@pytest.fixture
def place(tmp_path: Path, library: Library) -> Any:
    found = Place(tmp_path, Ways(library))
    yield found
    found.outlook.close()


def test_changes_are_gathered_for_a_third_of_a_second(place: Place) -> None:
    store = JsonlStore(place.sessions)
    store.start()
    place.outlook.begin(0.0)
    place.seen(0.0)
    place.seen(1.0)
    store.user(SID, "one")
    assert place.seen(10.0) == Seen()
    assert place.outlook.next_at == 10.3
    store.user(SID, "two")
    assert place.seen(10.2) == Seen()
    assert place.outlook.next_at == 10.3  # it is not put off by what comes later
    assert place.seen(10.3) == Seen(2)
    assert place.outlook.next_at > 100


def test_markers_are_not_gathered(place: Place, tmp_path: Path) -> None:
    place.outlook.begin(0.0)
    place.seen(0.0)
    assert place.outlook.look(1.0)[1] is False
    (tmp_path / "memory" / "markers" / "1.json").write_text("{}")
    assert place.outlook.look(10.0)[1] is True
    assert place.outlook.look(10.0)[1] is False


def test_after_a_queue_overflow_everything_is_looked_at(place: Place, library: Library) -> None:
    store = JsonlStore(place.sessions)
    store.start()
    with SqliteStore(place.sessions.parent / "agent" / "openclaw-agent.sqlite") as rows:
        rows.start()
        place.outlook.begin(0.0)
        place.seen(0.0)
        store.user(SID, "one")
        rows.user(SID, "two")
        inotify_of(place).read()  # the events are lost
        library.extra = [SimpleNamespace(wd=-1, mask=inotify_simple.flags.Q_OVERFLOW, cookie=0, name="")]
        place.seen(10.0)
        assert place.seen(10.3) == Seen(2)


def inotify_of(place: Place) -> Inotify:
    found = place.outlook._inotify
    assert found is not None
    return found


def test_what_was_missed_is_found_by_the_sweep(place: Place) -> None:
    store = JsonlStore(place.sessions)
    store.start()
    place.outlook.begin(0.0)
    place.seen(0.0)
    store.user(SID, "one")
    inotify_of(place).read()
    assert place.seen(10.0) == Seen()
    assert place.outlook.next_at == 600.0
    assert place.seen(600.0) == Seen(1)


def test_without_inotify_it_polls_says_so_once_and_tries_again(place: Place, library: Library) -> None:
    library.instances = 0
    place.outlook.begin(0.0)
    assert (place.outlook.mode, place.outlook.descriptor) == ("poll", None)
    store = JsonlStore(place.sessions)
    store.start()
    assert place.seen(0.0) == Seen(1)
    assert place.outlook.next_at == 5.0
    for now in (5.0, 180.0, 360.0, 540.0):
        place.seen(now)
    assert len([sentence for sentence in place.said if "inotify" in sentence]) == 1
    library.instances = 1
    place.seen(720.0)
    assert place.outlook.mode == "inotify"
    assert place.said[-1] == "watcher: inotify: in order again"
    assert place.outlook.next_at > 1_000


def test_watches_that_run_out_later_lead_to_polling_and_lose_nothing(place: Place, library: Library) -> None:
    place.outlook.begin(0.0)
    place.seen(0.0)
    library.watches = 0
    JsonlStore(place.sessions).start()
    found = place.seen(10.0).plus(place.seen(10.3))
    assert found == Seen(1)
    assert place.outlook.mode == "poll"


def test_a_sessions_folder_that_cannot_be_listed_is_told_once_and_tried_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = JsonlStore(place.sessions)
    store.start()
    place.outlook.begin(0.0)
    place.seen(0.0)

    def refuse(_folder: object) -> Any:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", refuse)
        for now in (600.0, 630.0, 660.0):
            place.seen(now)
    assert len([sentence for sentence in place.said if "cannot be listed" in sentence]) == 1
    store.user(SID, "one")
    assert place.outlook.next_at == 690.0
    assert place.seen(690.0) == Seen(1)
    assert place.said[-1] == "watcher: sessions: in order again"


def test_a_markers_folder_that_cannot_be_made_is_told_once_and_made_later(
    place: Place, tmp_path: Path
) -> None:
    (tmp_path / "memory").write_text("in the way")
    place.outlook.begin(0.0)
    for now in (0.0, 30.0, 60.0):
        place.seen(now)
    assert len([sentence for sentence in place.said if "in the way" in sentence]) == 1
    (tmp_path / "memory").unlink()
    place.seen(90.0)
    assert (tmp_path / "memory" / "markers").is_dir()
    assert place.said[-1] == "watcher: memory folder: in order again"


def test_what_stays_out_of_order_is_looked_at_ever_less_often(tmp_path: Path) -> None:
    place = Place(tmp_path, Ways(None, 3600.0))
    store = JsonlStore(place.sessions)
    os.symlink(f"{SID}.jsonl", store.path(SID))
    place.outlook.begin(0.0)
    looks = [place.outlook.next_at]
    while looks[-1] < 3000:
        place.seen(looks[-1])
        looks.append(place.outlook.next_at)
    assert looks == [0.0, 30.0, 90.0, 210.0, 450.0, 930.0, 1530.0, 2130.0, 2730.0, 3330.0]
    assert len([sentence for sentence in place.said if "cannot be read" in sentence]) == 1
    store.path(SID).unlink()
    place.seen(3330.0)
    assert place.said[-1] == "watcher: sessions: in order again"
    assert place.outlook.next_at == 3600.0


def test_a_log_that_cannot_be_written_is_told_once_and_stops_nothing(tmp_path: Path) -> None:
    said: "list[str]" = []
    (tmp_path / "logs").write_text("in the way")
    voice = Voice(said.append, tmp_path / "logs" / "x.log", "main")
    voice.tell("started")
    voice.trouble("sessions", "busy", "the store is busy")
    voice.trouble("sessions", "busy", "the store is busy")
    (tmp_path / "logs").unlink()
    voice.mended("sessions")
    assert [sentence.split(":")[1].strip() for sentence in said] == [
        "no log written",
        "the store is busy",
        "sessions",
    ]
    assert len((tmp_path / "logs" / "x.log").read_text().splitlines()) == 1


def test_polling_that_was_asked_for_leaves_inotify_alone(tmp_path: Path, library: Library) -> None:
    place = Place(tmp_path, Ways(None, 2.0))
    place.outlook.begin(0.0)
    store = JsonlStore(place.sessions)
    store.start()
    assert place.outlook.next_at == 0.0
    place.seen(0.0)
    store.user(SID, "one")
    assert place.outlook.next_at == 2.0
    assert place.seen(2.0) == Seen(1)
    assert library.made == 0
    assert until(lambda: place.outlook.mode, "a mode") == "poll"
