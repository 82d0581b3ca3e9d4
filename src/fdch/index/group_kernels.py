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
from fdch.index.keys import NUMBER_BITS, NUMBER_MASK
from fdch.index.scan_kernels import (
    SLICE,
    collect,
    distance,
    first_below,
    least,
    next_slice,
)

Flat = NDArray[np.unsignedinteger[Any]]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Places = NDArray[np.uint32]
Int: TypeAlias = Any  # a machine integer, which NumPy and Python type differently

ROOM = 6  # times k keys are held before the farthest are dropped
SAMPLE = 512  # rows of a group that the first limit is guessed from
TOGETHER = 128  # groups of about one radius that are ruled out at one go


# While a query is searched, a key holds the stored place of a row: its number lies
# elsewhere in memory, and only ties at the last distance ever need it.
#
# The state of a query: keys held; those nearer than the limit; the limit, which is
# the distance of the k-th; a key, with a number, that all wanted ones stay below.


@compiled
def _drop_far(keys: Ints, counts: Ints, state: Ints, order: Places, k: Int) -> None:
    """Drop what is beyond the limit; where that is too little, cut ties to k."""
    limit, kept = state[2], 0
    for i in range(state[0]):
        if keys[i] >> NUMBER_BITS <= limit:
            keys[kept] = keys[i]
            kept += 1
    if kept > keys.shape[0] // 2:
        nearer, ties = 0, np.empty(kept, np.int64)
        for i in range(kept):
            place = keys[i] & NUMBER_MASK
            if keys[i] >> NUMBER_BITS < limit:
                keys[nearer] = keys[i]
                nearer += 1
            else:
                ties[i - nearer] = (np.int64(order[place]) << 32) | place
        ties = np.sort(ties[: kept - nearer])[: k - nearer]
        for i in range(ties.shape[0]):
            place = ties[i] & 0xFFFFFFFF
            keys[nearer + i] = (limit << NUMBER_BITS) | place
        kept = nearer + ties.shape[0]
        counts[limit] = ties.shape[0]
        state[3] = (limit << NUMBER_BITS) | (ties[-1] >> 32)
    state[0] = kept


@compiled
def _keep(
    keys: Ints, counts: Ints, state: Ints, order: Places, k: Int, far: Int, place: Int
) -> None:
    """Take up a row that may be wanted, and lower the limit if that fills k."""
    if state[0] == keys.shape[0]:
        _drop_far(keys, counts, state, order, k)
        if ((far << NUMBER_BITS) | np.int64(order[place])) >= state[3]:
            return
    keys[state[0]] = (far << NUMBER_BITS) | place
    state[0] += 1
    counts[far] += 1
    if far >= state[2]:
        return
    state[1] += 1
    if state[1] >= k:
        while state[1] >= k:
            state[2] -= 1
            state[1] -= counts[state[2]]
        state[3] = min(state[3], (state[2] + 1) << NUMBER_BITS)


@compiled
def _is_dead(dead: Flags, number: Int) -> Int:
    # A number beyond the rows can only come from a damaged file.
    return number >= dead.shape[0] or dead[number]


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
            limit = _keep_all(
                near, taken, one_ring, order, dead, keys, counts, state, k, limit
            )
            left = next_slice(rows, right, stop, queries, query, words, limit)
        limit = (state[3] + NUMBER_MASK) >> NUMBER_BITS
    return seen


@compiled
def _keep_all(
    near: Ints,
    taken: Int,
    one_ring: Int,
    order: Places,
    dead: Flags,
    keys: Ints,
    counts: Ints,
    state: Ints,
    k: Int,
    limit: Int,
) -> Int:
    """Take up rows, in order of places; give the limit for those that follow."""
    for i in range(taken):
        far, place = near[i] >> NUMBER_BITS, near[i] & NUMBER_MASK
        if far >= limit:
            continue
        is_tie = (far + 1) << NUMBER_BITS > state[3]
        if is_tie and (far << NUMBER_BITS) | np.int64(order[place]) >= state[3]:
            if one_ring:  # numbers rise in it: no tie can follow
                limit = far
        elif dead.shape[0] == 0 or not _is_dead(dead, order[place]):
            _keep(keys, counts, state, order, k, far, place)
            limit = min(limit, (state[3] + NUMBER_MASK) >> NUMBER_BITS)
    return limit


@compiled
def _guess_limit(
    rows: Flat,
    words: Int,
    start: Int,
    stop: Int,
    queries: Flat,
    query: Int,
    counts: Ints,
    k: Int,
) -> Int:
    """Guess from a sample of a group a distance that k of its rows stay below."""
    step = max(1, (stop - start) // SAMPLE)
    counts[:] = 0
    for row in range(start, stop, step):
        counts[distance(rows, row, queries, query, words)] += 1
    expected = k / step
    wanted = min(int(expected + 3 * np.sqrt(expected)) + 1, (stop - start) // step)
    limit, below = 0, counts[0]
    while below < wanted:
        limit += 1
        below += counts[limit]
    counts[:] = 0
    return limit + 1


@compiled
def _sort_keys(keys: Ints, state: Ints, order: Places, first: Int, found: Ints) -> Int:
    """Write the first of the held keys in order; give how many are written."""
    held, limit = state[0], state[2]
    places = np.zeros(limit + 2, np.int64)
    for i in range(held):
        far = keys[i] >> NUMBER_BITS
        if far <= limit:
            places[far + 1] += 1
    for far in range(limit + 1):
        places[far + 1] += places[far]
    line = np.empty(places[limit + 1], np.int64)
    ends = places.copy()
    for i in range(held):
        far = keys[i] >> NUMBER_BITS
        if far <= limit:
            number = first + np.int64(order[keys[i] & NUMBER_MASK])
            line[ends[far]] = (far << NUMBER_BITS) | number
            ends[far] += 1
    wanted = min(line.shape[0], found.shape[0])
    for far in range(limit + 1):
        start, stop = places[far], places[far + 1]
        if start >= wanted:
            break
        _sort_run(line, start, stop)
    found[:wanted] = line[:wanted]
    return wanted


@compiled
def _sort_run(line: Ints, start: Int, stop: Int) -> None:
    if stop - start > 40:
        line[start:stop] = np.sort(line[start:stop])
        return
    for i in range(start + 1, stop):
        value, at = line[i], i
        while at > start and line[at - 1] > value:
            line[at] = line[at - 1]
            at -= 1
        line[at] = value


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
    sizes: Ints,
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
        sizes: How many keys of each query, to be written.
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
            guess = _guess_limit(rows, words, begin, end, queries, j, counts, k)
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
        sizes[j] = _sort_keys(keys, state, order, first, found[j])


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
                    if dead.shape[0] and _is_dead(dead, number):
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
