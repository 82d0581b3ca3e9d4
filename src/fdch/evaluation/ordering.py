"""Candidates found by their codes, then ordered by more than their distance.

The nearest candidates of a query, ties in database order, are ordered by inner
products: of the query's weights with an item's bits, -1 or +1, and the numbers of its
vector. What the last numbers add counts only above a threshold: they tell which items
are nearly the same, and nothing about all others. Items that are no candidates follow
by distance.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes, hamming_distances
from fdch.errors import DataError
from fdch.evaluation.histograms import COUNTS_PER_BLOCK, Histograms

QUERIES_PER_BLOCK = 256
SEARCHED = 500  # candidates that a search for its first results orders
Places = NDArray[np.uint16]
Floats = NDArray[np.float32]
Bytes = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class QueryOrder:
    """How queries order candidates."""

    weights: Floats  # of an item's bits and numbers, (queries, bits + width)
    thresholded: int = 0  # how many of the last numbers count only above the threshold
    threshold: float = 0.0  # taken off their sum; only what is left above 0 counts

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, rows: Any) -> "QueryOrder":
        return QueryOrder(self.weights[rows], self.thresholded, self.threshold)

    def score(self, codes: Codes, vectors: Bytes | None = None) -> Floats:
        """Give what orders candidates, the largest first, (queries, items).

        >>> from fdch.codes import binarize
        >>> items, vectors = binarize([[1, 1], [1, -1]]), np.array([[1], [9]], np.int8)
        >>> order = QueryOrder(np.array([[2, 1, 0.5]], np.float32), 1, 2.0)
        >>> order.score(items, vectors).tolist()
        [[3.0, 3.5]]
        """
        width = 0 if vectors is None else vectors.shape[1]
        if self.weights.shape[1] != codes.bits + width:
            raise DataError(
                f"{self.weights.shape[1]} weights cannot order codes of {codes.bits} "
                f"bits with {width} numbers beside them; they must come from the same "
                "method."
            )
        known = codes.signs().astype(np.float32)
        if vectors is not None:
            known = np.concatenate([known, vectors.astype(np.float32)], axis=1)
        first = known.shape[1] - self.thresholded
        scores = self.weights[:, :first] @ known[:, :first].T
        if self.thresholded:
            rest = self.weights[:, first:] @ known[:, first:].T
            scores += np.maximum(rest - np.float32(self.threshold), 0)
        return scores


class Coded(NamedTuple):
    """Codes with the labels of their items, and what orders them."""

    codes: Codes
    labels: NDArray[np.generic]  # 0/1, (items, classes)
    order: QueryOrder | None = None  # how they order candidates as queries, if they do
    vectors: Bytes | None = None  # what each is ordered by beside its code, if at all

    def take(self, rows: Any) -> "Coded":
        """Return some of the items."""
        order = None if self.order is None else self.order[rows]
        vectors = None if self.vectors is None else self.vectors[rows]
        return Coded(self.codes[rows], self.labels[rows], order, vectors)


def join_orders(orders: Sequence[QueryOrder]) -> QueryOrder:
    """Join the queries of one method."""
    first = orders[0]
    weights = np.concatenate([each.weights for each in orders])
    return QueryOrder(weights, first.thresholded, first.threshold)


def place_items(
    order: QueryOrder,
    query_codes: Codes,
    codes: Codes,
    vectors: Bytes | None,
    candidates: int,
) -> Places:
    """Give each item's place in the order of each query, (queries, items).

    Places from 0 are those of the candidates; an item that is none of them has the
    number of candidates plus its distance.
    """
    distances = hamming_distances(query_codes, codes)
    count = min(candidates, len(codes))
    places = distances + np.uint16(count)
    # a distance and a row in one number, so that ties stay in database order
    keys = distances.astype(np.int64) * len(codes) + np.arange(len(codes))
    scores = order.score(codes, vectors)
    for row, (own_keys, own_scores) in enumerate(zip(keys, scores, strict=True)):
        nearest = np.argpartition(own_keys, count - 1)[:count]
        nearest = nearest[np.argsort(own_keys[nearest])]
        best = nearest[np.argsort(-own_scores[nearest], kind="stable")]
        places[row, best] = np.arange(count)
    return places


def list_items(
    order: QueryOrder,
    distances: NDArray[np.uint16],
    codes: Codes,
    vectors: Bytes | None,
) -> Floats:
    """Give what lists items as a search does, the lowest first, (queries, items).

    The nearest, and all that are as near as the last of these, come by their order,
    the others by distance.
    """
    count = min(SEARCHED, len(codes))
    last = np.partition(distances, count - 1, axis=1)[:, count - 1 : count]
    scores = order.score(codes, vectors)
    below = scores.min(axis=1, keepdims=True) - 1 - scores  # all below 0
    return np.where(distances <= last, below, distances.astype(np.float32))


def count_places(places: Places, shared: NDArray[np.intp], columns: int) -> Histograms:
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
    queries: Coded, gallery: Coded, candidates: int, cutoff: int | None = None
) -> Iterator[Histograms]:
    """Count items by their place instead of their distance, in blocks of queries.

    `candidates` of the nearest are ordered; `cutoff` is a rank, None for all.
    """
    assert queries.order is not None
    codes, classes = gallery.codes, np.asarray(gallery.labels, np.float32)
    largest = 1 + int(classes.sum(axis=1).max(initial=0))
    columns = min(candidates, len(codes)) + codes.bits + 1
    at_a_time = max(1, COUNTS_PER_BLOCK // max(columns * largest, len(codes)))
    at_a_time = min(at_a_time, QUERIES_PER_BLOCK)
    for start in range(0, len(queries.codes), at_a_time):
        rows = slice(start, start + at_a_time)
        order, query_codes = queries.order[rows], queries.codes[rows]
        places = place_items(order, query_codes, codes, gallery.vectors, candidates)
        shared = np.asarray(queries.labels[rows], np.float32) @ classes.T
        counts = count_places(places, shared.astype(np.intp), columns)
        stable = _stable_average(places, shared > 0, cutoff or len(codes))
        yield replace(counts, stable=stable)


def _stable_average(
    places: Places, is_relevant: NDArray[np.bool_], cutoff: int
) -> NDArray[np.float64]:
    """Average precision with ties in database order; NaN without relevant items."""
    ranking = np.argsort(places, axis=1, kind="stable")[:, :cutoff]
    hits = np.take_along_axis(is_relevant, ranking, axis=1)
    precision = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
    found = hits.sum(axis=1)
    average = (precision * hits).sum(axis=1) / np.maximum(found, 1)
    return np.where(is_relevant.any(axis=1), average, np.nan)
