"""A small image network to be trained from nothing on tiny pictures."""

from typing import NamedTuple

from torch import Tensor, nn

from fdch.networks._base import FeatureNetwork
from fdch.networks.initialization import convolution


class Row(NamedTuple):
    """One convolution: its outputs and how far it halves the picture."""

    outputs: int
    stride: int


ROWS = (Row(32, 2), Row(64, 2), Row(128, 2), Row(128, 1), Row(256, 2))
CHANNELS_PER_GROUP = 16


class SmallNetwork(FeatureNetwork):
    """Five 3 x 3 convolutions and a mean over the picture: 256 features.

    GroupNorm keeps the features of a picture independent of its batch, in
    training as in encoding.
    """

    name = "small"
    size = 64
    width = ROWS[-1].outputs

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        inputs = 3
        for outputs, stride in ROWS:
            layer = convolution(inputs, outputs, kernel=3)
            layer.stride, layer.padding = (stride, stride), (1, 1)
            norm = nn.GroupNorm(outputs // CHANNELS_PER_GROUP, outputs)
            layers += [layer, norm, nn.ReLU(inplace=True)]
            inputs = outputs
        self.layers = nn.Sequential(*layers)

    def forward(self, pixels: Tensor) -> Tensor:
        """Turn pictures (batch, 64, 64, 3) into features (batch, 256)."""
        planes = (self.planes(pixels) - 127.5) / 64
        return self.layers(planes).mean(dim=(2, 3))
