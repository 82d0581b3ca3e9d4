"""Layers that go through memory once, on accelerators of NVIDIA's.

Their kernels are written in Triton, which comes with PyTorch there. Elsewhere the
layers that these stand in for are used.
"""

from functools import cache
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

BLOCK = 1024
TILE, MAX_COLUMNS = 4096, 32
PROGRAMS = 1024  # about as many as run at once


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None


def can_fuse(planes: Tensor) -> bool:
    """Return whether planes, (batch, channels, rows, columns), can go through here."""
    return planes.is_cuda and planes.dtype != torch.float64 and _has_triton()


class FusedResponseNorm(torch.autograd.Function):
    """Local response normalisation; see `response_norm.py` for the formula."""

    @staticmethod
    def forward(
        ctx: Any, planes: Tensor, offset: float, alpha: float, beta: float
    ) -> Tensor:
        """Divide by (offset + alpha * sum of five channels' squares) ** 0.75."""
        from fdch.networks.backbones.kernels import response_norm_forward

        planes = planes.contiguous(memory_format=torch.channels_last)
        ctx.save_for_backward(planes)
        ctx.constants = offset, alpha, beta
        outputs = torch.empty_like(planes)
        grid = (-(-planes.numel() // BLOCK),)
        response_norm_forward[grid](
            planes, outputs, planes.numel(), planes.shape[1], offset, alpha, BLOCK
        )
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        """Compute all scales again: reading them would take longer."""
        from fdch.networks.backbones.kernels import response_norm_backward

        (planes,) = ctx.saved_tensors
        gradient = gradient.contiguous(memory_format=torch.channels_last)
        result = torch.empty_like(planes)
        grid = (-(-planes.numel() // BLOCK),)
        response_norm_backward[grid](
            planes,
            gradient,
            result,
            planes.numel(),
            planes.shape[1],
            *ctx.constants,
            BLOCK,
        )
        return result, None, None, None


def frozen_norm(
    planes: Tensor,
    norm: nn.BatchNorm2d,
    is_activated: bool,
    residual: Tensor | None = None,
) -> Tensor:
    """Apply a BatchNorm in evaluation mode, then ReLU6 or a residual.

    Args:
        planes: Of a convolution, (batch, channels, rows, columns).
        norm: Whose mean and deviation are fixed; weight and bias may learn.
        is_activated: Whether ReLU6 follows.
        residual: What is added to the result, where there is no ReLU6.
    """
    return _FrozenNorm.apply(  # type: ignore[no-untyped-call]
        planes,
        norm.weight,
        norm.bias,
        norm.running_mean,
        norm.running_var,
        norm.eps,
        is_activated,
        residual,
    )


class _FrozenNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        planes: Tensor,
        weight: Tensor,
        bias: Tensor,
        mean: Tensor,
        variance: Tensor,
        epsilon: float,
        is_activated: bool,
        residual: Tensor | None,
    ) -> Tensor:
        from fdch.networks.backbones.kernels import frozen_norm_forward

        planes = planes.contiguous(memory_format=torch.channels_last)
        ctx.save_for_backward(planes, weight, bias, mean, variance)
        ctx.epsilon, ctx.is_activated = epsilon, is_activated
        ctx.has_residual = residual is not None
        added = planes if residual is None else residual
        outputs = torch.empty_like(planes)
        places, channels, rows, columns = _tiles(planes)
        frozen_norm_forward[-(-places // rows), -(-channels // columns)](
            planes,
            added.contiguous(memory_format=torch.channels_last),
            outputs,
            weight,
            bias,
            mean,
            variance,
            places,
            channels,
            epsilon,
            is_activated,
            ctx.has_residual,
            rows,
            columns,
        )
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        from fdch.networks.backbones.kernels import frozen_norm_backward

        planes, weight, bias, mean, variance = ctx.saved_tensors
        gradient = gradient.contiguous(memory_format=torch.channels_last)
        result = torch.empty_like(planes)
        places, channels, rows, columns = _tiles(planes)
        across = -(-channels // columns)
        programs = min(-(-places // rows), max(PROGRAMS // across, 1))
        partial = torch.empty(programs, 2, channels, device=planes.device)
        frozen_norm_backward[programs, across](
            planes,
            gradient,
            result,
            partial,
            weight,
            bias,
            mean,
            variance,
            places,
            channels,
            ctx.epsilon,
            ctx.is_activated,
            rows,
            columns,
        )
        of_weight, of_bias = partial.sum(dim=0)
        added = gradient if ctx.has_residual else None
        return result, of_weight, of_bias, None, None, None, None, added


def _tiles(planes: Tensor) -> tuple[int, int, int, int]:
    """Return places and channels of planes, and how many of each make a tile."""
    channels = planes.shape[1]
    columns = min(1 << (channels - 1).bit_length(), MAX_COLUMNS)
    return planes.numel() // channels, channels, TILE // columns, columns
