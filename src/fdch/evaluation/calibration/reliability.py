"""Checks of stated probabilities: their mean beside the share of relevant results."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fdch.codes import binarize, hamming_distances
from fdch.evaluation.calibration.fitting import EncodedSides
from fdch.evaluation.calibration.model import Calibration, QueryFacts, Values
from fdch.evaluation.ordering import Coded, list_items

BINS = 10
FIFTHS = 5
TOP = 10
DECIMALS = 6
ROWS_AT_A_TIME = 512
Curve = tuple[tuple[float, float, int], ...]


@dataclass(frozen=True)
class Reliability:
    """Stated and true probabilities of the first results of many queries."""

    stated: float  # mean probability
    true: float  # share of relevant ones
    error: float  # expected calibration error over ten bins of equal width
    # of each bin with results: mean probability, share of relevant ones, results
    curve: Curve
    # of each fifth of the queries, by the mean probability of their results, the
    # lowest first: that mean, share of relevant ones, queries
    lists: Curve

    @property
    def gap(self) -> float:
        """Stated minus true."""
        return self.stated - self.true

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "stated": self.stated,
            "true": self.true,
            "gap": round(self.gap, DECIMALS),
            "calibration_error": self.error,
            "curve": _name_columns(self.curve, "results"),
            "lists": _name_columns(self.lists, "queries"),
        }


def measure_reliability(stated: ArrayLike, relevant: ArrayLike) -> Reliability:
    """Compare probabilities with what was relevant, both (queries, results).

    >>> found = measure_reliability([[0.9, 0.9], [0.7, 0.1]], [[1, 1], [1, 0]])
    >>> found.error, found.lists
    (0.15, ((0.4, 0.5, 1), (0.9, 1.0, 1)))
    """
    said, true = np.asarray(stated, np.float64), np.asarray(relevant, np.float64)
    bins = np.minimum((said * BINS).astype(np.int64), BINS - 1)
    curve = _draw_curve(said.ravel(), true.ravel(), bins.ravel())
    means, fifths = said.mean(axis=1), np.empty(len(said), np.int64)
    fifths[np.argsort(means, kind="stable")] = (
        np.arange(len(said)) * FIFTHS // len(said)
    )
    return Reliability(
        round(float(said.mean()), DECIMALS),
        round(float(true.mean()), DECIMALS),
        round(sum(abs(x - y) * count for x, y, count in curve) / said.size, DECIMALS),
        curve,
        _draw_curve(means, true.mean(axis=1), fifths),
    )


def _draw_curve(said: Values, true: Values, groups: NDArray[np.int64]) -> Curve:
    """Return the mean of both and the size of each group that is not empty."""
    counts, sums, hits = (np.bincount(groups, each) for each in (None, said, true))
    held = np.flatnonzero(counts)
    return tuple(
        zip(
            (sums[held] / counts[held]).round(DECIMALS).tolist(),
            (hits[held] / counts[held]).round(DECIMALS).tolist(),
            counts[held].tolist(),
            strict=True,
        )
    )


def _name_columns(curve: Curve, counted: str) -> dict[str, list[Any]]:
    names = ("stated", "true", counted)
    columns = zip(*curve, strict=True)
    return {name: list(each) for name, each in zip(names, columns, strict=True)}


def check_probabilities(
    calibration: Calibration,
    queries: EncodedSides,
    query_kind: str,
    gallery: Coded,
    kinds: Sequence[str],
) -> Reliability | None:
    """Search a gallery and compare the probabilities of the first ten with the truth.

    Args:
        calibration: What states the probabilities.
        queries: Pairs that are not in the gallery.
        query_kind: Which of their sides is used.
        gallery: Codes, labels and vectors of the items, ties in their order.
        kinds: What the codes of the items were made of.

    Returns:
        None where a result has no probability.
    """
    stated: list[list[float | None]] = []
    relevant: list[list[bool]] = []
    labels = np.asarray(gallery.labels, np.float32)
    outputs = queries.outputs[query_kind]
    for start in range(0, len(queries), ROWS_AT_A_TIME):
        rows = slice(start, start + ROWS_AT_A_TIME)
        distances = hamming_distances(binarize(outputs[rows]), gallery.codes)
        listed: NDArray[Any] = distances
        if query_kind in queries.orders:
            order = queries.orders[query_kind][rows]
            listed = list_items(order, distances, gallery.codes, gallery.vectors)
        shared = queries.labels[rows].astype(np.float32) @ labels.T > 0
        for row, (found, answers) in enumerate(zip(distances, shared, strict=True)):
            first = np.argsort(listed[row], kind="stable")[:TOP]
            words = int(queries.words[start + row]) if query_kind == "text" else None
            facts = QueryFacts(query_kind, outputs[start + row], words)
            named = [kinds[place] for place in first]
            said = calibration.probabilities(
                facts, named, found[first], len(labels), nearest=float(found.min())
            )
            stated.append(said)
            relevant.append(answers[first].tolist())
    if not stated or any(None in said for said in stated):
        return None
    return measure_reliability(np.array(stated, np.float64), relevant)
