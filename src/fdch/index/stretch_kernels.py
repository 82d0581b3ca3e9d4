"""Compiled marking of slices with something near, several stretches of rows at once.

Importing this file needs numba.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fdch.compiled import compiled
from fdch.index.slice_kernels import four_of, pair_of
from fdch.index.slice_vectors import SLICE, near_rows, near_words

Flat = NDArray[np.unsignedinteger[Any]]
Int: TypeAlias = Any  # a machine integer, which NumPy and Python type differently
Flags = NDArray[np.bool_]

# Memory gives more in the same time where it is read in a few places far apart.
STREAMS = 4  # such places
MARKED_BYTES = 1 << 23  # of all places together
FEWEST_BYTES = 1 << 20  # less than this is not worth it
MOST_MARKED = 4  # one of so many slices may be near, else it is not, either


@compiled
def _mark_words(rows: Flat, start: Int, word: Int, limit: Int, near: Flags) -> None:
    """Do as `mark_slices` for rows of one word."""
    slices = near.shape[0] // STREAMS
    for i in range(slices):
        for stream in range(STREAMS):
            at = stream * slices + i
            near[at] = near_words(rows, start + at * SLICE, word, limit)


@compiled
def _mark_rows(rows: Flat, start: Int, query: Int, limit: Int, near: Flags) -> None:
    """Do as `mark_slices` for rows of several words, the query a tuple of them."""
    slices = near.shape[0] // STREAMS
    for i in range(slices):
        for stream in range(STREAMS):
            at = stream * slices + i
            near[at] = near_rows(rows, (start + at * SLICE) * len(query), query, limit)


@compiled
def mark_slices(
    rows: Flat,
    start: Int,
    queries: Flat,
    query: Int,
    words: Int,
    limit: Int,
    near: Flags,
) -> Int:
    """Tell which slices hold a row nearer than the limit, in several places at once.

    Args:
        rows: Codes of 1, 2 or 4 words, flat.
        start: First row.
        queries: Codes to search with, flat.
        query: Which of them.
        words: Words to a row.
        limit: A distance that rows must stay below.
        near: Whether each slice holds one, in order, to be written.

    Returns:
        How many do.
    """
    if words == 1:
        _mark_words(rows, start, queries[query], limit, near)
    elif words == 2:
        _mark_rows(rows, start, pair_of(queries, query), limit, near)
    elif words == 4:
        _mark_rows(rows, start, four_of(queries, query), limit, near)
    return near.sum()


@compiled
def room_for_marks(rows: Flat, words: Int, size: Int) -> Flags:
    """Give room to mark slices of a range; none where it cannot be read so."""
    width = rows.itemsize * words
    if size * width < FEWEST_BYTES or words == 3:
        return np.empty(0, np.bool_)
    turns = -(-size * width // MARKED_BYTES)
    return np.empty(size // (turns * STREAMS * SLICE) * STREAMS, np.bool_)
