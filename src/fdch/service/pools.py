"""Work in a few threads, with a bound on how much of it may wait."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from fdch.service.http.problems import too_busy

_P = ParamSpec("_P")
_T = TypeVar("_T")


class BoundedPool:
    """Threads that refuse work when too much of it waits.

    Args:
        threads: Works done at a time.
        waiting: Works that may wait besides.
        name: Of the threads.
    """

    def __init__(self, threads: int, waiting: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._most = threads + waiting
        self._held = 0

    async def run(
        self, work: Callable[_P, _T], *args: _P.args, **named: _P.kwargs
    ) -> _T:
        """Do some work in a thread."""
        if self._held >= self._most:
            raise too_busy("too many pictures and items are being read.")
        self._held += 1
        done = self._pool.submit(work, *args, **named)
        # counted until the thread is free, even where nobody waits any more
        loop = asyncio.get_running_loop()
        done.add_done_callback(lambda _: _told(loop, self._release))
        return await asyncio.wrap_future(done)

    def close(self) -> None:
        """End the threads when they have finished."""
        self._pool.shutdown(cancel_futures=True)

    def _release(self) -> None:
        self._held -= 1


def _told(loop: asyncio.AbstractEventLoop, release: Callable[[], None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(release)
