"""Contrastive losses: an item against all others, by its other half or its own key."""

import torch
from torch import Tensor
from torch.nn import functional

from fdch.objectives.cosines import cosine_matrix


def contrastive_loss(F: Tensor, G: Tensor, temperature: float) -> Tensor:
    """Find the other half of each pair among all of the batch (InfoNCE).

    Args:
        F: Outputs of one side of the pairs, (b, bits).
        G: Outputs of the other side, in the same order, (b, bits).
        temperature: What cosines are divided by.

    Returns:
        The mean cross-entropy over all b items and both directions.
    """
    scores = cosine_matrix(F, G) / temperature  # (b, b)
    pairs = torch.arange(len(F), device=F.device)
    forward = functional.cross_entropy(scores, pairs)
    return (forward + functional.cross_entropy(scores.T, pairs)) / 2


def key_loss(
    F: Tensor, own: Tensor, others: Tensor, is_own: Tensor, temperature: float
) -> Tensor:
    """Find each item's own key among other keys (UCCH, Eq. 3 and 4).

    Args:
        F: Outputs of the batch, (b, bits).
        own: The key of each item, (b, bits).
        others: Keys of other items, (k, bits).
        is_own: True where one of these is the item's own key all the same, (b, k);
            it is left out.
        temperature: τ, what cosines are divided by.

    Returns:
        The mean of -log P(own key | item) over the batch. The paper prints the sum
        over all items.
    """
    positive = functional.cosine_similarity(F, own)[:, None]  # (b, 1)
    negative = cosine_matrix(F, others).masked_fill(is_own, -torch.inf)
    scores = torch.cat([positive, negative], dim=1) / temperature
    return (scores.logsumexp(dim=1) - scores[:, 0]).mean()
