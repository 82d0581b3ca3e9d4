"""Sparse codes over a dictionary, and dictionaries of bounded atoms.

Items and atoms are rows: X ≈ SD, with X (n, p), S (n, atoms) and D (atoms, p).
"""

from contextlib import closing

import numpy as np
from scipy import linalg, optimize
from threadpoolctl import threadpool_limits

from fdch.data.rows import in_threads
from fdch.training.closed_form import Matrix

# what improving so many rows takes fits a core's cache
ROWS_AT_A_TIME = 256
# BLAS does products of so few rows in the calling thread, as fast as larger ones:
# blocks of rows then run side by side, and nobody waits for a busy core
ROWS_IN_A_PRODUCT = 4
# unused atoms leave a singular system; this is far below the weight of a used one
UNUSED_ATOMS = 1e-8


def sparse_codes(X: Matrix, D: Matrix, ratio: float, iterations: int = 30) -> Matrix:
    """Return the lasso codes of items by accelerated proximal gradient (FISTA).

    Each row s lowers ½‖x - sD‖² + z‖s‖₁, where z is a share of the penalty from
    which on s is zero: z = ratio · max|Dx|. All rows begin at zero and share one
    step length.

    Args:
        X: Items, (n, p).
        D: Dictionary, (atoms, p).
        ratio: ρ, between 0 and 1; the larger, the fewer atoms are used.
        iterations: Steps.

    Returns:
        Codes, (n, atoms).
    """
    steepest = float(linalg.eigvalsh(D.T @ D)[-1])  # Lipschitz constant
    if steepest <= 0 or not len(X):
        return np.zeros((len(X), len(D)))

    def solve(block: int) -> Matrix:
        start = block * ROWS_AT_A_TIME
        rows = X[start : start + ROWS_AT_A_TIME]
        return _fista(rows, D, ratio, steepest, iterations)

    with closing(in_threads(solve, -(-len(X) // ROWS_AT_A_TIME))) as solved:
        return np.concatenate(list(solved))


def bounded_dictionary(S: Matrix, X: Matrix) -> Matrix:
    """Return the dictionary of least ‖X - SD‖² whose atoms are no longer than 1.

    Solved through its Lagrange dual (Lee, Battle, Raina and Ng, 2007): a price on
    the length of every atom, found by L-BFGS-B.

    Args:
        S: Codes, (n, atoms).
        X: Items, (n, p).

    Returns:
        Atoms, (atoms, p); an atom that no item uses is zero.
    """
    # systems this small lose more to waiting for other threads than they gain
    with threadpool_limits(1, user_api="blas"):
        gram, products = S.T @ S, S.T @ X
        gram[np.diag_indices_from(gram)] += UNUSED_ATOMS
        # exact if codes were uncorrelated
        guess = np.maximum(linalg.norm(products, axis=1) - np.diag(gram), 0)
        found = optimize.minimize(
            _dual,
            guess,
            (gram, products),
            jac=True,
            method="L-BFGS-B",
            bounds=optimize.Bounds(0, np.inf),
            options={"maxiter": 500, "ftol": 1e-12, "gtol": 1e-6},
        )
        D = _atoms(found.x, gram, products)
    # what round-off leaves above 1
    return D / np.maximum(linalg.norm(D, axis=1, keepdims=True), 1)


def _fista(
    X: Matrix, D: Matrix, ratio: float, steepest: float, iterations: int
) -> Matrix:
    padded = np.pad(X, ((0, -len(X) % ROWS_IN_A_PRODUCT), (0, 0)))
    target = padded.reshape(-1, ROWS_IN_A_PRODUCT, X.shape[1])
    strongest = np.abs(target @ D.T).max(axis=2, keepdims=True)
    strongest[strongest == 0] = 1
    # scaled so, all rows have the same penalty: codes grow in step with items
    target = target / strongest
    penalty = ratio / steepest
    codes = np.zeros((*target.shape[:2], len(D)))
    ahead, last, clipped = codes.copy(), codes.copy(), codes.copy()
    step, momentum = np.ascontiguousarray(D.T) / steepest, 1.0
    for _ in range(iterations):
        ahead -= (ahead @ D - target) @ step
        codes, last = last, codes
        np.clip(ahead, -penalty, penalty, out=clipped)
        np.subtract(ahead, clipped, out=codes)  # soft threshold
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        np.subtract(codes, last, out=ahead)
        ahead *= (momentum - 1) / following
        ahead += codes
        momentum = following
    return (codes * strongest).reshape(len(padded), -1)[: len(X)]


def _dual(prices: Matrix, gram: Matrix, products: Matrix) -> tuple[float, Matrix]:
    """Return the dual to be lowered over prices of 0 or more, and its gradient."""
    D = _atoms(prices, gram, products)
    value = float(np.vdot(products, D)) + float(prices.sum())
    return value, 1 - np.einsum("ij,ij->i", D, D)


def _atoms(prices: Matrix, gram: Matrix, products: Matrix) -> Matrix:
    factor = linalg.cho_factor(gram + np.diag(prices), check_finite=False)
    return linalg.cho_solve(factor, products, check_finite=False)
