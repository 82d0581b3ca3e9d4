"""Threads for an event loop: one that works in batches, and a bounded pool."""

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, ParamSpec, TypeVar

from fdch.service.http.problems import too_busy

_Job = TypeVar("_Job")
_Answer = TypeVar("_Answer")
_P = ParamSpec("_P")
_T = TypeVar("_T")
GATHERING_SECONDS = 0.002
STOPPED = "the service is stopping."


@dataclass(frozen=True, eq=False)
class _Entry(Generic[_Job, _Answer]):
    job: _Job
    future: "asyncio.Future[_Answer]"


class Batcher(Generic[_Job, _Answer]):
    """Hands jobs of an event loop, some at a time, to one thread.

    A single job starts at once. After a batch of several, the thread waits up to two
    milliseconds for the next to fill: under load, batches grow by themselves.

    Args:
        work: Gives for each job its answer, or the error to raise.
        most: Jobs in a batch.
        name: Of the thread.
        observe: Called with each batch's size.
    """

    def __init__(
        self,
        work: Callable[[list[_Job]], list[_Answer | Exception]],
        most: int,
        name: str,
        observe: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._work, self._most, self._observe = work, most, observe
        self._waiting: queue.SimpleQueue[_Entry[_Job, _Answer] | None]
        self._waiting = queue.SimpleQueue()
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
        entry = _Entry[_Job, _Answer](job, self._loop.create_future())
        self._waiting.put(entry)
        return await entry.future

    def close(self) -> None:
        """Finish what was submitted, then end the thread."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._thread.is_alive():
            self._waiting.put(None)
            self._thread.join()

    def _run(self) -> None:
        size = 0
        is_last = False
        while not is_last:
            first = self._waiting.get()
            if size > 1 and self._waiting.qsize() + 1 < min(size, self._most):
                time.sleep(GATHERING_SECONDS)
            gathered, is_last = self._gather(first)
            size = len(gathered)
            # whoever gave up waiting has cancelled
            wanted = [entry for entry in gathered if not entry.future.cancelled()]
            if wanted:
                self._finish(wanted)

    def _gather(
        self, first: _Entry[_Job, _Answer] | None
    ) -> tuple[list[_Entry[_Job, _Answer]], bool]:
        gathered: list[_Entry[_Job, _Answer]] = []
        entry = first
        while entry is not None:
            gathered.append(entry)
            if len(gathered) == self._most:
                return gathered, False
            try:
                entry = self._waiting.get_nowait()
            except queue.Empty:
                return gathered, False
        return gathered, True

    def _finish(self, entries: list[_Entry[_Job, _Answer]]) -> None:
        answers: list[_Answer | Exception]
        try:
            answers = self._work([entry.job for entry in entries])
        except Exception as problem:
            answers = [problem] * len(entries)
        self._observe(len(entries))
        assert self._loop is not None
        # a loop that has ended has no waiting clients
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(_deliver, entries, answers)


def _deliver(
    entries: list[_Entry[_Job, _Answer]], answers: list[_Answer | Exception]
) -> None:
    for entry, answer in zip(entries, answers, strict=True):
        if entry.future.done():
            continue
        if isinstance(answer, Exception):
            entry.future.set_exception(answer)
        else:
            entry.future.set_result(answer)


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
        done.add_done_callback(lambda _: self._release(loop))
        return await asyncio.wrap_future(done)

    def close(self) -> None:
        """End the threads when they have finished."""
        self._pool.shutdown(cancel_futures=True)

    def _release(self, loop: asyncio.AbstractEventLoop) -> None:
        def release() -> None:
            self._held -= 1

        if not loop.is_closed():
            loop.call_soon_threadsafe(release)
