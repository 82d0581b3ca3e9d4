"""Counts of all items and of relevant ones at each distance of a query.

These two counts are all that most scores need, so nothing is sorted; graded scores
need the items by the number of labels they share. Numba counts them when it is
installed (extra "fast"); NumPy computes the same integers.
"""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fdch.codes import Codes
from fdch.errors import DataError, LabelError, MissingExtra, SettingError
from fdch.evaluation.counting import numpy_engine
from fdch.evaluation.counting.relevance import largest_grade, pack

Engine = Literal["auto", "numba", "numpy"]

# Queries counted at a time, and fewer where a block's counts would be over 32 MB.
QUERIES_PER_BLOCK = 1024
COUNTS_PER_BLOCK = 4 * 2**20
MAX_BITS = 32_767  # twice a distance, plus one, fits in 16 bits


@dataclass(frozen=True, eq=False)
class Histograms:
    """Counts by distance, one row to a query, one column to a distance."""

    items: NDArray[np.int64]  # database items at each distance, (queries, bits + 1)
    relevant: NDArray[np.int64]  # those of them that are relevant, (queries, bits + 1)
    # average precision of each query with ties in database order, if requested; NaN for
    # a query without relevant items
    stable: NDArray[np.float64] | None = None
    # items at each distance by the number of labels they share with the query,
    # (queries, bits + 1, numbers from 0), if requested
    graded: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return self.items.shape[0]


def distance_histograms(
    query_codes: Codes,
    database_codes: Codes,
    query_labels: ArrayLike,
    database_labels: ArrayLike,
    *,
    stable: bool = False,
    graded: bool = False,
    cutoff: int | None = None,
    engine: Engine = "auto",
) -> Histograms:
    """Count all queries at once; see `histogram_blocks` for bounded memory.

    >>> from fdch.codes import binarize
    >>> query, database = binarize([[1.0, 1.0]]), binarize([[1, 1], [1, -1], [-1, 1]])
    >>> distance_histograms(query, database, [[1]], [[1], [0], [1]]).relevant.tolist()
    [[1, 1, 0]]
    """
    blocks = list(
        histogram_blocks(
            query_codes,
            database_codes,
            query_labels,
            database_labels,
            stable=stable,
            graded=graded,
            cutoff=cutoff,
            engine=engine,
        )
    )
    orders = [block.stable for block in blocks if block.stable is not None]
    grades = [block.graded for block in blocks if block.graded is not None]
    return Histograms(
        np.concatenate([block.items for block in blocks]),
        np.concatenate([block.relevant for block in blocks]),
        np.concatenate(orders) if orders else None,
        np.concatenate(grades) if grades else None,
    )


def histogram_blocks(
    query_codes: Codes,
    database_codes: Codes,
    query_labels: ArrayLike,
    database_labels: ArrayLike,
    *,
    stable: bool = False,
    graded: bool = False,
    cutoff: int | None = None,
    engine: Engine = "auto",
) -> Iterator[Histograms]:
    """Count queries in blocks, in their order, within bounded memory.

    Labels are 0/1, (items, classes). With `stable`, average precision with ties in
    database order is given too, cut after the rank `cutoff`; with `graded`, items are
    counted by the number of labels they share.
    """
    bits = query_codes.bits
    queries = pack(query_codes, query_labels, "query")
    database = pack(database_codes, database_labels, "database")
    _check_comparable(query_codes, database_codes, query_labels, database_labels)
    require_rank(cutoff)
    chosen = counting_engine(engine)
    grades = 1 + largest_grade(queries, database) if graded else 2
    at_a_time = max(1, COUNTS_PER_BLOCK // ((bits + 1) * grades))
    at_a_time = min(at_a_time, QUERIES_PER_BLOCK)
    for start in range(0, len(query_codes), at_a_time):
        block = queries.rows(start, start + at_a_time)
        counts = chosen.count(block, database, bits, grades)
        items, relevant = counts.sum(axis=2), counts[:, :, 1:].sum(axis=2)
        order = None
        if stable:
            by_relevance = np.stack([items - relevant, relevant], axis=2)
            last = cutoff or len(database_codes)
            sums, hits = chosen.stable_sums(block, database, by_relevance, last)
            order = _stable_average(sums, hits, relevant)
        yield Histograms(items, relevant, order, counts if graded else None)


@cache
def counting_engine(engine: Engine = "auto") -> Any:
    """Import a module with `count` and `stable_sums`; "auto" is numba if installed."""
    if engine == "numpy":
        return numpy_engine
    if engine not in ("auto", "numba"):
        raise SettingError(f"unknown engine {engine!r}; use auto, numba or numpy.")
    try:
        return importlib.import_module("fdch.evaluation.counting.numba_engine")
    except ImportError as error:
        if engine == "numba":
            raise MissingExtra("the numba engine", "fast") from error
        return numpy_engine


def engine_name() -> str:
    """Name the engine that "auto" stands for here: "numba" or "numpy"."""
    return "numpy" if counting_engine() is numpy_engine else "numba"


def require_rank(cutoff: int | None) -> None:
    """Refuse a cut-off that is no rank."""
    if cutoff is not None and not (isinstance(cutoff, Integral) and cutoff >= 1):
        raise SettingError(
            f"a cut-off is a rank, a whole number of 1 or more; got {cutoff!r}."
        )


def _check_comparable(
    query_codes: Codes,
    database_codes: Codes,
    query_labels: ArrayLike,
    database_labels: ArrayLike,
) -> None:
    bits = query_codes.bits
    if bits != database_codes.bits:
        raise DataError(
            f"query codes have {bits} bits, database codes {database_codes.bits}; "
            "they must come from the same method."
        )
    if bits > MAX_BITS:
        raise DataError(f"codes of {bits} bits are too long; {MAX_BITS} is the most.")
    classes, others = np.shape(query_labels)[1], np.shape(database_labels)[1]
    if classes != others:
        raise LabelError(
            f"query labels have {classes} classes, database labels {others}; "
            "they must name the same classes."
        )


def _stable_average(
    sums: NDArray[np.float64], hits: NDArray[np.int64], relevant: NDArray[np.int64]
) -> NDArray[np.float64]:
    average = sums / np.maximum(hits, 1)
    return np.where(relevant.sum(axis=1) > 0, average, np.nan)
