"""The full scan: every code is compared with every query, by Numba or by NumPy.

Exact for any codes, and the reference that groups and buckets are compared with.
"""

import importlib
import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Literal, cast

import numpy as np

from fdch.errors import MissingExtra, SettingError
from fdch.index.search import scan_numpy
from fdch.index.search.gallery import Part
from fdch.index.search.rows import CHUNK, NOTHING, Ints, Rows, flat
from fdch.index.search.threads import ranges, share

Engine = Literal["auto", "numba", "numpy"]
Keys = Ints

KERNELS = "fdch.index.search.scan_kernels"  # loaded late, see `choose_engine`
# Comparisons that NumPy makes in about a second: as long as loading the kernels takes,
# and far shorter than compiling them for the first time on a machine.
NUMBA_WARMUP_COMPARISONS = 1 << 26
# Bytes of codes that a thread must have to compare, at 30 to 110 a nanosecond, so that
# waking it costs less than it saves.
BYTES_TO_SHARE = 1 << 24
MIN_QUERIES_TO_SHARE = 8  # that a thread needs to make good use of a block in cache
FIRST_ROOM = 256  # keys of a radius search, at least, before anything is known
ROOM_OF_FEW = 1 << 13  # that a few queries share: as much as is free at once
MAX_ROOM = 1 << 22  # keys of several queries together when their number is known

# Takes a range of queries, room for keys of each, and where to count them, whether
# there is room or not.
Search = Callable[[int, int, Keys, Ints], None]

_compared = 0


@cache
def load_engine(engine: Engine = "auto") -> Any:
    """Import a module with `nearest_rows` and `rows_within`.

    "auto" is numba where it is installed.
    """
    if engine == "numpy":
        return scan_numpy
    if engine not in ("auto", "numba"):
        raise SettingError(f"unknown engine {engine!r}; use auto, numba or numpy.")
    kernels = load_kernels("scan")
    if kernels is None and engine == "numba":
        raise MissingExtra("the compiled scan", "fast")
    return kernels or scan_numpy


@cache
def load_kernels(name: str) -> Any:
    """Import the compiled kernels of that name; None where numba is not installed."""
    try:
        return importlib.import_module(f"fdch.index.search.{name}_kernels")
    except ImportError:
        return None


def choose_engine(engine: Engine, comparisons: int) -> Any:
    """Load an engine; "auto" is NumPy until the process has made many comparisons."""
    global _compared
    if engine == "auto" and KERNELS not in sys.modules:
        _compared += comparisons
        if _compared <= NUMBA_WARMUP_COMPARISONS:
            return scan_numpy
    return load_engine(engine)


def is_compiled(kernels: Any) -> bool:
    """Return whether an engine is numba, as groups and buckets need it."""
    return kernels is not scan_numpy


def nearest_in_part(
    part: Part, queries: Rows, limits: Ints, k: int, threads: int, kernels: Any
) -> Keys:
    """Find for each query the k nearest rows that stay below its limit, a distance.

    Returns:
        Keys in order, (queries, k), filled up with NOTHING.
    """
    scan = _Scan(part, queries, threads)
    found = np.empty((scan.row_pieces, len(queries), k), dtype=np.int64)
    found.fill(NOTHING)

    def work(piece: int, rows: tuple[int, int], some: slice) -> None:
        kernels.nearest_rows(
            *scan.arguments(rows, some), limits[some], scan.bits, found[piece, some]
        )

    scan.share(work)
    if scan.row_pieces == 1:
        return part.number_keys(found[0])
    together = found.transpose(1, 0, 2).reshape(len(queries), -1)
    return part.number_keys(np.sort(together, axis=1)[:, :k])


def within_part(
    part: Part, queries: Rows, radius: int, threads: int, kernels: Any
) -> list[Keys]:
    """Find for each query the keys of all rows no farther than the radius, unsorted."""
    scan = _Scan(part, queries, threads)
    pieces: list[list[Keys]] = [[] for _ in queries]

    def work(piece: int, rows: tuple[int, int], some: slice) -> None:
        def search(start: int, stop: int, found: Keys, sizes: Ints) -> None:
            arguments = scan.arguments(rows, slice(start, stop))
            kernels.rows_within(*arguments, radius + 1, found, sizes)

        collected = search_with_room(search, some.start, some.stop)
        for held, keys in zip(pieces[some], collected, strict=True):
            held.append(cast("Keys", keys))

    scan.share(work)
    return [
        part.number_keys(some[0] if len(some) == 1 else np.concatenate(some))
        for some in pieces
    ]


class _Scan:
    """Rows and queries laid out for the kernels, and how threads share them."""

    def __init__(self, part: Part, queries: Rows, threads: int) -> None:
        self.stored, self.count, self.queries = part.in_order, len(part), queries
        code_bytes = part.rows.itemsize * len(self.stored[1])
        self.bits = 8 * code_bytes  # those of the codes, and zeros
        self.threads = threads_for(self.count, code_bytes, len(queries), threads)
        shares_queries = len(queries) >= self.threads * MIN_QUERIES_TO_SHARE
        self.row_pieces = 1 if shares_queries else self.threads

    def share(self, work: Callable[[int, tuple[int, int], slice], None]) -> None:
        """Do the work on pieces of the rows, or of the queries, in threads."""
        if self.threads == 1:  # at once: a single query takes microseconds
            work(0, (0, self.count), slice(0, len(self.queries)))
            return
        query_pieces = self.threads if self.row_pieces == 1 else 1
        tasks = [
            partial(work, piece, rows, slice(*some))
            for piece, rows in enumerate(ranges(0, self.count, self.row_pieces, CHUNK))
            for some in ranges(0, len(self.queries), query_pieces)
        ]
        share(tasks, self.threads)

    def arguments(self, rows: tuple[int, int], queries: slice) -> tuple[object, ...]:
        """Return the first arguments of every kernel."""
        return self.stored, *rows, flat(self.queries[queries])


def search_with_room(search: Search, start: int, stop: int) -> list[Keys | None]:
    """Collect what a search finds; where there was too little room, search again.

    Returns:
        The keys of each query; None where the search set a size below zero.
    """
    first_room = max(FIRST_ROOM, ROOM_OF_FEW // max(stop - start, 1))
    found = np.empty((stop - start, first_room), dtype=np.int64)
    counted = np.zeros(stop - start, dtype=np.int64)
    search(start, stop, found, counted)
    sizes = counted.tolist()
    collected = [found[i, :size] if size >= 0 else None for i, size in enumerate(sizes)]
    if max(sizes, default=0) <= first_room:
        return collected
    short = [query for query, size in enumerate(sizes) if size > first_room]
    step = max(1, MAX_ROOM // max(sizes))
    for first in range(short[0], short[-1] + 1, step):
        last = min(first + step, short[-1] + 1)
        shape = last - first, max(sizes[first:last])
        if shape[1] > first_room:
            room, again = np.empty(shape, np.int64), np.zeros(shape[0], np.int64)
            search(start + first, start + last, room, again)
            for query in range(first, last):
                if sizes[query] > first_room:
                    collected[query] = room[query - first, : sizes[query]].copy()
    return collected


def threads_for(codes: int, code_bytes: int, queries: int, threads: int) -> int:
    """Return how many of the threads should share a scan, by its work.

    >>> threads_for(1_000_000, 8, 1, 2), threads_for(1_000_000, 8, 100, 2)
    (1, 2)
    """
    return max(1, min(threads, codes * code_bytes * queries // BYTES_TO_SHARE))
