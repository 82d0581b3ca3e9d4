"""Outputs of two items agree with whether the items share a label."""

from torch import Tensor
from torch.nn import functional


def shares_label(Y: Tensor, others: Tensor) -> Tensor:
    """Give S: 1 where two items share at least one label, else 0.

    Args:
        Y: Labels of some items, 0 or 1, (b, classes).
        others: Labels of the items to compare with, (n, classes).

    Returns:
        S, (b, n), built on the fly so that no n x n matrix is ever held.
    """
    return (Y @ others.T > 0).to(Y.dtype)


def pairwise_loss(F: Tensor, G: Tensor, S: Tensor) -> Tensor:
    """Sum the negative log-likelihood of S given inner products (Eq. 2 and 6).

    Eq. 6 prints the inner product without the half that its own gradients
    (Eq. 11 and 12) need; it is halved here, as in Eq. 1.

    When G is a detached buffer of the same network that gave F, the gradient
    reaches only one side of each pair and the caller doubles this sum.

    Args:
        F: Outputs of the batch, (b, bits).
        G: Outputs of all items, (n, bits).
        S: 1 where the pair shares a label, else 0, (b, n).

    Returns:
        The sum over all b x n pairs.
    """
    theta = F @ G.T / 2  # (b, n)
    # softplus stays finite where log(1 + exp(theta)) overflows
    return (functional.softplus(theta) - S * theta).sum()
