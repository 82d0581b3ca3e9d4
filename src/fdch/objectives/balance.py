"""Bits are evenly used: each is +1 for about half of the items."""

from torch import Tensor


def balance_loss(F: Tensor, rest: Tensor) -> Tensor:
    """Return the squared norm of the summed outputs (η in Eq. 2, α in Eq. 9).

    Args:
        F: Outputs of the batch, (b, bits).
        rest: Sum of the outputs of all other training items, (bits,), held fixed.
    """
    return (F.sum(dim=0) + rest).square().sum()
