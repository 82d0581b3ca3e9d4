"""Candidates found by their codes, then ordered by more than their distance.

The nearest candidates of a query, ties in database order, are ordered by inner
products of the query's weights: with an item's bits, -1 or +1, and with what the bytes
of its vector stand for. The last bytes say which items are nearly the same. Their
product counts only above a threshold, and only among the best candidates by all else:
it moves items within the first 500 places and leaves the rest of the ranking alone.
Items that are no candidates follow by distance. No two items share a rank, so nothing
is tied.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes, hamming_distances
from fdch.errors import DataError
from fdch.evaluation.counting.relevance import require_codes
from fdch.evaluation.histograms import COUNTS_PER_BLOCK, Histograms, require_rank

QUERIES_PER_BLOCK = 256
SEARCHED = 500  # candidates that a search for its first results orders
REORDERED = SEARCHED  # first places within which nearly equal items move up
Rows = NDArray[np.intp]
Floats = NDArray[np.float32]
Bytes = NDArray[np.int8]


class VectorPart(NamedTuple):
    """How some bytes of a vector count in queries' scores.

    Each byte names a row of its book. The sum of these rows, times the query's
    weights, is what the part adds to the score.
    """

    weights: Floats  # (queries, width)
    books: Floats  # (bytes, 256, width)
    # taken off the sum; what is left above 0 counts, for the best candidates only
    threshold: float | None = None

    def score(self, stored: Bytes) -> Floats:
        """Return the sum for each query and item, (queries, items)."""
        # book by book: BLAS would share one large product among threads, and a query
        # would wait for another core
        products = self.weights @ self.books.transpose(0, 2, 1)  # (bytes, queries, 256)
        count, queries, values = products.shape
        starts = np.arange(0, count * values, values)[:, None]
        cells = stored.view(np.uint8).T + starts  # (bytes, items)
        found = np.empty((queries, len(stored)), np.float32)
        for query, sums in enumerate(found):
            products[:, query].take(cells).sum(axis=0, out=sums)
        return found


@dataclass(frozen=True, eq=False)
class QueryOrder:
    """How queries order candidates."""

    weights: Floats  # of an item's bits, (queries, bits)
    parts: tuple[VectorPart, ...] = ()  # of an item's vector, in order

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, rows: Any) -> "QueryOrder":
        parts = (part._replace(weights=part.weights[rows]) for part in self.parts)
        return QueryOrder(self.weights[rows], tuple(parts))

    def score(
        self,
        codes: Codes,
        vectors: Bytes | None = None,
        among: NDArray[np.bool_] | None = None,
    ) -> Floats:
        """Return the scores of candidates, the largest first, (queries, items).

        `among` says which of the items are candidates, (queries, items); None for all.

        >>> from fdch.codes import binarize
        >>> items, vectors = binarize([[1, 1], [1, -1]]), np.array([[0], [1]], np.int8)
        >>> books = np.arange(1, 2049, 8, dtype=np.float32).reshape(1, 256, 1)
        >>> part = VectorPart(np.array([[0.5]], np.float32), books, threshold=2.0)
        >>> QueryOrder(np.array([[2, 1]], np.float32), (part,)).score(items, vectors)
        array([[3. , 3.5]], dtype=float32)
        """
        ends = [*accumulate((len(part.books) for part in self.parts), initial=0)]
        width = 0 if vectors is None else vectors.shape[1]
        if (codes.bits, width) != (self.weights.shape[1], ends[-1]):
            raise DataError(
                f"queries for codes of {self.weights.shape[1]} bits with {ends[-1]} "
                f"bytes beside them cannot order codes of {codes.bits} bits with "
                f"{width}; they must come from the same method."
            )
        scores = self.weights @ codes.signs().astype(np.float32).T
        for part, start, end in zip(self.parts, ends, ends[1:], strict=False):
            assert vectors is not None
            found = part.score(vectors[:, start:end])
            if part.threshold is None:
                scores += found
            else:
                gains = np.maximum(found - np.float32(part.threshold), 0)
                scores = raise_best(scores, gains, among)
        return scores


def raise_best(
    scores: Floats, gains: Floats, among: NDArray[np.bool_] | None = None
) -> Floats:
    """Add gains, 0 or more, to the scores of each query's best candidates.

    Args:
        scores: The largest comes first, (..., items).
        gains: Of the same shape.
        among: Which items are candidates; None for all.

    >>> scores = np.arange(600, dtype=np.float32)[None]
    >>> raise_best(scores, np.full_like(scores, 9))[0, [0, 99, 100]].tolist()
    [0.0, 99.0, 109.0]
    """
    if scores.shape[-1] <= REORDERED:
        return scores + gains
    known = scores if among is None else np.where(among, scores, -np.inf)
    least = np.partition(known, -REORDERED, axis=-1)[..., -REORDERED, None]
    return np.where(known >= least, scores + gains, scores)


class Coded(NamedTuple):
    """Codes with the labels of their items, and what orders them."""

    codes: Codes
    labels: NDArray[np.generic]  # 0/1, (items, classes)
    order: QueryOrder | None = None  # how they order candidates as queries, if they do
    vectors: Bytes | None = None  # what orders each beside its code, if anything

    def take(self, rows: Any) -> "Coded":
        """Return some of the items."""
        order = None if self.order is None else self.order[rows]
        vectors = None if self.vectors is None else self.vectors[rows]
        return Coded(self.codes[rows], self.labels[rows], order, vectors)


def join_orders(orders: Sequence[QueryOrder]) -> QueryOrder:
    """Join the queries of one method."""
    return combine_orders(orders, np.concatenate)


def combine_orders(
    orders: Sequence[QueryOrder], combine: Callable[[list[Floats]], Floats]
) -> QueryOrder:
    """Combine the weights of queries of one method, all in the same way."""
    parts = zip(*(each.parts for each in orders), strict=True)
    return QueryOrder(
        combine([each.weights for each in orders]),
        tuple(
            some[0]._replace(weights=combine([part.weights for part in some]))
            for some in parts
        ),
    )


def rank_items(queries: Coded, items: Coded, candidates: int) -> Rows:
    """Rank all items for each query, (queries, items).

    The nearest candidates come first, in the queries' order; the others follow by
    distance, ties in database order.
    """
    assert queries.order is not None
    distances = hamming_distances(queries.codes, items.codes)
    nearest = np.argsort(distances, axis=1, kind="stable")
    among = None
    if candidates < len(items.codes):
        among = np.zeros(distances.shape, dtype=np.bool_)
        np.put_along_axis(among, nearest[:, :candidates], True, axis=1)
    scores = queries.order.score(items.codes, items.vectors, among)
    found = np.take_along_axis(-scores, nearest[:, :candidates], axis=1)
    best = np.argsort(found, axis=1, kind="stable")
    nearest[:, :candidates] = np.take_along_axis(nearest, best, axis=1)
    return nearest


def place_items(queries: Coded, items: Coded, candidates: int) -> Rows:
    """Return each item's place in each query's ranking, from 0, (queries, items)."""
    ranking = rank_items(queries, items, candidates)
    places = np.empty_like(ranking)
    np.put_along_axis(places, ranking, np.arange(len(items.codes))[None], axis=1)
    return places


def list_items(
    order: QueryOrder,
    distances: NDArray[np.uint16],
    codes: Codes,
    vectors: Bytes | None,
) -> Floats:
    """Return sort keys that list items as a search does, (queries, items).

    The nearest, and all that are as near as the last of these, come by their order,
    the others by distance.
    """
    count = min(SEARCHED, len(codes))
    last = np.partition(distances, count - 1, axis=1)[:, count - 1 : count]
    is_ordered = distances <= last
    scores = order.score(codes, vectors, is_ordered)
    below = scores.min(axis=1, keepdims=True) - 1 - scores  # all below 0
    return np.where(is_ordered, below, distances.astype(np.float32))


def count_places(
    places: NDArray[np.integer[Any]], shared: NDArray[np.intp], columns: int
) -> Histograms:
    """Count items by their place, from 0 to the number of columns, and labels shared.

    An item at a later place is left out.

    >>> places, shared = np.array([[0, 1, 9]], np.uint16), np.array([[0, 2, 1]])
    >>> count_places(places, shared, 3).relevant.tolist()
    [[0, 1, 0]]
    """
    grades = int(shared.max(initial=0)) + 1
    cells = places.astype(np.int64) * grades + shared
    graded = np.stack(
        [
            np.bincount(row, minlength=columns * grades)[: columns * grades]
            for row in cells
        ]
    ).reshape(len(cells), columns, grades)
    return Histograms(graded.sum(axis=2), graded[:, :, 1:].sum(axis=2), graded=graded)


def ordered_blocks(
    queries: Coded,
    gallery: Coded,
    candidates: int,
    first: int,
    cutoff: int | None = None,
) -> Iterator[Histograms]:
    """Count items by their place instead of their distance, in blocks of queries.

    There is a column for each of the first places and one for all others, enough for
    scores of the first ranks; the average precision of the whole ranking is `stable`.

    Args:
        queries: With their order.
        gallery: What is searched.
        candidates: How many of the nearest are ordered.
        first: Places with a column of their own.
        cutoff: Rank after which average precision is cut; None for the whole ranking.
    """
    require_rank(cutoff)
    require_codes(queries.codes, "query")
    require_codes(gallery.codes, "database")
    classes, size = np.asarray(gallery.labels, np.float32), len(gallery.codes)
    places = np.minimum(np.arange(size), first)
    at_a_time = max(1, min(QUERIES_PER_BLOCK, COUNTS_PER_BLOCK // size))
    for start in range(0, len(queries.codes), at_a_time):
        block = queries.take(slice(start, start + at_a_time))
        ranking = rank_items(block, gallery, candidates)
        shared = np.asarray(block.labels, np.float32) @ classes.T
        grades = np.take_along_axis(shared, ranking, axis=1).astype(np.intp)
        counts = count_places(np.broadcast_to(places, grades.shape), grades, first + 1)
        yield replace(counts, stable=_average_precision(grades > 0, cutoff))


def _average_precision(
    hits: NDArray[np.bool_], cutoff: int | None
) -> NDArray[np.float64]:
    """Return the average precision of rankings; NaN if nothing is relevant.

    >>> _average_precision(np.array([[True, False, True]]), None).round(4).tolist()
    [0.8333]
    """
    shown = hits[:, :cutoff]
    found = np.cumsum(shown, axis=1)
    precision = (found / np.arange(1, shown.shape[1] + 1) * shown).sum(axis=1)
    average = precision / np.maximum(found[:, -1], 1)
    return np.where(hits.any(axis=1), average, np.nan)
