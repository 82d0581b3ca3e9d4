"""Hash functions cut at the training median, so that every bit is evenly used."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fdch.training.closed_form import LinearMap
from fdch.training.saved_arrays import take

Rows: TypeAlias = NDArray[Any] | csr_array


@dataclass(frozen=True)
class MedianHash:
    """Rows to (row - mean) W minus medians."""

    linear: LinearMap  # the map before it is cut
    medians: NDArray[np.float32]  # of its outputs on the training rows, (bits,)

    @classmethod
    def fit(cls, linear: LinearMap, rows: Rows) -> "MedianHash":
        """Take the medians over training rows, (n, d)."""
        return cls(linear, np.median(linear(rows), axis=0).astype(np.float32))

    def __call__(self, rows: Rows) -> NDArray[np.float32]:
        """Map rows, (n, d) to (n, bits); half of the training rows are above 0."""
        return self.linear(rows) - self.medians

    def to_arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Return weights, mean and medians under names of their own."""
        return {**self.linear.to_arrays(name), f"{name}.medians": self.medians}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, int]
    ) -> "MedianHash":
        """Take what `to_arrays` gave; arrays of another shape are a ValueError."""
        medians = take(arrays, f"{name}.medians", shape[1])
        return cls(LinearMap.from_arrays(arrays, name, shape), medians)
