"""Dropout of features, and of single words."""

import torch
from torch import Tensor, nn

from fdch.errors import SettingError
from fdch.networks.share import current_share


class Dropout(nn.Dropout):
    """Torch's dropout; on a share of a batch, with the mask of the whole batch."""

    def forward(self, values: Tensor) -> Tensor:
        """Drop entries of values, (rows, width), and scale up the others."""
        share = current_share()
        if share is None or not self.training:
            return super().forward(values)
        mask = super().forward(values.new_ones(share.items, values.shape[1]))
        return values * mask[share.rows]


class WordDropout(nn.Module):
    """Set entries to zero at random while training; do nothing otherwise.

    Unlike torch's dropout the entries kept stay as they are: a text with fewer
    words is still a text. Draws come from torch's generator, which training
    seeds for each epoch.

    Args:
        rate: Probability that an entry is dropped.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        if not 0 <= rate < 1:
            raise SettingError(f"a dropout rate is from 0 to below 1; got {rate}.")
        self.rate = rate

    def forward(self, values: Tensor) -> Tensor:
        """Drop entries of values, of any shape."""
        if not self.training or self.rate == 0:
            return values
        return values * (torch.rand_like(values) >= self.rate)
