"""The compiled full scan for the nearest rows: many queries share each block.

Importing this file needs numba.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fdch.compiled import compiled
from fdch.index.search.block_kernels import (
    Look,
    block_rows,
    lay_out,
    next_in_block,
    room_for_planes,
)
from fdch.index.search.guessing_kernels import guess_limit
from fdch.index.search.keeping_kernels import Held, keep, sort_held
from fdch.index.search.keys import NUMBER_BITS, NUMBER_MASK
from fdch.index.search.lone_kernels import collect_nearest
from fdch.index.search.slice_kernels import collect
from fdch.index.search.slice_vectors import SLICE

Flat = NDArray[np.unsignedinteger[Any]]
Int: TypeAlias = Any  # a machine integer, which NumPy and Python type differently
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

FIRST_SHOWN = 1 << 18  # rows that a lone query gets its first limit from


@compiled
def _show_block(
    rows: Flat,
    planes: Flat,
    start: Int,
    stop: Int,
    look: Look,
    queries: Flat,
    chosen: Ints,
    held: Held,
    near: Ints,
) -> None:
    """Show one block of rows to all queries."""
    words, first, dead = look
    keys, counts, states, k = held
    for place in range(chosen.shape[0]):
        j = chosen[place]
        limit = states[j, 2]
        i = next_in_block(rows, planes, start, start, stop, queries, j, words, limit)
        while i < stop:
            end = min(i - i % SLICE + SLICE, stop)
            for at in range(collect(rows, i, end, queries, j, words, limit, near)):
                far = near[at] >> NUMBER_BITS
                number = near[at] & NUMBER_MASK
                if far < limit and (dead.shape[0] == 0 or not dead[number]):
                    limit = keep(keys, counts, states, k, j, far, first + number)
            i = next_in_block(rows, planes, start, end, stop, queries, j, words, limit)


@compiled
def _show_to_one(
    rows: Flat,
    planes: Flat,
    start: Int,
    stop: Int,
    look: Look,
    queries: Flat,
    chosen: Ints,
    held: Held,
    near: Ints,
    is_backward: Int,
) -> Int:
    """Show a range of rows to a lone query; give where a few at its end are left."""
    keys, counts, states, k = held
    _, first, dead = look
    query, begin = chosen[0], start
    if dead.shape[0] or states[query, 2] > counts.shape[1] - 2:  # there was no guess
        begin = min(start + FIRST_SHOWN, stop)
        _show_block(rows, planes, start, begin, look, queries, chosen, held, near)
    found, left, right = collect_nearest(
        rows, begin, stop, look, queries, query, held, is_backward
    )
    _show_block(rows, planes, begin, left, look, queries, chosen, held, near)
    for i in range(min(found.shape[0], k)):
        far = found[i] >> NUMBER_BITS
        if far < states[query, 2]:
            number = first + (found[i] & NUMBER_MASK)
            keep(keys, counts, states, k, query, far, number)
    return right


@compiled
def _show_range(
    rows: Flat,
    start: Int,
    stop: Int,
    look: Look,
    queries: Flat,
    chosen: Ints,
    held: Held,
    is_backward: Int,
) -> None:
    """Show a range of rows to all queries, in blocks."""
    words = look[0]
    near = np.empty(SLICE, np.int64)
    planes = room_for_planes(rows, words, chosen.shape[0])
    block = block_rows(rows, words, planes)
    begin = start
    if chosen.shape[0] == 1 and planes.shape[0] == 0:
        begin = _show_to_one(
            rows, planes, start, stop, look, queries, chosen, held, near, is_backward
        )
        block = max(stop - begin, 1)  # nobody to share a block with
    for left in range(begin, stop, block):
        right = min(left + block, stop)
        lay_out(rows, left, right, words, planes)
        _show_block(rows, planes, left, right, look, queries, chosen, held, near)


@compiled
def nearest_rows(
    rows: Flat,
    words: Int,
    start: Int,
    stop: Int,
    first: Int,
    dead: Flags,
    queries: Flat,
    limits: Ints,
    bits: Int,
    found: Ints,
    is_backward: Int,
) -> None:
    """Find for each query the nearest rows of a range that stay below its limit.

    Args:
        rows: Codes, flat.
        words: Words to a row.
        start: First row to look at.
        stop: One past the last.
        first: Number of the first row of all.
        dead: Rows to leave out; empty for none.
        queries: Codes to search with, flat.
        limits: Distances that rows must stay below.
        bits: Length of the codes.
        found: Keys in order, (queries, k), to be written as far as there are some.
        is_backward: Whether a lone query is shown the rows from the last: what it
            sees last the next one, shown them the other way, still has in a cache.
    """
    count, k = found.shape
    look = words, first, dead
    keys = np.empty((count, 2 * k + 32), np.int64)
    counts = np.zeros((count, bits + 2), np.int64)
    states = np.zeros((count, 3), np.int64)
    held = keys, counts, states, k
    may_guess = dead.shape[0] == 0
    for j in range(count):
        limit = min(limits[j], bits + 1)
        if limit > 0 and may_guess:
            guess = guess_limit(rows, words, start, stop, queries, j, bits, k)
            limit = min(limit, guess)
        states[j, 2] = limit
    everyone = np.arange(count)
    _show_range(rows, start, stop, look, queries, everyone, held, is_backward)
    missed = np.empty(count, np.int64)
    misses = 0
    for j in range(count):
        limit = min(limits[j], bits + 1)
        if states[j, 0] < k and states[j, 2] < limit:  # the guess was too low
            counts[j] = 0
            states[j, 0], states[j, 1], states[j, 2] = 0, 0, limit
            missed[misses] = j
            misses += 1
    if misses:
        again = missed[:misses]
        _show_range(rows, start, stop, look, queries, again, held, is_backward)
    for j in range(count):
        sort_held(keys[j], states[j, 0], bits, found[j])
