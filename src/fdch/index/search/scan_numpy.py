"""The full scan with NumPy alone: the same answers as the compiled one."""

from collections.abc import Iterator

import numpy as np

from fdch.index.search.rows import NUMBER_BITS, Flags, Ints, Rows, Stored

ROWS_AT_A_TIME = 1 << 17


def nearest_rows(
    stored: Stored,
    start: int,
    stop: int,
    queries: Rows,
    limits: Ints,
    bits: int,
    found: Ints,
) -> None:
    """Find for each query the nearest rows of a range that stay below its limit.

    The arguments are those of the compiled function.
    """
    (rows, words, _, first, dead), k = stored, found.shape[1]
    for j, query in enumerate(queries.reshape(-1, len(words))):
        held, limit = np.empty(0, dtype=np.int64), int(limits[j])
        for keys in _live_keys(rows, start, stop, dead, query):
            near = keys[keys < (limit << NUMBER_BITS)]
            held = np.concatenate([held, near + first])
            if held.size > k:
                held = np.partition(held, k - 1)[:k]
            if held.size == k:
                limit = min(limit, int(held.max()) >> NUMBER_BITS)
        found[j, : held.size] = np.sort(held)


def rows_within(
    stored: Stored,
    start: int,
    stop: int,
    queries: Rows,
    limit: int,
    found: Ints,
    sizes: Ints,
) -> None:
    """Find all rows of a range that stay below the limit, in order of their numbers.

    Where `found` has too little room, `sizes` still counts all of them.
    """
    rows, words, _, first, dead = stored
    for j, query in enumerate(queries.reshape(-1, len(words))):
        for keys in _live_keys(rows, start, stop, dead, query):
            near = keys[keys < (limit << NUMBER_BITS)]
            room = found[j, sizes[j] : sizes[j] + near.size]
            room[:] = near[: room.size] + first
            sizes[j] += near.size


def _live_keys(
    rows: Rows, start: int, stop: int, dead: Flags, query: Rows
) -> Iterator[Ints]:
    """Yield keys of live rows, some at a time, numbers counted from the first row."""
    table = rows.reshape(-1, len(query))
    for left in range(start, stop, ROWS_AT_A_TIME):
        right = min(left + ROWS_AT_A_TIME, stop)
        differing = table[left:right] ^ query
        distances = np.bitwise_count(differing).sum(axis=1, dtype=np.int64)
        keys: Ints = (distances << NUMBER_BITS) | np.arange(left, right)
        yield keys[~dead[left:right]] if dead.size else keys
