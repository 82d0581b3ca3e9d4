"""Rows in buckets by some of their bits, for answers within a small radius.

Multi-index hashing: codes within a radius r of each other, cut into m groups of
bits, differ by no more than r / m bits in at least one group. A table for each
group lists the rows in order of its bits, so that only rows that agree in it are
compared. Exact for any radius, and quick for small ones.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DamagedIndex
from fdch.index.search.rows import WORD, Rows, flat, frozen, row_length
from fdch.progress import Progress, Update, silent

FEWEST_ROWS = 1 << 14  # below, a scan takes microseconds
NARROWEST = 12  # bits of a table
WIDEST = 21
MOST_TABLES = 4
BUCKET_TIME = 150  # nanoseconds to open a bucket


@dataclass(frozen=True, eq=False)
class Buckets:
    """Tables of rows, each sorted by some bits.

    Args:
        starts: Where each bucket of each table begins, (tables, 2^width + 1).
        places: Stored places of rows in order of their buckets, (tables, n).
        cuts: Word and shift of the bits of each table, (tables, 2).
    """

    starts: NDArray[np.uint32]
    places: NDArray[np.uint32]
    cuts: NDArray[np.int64]

    @cached_property
    def width(self) -> int:
        """Count the bits that a table sorts by."""
        return (self.starts.shape[1] - 1).bit_length() - 1

    @cached_property
    def fixed(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]:
        """Give what the loops are told of the tables."""
        arrays = frozen(self.starts), frozen(self.places), frozen(self.cuts)
        return (*arrays, self.width)

    @cached_property
    def usual(self) -> float:
        """Give how many rows a bucket holds in the mean."""
        return self.places.shape[1] / (self.starts.shape[1] - 1)

    def least_time(self, radius: int, row_time: int) -> float:
        """Give the nanoseconds that hardly any lookup stays below.

        Args:
            radius: The largest distance.
            row_time: Nanoseconds to compare a row found in a bucket.
        """
        opened = openings(len(self.cuts), self.width, radius)
        return opened * (BUCKET_TIME + self.usual / 2 * row_time)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give all arrays by name, to be kept."""
        return {"starts": self.starts, "places": self.places, "cuts": self.cuts}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], bits: int, count: int
    ) -> "Buckets":
        """Take up arrays that were kept.

        Args:
            arrays: What `arrays` gave.
            bits: Length of the codes.
            count: Rows of the part.

        Raises:
            DamagedIndex: If they cannot be of such a part.
        """
        cuts, width = cuts_of(bits, count)
        tables = len(cuts)
        expected = {
            "starts": (np.dtype(np.uint32), (tables, (1 << width) + 1)),
            "places": (np.dtype(np.uint32), (tables, count)),
            "cuts": (np.dtype(np.int64), (tables, 2)),
        }
        for name, (kind, shape) in expected.items():
            values = arrays.get(name)
            if values is None or values.dtype != kind or values.shape != shape:
                raise DamagedIndex(
                    f"'{name}' of the buckets of {count} rows must be {kind} of shape "
                    f"{shape}; compact the index again."
                )
        if not tables or not np.array_equal(arrays["cuts"], cuts):
            raise DamagedIndex(
                "the tables of the buckets sort by other bits than expected; "
                "compact the index again."
            )
        return cls(arrays["starts"], arrays["places"], arrays["cuts"])

    @classmethod
    def build(
        cls, rows: Rows, bits: int, *, progress: Progress = silent
    ) -> "Buckets | None":
        """Sort rows into buckets.

        Args:
            rows: Codes as they are stored, at most 2^32.
            bits: Length of the codes.
            progress: Told how many tables are done.

        Returns:
            None where rows are few, codes are short, or numba is not installed.
        """
        cuts, width = cuts_of(bits, len(rows))
        if len(rows) < FEWEST_ROWS or not len(cuts) or loops() is None:
            return None
        starts = np.empty((len(cuts), (1 << width) + 1), dtype=np.uint32)
        places = np.empty((len(cuts), len(rows)), dtype=np.uint32)
        for table, cut in enumerate(cuts):
            loops().sort_rows(
                flat(rows), row_length(bits), cut, width, starts[table], places[table]
            )
            progress(Update("sorting into buckets", table + 1, len(cuts), "table"))
        return cls(starts, places, cuts)


@cache
def loops() -> Any:
    """Give the compiled loops, None where numba is not installed."""
    try:
        return importlib.import_module("fdch.index.search.bucket_kernels")
    except ImportError:
        return None


def flips(table: int, tables: int, radius: int) -> int:
    """Give in how many bits a table's group may differ; -1 to leave the table out."""
    share, rest = radius // tables, radius % tables
    return share if table <= rest else share - 1


@cache
def openings(tables: int, width: int, radius: int) -> int:
    """Count the buckets that a lookup opens.

    >>> openings(3, 21, 2), openings(3, 21, 5)
    (3, 66)
    """
    most = [flips(table, tables, radius) for table in range(tables)]
    return sum(comb(width, flipped) for bits in most for flipped in range(bits + 1))


def cuts_of(bits: int, count: int) -> tuple[NDArray[np.int64], int]:
    """Choose the bits that tables sort by.

    A bucket should hold a few rows: about as many buckets as rows, and no more
    memory for their beginnings than for the rows.

    Returns:
        Word and shift of the bits of each table, (tables, 2), and how many bits.
    """
    wanted = max(NARROWEST, min(WIDEST, count.bit_length() - 1))
    last = -(-(bits - WORD * (row_length(bits) - 1)) // 8) * 8
    lengths = [WORD] * (row_length(bits) - 1) + [last]
    width = min(wanted, lengths[0])
    shifts = [
        (word, turn * width)
        for turn in range(WORD // width)
        for word, length in enumerate(lengths)
        if (turn + 1) * width <= length
    ]
    if width < NARROWEST:
        shifts = []
    cuts = np.array(shifts[:MOST_TABLES], dtype=np.int64).reshape(-1, 2)
    return cuts, width
