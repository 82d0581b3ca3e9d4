"""Compiled layout of blocks of rows that all queries of a batch are shown.

Rows of several words are laid out word by word where enough queries repay it.
Importing this file needs numba.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fdch.compiled import compiled
from fdch.index.search.slice_kernels import (
    four_of,
    least,
    next_slice,
    pair_of,
    slice_of_words,
)
from fdch.index.search.slice_vectors import PLANE_BYTES, SLICE, near_planes

Flat = NDArray[np.unsignedinteger[Any]]
Int: TypeAlias = Any  # a machine integer, which NumPy and Python type differently
Flags = NDArray[np.bool_]

# What a scan is told of the rows, beside the codes: words to a row; number of the
# first row of all; rows to leave out, empty for none. No named tuple: what was
# compiled would be lost with the name, and loading it fail.
Look: TypeAlias = tuple[Int, Int, Flags]

BLOCK_BYTES = 16384  # half of a usual first-level cache
ENOUGH = 12  # queries for which rows of several words are laid out word by word


@compiled
def _three_of(queries: Flat, query: Int) -> Int:
    """Give the three words of a query."""
    at = 3 * query
    return (
        np.uint64(queries[at]),
        np.uint64(queries[at + 1]),
        np.uint64(queries[at + 2]),
    )


@compiled
def _whole_planes(
    planes: Flat,
    start: Int,
    stop: Int,
    queries: Flat,
    query: Int,
    words: Int,
    limit: Int,
) -> Int:
    """Pass over whole slices of rows laid out word by word."""
    i = start
    if words == 2:
        pair = pair_of(queries, query)
        while i + SLICE <= stop and not near_planes(planes, i, pair, limit):
            i += SLICE
    elif words == 3:
        three = _three_of(queries, query)
        while i + SLICE <= stop and not near_planes(planes, i, three, limit):
            i += SLICE
    elif words == 4:
        four = four_of(queries, query)
        while i + SLICE <= stop and not near_planes(planes, i, four, limit):
            i += SLICE
    return i


@compiled
def next_in_block(
    rows: Flat,
    planes: Flat,
    begin: Int,
    start: Int,
    stop: Int,
    queries: Flat,
    query: Int,
    words: Int,
    limit: Int,
) -> Int:
    """Do as `next_slice` in a block, which planes hold, too, unless they are empty."""
    if limit <= 0:
        return stop
    if words == 1:
        return slice_of_words(rows, start, stop, queries[query], limit)
    if planes.shape[0] == 0:
        return next_slice(rows, start, stop, queries, query, words, limit)
    i = start
    while i < stop:
        if i % SLICE == 0:
            i = begin + _whole_planes(
                planes, i - begin, stop - begin, queries, query, words, limit
            )
        end = min(i - i % SLICE + SLICE, stop)
        if i < end and least(rows, i, end, queries, query, words) < limit:
            return i
        i = end
    return stop


@compiled
def room_for_planes(rows: Flat, words: Int, asked: Int) -> Int:
    """Give room to lay rows out word by word, where so many queries repay it."""
    repays = words == 3 or (words > 1 and asked >= ENOUGH)
    return np.empty(PLANE_BYTES // 8 if repays else 0, rows.dtype)


@compiled
def block_rows(rows: Flat, words: Int, planes: Flat) -> Int:
    """Give how many rows are shown to all queries at a time."""
    size = PLANE_BYTES if planes.shape[0] else BLOCK_BYTES
    return size // (rows.itemsize * words) // SLICE * SLICE


@compiled
def lay_out(rows: Flat, start: Int, stop: Int, words: Int, planes: Flat) -> None:
    """Write the first words of a block of rows, then the second ones, and so on.

    Does nothing without room for that.
    """
    if planes.shape[0] == 0:
        return
    apart = np.uint64(block_rows(rows, words, planes))
    for word in range(np.uint64(words)):
        for i in range(np.uint64(stop - start)):
            place = (np.uint64(start) + i) * np.uint64(words) + word
            planes[word * apart + i] = rows[place]
