"""Dropout of features, and of single words."""

import math

import torch
from torch import Tensor, nn

from fdch.errors import SettingError
from fdch.networks.share import current_share


class Dropout(nn.Dropout):
    """Torch's dropout; on a share of a batch, with the mask of the whole batch.

    On a processor the mask is made of plain random bits, faster than torch's own.
    """

    def forward(self, values: Tensor) -> Tensor:
        """Drop entries of values, (rows, width), and scale up the others."""
        share, is_near = current_share(), values.device.type == "cpu"
        if not self.training or (share is None and not is_near):
            return super().forward(values)
        shape = len(values) if share is None else share.items, values.shape[1]
        if is_near:
            mask = draw_mask(shape, self.p).to(values.dtype).div_(1 - self.p)
        else:
            mask = super().forward(values.new_ones(shape))
        return values * (mask if share is None else mask[share.rows])


def draw_mask(shape: tuple[int, int], rate: float) -> Tensor:
    """Draw False with a probability, else True, on the processor.

    The rate is from 0 to below 1, rounded to a 65,536th.
    """
    drawn = torch.empty(math.ceil(math.prod(shape) / 4), dtype=torch.int64)
    bits = drawn.random_(-(2**63), None).view(torch.int16)  # all 64, as four numbers
    return bits[: math.prod(shape)].view(shape) >= round(rate * 65_535) - 32_768


class WordDropout(nn.Module):
    """Set entries to zero at random while training; do nothing otherwise.

    Unlike torch's dropout the entries kept stay as they are: a text with fewer words is
    still a text. Draws come from torch's generator, which training seeds for each
    epoch.
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
