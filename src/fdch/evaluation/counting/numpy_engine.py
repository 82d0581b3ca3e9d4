"""Counting with NumPy alone: the engine every installation has."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fdch.evaluation.counting.relevance import Packed, key_type

Keys = NDArray[np.uint16] | NDArray[np.uint32]

# Pairs compared at a time; a pair takes about 40 bytes of temporary memory.
PAIRS_PER_BLOCK = 2_000_000


def count(
    queries: Packed, database: Packed, bits: int, grades: int = 2
) -> NDArray[np.int64]:
    """Count pairs by query, distance and grade, (queries, bits + 1, grades).

    The grade is the number of shared labels, `grades` - 1 at most: with two grades it
    says whether any is shared.
    """
    number = queries.codes.shape[1]
    counts = np.zeros((number, bits + 1, grades), dtype=np.int64)
    for rows, columns in _blocks(number, database.codes.shape[1]):
        keys = _keys(queries, database, rows, columns, bits, grades)
        part = counts[rows]
        offsets = np.arange(len(part))[:, None] * ((bits + 1) * grades)
        flat = np.bincount((keys + offsets).ravel(), minlength=part.size)
        part += flat.reshape(part.shape)
    return counts


def stable_sums(
    queries: Packed,
    database: Packed,
    counts: NDArray[np.int64],
    cutoff: int,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Sum precision at each relevant item, ties in database order.

    Returns for each query the sum over relevant items ranked up to the cut-off, and how
    many these are.
    """
    number, size = counts.shape[0], database.codes.shape[1]
    sums, hits = np.zeros(number), np.zeros(number, dtype=np.int64)
    for query in range(number):
        seen = np.cumsum(counts[query], axis=0) - counts[query]
        ranks, found = seen.sum(axis=1), seen[:, 1].copy()
        for start in range(0, size, PAIRS_PER_BLOCK):
            columns = slice(start, start + PAIRS_PER_BLOCK)
            row = slice(query, query + 1)
            keys = _keys(queries, database, row, columns, counts.shape[1] - 1, 2)[0]
            precision = _place(keys, ranks, found, cutoff)
            sums[query] += precision.sum()
            hits[query] += precision.size
    return sums, hits


def _place(
    keys: Keys, ranks: NDArray[np.int64], found: NDArray[np.int64], cutoff: int
) -> NDArray[np.float64]:
    """Return precision at the relevant items of a slice of the database.

    Advances, for each distance, the items ranked and the relevant ones found.
    """
    distances, relevant = keys >> 1, keys & 1
    order = np.argsort(distances, kind="stable")  # a radix sort for 16-bit numbers
    distances, relevant = distances[order], relevant[order]
    items = np.bincount(distances, minlength=ranks.size)
    answers = np.bincount(distances, weights=relevant, minlength=ranks.size)
    before_items = np.cumsum(items) - items
    before_answers = np.cumsum(answers) - answers
    position = np.arange(1, keys.size + 1) + (ranks - before_items)[distances]
    precision = (np.cumsum(relevant) + (found - before_answers)[distances]) / position
    ranks += items
    found += answers.astype(np.int64)
    return precision[(relevant == 1) & (position <= cutoff)]


def _keys(
    queries: Packed,
    database: Packed,
    rows: slice,
    columns: slice,
    bits: int,
    grades: int,
) -> Keys:
    """Return `grades` times the distance, plus the number of shared labels.

    Numbers from `grades` on count as the largest grade.
    """
    shape = queries.codes[0, rows].size, database.codes[0, columns].size
    kind = key_type(bits, grades)
    keys, shared = np.zeros(shape, dtype=kind), np.zeros(shape, dtype=kind)
    for left, right in zip(queries.codes, database.codes, strict=True):
        keys += np.bitwise_count(left[rows, None] ^ right[None, columns])
    for left, right in zip(queries.labels, database.labels, strict=True):
        shared += np.bitwise_count(left[rows, None] & right[None, columns])
    keys *= kind.type(grades)
    keys += np.minimum(shared, kind.type(grades - 1))
    return keys


def _blocks(rows: int, columns: int) -> Iterator[tuple[slice, slice]]:
    width = min(columns, PAIRS_PER_BLOCK)
    height = max(1, PAIRS_PER_BLOCK // width)
    for top in range(0, rows, height):
        for left in range(0, columns, width):
            yield slice(top, top + height), slice(left, left + width)
