"""Kernel logistic regression of all bits of a modality together."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.optimize import minimize
from scipy.special import expit

from fdch.training.saved_arrays import take, take_positive
from fdch.training.shallow.anchors import AnchorKernel, Matrix, Rows

MAX_ITERATIONS = 500
TOLERANCE = 1e-3


@dataclass(frozen=True)
class KernelHash:
    """Rows to K(row, anchors) W."""

    kernel: AnchorKernel
    W: Matrix  # weights of the anchors, (anchors, bits)

    def __call__(self, X: Rows) -> Matrix:
        """Return the log-odds of every bit, (n, d) to (n, bits)."""
        return self.kernel(X) @ self.W

    def to_arrays(self, name: str) -> dict[str, Matrix]:
        """Return anchors, width and weights under names of their own."""
        return {
            f"{name}.anchors": self.kernel.anchors,
            f"{name}.width": np.array([self.kernel.width]),
            f"{name}.W": self.W,
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, int]
    ) -> "KernelHash":
        """Take what `to_arrays` gave; other than (d, bits) is a ValueError."""
        anchors = take(arrays, f"{name}.anchors", None, shape[0])
        kernel = AnchorKernel(anchors, take_positive(arrays, f"{name}.width"))
        return cls(kernel, take(arrays, f"{name}.W", len(anchors), shape[1]))


def logistic_loss(
    W: Matrix, K: Matrix, K0: Matrix, H: Matrix, weight: float
) -> tuple[float, Matrix]:
    """Sum log(1 + exp(-H ⊙ KW)) + C tr(WᵀK₀W) over items and bits.

    Args:
        W: Weights, (m, bits).
        K: Features of the items, (n, m).
        K0: Penalty, symmetric, (m, m).
        H: Codes to predict, -1 or +1, (n, bits).
        weight: C, of the penalty.

    Returns:
        The loss and its gradient, (m, bits).
    """
    margins = H * (K @ W)
    penalty = weight * (K0 @ W)
    loss = np.logaddexp(0, -margins).sum() + (W * penalty).sum()
    return float(loss), 2 * penalty - K.T @ (H * expit(-margins))


def fit_logistic(K: Matrix, K0: Matrix, H: Matrix, weight: float) -> Matrix:
    """Return the weights of least loss, (m, bits), by L-BFGS over all bits at once.

    Where all weights are zero, the curvature is KᵀK/4 + 2CK₀ for every bit. The
    search runs in coordinates in which that is the identity; kernels of anchors
    near to each other would make it crawl otherwise.
    """
    curvature = K.T @ K / 4 + 2 * weight * K0
    # this changes the coordinates alone, not what is minimised
    curvature[np.diag_indices_from(curvature)] += 1e-10 * curvature.max()
    R = linalg.cholesky(curvature, check_finite=False)
    features = linalg.solve_triangular(R, K.T, trans="T", check_finite=False).T
    half = linalg.solve_triangular(R, K0, trans="T", check_finite=False)
    penalty = linalg.solve_triangular(R, half.T, trans="T", check_finite=False)
    shape = K.shape[1], H.shape[1]

    def loss(point: Matrix) -> tuple[float, Matrix]:
        value, gradient = logistic_loss(
            point.reshape(shape), features, penalty, H, weight
        )
        return value, gradient.ravel()

    found = minimize(
        loss,
        np.zeros(shape[0] * shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MAX_ITERATIONS, "gtol": TOLERANCE, "ftol": 0.0},
    )
    return linalg.solve_triangular(R, found.x.reshape(shape), check_finite=False)
