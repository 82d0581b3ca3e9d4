"""The compiled full scan: many queries share each block of codes.

Importing this file needs numba.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fdch.compiled import compiled
from fdch.index.block_kernels import (
    block_rows,
    gather,
    lay_out,
    next_in_block,
    room_for_planes,
)
from fdch.index.guessing_kernels import guess_limit
from fdch.index.keeping_kernels import keep, sort_held
from fdch.index.keys import NUMBER_BITS, NUMBER_MASK
from fdch.index.slice_kernels import STREAMS, collect, mark_slices, room_for_marks
from fdch.index.slice_vectors import SLICE

Flat = NDArray[np.unsignedinteger[Any]]
Int: TypeAlias = Any  # a machine integer, which NumPy and Python type differently
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

MOST_MARKED = 4  # of so many slices one may be near, for stretches to be worth it


@compiled
def _nearest_in_block(
    rows: Flat,
    planes: Flat,
    start: Int,
    stop: Int,
    words: Int,
    numbers: Ints,
    base: Int,
    first: Int,
    dead: Flags,
    queries: Flat,
    chosen: Ints,
    keys: Ints,
    counts: Ints,
    states: Ints,
    k: Int,
    near: Ints,
) -> None:
    """Show one block of rows to all queries."""
    for place in range(chosen.shape[0]):
        j = chosen[place]
        limit = states[j, 2]
        i = next_in_block(rows, planes, start, start, stop, queries, j, words, limit)
        while i < stop:
            end = min(i - i % SLICE + SLICE, stop)
            for at in range(collect(rows, i, end, queries, j, words, limit, near)):
                far = near[at] >> NUMBER_BITS
                number = base + (near[at] & NUMBER_MASK)
                if numbers.shape[0]:
                    number = numbers[number]
                if far < limit and (dead.shape[0] == 0 or not dead[number]):
                    limit = keep(keys, counts, states, j, k, far, first + number)
            i = next_in_block(rows, planes, start, end, stop, queries, j, words, limit)


@compiled
def _nearest_in_stretches(
    rows: Flat,
    words: Int,
    start: Int,
    stop: Int,
    numbers: Ints,
    first: Int,
    dead: Flags,
    queries: Flat,
    chosen: Ints,
    keys: Ints,
    counts: Ints,
    states: Ints,
    bits: Int,
    k: Int,
    near: Ints,
) -> Int:
    """Show a range of rows to a lone query, several stretches at once.

    Gives where it stopped, since too few rows are left, or too many are near.
    """
    marks, planes = room_for_marks(rows, words, stop - start), rows[:0]
    left, step = start, marks.shape[0] * SLICE
    if step and states[chosen[0], 2] > bits:  # nothing would be ruled out yet
        left += step // STREAMS
        _nearest_in_block(
            rows, planes, start, left, words, numbers, 0, first, dead,
            queries, chosen, keys, counts, states, k, near,
        )  # fmt: skip
    while step and left + step <= stop:
        limit = states[chosen[0], 2]
        marked = mark_slices(rows, left, queries, chosen[0], words, limit, marks)
        for at in range(marks.shape[0] if marked else 0):
            if marks[at]:
                begin = left + at * SLICE
                _nearest_in_block(
                    rows, planes, begin, begin + SLICE, words, numbers, 0, first, dead,
                    queries, chosen, keys, counts, states, k, near,
                )  # fmt: skip
        left += step
        if marked > marks.shape[0] // MOST_MARKED:
            break
    return left


@compiled
def _nearest_in_range(
    rows: Flat,
    words: Int,
    numbers: Ints,
    places: Ints,
    start: Int,
    stop: Int,
    first: Int,
    dead: Flags,
    queries: Flat,
    chosen: Ints,
    keys: Ints,
    counts: Ints,
    states: Ints,
    bits: Int,
    k: Int,
) -> None:
    """Show a range of rows, or of the numbered ones, to all queries, in blocks."""
    near = np.empty(SLICE, np.int64)
    planes = room_for_planes(rows, words, chosen.shape[0])
    block = block_rows(rows, words, planes)
    gathered = np.empty(block * words if numbers.shape[0] else 0, rows.dtype)
    begin = start
    if chosen.shape[0] == 1 and numbers.shape[0] == 0 and planes.shape[0] == 0:
        begin = _nearest_in_stretches(
            rows, words, start, stop, numbers, first, dead,
            queries, chosen, keys, counts, states, bits, k, near,
        )  # fmt: skip
        block = max(stop - begin, 1)  # nobody to share a block with
    for left in range(begin, stop, block):
        right = min(left + block, stop)
        if numbers.shape[0] == 0:
            if planes.shape[0]:
                lay_out(rows, left, right, words, planes)
            _nearest_in_block(
                rows, planes, left, right, words, numbers, 0, first, dead,
                queries, chosen, keys, counts, states, k, near,
            )  # fmt: skip
        else:
            gather(rows, words, places[left:right], gathered)
            if planes.shape[0]:
                lay_out(gathered, 0, right - left, words, planes)
            _nearest_in_block(
                gathered, planes, 0, right - left, words, numbers, left, first, dead,
                queries, chosen, keys, counts, states, k, near,
            )  # fmt: skip


@compiled
def nearest_rows(
    rows: Flat,
    words: Int,
    numbers: Ints,
    places: Ints,
    start: Int,
    stop: Int,
    first: Int,
    dead: Flags,
    queries: Flat,
    limits: Ints,
    bits: Int,
    found: Ints,
    sizes: Ints,
) -> None:
    """Find for each query the nearest rows of a range that stay below its limit.

    Args:
        rows: Codes, flat.
        words: Words to a row.
        numbers: Of the rows to look at, counted from the first, rising; empty for
            all.
        places: Where these rows are stored.
        start: First row, or place in numbers, to look at.
        stop: One past the last.
        first: Number of the first row of all.
        dead: Rows to leave out; empty for none.
        queries: Codes to search with, flat.
        limits: Distances that rows must stay below.
        bits: Length of the codes.
        found: Keys in order, (queries, k), to be written.
        sizes: How many keys of each query, to be written.
    """
    count, k = found.shape
    keys = np.empty((count, 2 * k + 32), np.int64)
    counts = np.zeros((count, bits + 2), np.int64)
    states = np.zeros((count, 3), np.int64)
    may_guess = numbers.shape[0] == 0 and dead.shape[0] == 0
    for j in range(count):
        states[j, 2] = min(limits[j], bits + 1)
        if limits[j] > bits and may_guess:
            states[j, 2] = guess_limit(rows, words, start, stop, queries, j, bits, k)
    _nearest_in_range(
        rows, words, numbers, places, start, stop, first, dead,
        queries, np.arange(count), keys, counts, states, bits, k,
    )  # fmt: skip
    missed = np.empty(count, np.int64)
    misses = 0
    for j in range(count):
        if may_guess and limits[j] > bits >= states[j, 2] and states[j, 0] < k:
            counts[j] = 0
            states[j, 0], states[j, 1], states[j, 2] = 0, 0, bits + 1
            missed[misses] = j
            misses += 1
    if misses:
        _nearest_in_range(
            rows, words, numbers, places, start, stop, first, dead,
            queries, missed[:misses], keys, counts, states, bits, k,
        )  # fmt: skip
    for j in range(count):
        sizes[j] = sort_held(keys[j], states[j, 0], bits, found[j])


@compiled
def _within_in_block(
    rows: Flat,
    planes: Flat,
    start: Int,
    stop: Int,
    words: Int,
    numbers: Ints,
    base: Int,
    first: Int,
    dead: Flags,
    queries: Flat,
    limit: Int,
    found: Ints,
    sizes: Ints,
    near: Ints,
) -> None:
    """Show one block to all queries, and take up what is nearer than the limit."""
    for j in range(sizes.shape[0]):
        i = next_in_block(rows, planes, start, start, stop, queries, j, words, limit)
        while i < stop:
            end = min(i - i % SLICE + SLICE, stop)
            for at in range(collect(rows, i, end, queries, j, words, limit, near)):
                number = base + (near[at] & NUMBER_MASK)
                if numbers.shape[0]:
                    number = numbers[number]
                if dead.shape[0] == 0 or not dead[number]:
                    if sizes[j] < found.shape[1]:
                        far = near[at] >> NUMBER_BITS
                        found[j, sizes[j]] = (far << NUMBER_BITS) | (first + number)
                    sizes[j] += 1
            i = next_in_block(rows, planes, start, end, stop, queries, j, words, limit)


@compiled
def _within_in_stretches(
    rows: Flat,
    words: Int,
    start: Int,
    stop: Int,
    numbers: Ints,
    first: Int,
    dead: Flags,
    queries: Flat,
    limit: Int,
    found: Ints,
    sizes: Ints,
    near: Ints,
) -> Int:
    """Do as `_nearest_in_stretches` for what is nearer than the limit."""
    marks, planes = room_for_marks(rows, words, stop - start), rows[:0]
    left, step = start, marks.shape[0] * SLICE
    while step and left + step <= stop:
        marked = mark_slices(rows, left, queries, 0, words, limit, marks)
        for at in range(marks.shape[0] if marked else 0):
            if marks[at]:
                begin = left + at * SLICE
                _within_in_block(
                    rows, planes, begin, begin + SLICE, words, numbers, 0, first, dead,
                    queries, limit, found, sizes, near,
                )  # fmt: skip
        left += step
        if marked > marks.shape[0] // MOST_MARKED:
            break
    return left


@compiled
def rows_within(
    rows: Flat,
    words: Int,
    numbers: Ints,
    places: Ints,
    start: Int,
    stop: Int,
    first: Int,
    dead: Flags,
    queries: Flat,
    limit: Int,
    found: Ints,
    sizes: Ints,
) -> None:
    """Find the rows of a range nearer than the limit, in order of their numbers.

    Where `found` has too little room, `sizes` still counts all of them.
    """
    near = np.empty(SLICE, np.int64)
    planes = room_for_planes(rows, words, sizes.shape[0])
    block = block_rows(rows, words, planes)
    gathered = np.empty(block * words if numbers.shape[0] else 0, rows.dtype)
    begin = start
    if sizes.shape[0] == 1 and numbers.shape[0] == 0 and planes.shape[0] == 0:
        begin = _within_in_stretches(
            rows, words, start, stop, numbers, first, dead,
            queries, limit, found, sizes, near,
        )  # fmt: skip
    for left in range(begin, stop, block):
        right = min(left + block, stop)
        if numbers.shape[0] == 0:
            if planes.shape[0]:
                lay_out(rows, left, right, words, planes)
            _within_in_block(
                rows, planes, left, right, words, numbers, 0, first, dead,
                queries, limit, found, sizes, near,
            )  # fmt: skip
        else:
            gather(rows, words, places[left:right], gathered)
            if planes.shape[0]:
                lay_out(gathered, 0, right - left, words, planes)
            _within_in_block(
                gathered, planes, 0, right - left, words, numbers, left, first, dead,
                queries, limit, found, sizes, near,
            )  # fmt: skip
