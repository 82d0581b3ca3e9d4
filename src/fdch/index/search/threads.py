"""Threads that share a search; they sleep between searches and never spin."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise

from fdch.machine import usable_cores

Task = Callable[[], None]


def share(tasks: Sequence[Task], threads: int) -> None:
    """Run all tasks, so many at a time; the caller's thread is one of the threads."""
    if threads == 1 or len(tasks) == 1:
        for task in tasks:
            task()
        return
    pending = list(reversed(tasks))  # taken from the end by any free thread

    def work() -> None:
        while True:
            try:
                task = pending.pop()
            except IndexError:
                return
            task()

    others = min(threads, len(tasks)) - 1
    helping = [_pool().submit(work) for _ in range(others)]
    try:
        work()
    finally:
        pending.clear()
        begun = [help for help in helping if not help.cancel()]
        wait(begun)
    for help in begun:
        help.result()


def ranges(start: int, stop: int, pieces: int, step: int = 1) -> list[tuple[int, int]]:
    """Cut a range into pieces of about one size, whole steps from the start.

    >>> ranges(0, 10, 3)
    [(0, 3), (3, 6), (6, 10)]
    >>> ranges(0, 10, 3, 4)
    [(0, 4), (4, 8), (8, 10)]
    """
    steps = -(-(stop - start) // step)
    pieces = max(1, min(pieces, steps))
    cuts = [start + steps * i // pieces * step for i in range(pieces)]
    return list(pairwise([*cuts, stop]))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, usable_cores()), "fdch-search")


if hasattr(os, "register_at_fork"):  # a forked child has none of the threads
    os.register_at_fork(after_in_child=_pool.cache_clear)
