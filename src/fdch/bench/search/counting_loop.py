"""The loop that only counts: what a scan can reach at best.

Importing this file needs numba.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fdch.compiled import compiled, set_bits
from fdch.index.search.vectors import count_differing, take_query

Flat = NDArray[np.unsignedinteger[Any]]
Ints = NDArray[np.int64]
Int: TypeAlias = Any  # a machine integer, which NumPy and Python type differently

BLOCK_BYTES = 16384  # as the scan


@compiled
def _below(rows: Flat, word: Int, limit: Int) -> Int:
    bound, count = rows.dtype.type(limit), np.uint64(0)
    for i in range(rows.shape[0]):
        count += np.uint64(set_bits(rows[i] ^ word) < bound)
    return np.int64(count)


@compiled
def _below_two(rows: Flat, first: Int, second: Int, limit: Int) -> Int:
    bound, count = np.uint64(limit), np.uint64(0)
    for i in range(rows.shape[0] // 2):
        far = set_bits(rows[2 * i] ^ first) + set_bits(rows[2 * i + 1] ^ second)
        count += np.uint64(np.uint64(far) < bound)
    return np.int64(count)


@compiled
def _below_four(rows: Flat, query: Flat, limit: Int) -> Int:
    first, second, third, fourth = query[0], query[1], query[2], query[3]
    bound, count = np.uint64(limit), np.uint64(0)
    for i in range(rows.shape[0] // 4):
        left = set_bits(rows[4 * i] ^ first) + set_bits(rows[4 * i + 1] ^ second)
        right = set_bits(rows[4 * i + 2] ^ third) + set_bits(rows[4 * i + 3] ^ fourth)
        count += np.uint64(np.uint64(left + right) < bound)
    return np.int64(count)


@compiled
def _below_many(rows: Flat, words: Any, query: Any, limit: Int) -> Int:
    bound, count = np.uint64(limit), np.uint64(0)
    for i in range(rows.shape[0] // len(words)):
        count += np.uint64(np.uint64(count_differing(rows, i, query)) < bound)
    return np.int64(count)


@compiled
def count_below(
    rows: Flat, words: Any, start: Int, stop: Int, queries: Flat, limits: Ints
) -> Int:
    """Count rows nearer than a limit, all queries together.

    `words` is a tuple as long as a row, as in the scan.
    """
    length = len(words)
    block = BLOCK_BYTES // (rows.itemsize * length)
    total = 0
    for left in range(start, stop, block):
        some = rows[left * length : min(left + block, stop) * length]
        for j in range(limits.shape[0]):
            query = queries[j * length : (j + 1) * length]
            if length == 1:
                total += _below(some, query[0], limits[j])
            elif length == 2:
                total += _below_two(some, query[0], query[1], limits[j])
            elif length == 4:
                total += _below_four(some, query, limits[j])
            else:
                one = take_query(queries, j, words)
                total += _below_many(some, words, one, limits[j])
    return total
