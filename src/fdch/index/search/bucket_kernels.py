"""Compiled lookup in buckets of rows that agree in some bits.

Two codes within a radius agree well in at least one of several segments of bits: if
they differed by more than their share in every segment, they would differ by more
than the radius in all. Importing this file needs numba.
"""

from typing import Any, TypeAlias

import numpy as np

from fdch.compiled import compiled, set_bits
from fdch.index.search.buckets import BUCKET_TIME, flips
from fdch.index.search.distance_kernels import distance
from fdch.index.search.rows import NUMBER_BITS, Int, Ints, Places, Query, Rows, Stored
from fdch.index.search.vectors import take_query

TOO_SLOW = -1

# Where each bucket of each table begins, (tables, 2^width + 1); stored places of rows
# in order of their buckets, (tables, n); word and shift of the segment of each table,
# (tables, 2); bits of a segment.
Tables: TypeAlias = tuple[Places, Places, Ints, Int]

_flips = compiled(flips)


@compiled
def _segment(rows: Rows, row: Int, words: Any, cut: Ints, width: Int) -> Int:
    """Return the bits of a row that a table sorts by."""
    word = np.uint64(rows[row * len(words) + cut[0]]) >> np.uint64(cut[1])
    return np.int64(word & np.uint64((1 << width) - 1))


@compiled
def _estimate_time(
    starts: Places, segments: Ints, openings: Ints, row_time: Int, max_time: Int
) -> Int:
    """Estimate the nanoseconds of a lookup; no more is counted above the maximum."""
    time = 0
    for i in range(openings.shape[0]):
        table = openings[i, 0]
        bucket = segments[table] ^ openings[i, 1]
        end = np.int64(starts[table, bucket + 1])
        time += BUCKET_TIME + (end - np.int64(starts[table, bucket])) * row_time
        if time > max_time:
            break
    return time


@compiled
def _was_seen(
    rows: Rows,
    row: Int,
    words: Any,
    cuts: Ints,
    width: Int,
    segments: Ints,
    table: Int,
    radius: Int,
) -> Int:
    """Return whether the buckets of an earlier table have held the row already."""
    for earlier in range(table):
        differing = _segment(rows, row, words, cuts[earlier], width) ^ segments[earlier]
        if np.int64(set_bits(differing)) <= _flips(earlier, cuts.shape[0], radius):
            return True
    return False


@compiled
def _look_up(
    stored: Stored,
    tables: Tables,
    segments: Ints,
    openings: Ints,
    query: Query,
    radius: Int,
    found: Ints,
) -> Int:
    """Collect the rows within the radius from all openings; return how many."""
    (rows, words, order, first, dead), (starts, places, cuts, width) = stored, tables
    count, held = rows.shape[0] // len(words), 0
    for opening in range(openings.shape[0]):
        table = openings[opening, 0]
        bucket = segments[table] ^ openings[opening, 1]
        end = min(np.int64(starts[table, bucket + 1]), count)
        for i in range(np.int64(starts[table, bucket]), end):
            row = np.int64(places[table, i])
            if row >= count:  # can only come from a damaged file
                continue
            far = distance(rows, row, query)
            if far > radius or _was_seen(
                rows, row, words, cuts, width, segments, table, radius
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
    stored: Stored,
    tables: Tables,
    openings: Ints,
    queries: Rows,
    radius: Int,
    times: Any,
    found: Ints,
    sizes: Ints,
) -> None:
    """Find the rows within a radius, for each query that this is quick for.

    The keys come in any order. `openings` are those of `buckets.list_openings`,
    `times` how long comparing a row in a bucket takes, and a query may take, in
    nanoseconds; `sizes` is TOO_SLOW where the estimate is above that, else counts also
    what has no room.
    """
    words, (starts, _, cuts, width), (row_time, max_time) = stored[1], tables, times
    segments = np.empty(cuts.shape[0], np.int64)
    for j in range(sizes.shape[0]):
        for table in range(cuts.shape[0]):
            segments[table] = _segment(queries, j, words, cuts[table], width)
        sizes[j] = TOO_SLOW
        if _estimate_time(starts, segments, openings, row_time, max_time) > max_time:
            continue
        query = take_query(queries, j, words)
        sizes[j] = _look_up(stored, tables, segments, openings, query, radius, found[j])
