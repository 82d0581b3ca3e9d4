"""How far a mean over queries may move: bootstrap intervals and a sign-flip test.

Both draw at random from a seed, some rows at a time, so that memory stays bounded
and equal calls give equal answers.
"""

from collections.abc import Hashable, Iterator, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DataError

CONFIDENCE = 0.95
RESAMPLES = 2000
FLIPS = 10_000
DRAWS_AT_A_TIME = 2**20

Floats = NDArray[np.float64]
Name = TypeVar("Name", bound=Hashable)


def bootstrap_intervals(
    values: NDArray[np.floating],
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Floats:
    """Return an interval for the mean of each column, by the percentile bootstrap.

    Every resample draws as many rows as there are, with replacement, the same rows
    for all columns.

    Args:
        values: A row to each query, a column to each measure, all finite.
        confidence: Share of the resampled means inside the interval.
        resamples: How often the rows are drawn.
        seed: Of the draws.

    Returns:
        The lower and the upper end for each column, (columns, 2).

    >>> scores = np.random.default_rng(0).random((400, 1))
    >>> bootstrap_intervals(scores).round(2).tolist()
    [[0.5, 0.56]]
    """
    _require_rows(values)
    random = np.random.default_rng(seed)
    number = len(values)
    means = [
        _resample_weights(random, rows, number) @ values / number
        for rows in _portions(resamples, number)
    ]
    outside = (1 - confidence) / 2
    ends = np.quantile(np.concatenate(means), [outside, 1 - outside], axis=0)
    return ends.T


def mean_intervals(
    scores: Mapping[Name, NDArray[np.floating]],
) -> dict[Name, tuple[float, float]]:
    """Return the bootstrap interval of the mean of each of several lists of scores.

    Lists of equal length are drawn together. An empty list has no interval.

    >>> mean_intervals({"map": np.array([0.5, 0.5])})
    {'map': (0.5, 0.5)}
    """
    alike: dict[int, list[Name]] = {}
    for name, values in scores.items():
        alike.setdefault(len(values), []).append(name)
    found: dict[Name, tuple[float, float]] = {}
    for number, names in alike.items():
        if number:
            columns = np.stack([scores[name] for name in names], axis=1)
            ends = bootstrap_intervals(columns).tolist()
            found |= {
                name: (low, high) for name, (low, high) in zip(names, ends, strict=True)
            }
    return {name: found[name] for name in scores if name in found}


def sign_flip_p(
    differences: NDArray[np.floating], *, flips: int = FLIPS, seed: int = 0
) -> float:
    """Return the p-value of a mean difference by turning signs at random.

    If two methods were equally good, each query's difference could as well have the
    other sign. The p-value is the share of random signs whose mean is at least as
    far from 0 as the observed one, which counts as one of them (two-sided).

    >>> sign_flip_p(np.full(20, 0.1)) < 0.001
    True
    >>> sign_flip_p(np.zeros(20))
    1.0
    """
    _require_rows(differences)
    random = np.random.default_rng(seed)
    number = len(differences)
    scale = max(float(np.abs(differences).max()), np.finfo(float).tiny)
    relative = differences.astype(np.float64) / scale
    # a hair less, so that sums in another order still count as equal
    observed = abs(float(relative.sum())) - 1e-9 * number
    reached = 0
    for rows in _portions(flips, number):
        positive = random.integers(2, size=(rows, number), dtype=np.int8)
        sums = 2 * (positive @ relative) - relative.sum()
        reached += int((np.abs(sums) >= observed).sum())
    return (1 + reached) / (1 + flips)


def _resample_weights(random: np.random.Generator, rows: int, number: int) -> Floats:
    """Count how often each of some items is drawn, (rows, items)."""
    drawn = random.integers(number, size=(rows, number))
    drawn += np.arange(rows)[:, None] * number
    counts = np.bincount(drawn.ravel(), minlength=rows * number)
    return counts.reshape(rows, number).astype(np.float64)


def _portions(whole: int, number: int) -> Iterator[int]:
    """Divide the rows to draw so that a portion of them fits into memory."""
    at_a_time = max(1, DRAWS_AT_A_TIME // number)
    for start in range(0, whole, at_a_time):
        yield min(at_a_time, whole - start)


def _require_rows(values: NDArray[np.floating]) -> None:
    if len(values) == 0 or not np.isfinite(values).all():
        raise DataError(
            "resampling needs one finite score or more; leave out queries without one."
        )
