"""Pictures decoded by several threads, a batch at a time."""

import math
from collections.abc import Callable, Generator
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from fdch.data.pictures.images import Pictures
from fdch.data.rows import TOGETHER, count_threads, in_threads

Pixels = NDArray[np.uint8]
_AHEAD = 2  # what each thread decodes ahead, in turns of some rows


def decode_batches(
    pictures: Pictures,
    size: int,
    batch: int = 64,
    workers: int | None = None,
    allocate: Callable[[tuple[int, ...]], Pixels] | None = None,
) -> Generator[Pixels]:
    """Decode all rows in threads and yield them in order, a batch at a time.

    Args:
        pictures: Rows that all have a picture.
        size: Rows and columns of the decoded pictures.
        batch: Pictures given at a time.
        workers: Threads; None for one to each core.
        allocate: Makes the memory of a batch from its shape, such as memory that a
            device reads. It is used again: a batch is overwritten once the second
            batch after it is requested. None gives every batch its own.

    Yields:
        RGB values, shape (up to batch, size, size, 3).
    """
    threads = workers or count_threads()
    count, batch = len(pictures), max(1, min(batch, len(pictures)))
    # a divisor of the batch, so that a broken picture costs no batch before its own
    together = math.gcd(batch, max(1, min(TOGETHER, batch // threads)))
    # two that the caller may read, and those that threads write to
    buffers = 2 + math.ceil((_AHEAD * threads + 1) * together / batch)
    make = allocate or (lambda shape: np.empty(shape, dtype=np.uint8))
    memory = [
        make((batch, size, size, 3))
        for _ in range(min(buffers, math.ceil(count / batch)))
    ]

    def find_memory(row: int) -> Pixels:
        return memory[row // batch % len(memory)]

    def decode(row: int) -> None:
        pictures.decode(row, size, find_memory(row)[row % batch])

    with closing(in_threads(decode, count, threads, together, _AHEAD)) as decoded:
        for row, _ in enumerate(decoded):
            if row % batch == batch - 1 or row == count - 1:
                pixels = find_memory(row)[: row % batch + 1]
                yield pixels if allocate else pixels.copy()
