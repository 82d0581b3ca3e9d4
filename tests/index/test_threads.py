"""Tasks are all done, and failures are seen."""

import os
import threading
from functools import partial

import pytest

from fdch.index.threads import ranges, share


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_every_task_is_done_once(threads):
    done: list[int] = []
    share([partial(done.append, i) for i in range(50)], threads)
    assert sorted(done) == list(range(50))


def test_two_threads_work_at_a_time():
    meeting = threading.Barrier(2, timeout=10)
    arrived: list[int] = []
    share([lambda: arrived.append(meeting.wait())] * 2, 2)
    assert sorted(arrived) == [0, 1]


def test_a_failure_is_raised():
    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        share([fail, fail, fail], 2)


def test_ranges_cover_everything_once():
    assert ranges(0, 10, 4) == [(0, 2), (2, 5), (5, 7), (7, 10)]
    assert ranges(3, 5, 9) == [(3, 4), (4, 5)]
    assert ranges(0, 0, 2) == [(0, 0)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_gets_threads_of_its_own():
    from fdch.index import threads as crew

    before = crew._pool()
    crew._pool.cache_clear()
    assert crew._pool() is not before
