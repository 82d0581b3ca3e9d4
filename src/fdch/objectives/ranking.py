"""The other half of a pair ranks before all other items."""

import torch
from torch import Tensor

from fdch.objectives.cosines import cosine_matrix


def ranking_loss(F: Tensor, G: Tensor, margin: float, shift: float) -> Tensor:
    """Push all other items below the other half of each pair (UCCH, Eq. 14).

    The smooth bound of a hinge on the hardest item. All others take part in it;
    those that already lie a margin below count as if they were lower still. The
    bound's scale κ is 1, as in the authors' release.

    Args:
        F: Outputs of one side of the pairs, (b, bits).
        G: Outputs of the other side, in the same order, (b, bits).
        margin: m, by how much other cosines are to lie below the pair's own.
        shift: ε, what those that do are lowered by.

    Returns:
        The sum over both directions of the mean over the batch.
    """
    M = cosine_matrix(F, G)  # (b, b)
    return _rank(M, margin, shift) + _rank(M.T, margin, shift)


def _rank(M: Tensor, margin: float, shift: float) -> Tensor:
    own = M.diagonal()[:, None]
    S = torch.where(own - M <= margin, M, M - shift)  # Eq. 8
    return (margin + S.logsumexp(dim=1) - S.diagonal()).mean()
