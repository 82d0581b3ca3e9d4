"""How probable it is that a result is relevant: that it shares a label with the query.

Each kind of query, of item and of score has a small logistic model. It takes the
result's score and facts of the query: how large its outputs are, how many of its
words are known, how near its nearest item is and how many items are searched.
`fitting.py` fits the models.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fdch.codes import binarize, hamming_distances, weighted_distances
from fdch.errors import DataError
from fdch.evaluation.fields import Fields

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
    """What is known of a query before its results are."""

    kind: str  # what its code was made of
    outputs: NDArray[Any] | None = None  # (bits,); None where only its code is known
    words: int | None = None  # known words of a text

    def values(self) -> list[float]:
        """Give confidence and words as the models take them, NaN where unknown."""
        confidence = words = np.nan
        if self.outputs is not None:
            confidence = float(confidences(np.atleast_2d(self.outputs))[0])
        if self.words is not None:
            words = float(np.log1p(self.words))
        return [confidence, words]


class Model(NamedTuple):
    """Means and standard deviations of FACTS, and a weight for each of WEIGHTS."""

    mean: Values
    scale: Values
    weights: Values

    def columns(self, facts: Values, trained: ArrayLike) -> Values:
        """Give what the weights multiply, for rows of FACTS; unknown ones are 0."""
        known = np.nan_to_num((facts - self.mean) / self.scale)
        known[:, 1:] = np.clip(known[:, 1:], -FARTHEST, FARTHEST)
        ones, share = np.ones(len(facts)), np.broadcast_to(trained, len(facts))
        return np.column_stack([ones, known, known[:, 0] * known[:, 1], share])

    def predict(self, facts: Values, trained: float) -> Values:
        """Give the probabilities of one query's results, which fall with the score."""
        columns = self.columns(facts, trained)
        weights = self.weights.copy()
        slope = weights[1] + weights[-2] * columns[0, 2]
        # no query makes the score mean less than half of what it does on average
        weights[1], weights[-2] = min(slope, weights[1] / 2), 0.0
        return sigmoid(columns @ weights)


@dataclass(frozen=True, eq=False)
class Calibration:
    """What a score means, for codes of one model."""

    bits: int
    pairs: int  # held-out pairs that it was fitted on
    trained: int  # pairs that the codes were trained on
    # by what the query's code and what the item's was made of, and the score's name
    models: Mapping[str, Mapping[str, Mapping[str, Model]]]

    def probabilities(
        self,
        query: QueryFacts,
        kinds: Sequence[str],
        scores: ArrayLike,
        items: int,
        score: str = "plain",
        nearest: float | None = None,
    ) -> list[float | None]:
        """Give the probability of each result of a query; None where none is known.

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
        """Tell whether there are models of a score for queries of a kind."""
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
        """Give plain values."""
        models = {
            query_kind: {
                kind: {
                    score: {
                        name: part.tolist() for name, part in model._asdict().items()
                    }
                    for score, model in scores.items()
                }
                for kind, scores in found.items()
            }
            for query_kind, found in self.models.items()
        }
        return {**vars(self), "models": models}

    @classmethod
    def from_json(cls, document: object) -> "Calibration":
        """Read what `to_json` wrote; wrong values are named."""
        given = Fields(document, "calibration")
        models = {
            query_kind: {
                kind: {score: _read_model(each) for score, each in scores.members()}
                for kind, scores in inner.members()
            }
            for query_kind, inner in given.inner("models").members()
        }
        names = {*models, *(kind for each in models.values() for kind in each)}
        if strange := names - {*SIDES}:
            raise DataError(
                f"calibration.models has '{min(strange)}'; known are "
                f"{', '.join(SIDES)}."
            )
        pairs, trained = given.whole("pairs"), given.whole("trained")
        return cls(given.whole("bits", 1), pairs, trained, models)


def _read_model(given: Fields) -> Model:
    sizes = (len(FACTS), len(FACTS), len(WEIGHTS))
    parts = []
    for name, size in zip(Model._fields, sizes, strict=True):
        parts.append(np.array(given.numbers(name, -1e9, 1e9)))
        if len(parts[-1]) != size:
            raise DataError(f"{given.place}.{name} must be {size} numbers.")
    model = Model(*parts)
    if (model.scale <= 0).any() or model.weights[1] > 0:
        raise DataError(
            f"{given.place}: scale must be positive, and the weight of the score 0 or "
            "less."
        )
    return model


def confidences(outputs: NDArray[Any]) -> Values:
    """Give how large the outputs of each query are, as a logarithm, (queries,).

    >>> confidences(np.array([[1.0, -1.0]])).tolist()
    [0.0]
    """
    sizes = np.abs(outputs).mean(axis=1, dtype=np.float64)
    return np.asarray(np.log(np.maximum(sizes, 1e-6)))


def sigmoid(values: Values) -> Values:
    """Turn log odds into probabilities; large ones are cut, so that none is 0 or 1."""
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -13, 13))))
