"""Compiled collecting of what is near, from several stretches of rows at once.

Importing this file needs numba.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fdch.compiled import compiled
from fdch.index.search.slice_kernels import collect, four_of, pair_of
from fdch.index.search.slice_vectors import SLICE, near_rows, near_words

Flat = NDArray[np.unsignedinteger[Any]]
Int: TypeAlias = Any  # a machine integer, which NumPy and Python type differently
Ints = NDArray[np.int64]

# Memory gives more in the same time where it is read in a few places far apart.
STREAMS = 4  # such places
STRETCH_BYTES = 1 << 21  # from one to the next
FEWEST_BYTES = 1 << 24  # less than this in all may be in a cache, which is as fast
ROOM = 4096  # keys of a stretch; where more rows are near, it is not, either


@compiled
def stretch_rows(rows: Flat, words: Int, size: Int) -> Int:
    """Give how long stretches of so many rows are; 0 where there shall be none."""
    width = rows.itemsize * words
    if size * width < FEWEST_BYTES or words == 3:
        return 0
    turns = -(-size * width // (STREAMS * STRETCH_BYTES))
    return size // (turns * STREAMS * SLICE) * SLICE


@compiled
def room_for_stretches() -> Ints:
    """Give room for what `collect_stretches` finds."""
    return np.empty((STREAMS, ROOM), np.int64)


@compiled
def _collect_words(
    rows: Flat,
    start: Int,
    length: Int,
    queries: Flat,
    query: Int,
    limit: Int,
    near: Ints,
    taken: Ints,
) -> Int:
    """Do as `collect_stretches` for rows of one word."""
    word = queries[query]
    for left in range(start, start + length, SLICE):
        for stream in range(STREAMS):
            i = left + stream * length
            if near_words(rows, i, word, limit):
                at = taken[stream]
                if at + SLICE > ROOM:
                    return False
                room = near[stream, at:]
                taken[stream] += collect(
                    rows, i, i + SLICE, queries, query, 1, limit, room
                )
    return True


@compiled
def _collect_rows(
    rows: Flat,
    start: Int,
    length: Int,
    queries: Flat,
    query: Int,
    several: Int,
    limit: Int,
    near: Ints,
    taken: Ints,
) -> Int:
    """Do so for rows of several words, the query once more as a tuple of them."""
    words = len(several)
    for left in range(start, start + length, SLICE):
        for stream in range(STREAMS):
            i = left + stream * length
            if near_rows(rows, i * words, several, limit):
                at = taken[stream]
                if at + SLICE > ROOM:
                    return False
                room = near[stream, at:]
                taken[stream] += collect(
                    rows, i, i + SLICE, queries, query, words, limit, room
                )
    return True


@compiled
def collect_stretches(
    rows: Flat,
    start: Int,
    length: Int,
    queries: Flat,
    query: Int,
    words: Int,
    limit: Int,
    near: Ints,
    taken: Ints,
) -> Int:
    """Write distance and place of the rows nearer than the limit, by stretches.

    Args:
        rows: Codes of 1, 2 or 4 words, flat.
        start: First row of the first stretch; the others follow.
        length: Rows of a stretch, whole slices.
        queries: Codes to search with, flat.
        query: Which of them.
        words: Words to a row.
        limit: A distance that rows must stay below.
        near: What is near in each stretch, in order, to be written.
        taken: How many are, to be written.

    Returns:
        Whether there was room for all of them.
    """
    taken[:] = 0
    if words == 1:
        return _collect_words(rows, start, length, queries, query, limit, near, taken)
    if words == 2:
        pair = pair_of(queries, query)
        return _collect_rows(
            rows, start, length, queries, query, pair, limit, near, taken
        )
    four = four_of(queries, query)
    return _collect_rows(rows, start, length, queries, query, four, limit, near, taken)
