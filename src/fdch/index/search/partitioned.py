"""Rows in groups around majority codes, so that most need not be looked at.

Learned codes lie in clumps. Each group keeps its centre and, for every distance
from the centre, where the rows at that distance (a ring) begin. The triangle
inequality bounds how near a ring can be to a query; a ring whose bound cannot
beat the k-th answer so far is skipped. The answers are those of the full scan.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DamagedIndex
from fdch.index.search.rows import Rows, flat, frozen, row_length, row_type
from fdch.index.search.threads import ranges, share
from fdch.machine import usable_cores
from fdch.progress import Progress, Update, silent

FEWEST_ROWS = 1 << 15  # below, a scan takes microseconds
ROWS_PER_GROUP = 1024
MOST_GROUPS = 2048
SAMPLE_PER_GROUP = 128
ROUNDS = 8
TRIAL_QUERIES = 64
TRIAL_ANSWERS = 100
WORTHWHILE = 0.2  # share of rows compared, above which a scan is quicker
ROWS_PER_TASK = 1 << 16


@dataclass(frozen=True, eq=False)
class Grouping:
    """How the rows of a part are grouped.

    Args:
        order: Which row, counted by number from the part's first, is stored at each
            place, (n,).
        places: Where each row is stored, (n,): the inverse of order.
        centres: Majority codes of the groups, as rows.
        starts: Place of the first row of each ring, (groups, bits + 2); a ring ends
            where the next begins.
        reaches: Distance of the farthest row of each group from its centre, falling.
    """

    order: NDArray[np.uint32]
    places: NDArray[np.uint32]
    centres: Rows
    starts: NDArray[np.int64]
    reaches: NDArray[np.int64]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give all arrays by name, to be kept."""
        return {
            "order": self.order,
            "places": self.places,
            "centres": self.centres,
            "starts": self.starts,
            "reaches": self.reaches,
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], bits: int, count: int
    ) -> "Grouping":
        """Take up arrays that were kept.

        Args:
            arrays: What `arrays` gave.
            bits: Length of the codes.
            count: Rows of the part.

        Raises:
            DamagedIndex: If they cannot be of such a part.
        """
        groups = len(arrays.get("reaches", ()))
        length = row_length(bits)
        expected = {
            "order": (np.dtype(np.uint32), (count,)),
            "places": (np.dtype(np.uint32), (count,)),
            "centres": (row_type(bits), (groups,) if length == 1 else (groups, length)),
            "starts": (np.dtype(np.int64), (groups, bits + 2)),
            "reaches": (np.dtype(np.int64), (groups,)),
        }
        for name, (kind, shape) in expected.items():
            values = arrays.get(name)
            if values is None or values.dtype != kind or values.shape != shape:
                raise DamagedIndex(
                    f"'{name}' of a grouping of {count} rows must be {kind} of shape "
                    f"{shape}; compact the index again."
                )
        starts, reaches = arrays["starts"], arrays["reaches"]
        if groups == 0 or not (
            starts.min() >= 0
            and starts.max() <= count
            and np.all(np.diff(starts, axis=1) >= 0)
            and np.all(np.diff(reaches) <= 0)
        ):
            raise DamagedIndex(
                "the rings of a grouping do not follow each other; "
                "compact the index again."
            )
        return cls(*(arrays[name] for name in expected))

    @classmethod
    def build(
        cls,
        rows: Rows,
        bits: int,
        *,
        seed: int = 0,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> "Grouping | None":
        """Group rows, or find that it does not pay.

        Args:
            rows: Codes in order of their numbers, fewer than 2^31.
            bits: Length of the codes.
            seed: Of the sample that centres are found on.
            threads: How many may share the work; None for one to a core.
            progress: Told how many rows are grouped.

        Returns:
            None where the codes are too few, have no groups to speak of, or numba
            is not installed.
        """
        if len(rows) < FEWEST_ROWS or loops() is None:
            return None
        rng = np.random.default_rng(seed)
        groups = min(MOST_GROUPS, len(rows) // ROWS_PER_GROUP)
        chosen = rng.choice(len(rows), min(len(rows), groups * SAMPLE_PER_GROUP), False)
        sample = rows[np.sort(chosen)]
        centres = _find_centres(sample, bits, groups, rng)
        share_of_answers = TRIAL_ANSWERS * len(sample) / len(rows)
        trial = group_rows(sample, bits, centres, 1, silent)
        wanted = max(1, round(share_of_answers))
        asked = sample[rng.choice(len(sample), TRIAL_QUERIES)]
        if trial._compared(sample, bits, wanted, asked) > WORTHWHILE:
            return None
        grouping = group_rows(rows, bits, centres, threads or usable_cores(), progress)
        asked = rows[rng.choice(len(rows), TRIAL_QUERIES)]
        compared = grouping._compared(rows, bits, TRIAL_ANSWERS, asked)
        return grouping if compared <= WORTHWHILE else None

    def _compared(self, rows: Rows, bits: int, k: int, queries: Rows) -> float:
        """Give the share of rows compared by a query, measured on some queries."""
        found = np.empty((len(queries), k), dtype=np.int64)
        seen = np.zeros(len(queries), dtype=np.int64)
        limits = np.full(len(queries), bits + 1, dtype=np.int64)
        self.nearest(
            rows[self.order], 0, np.empty(0, dtype=np.bool_), flat(queries),
            limits, bits, found, seen,
        )  # fmt: skip
        return float(np.mean(seen)) / len(rows)

    def nearest(
        self,
        rows: Rows,
        first: int,
        dead: NDArray[np.bool_],
        queries: Rows,
        limits: NDArray[np.int64],
        bits: int,
        found: NDArray[np.int64],
        seen: NDArray[np.int64],
    ) -> None:
        """Call the compiled search; its arguments are described there."""
        loops().nearest_in_groups(
            flat(rows), row_length(bits), frozen(self.order), first, frozen(dead),
            flat(self.centres), frozen(self.starts), frozen(self.reaches), queries,
            limits, bits, found, seen,
        )  # fmt: skip

    def within(
        self,
        rows: Rows,
        bits: int,
        first: int,
        dead: NDArray[np.bool_],
        queries: Rows,
        limit: int,
        found: NDArray[np.int64],
        sizes: NDArray[np.int64],
    ) -> None:
        """Call the compiled radius search; its arguments are described there."""
        loops().within_groups(
            flat(rows), row_length(bits), frozen(self.order), first, frozen(dead),
            flat(self.centres), frozen(self.starts), frozen(self.reaches), queries,
            limit, found, sizes,
        )  # fmt: skip


@cache
def loops() -> Any:
    """Give the compiled loops, None where numba is not installed."""
    try:
        return importlib.import_module("fdch.index.search.group_kernels")
    except ImportError:
        return None


def _find_centres(
    sample: Rows, bits: int, groups: int, rng: np.random.Generator
) -> Rows:
    """Move centres to the majority of their rows, some rounds of it.

    Centres of hardly any rows move to where rows are far from every centre.
    """
    from fdch.index.search import grouping_kernels as kernels

    words, rings = row_length(bits), bits + 1
    line, cells = flat(sample), np.empty(len(sample), dtype=np.uint32)
    centres = sample[rng.choice(len(sample), groups, False)]
    moving = centres.reshape(-1)
    for turn in range(ROUNDS):
        kernels.assign(line, words, flat(moving), 0, len(sample), rings, cells)
        kernels.majorities(line, words, cells, rings, moving)
        far = (cells % rings).astype(np.int64)
        sizes = np.bincount(cells // rings, minlength=groups)
        small = np.flatnonzero(sizes * 8 < len(sample) / groups)[: groups // 8]
        if turn < ROUNDS - 2 and small.size:
            farthest = np.argsort(-far, kind="stable")[: 8 * small.size]
            centres[small] = sample[rng.choice(farthest, small.size, False)]
    return centres


def group_rows(
    rows: Rows, bits: int, centres: Rows, threads: int, progress: Progress
) -> Grouping:
    """Sort rows by group, ring and number."""
    from fdch.index.search import grouping_kernels as kernels

    words, rings, count = row_length(bits), bits + 1, len(rows)
    cells = np.empty(count, dtype=np.uint32)
    line, middle = flat(rows), flat(centres)
    pieces = ranges(0, count, -(-count // ROWS_PER_TASK))
    done: list[int] = []

    def assign(start: int, stop: int) -> None:
        kernels.assign(line, words, middle, start, stop, rings, cells)
        done.append(stop - start)
        progress(Update("grouping codes", sum(done), count, "code"))

    share([partial(assign, *piece) for piece in pieces], threads)
    begins = np.empty(len(centres) * rings + 1, dtype=np.int64)
    order, places = np.empty((2, count), dtype=np.uint32)
    kernels.sort_cells(cells, begins, order, places)
    starts = np.empty((len(centres), rings + 1), dtype=np.int64)
    starts[:, :rings] = begins[:-1].reshape(-1, rings)
    starts[:, rings] = begins[rings::rings]
    filled = np.diff(starts, axis=1) > 0
    reaches = np.where(filled, np.arange(rings), 0).max(axis=1)
    kept = np.flatnonzero(filled.any(axis=1))
    kept = kept[np.argsort(-reaches[kept], kind="stable")]
    return Grouping(order, places, centres[kept], starts[kept], reaches[kept])
