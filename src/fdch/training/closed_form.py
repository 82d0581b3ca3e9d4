"""Ridge, whitening and correlation steps for linear methods, in float64.

Items are rows. Whatever a method solves more than once is factored once, and a
system is always solved in the smaller of its two forms.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import csr_array

from fdch.training.saved_arrays import take

Matrix = NDArray[np.float64]


def centre(X: NDArray[Any] | csr_array) -> tuple[Matrix, Matrix]:
    """Subtract the mean of each column of X, (n, d); return both, as dense arrays.

    >>> centre(np.array([[1.0, 4.0], [3.0, 0.0]]))[0].tolist()
    [[-1.0, 2.0], [1.0, -2.0]]
    """
    rows = X.toarray() if isinstance(X, csr_array) else X
    dense = rows.astype(np.float64)
    mean = dense.mean(axis=0)
    dense -= mean
    return dense, mean


def signs(outputs: Matrix) -> Matrix:
    """Return -1 below zero and +1 else, as codes while training.

    >>> signs(np.array([-0.5, 0.0, 2.0])).tolist()
    [-1.0, 1.0, 1.0]
    """
    return np.where(outputs >= 0, 1.0, -1.0)


@dataclass(frozen=True)
class LinearMap:
    """Rows to (row - mean) W, for dense and sparse rows alike."""

    W: Matrix  # weights, (d, bits)
    mean: Matrix  # training mean, (d,)

    def __call__(self, X: NDArray[Any] | csr_array) -> NDArray[np.float32]:
        """Map rows, (n, d) to (n, bits)."""
        # sparse rows stay sparse: the mean is taken off after the product
        return np.asarray(X @ self.W - self.mean @ self.W).astype(np.float32)

    def to_arrays(self, name: str) -> dict[str, Matrix]:
        """Return weights and mean under names of their own."""
        return {f"{name}.W": self.W, f"{name}.mean": self.mean}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, int]
    ) -> "LinearMap":
        """Take what `to_arrays` gave; weights of another shape are a ValueError."""
        W = take(arrays, f"{name}.W", *shape)
        return cls(W, take(arrays, f"{name}.mean", shape[0]))


class Ridge:
    """Ridge regression on fixed rows X, (n, d), factored once for many targets.

    `ridge` is δ > 0, the weight of the penalty on the weights. More is taken where the
    system could not be solved with it.

    >>> Ridge(np.array([[1.0], [2.0]]), ridge=5.0).weights(np.array([[2.0], [4.0]]))
    array([[1.]])
    """

    def __init__(self, X: Matrix, ridge: float) -> None:
        self._X, self._ridge = X, ridge
        self._is_primal = X.shape[1] <= X.shape[0]
        gram = self._gram()
        least = _round_off(gram)
        try:
            self._factor = _factor(gram, ridge)
        except linalg.LinAlgError:
            # beside features of this size the ridge is nothing
            self._ridge = max(ridge, least)
            self._factor = _factor(self._gram(), self._ridge)

    def weights(self, B: Matrix, products: Matrix | None = None) -> Matrix:
        """Return (XᵀX + δI)⁻¹XᵀB, (d, k), for targets B, (n, k).

        `products` is XᵀB, (d, k), where it is known already.
        """
        if not self._is_primal:
            return self._X.T @ self._solve(B)
        return self._solve(self._X.T @ B if products is None else products)

    def residuals(self, B: Matrix) -> Matrix:
        """Return B - X(XᵀX + δI)⁻¹XᵀB, (n, k): what X leaves unexplained."""
        if self._is_primal:
            return B - self._X @ self.weights(B)
        return self._ridge * self._solve(B)

    def residual_matrix(self) -> Matrix:
        """Return I - X(XᵀX + δI)⁻¹Xᵀ, (n, n), by which `residuals` multiplies."""
        identity = np.eye(len(self._X))
        if not self._is_primal:
            return self._ridge * self._solve(identity)
        R, is_lower = self._factor
        white = linalg.solve_triangular(
            R, self._X.T, trans="T", lower=is_lower, check_finite=False
        )
        identity -= white.T @ white
        return identity

    def _gram(self) -> Matrix:
        return self._X.T @ self._X if self._is_primal else self._X @ self._X.T

    def _solve(self, right: Matrix) -> Matrix:
        return linalg.cho_solve(self._factor, right, check_finite=False)


def _factor(gram: Matrix, ridge: float) -> tuple[Matrix, bool]:
    """Factor the sum of a Gram matrix, which is overwritten, and a ridge."""
    gram[np.diag_indices_from(gram)] += ridge
    return linalg.cho_factor(gram, overwrite_a=True, check_finite=False)


def _round_off(gram: Matrix) -> float:
    """Return the least ridge that counts.

    Round-off alone may make the Gram matrix of dependent columns indefinite.
    """
    return float(np.finfo(np.float64).eps) * len(gram) * float(gram.max())


class Whitening:
    """The Cholesky factor R of XᵀX + δI = RᵀR, under which X R⁻¹ is white.

    X has centred rows, (n, d). The ridge is δ, or a share of the mean of the diagonal
    where it is relative; it must make the sum positive definite.
    """

    def __init__(self, X: Matrix, ridge: float, is_relative: bool = False) -> None:
        gram = X.T @ X
        if is_relative:
            ridge *= float(np.trace(gram)) / len(gram)
        gram[np.diag_indices_from(gram)] += max(ridge, _round_off(gram))
        self._R = linalg.cholesky(gram, overwrite_a=True, check_finite=False)

    def whiten(self, C: Matrix) -> Matrix:
        """Return R⁻ᵀC, for C = XᵀA, (d, m)."""
        return linalg.solve_triangular(self._R, C, trans="T", check_finite=False)

    def directions(self, P: Matrix) -> Matrix:
        """Return R⁻¹P: directions found among white columns, for X as it is."""
        return linalg.solve_triangular(self._R, P, check_finite=False)


def factored_svd(A: Matrix, B: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Return the singular value decomposition of ABᵀ without forming it.

    Args:
        A: Left factor, (d, r).
        B: Right factor, (e, r).

    Returns:
        Left vectors (d, s), values (s,) from the largest down, right vectors
        (e, s); s is the smallest of d, e and r.
    """
    Qa, Ra = linalg.qr(A, mode="economic", check_finite=False)
    Qb, Rb = linalg.qr(B, mode="economic", check_finite=False)
    P, values, Qt = linalg.svd(Ra @ Rb.T, full_matrices=False, check_finite=False)
    return Qa @ P, values, Qb @ Qt.T


def top_singular_pair(A: Matrix, B: Matrix) -> tuple[Matrix, float, Matrix]:
    """Return the first singular vectors and value of ABᵀ: (d,), value, (e,).

    Gram matrices of the factors suffice for the first pair, and cost less than
    the orthogonal bases that the last ones would need. All are 0 where ABᵀ is.
    """
    Ra, Rb = _gram_root(A), _gram_root(B)
    U, values, Vt = linalg.svd(Ra @ Rb.T, check_finite=False)
    value = float(values[0])
    p, q = A @ (Rb.T @ Vt[0]), B @ (Ra.T @ U[:, 0])
    lengths = np.linalg.norm(p), np.linalg.norm(q)
    if not all(lengths):
        return np.zeros_like(p), 0.0, np.zeros_like(q)
    return p / lengths[0], value, q / lengths[1]


def _gram_root(A: Matrix) -> Matrix:
    """Return a square R with RᵀR = AᵀA."""
    squares, U = linalg.eigh(A.T @ A, check_finite=False)
    return np.sqrt(np.maximum(squares, 0))[:, None] * U.T


def top_singular_vectors(M: Matrix, most: int) -> tuple[Matrix, Matrix, Matrix]:
    """Return the leading singular vectors of a matrix too large for all of them.

    Returns:
        Left vectors of M (d, s), values (s,) from the largest down, right vectors
        (e, s), where s is at most `most`, and less where the rank is lower.
    """
    if M.shape[0] < M.shape[1]:
        Q, values, P = top_singular_vectors(M.T, most)
        return P, values, Q
    size = M.shape[1]
    wanted = [max(0, size - most), size - 1]
    squares, Q = linalg.eigh(M.T @ M, subset_by_index=wanted, check_finite=False)
    squares, Q = squares[::-1], Q[:, ::-1]
    # squares lie on the round-off of the largest where the rank ends
    kept = squares > 1e-12 * max(squares[0], 0.0)
    values, Q = np.sqrt(squares[kept]), Q[:, kept]
    return M @ Q / values, values, Q


def cca_directions(
    X: Matrix, Z: Matrix, white_x: Whitening, white_z: Whitening, most: int
) -> tuple[Matrix, Matrix, Matrix]:
    """Return canonical directions: the most correlated projections of two views.

    Args:
        X: Centred rows of one view, (n, d).
        Z: Centred rows of the other, (n, e).
        white_x: Whitening of X.
        white_z: Whitening of Z.
        most: How many are wanted; fewer come where the rank is lower.

    Returns:
        Directions in X (d, s), in Z (e, s), and their correlations (s,).
    """
    crossed = white_z.whiten(white_x.whiten(X.T @ Z).T).T
    P, correlations, Q = top_singular_vectors(crossed, most)
    return white_x.directions(P), white_z.directions(Q), correlations
