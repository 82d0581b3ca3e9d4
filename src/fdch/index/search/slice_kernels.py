"""Compiled loops over slices of rows: what is near, and where.

Most of a scan's time goes into telling whether a slice holds anything below a limit,
which touches nothing but the codes; only a slice that does is looked at row by row.
Rows of several words lie flat. Importing this file needs numba.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fdch.compiled import compiled, set_bits
from fdch.index.search.keys import NUMBER_BITS
from fdch.index.search.slice_vectors import (
    SLICE,
    near_rows,
    near_words,
    wide_rows_below,
)
from fdch.index.search.vectors import LANES, MASKED, least_wide, lowest, rows_below

Flat = NDArray[np.unsignedinteger[Any]]
Int: TypeAlias = Any  # a machine integer, which NumPy and Python type differently
Ints = NDArray[np.int64]

PIECE = 16  # rows looked at together where a slice has something

# Indices are unsigned where a loop must vectorise: one that might be negative would
# have to be tested. Arrays are not sliced in these loops, which would count
# references.


@compiled
def _least_word(rows: Flat, start: Int, stop: Int, word: Int) -> Int:
    """Give the least distance between a word and a range of rows of one word."""
    best = rows.dtype.type(255)
    for i in range(np.uint64(start), np.uint64(stop)):
        best = min(best, set_bits(rows[i] ^ word))
    return np.int64(best)


@compiled
def slice_of_words(rows: Flat, start: Int, stop: Int, word: Int, limit: Int) -> Int:
    """Give where the first slice with a row nearer than the limit begins."""
    i = start
    while i < stop:
        if i % SLICE == 0:
            while i + SLICE <= stop and not near_words(rows, i, word, limit):
                i += SLICE
            if i + SLICE <= stop or i == stop:
                return i
        end = min(i - i % SLICE + SLICE, stop)
        if _least_word(rows, i, end, word) < limit:
            return i
        i = end
    return stop


@compiled
def four_of(queries: Flat, query: Int) -> Int:
    """Give the four words of a query."""
    at = 4 * query
    return (
        np.uint64(queries[at]),
        np.uint64(queries[at + 1]),
        np.uint64(queries[at + 2]),
        np.uint64(queries[at + 3]),
    )


@compiled
def pair_of(queries: Flat, query: Int) -> Int:
    """Give the two words of a query."""
    return np.uint64(queries[2 * query]), np.uint64(queries[2 * query + 1])


@compiled
def least(
    rows: Flat, start: Int, stop: Int, queries: Flat, query: Int, words: Int
) -> Int:
    """Give the least distance between a query and a range of rows."""
    if words == 1:
        return _least_word(rows, start, stop, queries[query])
    best, left = np.int64(65535), start
    vectors = (stop - start) * words // LANES
    if words == 2:
        best = least_wide(rows, 2 * start, vectors, pair_of(queries, query))
        left += vectors * (LANES // 2)
    elif words == 4:
        best = least_wide(rows, 4 * start, vectors, four_of(queries, query))
        left += vectors * (LANES // 4)
    for row in range(left, stop):
        best = min(best, distance(rows, row, queries, query, words))
    return best


@compiled
def _whole_slices(
    rows: Flat, start: Int, stop: Int, queries: Flat, query: Int, words: Int, limit: Int
) -> Int:
    """Pass over whole slices of rows of 2 or 4 words with nothing below the limit."""
    i = start
    if words == 2:
        pair = pair_of(queries, query)
        while i + SLICE <= stop:
            if near_rows(rows, 2 * i, pair, limit):
                break
            i += SLICE
    elif words == 4:
        four = four_of(queries, query)
        while i + SLICE <= stop:
            if near_rows(rows, 4 * i, four, limit):
                break
            i += SLICE
    return i


@compiled
def distance(rows: Flat, row: Int, queries: Flat, query: Int, words: Int) -> Int:
    """Count the bits in which a row differs from a query."""
    if words == 1:
        return np.int64(set_bits(rows[np.uint64(row)] ^ queries[np.uint64(query)]))
    total = np.int64(0)
    for word in range(words):
        differing = rows[row * words + word] ^ queries[query * words + word]
        total += np.int64(set_bits(differing))
    return total


@compiled
def next_slice(
    rows: Flat,
    start: Int,
    stop: Int,
    queries: Flat,
    query: Int,
    words: Int,
    limit: Int,
) -> Int:
    """Give where the first slice with a row nearer than the limit begins, else stop.

    Slices end at multiples of SLICE; only the first and the last may be shorter.
    """
    if limit <= 0:
        return stop
    if words == 1:
        return slice_of_words(rows, start, stop, queries[query], limit)
    i = start
    while i < stop:
        if i % SLICE == 0:
            i = _whole_slices(rows, i, stop, queries, query, words, limit)
        end = min(i - i % SLICE + SLICE, stop)
        if least(rows, i, end, queries, query, words) < limit:
            return i
        i = end
    return stop


@compiled
def _mask(
    rows: Flat, row: Int, queries: Flat, query: Int, words: Int, limit: Int
) -> Int:
    """Tell which of 64 rows of 1, 2 or 4 words are nearer than the limit."""
    if words == 1:
        return rows_below(rows, np.uint64(row), queries[query], np.int64(limit))
    if words == 2:
        return wide_rows_below(rows, 2 * row, pair_of(queries, query), limit)
    return wide_rows_below(rows, 4 * row, four_of(queries, query), limit)


@compiled
def collect(
    rows: Flat,
    start: Int,
    stop: Int,
    queries: Flat,
    query: Int,
    words: Int,
    limit: Int,
    near: Ints,
) -> Int:
    """Write distance and place of the rows nearer than the limit; give how many."""
    taken, left = 0, start
    while words != 3 and left + MASKED <= stop:
        mask = _mask(rows, left, queries, query, words, limit)
        while mask:
            row = left + np.int64(lowest(mask))
            far = distance(rows, row, queries, query, words)
            near[taken] = (far << NUMBER_BITS) | row
            taken += 1
            mask &= mask - np.uint64(1)
        left += MASKED
    while left < stop:
        right = min(left + PIECE, stop)
        if least(rows, left, right, queries, query, words) < limit:
            for row in range(left, right):
                far = distance(rows, row, queries, query, words)
                if far < limit:
                    near[taken] = (far << NUMBER_BITS) | row
                    taken += 1
        left = right
    return taken


@compiled
def first_below(
    rows: Flat,
    start: Int,
    stop: Int,
    queries: Flat,
    query: Int,
    words: Int,
    limit: Int,
) -> Int:
    """Give the first row of a range that is nearer than the limit, else stop."""
    i = next_slice(rows, start, stop, queries, query, words, limit)
    while i < stop:
        if distance(rows, i, queries, query, words) < limit:
            return i
        i += 1
    return stop
