"""How probable it is that a result is relevant, by its distance from the query.

One curve for each kind of query and each kind of code found. They are learned from
held-out pairs that are queries for one another: at each distance we count how many of
those found share a label with the query; the shares are made to fall with distance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fdch.codes import Codes, binarize, hamming_distances, weighted_distances
from fdch.errors import DataError
from fdch.evaluation.fields import Fields

SIDES = ("image", "text", "pair")
STEPS = 4  # of a weighted distance, to the bit
DECIMALS = 6
MIN_COMPARISONS = 200  # comparisons that a point of a curve rests on
# a user sees a few results of each query: queries amid a crowd of equal codes must
# not drown the others
MAX_PER_DISTANCE = 3
# all are compared with all; more of them would hardly move a curve
MAX_PAIRS = 5000
ROWS_AT_A_TIME = 512

Share = NDArray[np.float64]


class Curve(NamedTuple):
    """Probabilities that never rise with the distance."""

    plain: Share  # at each Hamming distance, (bits + 1,)
    weighted: Share  # at each step of a weighted distance, (STEPS * bits + 1,)


@dataclass(frozen=True, eq=False)
class Calibration:
    """What a distance means, for codes of one model."""

    bits: int
    pairs: int  # held-out pairs that it was fitted on
    # by what the query's code, then by what the code found was made of
    curves: Mapping[str, Mapping[str, Curve]]

    def probabilities(
        self,
        query_kind: str,
        kinds: Sequence[str],
        distances: ArrayLike,
        weighted: bool = False,
    ) -> list[float | None]:
        """Give the probability of each result; None where nothing is known.

        `query_kind` and `kinds` say what the codes were made of.
        """
        curves = self.curves.get(query_kind, {})
        places = _places(np.asarray(distances), self.bits, weighted).tolist()
        return [
            float(curves[kind][weighted][place]) if kind in curves else None
            for kind, place in zip(kinds, places, strict=True)
        ]

    def farthest(self, query_kind: str, least: float) -> int:
        """Give the largest distance at which any result may be so probable, or -1."""
        curves = self.curves.get(query_kind, {}).values()
        return max((int((c.plain >= least).sum()) - 1 for c in curves), default=-1)

    def surest(self, query_kind: str) -> float:
        """Give the largest probability that any result may have."""
        curves = self.curves.get(query_kind, {}).values()
        return max((float(max(c.plain[0], c.weighted[0])) for c in curves), default=0.0)

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        curves = {
            query_kind: {
                kind: {name: part.tolist() for name, part in curve._asdict().items()}
                for kind, curve in found.items()
            }
            for query_kind, found in self.curves.items()
        }
        return {"bits": self.bits, "pairs": self.pairs, "curves": curves}

    @classmethod
    def from_json(cls, document: object) -> "Calibration":
        """Read what `to_json` wrote; wrong values are named."""
        given = Fields(document, "calibration")
        bits = given.whole("bits", 1)
        curves = {
            query_kind: {
                kind: _read_curve(each, bits) for kind, each in inner.members()
            }
            for query_kind, inner in given.inner("curves").members()
        }
        names = {
            name
            for query_kind, inner in curves.items()
            for name in (query_kind, *inner)
        }
        if strange := names - set(SIDES):
            raise DataError(
                f"calibration.curves has '{min(strange)}'; known are "
                f"{', '.join(SIDES)}."
            )
        return cls(bits, given.whole("pairs"), curves)


def _read_curve(given: Fields, bits: int) -> Curve:
    curve = Curve(*(np.array(given.numbers(name)) for name in Curve._fields))
    for name, size in (("plain", bits + 1), ("weighted", STEPS * bits + 1)):
        values = getattr(curve, name)
        if len(values) != size or np.any(np.diff(values) > 0):
            raise DataError(
                f"{given.place}.{name} must be {size} numbers that never rise."
            )
    return curve


def calibration_error(probabilities: ArrayLike, relevant: ArrayLike) -> float:
    """Give the expected calibration error over ten bins of equal width.

    >>> calibration_error([0.9, 0.9, 0.1], [1, 1, 0])
    0.1
    """
    said, true = np.asarray(probabilities, np.float64), np.asarray(relevant, np.float64)
    bins = np.minimum((said * 10).astype(np.int64), 9)
    gaps = np.bincount(bins, said - true, minlength=10)
    return round(float(np.abs(gaps).sum() / max(said.size, 1)), DECIMALS)


def _places(distances: NDArray[Any], bits: int, weighted: bool) -> NDArray[np.int64]:
    """Give the points of a curve at which distances lie."""
    if not weighted:
        return distances.astype(np.int64)
    steps = np.rint(distances * STEPS).astype(np.int64)
    return np.clip(steps, 0, STEPS * bits)


def fit_calibration(
    outputs: Mapping[str, NDArray[Any]], labels: NDArray[Any]
) -> Calibration | None:
    """Search held-out pairs with one another, each without itself.

    Of very many pairs some are drawn; `Calibration.pairs` says how many.

    Args:
        outputs: Real outputs of the same pairs in the same rows, (pairs, bits), by
            what they were made of: "image", "text" and, where there are unified
            codes, "pair".
        labels: 0/1, (pairs, classes).

    Returns:
        None where there are fewer than two pairs, or none that share a label.
    """
    if len(labels) > MAX_PAIRS:
        random = np.random.default_rng(0)
        rows = np.sort(random.choice(len(labels), MAX_PAIRS, replace=False))
        labels = labels[rows]
        outputs = {kind: values[rows] for kind, values in outputs.items()}
    known = labels.astype(np.float32)
    if not (np.count_nonzero(known, axis=0) > 1).any():
        return None
    codes = {kind: binarize(values) for kind, values in outputs.items()}
    curves = {
        query_kind: {
            kind: _fit_curve(values, codes[query_kind], codes[kind], known)
            for kind in codes
        }
        for query_kind, values in outputs.items()
    }
    return Calibration(next(iter(codes.values())).bits, len(known), curves)


def falling(relevant: NDArray[Any], total: NDArray[Any]) -> Share:
    """Turn counts by distance into shares that never rise with the distance.

    A distance with few counts borrows those of its neighbours, both ways, until
    there are enough. What still rises is pooled (pool adjacent violators).

    >>> falling(np.array([900, 500, 600, 0]), np.array([1000] * 4)).round(2).tolist()
    [0.9, 0.55, 0.55, 0.0]
    """
    hits, counts = _borrow(relevant, total)
    pools: list[list[float]] = []
    # half a hit and half a miss more: never quite 0 or 1
    for hit, count in zip((hits + 0.5).tolist(), (counts + 1.0).tolist(), strict=True):
        pools.append([hit, count, 1])
        while len(pools) > 1 and pools[-1][0] * pools[-2][1] > (
            pools[-2][0] * pools[-1][1]
        ):
            last = pools.pop()
            pools[-1] = [a + b for a, b in zip(pools[-1], last, strict=True)]
    shares = [hit / count for hit, count, _ in pools]
    return np.round(np.repeat(shares, [int(width) for *_, width in pools]), DECIMALS)


def _fit_curve(
    outputs: NDArray[Any], queries: Codes, gallery: Codes, labels: NDArray[np.float32]
) -> Curve:
    bits = queries.bits
    plain, weighted = np.zeros((2, bits + 1)), np.zeros((2, STEPS * bits + 1))
    for start in range(0, len(queries), ROWS_AT_A_TIME):
        rows = slice(start, start + ROWS_AT_A_TIME)
        relevant = labels[rows] @ labels.T > 0
        others = np.ones_like(relevant)
        others[np.arange(len(others)), np.arange(len(others)) + start] = False
        relevant &= others
        for counts, distances, most in (
            (plain, hamming_distances(queries[rows], gallery), MAX_PER_DISTANCE),
            (weighted, weighted_distances(outputs[rows], gallery), 1),
        ):
            places = _places(distances, bits, counts is weighted)
            counts += _counts(places, relevant, others, counts.shape[1], most)
    return Curve(falling(*plain), falling(*weighted))


def _counts(
    places: NDArray[np.int64],
    relevant: NDArray[np.bool_],
    others: NDArray[np.bool_],
    size: int,
    most: int,
) -> Share:
    """Count the relevant and all by distance, no query for more than `most` there."""
    shape = len(places), size
    flat = places + size * np.arange(len(places))[:, None]
    total, hits = (
        np.bincount(flat[chosen], minlength=shape[0] * size).reshape(shape)
        for chosen in (others, relevant)
    )
    weights = np.minimum(total, most) / np.maximum(total, 1)
    return np.stack([(hits * weights).sum(axis=0), (total * weights).sum(axis=0)])


def _borrow(relevant: NDArray[Any], total: NDArray[Any]) -> tuple[Share, Share]:
    """Widen each distance's window by one on both sides until it holds enough."""
    size = len(total)
    hits = np.concatenate([[0], np.cumsum(relevant)])
    counts = np.concatenate([[0], np.cumsum(total)])
    low, high = np.arange(size), np.arange(1, size + 1)
    for _ in range(size):
        poor = counts[high] - counts[low] < MIN_COMPARISONS
        if not poor.any():
            break
        low = np.where(poor, np.maximum(low - 1, 0), low)
        high = np.where(poor, np.minimum(high + 1, size), high)
    return hits[high] - hits[low], counts[high] - counts[low]
