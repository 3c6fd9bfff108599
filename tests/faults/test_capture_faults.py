"""Kill an urgent observer anywhere between capture and answer: all is in memory once, and the brief is up to date."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_observer_faults import Driver

import fake_model
from observer_testing import Home, at, cite, tags_in
from transcript_builders import SID, SID_2

URGENT = ("--recover", "all")
EVERY = 3  # of the system calls is tried, beginning at another one with each fault
TAGS = {"#note-1": 1, "#note-2": 1, "#note-3": 1, "#note-4": 1}


@pytest.fixture(scope="module")
def server() -> "Iterator[fake_model.FakeModel]":
    with fake_model.FakeModel(cite) as running:
        yield running


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    with Driver() as running:
        yield running


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, server: fake_model.FakeModel) -> Home:
    """A home with an observed message, a captured one, and new ones in both eras."""
    home = Home(tmp_path_factory.mktemp("prepared"))
    home.model(server)
    store = home.jsonl()
    store.start(SID, at=at("08:30"))
    store.user(SID, "The lease for my flat is #note-1", at=at("08:31"))
    assert home.run(now=at("08:35")).code == 0
    store.user(SID, "My daughter Lea starts school on 24 August #note-2", at=at("08:40"))
    with fake_model.FakeModel(fake_model.fails(402, "no credit")) as broke:
        home.model(broke)
        assert home.run("--flush", now=at("08:45")).result["provisional"] == 1
    home.model(server)
    store.user(SID, "My sister's wedding is on 14 June in Porto #note-3", at=at("09:00"))
    with home.sqlite() as newer:
        newer.start(SID_2, "agent:main:telegram:direct:7", at=at("09:05"))
        newer.user(SID_2, "I want to run the Hamburg marathon on 25 April 2027 #note-4", at=at("09:06"))
    return home


def copy_of(prepared: Home, folder: Path) -> Home:
    shutil.copytree(prepared.folder, folder, dirs_exist_ok=True)
    return Home(folder, {**prepared.environ, "HOME": str(folder)})


@pytest.mark.timeout(300)
@pytest.mark.parametrize("first, fault", [(1, "kill"), (2, "torn"), (3, "fail-on")])
def test_a_fault_at_any_system_call_loses_and_repeats_nothing(
    prepared: Home, driver: Driver, tmp_path: Path, first: int, fault: str
) -> None:
    whole = copy_of(prepared, tmp_path / "whole")
    calls = driver.run(whole, *URGENT)["calls"]
    assert tags_in(whole.log) == TAGS and "provisional" not in whole.log
    assert calls > 60
    for number in range(first, calls + 1, EVERY):
        home = copy_of(prepared, tmp_path / str(number))
        driver.run(home, *URGENT, fault=fault, number=number)
        assert "#note-1" in home.log
        assert driver.run(home)["code"] == 0, f"after {fault} at call {number}"
        assert tags_in(home.log) == TAGS, f"after {fault} at call {number}"
        assert tags_in(home.brief) == TAGS, f"after {fault} at call {number}"
        assert "provisional" not in home.log and home.state["provisional"] == {}
