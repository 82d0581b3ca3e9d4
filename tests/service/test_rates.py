"""The rate limit: so many at once, then so many a minute, to each key."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.service.http import limits
from fdch.service.http.limits import RateLimit


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_a_bucket_empties_and_refills():
    clock = Clock()
    limit = RateLimit(6, clock)
    assert [limit.wait("a") for _ in range(6)] == [0.0] * 6
    assert limit.wait("a") == pytest.approx(10.0)
    clock.now = 9.0
    assert limit.wait("a") == pytest.approx(1.0)
    clock.now = 10.0
    assert limit.wait("a") == 0.0
    assert limit.wait("a") > 0


@pytest.mark.parametrize("jump", [-3600, 365 * 24 * 3600])
def test_a_clock_that_is_set_changes_no_rate(monkeypatch, jump):
    limit = RateLimit(1)
    assert limit.wait("a") == 0.0
    now = time.time() + jump
    monkeypatch.setattr("time.time", lambda: now)
    monkeypatch.setattr("time.time_ns", lambda: int(now * 10**9))
    assert 0 < limit.wait("a") <= 60


def test_keys_do_not_share():
    limit = RateLimit(1, Clock())
    assert limit.wait("a") == limit.wait("b") == 0.0
    assert limit.wait("a") == limit.wait("b") == 60.0


def test_memory_is_bounded():
    limit = RateLimit(1, Clock())
    for number in range(limits._MAX_KEYS + 500):
        limit.wait(str(number))
    assert len(limit._left) == limits._MAX_KEYS


@given(st.integers(1, 100), st.lists(st.floats(0, 30), max_size=200))
def test_no_more_than_the_bucket_and_its_refill_pass(per_minute, pauses):
    clock = Clock()
    limit = RateLimit(per_minute, clock)
    passed = 0
    for pause in pauses:
        clock.now += pause
        passed += limit.wait("a") == 0
    assert passed <= per_minute + clock.now * per_minute / 60 + 1e-6
