"""What takes long to find out is remembered, and found out again when it is due."""

import threading

import pytest
from tests.service.running import wait_until

from fdch.service.index.contents import FRESH_SECONDS, QUICK_SECONDS, Cached


class Found:
    """Counts its calls, each of which takes some time of its clock."""

    def __init__(self, takes=0.0):
        self.now, self.takes, self.count = 0.0, takes, 0
        self.go = threading.Event()
        self.go.set()

    def clock(self):
        return self.now

    def find(self):
        self.go.wait(60)
        self.now += self.takes
        self.count += 1
        if self.count < 0:
            raise OSError("it fails")
        return {"count": self.count}


def test_what_is_fresh_is_not_found_out_again():
    found = Found()
    known = Cached(found.find, found.clock)
    assert known.get() == known.get() == {"count": 1}
    found.now += FRESH_SECONDS + 1
    assert known.get() == {"count": 2}


def test_a_change_is_seen_at_once_where_that_is_quick():
    found = Found()
    known = Cached(found.find, found.clock)
    known.get()
    known.forget()
    assert known.get() == {"count": 2}


def test_nobody_waits_for_what_takes_long_a_second_time():
    found = Found(takes=10 * QUICK_SECONDS)
    known = Cached(found.find, found.clock)
    known.get()
    known.forget()
    assert known.get() == {"count": 1}
    found.now += 1000
    found.go.clear()
    assert known.get() == known.get() == {"count": 1}
    found.go.set()
    wait_until(lambda: known.get() == {"count": 2})


def test_a_failure_leaves_what_is_known(caplog):
    found = Found(takes=10 * QUICK_SECONDS)
    known = Cached(found.find, found.clock)
    known.get()
    found.now += 1000
    found.count = -100
    assert known.get() == {"count": 1}
    wait_until(lambda: "it fails" in caplog.text)
    assert known.get() == {"count": 1}


def test_a_failure_at_first_is_raised():
    found = Found()
    found.count = -100
    with pytest.raises(OSError, match="it fails"):
        Cached(found.find, found.clock).get()
