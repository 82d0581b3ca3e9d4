"""LCMH: linear cross-modal hashing. A reconstruction.

Linear Cross-Modal Hashing for Efficient Multimedia Search, Zhu, Huang, Shen and
Zhao, ACM Multimedia 2013.
No code of the authors was found. From the published description come the distances
to centroids in place of a graph, and a common space for both sides; how distances
become weights, the eigenproblem and its constraint, and the thresholds are a
reconstruction. Scores made with it are those of the reconstruction.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import csr_array
from sklearn.preprocessing import normalize

from fdch.data.pairs import PairedSet
from fdch.errors import DataError, SettingError
from fdch.methods._base import About, Array, HashMethod
from fdch.methods._settings.checks import require_positive
from fdch.methods._settings.space import Choice, Range, SearchSpace
from fdch.methods._shallow import SIDES
from fdch.progress import Update
from fdch.training.closed_form import (
    LinearMap,
    Matrix,
    Whitening,
    cca_directions,
    centre,
)
from fdch.training.context import Context
from fdch.training.inputs import Inputs
from fdch.training.randomness import derive_seed
from fdch.training.saved_arrays import take, take_positive
from fdch.training.shallow.anchors import Rows, kmeans_centroids, squared_distances
from fdch.training.shallow.median_hash import MedianHash

CONSTANT = 1e-10  # share of the mean variance, below which a projection is constant
RIDGE = 1e-6  # of the whitening, a share of the mean variance


@dataclass
class LCMH(HashMethod):
    """Linear cross-modal hashing: a reconstruction, see the head of this file.

    >>> LCMH(bits=32).constraint
    'whiten'

    Args:
        centroids: m, k-means centroids of each side; at least twice the bits.
        nearest: s, centroids that an item keeps weights of; None for all.
        constraint: What keeps projections apart: "whiten", uncorrelated outputs
            of variance 1 on each side; "orth", orthonormal weights, which favours
            directions that hardly vary.
    """

    centroids: int = 300
    nearest: int | None = None
    constraint: Literal["whiten", "orth"] = "whiten"

    about: ClassVar[About] = About(
        paper="Linear Cross-Modal Hashing for Efficient Multimedia Search, Zhu et "
        "al., ACM MM 2013 (a reconstruction: no code of the authors is known)",
        supervision="pairs only",
        unified=False,
    )
    search_space: ClassVar[SearchSpace] = {
        "centroids": Range(300, 900, log=True),
        "nearest": Choice((None, 3, 10, 30)),
        "constraint": Choice(("whiten", "orth")),
    }

    def check(self) -> None:
        """Refuse settings outside their range."""
        super().check()
        if self.centroids < 2 * self.bits:
            raise SettingError(
                f"{self.bits} bits need at least {2 * self.bits} centroids; "
                f"got {self.centroids}."
            )
        if self.nearest == 0:  # how runs of version 0.2 say all
            self.nearest = None
        if self.nearest is not None:
            require_positive(self, "nearest")

    def image_outputs(self, images: Array) -> NDArray[np.float32]:
        """Return the projected weights of images minus the training medians."""
        return self._hash["image"](self._assign["image"](images))

    def text_outputs(self, texts: csr_array) -> NDArray[np.float32]:
        """Return the projected weights of texts minus the training medians."""
        return self._hash["text"](self._assign["text"](texts))

    def _learn(
        self,
        inputs: Inputs,
        pairs: PairedSet,
        validation: PairedSet | None,
        context: Context,
    ) -> None:
        given: dict[str, Rows] = {
            "image": inputs.images(pairs.images, context),
            "text": inputs.texts(pairs.texts),
        }
        self._assign = {}
        for done, side in enumerate(SIDES, start=1):
            seed = derive_seed(self.seed, "centroids", side)
            self._assign[side] = SoftAssignment.fit(
                given[side], self.centroids, self.nearest, seed
            )
            context.progress(Update("centroids", done, len(SIDES), "side"))
        weights = {side: self._assign[side](given[side]) for side in SIDES}
        P, means = zip(*(centre(weights[side]) for side in SIDES), strict=True)
        found = projections((P[0], P[1]), self.bits, self.constraint)
        self._hash = {
            side: MedianHash.fit(LinearMap(W, mean), weights[side])
            for side, W, mean in zip(SIDES, found, means, strict=True)
        }
        context.progress(Update("projections", self.bits, self.bits, "bit"))

    def _state(self) -> dict[str, Array]:
        return {
            key: array
            for side in SIDES
            for part in (self._assign[side], self._hash[side])
            for key, array in part.to_arrays(side).items()
        }

    def _load_state(
        self, inputs: Inputs, state: Mapping[str, Array], context: Context
    ) -> None:
        widths = {"image": inputs.image_width, "text": inputs.text_width}
        self._assign = {
            side: SoftAssignment.from_arrays(state, side, widths[side], self.nearest)
            for side in SIDES
        }
        self._hash = {
            side: MedianHash.from_arrays(
                state, side, (len(self._assign[side].centroids), self.bits)
            )
            for side in SIDES
        }


@dataclass(frozen=True)
class SoftAssignment:
    """Weights of items on centroids: exp(-‖x - c‖²/τ), a row's sum being 1.

    Args:
        centroids: Centroids in rows, (m, d), of items of length 1.
        width: τ.
        nearest: Centroids that an item keeps weights of; None for all.
    """

    centroids: Matrix
    width: float
    nearest: int | None = None

    @classmethod
    def fit(
        cls, rows: Rows, most: int, nearest: int | None, seed: int
    ) -> "SoftAssignment":
        """Find centroids, and take a quarter of the mean squared distance as τ."""
        unit = normalize(rows.astype(np.float64))
        centroids = kmeans_centroids(unit, most, seed)
        width = float(squared_distances(unit, centroids).mean()) / 4
        # all items alike: any width gives the same weights
        return cls(centroids, width if width > 0 else 1.0, nearest)

    def __call__(self, rows: Rows) -> Matrix:
        """Return weights of items, (n, d) to (n, m)."""
        if not rows.shape[0]:
            return np.zeros((0, len(self.centroids)))
        unit = normalize(rows.astype(np.float64))
        distances = squared_distances(unit, self.centroids)
        distances -= distances.min(axis=1, keepdims=True)  # so that one weight is 1
        weights = np.exp(distances / -self.width)
        if self.nearest is not None and self.nearest < weights.shape[1]:
            least = np.partition(weights, -self.nearest, axis=1)[:, -self.nearest]
            weights[weights < least[:, None]] = 0
        return weights / weights.sum(axis=1, keepdims=True)

    def to_arrays(self, name: str) -> dict[str, Array]:
        """Return centroids and width under names of their own."""
        return {
            f"{name}.centroids": self.centroids,
            f"{name}.width": np.array([self.width]),
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, Array], name: str, columns: int, nearest: int | None
    ) -> "SoftAssignment":
        """Take what `to_arrays` gave; arrays of another shape are a ValueError."""
        centroids = take(arrays, f"{name}.centroids", None, columns)
        return cls(centroids, take_positive(arrays, f"{name}.width"), nearest)


def projections(
    P: tuple[Matrix, Matrix], bits: int, constraint: Literal["whiten", "orth"]
) -> tuple[Matrix, Matrix]:
    """Return W1 and W2 of least ‖P1W1 - P2W2‖² under a constraint.

    P holds the centred weights of both sides, (n, m1) and (n, m2); W are (m1, bits) and
    (m2, bits), those that agree best first. Projections that do not vary on one of the
    sides agree perfectly and say nothing, as those of the all-ones vectors: they are
    left out.
    """
    # weights are of the order of 1, and so is their round-off of 1e-16
    if any(part.std() < 1e-12 for part in P):
        raise _too_few(0, bits)
    if constraint == "whiten":
        white = [Whitening(part, RIDGE, is_relative=True) for part in P]
        # two more than wanted, as there are two null vectors
        W1, W2, _ = cca_directions(P[0], P[1], white[0], white[1], bits + 2)
    else:
        both = np.hstack([P[0], -P[1]])
        _, W = linalg.eigh(both.T @ both, check_finite=False)
        W1, W2 = np.split(W, [P[0].shape[1]])
    variances = [(part @ W).var(axis=0) for part, W in zip(P, (W1, W2), strict=True)]
    varies = [variance > CONSTANT * variance.mean() for variance in variances]
    kept = np.flatnonzero(varies[0] & varies[1])[:bits]
    if len(kept) < bits:
        raise _too_few(len(kept), bits)
    return W1[:, kept], W2[:, kept]


def _too_few(found: int, bits: int) -> DataError:
    return DataError(
        f"only {found} projections of these pairs vary on both sides; {bits} bits "
        "were requested. Request fewer bits, or give more varied pairs."
    )
