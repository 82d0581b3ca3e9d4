"""Fused layers, each in one pass over memory, on NVIDIA GPUs.

Their kernels are written in Triton, which comes with PyTorch there. Other devices use
PyTorch's own layers.
"""

from functools import cache
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from fdch.networks.backbones.response_norm import ALPHA, BETA, OFFSET

TILE, MAX_COLUMNS = 4096, 32
WINDOW_ROWS, WINDOW, HALO = 64, 64, 4  # a gradient comes from four channels around
POOL_TILE, POOL_COLUMNS = 2048, 64
PROGRAMS = 1024  # about as many as run at once
NORM_PROGRAMS = 264  # two on each multiprocessor of an H200: their registers fill it


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None


def can_fuse(planes: Tensor) -> bool:
    """Return whether planes, (batch, channels, rows, columns), can go through here."""
    return planes.is_cuda and planes.dtype != torch.float64 and _has_triton()


def activate(planes: Tensor, bias: Tensor, is_normalized: bool) -> Tensor:
    """Add a bias, apply ReLU, then perhaps `response_norm`.

    Planes are those of a convolution without its bias, (batch, channels, rows,
    columns). A bias in float32 beside planes of fewer bits loses nothing.
    """
    return _Activation.apply(planes, bias, is_normalized)  # type: ignore[no-untyped-call]


class _Activation(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, planes: Tensor, bias: Tensor, is_normalized: bool) -> Tensor:
        from fdch.networks.backbones.kernels import activate_forward

        planes = planes.contiguous(memory_format=torch.channels_last)
        ctx.save_for_backward(planes, bias)
        ctx.is_normalized = is_normalized
        outputs = torch.empty_like(planes)
        grid, places, channels, tile = _windows(planes, is_normalized)
        activate_forward[grid](
            planes,
            bias,
            outputs,
            places,
            channels,
            is_normalized,
            OFFSET,
            ALPHA,
            _parts(planes),
            *tile,
        )
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        """Compute all scales again: reading them would take longer."""
        from fdch.networks.backbones.kernels import activate_backward

        planes, bias = ctx.saved_tensors
        gradient = gradient.contiguous(memory_format=torch.channels_last)
        result = torch.empty_like(planes)
        grid, places, channels, tile = _windows(planes, ctx.is_normalized)
        partial = torch.empty(grid[0], channels, device=planes.device)
        activate_backward[grid](
            planes,
            bias,
            gradient,
            result,
            partial,
            places,
            channels,
            ctx.is_normalized,
            OFFSET,
            ALPHA,
            BETA,
            _parts(planes),
            *tile,
        )
        return result, partial.sum(dim=0).to(bias.dtype), None


def _windows(
    planes: Tensor, is_normalized: bool
) -> tuple[tuple[int, int], int, int, tuple[int, int, int]]:
    """Return the grid, places and channels, and the tile: rows, window and halo.

    Programs read a window of channels and write those with enough neighbours in it.
    """
    channels = planes.shape[1]
    places = planes.numel() // channels
    halo = HALO if is_normalized and channels > WINDOW else 0
    across = -(-channels // (WINDOW - 2 * halo))
    most = NORM_PROGRAMS if is_normalized else PROGRAMS
    programs = min(-(-places // WINDOW_ROWS), max(most // across, 1))
    return (programs, across), places, channels, (WINDOW_ROWS, WINDOW, halo)


def _parts(planes: Tensor) -> int:
    """Return how many terms of bfloat16 hold as many digits as the planes do."""
    return 1 if planes.dtype == torch.bfloat16 else 3


def max_pool(planes: Tensor) -> Tensor:
    """Take the maximum of 3 x 3 windows, stride 2, overhanging below and right."""
    return _MaxPool.apply(planes)  # type: ignore[no-untyped-call]


class _MaxPool(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, planes: Tensor) -> Tensor:
        from fdch.networks.backbones.kernels import max_pool_forward

        planes = planes.contiguous(memory_format=torch.channels_last)
        batch, channels, *sides = planes.shape
        outputs = _empty(planes, batch, channels, *(side // 2 for side in sides))
        positions = torch.empty_like(outputs, dtype=torch.uint8)
        ctx.save_for_backward(positions)
        ctx.sides = sides
        grid, places, tile = _pool_tiles(outputs)
        max_pool_forward[grid](
            planes, outputs, positions, places, channels, *sides, *tile
        )
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        from fdch.networks.backbones.kernels import max_pool_backward

        (positions,) = ctx.saved_tensors
        gradient = gradient.contiguous(memory_format=torch.channels_last)
        batch, channels = gradient.shape[:2]
        result = _empty(gradient, batch, channels, *ctx.sides)
        grid, places, tile = _pool_tiles(result)
        max_pool_backward[grid](
            positions, gradient, result, places, channels, *ctx.sides, *tile
        )
        return result


def _empty(planes: Tensor, *shape: int) -> Tensor:
    """Return planes of another shape, channels last, on the device of these."""
    dtype, device = planes.dtype, planes.device
    layout = torch.channels_last
    return torch.empty(shape, dtype=dtype, device=device, memory_format=layout)


def _pool_tiles(planes: Tensor) -> tuple[tuple[int, int], int, tuple[int, int]]:
    """Return the grid, places, and how many places and channels make a tile."""
    channels = planes.shape[1]
    places = planes.numel() // channels
    columns = min(1 << (channels - 1).bit_length(), POOL_COLUMNS)
    rows = POOL_TILE // columns
    return (-(-places // rows), -(-channels // columns)), places, (rows, columns)


def frozen_norm(
    planes: Tensor,
    norm: nn.BatchNorm2d,
    is_activated: bool,
    residual: Tensor | None = None,
) -> Tensor:
    """Apply a BatchNorm in evaluation mode, then ReLU6 or a residual.

    Planes are (batch, channels, rows, columns). Mean and deviation of the norm are
    fixed; its weight and bias may learn. A residual is added where there is no ReLU6.
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
