"""Work on many rows in threads; Pillow and hashing let go of the lock."""

from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from fdch.machine import usable_cores

_T = TypeVar("_T")
_MAX_THREADS = 32
_AHEAD = 4


def in_threads(
    work: Callable[[int], _T], count: int, workers: int | None = None
) -> Generator[_T]:
    """Give work(0), work(1), ... in order, computed a little ahead in threads.

    An error is raised in its place in the order; work not begun is dropped.
    """
    threads = workers or min(_MAX_THREADS, usable_cores())
    waiting: deque[Future[_T]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="fdch-rows")
    try:
        for row in range(count):
            waiting.append(pool.submit(work, row))
            if len(waiting) > _AHEAD * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
