"""The compiled full scan for all rows within a radius.

Importing this file needs numba.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fdch.compiled import compiled
from fdch.index.search.block_kernels import (
    Look,
    block_rows,
    lay_out,
    next_in_block,
    room_for_planes,
)
from fdch.index.search.keys import NUMBER_BITS, NUMBER_MASK
from fdch.index.search.slice_kernels import collect
from fdch.index.search.slice_vectors import SLICE
from fdch.index.search.stretch_kernels import (
    STREAMS,
    collect_stretches,
    room_for_stretches,
    stretch_rows,
)

Flat = NDArray[np.unsignedinteger[Any]]
Int: TypeAlias = Any  # a machine integer, which NumPy and Python type differently
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@compiled
def _show_block(
    rows: Flat,
    planes: Flat,
    start: Int,
    stop: Int,
    look: Look,
    queries: Flat,
    limit: Int,
    found: Ints,
    sizes: Ints,
    near: Ints,
) -> None:
    """Show one block to all queries, and take up what is nearer than the limit."""
    words, first, dead = look
    for j in range(sizes.shape[0]):
        i = next_in_block(rows, planes, start, start, stop, queries, j, words, limit)
        while i < stop:
            end = min(i - i % SLICE + SLICE, stop)
            for at in range(collect(rows, i, end, queries, j, words, limit, near)):
                number = near[at] & NUMBER_MASK
                if dead.shape[0] and dead[number]:
                    continue
                if sizes[j] < found.shape[1]:
                    far = near[at] >> NUMBER_BITS
                    found[j, sizes[j]] = (far << NUMBER_BITS) | (first + number)
                sizes[j] += 1
            i = next_in_block(rows, planes, start, end, stop, queries, j, words, limit)


@compiled
def _show_stretches(
    rows: Flat,
    start: Int,
    stop: Int,
    look: Look,
    queries: Flat,
    limit: Int,
    found: Ints,
    sizes: Ints,
) -> Int:
    """Show a range of rows to a lone query, several stretches at once.

    Gives where it stopped, since too few rows are left, or too many are near.
    """
    words, first, dead = look
    length, left = stretch_rows(rows, words, stop - start), start
    if length == 0 or limit <= 0:
        return start
    near, taken = room_for_stretches(), np.empty(STREAMS, np.int64)
    while left + STREAMS * length <= stop:
        if not collect_stretches(
            rows, left, length, queries, 0, words, limit, near, taken
        ):
            break
        for stream in range(STREAMS):
            for i in range(taken[stream]):
                number = near[stream, i] & NUMBER_MASK
                if dead.shape[0] and dead[number]:
                    continue
                if sizes[0] < found.shape[1]:
                    far = near[stream, i] >> NUMBER_BITS
                    found[0, sizes[0]] = (far << NUMBER_BITS) | (first + number)
                sizes[0] += 1
        left += STREAMS * length
    return left


@compiled
def rows_within(
    rows: Flat,
    words: Int,
    start: Int,
    stop: Int,
    first: Int,
    dead: Flags,
    queries: Flat,
    limit: Int,
    found: Ints,
    sizes: Ints,
) -> None:
    """Find the rows of a range nearer than the limit, in order of their numbers.

    Told as `nearest_rows` is. Where `found` has too little room, `sizes` still
    counts all of them.
    """
    look = words, first, dead
    near = np.empty(SLICE, np.int64)
    planes = room_for_planes(rows, words, sizes.shape[0])
    block = block_rows(rows, words, planes)
    begin = start
    if sizes.shape[0] == 1 and planes.shape[0] == 0:
        begin = _show_stretches(rows, start, stop, look, queries, limit, found, sizes)
    for left in range(begin, stop, block):
        right = min(left + block, stop)
        lay_out(rows, left, right, words, planes)
        _show_block(rows, planes, left, right, look, queries, limit, found, sizes, near)
