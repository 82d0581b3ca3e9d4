"""Pictures decoded by several threads, a batch at a time."""

import math
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from fdch.data.pictures.images import Pictures
from fdch.data.rows import THREAD_PREFIX, TOGETHER, count_threads

Pixels = NDArray[np.uint8]
# what threads decode ahead of the batch in use, in turns of TOGETHER rows each
_TURNS_AHEAD = 2


def decode_batches(
    pictures: Pictures,
    size: int,
    batch: int = 64,
    workers: int | None = None,
    allocate: Callable[[tuple[int, ...]], Pixels] | None = None,
) -> Generator[Pixels]:
    """Decode all rows in threads and give them in order, a batch at a time.

    Args:
        pictures: Rows that all have a picture.
        size: Rows and columns of the decoded pictures.
        batch: Pictures given at a time.
        workers: Threads; none takes one for each core.
        allocate: Makes the memory of a batch from its shape, such as memory that a
            device reads. It is used again: a batch is overwritten once the second
            batch after it is requested. None gives every batch its own.

    Yields:
        RGB values, shape (up to batch, size, size, 3).
    """
    threads = workers or count_threads()
    batch = max(1, min(batch, len(pictures)))
    together = max(1, min(TOGETHER, batch // threads))
    ahead = 1 + math.ceil(_TURNS_AHEAD * threads * together / batch)
    memory = _memory((batch, size, size, 3), ahead + 2, allocate)
    waiting: deque[tuple[Pixels, list[Future[None]]]] = deque()

    def decode_rows(pixels: Pixels, first: int, start: int) -> None:
        for place in range(start, min(start + together, len(pixels))):
            pictures.decode(first + place, size, pixels[place])

    pool = ThreadPoolExecutor(threads, thread_name_prefix=THREAD_PREFIX)
    try:
        for first in range(0, len(pictures), batch):
            pixels = next(memory)[: len(pictures) - first]
            starts = range(0, len(pixels), together)
            waiting.append(
                (pixels, [pool.submit(decode_rows, pixels, first, s) for s in starts])
            )
            if len(waiting) > ahead:
                yield _finish(*waiting.popleft())
        while waiting:
            yield _finish(*waiting.popleft())
    finally:
        pool.shutdown(cancel_futures=True)


def _memory(
    shape: tuple[int, ...],
    count: int,
    allocate: Callable[[tuple[int, ...]], Pixels] | None,
) -> Generator[Pixels]:
    """Give the memory of batch after batch: new each time, or of `count` in turn."""
    if allocate is None:
        while True:
            yield np.empty(shape, dtype=np.uint8)
    made: list[Pixels] = []
    for _ in range(count):
        made.append(allocate(shape))
        yield made[-1]
    while True:
        yield from made


def _finish(pixels: Pixels, decoded: list[Future[None]]) -> Pixels:
    for rows in decoded:
        rows.result()
    return pixels
