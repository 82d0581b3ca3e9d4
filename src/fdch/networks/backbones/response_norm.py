"""Local response normalisation across channels, as CNN-F was trained with.

Written out because torch's own takes several times as long, forward and backward.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

REACH, ALPHA, BETA, OFFSET = 2, 1e-4, 0.75, 2.0


def response_norm(planes: Tensor) -> Tensor:
    """Divide each value by (2 + 1e-4 * sum of five channels' squares) ** 0.75.

    Planes are (batch, channels, rows, columns). Equals torch's LocalResponseNorm(5,
    alpha=5e-4, beta=0.75, k=2): torch divides alpha by the window, the published
    weights do not.
    """
    if planes.dtype == torch.bfloat16:  # too coarse for sums of squares
        return response_norm(planes.float()).to(planes.dtype)
    return _ResponseNorm.apply(planes)  # type: ignore[no-untyped-call]


class _ResponseNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, planes: Tensor) -> Tensor:
        scale = _neighbours(planes * planes).mul_(ALPHA).add_(OFFSET)
        root = scale.rsqrt()
        factor = root * root.sqrt()  # scale ** -0.75
        ctx.save_for_backward(planes, scale, factor)
        return planes * factor

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        planes, scale, factor = ctx.saved_tensors
        shared = _neighbours((gradient * planes).mul_(factor).div_(scale))
        direct = gradient * factor
        return direct.addcmul_(planes, shared, value=-2 * ALPHA * BETA)


def _neighbours(planes: Tensor) -> Tensor:
    """Sum each channel with the two before and the two after it."""
    total = planes.clone()
    for distance in range(1, REACH + 1):
        total[:, distance:] += planes[:, :-distance]
        total[:, :-distance] += planes[:, distance:]
    return total
