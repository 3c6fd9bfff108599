"""What to start when: pure decisions, with the time given."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _watch.agenda import FLUSH, OBSERVE, RECOVERY, Agenda, Backlog, cooldown_left


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
    assert agenda.next_at == 10.0
    assert agenda.take(10.0) == OBSERVE
    assert agenda.next_at == math.inf


def test_a_job_that_is_due_goes_before_a_higher_one_that_is_not() -> None:
    agenda = Agenda()
    agenda.want(RECOVERY, 20.0)
    agenda.want(OBSERVE, 10.0)
    assert agenda.take(15.0) == OBSERVE


def test_of_one_kind_only_one_waits_and_the_earliest_time_counts() -> None:
    agenda = Agenda()
    for at in (10.0, 5.0, 20.0):
        agenda.want(RECOVERY, at)
    assert agenda.next_at == 5.0
    assert [agenda.take(30.0), agenda.take(30.0)] == [RECOVERY, ""]


@given(st.lists(st.tuples(st.sampled_from([RECOVERY, FLUSH, OBSERVE]), st.floats(0, 100))))
def test_nothing_starts_before_its_time_and_nothing_is_forgotten(wanted: "list[tuple[str, float]]") -> None:
    agenda = Agenda()
    for job, at in wanted:
        agenda.want(job, at)
    taken = set()
    while agenda.next_at < math.inf:
        now = agenda.next_at
        job = agenda.take(now)
        assert min(at for name, at in wanted if name == job) == now
        taken.add(job)
    assert taken == {job for job, _at in wanted}


def test_a_good_run_settles_what_waited_when_it_began() -> None:
    backlog = Backlog()
    backlog.add(40)
    backlog.begin()
    backlog.add(3)
    assert (backlog.waiting, backlog.fresh) == (43, 3)
    backlog.settle(True)
    assert (backlog.waiting, backlog.fresh) == (3, 3)


def test_after_a_failed_run_all_of_it_waits_again() -> None:
    backlog = Backlog()
    backlog.add(40)
    backlog.begin()
    backlog.add(3)
    backlog.settle(False)
    assert backlog.fresh == 43


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
