"""Rows in buckets by some of their bits, for answers within a small radius.

Multi-index hashing: codes within a radius r of each other, cut into m segments of
bits, differ by no more than r / m bits in at least one segment. A table for each
segment lists the rows in order of its bits, so that only rows that agree in it are
compared. Exact for any radius, and quick for small ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache, cached_property, lru_cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DamagedIndex
from fdch.index.search.gallery import Part
from fdch.index.search.rows import (
    WORD,
    Ints,
    Places,
    Rows,
    check_arrays,
    flat,
    freeze,
    row_length,
    sort_places,
)
from fdch.index.search.scan import Keys, load_kernels, search_with_room

MIN_ROWS = 1 << 14  # below, a scan takes microseconds
MIN_WIDTH = 12  # bits of a table
MAX_WIDTH = 21
MAX_TABLES = 4
# Nanoseconds by which the time of a lookup is estimated.
BUCKET_TIME = 150  # to open a bucket
ROW_TIME = 70  # to compare a row found in a bucket
NEAR_ROW_TIME = 15  # the same where rows of a bucket lie near each other


@dataclass(frozen=True, eq=False)
class Buckets:
    """Tables of rows, each sorted by some bits."""

    starts: Places  # where each bucket of each table begins, (tables, 2^width + 1)
    places: Places  # stored places of rows in order of their buckets, (tables, n)
    cuts: Ints  # word and shift of the segment of each table, (tables, 2)

    @cached_property
    def width(self) -> int:
        """How many bits a table sorts by."""
        return (self.starts.shape[1] - 1).bit_length() - 1

    @cached_property
    def tables(self) -> tuple[Places, Places, Ints, int]:
        """Starts, places, cuts and width, as the kernels read them."""
        arrays = freeze(self.starts), freeze(self.places), freeze(self.cuts)
        return (*arrays, self.width)

    @cached_property
    def rows_per_bucket(self) -> float:
        """How many rows a bucket holds in the mean."""
        return self.places.shape[1] / (1 << self.width)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name, to be stored."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], bits: int, count: int
    ) -> "Buckets":
        """Make buckets of stored arrays; DamagedIndex if they cannot be the part's."""
        cuts, width = choose_cuts(bits, count)
        tables = len(cuts)
        expected = {
            "starts": (np.dtype(np.uint32), (tables, (1 << width) + 1)),
            "places": (np.dtype(np.uint32), (tables, count)),
            "cuts": (np.dtype(np.int64), (tables, 2)),
        }
        check_arrays(arrays, expected, f"the buckets of {count} rows")
        if not tables or not np.array_equal(arrays["cuts"], cuts):
            raise DamagedIndex(
                "the tables of the buckets sort by other bits than expected; "
                "compact the index again."
            )
        return cls(arrays["starts"], arrays["places"], arrays["cuts"])

    @classmethod
    def build(cls, rows: Rows, bits: int) -> "Buckets | None":
        """Sort rows, those of a grouping where there is one, into buckets.

        There are none where rows are few, codes are short, or numba is not installed.
        At most 2^32 rows fit.
        """
        cuts, width = choose_cuts(bits, len(rows))
        if len(rows) < MIN_ROWS or not len(cuts) or load_kernels("bucket") is None:
            return None
        starts = np.empty((len(cuts), (1 << width) + 1), dtype=np.uint32)
        places = np.empty((len(cuts), len(rows)), dtype=np.uint32)
        for table, (word, shift) in enumerate(cuts.tolist()):
            words = rows.reshape(len(rows), -1)[:, word]
            segments = words.astype(np.uint64) >> np.uint64(shift)
            segments &= np.uint64((1 << width) - 1)
            sorted_rows = sort_places(segments.astype(np.uint32), 1 << width)
            starts[table], places[table] = sorted_rows
        return cls(starts, places, cuts)


def choose_cuts(bits: int, count: int) -> tuple[Ints, int]:
    """Choose the bits that tables sort by.

    A bucket should hold a few rows: about as many buckets as rows, and no more
    memory for their beginnings than for the rows.

    Returns:
        Word and shift of the segment of each table, (tables, 2), and its bits.
    """
    wanted = max(MIN_WIDTH, min(MAX_WIDTH, count.bit_length() - 1))
    last = -(-(bits - WORD * (row_length(bits) - 1)) // 8) * 8
    lengths = [WORD] * (row_length(bits) - 1) + [last]
    width = min(wanted, lengths[0])
    shifts = [
        (word, turn * width)
        for turn in range(WORD // width)
        for word, length in enumerate(lengths)
        if (turn + 1) * width <= length
    ]
    if width < MIN_WIDTH:
        shifts = []
    cuts = np.array(shifts[:MAX_TABLES], dtype=np.int64).reshape(-1, 2)
    return cuts, width


def flips(table: int, tables: int, radius: int) -> int:
    """Return in how many bits a table's segment may differ; -1 to skip the table."""
    share, rest = radius // tables, radius % tables
    return share if table <= rest else share - 1


@cache
def count_openings(tables: int, width: int, radius: int) -> int:
    """Count the buckets that a lookup opens.

    >>> count_openings(3, 21, 2), count_openings(3, 21, 5)
    (3, 66)
    """
    most = [flips(table, tables, radius) for table in range(tables)]
    return sum(comb(width, flipped) for bits in most for flipped in range(bits + 1))


@lru_cache(maxsize=16)
def list_openings(tables: int, width: int, radius: int) -> Ints:
    """List the buckets that a lookup opens, as the table and the bits flipped.

    >>> list_openings(2, 3, 2).tolist()
    [[0, 0], [0, 1], [0, 2], [0, 4], [1, 0]]
    """
    single = [1 << bit for bit in range(width)]
    openings = [
        (table, flipped)
        for table in range(tables)
        for number in range(flips(table, tables, radius) + 1)
        for flipped in map(sum, combinations(single, number))
    ]
    return freeze(np.array(openings, dtype=np.int64).reshape(-1, 2))


def may_be_done(part: Part, buckets: Buckets, radius: int, max_time: float) -> bool:
    """Return whether a lookup may be done in so many nanoseconds."""
    opened = count_openings(len(buckets.cuts), buckets.width, radius)
    bucket_time = BUCKET_TIME + buckets.rows_per_bucket / 2 * _row_time(part)
    return opened * bucket_time <= max_time


def within_buckets(
    part: Part, buckets: Buckets, queries: Rows, radius: int, max_time: int
) -> list[Keys | None]:
    """Find the keys of all rows no farther than the radius, unsorted.

    None for a query that takes longer than the maximum, in nanoseconds, by the
    estimate.
    """
    openings = list_openings(len(buckets.cuts), buckets.width, radius)
    stored, times = part.stored, (_row_time(part), max_time)
    search = load_kernels("bucket").within_buckets

    def work(start: int, stop: int, found: Keys, sizes: Ints) -> None:
        own = flat(queries[start:stop])
        search(stored, buckets.tables, openings, own, radius, times, found, sizes)

    return search_with_room(work, 0, len(queries))


def _row_time(part: Part) -> int:
    return ROW_TIME if part.grouping is None else NEAR_ROW_TIME
