"""Image networks as nodes: pixels, uint8 (rows, size, size, 3), to features."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.errors import SettingError
from fdch.export.graph import Graph
from fdch.networks._base import FeatureNetwork
from fdch.networks.backbones.cnnf import CNNF, CONVOLUTIONS
from fdch.networks.backbones.efficientnet import (
    Block,
    ConvolutionNorm,
    EfficientNetLite,
)
from fdch.networks.backbones.response_norm import ALPHA, BETA, OFFSET, REACH
from fdch.networks.backbones.small import CHANNELS_PER_GROUP, ROWS, SmallNetwork


def image_features(graph: Graph, network: FeatureNetwork, pixels: str) -> str:
    """Add an image network in evaluation mode; return the name of its features."""
    network = network.folded()
    planes = graph.cast(pixels, np.float32)
    planes = graph.add("Transpose", planes, perm=[0, 3, 1, 2])
    if isinstance(network, EfficientNetLite):
        return _efficientnet(graph, network, planes)
    if isinstance(network, SmallNetwork):
        return _small(graph, network, planes)
    if isinstance(network, CNNF):
        return _cnnf(graph, network, planes)
    raise SettingError(f"the image network '{network.name}' cannot be exported yet.")


def _efficientnet(graph: Graph, network: EfficientNetLite, planes: str) -> str:
    planes = _scale(graph, planes, 127, 128)
    planes = _convolution_norm(graph, network.stem, planes)
    for block in network.blocks:
        assert isinstance(block, Block)
        found = planes
        if block.expand is not None:
            found = _convolution_norm(graph, block.expand, found)
        found = _convolution_norm(graph, block.depthwise, found)
        found = _convolution_norm(graph, block.project, found)
        planes = graph.add("Add", found, planes) if block.skips else found
    return _mean(graph, _convolution_norm(graph, network.head, planes))


def _convolution_norm(graph: Graph, layer: ConvolutionNorm, planes: str) -> str:
    """Add a convolution into which its norm has been folded."""
    padding = [layer.before] * 2 + [layer.after] * 2
    stride, groups = layer.stride, layer.conv.groups
    found = _convolution(graph, layer.conv, planes, padding, stride, groups)
    if not layer.activated:
        return found
    bounds = [graph.constant(np.float32(bound)) for bound in (0, 6)]
    return graph.add("Clip", found, *bounds)


def _small(graph: Graph, network: SmallNetwork, planes: str) -> str:
    planes = _scale(graph, planes, 127.5, 64)
    layers = iter(network.layers)
    for row in ROWS:
        convolution, norm, _ = next(layers), next(layers), next(layers)
        planes = _convolution(graph, convolution, planes, [1] * 4, row.stride)
        groups = row.outputs // CHANNELS_PER_GROUP
        planes = graph.add("Relu", _group_norm(graph, norm, planes, groups))
    return _mean(graph, planes)


def _group_norm(graph: Graph, norm: Any, planes: str, groups: int) -> str:
    """Add a GroupNorm: the norm of each group as if it were one channel."""
    shape = graph.add("Shape", planes)
    joined = graph.add("Reshape", planes, graph.constant([0, groups, -1], np.int64))
    one = graph.constant(np.ones(groups, np.float32))
    zero = graph.constant(np.zeros(groups, np.float32))
    joined = graph.add("InstanceNormalization", joined, one, zero, epsilon=norm.eps)
    planes = graph.add("Reshape", joined, shape)
    scale, shift = (_array(part)[:, None, None] for part in (norm.weight, norm.bias))
    planes = graph.add("Mul", planes, graph.constant(scale))
    return graph.add("Add", planes, graph.constant(shift))


def _cnnf(graph: Graph, network: CNNF, planes: str) -> str:
    mean = _array(network.mean).transpose(2, 0, 1)[None]
    planes = graph.add("Sub", planes, graph.constant(mean))
    for row in CONVOLUTIONS:
        layer = network.convolutions[row.name]
        padding = [row.padding] * 4
        planes = _convolution(graph, layer, planes, padding, row.stride)
        planes = graph.add("Relu", planes)
        if row.normalized:
            window = 2 * REACH + 1
            norm = {"alpha": ALPHA * window, "beta": BETA, "bias": OFFSET}
            planes = graph.add("LRN", planes, size=window, **norm)
        if row.pooled:
            shape = {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}
            planes = graph.add("MaxPool", planes, **shape)
    rows = graph.add("Flatten", planes)
    for layer in (network.fc6, network.fc7):
        rows = graph.add("Relu", linear(graph, layer, rows))
    return rows


def linear(graph: Graph, layer: Any, rows: str) -> str:
    """Add a linear layer of torch's."""
    weight = graph.constant(_array(layer.weight))
    bias = graph.constant(_array(layer.bias))
    return graph.add("Gemm", rows, weight, bias, transB=1)


def _convolution(
    graph: Graph,
    layer: Any,
    planes: str,
    padding: list[int],
    stride: int,
    groups: int = 1,
) -> str:
    arrays = [layer.weight] if layer.bias is None else [layer.weight, layer.bias]
    constants = [graph.constant(_array(array)) for array in arrays]
    strides = [stride, stride]
    return graph.add(
        "Conv", planes, *constants, pads=padding, strides=strides, group=groups
    )


def _scale(graph: Graph, planes: str, middle: float, scale: float) -> str:
    centred = graph.add("Sub", planes, graph.constant(np.float32(middle)))
    return graph.add("Div", centred, graph.constant(np.float32(scale)))


def _mean(graph: Graph, planes: str) -> str:
    return graph.add("Flatten", graph.add("GlobalAveragePool", planes))


def _array(tensor: Any) -> NDArray[np.float32]:
    return np.asarray(tensor.detach().cpu().numpy(), np.float32)
