"""The image hash layer: features to outputs (F in the paper)."""

from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fdch.networks._base import FeatureNetwork
from fdch.networks.initialization import Initialization, initialize, linear

# a deviation this much smaller than the largest is rounding, not signal
NEGLIGIBLE = 1e-6
Side = Literal["image", "text"]


class Standardization(nn.Module):
    """Subtract the training mean of each feature, divide by its deviation.

    Does nothing until it is fitted.

    Args:
        features: Number of features.
        of: Which side's features they are.
    """

    def __init__(self, features: int, of: Side = "image") -> None:
        super().__init__()
        self.of = of
        self.mean: Tensor
        self.deviation: Tensor
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("deviation", torch.ones(features))

    def fit(self, features: NDArray[np.float32]) -> Self:
        """Take mean and deviation of training features, (items, features).

        A feature that is the same for all items is only centred.
        """
        mean = features.mean(axis=0, dtype=np.float64)
        deviation = features.std(axis=0, dtype=np.float64)
        varies = deviation > NEGLIGIBLE * deviation.max(initial=0)
        deviation = np.where(varies, deviation, 1)
        self.mean.copy_(torch.from_numpy(mean))
        self.deviation.copy_(torch.from_numpy(deviation))
        return self

    def forward(self, features: Tensor) -> Tensor:
        """Standardise features, (batch, features)."""
        return (features - self.mean) / self.deviation


def fit_standardization(
    network: nn.Module, features: NDArray[Any], of: Side = "image"
) -> None:
    """Fit every standardisation of one side in a network to training features."""
    for module in network.modules():
        if isinstance(module, Standardization) and module.of == of:
            module.fit(features)


class ImageHead(nn.Module):
    """Standardised features, with dropout, through one linear layer.

    Args:
        features: Number of features.
        outputs: Number of outputs: bits, or the width of the fusion.
        dropout: Probability that a feature is left out while training.
        initialization: How the weights are first drawn.
        generator: Where the random numbers come from; none draws with seed 0.
    """

    def __init__(
        self,
        features: int,
        outputs: int,
        *,
        dropout: float = 0.0,
        initialization: Initialization = "torch",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        generator = generator or torch.Generator().manual_seed(0)
        self.standardization = Standardization(features)
        self.dropout = nn.Dropout(dropout)
        self.output = linear(features, outputs)
        initialize(self, initialization, generator)

    def forward(self, features: Tensor) -> Tensor:
        """Turn features (batch, features) into outputs (batch, outputs)."""
        return self.output(self.dropout(self.standardization(features)))


class FineTunedNetwork(nn.Module):
    """An image network trained together with the head above it.

    Mean and deviation inside BatchNorm layers stay as they were learned on many
    pictures: small batches would only blur them.

    Args:
        network: Pictures to features.
        head: Features to outputs.
    """

    def __init__(self, network: FeatureNetwork, head: ImageHead) -> None:
        super().__init__()
        self.network, self.head = network, head

    def forward(self, pixels: Tensor) -> Tensor:
        """Turn pictures (batch, size, size, 3) into outputs (batch, outputs)."""
        return self.head(self.network(pixels))

    def train(self, mode: bool = True) -> Self:
        """Switch between training and evaluation, except for BatchNorm."""
        super().train(mode)
        for module in self.network.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eval()
        return self
