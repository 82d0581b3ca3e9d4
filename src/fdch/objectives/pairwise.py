"""Outputs of two items agree with whether the items share a label."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fdch.networks.linear import multiply

COMPARED = 2048
TOGETHER = 16  # chances, the product of which is far from the smallest number


def shares_label(Y: Tensor, others: Tensor) -> Tensor:
    """Return S: 1 where two items share at least one label, else 0.

    Args:
        Y: Labels of some items, 0 or 1, (b, classes).
        others: Labels of the items to compare with, (n, classes).

    Returns:
        S, (b, n), built on the fly so that no n x n matrix is ever held.
    """
    return multiply(Y, others).clamp_(max=1)  # the number of shared labels, up to 1


def log_odds(Y: Tensor) -> float:
    """Return log(m / (1 - m)) of the share m of similar pairs, 0 where it is half.

    Estimated on at most 2,048 items, evenly spaced.

    Args:
        Y: Labels of all training items, 0 or 1, (n, classes).
    """
    count = min(len(Y), COMPARED)
    some = Y[torch.linspace(0, len(Y) - 1, count, device=Y.device).long()]
    share = float(shares_label(some, some).mean())
    rarest = 1 / count**2
    share = min(max(share, rarest), 1 - rarest)
    return math.log(share / (1 - share))


def half_products(F: Tensor, G: Tensor) -> Tensor:
    """Return Θ of Eq. 1: half the inner products of all rows of F and G, (b, n).

    Eq. 6 prints the inner product without the half that its own gradients
    (Eq. 11 and 12) need; it is halved here too.
    """
    return multiply(F / 2, G)


def suppose_similarity(H: Tensor, others: Tensor, shift: float = 0.0) -> Tensor:
    """Return how probably items are similar by their outputs (Eq. 1).

    Stands for S where labels are not known.

    Args:
        H: Outputs of some items, (b, bits).
        others: Outputs of the items to compare with, (n, bits).
        shift: As in `pairwise_loss`.

    Returns:
        Numbers between 0 and 1, (b, n).
    """
    return torch.sigmoid(half_products(H, others) + shift)


def pairwise_loss(theta: Tensor, S: Tensor, shift: float = 0.0) -> Tensor:
    """Sum the negative log-likelihood of S given inner products (Eq. 2 and 6).

    The paper has no shift: orthogonal outputs then stand for even odds. Where few
    pairs are similar that drives dissimilar items to opposite codes, and classes
    collapse into two groups; shifted by the log odds, orthogonal outputs are right.

    When one side of the products is a detached buffer of the same network that gave
    the other, the gradient reaches only one side of each pair and the caller doubles
    this sum.

    Args:
        theta: What `half_products` gives of a batch and all items, (b, n).
        S: 1 where the pair shares a label, else 0, (b, n).
        shift: Added to every halved inner product.

    Returns:
        The sum over all b x n pairs.
    """
    return _Likelihood.apply(theta, S, shift)  # type: ignore[no-untyped-call]


def sum_of_logs(chances: Tensor) -> Tensor:
    """Sum the logarithms of numbers from 1/2 to 1: of a product of 16 in one go.

    >>> float(sum_of_logs(torch.full((5, 7), 0.5)) / math.log(2))
    -35.0
    """
    many = chances.numel() // TOGETHER * TOGETHER
    most, few = chances.flatten().tensor_split([many])
    return most.view(TOGETHER, -1).prod(dim=0).log().sum() + few.log().sum()


class _Likelihood(torch.autograd.Function):
    """Written out, because torch keeps and passes over several (b, n) more."""

    @staticmethod
    def forward(ctx: Any, theta: Tensor, S: Tensor, shift: float) -> Tensor:
        shifted = theta + shift
        chances = shifted.sigmoid()
        # log(1 + exp(x)) = max(x, 0) - log(sigmoid(|x|)), which never overflows
        surely = sum_of_logs(torch.maximum(chances, 1 - chances))
        apart = shifted.relu().addcmul_(S, shifted, value=-1)
        ctx.save_for_backward(chances.sub_(S))
        return apart.sum() - surely

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (slope,) = ctx.saved_tensors
        return slope.mul_(gradient), None, None
