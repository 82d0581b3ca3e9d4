"""The compiled full scan for a query alone, forward or backward.

Importing this file needs numba.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fdch.compiled import compiled
from fdch.index.search.block_kernels import Look
from fdch.index.search.keeping_kernels import Held
from fdch.index.search.keys import NUMBER_BITS, NUMBER_MASK
from fdch.index.search.stretch_kernels import (
    ROOM,
    STREAMS,
    collect_stretches,
    room_for_stretches,
    stretch_rows,
)

Flat = NDArray[np.unsignedinteger[Any]]
Int: TypeAlias = Any  # a machine integer, which NumPy and Python type differently
Ints = NDArray[np.int64]


@compiled
def _drop_far(keys: Ints, limit: Int) -> Int:
    """Keep only keys nearer than the limit; give how many those are."""
    kept = 0
    for i in range(keys.shape[0]):
        if keys[i] >> NUMBER_BITS < limit:
            keys[kept] = keys[i]
            kept += 1
    return kept


@compiled
def collect_nearest(
    rows: Flat,
    start: Int,
    stop: Int,
    look: Look,
    queries: Flat,
    query: Int,
    held: Held,
    is_backward: Int,
) -> tuple[Ints, Int, Int]:
    """Collect what may be among the nearest, several stretches of rows at once.

    Args:
        rows: Codes, flat.
        start: First row to look at.
        stop: One past the last.
        look: What else is told of the rows.
        queries: Codes to search with, flat.
        query: Which of them.
        held: The nearest rows so far, all of them from before the first row.
        is_backward: Whether to begin with the last rows.

    Returns:
        Keys in order, of numbers counted from the first row of all; the first row
        and one past the last that they are from: fewer than asked for where too
        many are near, or at the end no whole stretches are left.
    """
    words, _, dead = look
    _, held_counts, states, k = held
    length = stretch_rows(rows, words, stop - start)
    if length == 0 or states[query, 2] <= 0:
        return np.empty(0, np.int64), start, start
    together = STREAMS * length
    turns = (stop - start) // together
    near, taken = room_for_stretches(), np.empty(STREAMS, np.int64)
    found = np.empty(min(8 * k, stop - start) + STREAMS * ROOM, np.int64)
    size = 0
    # Rows come in any order: those as far as the k-th may still replace it.
    counts, nearer, limit = (
        held_counts[query].copy(),
        states[query, 1],
        states[query, 2],
    )
    left = right = start + turns * together if is_backward else start
    for _ in range(turns):
        begin = left - together if is_backward else right
        if not collect_stretches(
            rows, begin, length, queries, query, words, limit, near, taken
        ):
            break
        if size + taken.sum() > found.shape[0]:
            size = _drop_far(found[:size], limit)
            if size + taken.sum() > found.shape[0]:
                break
        for stream in range(STREAMS):
            for i in range(taken[stream]):
                key = near[stream, i]
                far = key >> NUMBER_BITS
                if far >= limit or (dead.shape[0] and dead[key & NUMBER_MASK]):
                    continue
                found[size] = key
                size += 1
                counts[far] += 1
                nearer += 1
                while nearer - counts[limit - 1] >= k:
                    limit -= 1
                    nearer -= counts[limit]
        left, right = min(left, begin), max(right, begin + together)
    size = _drop_far(found[:size], limit)
    return np.sort(found[:size]), left, right
