"""Outputs are the log odds of each label."""

from torch import Tensor
from torch.nn import functional


def label_likelihood(F: Tensor, Y: Tensor) -> Tensor:
    """Return the negative log-likelihood of labels, each independent of the others.

    Args:
        F: Log odds of the labels, (b, classes).
        Y: Labels, 0 or 1, or how probable they are, (b, classes).

    Returns:
        The sum over the labels, a mean over the batch.
    """
    total = functional.binary_cross_entropy_with_logits(F, Y, reduction="sum")
    return total / len(F)
