"""The full scan: every code is compared with every query.

Exact for any codes, and the measure that the other ways of searching are held to.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from fdch.index.search.engines import Engine, scan_engine
from fdch.index.search.gallery import Part
from fdch.index.search.keys import NOTHING
from fdch.index.search.rows import Rows, flat, row_length
from fdch.index.search.threads import ranges, share, threads_for

Keys = NDArray[np.int64]
Counts = NDArray[np.int64]

QUERIES_TO_SHARE = 8  # queries a thread needs to make good use of a block in cache
WHOLE = 128  # rows that the loops look at together
FIRST_ROOM = 256  # keys of a radius search, at least, before anything is known
ROOM_OF_FEW = 1 << 13  # that a few queries share: as much as is at hand at once
MOST_ROOM = 1 << 22  # keys of several queries together when their number is known

# Told a range of queries, room for keys of each, and where to count them, whether
# there is room or not.
Search = Callable[[int, int, Keys, Counts], None]


def nearest_in_part(
    part: Part,
    bits: int,
    queries: Rows,
    limits: NDArray[np.int64],
    k: int,
    threads: int = 1,
    engine: Engine = "auto",
) -> Keys:
    """Find for each query the k nearest rows that stay below its limit.

    Args:
        part: Rows to search.
        bits: Length of the codes.
        queries: As rows.
        limits: A distance for each query that rows must stay below.
        k: How many are wanted.
        threads: How many threads may share the work.
        engine: What compares.

    Returns:
        Keys in order, (queries, k), filled up with NOTHING.
    """
    scan = _Scan(part, bits, queries, engine)
    if scan.count == 0 or scan.queries == 0:
        return np.full((scan.queries, k), NOTHING, dtype=np.int64)
    threads = scan.threads(threads)
    is_backward = scan.queries == 1 and next(part.turns)
    if threads == 1:  # single queries take so little time that every line counts
        keys = np.empty((scan.queries, k), dtype=np.int64)
        keys.fill(NOTHING)
        everything = scan.arguments(0, scan.count, 0, scan.queries)
        scan.engine.nearest_rows(*everything, limits, bits, keys, is_backward)
        return part.named(keys)
    by_rows = scan.pieces_of_rows(threads)
    found = np.full((by_rows, scan.queries, k), NOTHING, dtype=np.int64)

    def work(piece: int, rows: tuple[int, int], asked: tuple[int, int]) -> None:
        some = slice(*asked)
        scan.engine.nearest_rows(
            *scan.arguments(*rows, *asked),
            limits[some],
            bits,
            found[piece, some],
            is_backward,
        )

    scan.share(work, by_rows, threads)
    together = found.transpose(1, 0, 2).reshape(scan.queries, -1)
    return part.named(together if by_rows == 1 else merge(together, k))


def within_part(
    part: Part,
    bits: int,
    queries: Rows,
    radius: int,
    threads: int = 1,
    engine: Engine = "auto",
) -> list[Keys]:
    """Find for each query the keys of all rows no farther than the radius, unsorted."""
    scan = _Scan(part, bits, queries, engine)
    if scan.count == 0 or scan.queries == 0:
        return [np.empty(0, dtype=np.int64)] * scan.queries
    threads = scan.threads(threads)
    by_rows = scan.pieces_of_rows(threads)
    pieces: list[list[Keys]] = [[] for _ in range(scan.queries)]
    results: dict[tuple[int, int], list[Keys]] = {}

    def work(piece: int, rows: tuple[int, int], asked: tuple[int, int]) -> None:
        results[piece, asked[0]] = scan.within(rows, asked, radius + 1)

    scan.share(work, by_rows, threads)
    for (_, first), found in sorted(results.items(), key=lambda item: item[0]):
        for query, keys in enumerate(found, start=first):
            pieces[query].append(keys)
    return [
        part.named(some[0] if len(some) == 1 else np.concatenate(some))
        for some in pieces
    ]


def merge(keys: Keys, k: int) -> Keys:
    """Keep the k first of each row of keys, in order."""
    return np.sort(keys, axis=1)[:, :k]


class _Scan:
    """Rows and queries laid out for the loops."""

    def __init__(self, part: Part, bits: int, queries: Rows, engine: Engine) -> None:
        self.engine = scan_engine(engine)
        self.words = row_length(bits)
        self.first = part.first
        self.rows = part.flat_rows if part.grouping is None else flat(part.ordered())
        self.asked = flat(queries)
        self.queries = len(queries)
        self.count = len(part)
        self.dead = part.flat_dead

    def threads(self, threads: int) -> int:
        """Say how many of the threads shall share the work."""
        code_bytes = self.rows.itemsize * self.words
        return threads_for(self.count, code_bytes, self.queries, threads)

    def pieces_of_rows(self, threads: int) -> int:
        """Say into how many pieces the rows are cut, rather than the queries."""
        return 1 if self.queries >= threads * QUERIES_TO_SHARE else threads

    def share(
        self,
        work: Callable[[int, tuple[int, int], tuple[int, int]], None],
        by_rows: int,
        threads: int,
    ) -> None:
        """Do the work on pieces of the rows, or of the queries, in threads."""
        by_queries = threads if by_rows == 1 else 1
        tasks = [
            lambda piece=piece, rows=rows, asked=asked: work(piece, rows, asked)
            for piece, rows in enumerate(ranges(0, self.count, by_rows, WHOLE))
            for asked in ranges(0, self.queries, by_queries)
        ]
        share(tasks, threads)

    def arguments(
        self, start: int, stop: int, first_query: int, last_query: int
    ) -> tuple[object, ...]:
        """Give what every loop is told first."""
        asked = self.asked[first_query * self.words : last_query * self.words]
        return (
            self.rows, self.words, start, stop, self.first, self.dead, asked,
        )  # fmt: skip

    def within(
        self, rows: tuple[int, int], asked: tuple[int, int], limit: int
    ) -> list[Keys]:
        """Collect keys of rows nearer than the limit."""

        # A name for the type: it is worked out anew at every call.
        def search(start: int, stop: int, found: Keys, sizes: Counts) -> None:
            arguments = self.arguments(*rows, start, stop)
            self.engine.rows_within(*arguments, limit, found, sizes)

        return find_room(search, *asked)


def find_room(search: Search, start: int, stop: int) -> list[Keys]:
    """Collect what a search finds; where there was too little room, once more.

    Args:
        search: What finds.
        start: The first query.
        stop: One past the last.
    """
    return cast("list[Keys]", find_some(search, start, stop))


def find_some(search: Search, start: int, stop: int) -> list[Keys | None]:
    """Do as `find_room`, with None where the search counts less than nothing."""
    first_room = max(FIRST_ROOM, ROOM_OF_FEW // max(stop - start, 1))
    found = np.empty((stop - start, first_room), dtype=np.int64)
    counted = np.zeros(stop - start, dtype=np.int64)
    search(start, stop, found, counted)
    sizes = counted.tolist()
    collected = [found[i, :size] if size >= 0 else None for i, size in enumerate(sizes)]
    if max(sizes, default=0) <= first_room:
        return collected
    for first, last in _runs(sizes, first_room):
        shape = last - first, max(sizes[first:last])
        room, again = np.empty(shape, np.int64), np.zeros(shape[0], np.int64)
        search(start + first, start + last, room, again)
        for i in range(first, last):
            if sizes[i] > first_room:
                collected[i] = room[i - first, : sizes[i]].copy()
    return collected


def _runs(sizes: Sequence[int], room: int) -> Iterator[tuple[int, int]]:
    """Give ranges of queries that hold all those with too little room.

    They are searched together, which takes less time than one after another, as
    long as all may have the room of the largest.

    >>> list(_runs([3, 300, 5, 900, 2], 256))
    [(1, 4)]
    """
    first, last, largest = 0, 0, 0
    for i, size in enumerate(sizes):
        if size <= room:
            continue
        if last and (i + 1 - first) * max(largest, size) > MOST_ROOM:
            yield first, last
            last = 0
        if not last:
            first, largest = i, 0
        last, largest = i + 1, max(largest, size)
    if last:
        yield first, last
