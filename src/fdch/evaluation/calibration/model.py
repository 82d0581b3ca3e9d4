"""How probable it is that a result is relevant: that it shares a label with the query.

Each kind of query, of item and of score has a small logistic model. It takes the
result's score and facts of the query: how large its outputs are, how many of its
words are known, how near its nearest item is and how many items are searched.
`fitting.py` fits the models.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fdch.codes import binarize, hamming_distances, weighted_distances
from fdch.errors import DataError, count_noun
from fdch.evaluation.documents import Positive, from_plain, to_plain

Values = NDArray[np.float64]
Distances = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]

SIDES = ("image", "text", "pair")
WEIGHTED, FUSED = "weighted", "fused"
# what results are ordered by, lower is nearer: from the real outputs of queries and
# of items to distances, (queries, items)
SCORES: Mapping[str, Distances] = {
    "plain": lambda queries, items: hamming_distances(
        binarize(queries), binarize(items)
    ),
    WEIGHTED: lambda queries, items: weighted_distances(queries, binarize(items)),
}
FACTS = ("score", "confidence", "words", "nearest", "size")
WEIGHTS = ("intercept", *FACTS, "score x confidence", "trained")
DECIMALS = 6
MAX_TRAINED = 0.5  # share of results that are taken to be training pairs
FARTHEST = 3.0  # standard deviations from the mean, beyond which a fact is cut


@dataclass(frozen=True)
class QueryFacts:
    """Facts about a query that do not depend on its results."""

    kind: str  # what its code was made of
    outputs: NDArray[Any] | None = None  # (bits,); None where only its code is known
    words: int | None = None  # known words of a text

    def values(self) -> list[float]:
        """Return confidence and words as the models take them, NaN where unknown."""
        confidence = words = np.nan
        if self.outputs is not None:
            confidence = float(confidences(np.atleast_2d(self.outputs))[0])
        if self.words is not None:
            words = float(np.log1p(self.words))
        return [confidence, words]


@dataclass(frozen=True)
class Model:
    """Means and standard deviations of FACTS, and a weight for each of WEIGHTS."""

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        sizes = len(self.mean), len(self.scale), len(self.weights)
        if sizes != (len(FACTS), len(FACTS), len(WEIGHTS)):
            raise DataError(
                f"a model of probabilities must have {len(FACTS)} means and scales and "
                f"{len(WEIGHTS)} weights; got {sizes[0]}, {sizes[1]} and {sizes[2]}."
            )
        if min(self.scale) <= 0 or self.weights[1] > 0:
            raise DataError(
                "a model of probabilities must have positive scales and no positive "
                "weight for the score."
            )

    def predict(self, facts: Values, trained: float) -> Values:
        """Return probabilities of one query's results, which fall with the score."""
        columns = stack_columns(facts, trained, self.mean, self.scale)
        weights = np.array(self.weights)
        slope = weights[1] + weights[-2] * columns[0, 2]
        # no query makes the score mean less than half of what it does on average
        weights[1], weights[-2] = min(slope, weights[1] / 2), 0.0
        return sigmoid(columns @ weights)


def stack_columns(
    facts: Values, trained: ArrayLike, mean: ArrayLike, scale: ArrayLike
) -> Values:
    """Return what the weights multiply, for rows of FACTS; unknown ones are 0."""
    known = np.nan_to_num((facts - np.asarray(mean)) / np.asarray(scale))
    known[:, 1:] = np.clip(known[:, 1:], -FARTHEST, FARTHEST)
    ones, share = np.ones(len(facts)), np.broadcast_to(trained, len(facts))
    return np.column_stack([ones, known, known[:, 0] * known[:, 1], share])


@dataclass(frozen=True, eq=False)
class Calibration:
    """The probabilities of scores, for codes of one model."""

    bits: Positive
    pairs: int  # held-out pairs that it was fitted on
    trained: int  # pairs that the codes were trained on
    # by what the query's code and what the item's was made of, and the score's name
    models: Mapping[str, Mapping[str, Mapping[str, Model]]]

    def __repr__(self) -> str:
        bits, pairs = (
            count_noun(self.bits, "bit"),
            count_noun(self.pairs, "held-out pair"),
        )
        return f"Calibration({bits}, {pairs})"

    def __post_init__(self) -> None:
        kinds = {
            *self.models,
            *(kind for each in self.models.values() for kind in each),
        }
        if strange := kinds - {*SIDES}:
            raise DataError(
                f"calibration.models has '{min(strange)}'; known are "
                f"{', '.join(SIDES)}."
            )

    def probabilities(
        self,
        query: QueryFacts,
        kinds: Sequence[str],
        scores: ArrayLike,
        items: int,
        score: str = "plain",
        nearest: float | None = None,
    ) -> list[float | None]:
        """Return the probability of each result of a query; None where none is known.

        Args:
            query: What is known of the query.
            kinds: What the codes of the results were made of.
            scores: Their distances.
            items: How many items were searched.
            score: Which distances these are, of SCORES.
            nearest: That of the nearest item; None where it is among these.
        """
        measured = np.asarray(scores, np.float64)
        found: list[float | None] = [None] * len(kinds)
        if not found:
            return found
        facts = np.empty((len(found), len(FACTS)))
        facts[:, 0] = measured
        least = measured.min() if nearest is None else nearest
        facts[:, 1:] = *query.values(), least, np.log(max(items, 1))
        # trained items are nearer than others: results hold more of them than the
        # gallery does; one without any must not be overrated much
        share = min(MAX_TRAINED, math.sqrt(self.trained / max(items, 1)))
        for kind, models in self.models.get(query.kind, {}).items():
            places = [place for place, each in enumerate(kinds) if each == kind]
            if places and score in models:
                said = models[score].predict(facts[places], share)
                for place, value in zip(places, said.tolist(), strict=True):
                    found[place] = round(value, DECIMALS)
        return found

    def knows(self, query_kind: str, score: str) -> bool:
        """Return whether there are models of a score for queries of a kind."""
        models = self.models.get(query_kind, {}).values()
        return any(score in each for each in models)

    def may_reach(
        self,
        query: QueryFacts,
        least: float,
        scores: ArrayLike,
        items: int,
        score: str = "plain",
    ) -> bool:
        """Return whether a result beyond the farthest may reach that probability."""
        ends = np.min(scores), np.max(scores)
        said = [
            self.probabilities(query, [kind] * 2, ends, items, score)[1]
            for kind in SIDES
        ]
        return any(each is not None and each >= least for each in said)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return to_plain(self)

    @classmethod
    def from_json(cls, document: object) -> "Calibration":
        """Read what `to_json` wrote; wrong values are named."""
        return from_plain(cls, document, "calibration")


def confidences(outputs: NDArray[Any]) -> Values:
    """Return how large the outputs of each query are, as a logarithm, (queries,).

    >>> confidences(np.array([[1.0, -1.0]])).tolist()
    [0.0]
    """
    sizes = np.abs(outputs).mean(axis=1, dtype=np.float64)
    return np.asarray(np.log(np.maximum(sizes, 1e-6)))


def sigmoid(values: Values) -> Values:
    """Turn log odds into probabilities; large ones are cut, so that none is 0 or 1."""
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -13, 13))))
