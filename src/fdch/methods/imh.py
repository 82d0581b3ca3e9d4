"""IMH: inter-media hashing.

Inter-media Hashing for Large-scale Retrieval from Heterogeneous Data Sources,
Song, Yang, Yang, Huang and Shen, SIGMOD 2013.
An embedding F of the pairs that is smooth on the neighbour graphs of both sides and
that each side predicts linearly. F here is that embedding, not a network's output.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import linalg

from fdch.data.pairs import PairedSet
from fdch.errors import DataError
from fdch.methods._base import About
from fdch.methods._ranges import require_not_negative, require_positive
from fdch.methods._shallow import SIDES, ShallowMethod
from fdch.methods._space import Range, SearchSpace
from fdch.progress import Update
from fdch.training.closed_form import LinearMap, Matrix, Ridge, centred
from fdch.training.context import Context
from fdch.training.inputs import Inputs
from fdch.training.shallow.anchors import Rows
from fdch.training.shallow.median_hash import MedianHash
from fdch.training.shallow.neighbors import neighbor_laplacian

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
        image_input="pictures or features",
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
        rows = {side: centred(given[side]) for side in SIDES}
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

    With centred rows the constant vector is an eigenvector of eigenvalue 2. No W
    predicts it, so its bit would never change.

    Args:
        total: A1 + A2 + λ(L1 + L2), symmetric, (n, n); it is overwritten.
        most: How many are wanted.

    Returns:
        Eigenvalues, ascending, (most,), and eigenvectors, (n, most).
    """
    # no eigenvalue is larger than the norm: behind all others the constant is out
    total += float(linalg.norm(total, check_finite=False)) / len(total)
    return linalg.eigh(
        total.T,  # symmetric, and so laid out that it need not be copied
        subset_by_index=(0, most - 1),
        overwrite_a=True,
        check_finite=False,
    )
