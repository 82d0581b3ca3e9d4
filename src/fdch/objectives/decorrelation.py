"""Decorrelation: the outputs of different bits do not vary together."""

from torch import Tensor


def decorrelation_loss(F: Tensor) -> Tensor:
    """Return half the squared covariances between different bits (PRDH, D).

    C is the covariance of the batch, a mean over its items, so the result is not
    divided any further.

    Args:
        F: Outputs of the batch, (b, bits).

    Returns:
        (‖C‖² - ‖diag C‖²) / 2, a scalar.
    """
    centred = F - F.mean(dim=0)
    C = centred.T @ centred / len(F)  # (bits, bits)
    return (C.square().sum() - C.diagonal().square().sum()) / 2
