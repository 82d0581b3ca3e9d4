"""Compiled loops over chunks of rows: which are near a query, and how near.

Most of a scan's time goes into deciding whether a chunk holds anything below a limit,
which reads nothing but the codes; only a chunk that does is looked at row by row.
Rows of several words lie flat; a query is a tuple of its words. A limit is a distance
that rows must stay below. Importing this file needs numba.
"""

import numpy as np

from fdch.compiled import compiled, set_bits
from fdch.index.search.rows import CHUNK, NUMBER_BITS, Int, Ints, Query, Rows
from fdch.index.search.vectors import MASKED, any_below, count_differing, mask_below


@compiled
def distance(rows: Rows, row: Int, query: Query) -> Int:
    """Count the bits in which a row differs from a query."""
    return np.int64(count_differing(rows, row, query))


@compiled
def least(rows: Rows, start: Int, stop: Int, query: Query) -> Int:
    """Return the least distance between a query and a range of rows, not empty."""
    best = count_differing(rows, start, query)
    for row in range(start, stop):  # the first again: whole vectors of rows
        best = min(best, count_differing(rows, row, query))
    return np.int64(best)


@compiled
def chunk_end(row: Int, stop: Int) -> Int:
    """Return where the chunk of a row ends: at a multiple of CHUNK, or at the stop."""
    return min(row - row % CHUNK + CHUNK, stop)


@compiled
def next_chunk(rows: Rows, start: Int, stop: Int, query: Query, limit: Int) -> Int:
    """Return where the first chunk with a row below the limit begins, else stop.

    Chunks end at multiples of CHUNK; only the first and the last may be shorter.
    """
    i = start if limit > 0 else stop
    while i < stop:
        if i % CHUNK == 0:
            while i + CHUNK <= stop and not any_below(rows, i, query, limit):
                i += CHUNK
            if i + CHUNK <= stop or i == stop:
                return i
        end = chunk_end(i, stop)
        if least(rows, i, end, query) < limit:
            return i
        i = end
    return stop


@compiled
def first_below(rows: Rows, start: Int, stop: Int, query: Query, limit: Int) -> Int:
    """Return the first row of a range that is below the limit, else stop."""
    i = next_chunk(rows, start, stop, query, limit)
    while i < stop and distance(rows, i, query) >= limit:
        i += 1
    return i


@compiled
def collect(
    rows: Rows, start: Int, stop: Int, query: Query, limit: Int, near: Ints
) -> Int:
    """Write distance and place of each row below the limit; return how many."""
    taken, left = 0, start
    while left + MASKED <= stop:
        mask = mask_below(rows, left, query, limit)
        while mask:
            above = mask & (mask - np.uint64(1))  # without the lowest bit
            row = left + np.int64(set_bits((mask ^ above) - np.uint64(1)))
            near[taken] = (distance(rows, row, query) << NUMBER_BITS) | row
            taken += 1
            mask = above
        left += MASKED
    for row in range(left, stop):
        far = distance(rows, row, query)
        if far < limit:
            near[taken] = (far << NUMBER_BITS) | row
            taken += 1
    return taken
