"""Outputs stay near the binary codes they stand for."""

from torch import Tensor


def quantization_loss(F: Tensor, B: Tensor) -> Tensor:
    """Sum the squared distances of outputs to codes (λ in Eq. 2, γ in Eq. 7).

    Args:
        F: Outputs, (b, bits).
        B: Codes of the same items, -1 or +1, (b, bits).
    """
    return (B - F).square().sum()


def binary(H: Tensor) -> Tensor:
    """Return the best codes for outputs (Eq. 5): their sign, zero counting as +1."""
    return H.ge(0).to(H.dtype) * 2 - 1
