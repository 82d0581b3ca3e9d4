"""CNN-F, the image network of the paper and of most deep methods compared.

Chatfield, Simonyan, Vedaldi and Zisserman, "Return of the Devil in the Details:
Delving Deep into Convolutional Nets", BMVC 2014.
"""

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from fdch.errors import DataError
from fdch.networks._base import FeatureNetwork
from fdch.networks.backbones.fused import activate, can_fuse, max_pool
from fdch.networks.backbones.matconvnet import Layer, read_network
from fdch.networks.backbones.response_norm import response_norm
from fdch.networks.initialization import convolution, linear


class ConvolutionRow(NamedTuple):
    """One row of the architecture's table."""

    name: str
    kernel: int
    stride: int = 1
    padding: int = 0
    normalized: bool = False
    pooled: bool = False


CONVOLUTIONS = (
    ConvolutionRow("conv1", 11, stride=4, normalized=True, pooled=True),
    ConvolutionRow("conv2", 5, padding=2, normalized=True, pooled=True),
    ConvolutionRow("conv3", 3, padding=1),
    ConvolutionRow("conv4", 3, padding=1),
    ConvolutionRow("conv5", 3, padding=1, pooled=True),
)
WIDTHS = (64, 256, 256, 256, 256, 4096, 4096)
POOLED_SIDE = 6


class CNNF(FeatureNetwork):
    """CNN-F from conv1 to fc7, after its ReLU: 4,096 features.

    The widths are the outputs of conv1 to conv5, fc6 and fc7.
    """

    name = "cnnf"
    size = 224

    def __init__(self, widths: tuple[int, ...] = WIDTHS) -> None:
        super().__init__()
        *convolved, hidden, self.width = widths
        self.convolutions = nn.ModuleDict()
        inputs = 3
        for row, outputs in zip(CONVOLUTIONS, convolved, strict=True):
            layer = convolution(inputs, outputs, row.kernel, bias=True)
            layer.stride, layer.padding = (row.stride,) * 2, (row.padding,) * 2
            self.convolutions[row.name] = layer
            inputs = outputs
        self.fc6 = linear(inputs * POOLED_SIDE**2, hidden)
        self.fc7 = linear(hidden, self.width)
        self.mean: Tensor
        self.register_buffer("mean", torch.full((self.size, self.size, 3), 127.0))

    def forward(self, pixels: Tensor) -> Tensor:
        """Turn pictures (batch, 224, 224, 3) into features (batch, 4096)."""
        planes = pixels  # of which blocks are made, or planes
        if not can_fuse(self.mean):
            planes = self.planes(pixels) - self.planes(self.mean[None])
        for row in CONVOLUTIONS:
            planes = self._convolve(planes, row)
            if row.pooled:
                planes = pool(planes)
        # channels, rows, columns: the order in which fc6's filters are unrolled
        rows = planes.flatten(start_dim=1)
        return functional.relu(self.fc7(functional.relu(self.fc6(rows))))

    def _convolve(self, planes: Tensor, row: ConvolutionRow) -> Tensor:
        layer: Any = self.convolutions[row.name]
        if can_fuse(self.mean):
            if row.stride > 1:
                planes = convolve_blocks(planes, self.mean, layer.weight, row.stride)
            else:
                planes = functional.conv2d(planes, layer.weight, padding=row.padding)
            return activate(planes, layer.bias, row.normalized)
        planes = functional.relu(layer(planes), inplace=True)
        return response_norm(planes) if row.normalized else planes


def convolve_blocks(
    pixels: Tensor, mean: Tensor, weight: Tensor, stride: int
) -> Tensor:
    """Convolve pictures less their mean, with a stride, as blocks without one.

    A block of 4 x 4 pixels has 48 channels, which matrix units take as they are;
    cuDNN would pad 3 to 8. Zeros fill the filters up to whole blocks.

    Args:
        pixels: Pictures, (batch, size, size, colours); the stride divides the size.
        mean: What is subtracted, (size, size, colours).
        weight: Filters, (outputs, colours, rows, columns).
        stride: The side of a block.
    """
    device = weight.device
    is_cast = torch.is_autocast_enabled(device.type)
    dtype = torch.get_autocast_dtype(device.type) if is_cast else weight.dtype
    blocks, means = (
        _split_sides(pictures, 1, stride).transpose(2, 3)
        for pictures in (pixels, mean[None])
    )
    planes = torch.empty(blocks.shape, dtype=dtype, device=device)
    torch.sub(blocks, means, out=planes)  # rearranges and converts on the way
    missing = -weight.shape[-1] % stride
    filters = functional.pad(weight, (0, missing, 0, missing))
    # outputs, then the order in a block: row, column, colour
    filters = _split_sides(filters, 2, stride).permute(0, 3, 5, 1, 2, 4).flatten(1, 3)
    return functional.conv2d(planes.flatten(3).permute(0, 3, 1, 2), filters)


def _split_sides(pictures: Tensor, axis: int, side: int) -> Tensor:
    """Split rows, at this axis, and columns, at the next, into blocks."""
    rows = torch.unflatten(pictures, axis, (-1, side))
    return torch.unflatten(rows, axis + 2, (-1, side))


def pool(planes: Tensor) -> Tensor:
    """Take the maximum of 3 x 3 windows, stride 2, overhanging below and right.

    Counting a last incomplete window equals the published padding of one row
    below and one column to the right after conv1; elsewhere none is incomplete.
    """
    if can_fuse(planes):
        return max_pool(planes)
    return functional.max_pool2d(planes, kernel_size=3, stride=2, ceil_mode=True)


def load_weights(network: CNNF, path: Path) -> None:
    """Fill the network from a file laid out as MatConvNet's imagenet-vgg-f.mat."""
    published = read_network(path)
    convolutions: dict[str, Any] = dict(network.convolutions)
    layers = convolutions | {"fc6": network.fc6, "fc7": network.fc7}
    for name, layer in layers.items():
        if name not in published.layers:
            found = ", ".join(published.layers) or "none"
            raise DataError(f"'{path}' has no layer '{name}'; it has: {found}.")
        _copy(layer, published.layers[name], f"layer '{name}' of '{path}'")
    mean = published.mean
    if mean.shape[:2] not in {(1, 1), (network.size, network.size)}:
        raise DataError(
            f"the mean picture of '{path}' has shape {mean.shape}; "
            f"expected {network.size} x {network.size} x 3 or three values."
        )
    network.mean.copy_(torch.from_numpy(mean).expand(network.mean.shape))


@torch.no_grad()
def _copy(layer: nn.Conv2d | nn.Linear, published: Layer, where: str) -> None:
    outputs, inputs = layer.weight.shape[:2]
    expected: tuple[int, ...]
    if isinstance(layer, nn.Conv2d):
        expected = tuple(layer.weight.shape)
    else:
        side = POOLED_SIDE if published.filters.shape[2] == POOLED_SIDE else 1
        expected = (outputs, inputs // side**2, side, side)
    if published.filters.shape != expected or published.biases.shape != (outputs,):
        raise DataError(
            f"{where} has filters of shape {_file_shape(published.filters.shape)} and "
            f"{len(published.biases)} biases; CNN-F has {_file_shape(expected)} "
            f"(height, width, in, out) and {outputs}."
        )
    filters = published.filters.reshape(layer.weight.shape)
    layer.weight.copy_(torch.from_numpy(filters.copy()))
    assert layer.bias is not None
    layer.bias.copy_(torch.from_numpy(published.biases))


def _file_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    outputs, inputs, height, width = shape
    return height, width, inputs, outputs
