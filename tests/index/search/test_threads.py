"""Threads run every task, and failures are raised."""

import os
import subprocess
import sys
import threading
from functools import partial

import pytest

from fdch.index.search.scan import BYTES_TO_SHARE, threads_for
from fdch.index.search.threads import _pool, ranges, share
from fdch.machine import usable_cores


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_every_task_is_done_once(threads):
    done: list[int] = []
    share([partial(done.append, i) for i in range(50)], threads)
    assert sorted(done) == list(range(50))


def test_two_threads_work_at_a_time():
    meeting = threading.Barrier(2, timeout=60)
    arrived: list[int] = []
    share([lambda: arrived.append(meeting.wait())] * 2, 2)
    assert sorted(arrived) == [0, 1]


def test_a_failure_is_raised():
    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        share([fail, fail, fail], 2)


def test_nobody_waits_for_helpers_that_have_not_begun():
    go_on, busy = threading.Event(), threading.Semaphore(0)

    def wait_long():
        busy.release()
        assert go_on.wait(60)

    cores = usable_cores()
    others = [_pool().submit(wait_long) for _ in range(cores)]
    for _ in range(cores):  # all helpers have something to do
        assert busy.acquire(timeout=60)
    done: list[int] = []
    share([partial(done.append, i) for i in range(10)], 2)
    assert sorted(done) == list(range(10))
    assert not any(other.done() for other in others)
    go_on.set()
    for other in others:
        other.result()


def test_after_a_failure_nothing_more_is_begun():
    begun: list[int] = []

    def fail():
        begun.append(1)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        share([fail] * 1000, 2)
    assert len(begun) < 1000


def test_ranges_cover_everything_once():
    assert ranges(0, 10, 4) == [(0, 2), (2, 5), (5, 7), (7, 10)]
    assert ranges(3, 5, 9) == [(3, 4), (4, 5)]
    assert ranges(0, 0, 2) == [(0, 0)]
    assert ranges(0, 300, 2, 128) == [(0, 128), (128, 300)]
    assert ranges(5, 100, 2, 128) == [(5, 100)]


def test_little_work_is_not_shared():
    assert threads_for(1_000_000, 8, 1, 2) == 1
    assert threads_for(BYTES_TO_SHARE // 8, 8, 1, 2) == 1


def test_each_thread_has_enough_work():
    assert threads_for(BYTES_TO_SHARE // 8, 8, 2, 4) == 2
    assert threads_for(BYTES_TO_SHARE // 32, 32, 100, 4) == 4


def test_no_work_takes_one_thread():
    assert threads_for(0, 8, 1, 2) == 1


FORKED = """
import os, threading
from fdch.index.search.threads import share

def meet():
    meeting = threading.Barrier(2, timeout=60)
    share([meeting.wait, meeting.wait], 2)

meet()
child = os.fork()
if child == 0:
    meet()
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_gets_threads_of_its_own():
    ignored = "-Wignore::DeprecationWarning"  # of a fork beside threads
    subprocess.run([sys.executable, ignored, "-c", FORKED], check=True)
