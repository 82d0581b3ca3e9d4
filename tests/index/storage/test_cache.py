"""What is kept of one commit, and what goes first."""

from types import SimpleNamespace

from fdch.index.storage.cache import _ENTRY_BYTES, Cache


def keep(cache, key, size):
    """Tell whether a value was kept already."""
    new = SimpleNamespace(nbytes=size)
    return cache.get(key, lambda: new) is not new


def test_the_least_recently_used_go_first():
    cache = Cache(2 * (_ENTRY_BYTES + 100))
    assert [keep(cache, key, 100) for key in "aba"] == [False, False, True]
    assert not keep(cache, "c", 100)  # and b, used least recently, goes
    assert [keep(cache, key, 100) for key in "acb"] == [True, True, False]


def test_the_latest_is_kept_whatever_its_size():
    cache = Cache(1)
    assert [keep(cache, key, 10**9) for key in "aab"] == [False, True, False]
    assert len(cache) == 1


def test_results_without_a_byte_are_limited_too():
    cache = Cache(10 * _ENTRY_BYTES)
    for key in range(100):
        keep(cache, key, 0)
    assert len(cache) == 10
