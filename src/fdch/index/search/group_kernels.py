"""Compiled search in groups, and the clustering of codes into them.

A ring holds the rows of one group at one distance from its centre, in order of their
numbers. By the triangle inequality a query at distance d from the centre is no nearer
than |d - r| to any row of the ring at distance r: only rings that may hold an answer
are scanned. Importing this file needs numba.
"""

from typing import Any, TypeAlias

import numpy as np

from fdch.compiled import compiled
from fdch.index.search.distance_kernels import (
    chunk_end,
    collect,
    distance,
    first_below,
    least,
    next_chunk,
)
from fdch.index.search.rows import (
    CHUNK,
    NUMBER_BITS,
    NUMBER_MASK,
    Int,
    Ints,
    Places,
    Query,
    Rows,
    Stored,
)
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
from fdch.index.search.vectors import take_query

ROOM = 6  # times k keys are held before the farthest are dropped
TOGETHER = 128  # groups of about one radius that are ruled out at one go

# Centres of the groups, flat; where each ring of each group begins, (groups, bits + 2);
# how far rows of each group are from its centre, falling.
Groups: TypeAlias = tuple[Rows, Ints, Ints]


@compiled
def _scan_group(
    rows: Rows,
    starts: Ints,
    group: Int,
    from_centre: Int,
    query: Query,
    buffer: Buffer,
    number: Int,
    near: Ints,
) -> Int:
    """Scan those rings of a group that may hold an answer; count their rows."""
    states, bits, seen = buffer[2], starts.shape[1] - 2, 0
    limit = scan_limit(states, number)
    ring = max(from_centre - limit + 1, 0)
    while ring <= bits and ring < from_centre + limit:
        # Rings are scanned together until only lower numbers win a tie.
        one_ring = states[number, BOUND] & NUMBER_MASK > 0
        end = ring + 1 if one_ring else min(from_centre + limit, bits + 1)
        begin, stop = starts[group, ring], starts[group, end]
        ring = end
        seen += stop - begin
        left = next_chunk(rows, begin, stop, query, limit)
        while left < stop:
            right = chunk_end(left, stop)
            taken = collect(rows, left, right, query, limit, near)
            limit = keep(near, taken, buffer, number, one_ring, limit)
            left = next_chunk(rows, right, stop, query, limit)
        limit = scan_limit(states, number)
    return seen


@compiled
def _search(rows: Rows, groups: Groups, query: Query, buffer: Buffer) -> Int:
    """Search the nearest groups until k rows are held, then all that may matter.

    Returns how many rows were compared.
    """
    centres, starts, reaches = groups
    states, k = buffer[2], buffer[3]
    number, bits = starts.shape[0], starts.shape[1] - 2
    near = least(centres, 0, number, query)
    seen, room = 0, np.empty(CHUNK, np.int64)
    while True:
        group = first_below(centres, 0, number, query, near + 1)
        while group < number:
            if distance(centres, group, query) == near:
                seen += _scan_group(rows, starts, group, near, query, buffer, 0, room)
            group = first_below(centres, group + 1, number, query, near + 1)
        near += 1
        if states[0, SIZE] >= k or states[0, LIMIT] <= bits or near > bits:
            break
    for left in range(0, number, TOGETHER):
        right = min(left + TOGETHER, number)
        limit = states[0, LIMIT] + reaches[left] + 1
        group = first_below(centres, left, right, query, limit)
        while group < right:
            far = distance(centres, group, query)
            bound = max(far - reaches[group], 0)
            if far >= near and (bound << NUMBER_BITS) < states[0, BOUND]:
                seen += _scan_group(rows, starts, group, far, query, buffer, 0, room)
                limit = states[0, LIMIT] + reaches[left] + 1
            group = first_below(centres, group + 1, right, query, limit)
    return seen


@compiled
def nearest_in_groups(
    stored: Stored,
    groups: Groups,
    queries: Rows,
    limits: Ints,
    found: Ints,
    seen: Ints,
) -> None:
    """Find for each query the nearest rows that stay below its limit.

    Args:
        stored: Rows, group by group.
        groups: Centres, starts of rings, reaches.
        queries: Codes to search with, flat.
        limits: Distances that rows must stay below.
        found: Keys in order, (queries, k), to be written.
        seen: How many rows were compared with each query, to be written.
    """
    rows, words, order, first, dead = stored
    (count, k), bits = found.shape, groups[1].shape[1] - 2
    keys = np.empty((1, ROOM * k + 64), np.int64)
    counts, states = np.empty((1, bits + 2), np.int64), np.empty((1, 4), np.int64)
    buffer = keys, counts, states, k, order, dead, 0
    for j in range(count):
        query = take_query(queries, j, words)
        set_limit(buffer, 0, min(limits[j], bits + 1))
        seen[j] = _search(rows, groups, query, buffer)
        write_nearest(buffer, 0, first, found[j])


@compiled
def within_groups(
    stored: Stored,
    groups: Groups,
    queries: Rows,
    limit: Int,
    found: Ints,
    sizes: Ints,
) -> None:
    """Find the rows below the limit; `sizes` counts also what has no room."""
    (rows, words, order, first, dead), (centres, starts, reaches) = stored, groups
    number, count, reach = starts.shape[0], sizes.shape[0], limit + reaches[0]
    near = np.empty(CHUNK, np.int64)
    counts, states = np.empty((count, 1), np.int64), np.empty((count, 4), np.int64)
    buffer = found, counts, states, np.int64(0), order, dead, 0
    for j in range(count):
        query = take_query(queries, j, words)
        set_limit(buffer, j, limit)
        group = first_below(centres, 0, number, query, reach)
        while group < number:
            far = distance(centres, group, query)
            _scan_group(rows, starts, group, far, query, buffer, j, near)
            group = first_below(centres, group + 1, number, query, reach)
    write_all(buffer, first, sizes)


@compiled
def count_reached(
    words: Any, groups: Groups, queries: Rows, limit: Int, reached: Ints
) -> None:
    """Count the rows that a radius search in groups would compare with each query."""
    centres, starts, reaches = groups
    number, bits, reach = starts.shape[0], starts.shape[1] - 2, limit + reaches[0]
    for j in range(reached.shape[0]):
        query = take_query(queries, j, words)
        reached[j] = 0
        group = first_below(centres, 0, number, query, reach)
        while group < number:
            far = distance(centres, group, query)
            begin = starts[group, min(max(far - limit + 1, 0), bits + 1)]
            end = starts[group, min(max(far + limit, 0), bits + 1)]
            reached[j] += max(end - begin, 0)
            group = first_below(centres, group + 1, number, query, reach)


@compiled
def assign(
    rows: Rows,
    words: Any,
    centres: Rows,
    start: Int,
    stop: Int,
    rings: Int,
    cells: Places,
) -> None:
    """Write each row's cell: its nearest centre times rings, plus how far that is."""
    groups = centres.shape[0] // len(words)
    for row in range(start, stop):
        query = take_query(rows, row, words)
        far = least(centres, 0, groups, query)
        group = first_below(centres, 0, groups, query, far + 1)
        cells[row] = group * rings + far
