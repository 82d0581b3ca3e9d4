"""Compiled search in groups: rings of rows that may hold an answer are scanned.

A ring holds the rows of one group at one distance from its centre, in order of
their numbers. By the triangle inequality a query at distance d from the centre is
no nearer than |d - r| to any row of the ring at distance r. Importing this file
needs numba.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fdch.compiled import compiled
from fdch.index.search.group_keeping_kernels import is_dead, keep_all, sort_keys
from fdch.index.search.guessing_kernels import guess_group_limit
from fdch.index.search.keys import NUMBER_BITS, NUMBER_MASK
from fdch.index.search.slice_kernels import (
    collect,
    distance,
    first_below,
    least,
    next_slice,
)
from fdch.index.search.slice_vectors import SLICE

Flat = NDArray[np.unsignedinteger[Any]]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Places = NDArray[np.uint32]
Int: TypeAlias = Any  # a machine integer, which NumPy and Python type differently

ROOM = 6  # times k keys are held before the farthest are dropped
TOGETHER = 128  # groups of about one radius that are ruled out at one go


@compiled
def _scan_group(
    rows: Flat,
    words: Int,
    order: Places,
    dead: Flags,
    starts: Ints,
    group: Int,
    from_centre: Int,
    queries: Flat,
    query: Int,
    keys: Ints,
    counts: Ints,
    state: Ints,
    k: Int,
    near: Ints,
) -> Int:
    """Scan those rings of a group that may hold an answer; count their rows."""
    bits, seen = starts.shape[1] - 2, 0
    # A distance that cannot be wanted any more, whatever the number.
    limit = (state[3] + NUMBER_MASK) >> NUMBER_BITS
    ring = max(from_centre - limit + 1, 0)
    while ring <= bits and ring < from_centre + limit:
        # Rings are scanned together until ties have to be told apart by number.
        one_ring = state[3] & NUMBER_MASK > 0
        end = ring + 1 if one_ring else min(from_centre + limit, bits + 1)
        begin, stop = starts[group, ring], starts[group, end]
        ring = end
        seen += stop - begin
        left = next_slice(rows, begin, stop, queries, query, words, limit)
        while left < stop:
            right = min(left - left % SLICE + SLICE, stop)
            taken = collect(rows, left, right, queries, query, words, limit, near)
            limit = keep_all(
                near, taken, one_ring, order, dead, keys, counts, state, k, limit
            )
            left = next_slice(rows, right, stop, queries, query, words, limit)
        limit = (state[3] + NUMBER_MASK) >> NUMBER_BITS
    return seen


@compiled
def nearest_in_groups(
    rows: Flat,
    words: Int,
    order: Places,
    first: Int,
    dead: Flags,
    centres: Flat,
    starts: Ints,
    reaches: Ints,
    queries: Flat,
    limits: Ints,
    bits: Int,
    found: Ints,
    seen: Ints,
) -> None:
    """Find for each query the nearest rows that stay below its limit.

    Args:
        rows: Codes as they are stored, flat.
        words: Words to a row.
        order: Number of each stored row, counted from the first.
        first: Number of the first row.
        dead: Rows to leave out, in order of numbers; empty for none.
        centres: Of the groups, flat.
        starts: Where each ring of each group begins, (groups, bits + 2).
        reaches: How far rows of each group are from its centre, falling.
        queries: Codes to search with, flat.
        limits: Distances that rows must stay below.
        bits: Length of the codes.
        found: Keys in order, (queries, k), to be written.
        seen: How many rows were compared with each query, to be written.
    """
    count, k = found.shape
    keys = np.empty(ROOM * k + 64, np.int64)
    counts = np.zeros(bits + 2, np.int64)
    state = np.empty(4, np.int64)
    for j in range(count):
        limit = min(limits[j], bits + 1)
        group = _nearest_group(centres, words, queries, j)
        begin, end = starts[group, 0], starts[group, bits + 1]
        guess = limit
        if limit > bits and end - begin >= 8 * k and dead.shape[0] == 0:
            guess = guess_group_limit(rows, words, begin, end, queries, j, counts, k)
        seen[j] = 0
        while True:
            counts[:] = 0
            state[0], state[1], state[2] = 0, 0, guess
            state[3] = guess << NUMBER_BITS
            seen[j] += _search(
                rows, words, order, dead, centres, starts, reaches,
                queries, j, keys, counts, state, k,
            )  # fmt: skip
            if state[0] >= k or guess == limit:
                break
            guess = limit  # it was too low
        sort_keys(keys, state, order, first, found[j])


@compiled
def _nearest_group(centres: Flat, words: Int, queries: Flat, query: Int) -> Int:
    groups = centres.shape[0] // words
    near = least(centres, 0, groups, queries, query, words)
    return first_below(centres, 0, groups, queries, query, words, near + 1)


@compiled
def _search(
    rows: Flat,
    words: Int,
    order: Places,
    dead: Flags,
    centres: Flat,
    starts: Ints,
    reaches: Ints,
    queries: Flat,
    query: Int,
    keys: Ints,
    counts: Ints,
    state: Ints,
    k: Int,
) -> Int:
    """Search the nearest groups until k rows are held, then all that may matter."""
    groups, bits = starts.shape[0], starts.shape[1] - 2
    near = least(centres, 0, groups, queries, query, words)
    seen, room = 0, np.empty(SLICE, np.int64)
    while True:
        group = first_below(centres, 0, groups, queries, query, words, near + 1)
        while group < groups:
            if distance(centres, group, queries, query, words) == near:
                seen += _scan_group(
                    rows, words, order, dead, starts, group, near,
                    queries, query, keys, counts, state, k, room,
                )  # fmt: skip
            group = first_below(
                centres, group + 1, groups, queries, query, words, near + 1
            )
        near += 1
        if state[0] >= k or state[2] <= bits or near > bits:
            break
    for left in range(0, groups, TOGETHER):
        right = min(left + TOGETHER, groups)
        limit = state[2] + reaches[left] + 1
        group = first_below(centres, left, right, queries, query, words, limit)
        while group < right:
            far = distance(centres, group, queries, query, words)
            bound = max(far - reaches[group], 0)
            if far >= near and (bound << NUMBER_BITS) < state[3]:
                seen += _scan_group(
                    rows, words, order, dead, starts, group, far,
                    queries, query, keys, counts, state, k, room,
                )  # fmt: skip
                limit = state[2] + reaches[left] + 1
            group = first_below(centres, group + 1, right, queries, query, words, limit)
    return seen


@compiled
def within_groups(
    rows: Flat,
    words: Int,
    order: Places,
    first: Int,
    dead: Flags,
    centres: Flat,
    starts: Ints,
    reaches: Ints,
    queries: Flat,
    limit: Int,
    found: Ints,
    sizes: Ints,
) -> None:
    """Find the rows nearer than the limit; `sizes` counts also what has no room."""
    groups, bits = starts.shape[0], starts.shape[1] - 2
    near = np.empty(SLICE, np.int64)
    for j in range(sizes.shape[0]):
        reach = limit + reaches[0]
        group = first_below(centres, 0, groups, queries, j, words, reach)
        while group < groups:
            far = distance(centres, group, queries, j, words)
            begin = starts[group, min(max(far - limit + 1, 0), bits + 1)]
            stop = starts[group, min(far + limit, bits + 1)]
            left = next_slice(rows, begin, stop, queries, j, words, limit)
            while left < stop:
                right = min(left - left % SLICE + SLICE, stop)
                taken = collect(rows, left, right, queries, j, words, limit, near)
                for i in range(taken):
                    number = np.int64(order[near[i] & NUMBER_MASK])
                    if dead.shape[0] and is_dead(dead, number):
                        continue
                    if sizes[j] < found.shape[1]:
                        gap = near[i] >> NUMBER_BITS
                        found[j, sizes[j]] = (gap << NUMBER_BITS) | (first + number)
                    sizes[j] += 1
                left = next_slice(rows, right, stop, queries, j, words, limit)
            group = first_below(centres, group + 1, groups, queries, j, words, reach)


@compiled
def reached_rows(
    centres: Flat,
    words: Int,
    starts: Ints,
    reaches: Ints,
    queries: Flat,
    limit: Int,
    reached: Ints,
) -> None:
    """Count the rows that a radius search in groups would compare."""
    groups, bits = starts.shape[0], starts.shape[1] - 2
    reach = limit + reaches[0]
    for j in range(reached.shape[0]):
        reached[j] = 0
        group = first_below(centres, 0, groups, queries, j, words, reach)
        while group < groups:
            far = distance(centres, group, queries, j, words)
            begin = starts[group, min(max(far - limit + 1, 0), bits + 1)]
            end = starts[group, min(max(far + limit, 0), bits + 1)]
            reached[j] += max(end - begin, 0)
            group = first_below(centres, group + 1, groups, queries, j, words, reach)
