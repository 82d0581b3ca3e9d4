"""Probabilities of results, learned from held-out pairs that ask for one another.

At each distance we count how many of those found share a label with the one who
asked; the shares are then made to fall with the distance.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes, binarize, hamming_distances, weighted_distances
from fdch.evaluation.calibration import (
    DECIMALS,
    STEPS,
    Calibration,
    Curve,
    Share,
    places_of,
)

FEWEST = 200  # comparisons that a point of a curve rests on
# a user sees a few results of each query: queries amid a crowd of equal codes must
# not drown the others
MAX_PER_DISTANCE = 3
# all ask for all, and more of them would hardly move a curve
MAX_PAIRS = 5000
ROWS_AT_A_TIME = 512


def fit_calibration(
    outputs: Mapping[str, NDArray[Any]], labels: NDArray[Any]
) -> Calibration | None:
    """Let held-out pairs ask for one another, each without itself.

    Of very many pairs some are drawn, whose number `Calibration.pairs` then tells.

    Args:
        outputs: Real outputs of the same pairs in the same rows, (pairs, bits), by
            what they were made of: "image", "text" and, where there are unified
            codes, "pair".
        labels: 0/1, (pairs, classes).

    Returns:
        None where there are fewer than two pairs, or none that share a label.
    """
    if len(labels) > MAX_PAIRS:
        rows = _draw_rows(len(labels))
        labels = labels[rows]
        outputs = {kind: values[rows] for kind, values in outputs.items()}
    known = labels.astype(np.float32)
    if not (np.count_nonzero(known, axis=0) > 1).any():
        return None
    codes = {kind: binarize(values) for kind, values in outputs.items()}
    curves = {
        asking: {
            kind: _fit_curve(values, codes[asking], codes[kind], known)
            for kind in codes
        }
        for asking, values in outputs.items()
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


def _draw_rows(pairs: int) -> NDArray[np.int64]:
    """Draw some of the pairs, the same ones at every call."""
    drawn = np.random.default_rng(0).choice(pairs, MAX_PAIRS, replace=False)
    return np.sort(drawn)


def _fit_curve(
    outputs: NDArray[Any], asking: Codes, asked: Codes, labels: NDArray[np.float32]
) -> Curve:
    bits = asking.bits
    plain, weighted = np.zeros((2, bits + 1)), np.zeros((2, STEPS * bits + 1))
    for start in range(0, len(asking), ROWS_AT_A_TIME):
        rows = slice(start, start + ROWS_AT_A_TIME)
        relevant = labels[rows] @ labels.T > 0
        others = np.ones_like(relevant)
        others[np.arange(len(others)), np.arange(len(others)) + start] = False
        relevant &= others
        for counts, distances, most in (
            (plain, hamming_distances(asking[rows], asked), MAX_PER_DISTANCE),
            (weighted, weighted_distances(outputs[rows], asked), 1),
        ):
            places = places_of(distances, bits, counts is weighted)
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
        poor = counts[high] - counts[low] < FEWEST
        if not poor.any():
            break
        low = np.where(poor, np.maximum(low - 1, 0), low)
        high = np.where(poor, np.minimum(high + 1, size), high)
    return hits[high] - hits[low], counts[high] - counts[low]
