"""Compiled keeping of the nearest rows seen so far, by the places they are stored in.

While a query is searched, a key holds the stored place of a row: its number lies
elsewhere in memory, and only ties at the last distance ever need it. Importing this
file needs numba.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fdch.compiled import compiled
from fdch.index.search.keys import NUMBER_BITS, NUMBER_MASK

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Places = NDArray[np.uint32]
Int: TypeAlias = Any  # a machine integer, which NumPy and Python type differently

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
def is_dead(dead: Flags, number: Int) -> Int:
    """Tell whether the row of a number is removed."""
    # A number beyond the rows can only come from a damaged file.
    return number >= dead.shape[0] or dead[number]


@compiled
def keep_all(
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
        elif dead.shape[0] == 0 or not is_dead(dead, order[place]):
            _keep(keys, counts, state, order, k, far, place)
            limit = min(limit, (state[3] + NUMBER_MASK) >> NUMBER_BITS)
    return limit


@compiled
def sort_keys(keys: Ints, state: Ints, order: Places, first: Int, found: Ints) -> None:
    """Write the first of the held keys in order, as many as there is room for."""
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
