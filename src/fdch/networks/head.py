"""The image hash network over features (F in the paper)."""

from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from fdch.networks._base import FeatureNetwork
from fdch.networks.augmentation import Augmentation
from fdch.networks.device import Precision, compute_in
from fdch.networks.dropout import Dropout
from fdch.networks.initialization import Initialization, initialize, linear

# a deviation this much smaller than the largest is rounding, not signal
NEGLIGIBLE = 1e-6
# share of the mean feature that is added under a root, whose slope at 0 is infinite
FLOOR = 1e-3
TINY = 1e-12
Side = Literal["image", "text"]


class Standardization(nn.Module):
    """Subtract the training mean of each feature, divide by its deviation.

    Features that are never negative are pooled activations or counts, a few large and
    most near 0; their square root is standardised instead. Does nothing until it is
    fitted. `of` says which side's features they are.
    """

    def __init__(self, features: int, of: Side = "image") -> None:
        super().__init__()
        self.of = of
        self.mean: Tensor
        self.deviation: Tensor
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("deviation", torch.ones(features))
        self.floor: Tensor  # added under the root; 0 takes no root
        self.register_buffer("floor", torch.zeros(()))

    def fit(self, features: NDArray[np.float32]) -> Self:
        """Take mean and deviation of training features, (items, features).

        A feature that is the same for all items is only centred.
        """
        is_positive = features.min(initial=0) >= 0
        floor = FLOOR * features.mean(dtype=np.float64) if is_positive else 0.0
        self.floor.fill_(floor)
        values = np.sqrt(features + floor) if floor > 0 else features
        mean = values.mean(axis=0, dtype=np.float64)
        deviation = values.std(axis=0, dtype=np.float64)
        varies = deviation > NEGLIGIBLE * deviation.max(initial=0)
        deviation = np.where(varies, deviation, 1)
        self.mean.copy_(torch.from_numpy(mean))
        self.deviation.copy_(torch.from_numpy(deviation))
        return self

    def forward(self, features: Tensor) -> Tensor:
        """Standardise features, (batch, features)."""
        # the smallest number keeps the slope finite where no root is taken
        roots = torch.sqrt(features.clamp(min=0) + self.floor + TINY)
        has_root = (self.floor > 0).to(features.dtype)
        values = torch.lerp(features, roots, has_root)  # one or the other
        return (values - self.mean) / self.deviation


def fit_standardization(
    network: nn.Module, features: NDArray[Any], of: Side = "image"
) -> None:
    """Fit every standardisation of one side in a network to training features."""
    for module in network.modules():
        if isinstance(module, Standardization) and module.of == of:
            module.fit(features)


class ImageHead(nn.Module):
    """Standardised features through a linear layer, or a hidden one before it.

    Args:
        features: Number of features.
        outputs: Number of outputs: bits, or the width of the fusion.
        hidden: Width of the hidden layer; 0 for none, as in the paper.
        dropout: Probability that a feature or hidden unit is left out in training.
        initialization: How the weights are first drawn.
        generator: Where the random numbers come from; none draws with seed 0.
    """

    def __init__(
        self,
        features: int,
        outputs: int,
        *,
        hidden: int = 0,
        dropout: float = 0.0,
        initialization: Initialization = "torch",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        generator = generator or torch.Generator().manual_seed(0)
        self.standardization = Standardization(features)
        self.dropout = Dropout(dropout)
        self.hidden = linear(features, hidden) if hidden else None
        self.output = linear(hidden or features, outputs)
        initialize(self, initialization, generator)

    def forward(self, features: Tensor) -> Tensor:
        """Turn features (batch, features) into outputs (batch, outputs)."""
        seen = self.dropout(self.standardization(features))
        if self.hidden is not None:
            seen = self.dropout(functional.relu(self.hidden(seen)))
        return self.output(seen)


class FineTunedNetwork(nn.Module):
    """An image network trained together with the head above it.

    It takes features as well, which teach the head alone. The precision is that of the
    image network's arithmetic; the head computes in float32. With `augment`, pictures
    are changed at random while training.

    Mean and deviation inside BatchNorm layers stay as they were learned on many
    pictures: small batches would only blur them.
    """

    def __init__(
        self,
        network: FeatureNetwork,
        head: ImageHead,
        precision: Precision = "auto",
        augment: bool = False,
    ) -> None:
        super().__init__()
        self.network, self.head, self.precision = network, head, precision
        self.augmentation = Augmentation() if augment else None

    def forward(self, images: Tensor) -> Tensor:
        """Turn images into outputs (batch, outputs).

        Images are pictures, uint8 (batch, size, size, 3), or features, float32 (batch,
        features).
        """
        if images.dtype != torch.uint8:
            return self.head(images)
        if self.augmentation is not None:
            images = self.augmentation(images)
        with compute_in(self.precision, images.device):
            features = self.network(images)
        return self.head(features.float())

    def train(self, mode: bool = True) -> Self:
        """Switch between training and evaluation, except for BatchNorm."""
        super().train(mode)
        for module in self.network.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eval()
        return self
