"""A compiled top-k buffer: the nearest rows seen so far, for each query of a search.

While a search runs, a key holds the stored place of a row. Where rows are stored in
another order than that of their numbers, the number lies elsewhere in memory, and
only ties at the k-th distance ever need it. Importing this file needs numba.
"""

from typing import TypeAlias

import numpy as np

from fdch.compiled import compiled
from fdch.index.search.rows import NUMBER_BITS, NUMBER_MASK, Flags, Int, Ints, Places

# Of each query: keys held; those nearer than the limit; the limit, which is the
# distance of the k-th; the bound, a key that all wanted ones stay below.
SIZE, NEARER, LIMIT, BOUND = range(4)

# keys, (queries, room); rows held at each distance, (queries, bits + 2); states,
# (queries, 4); k, or 0 to keep every row below the limit, which then never falls;
# number of each place, empty where they are the same; rows left out, by number;
# whether rows come in order of their numbers, so that a later tie never counts.
# No named tuple: numba could not load from its cache what was compiled with one.
Buffer: TypeAlias = tuple[Ints, Ints, Ints, Int, Places, Flags, Int]


@compiled
def set_limit(buffer: Buffer, query: Int, limit: Int) -> None:
    """Empty a query's part of the buffer; rows must stay below the limit."""
    _, counts, states, _, _, _, _ = buffer
    counts[query] = 0
    states[query, SIZE], states[query, NEARER] = 0, 0
    states[query, LIMIT], states[query, BOUND] = limit, limit << NUMBER_BITS


@compiled
def scan_limit(states: Ints, query: Int) -> Int:
    """Return the distance from which on no row is wanted, whatever its number."""
    return (states[query, BOUND] + NUMBER_MASK) >> NUMBER_BITS


@compiled
def _number(order: Places, place: Int) -> Int:
    return np.int64(order[place]) if order.shape[0] else place


@compiled
def _is_dead(dead: Flags, number: Int) -> Int:
    # A number beyond the rows can only come from a damaged file.
    return number >= dead.shape[0] or dead[number]


# A tuple would count references for each row: from here on the buffer comes unpacked.


@compiled
def _drop_far(keys: Ints, counts: Ints, state: Ints, k: Int, order: Places) -> None:
    """Drop what is beyond the limit; where that is too little, cut ties to k."""
    limit, kept = state[LIMIT], 0
    for i in range(state[SIZE]):
        if keys[i] >> NUMBER_BITS <= limit:
            keys[kept] = keys[i]
            kept += 1
    state[SIZE] = kept
    if kept <= keys.shape[0] // 2:
        return
    nearer, ties = 0, np.empty(kept, np.int64)
    for i in range(kept):
        place = keys[i] & NUMBER_MASK
        if keys[i] >> NUMBER_BITS < limit:
            keys[nearer] = keys[i]
            nearer += 1
        elif order.shape[0]:
            ties[i - nearer] = (np.int64(order[place]) << 32) | place
        else:
            ties[i - nearer] = place
    ties = np.sort(ties[: kept - nearer])[: k - nearer]
    place_mask = 0xFFFFFFFF if order.shape[0] else NUMBER_MASK
    for i in range(ties.shape[0]):
        keys[nearer + i] = (limit << NUMBER_BITS) | (ties[i] & place_mask)
    last = _number(order, ties[-1] & place_mask)
    counts[limit] = ties.shape[0]
    state[SIZE] = nearer + ties.shape[0]
    state[BOUND] = min(state[BOUND], (limit << NUMBER_BITS) | last)


@compiled
def _keep(
    keys: Ints,
    counts: Ints,
    states: Ints,
    k: Int,
    order: Places,
    is_ordered: Int,
    query: Int,
    far: Int,
    place: Int,
) -> None:
    """Keep a row that may be wanted, and lower the limit if that fills k."""
    if states[query, SIZE] == keys.shape[1]:
        _drop_far(keys[query], counts[query], states[query], k, order)
        if (far << NUMBER_BITS) | _number(order, place) >= states[query, BOUND]:
            return
    keys[query, states[query, SIZE]] = (far << NUMBER_BITS) | place
    states[query, SIZE] += 1
    counts[query, far] += 1
    if far >= states[query, LIMIT]:
        return
    states[query, NEARER] += 1
    if states[query, NEARER] >= k:
        while states[query, NEARER] >= k:
            states[query, LIMIT] -= 1
            states[query, NEARER] -= counts[query, states[query, LIMIT]]
        limit = states[query, LIMIT] + (0 if is_ordered else 1)
        states[query, BOUND] = min(states[query, BOUND], limit << NUMBER_BITS)


@compiled
def keep(
    near: Ints, taken: Int, buffer: Buffer, query: Int, is_rising: Int, limit: Int
) -> Int:
    """Keep those of some rows below the limit that are wanted.

    `near` has their keys; `is_rising` says that these and those that follow come in
    order of numbers. Returns the limit for the rows that follow.
    """
    keys, counts, states, k, order, dead, is_ordered = buffer
    for i in range(taken):
        far, place = near[i] >> NUMBER_BITS, near[i] & NUMBER_MASK
        if far >= limit:
            continue
        bound = states[query, BOUND]
        is_tie = (far + 1) << NUMBER_BITS > bound
        if is_tie and (far << NUMBER_BITS) | _number(order, place) >= bound:
            if is_rising:  # no tie can follow
                limit = far
        elif dead.shape[0] == 0 or not _is_dead(dead, _number(order, place)):
            if k > 0:
                _keep(keys, counts, states, k, order, is_ordered, query, far, place)
                limit = min(limit, scan_limit(states, query))
                continue
            if states[query, SIZE] < keys.shape[1]:
                keys[query, states[query, SIZE]] = near[i]
            states[query, SIZE] += 1
    return limit


@compiled
def write_nearest(buffer: Buffer, query: Int, first: Int, found: Ints) -> None:
    """Write the nearest of the held keys in order, as many as there is room for."""
    all_keys, _, states, _, order, _, is_ordered = buffer
    keys, held, limit = all_keys[query], states[query, SIZE], states[query, LIMIT]
    starts = np.zeros(limit + 2, np.int64)
    for i in range(held):
        far = keys[i] >> NUMBER_BITS
        if far <= limit:
            starts[far + 1] += 1
    for far in range(limit + 1):
        starts[far + 1] += starts[far]
    line, ends = np.empty(starts[limit + 1], np.int64), starts.copy()
    for i in range(held):
        far = keys[i] >> NUMBER_BITS
        if far <= limit:
            number = first + _number(order, keys[i] & NUMBER_MASK)
            line[ends[far]] = (far << NUMBER_BITS) | number
            ends[far] += 1
    wanted = min(line.shape[0], found.shape[0])
    for far in range(limit + 1):
        if is_ordered or starts[far] >= wanted:  # what came in order is in order
            break
        line[starts[far] : starts[far + 1]].sort()
    found[:wanted] = line[:wanted]


@compiled
def write_all(buffer: Buffer, first: Int, sizes: Ints) -> None:
    """Number the held keys, which lie in place; count also what had no room."""
    keys, _, states, _, order, _, _ = buffer
    for j in range(sizes.shape[0]):
        sizes[j] = states[j, SIZE]
        for i in range(min(sizes[j], keys.shape[1])):
            number = first + _number(order, keys[j, i] & NUMBER_MASK)
            keys[j, i] = (keys[j, i] >> NUMBER_BITS << NUMBER_BITS) | number
