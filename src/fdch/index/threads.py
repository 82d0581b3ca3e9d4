"""Threads that share a search; they sleep between searches and never spin."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

from fdch.machine import usable_cores

Task = Callable[[], None]


def share(tasks: Sequence[Task], threads: int) -> None:
    """Do all tasks, so many at a time, one of the threads being the caller's."""
    if threads == 1 or len(tasks) == 1:
        for task in tasks:
            task()
        return
    pending = list(reversed(tasks))  # taken from the end by whoever is free

    def work() -> None:
        while True:
            try:
                task = pending.pop()
            except IndexError:
                return
            task()

    others = min(threads, len(tasks)) - 1
    helping = [_pool().submit(work) for _ in range(others)]
    work()
    for help in helping:
        help.result()


def ranges(start: int, stop: int, pieces: int) -> list[tuple[int, int]]:
    """Cut a range into pieces of about one size.

    >>> ranges(0, 10, 3)
    [(0, 3), (3, 6), (6, 10)]
    """
    pieces = max(1, min(pieces, stop - start))
    cuts = [start + (stop - start) * i // pieces for i in range(pieces + 1)]
    return list(pairwise(cuts))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, usable_cores()), "fdch-search")


if hasattr(os, "register_at_fork"):  # a forked child has none of the threads
    os.register_at_fork(after_in_child=_pool.cache_clear)
