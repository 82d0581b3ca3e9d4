"""Counting in compiled loops: the same integers as NumPy, many times faster.

Importing this file needs numba. Threads share queries between them and hold no
lock, so one thread per core is used and never more.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from fdch.compiled import compiled, set_bits
from fdch.evaluation.counting.relevance import Packed, key_type
from fdch.machine import usable_cores

Words = NDArray[np.uint64]
Keys = NDArray[np.uint16] | NDArray[np.uint32]

ITEMS_PER_BLOCK = 1024  # their codes and labels stay in the first-level cache
QUERIES_PER_TASK = 16


def count(
    queries: Packed, database: Packed, bits: int, grades: int = 2
) -> NDArray[np.int64]:
    """Count pairs by query, distance and grade, (queries, bits + 1, grades).

    The grade is the number of shared labels, `grades` - 1 at most: with two grades it
    says whether any is shared.
    """
    counts = np.zeros((queries.codes.shape[1], bits + 1, grades), dtype=np.int64)
    keyed = counts.reshape(counts.shape[0], -1)
    keys = np.empty(ITEMS_PER_BLOCK, key_type(bits, grades))

    def work(start: int, stop: int) -> None:
        _count(queries, database, keyed, grades, keys.copy(), start, stop)

    _share(work, counts.shape[0])
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
    number = counts.shape[0]
    # One word for each query and distance: items ranked so far in the low half,
    # relevant ones found so far in the high half, so that one addition moves both.
    places = (counts.sum(axis=2) + (counts[:, :, 1] << 32)).astype(np.uint64)
    places = np.cumsum(places, axis=1) - places
    sums, hits = np.zeros(number), np.zeros(number, dtype=np.int64)
    last = min(cutoff, database.codes.shape[1])

    def work(start: int, stop: int) -> None:
        _place(queries, database, places, last, sums, hits, start, stop)

    _share(work, number)
    return sums, hits


def _share(work: Callable[[int, int], None], number: int) -> None:
    """Run the work on ranges of queries, one thread to a core."""
    starts = range(0, number, QUERIES_PER_TASK)
    with ThreadPoolExecutor(usable_cores()) as pool:
        tasks = [
            pool.submit(work, start, min(start + QUERIES_PER_TASK, number))
            for start in starts
        ]
        for task in tasks:
            task.result()


@compiled
def _fill_keys(
    queries: Packed,
    database: Packed,
    query: int,
    start: int,
    grades: int,
    keys: Keys,
    shared: Words,
) -> None:
    """Write `grades` times the distance, plus the number of shared labels.

    Numbers from `grades` on count as the largest grade, so that with two of them
    the sum is odd where any label is shared.
    """
    stop = start + keys.shape[0]
    step, largest = np.uint64(grades), np.uint64(grades - 1)
    # Slices, because an index that might be negative keeps a loop from vectorising.
    codes, labels = database.codes, database.labels
    code, code_block = queries.codes[0, query], codes[0, start:stop]
    label, label_block = queries.labels[0, query], labels[0, start:stop]
    if codes.shape[0] == 1 and labels.shape[0] == 1:  # most often: in one go
        for i in range(keys.shape[0]):
            distance = set_bits(code ^ code_block[i])
            grade = min(set_bits(label & label_block[i]), largest)
            keys[i] = distance * step + grade
        return
    keys[:] = 0
    for word in range(codes.shape[0]):
        code, code_block = queries.codes[word, query], codes[word, start:stop]
        for i in range(keys.shape[0]):
            keys[i] += set_bits(code ^ code_block[i]) * step
    shared[:] = 0
    for word in range(labels.shape[0]):
        label, label_block = queries.labels[word, query], labels[word, start:stop]
        for i in range(keys.shape[0]):
            shared[i] += set_bits(label & label_block[i])
    for i in range(keys.shape[0]):
        keys[i] += min(shared[i], largest)


@compiled
def _count(
    queries: Packed,
    database: Packed,
    counts: NDArray[np.int64],
    grades: int,
    all_keys: Keys,
    start: int,
    stop: int,
) -> None:
    """Count the keys of some queries, one block of the database at a time."""
    all_shared = np.empty(ITEMS_PER_BLOCK, np.uint64)
    size = database.codes.shape[1]
    for first in range(0, size, ITEMS_PER_BLOCK):
        width = min(ITEMS_PER_BLOCK, size - first)
        keys, shared = all_keys[:width], all_shared[:width]
        for query in range(start, stop):
            _fill_keys(queries, database, query, first, grades, keys, shared)
            row = counts[query]
            for i in range(keys.shape[0]):
                row[keys[i]] += 1


@compiled
def _place(
    queries: Packed,
    database: Packed,
    places: Words,
    last: int,
    sums: NDArray[np.float64],
    hits: NDArray[np.int64],
    start: int,
    stop: int,
) -> None:
    """Rank the items of some queries and sum precision at the relevant ones."""
    all_keys = np.empty(ITEMS_PER_BLOCK, np.uint16)
    all_placed = np.empty(ITEMS_PER_BLOCK, np.uint64)
    size = database.codes.shape[1]
    for first in range(0, size, ITEMS_PER_BLOCK):
        width = min(ITEMS_PER_BLOCK, size - first)
        keys, placed = all_keys[:width], all_placed[:width]
        for query in range(start, stop):
            _fill_keys(queries, database, query, first, 2, keys, placed)
            answers = _advance(places[query], keys, placed)
            total, found = _sum_precision(placed[:answers], last)
            sums[query] += total
            hits[query] += found


@compiled
def _advance(places: Words, keys: NDArray[np.uint16], placed: Words) -> int:
    """Rank each item, write the places of the relevant ones; give their number."""
    one, half = np.uint64(1), np.uint64(32)
    answers = np.uint64(0)
    for i in range(keys.shape[0]):
        distance, is_relevant = np.uint64(keys[i]) >> one, np.uint64(keys[i]) & one
        place = places[distance] + (one | (is_relevant << half))
        places[distance] = place
        placed[answers] = place  # the next one overwrites it unless it is relevant
        answers += is_relevant
    return int(answers)


@compiled
def _sum_precision(placed: Words, last: int) -> tuple[float, int]:
    """Sum relevant items found over rank, for ranks up to the last."""
    total, inside = 0.0, 0
    for i in range(placed.shape[0]):
        rank, found = np.uint32(placed[i]), np.uint32(placed[i] >> np.uint64(32))
        is_inside = int(rank <= last)
        total += float(is_inside) * (np.float64(found) / np.float64(rank))
        inside += is_inside
    return total, inside
