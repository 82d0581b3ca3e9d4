"""IMH: inter-media hashing.

Inter-media Hashing for Large-scale Retrieval from Heterogeneous Data Sources,
Song, Yang, Yang, Huang and Shen, SIGMOD 2013.
An embedding F of the pairs that is smooth on the neighbour graphs of both sides and
that each side predicts linearly. F here is that embedding, not a network's output.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import csr_array, diags_array
from sklearn.metrics import pairwise_distances_chunked

from fdch.data.pairs import PairedSet
from fdch.errors import DataError
from fdch.methods._base import About
from fdch.methods._settings.checks import require_not_negative, require_positive
from fdch.methods._settings.space import Range, SearchSpace
from fdch.methods._shallow import SIDES, ShallowMethod
from fdch.progress import Update
from fdch.training.closed_form import LinearMap, Matrix, Ridge, centre
from fdch.training.context import Context
from fdch.training.inputs import Inputs
from fdch.training.shallow.anchors import Rows
from fdch.training.shallow.median_hash import MedianHash

WORKING_MEMORY = 64  # MiB of distances at a time
MATRICES_AT_ONCE = 3  # of n × n numbers, while eigenvectors are found


@dataclass
class IMH(ShallowMethod):
    """Inter-media hashing.

    >>> IMH(bits=32).neighbors
    10

    Args:
        neighbors: Nearest others that each item is linked to.
        smoothness_weight: λ, how much neighbours are kept together.
        ridge: β, penalty on the hash functions W.
        max_pairs: The most pairs to learn from; memory grows with their square,
            time with their cube.
    """

    neighbors: int = 10
    smoothness_weight: float = 1.0
    ridge: float = 1.0
    max_pairs: int = 20_000

    about: ClassVar[About] = About(
        paper="Inter-media Hashing for Large-scale Retrieval from Heterogeneous Data "
        "Sources, Song et al., SIGMOD 2013",
        supervision="pairs only",
        unified=False,
    )
    search_space: ClassVar[SearchSpace] = {
        "neighbors": Range(3, 50, log=True),
        "smoothness_weight": Range(0.01, 100.0, log=True),
        "ridge": Range(0.01, 100.0, log=True),
    }
    function: ClassVar = MedianHash

    def check(self) -> None:
        """Refuse settings outside their range."""
        super().check()
        require_positive(self, "neighbors", "ridge", "max_pairs")
        require_not_negative(self, "smoothness_weight")

    def _learn(
        self,
        inputs: Inputs,
        pairs: PairedSet,
        validation: PairedSet | None,
        context: Context,
    ) -> None:
        self._require_size(len(pairs))
        given: dict[str, Rows] = {
            "image": inputs.images(pairs.images, context),
            "text": inputs.texts(pairs.texts),
        }
        rows = {side: centre(given[side]) for side in SIDES}
        ridges = {side: Ridge(rows[side][0], self.ridge) for side in SIDES}
        total = np.zeros((len(pairs), len(pairs)))
        for done, side in enumerate(SIDES, start=1):
            self._add_costs(total, given[side], ridges[side])
            context.progress(Update("graphs", done, len(SIDES), "side"))
        values, F = smoothest(total, self.bits)
        self._hash = {
            side: MedianHash.fit(
                LinearMap(ridges[side].weights(F), rows[side][1]), given[side]
            )
            for side in SIDES
        }
        cost = {"cost": float(values.sum())}
        context.progress(Update("embedding", self.bits, self.bits, "bit", cost))

    def _add_costs(self, total: Matrix, rows: Rows, ridge: Ridge) -> None:
        """Add A + λL of one side: tr FᵀAF is what the best W leaves of F."""
        total += ridge.residual_matrix()
        links = neighbor_laplacian(rows, self.neighbors).tocoo()
        total[links.coords] += self.smoothness_weight * links.data

    def _require_size(self, pairs: int) -> None:
        if pairs <= self.bits:
            raise DataError(
                f"{pairs} training pairs give at most {pairs - 1} bits; "
                f"{self.bits} were requested. Give more pairs, or request fewer bits."
            )
        if pairs > self.max_pairs:
            needed = MATRICES_AT_ONCE * 8 * pairs**2 / 2**30
            raise DataError(
                f"{pairs:,} training pairs need about {needed:,.1f} GiB for matrices "
                f"of {pairs:,} x {pairs:,} numbers; max_pairs allows "
                f"{self.max_pairs:,} pairs. Train on fewer pairs, or raise max_pairs."
            )


def smoothest(total: Matrix, most: int) -> tuple[Matrix, Matrix]:
    """Return the eigenvectors of least eigenvalue, but for the constant one.

    `total` is A1 + A2 + λ(L1 + L2), symmetric, (n, n), and is overwritten. Returns
    eigenvalues, ascending, (most,), and eigenvectors, (n, most). With centred rows the
    constant vector is an eigenvector of eigenvalue 2. No W predicts it, so its bit
    would never change.
    """
    # no eigenvalue is larger than the norm: behind all others the constant is out
    total += float(linalg.norm(total, check_finite=False)) / len(total)
    return linalg.eigh(
        total.T,  # symmetric, and so laid out that it need not be copied
        subset_by_index=(0, most - 1),
        overwrite_a=True,
        check_finite=False,
    )


def neighbor_laplacian(X: Rows, neighbors: int) -> csr_array:
    """Return the Laplacian, (n, n), of the graph that links items to their nearest.

    It is degrees minus links, unnormalised; distances are Euclidean. A link counts ½
    where only one of two items has the other among its nearest, and 1 where both have.
    Of items equally far the first are nearest: short texts are full of such ties, and
    the graph must not depend on who computes it. So give counts of words as they are;
    centred, ties would be broken by round-off.

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
