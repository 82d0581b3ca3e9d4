"""Threads for an event loop: one that works in batches, and a bounded pool."""

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, ParamSpec, TypeVar

from fdch.service.http.problems import too_busy

_Job = TypeVar("_Job")
_Answer = TypeVar("_Answer")
_P = ParamSpec("_P")
_T = TypeVar("_T")
GATHERING_SECONDS = 0.002
STOPPED = "the service is stopping."


class Batcher(Generic[_Job, _Answer]):
    """Passes jobs from an event loop to one thread, in batches.

    A single job starts at once. After a batch of several, the thread waits up to two
    milliseconds for the next to fill: under load, batches grow by themselves.

    Args:
        work: Gives for each job its answer, or the error to raise.
        max_batch: Jobs in a batch.
        name: Of the thread.
        observe: Called with each batch's size.
    """

    def __init__(
        self,
        work: Callable[[list[_Job]], list[_Answer | Exception]],
        max_batch: int,
        name: str,
        observe: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._work, self._max_batch, self._observe = work, max_batch, observe
        # jobs with where their answers go; None for the end
        self._waiting: queue.SimpleQueue[
            tuple[_Job, asyncio.Future[_Answer]] | None
        ] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin; answers are given on this loop."""
        self._loop = loop
        self._thread.start()

    @property
    def length(self) -> int:
        """Jobs that wait."""
        return self._waiting.qsize()

    async def submit(self, job: _Job) -> _Answer:
        """Wait for a job's answer."""
        if self._is_closed or self._loop is None:
            raise RuntimeError(STOPPED)
        future = self._loop.create_future()
        self._waiting.put((job, future))
        return await future

    def close(self) -> None:
        """Finish what was submitted, then end the thread."""
        self._is_closed = True
        if self._thread.is_alive():
            self._waiting.put(None)
            self._thread.join()

    def _run(self) -> None:
        size = 0
        while (entry := self._waiting.get()) is not None:
            if size > 1 and self._waiting.qsize() + 1 < min(size, self._max_batch):
                time.sleep(GATHERING_SECONDS)
            gathered = [entry]
            while len(gathered) < self._max_batch and not self._waiting.empty():
                entry = self._waiting.get()
                if entry is None:
                    self._waiting.put(None)  # the last one, for the next round
                    break
                gathered.append(entry)
            size = len(gathered)
            # a client that stopped waiting has cancelled its future
            wanted = [each for each in gathered if not each[1].cancelled()]
            if wanted:
                self._finish(wanted)

    def _finish(self, entries: list[tuple[_Job, asyncio.Future[_Answer]]]) -> None:
        answers: list[_Answer | Exception]
        try:
            answers = self._work([job for job, _ in entries])
        except Exception as problem:
            answers = [problem] * len(entries)
        self._observe(len(entries))
        assert self._loop is not None
        futures = [future for _, future in entries]
        # a loop that has ended has no waiting clients
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(_deliver, futures, answers)


def _deliver(
    futures: list[asyncio.Future[_Answer]], answers: list[_Answer | Exception]
) -> None:
    for future, answer in zip(futures, answers, strict=True):
        if future.done():
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)


class BoundedPool:
    """Threads that refuse work when too much of it waits."""

    def __init__(self, threads: int, waiting: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._places = threading.Semaphore(threads + waiting)

    async def run(
        self, work: Callable[_P, _T], *args: _P.args, **named: _P.kwargs
    ) -> _T:
        """Run a function in a thread."""
        if not self._places.acquire(blocking=False):
            raise too_busy("too many pictures and items are being read.")
        done = self._pool.submit(work, *args, **named)
        # taken until the thread is free, even if the request was cancelled
        done.add_done_callback(lambda _: self._places.release())
        return await asyncio.wrap_future(done)

    def close(self) -> None:
        """End the threads when they have finished."""
        self._pool.shutdown(cancel_futures=True)
