"""Similar items are the nearest ones, however few of them there are."""

import torch
from torch import Tensor

SCALE = 0.25  # of the inner products, so that a code's bits do not saturate the softmax


def neighbour_loss(F: Tensor, G: Tensor, S: Tensor) -> Tensor:
    """Sum the negative log-likelihood of drawing a similar item as a neighbour.

    Each row of F draws a neighbour among the rows of G by a softmax over scaled
    inner products; the loss is the mean over its similar items. It is normalised
    per item, so rare similar pairs count as much as frequent ones, and codes of
    many classes can be orthogonal: the likelihood of Eq. 2 wants all dissimilar
    items on opposite sides, which only two classes can be. Not in the paper.

    Args:
        F: Outputs of the batch, (b, bits).
        G: Outputs of all items, (n, bits), held fixed.
        S: 1 where the pair shares a label, else 0, (b, n).

    Returns:
        The sum over the batch; rows without a similar item add nothing.
    """
    theta = SCALE * (F @ G.T) / 2  # (b, n)
    similar = S.sum(dim=1)
    nearness = (S * theta).sum(dim=1) / similar.clamp(min=1)
    return (similar.gt(0) * (torch.logsumexp(theta, dim=1) - nearness)).sum()
