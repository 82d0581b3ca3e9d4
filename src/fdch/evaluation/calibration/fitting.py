"""Fits how probable results are, on pairs that were not trained on.

The held-out pairs search the training pairs, a quarter of these, and one another.
From galleries of several sizes the models learn what a larger one changes; from items
trained on and not, by how much codes that were trained flatter. Each text is also
used shortened: people type fewer words than captions have. Where a method orders
candidates, results are those that come first in its order.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fdch.codes import binarize
from fdch.data.word_weights import MATCH_WEIGHT, SURE_WEIGHT, weigh_words
from fdch.evaluation.calibration.model import (
    FACTS,
    FUSED,
    SCORES,
    WEIGHTED,
    WEIGHTS,
    Calibration,
    Model,
    Values,
    confidences,
    sigmoid,
    stack_columns,
)
from fdch.evaluation.ordering import QueryOrder, list_items

MIN_PAIRS = 10  # held-out pairs, below which nothing is estimated
MAX_PAIRS = 1000  # held-out pairs used; more would hardly move a model
MAX_ITEMS = 10_000  # training pairs that they search
SMALLER = 4  # a smaller gallery has every fourth item
ROWS_AT_A_TIME = 256
RANKS = np.unique([*range(10), *(np.geomspace(11, 200, 12).astype(np.int64) - 1)])
LATER = 0.3  # weight of a result after the first ten
RIDGE = 0.03  # pull of the weights towards 0, in queries
SMOOTHING = 0.3  # queries added, half of whose results are relevant
NEWTON_STEPS = 50
TIED = 1e-6  # bits, below which an order parts items


@dataclass(frozen=True, eq=False)
class EncodedSides:
    """Real outputs of the same pairs in the same rows.

    Mappings are by what was encoded: "image", "text" and, with unified codes, "pair".
    """

    outputs: Mapping[str, NDArray[Any]]  # (pairs, bits)
    words: NDArray[Any]  # known words of the texts, (pairs,)
    labels: NDArray[Any]  # 0/1, (pairs, classes)
    # which words the texts hold, 0/1, (pairs, words), the columns being the same for
    # all; None where texts are no words
    held: csr_array | None = None
    # how they order candidates as queries; empty where distances alone do
    orders: Mapping[str, QueryOrder] = field(default_factory=dict)
    # what they are ordered by beside their codes, (pairs, width)
    vectors: Mapping[str, NDArray[np.int8]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: Any) -> "EncodedSides":
        def choose(given: Mapping[str, Any]) -> dict[str, Any]:
            return {kind: values[rows] for kind, values in given.items()}

        return EncodedSides(
            choose(self.outputs),
            self.words[rows],
            self.labels[rows],
            None if self.held is None else self.held[rows],
            choose(self.orders),
            choose(self.vectors),
        )


class _Gallery(NamedTuple):
    """Items that the held-out pairs search."""

    items: EncodedSides
    own: NDArray[np.int64]  # the held-out pair that each item is, or -1
    is_trained: bool


class _Table(NamedTuple):
    """Results of many searches, one a row."""

    facts: Values  # FACTS, (results, 5)
    trained: Values  # 1 where the item was trained on
    relevant: Values  # 1 where it shares a label with the query
    weights: Values  # all results of a query add up to 1


def fit_calibration(
    held_out: EncodedSides,
    training: EncodedSides | None = None,
    shortened: EncodedSides | None = None,
    trained: int = 0,
) -> Calibration | None:
    """Fit a model for each kind of query, of item and of score.

    Of very many pairs the first are taken; `Calibration.pairs` says how many.

    Args:
        held_out: Pairs that were not trained on.
        training: Training pairs, which they search as well.
        shortened: The held-out pairs with shorter texts; only text outputs are used.
        trained: How many pairs the codes were trained on.

    Returns:
        None where there are fewer than MIN_PAIRS, or none that share a label.
    """
    held_out = held_out[:MAX_PAIRS]
    is_shared = np.count_nonzero(held_out.labels, axis=0) > 1
    if len(held_out) < MIN_PAIRS or not is_shared.any():
        return None
    galleries = list(_make_galleries(held_out, training))
    models: dict[str, dict[str, dict[str, Model]]] = {}
    for query_kind in held_out.outputs:
        queries = [held_out]
        if query_kind == "text" and shortened is not None:
            queries.append(shortened[:MAX_PAIRS])
        # an item used as a query has only its code
        names = ["plain"] if query_kind == "pair" else [*SCORES]
        if query_kind == "text" and held_out.held is not None:
            names.append(FUSED)
        models[query_kind] = {
            kind: {
                score: fit_model(
                    # whole texts match words far less than what people type
                    _search_all(
                        queries[-1:] if score == FUSED else queries,
                        galleries,
                        query_kind,
                        kind,
                        score,
                    )
                )
                for score in names
            }
            for kind in held_out.outputs
        }
    bits = next(iter(held_out.outputs.values())).shape[1]
    return Calibration(bits, len(held_out), trained, models)


def _make_galleries(
    held_out: EncodedSides, training: EncodedSides | None
) -> Iterator[_Gallery]:
    rows = np.arange(len(held_out))
    yield _Gallery(held_out, rows, False)
    if training is None:
        yield _Gallery(held_out[::SMALLER], rows[::SMALLER], False)
        return
    training = training[:MAX_ITEMS]
    for items in (training, training[::SMALLER]):
        yield _Gallery(items, np.full(len(items), -1), True)


def _search_all(
    queries: list[EncodedSides],
    galleries: list[_Gallery],
    query_kind: str,
    kind: str,
    score: str,
) -> _Table:
    """Search every gallery with every set of queries."""
    parts = [
        part
        for each in queries
        for gallery in galleries
        for part in _search(each, gallery, query_kind, kind, score)
    ]
    table = _Table(*map(np.concatenate, zip(*parts, strict=True)))
    weights = table.weights / (len(queries) * len(galleries))
    return table._replace(weights=weights)


def _search(
    queries: EncodedSides,
    gallery: _Gallery,
    query_kind: str,
    kind: str,
    score: str,
) -> Iterator[_Table]:
    """Return some of the results of each query, no pair finding itself."""
    items = gallery.items
    confidence = confidences(queries.outputs[query_kind])
    words = np.log1p(queries.words) * (query_kind == "text")
    labels = items.labels.astype(np.float32).T
    ranks = RANKS[len(items) - (gallery.own >= 0).any() > RANKS]
    share = np.where(ranks < 10, 1.0, LATER)
    for start in range(0, len(queries), ROWS_AT_A_TIME):
        rows = slice(start, start + ROWS_AT_A_TIME)
        found, listed = _distances(queries[rows], items, query_kind, kind, score)
        numbers = np.arange(len(queries))[rows]
        is_own = numbers[:, None] == gallery.own
        scores = np.where(is_own, np.inf, found)
        listed = np.where(is_own, np.inf, listed)
        places = _nearest(listed, ranks[-1] + 1)[:, ranks]
        relevant = queries.labels[rows].astype(np.float32) @ labels > 0
        nearest = scores.min(axis=1)
        scores = np.take_along_axis(scores, places, 1)
        of_query = (confidence[rows], words[rows], nearest)
        facts = np.empty((*scores.shape, len(FACTS)))
        facts[..., 0] = scores
        facts[..., 1:4] = np.stack(of_query, axis=1)[:, None]
        facts[..., 4] = np.log(len(items))
        yield _Table(
            facts.reshape(-1, len(FACTS)),
            np.full(scores.size, float(gallery.is_trained)),
            np.take_along_axis(relevant, places, 1).ravel().astype(np.float64),
            np.tile(share / share.sum(), len(scores)),
        )


def _distances(
    queries: EncodedSides, items: EncodedSides, query_kind: str, kind: str, score: str
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the score of each item for each query, and what lists them as a search.

    Both are (queries, items), the lowest first.
    """
    outputs, stored = queries.outputs[query_kind], items.outputs[kind]
    found = listed = SCORES["plain" if score == FUSED else score](outputs, stored)
    if score != WEIGHTED and query_kind in queries.orders:
        order = queries.orders[query_kind]
        listed = list_items(order, found, binarize(stored), items.vectors[kind])
    if score != FUSED:
        return found, listed
    assert queries.held is not None and items.held is not None
    shares = outputs.shape[1] * match_words(queries.held, items.held)
    if listed is not found:  # words shorten distances, reassigned in that order
        places, listed = (
            np.argsort(listed, axis=1, kind="stable"),
            np.empty(found.shape),
        )
        ties = np.linspace(0, TIED, found.shape[1])  # stay in that order
        np.put_along_axis(listed, places, np.sort(found, axis=1) + ties, axis=1)
    return found - SURE_WEIGHT * shares, listed - MATCH_WEIGHT * shares


def match_words(queries: csr_array, items: csr_array) -> Values:
    """Return the share of each query's words that each item holds, (queries, items)."""
    holding = np.asarray(items.sum(axis=0)).ravel()
    weights = queries.astype(np.float64)
    for start, end in pairwise(queries.indptr):
        words = queries.indices[start:end]
        weights.data[start:end] = weigh_words(holding[words], items.shape[0])
    return np.asarray((weights @ items.T).toarray())


def _nearest(scores: NDArray[Any], k: int) -> NDArray[np.intp]:
    """Return the places of the k lowest of each row, the lowest first."""
    places = np.argpartition(scores, k - 1, axis=1)[:, :k]
    order = np.argsort(np.take_along_axis(scores, places, 1), axis=1)
    return np.take_along_axis(places, order, 1)


def fit_model(table: _Table) -> Model:
    """Fit a ridge logistic regression by Newton's method.

    SMOOTHING stands at the mean of all facts: few queries never make a probability
    0 or 1.
    """
    mean = np.average(table.facts, axis=0, weights=table.weights)
    spread = np.average((table.facts - mean) ** 2, axis=0, weights=table.weights)
    scale = np.where(spread > 1e-12, np.sqrt(spread), 1.0)
    columns = stack_columns(table.facts, table.trained, mean, scale)
    columns = np.vstack([columns, np.eye(1, len(WEIGHTS))])
    relevant = np.append(table.relevant, 0.5)
    counts = np.append(table.weights, SMOOTHING)
    pull = RIDGE * np.diag([0.0, *[1.0] * (len(WEIGHTS) - 1)])
    weights = np.zeros(len(WEIGHTS))
    for _ in range(NEWTON_STEPS):
        predicted = sigmoid(columns @ weights)
        gradient = columns.T @ (counts * (predicted - relevant)) + pull @ weights
        variance = counts * predicted * (1 - predicted)
        curvature = (columns * variance[:, None]).T @ columns + pull
        step = np.linalg.solve(curvature, gradient)
        weights -= step * min(1.0, 2 / max(np.abs(step).max(), 1e-12))
        if np.abs(step).max() < 1e-9:
            break
    weights[1] = min(weights[1], 0.0)  # farther is never more probable
    return Model(*(tuple(part.tolist()) for part in (mean, scale, weights)))
