"""Graphs of nearest neighbours, for methods that keep neighbours together."""

from typing import Any

from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array
from sklearn.neighbors import kneighbors_graph


def neighbor_laplacian(X: NDArray[Any], neighbors: int) -> csr_array:
    """Give the Laplacian of the graph that links items to their nearest ones.

    A link counts ½ where only one of two items has the other among its nearest,
    and 1 where both have.

    Args:
        X: Items in rows, (n, d).
        neighbors: Nearest others of each item, by Euclidean distance; at most all.

    Returns:
        Degrees minus links, unnormalised, (n, n).

    >>> import numpy as np
    >>> neighbor_laplacian(np.array([[0.0], [1.0], [5.0]]), 1).toarray()
    array([[ 1. , -1. ,  0. ],
           [-1. ,  1.5, -0.5],
           [ 0. , -0.5,  0.5]])
    """
    nearest = min(neighbors, len(X) - 1)
    if nearest < 1:
        return csr_array((len(X), len(X)))
    one_way = csr_array(kneighbors_graph(X, nearest, include_self=False))
    links = (one_way + one_way.T) / 2
    return csr_array(diags_array(links.sum(axis=1)) - links)
