"""Compiled keeping of the nearest rows seen so far.

A found row is one number, its key: the distance above, the row's number below, so
that keys sort by distance and then by insertion. Importing this file needs numba.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fdch.compiled import compiled
from fdch.index.search.keys import NUMBER_BITS

Ints = NDArray[np.int64]
Int: TypeAlias = Any  # a machine integer, which NumPy and Python type differently


# The nearest rows of all queries so far: keys in order of numbers, with room for more
# than k; rows held at each distance, right below the limit; for each query the rows
# held, those of them nearer than the limit, and the limit; k, how many are wanted.
Held: TypeAlias = tuple[Ints, Ints, Ints, Int]


@compiled
def keep(
    keys: Ints,
    counts: Ints,
    states: Ints,
    k: Int,
    query: Int,
    distance: Int,
    number: Int,
) -> Int:
    """Take up a row nearer than the limit, and lower the limit if that fills k.

    Args:
        keys: This and the next three: what is held, as in `Held`; taken apart, since
            a tuple would count references for each row.
        counts: See there.
        states: See there.
        k: See there.
        query: Whose row this is.
        distance: Of the new row.
        number: Of the new row; later ones are higher.

    Returns:
        The limit.
    """
    size, nearer, limit = states[query, 0], states[query, 1], states[query, 2]
    if size == keys.shape[1]:
        size = _drop_far(keys[query], counts[query], limit, k - nearer)
    keys[query, size] = (distance << NUMBER_BITS) | number
    counts[query, distance] += 1
    nearer += 1
    while nearer >= k:
        limit -= 1
        nearer -= counts[query, limit]
    states[query, 0], states[query, 1], states[query, 2] = size + 1, nearer, limit
    return limit


@compiled
def _drop_far(keys: Ints, counts: Ints, limit: Int, at_limit: Int) -> Int:
    """Keep only rows nearer than the limit, and the first ones at it."""
    kept, taken = 0, 0
    for i in range(keys.shape[0]):
        far = keys[i] >> NUMBER_BITS
        if far > limit or (far == limit and taken == at_limit):
            continue
        taken += int(far == limit)
        keys[kept] = keys[i]
        kept += 1
    counts[limit] = taken
    return kept


@compiled
def sort_held(keys: Ints, held: Int, bits: Int, found: Ints) -> None:
    """Write the first of the held keys in order, as many as there is room for."""
    places = np.zeros(bits + 2, np.int64)
    for i in range(held):
        places[(keys[i] >> NUMBER_BITS) + 1] += 1
    for far in range(bits + 1):
        places[far + 1] += places[far]
    for i in range(held):
        far = keys[i] >> NUMBER_BITS
        if places[far] < found.shape[0]:
            found[places[far]] = keys[i]
        places[far] += 1
