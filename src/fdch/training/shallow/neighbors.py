"""Graphs of nearest neighbours, for methods that keep neighbours together."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array
from sklearn.metrics import pairwise_distances_chunked

from fdch.training.shallow.anchors import Rows

WORKING_MEMORY = 64  # MiB of distances at a time


def neighbor_laplacian(X: Rows, neighbors: int) -> csr_array:
    """Return the Laplacian of the graph that links items to their nearest ones.

    A link counts ½ where only one of two items has the other among its nearest,
    and 1 where both have. Of items equally far the first are nearest: short texts
    are full of such ties, and the graph must not depend on who computes it. So give
    counts of words as they are; centred, ties would be broken by round-off.

    Args:
        X: Items in rows, (n, d).
        neighbors: Nearest others of each item, by Euclidean distance; at most all.

    Returns:
        Degrees minus links, unnormalised, (n, n).

    >>> neighbor_laplacian(np.array([[0.0], [1.0], [5.0]]), 1).toarray()
    array([[ 1. , -1. ,  0. ],
           [-1. ,  1.5, -0.5],
           [ 0. , -0.5,  0.5]])
    """
    items = X.shape[0]
    nearest = min(neighbors, items - 1)
    if nearest < 1:
        return csr_array((items, items))

    def choose(distances: NDArray[np.float64], start: int) -> NDArray[np.intp]:
        rows = np.arange(len(distances))
        distances[rows, start + rows] = np.inf  # no item is its own neighbour
        return _smallest(distances, nearest)

    parts = pairwise_distances_chunked(
        X.astype(np.float64), reduce_func=choose, working_memory=WORKING_MEMORY
    )
    chosen = np.concatenate(list(parts)).ravel()
    starts = np.arange(0, chosen.size + 1, nearest)
    one_way = csr_array((np.ones(chosen.size), chosen, starts), shape=(items, items))
    links = (one_way + one_way.T) / 2
    return csr_array(diags_array(links.sum(axis=1)) - links)


def _smallest(values: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Return the columns of each row's smallest values, of equal ones the first."""
    limit = np.partition(values, count - 1, axis=1)[:, count - 1, None]
    below, level = values < limit, values == limit
    missing = count - below.sum(axis=1, keepdims=True)
    taken = below | (level & (level.cumsum(axis=1) <= missing))
    return np.nonzero(taken)[1].reshape(-1, count)
