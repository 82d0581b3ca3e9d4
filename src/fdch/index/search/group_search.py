"""Searching a part that is grouped: queries are shared between threads."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from fdch.index.search.engines import Engine
from fdch.index.search.exact import Counts, Keys, find_room
from fdch.index.search.gallery import Part
from fdch.index.search.keys import NOTHING
from fdch.index.search.partitioned import Grouping, loops
from fdch.index.search.rows import Rows, flat, frozen, row_length
from fdch.index.search.threads import ranges, share

QUERIES_PER_TASK = 32


def uses_grouping(part: Part, engine: Engine) -> Grouping | None:
    """Give the part's grouping where it can be searched with."""
    if part.grouping is None or engine == "numpy" or loops() is None:
        return None
    return part.grouping


def nearest_in_groups(
    part: Part,
    grouping: Grouping,
    bits: int,
    queries: Rows,
    limits: NDArray[np.int64],
    k: int,
    threads: int,
) -> Keys:
    """Find for each query the k nearest rows that stay below its limit.

    Returns:
        Keys in order, (queries, k), filled up with NOTHING.
    """
    count, words, asked = len(queries), row_length(bits), flat(queries)
    found = np.full((count, k), NOTHING, dtype=np.int64)
    seen = np.zeros(count, dtype=np.int64)

    def work(start: int, stop: int) -> None:
        some = slice(start, stop)
        grouping.nearest(
            part.flat_rows, part.first, part.flat_dead,
            asked[start * words : stop * words], limits[some], bits, found[some],
            seen[some],
        )  # fmt: skip

    pieces = ranges(0, count, max(threads, -(-count // QUERIES_PER_TASK)))
    share([partial(work, *piece) for piece in pieces], threads)
    return found


def within_groups(
    part: Part, grouping: Grouping, bits: int, queries: Rows, radius: int
) -> list[Keys]:
    """Find for each query the keys of all rows no farther than the radius, unsorted."""
    words, asked = row_length(bits), flat(queries)

    def work(start: int, stop: int, found: Keys, sizes: Counts) -> None:
        grouping.within(
            part.flat_rows, bits, part.first, part.flat_dead,
            asked[start * words : stop * words], radius + 1, found, sizes,
        )  # fmt: skip

    return find_room(work, 0, len(queries))


def rows_reached(
    grouping: Grouping, bits: int, queries: Rows, radius: int
) -> NDArray[np.int64]:
    """Count the rows that a radius search in groups would compare with each query."""
    words, asked = row_length(bits), flat(queries)
    reached = np.empty(len(queries), dtype=np.int64)
    loops().reached_rows(
        flat(grouping.centres), words, frozen(grouping.starts),
        frozen(grouping.reaches), asked, radius + 1, reached,
    )  # fmt: skip
    return reached
