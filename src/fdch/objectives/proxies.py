"""Items lie near the proxies of their labels and apart from what they do not share."""

import math

from torch import Tensor
from torch.nn import functional

from fdch.objectives.cosines import cosine_matrix


def proxy_loss(F: Tensor, Y: Tensor, P: Tensor, threshold: float) -> Tensor:
    """Pull items to the proxies of their labels, push them off the others (DSPH).

    Args:
        F: Outputs of the batch, (b, bits).
        Y: Labels of the same items, 0 or 1, (b, classes).
        P: One proxy to each label, (classes, bits).
        threshold: τ, the cosine above which another label's proxy is too near.

    Returns:
        The mean of 1 - cos over all items and their labels, plus the mean of
        max(0, cos - τ) over all items and the labels they do not have.
    """
    cosines = cosine_matrix(F, P)  # (b, classes)
    near = _mean_where(1 - cosines, Y)
    return near + _mean_where(functional.relu(cosines - threshold), 1 - Y)


def unrelated_loss(F: Tensor, G: Tensor, S: Tensor, threshold: float) -> Tensor:
    """Push items apart that share no label (DSPH).

    Args:
        F: Outputs of the batch, (b, bits).
        G: Outputs of the same batch, of this modality or the other, (b, bits).
        S: 1 where two items share a label, else 0, (b, b).
        threshold: τ, the cosine above which they are too near.

    Returns:
        The mean of max(0, cos - τ) over the pairs that share no label.
    """
    return _mean_where(functional.relu(cosine_matrix(F, G) - threshold), 1 - S)


def packing_threshold(bits: int, labels: int) -> float:
    """Return τ: the cosine that codes of as many labels can all keep below.

    The codes of the labels are taken for a linear code of ⌈log2 labels⌉ bits, the
    largest least distance d of which the Griesmer bound limits: Σ ⌈d / 2^i⌉ ≤ bits.
    The authors look d up in a table of known codes, which has the same d for up to
    32 labels at 16, 32 and 64 bits, and up to 2 less for more labels.

    Returns:
        1 - 2 d / bits, from -1 for two labels to nearly 1.

    >>> packing_threshold(16, 24), packing_threshold(16, 112)
    (0.0, 0.25)
    """
    dimension = max(1, math.ceil(math.log2(labels)))
    distances = range(bits, 0, -1)
    fitting = (d for d in distances if _griesmer_length(d, dimension) <= bits)
    return 1 - 2 * next(fitting, 0) / bits


def _griesmer_length(distance: int, dimension: int) -> int:
    """Return the least length of a linear code with that least distance."""
    return sum(-(-distance // 2**i) for i in range(dimension))


def _mean_where(values: Tensor, chosen: Tensor) -> Tensor:
    """Return the mean of the values where chosen is 1; 0 where it is nowhere."""
    return (values * chosen).sum() / chosen.sum().clamp(min=1)
