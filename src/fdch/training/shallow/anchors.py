"""Anchors: k-means centroids, and distances and kernels of items to them."""

import warnings
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

Rows: TypeAlias = NDArray[Any] | csr_array
Matrix = NDArray[np.float64]


def kmeans_centroids(X: Rows, most: int, seed: int, iterations: int = 100) -> Matrix:
    """Return the centroids of k-means over items X, (n, d), drawn by the seed at first.

    There are no more centroids, (m, d), than wanted, nor than distinct items.
    """
    dense = _dense(X).astype(np.float32)
    clusters = min(most, len(np.unique(dense, axis=0)))
    kmeans = KMeans(
        clusters,
        init="random",
        n_init=1,
        max_iter=iterations,
        random_state=seed % 2**32,
    )
    # sums of two threads are the same in either order, those of more are not
    with threadpool_limits(2, user_api="openmp"), warnings.catch_warnings():
        # a cluster may end empty; its centroid is then dropped as a duplicate
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = kmeans.fit(dense).cluster_centers_
    return np.unique(found.astype(np.float64), axis=0)


def squared_distances(X: Rows, anchors: Matrix) -> Matrix:
    """Return squared Euclidean distances of items to anchors, (n, m), none below 0.

    >>> squared_distances(np.array([[0.0, 3.0]]), np.array([[4.0, 0.0]]))
    array([[25.]])
    """
    rows = X.astype(np.float64)
    products = np.asarray(rows @ anchors.T)
    squares = _squared_norms(rows)[:, None] + (anchors**2).sum(axis=1)
    return np.maximum(squares - 2 * products, 0)


def mean_squared_distance(X: Rows) -> float:
    """Return the mean of squared distances over all n² pairs of items.

    It is twice the mean squared distance to the mean, so no pair is visited.
    """
    rows = X.astype(np.float64)
    mean = np.asarray(rows.mean(axis=0))
    return 2 * float(_squared_norms(rows).mean() - mean @ mean)


@dataclass(frozen=True)
class AnchorKernel:
    """Radial kernels exp(-‖x - z‖²/σ²) of items x to anchors z."""

    anchors: Matrix  # in rows, (m, d)
    width: float  # σ², without the usual factor 2

    @classmethod
    def fit(cls, X: Rows, anchors: int, seed: int) -> "AnchorKernel":
        """Take centroids as anchors, and the mean squared distance as width."""
        width = mean_squared_distance(X)
        # all items alike: any width gives the same constant features
        return cls(kmeans_centroids(X, anchors, seed), width if width > 0 else 1.0)

    def __call__(self, X: Rows) -> Matrix:
        """Return kernel features of items, (n, d) to (n, m)."""
        features = squared_distances(X, self.anchors)
        features /= -self.width
        return np.exp(features, out=features)


def _dense(X: Rows) -> NDArray[Any]:
    return X.toarray() if isinstance(X, csr_array) else X


def _squared_norms(rows: Rows) -> Matrix:
    if isinstance(rows, csr_array):
        return np.asarray(rows.multiply(rows).sum(axis=1))
    return np.einsum("ij,ij->i", rows, rows)
