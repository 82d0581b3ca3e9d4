"""Compiled lookup in buckets of rows that agree in some bits.

Two codes within a radius agree well in at least one of several groups of bits: if
they differed by more than their share in every group, they would differ by more
than the radius in all. Importing this file needs numba.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fdch.compiled import compiled, set_bits
from fdch.index.search.bucketed import BUCKET_TIME, flips
from fdch.index.search.keys import NUMBER_BITS
from fdch.index.search.slice_kernels import distance

Flat = NDArray[np.unsignedinteger[Any]]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Places = NDArray[np.uint32]
Int: TypeAlias = Any  # a machine integer, which NumPy and Python type differently

UNDONE = -1


@compiled
def _bits_of(rows: Flat, row: Int, words: Int, cut: Ints, width: Int) -> Int:
    """Give the group of bits that a table sorts by."""
    word = np.uint64(rows[row * words + cut[0]]) >> np.uint64(cut[1])
    return np.int64(word & np.uint64((1 << width) - 1))


@compiled
def sort_rows(
    rows: Flat, words: Int, cut: Ints, width: Int, starts: Places, places: Places
) -> None:
    """Sort rows by a group of bits, those of one bucket by place.

    Args:
        rows: Codes, flat.
        words: Words to a row.
        cut: Word and shift of the bits.
        width: How many bits.
        starts: Where each bucket begins, (2^width + 1,), to be written.
        places: Rows in order of their buckets, to be written.
    """
    count = rows.shape[0] // words
    ends = np.zeros(starts.shape[0] + 1, np.int64)
    for row in range(count):
        ends[_bits_of(rows, row, words, cut, width) + 2] += 1
    for bucket in range(starts.shape[0] - 1):
        ends[bucket + 1] += ends[bucket]
    for row in range(count):
        bucket = _bits_of(rows, row, words, cut, width) + 1
        places[ends[bucket]] = row
        ends[bucket] += 1
    for bucket in range(starts.shape[0]):
        starts[bucket] = ends[bucket]


_flips = compiled(flips)


@compiled
def _next_mask(mask: Int) -> Int:
    """Give the next higher number with as many bits set."""
    lowest = mask & -mask
    ripple = mask + lowest
    return (((ripple ^ mask) >> 2) // lowest) | ripple


@compiled
def _time(
    starts: Places, bits: Ints, width: Int, radius: Int, row_time: Int, most: Int
) -> Int:
    """Estimate the nanoseconds of a lookup; no more is counted above the most."""
    tables, time = starts.shape[0], 0
    for table in range(tables):
        for flipped in range(_flips(table, tables, radius) + 1):
            mask = (1 << flipped) - 1
            while mask < 1 << width:
                bucket = bits[table] ^ mask
                end = np.int64(starts[table, bucket + 1])
                held = int(end - np.int64(starts[table, bucket]))
                time += BUCKET_TIME + held * row_time
                if mask == 0 or time > most:
                    break
                mask = _next_mask(mask)
    return time


@compiled
def _seen_before(
    rows: Flat,
    words: Int,
    row: Int,
    bits: Ints,
    cuts: Ints,
    width: Int,
    table: Int,
    radius: Int,
) -> Int:
    """Tell whether an earlier table has shown the row already."""
    for earlier in range(table):
        differing = _bits_of(rows, row, words, cuts[earlier], width) ^ bits[earlier]
        if np.int64(set_bits(differing)) <= _flips(earlier, cuts.shape[0], radius):
            return True
    return False


@compiled
def _open_bucket(
    rows: Flat,
    words: Int,
    places: Places,
    start: Int,
    stop: Int,
    bits: Ints,
    cuts: Ints,
    width: Int,
    table: Int,
    order: Places,
    first: Int,
    dead: Flags,
    queries: Flat,
    query: Int,
    radius: Int,
    found: Ints,
    held: Int,
) -> Int:
    """Take up the rows of a bucket within the radius; give how many are held."""
    count = rows.shape[0] // words
    for i in range(start, min(stop, count)):
        row = np.int64(places[i])
        if row >= count:  # can only come from a damaged file
            continue
        far = distance(rows, row, queries, query, words)
        if far > radius or _seen_before(
            rows, words, row, bits, cuts, width, table, radius
        ):
            continue
        number = np.int64(order[row]) if order.shape[0] else row
        if dead.shape[0] and (number >= dead.shape[0] or dead[number]):
            continue
        if held < found.shape[0]:
            found[held] = (far << NUMBER_BITS) | (first + number)
        held += 1
    return held


@compiled
def within_buckets(
    rows: Flat,
    words: Int,
    starts: Places,
    places: Places,
    cuts: Ints,
    width: Int,
    order: Places,
    first: Int,
    dead: Flags,
    queries: Flat,
    radius: Int,
    row_time: Int,
    most: Int,
    found: Ints,
    sizes: Ints,
) -> None:
    """Find the rows within a radius, for each query that this is quick for.

    Args:
        rows: Codes as they are stored, flat.
        words: Words to a row.
        starts: Where each bucket of each table begins, (tables, 2^width + 1).
        places: Stored places of rows in order of their buckets, (tables, n).
        cuts: Word and shift of the bits of each table, (tables, 2).
        width: Bits of each table.
        order: Number of each stored row, counted from the first; empty for rows in
            order of numbers.
        first: Number of the first row.
        dead: Rows to leave out, in order of numbers; empty for none.
        queries: Codes to search with, flat.
        radius: The largest distance.
        row_time: Nanoseconds to compare a row found in a bucket.
        most: Nanoseconds that a query may take by the estimate.
        found: Room for keys of each query, in any order.
        sizes: How many there are, whether there is room or not; UNDONE where the
            estimate is too high.
    """
    tables = cuts.shape[0]
    bits = np.empty(tables, np.int64)
    for j in range(sizes.shape[0]):
        for table in range(tables):
            bits[table] = _bits_of(queries, j, words, cuts[table], width)
        sizes[j] = UNDONE
        if _time(starts, bits, width, radius, row_time, most) > most:
            continue
        held = 0
        for table in range(tables):
            for flipped in range(_flips(table, tables, radius) + 1):
                mask = (1 << flipped) - 1
                while mask < 1 << width:
                    bucket = bits[table] ^ mask
                    held = _open_bucket(
                        rows, words, places[table], np.int64(starts[table, bucket]),
                        np.int64(starts[table, bucket + 1]), bits, cuts, width, table,
                        order, first, dead, queries, j, radius, found[j], held,
                    )  # fmt: skip
                    if mask == 0:
                        break
                    mask = _next_mask(mask)
        sizes[j] = held
