"""Similar items are the nearest ones, however few of them there are."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

ENOUGH_BITS = 64
SCALE = 0.25  # of the inner products, so that a code's bits do not saturate the softmax


def neighbour_share(odds: float, bits: int) -> float:
    """Return how much of its weight the neighbour term gets.

    All of it in codes of 64 bits, or where fewer than a third of all pairs are
    similar. Short codes cannot both separate neighbours and follow the likelihood,
    which alone keeps items apart where half of all pairs are similar: the term then
    gets the share of 64 bits that there is.

    Args:
        odds: Log odds of similar pairs.
        bits: Length of the codes.

    >>> neighbour_share(math.log(1 / 2), 16), neighbour_share(0.0, 16)
    (1.0, 0.25)
    """
    return min(1.0, max(-odds / math.log(2), bits / ENOUGH_BITS))


def neighbour_loss(theta: Tensor, S: Tensor, scale: float = 1.0) -> Tensor:
    """Sum the negative log-likelihood of drawing a similar item as a neighbour.

    Each item of the batch draws a neighbour among all items by a softmax over scaled
    inner products; the loss is the mean over its similar items. It is normalised
    per item, so rare similar pairs count as much as frequent ones, and codes of
    many classes can be orthogonal: the likelihood of Eq. 2 wants all dissimilar
    items on opposite sides, which only two classes can be. Not in the paper.

    Compared with a sample of m items, the sum inside the logarithm is unbiased, and so
    is the mean over similar items where there are any. The logarithm is too low, by
    about 1 / m, and rows whose sample holds no similar item add nothing. To let these
    count, and the others more for them, would remove that bias, but codes get worse.

    Args:
        theta: What `half_products` gives of the batch and the items that it is
            compared with, (b, n).
        S: 1 where the pair shares a label, else 0, (b, n).
        scale: What makes a sum over these items stand for all items.

    Returns:
        The sum over the batch; rows without a similar item add nothing.
    """
    return _Surprise.apply(theta, S, scale)  # type: ignore[no-untyped-call]


class _Surprise(torch.autograd.Function):
    """Written out, because torch keeps and passes over several (b, n) more."""

    @staticmethod
    def forward(ctx: Any, theta: Tensor, S: Tensor, scale: float) -> Tensor:
        similar = S.sum(dim=1)
        # of each similar item in the mean
        share = 1 / similar.clamp(min=min(1, 1 / scale))
        highest = theta.amax(dim=1)
        # powers of 2, which processors are faster at than powers of e
        binary = SCALE / math.log(2)
        odds = torch.add(-binary * highest[:, None], theta, alpha=binary).exp2_()
        total = odds.sum(dim=1)
        nearness = (S * theta).sum(dim=1) * share
        has_any = similar.gt(0)
        ctx.save_for_backward(odds, total, S, share, has_any)
        mass = total.log() + math.log(scale)
        return (has_any * (SCALE * (highest - nearness) + mass)).sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        odds, total, S, share, has_any = ctx.saved_tensors
        factor = SCALE * gradient * has_any
        slope = odds.mul_((factor / total)[:, None])
        return slope.addcmul_(S, (factor * share)[:, None], value=-1), None, None
