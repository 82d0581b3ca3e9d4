"""SCM_seq: semantic correlation maximisation, sequential learning.

Large-Scale Supervised Multimodal Hashing with Semantic Correlation Maximization,
Zhang and Li, AAAI 2014.
Bit after bit is fitted to what the signs of the bits before leave unexplained.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fdch.methods._base import About
from fdch.methods.scm_orth import SCMOrth
from fdch.progress import Progress, Update, silent
from fdch.training.closed_form import Matrix, signs, top_singular_pair
from fdch.training.context import Context
from fdch.training.shallow.semantic_correlation import (
    Directions,
    Views,
    fill_with_cca,
    white_correlation,
)


@dataclass
class SCMSeq(SCMOrth):
    """Semantic correlation maximisation, one bit after the other."""

    about: ClassVar[About] = replace(
        SCMOrth.about,
        paper=SCMOrth.about.paper.replace(
            "orthogonal projections", "sequential learning"
        ),
    )

    def _directions(
        self, views: Views, Y: NDArray[np.uint8], context: Context
    ) -> Directions:
        found = sequential_directions(views, Y, self.bits, context.progress)
        have = found.Wx.shape[1]
        if have == self.bits:
            return found
        reason = f"SCM_seq found nothing more to explain after {have} bits"
        return fill_with_cca(views, found, self.bits, reason)


def sequential_directions(
    views: Views, Y: NDArray[Any], bits: int, progress: Progress = silent
) -> Directions:
    """Take the top singular pair of Cxz, subtract its signs' share, and repeat.

    Cxz ← Cxz - (Xᵀ sgn(Xwx))(Zᵀ sgn(Zwz))ᵀ is kept whitened and in factors that
    grow by one column with each bit. It ends early, as the authors' release does,
    when a bit would explain more than the one before it; and when it would explain
    nothing at all.
    """
    A, B = white_correlation(views, Y, bits)
    columns_x: list[Matrix] = []
    columns_z: list[Matrix] = []
    last = np.inf
    for bit in range(bits):
        p, theta, q = top_singular_pair(A, B)
        if theta > last or theta == 0:
            break
        last = theta
        columns_x.append(views.white_x.directions(p))
        columns_z.append(views.white_z.directions(q))
        signs_x = signs(views.X @ columns_x[-1])
        signs_z = signs(views.Z @ columns_z[-1])
        A = np.column_stack([A, -views.white_x.whiten(views.X.T @ signs_x)])
        B = np.column_stack([B, views.white_z.whiten(views.Z.T @ signs_z)])
        progress(Update("bits", bit + 1, bits, "bit", {"theta": theta}))
    if not columns_x:
        return Directions(*(np.zeros((V.shape[1], 0)) for V in (views.X, views.Z)))
    return Directions(np.column_stack(columns_x), np.column_stack(columns_z))
