"""The compiled full scan: every row is compared with every query.

A batch of queries shares blocks of rows that fit the first-level cache. Importing this
file needs numba.
"""

from typing import Any

import numpy as np

from fdch.compiled import compiled
from fdch.index.search.distance_kernels import chunk_end, collect, least, next_chunk
from fdch.index.search.rows import CHUNK, Int, Ints, Query, Rows, Stored
from fdch.index.search.topk_kernels import (
    BOUND,
    LIMIT,
    SIZE,
    Buffer,
    keep,
    scan_limit,
    set_limit,
    write_all,
    write_nearest,
)
from fdch.index.search.vectors import PLANE_BYTES, any_below_in_planes, take_query

BLOCK_BYTES = 16384  # half of a usual first-level cache
BLOCK_ROOM = 256  # near rows of a block collected before they are kept: calls cost
MIN_PLANE_QUERIES = 12  # for which rows of several words are laid out word by word

MANY_ROWS = 1 << 17  # from which on the first limit is estimated from larger samples


@compiled
def _estimate_limit(
    rows: Rows, start: Int, stop: Int, query: Query, bits: Int, k: Int
) -> Int:
    """Estimate from a sample a distance that k rows or somewhat more stay below.

    An estimate that is too low is noticed, since fewer than k rows are then found.
    """
    size = stop - start
    groups, sampled = size // 256, 16
    if size >= MANY_ROWS:
        groups, sampled = min(size // 4096, 512), 64
    if groups == 0:
        return bits + 1
    expected = k * (groups * sampled) / size
    wanted = int(expected + 3 * np.sqrt(expected)) + 1
    if wanted * 4 > groups:
        return bits + 1
    counts = np.zeros(bits + 1, np.int64)
    step = size // groups
    for group in range(groups):
        left = start + group * step
        counts[least(rows, left, left + sampled, query)] += 1
    limit, seen = 0, counts[0]
    while seen < wanted:
        limit += 1
        seen += counts[limit]
    return limit + 1


@compiled
def _room_for_planes(rows: Rows, words: Any, queries: Int) -> Rows:
    """Make room to lay rows out word by word, where so many queries repay it."""
    repays = len(words) > 1 and queries >= MIN_PLANE_QUERIES
    return np.empty(PLANE_BYTES // 8 if repays else 0, rows.dtype)


@compiled
def _block_rows(rows: Rows, words: Any, planes: Rows) -> Int:
    """Return how many rows all queries of a batch share at a time."""
    size = PLANE_BYTES if planes.shape[0] else BLOCK_BYTES
    return size // (rows.itemsize * len(words)) // CHUNK * CHUNK


@compiled
def _lay_out(
    rows: Rows, start: Int, stop: Int, words: Any, apart: Int, planes: Rows
) -> None:
    """Write the first words of a block of rows, then the second ones, and so on."""
    length = np.uint64(len(words))
    for word in range(length):
        for i in range(np.uint64(stop - start)):
            place = word * np.uint64(apart) + i
            planes[place] = rows[(np.uint64(start) + i) * length + word]


@compiled
def _next_in_block(
    rows: Rows,
    planes: Rows,
    begin: Int,
    start: Int,
    stop: Int,
    query: Query,
    limit: Int,
) -> Int:
    """Do as `next_chunk` in a block that begins at a row, by planes if there are."""
    if planes.shape[0] == 0:
        return next_chunk(rows, start, stop, query, limit)
    i = start if limit > 0 else stop
    while i + CHUNK <= stop and (i - begin) % CHUNK == 0:
        if any_below_in_planes(planes, i - begin, query, limit):
            return i
        i += CHUNK
    return next_chunk(rows, i, stop, query, limit)


@compiled
def _scan_block(
    rows: Rows,
    words: Any,
    planes: Rows,
    start: Int,
    stop: Int,
    queries: Rows,
    buffer: Buffer,
    near: Ints,
) -> None:
    """Scan one block for all queries; planes hold it, too, unless they are empty."""
    states = buffer[2]
    for j in range(states.shape[0]):
        query, limit, taken = take_query(queries, j, words), scan_limit(states, j), 0
        i = _next_in_block(rows, planes, start, start, stop, query, limit)
        while i < stop:
            end = chunk_end(i, stop)
            taken += collect(rows, i, end, query, limit, near[taken:])
            if taken + CHUNK > near.shape[0]:
                limit = keep(near, taken, buffer, j, True, limit)
                taken = 0
            i = _next_in_block(rows, planes, start, end, stop, query, limit)
        if taken:
            keep(near, taken, buffer, j, True, limit)


@compiled
def _scan(
    rows: Rows,
    words: Any,
    start: Int,
    stop: Int,
    queries: Rows,
    buffer: Buffer,
) -> None:
    """Scan a range of rows for all queries, block by block."""
    states = buffer[2]
    near = np.empty(BLOCK_ROOM, np.int64)
    planes = _room_for_planes(rows, words, states.shape[0])
    block = _block_rows(rows, words, planes)
    if states.shape[0] == 1:  # no other query shares a block
        block = max(stop - start, 1)
    for left in range(start, stop, block):
        right = min(left + block, stop)
        if planes.shape[0]:
            _lay_out(rows, left, right, words, block, planes)
        _scan_block(rows, words, planes, left, right, queries, buffer, near)


@compiled
def nearest_rows(
    stored: Stored,
    start: Int,
    stop: Int,
    queries: Rows,
    limits: Ints,
    bits: Int,
    found: Ints,
) -> None:
    """Find for each query the nearest rows of a range that stay below its limit.

    Args:
        stored: Rows, in order of their numbers.
        start: First row to compare.
        stop: One past the last.
        queries: Codes to search with, flat.
        limits: Distances that rows must stay below.
        bits: Length of the codes.
        found: Keys in order, (queries, k), to be written as far as there are some.
    """
    (rows, words, order, first, dead), (count, k) = stored, found.shape
    keys = np.empty((count, 2 * k + 32), np.int64)
    counts = np.empty((count, bits + 2), np.int64)
    states = np.empty((count, 4), np.int64)
    buffer = keys, counts, states, k, order, dead, np.int64(1)
    for j in range(count):
        limit = min(limits[j], bits + 1)
        if limit > 0 and dead.shape[0] == 0:
            query = take_query(queries, j, words)
            limit = min(limit, _estimate_limit(rows, start, stop, query, bits, k))
        set_limit(buffer, j, limit)
    _scan(rows, words, start, stop, queries, buffer)
    is_short = False
    for j in range(count):
        limit = min(limits[j], bits + 1)
        if states[j, SIZE] < k and states[j, LIMIT] < limit:  # the estimate was too low
            set_limit(buffer, j, limit)
            is_short = True
        else:
            states[j, BOUND] = 0
    if is_short:
        _scan(rows, words, start, stop, queries, buffer)
    for j in range(count):
        write_nearest(buffer, j, first, found[j])


@compiled
def rows_within(
    stored: Stored,
    start: Int,
    stop: Int,
    queries: Rows,
    limit: Int,
    found: Ints,
    sizes: Ints,
) -> None:
    """Find all rows of a range that stay below the limit, in any order.

    The arguments are those of `nearest_rows`. Where `found` has too little room,
    `sizes` still counts all of them.
    """
    (rows, words, order, first, dead), count = stored, sizes.shape[0]
    counts, states = np.empty((count, 1), np.int64), np.empty((count, 4), np.int64)
    buffer = found, counts, states, np.int64(0), order, dead, np.int64(1)
    for j in range(count):
        set_limit(buffer, j, limit)
    _scan(rows, words, start, stop, queries, buffer)
    write_all(buffer, first, sizes)
