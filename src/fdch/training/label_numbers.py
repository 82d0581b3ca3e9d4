"""Label probabilities as a few small numbers; their products estimate shared labels.

Two items with label probabilities p and q share a label with probability
1 - Π (1 - p q). Its logarithm is close to an inner product of -log(1 - s p) and
-log(1 - s q) over the labels, which is projected to a few dimensions and rounded.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fdch.training.ordering import Numbers, Vectors, to_numbers

CERTAINTY = 0.9  # s, so that a certain label does not outweigh all others
HALF_STEP = {1: 0.8, 2: 0.5, 4: 0.25, 8: 0.0157}  # of a deviation
MAX_ITEMS = 4096  # that the projection is fitted on
Floats = NDArray[np.float64]


class LabelNumbers(NamedTuple):
    """A fitted projection of label probabilities.

    Args:
        mean: Of the items that it was fitted on, (classes,).
        axes: Orthonormal, (classes, count).
        half_step: Half of what numbers are rounded to, (count,).
        bits: Of each number.
    """

    mean: Floats
    axes: Floats
    half_step: Floats
    bits: int

    @classmethod
    def fit(cls, log_odds: NDArray[Any], layout: Numbers) -> Self:
        """Find the axes along which training items vary most.

        Args:
            log_odds: Of the labels of items, (items, classes).
            layout: How many numbers of how many bits there are to be.
        """
        some = np.linspace(0, len(log_odds) - 1, min(len(log_odds), MAX_ITEMS))
        values = spread_odds(log_odds[some.astype(np.intp)])
        mean = values.mean(axis=0)
        centred = values - mean
        _, vectors = np.linalg.eigh(centred.T @ centred)
        axes = vectors[:, ::-1][:, : layout.count]
        # no label is left over where there are more numbers than labels
        axes = np.pad(axes, ((0, 0), (0, layout.count - axes.shape[1])))
        deviation = (centred @ axes).std(axis=0)
        half_step = HALF_STEP[layout.bits] * np.where(deviation > 0, deviation, 1.0)
        return cls(mean, axes, half_step, layout.bits)

    def numbers(self, log_odds: NDArray[Any]) -> Vectors:
        """Return the numbers of items, (items, count)."""
        projected = (spread_odds(log_odds) - self.mean) @ self.axes
        return to_numbers(projected, self.half_step, self.bits)

    def weights(self, log_odds: NDArray[Any]) -> Floats:
        """Return a query's weights of the numbers, (queries, count)."""
        return (spread_odds(log_odds) @ self.axes) * self.half_step

    def weights_of(self, numbers: NDArray[Any]) -> Floats:
        """Return the weights of a query of which only the numbers are known."""
        return (numbers * self.half_step + self.mean @ self.axes) * self.half_step

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as plain arrays."""
        named = zip(self._fields, self, strict=True)
        return {f"label_numbers.{name}": np.asarray(value) for name, value in named}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Read what `to_arrays` gave."""
        mean, axes, half_step, bits = (
            arrays[f"label_numbers.{name}"] for name in cls._fields
        )
        return cls(mean, axes, half_step, int(bits))


def spread_odds(log_odds: NDArray[Any]) -> Floats:
    """Return -log(1 - s p) of probabilities p by their log odds.

    >>> spread_odds(np.array([0.0])).round(3).tolist()  # -log(1 - 0.9 / 2)
    [0.598]
    """
    return -np.log1p(-CERTAINTY / (1 + np.exp(-np.asarray(log_odds, np.float64))))
