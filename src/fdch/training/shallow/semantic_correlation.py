"""What both forms of semantic correlation maximisation start from and fall back on."""

import logging
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fdch.errors import SettingError
from fdch.training.closed_form import (
    LinearMap,
    Matrix,
    Whitening,
    cca_directions,
    centre,
)

logger = logging.getLogger(__name__)


class Directions(NamedTuple):
    """Projections found in both views, one column to each bit."""

    Wx: Matrix
    Wz: Matrix


@dataclass(frozen=True)
class Views:
    """Both views of the training pairs, centred, with their whitenings."""

    X: Matrix  # image rows minus their mean, (n, d)
    Z: Matrix  # text rows minus their mean, (n, e)
    mean_x: Matrix  # that mean, (d,)
    mean_z: Matrix  # that mean, (e,)
    white_x: Whitening  # of XᵀX plus the ridge
    white_z: Whitening  # of ZᵀZ plus the ridge

    @classmethod
    def fit(
        cls,
        images: NDArray[Any],
        texts: csr_array,
        ridge: float,
        is_relative: bool = False,
    ) -> "Views":
        """Centre and factor both views."""
        X, mean_x = centre(images)
        Z, mean_z = centre(texts)
        white_x = Whitening(X, ridge, is_relative)
        white_z = Whitening(Z, ridge, is_relative)
        return cls(X, Z, mean_x, mean_z, white_x, white_z)

    def maps(self, found: Directions) -> dict[str, LinearMap]:
        """Return the hash functions of images and texts."""
        return {
            "image": LinearMap(found.Wx, self.mean_x),
            "text": LinearMap(found.Wz, self.mean_z),
        }


def normalize_labels(Y: NDArray[Any]) -> Matrix:
    """Scale each row of labels to length 1; rows of zeros stay zero."""
    rows = Y.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def white_correlation(
    views: Views, Y: NDArray[Any], bits: int
) -> tuple[Matrix, Matrix]:
    """Return the factors A, B of the whitened correlation k·XᵀS̃Z = k·Xᵀ(2L̃L̃ᵀ - 11ᵀ)Z.

    Neither S̃, n x n, nor the product, d x e, is formed. Columns of centred views
    sum to zero, so the part of 11ᵀ vanishes, and the rank is at most that of Y.

    Returns:
        A, (d, classes) and B, (e, classes), with ABᵀ = Rx⁻ᵀ(k·XᵀS̃Z)Rz⁻¹.
    """
    L = normalize_labels(Y) * np.sqrt(2 * bits)
    return views.white_x.whiten(views.X.T @ L), views.white_z.whiten(views.Z.T @ L)


def fill_with_cca(
    views: Views, found: Directions, bits: int, reason: str
) -> Directions:
    """Take the columns still missing from canonical correlation, and warn why.

    Column t of the answer is the t-th canonical direction: the first ones are
    left out, as they would mostly repeat what has been found.
    """
    have = found.Wx.shape[1]
    logger.warning(
        "%s; the other %d of %d bits are filled with canonical correlation.",
        reason,
        bits - have,
        bits,
    )
    Wx, Wz, _ = cca_directions(views.X, views.Z, views.white_x, views.white_z, bits)
    if Wx.shape[1] < bits:
        raise SettingError(
            f"images of {views.X.shape[1]} columns and texts of {views.Z.shape[1]} "
            f"have only {Wx.shape[1]} related directions, too few for {bits} bits. "
            "Request fewer bits, or give more varied pairs."
        )
    return Directions(
        np.hstack([found.Wx, Wx[:, have:]]), np.hstack([found.Wz, Wz[:, have:]])
    )
