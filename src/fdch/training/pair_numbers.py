"""Outputs of networks taught by pairs as a few small numbers.

Outputs of both sides, of length 1 and centred, are projected to the axes along which
they vary most, and turned so that little is lost by taking signs: "Iterative
Quantization: A Procrustean Approach to Learning Binary Codes", Gong and Lazebnik,
CVPR 2011.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fdch.training.ordering import Numbers, Vectors, to_numbers, to_units

HALF_STEP = {1: 1.0, 2: 0.5, 4: 0.1675}  # of a deviation
TURNS = 50
Floats = NDArray[np.float64]


class PairNumbers(NamedTuple):
    """A fitted projection of outputs.

    Args:
        image_mean: Of outputs of images, each of length 1, (outputs,).
        text_mean: Of outputs of texts, (outputs,).
        axes: Orthonormal, (outputs, count).
        half_step: Half of what numbers are rounded to, (count,).
        bits: Of each number.
    """

    image_mean: Floats
    text_mean: Floats
    axes: Floats
    half_step: Floats
    bits: int

    @classmethod
    def fit(cls, F: NDArray[Any], G: NDArray[Any], layout: Numbers, seed: int) -> Self:
        """Find the axes of training outputs.

        Args:
            F: Outputs of images, (n, outputs).
            G: Outputs of texts, (n, outputs).
            layout: How many numbers of how many bits there are to be.
            seed: Where the first turn is drawn from.
        """
        sides = [to_units(side).astype(np.float64) for side in (F, G)]
        means = [side.mean(axis=0) for side in sides]
        X = np.concatenate([x - mean for x, mean in zip(sides, means, strict=True)])
        _, vectors = np.linalg.eigh(X.T @ X)
        axes = vectors[:, ::-1][:, : layout.count]
        axes = axes @ find_turn(X @ axes, seed)
        deviation = (X @ axes).std(axis=0)
        half_step = HALF_STEP[layout.bits] * np.where(deviation > 0, deviation, 1.0)
        return cls(means[0], means[1], axes, half_step, layout.bits)

    def project_images(self, F: NDArray[Any]) -> Floats:
        """Return images along the axes, (n, count)."""
        return (to_units(F) - self.image_mean) @ self.axes

    def project_texts(self, G: NDArray[Any]) -> Floats:
        """Return texts along the axes, (n, count)."""
        return (to_units(G) - self.text_mean) @ self.axes

    @staticmethod
    def join(images: Floats, texts: Floats) -> Floats:
        """Return the direction between both sides, as long as these on average."""
        lengths = [np.linalg.norm(side, axis=1) for side in (images, texts)]
        mean = (lengths[0] + lengths[1])[:, None] / 2
        return to_units(images + texts).astype(np.float64) * mean

    def numbers(self, projected: Floats) -> Vectors:
        """Return the numbers of items, (items, count)."""
        return to_numbers(projected, self.half_step, self.bits)

    def weights(self, projected: Floats) -> Floats:
        """Return a query's weights of the numbers, (queries, count)."""
        steps = self.half_step if self.bits > 1 else 1.0  # signs have one length
        return (to_units(projected) * steps).astype(np.float64)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as plain arrays."""
        named = zip(self._fields, self, strict=True)
        return {f"pair_numbers.{name}": np.asarray(value) for name, value in named}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Read what `to_arrays` gave."""
        image_mean, text_mean, axes, half_step, bits = (
            arrays[f"pair_numbers.{name}"] for name in cls._fields
        )
        return cls(image_mean, text_mean, axes, half_step, int(bits))


def find_turn(X: Floats, seed: int) -> Floats:
    """Find the rotation R after which rows of X are nearest to their signs.

    Args:
        X: Centred, (n, count).
        seed: Where the first R is drawn from.

    Returns:
        R, orthonormal, (count, count); ‖sign(XR) - XR‖ falls in every turn.
    """
    count = X.shape[1]
    draws = np.random.default_rng(seed).standard_normal((count, count))
    R = np.linalg.qr(draws)[0]
    for _ in range(TURNS):
        B = np.where(X @ R >= 0, 1.0, -1.0)
        U, _, Vt = np.linalg.svd(B.T @ X)
        R = (U @ Vt).T
    return R
