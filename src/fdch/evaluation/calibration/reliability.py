"""Whether stated probabilities hold: the mean stated beside the share relevant."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fdch.codes import binarize, hamming_distances
from fdch.evaluation.calibration.fitting import EncodedSides
from fdch.evaluation.calibration.model import Calibration, QueryFacts
from fdch.evaluation.ordering import Coded, list_items

BINS = 10
TOP = 10
DECIMALS = 6
ROWS_AT_A_TIME = 512


@dataclass(frozen=True)
class Reliability:
    """How probable the first results of many queries were said to be, and were."""

    stated: float  # mean probability
    true: float  # share of relevant ones
    error: float  # expected calibration error over ten bins of equal width
    # of each bin with results: mean probability, share of relevant ones, results
    curve: tuple[tuple[float, float, int], ...]

    @property
    def gap(self) -> float:
        """Stated minus true."""
        return self.stated - self.true

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        columns = zip(*self.curve, strict=True)
        names = ("stated", "true", "results")
        return {
            "stated": self.stated,
            "true": self.true,
            "gap": round(self.gap, DECIMALS),
            "calibration_error": self.error,
            "curve": {
                name: list(each) for name, each in zip(names, columns, strict=True)
            },
        }


def measure_reliability(stated: ArrayLike, relevant: ArrayLike) -> Reliability:
    """Compare probabilities with what was relevant.

    >>> measure_reliability([0.9, 0.9, 0.1], [1, 1, 0]).error
    0.1
    """
    said = np.ravel(np.asarray(stated, np.float64))
    true = np.ravel(np.asarray(relevant, np.float64))
    bins = np.minimum((said * BINS).astype(np.int64), BINS - 1)
    counts, sums, hits = (
        np.bincount(bins, weights, minlength=BINS) for weights in (None, said, true)
    )
    held = np.flatnonzero(counts)
    curve = zip(
        (sums[held] / counts[held]).round(DECIMALS).tolist(),
        (hits[held] / counts[held]).round(DECIMALS).tolist(),
        counts[held].tolist(),
        strict=True,
    )
    return Reliability(
        round(float(said.mean()), DECIMALS),
        round(float(true.mean()), DECIMALS),
        round(float(np.abs(sums - hits).sum() / said.size), DECIMALS),
        tuple(curve),
    )


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
    stated: list[float | None] = []
    relevant: list[bool] = []
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
            stated += calibration.probabilities(
                facts, named, found[first], len(labels), nearest=float(found.min())
            )
            relevant += answers[first].tolist()
    if not stated or None in stated:
        return None
    return measure_reliability(np.array(stated, np.float64), relevant)
