"""SCM_orth: semantic correlation maximisation, orthogonal projections.

Large-Scale Supervised Multimodal Hashing with Semantic Correlation Maximization,
Zhang and Li, AAAI 2014.
Linear projections whose products of signs reproduce the likeness of labels. All
bits come from one decomposition, so there are at most as many as labels.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fdch.data.pairs import PairedSet
from fdch.methods._base import About
from fdch.methods._settings.checks import require_not_negative
from fdch.methods._settings.space import Choice, Range, SearchSpace
from fdch.methods._shallow import ShallowMethod
from fdch.progress import Update
from fdch.training.closed_form import factored_svd
from fdch.training.context import Context
from fdch.training.inputs import Inputs
from fdch.training.shallow.semantic_correlation import (
    Directions,
    Views,
    fill_with_cca,
    white_correlation,
)

MEANINGLESS = 1e-8  # singular values below this share of the first are round-off


@dataclass
class SCMOrth(ShallowMethod):
    """Semantic correlation maximisation with orthogonal projections.

    >>> SCMOrth(bits=16).ridge
    1e-06

    Args:
        ridge: Added to the diagonal of the covariances.
        relative_ridge: Whether `ridge` is a share of their mean diagonal instead;
            the published 1e-6 is nil for long image features.
    """

    ridge: float = 1e-6
    relative_ridge: bool = False

    about: ClassVar[About] = About(
        paper="Large-Scale Supervised Multimodal Hashing with Semantic Correlation "
        "Maximization, Zhang and Li, AAAI 2014 (orthogonal projections)",
        supervision="labels",
        unified=False,
    )
    search_space: ClassVar[SearchSpace] = {
        "ridge": Range(1e-7, 1.0, log=True),
        "relative_ridge": Choice((False, True)),
    }

    def check(self) -> None:
        """Refuse settings outside their range."""
        super().check()
        require_not_negative(self, "ridge")

    def _learn(
        self,
        inputs: Inputs,
        pairs: PairedSet,
        validation: PairedSet | None,
        context: Context,
    ) -> None:
        images, texts = inputs.images(pairs.images, context), inputs.texts(pairs.texts)
        views = Views.fit(images, texts, self.ridge, self.relative_ridge)
        found = self._directions(views, pairs.labels, context)
        self._hash = views.maps(found)

    def _directions(
        self, views: Views, Y: NDArray[np.uint8], context: Context
    ) -> Directions:
        found = orthogonal_directions(views, Y, self.bits)
        have = found.Wx.shape[1]
        context.progress(Update("bits", have, have, "bit"))
        if have == self.bits:
            return found
        reason = f"labels of rank {have} give SCM_orth {have} meaningful bits"
        return fill_with_cca(views, found, self.bits, reason)


def orthogonal_directions(views: Views, Y: NDArray[Any], bits: int) -> Directions:
    """Return the top directions of Cxz Czz⁻¹ Cxzᵀ w = θ² Cxx w, at most `bits`.

    They are the whitened singular vectors of Cxz; those of θ = 0 are left out.
    """
    A, B = white_correlation(views, Y, bits)
    P, theta, Q = factored_svd(A, B)
    kept = min(bits, int((theta > MEANINGLESS * theta[0]).sum()))
    Wx = views.white_x.directions(P[:, :kept])
    return Directions(Wx, views.white_z.directions(Q[:, :kept]))
