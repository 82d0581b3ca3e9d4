"""Rows in groups around majority codes, so that most need not be compared.

Learned codes lie in clusters. Each group has a centre and, for every distance from
the centre, the place where the rows at that distance (a ring) begin. The triangle
inequality bounds how near a ring can be to a query; a ring whose bound cannot
beat the k-th answer so far is skipped. The answers are those of the full scan.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DamagedIndex
from fdch.index.search.gallery import Part
from fdch.index.search.rows import (
    NOTHING,
    Ints,
    Places,
    Rows,
    check_arrays,
    flat,
    freeze,
    row_length,
    row_shape,
    row_type,
    sort_places,
)
from fdch.index.search.scan import Keys, load_kernels, search_with_room
from fdch.index.search.threads import ranges, share
from fdch.machine import usable_cores

MIN_ROWS = 1 << 15  # below, a scan takes microseconds
ROWS_PER_GROUP = 1024
MAX_GROUPS = 2048
SAMPLE_PER_GROUP = 128
ROUNDS = 8
TRIAL_QUERIES = 64
TRIAL_ANSWERS = 100
MAX_COMPARED = 0.2  # share of rows compared, above which a scan is quicker
ROWS_PER_TASK = 1 << 16
QUERIES_PER_TASK = 32


@dataclass(frozen=True, eq=False)
class Grouping:
    """The rows of a part again, in order of their groups."""

    rows: Rows  # group by group, ring by ring
    order: Places  # which row of the part, counted from its first, each is, (n,)
    centres: Rows  # majority codes of the groups
    starts: Ints  # where each ring begins, (groups, bits + 2); it ends at the next
    reaches: Ints  # distance of each group's farthest row from its centre, falling

    @cached_property
    def bounds(self) -> tuple[Rows, Ints, Ints]:
        """Centres, starts and reaches, as the kernels read them."""
        return flat(self.centres), freeze(self.starts), freeze(self.reaches)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name, to be stored."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], bits: int, count: int
    ) -> "Grouping":
        """Make a grouping of stored arrays; DamagedIndex if they cannot be one."""
        groups, length = len(arrays.get("reaches", ())), row_length(bits)
        words = () if length == 1 else (length,)
        expected = {
            "rows": (row_type(bits), (count, *words)),
            "order": (np.dtype(np.uint32), (count,)),
            "centres": (row_type(bits), (groups, *words)),
            "starts": (np.dtype(np.int64), (groups, bits + 2)),
            "reaches": (np.dtype(np.int64), (groups,)),
        }
        check_arrays(arrays, expected, f"a grouping of {count} rows")
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
        cls, rows: Rows, bits: int, *, threads: int | None = None
    ) -> "Grouping | None":
        """Group rows, fewer than 2^31 in order of their numbers, if it saves time.

        It does not where the codes are too few, have no clusters to speak of, or
        numba is not installed.
        """
        if len(rows) < MIN_ROWS or load_kernels("group") is None:
            return None
        rng = np.random.default_rng(0)
        groups = min(MAX_GROUPS, len(rows) // ROWS_PER_GROUP)
        chosen = rng.choice(len(rows), min(len(rows), groups * SAMPLE_PER_GROUP), False)
        sample = rows[np.sort(chosen)]
        centres = _find_centres(sample, bits, groups, rng)
        trial = group_rows(sample, bits, centres, 1)
        wanted = max(1, round(TRIAL_ANSWERS * len(sample) / len(rows)))
        queries = sample[rng.choice(len(sample), TRIAL_QUERIES)]
        if compared_share(trial, sample, bits, wanted, queries) > MAX_COMPARED:
            return None
        grouping = group_rows(rows, bits, centres, threads or usable_cores())
        queries = rows[rng.choice(len(rows), TRIAL_QUERIES)]
        compared = compared_share(grouping, rows, bits, TRIAL_ANSWERS, queries)
        return grouping if compared <= MAX_COMPARED else None


def _find_centres(
    sample: Rows, bits: int, groups: int, rng: np.random.Generator
) -> Rows:
    """Move centres to the majority of their rows, some rounds of it.

    Centres of hardly any rows move to where rows are far from every centre.
    """
    kernels = load_kernels("group")
    words, rings = row_shape(bits), bits + 1
    line, cells = flat(sample), np.empty(len(sample), dtype=np.uint32)
    centres = sample[rng.choice(len(sample), groups, False)]
    bits_set = np.unpackbits(line.view(np.uint8).reshape(len(sample), -1), axis=1)
    moving = centres.reshape(groups, -1).view(np.uint8)
    for turn in range(ROUNDS):
        kernels.assign(line, words, flat(centres), 0, len(sample), rings, cells)
        far = (cells % rings).astype(np.int64)
        begins, order = sort_places(cells // rings, groups)
        sizes = np.diff(begins)
        filled = np.flatnonzero(sizes)
        ones = np.add.reduceat(bits_set[order], begins[filled], dtype=np.int32)
        # the majority of each group, bit by bit; a tie is clear
        moving[filled] = np.packbits(2 * ones > sizes[filled, None], axis=1)
        small = np.flatnonzero(sizes * 8 < len(sample) / groups)[: groups // 8]
        if turn < ROUNDS - 2 and small.size:
            farthest = np.argsort(-far, kind="stable")[: 8 * small.size]
            centres[small] = sample[rng.choice(farthest, small.size, False)]
    return centres


def group_rows(rows: Rows, bits: int, centres: Rows, threads: int) -> Grouping:
    """Sort rows by group, ring and number."""
    kernels = load_kernels("group")
    words, rings, count = row_shape(bits), bits + 1, len(rows)
    cells = np.empty(count, dtype=np.uint32)
    line, middle = flat(rows), flat(centres)
    pieces = ranges(0, count, -(-count // ROWS_PER_TASK))
    assign = partial(kernels.assign, line, words, middle)
    share([partial(assign, *piece, rings, cells) for piece in pieces], threads)
    begins, order = sort_places(cells, len(centres) * rings)
    starts = np.empty((len(centres), rings + 1), dtype=np.int64)
    starts[:, :rings] = begins[:-1].reshape(-1, rings)
    starts[:, rings] = begins[rings::rings]
    filled = np.diff(starts, axis=1) > 0
    reaches = np.where(filled, np.arange(rings), 0).max(axis=1)
    kept = np.flatnonzero(filled.any(axis=1))
    kept = kept[np.argsort(-reaches[kept], kind="stable")]
    return Grouping(rows[order], order, centres[kept], starts[kept], reaches[kept])


def compared_share(
    grouping: Grouping, rows: Rows, bits: int, k: int, queries: Rows
) -> float:
    """Measure on some queries the share of rows that a search compares."""
    part = Part(rows, 0, None, grouping)
    limits = np.full(len(queries), bits + 1, dtype=np.int64)
    _, compared = nearest_in_groups(part, grouping, queries, limits, k, 1)
    return float(np.mean(compared)) / len(rows)


def nearest_in_groups(
    part: Part,
    grouping: Grouping,
    queries: Rows,
    limits: Ints,
    k: int,
    threads: int,
) -> tuple[Keys, Ints]:
    """Find for each query the k nearest rows that stay below its limit.

    Returns:
        Keys in order, (queries, k), filled up with NOTHING; how many rows were
        compared with each query.
    """
    kernels = load_kernels("group")
    count, stored = len(queries), part.stored
    found = np.full((count, k), NOTHING, dtype=np.int64)
    compared = np.zeros(count, dtype=np.int64)

    def work(start: int, stop: int) -> None:
        some = slice(start, stop)
        own, limit = flat(queries[some]), limits[some]
        kernels.nearest_in_groups(
            stored, grouping.bounds, own, limit, found[some], compared[some]
        )

    pieces = ranges(0, count, max(threads, -(-count // QUERIES_PER_TASK)))
    share([partial(work, *piece) for piece in pieces], threads)
    return found, compared


def within_groups(
    part: Part, grouping: Grouping, queries: Rows, radius: int
) -> list[Keys]:
    """Find for each query the keys of all rows no farther than the radius, unsorted."""
    kernels = load_kernels("group")
    stored = part.stored

    def work(start: int, stop: int, found: Keys, sizes: Ints) -> None:
        own = flat(queries[start:stop])
        kernels.within_groups(stored, grouping.bounds, own, radius + 1, found, sizes)

    return cast("list[Keys]", search_with_room(work, 0, len(queries)))


def count_reached(part: Part, grouping: Grouping, queries: Rows, radius: int) -> Ints:
    """Count the rows that a radius search in groups would compare with each query."""
    reached = np.empty(len(queries), dtype=np.int64)
    load_kernels("group").count_reached(
        part.stored[1], grouping.bounds, flat(queries), radius + 1, reached
    )
    return reached
