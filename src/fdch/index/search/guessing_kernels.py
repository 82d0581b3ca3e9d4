"""Compiled guesses, from samples, of the first limit of a search.

Importing this file needs numba.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fdch.compiled import compiled
from fdch.index.search.slice_kernels import distance, least

Flat = NDArray[np.unsignedinteger[Any]]
Ints = NDArray[np.int64]
Int: TypeAlias = Any  # a machine integer, which NumPy and Python type differently

MANY = 1 << 17  # rows; the first limit is guessed from larger samples of so many
SAMPLE = 512  # rows of a group that the first limit is guessed from


@compiled
def guess_limit(
    rows: Flat,
    words: Int,
    start: Int,
    stop: Int,
    queries: Flat,
    query: Int,
    bits: Int,
    k: Int,
) -> Int:
    """Guess from a sample a distance that k rows or somewhat more stay below.

    A guess that is too low is noticed, since fewer than k rows are then found.
    """
    size = stop - start
    groups, sampled = size // 256, 16
    if size >= MANY:
        groups, sampled = min(size // 4096, 512), 64
    if groups == 0:
        return bits + 1
    expected = k * (groups * sampled) / size
    wanted = int(expected + 3 * np.sqrt(expected)) + 1
    if wanted * 4 > groups:
        return bits + 1
    counts = np.zeros(bits + 1, np.int64)
    step = size // groups
    for group in range(groups):
        left = start + group * step
        counts[least(rows, left, left + sampled, queries, query, words)] += 1
    limit, seen = 0, counts[0]
    while seen < wanted:
        limit += 1
        seen += counts[limit]
    return limit + 1


@compiled
def guess_group_limit(
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
