"""What to start when: pure decisions, with the time given."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _watch.agenda import FLUSH, OBSERVE, RECOVERY, URGENT, Agenda, Backlog, cooldown_left, retry_seconds


def test_recovery_comes_before_a_flush_before_an_observer() -> None:
    agenda = Agenda()
    for job in (OBSERVE, FLUSH, RECOVERY):
        agenda.want(job, 10.0)
    assert [agenda.take(10.0) for _ in range(4)] == [RECOVERY, FLUSH, OBSERVE, ""]


def test_a_job_waits_for_its_time() -> None:
    agenda = Agenda()
    agenda.want(OBSERVE, 10.0)
    assert agenda.take(9.9) == ""
    assert OBSERVE in agenda and FLUSH not in agenda
    assert agenda.next_at() == 10.0
    assert agenda.take(10.0) == OBSERVE
    assert agenda.next_at() == math.inf


def test_a_job_that_is_due_goes_before_a_higher_one_that_is_not() -> None:
    agenda = Agenda()
    agenda.want(RECOVERY, 20.0)
    agenda.want(OBSERVE, 10.0)
    assert agenda.take(15.0) == OBSERVE


def test_what_may_not_start_now_is_left_waiting_and_wakes_nobody() -> None:
    agenda = Agenda()
    agenda.want(OBSERVE, 1.0)
    agenda.want(FLUSH, 5.0)
    assert agenda.next_at(URGENT) == 5.0
    assert [agenda.take(9.0, URGENT), agenda.take(9.0, URGENT)] == [FLUSH, ""]
    assert agenda.next_at(URGENT) == math.inf
    assert agenda.take(9.0) == OBSERVE


def test_of_one_kind_only_one_waits_and_the_earliest_time_counts() -> None:
    agenda = Agenda()
    for at in (10.0, 5.0, 20.0):
        agenda.want(RECOVERY, at)
    assert agenda.next_at() == 5.0
    assert [agenda.take(30.0), agenda.take(30.0)] == [RECOVERY, ""]


@given(st.lists(st.tuples(st.sampled_from([RECOVERY, FLUSH, OBSERVE]), st.floats(0, 100))))
def test_nothing_starts_before_its_time_and_nothing_is_forgotten(wanted: "list[tuple[str, float]]") -> None:
    agenda = Agenda()
    for job, at in wanted:
        agenda.want(job, at)
    taken = set()
    while agenda.next_at() < math.inf:
        now = agenda.next_at()
        job = agenda.take(now)
        assert min(at for name, at in wanted if name == job) == now
        taken.add(job)
    assert taken == {job for job, _at in wanted}


def test_a_good_run_settles_what_waited_when_it_began() -> None:
    backlog = Backlog()
    backlog.add(40)
    backlog.begin(OBSERVE)
    backlog.add(3)
    assert (backlog.waiting, backlog.fresh) == (43, 3)
    backlog.settle(OBSERVE, True)
    assert (backlog.waiting, backlog.fresh) == (3, 3)


def test_after_a_failed_run_all_of_it_waits_again() -> None:
    backlog = Backlog()
    backlog.add(40)
    backlog.begin(OBSERVE)
    backlog.add(3)
    backlog.settle(OBSERVE, False)
    assert backlog.fresh == 43


def test_what_a_flush_beside_an_observer_took_in_is_not_taken_in_again() -> None:
    backlog = Backlog()
    backlog.add(40)
    backlog.begin(OBSERVE)
    backlog.add(3)
    backlog.begin(FLUSH)
    backlog.add(2)
    assert backlog.fresh == 2
    backlog.settle(FLUSH, True)
    assert (backlog.waiting, backlog.fresh) == (2, 2)
    backlog.settle(OBSERVE, True)
    assert backlog.waiting == 2


def test_a_flush_that_fails_beside_an_observer_leaves_what_the_observer_is_at() -> None:
    backlog = Backlog()
    backlog.add(40)
    backlog.begin(OBSERVE)
    backlog.add(3)
    backlog.begin(FLUSH)
    backlog.settle(FLUSH, False)
    assert (backlog.waiting, backlog.fresh) == (43, 3)


def test_lines_that_are_taken_back_never_go_below_none() -> None:
    backlog = Backlog()
    backlog.add(5)
    backlog.add(-9)
    assert backlog.waiting == 0


@pytest.mark.parametrize(
    "last_run, left",
    [(None, 0.0), (1000.0, 300.0), (900.0, 200.0), (700.0, 0.0), (1.0, 0.0), (5000.0, 0.0)],
)
def test_the_cooldown_counts_from_the_last_run(last_run: "float | None", left: float) -> None:
    assert cooldown_left(last_run, 1000.0, 300) == left


@pytest.mark.parametrize(
    "failures, cooldown, seconds",
    [(1, 0, 1.0), (2, 0, 2.0), (5, 0, 16.0), (9, 0, 256.0), (10, 0, 300.0), (10_000, 0, 300.0)]
    + [(1, 300, 300.0), (10, 3600, 3600.0), (2, 1, 2.0)],
)
def test_what_fails_again_is_tried_ever_later(failures: int, cooldown: int, seconds: float) -> None:
    assert retry_seconds(failures, cooldown) == seconds
