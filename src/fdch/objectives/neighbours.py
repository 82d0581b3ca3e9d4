"""Similar items are the nearest ones, however few of them there are."""

import math

import torch
from torch import Tensor

ENOUGH_BITS = 64
SCALE = 0.25  # of the inner products, so that a code's bits do not saturate the softmax


def neighbour_share(odds: float, bits: int) -> float:
    """Give how much of its weight the neighbour term gets.

    All of it in codes of 64 bits, or where fewer than a third of all pairs are
    similar. Short codes cannot both tell neighbours apart and follow the likelihood,
    which alone keeps items apart where half of all pairs are similar: the term then
    gets the share of 64 bits that there is.

    Args:
        odds: Log odds of similar pairs.
        bits: Length of the codes.

    >>> neighbour_share(math.log(1 / 2), 16), neighbour_share(0.0, 16)
    (1.0, 0.25)
    """
    return min(1.0, max(-odds / math.log(2), bits / ENOUGH_BITS))


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
