"""What every image network promises: pictures as bytes in, features out."""

import hashlib
from abc import ABC, abstractmethod
from typing import Self

import torch
from torch import Tensor, nn


class FeatureNetwork(nn.Module, ABC):
    """A network from decoded pictures to features.

    Pictures come as decoded, uint8 of shape (batch, size, size, 3), so that bytes
    rather than floats travel to the device; scaling is part of the network.
    """

    name: str
    size: int
    width: int
    revision: str = ""  # what else features depend on, beside name and weights

    @abstractmethod
    def forward(self, pixels: Tensor) -> Tensor:
        """Turn pictures (batch, size, size, 3) into features (batch, width)."""

    @property
    def fingerprint(self) -> str:
        """Digest of the name and of every weight, as they are now."""
        name = self.name + self.revision
        digest = hashlib.blake2b(name.encode(), digest_size=16)
        for key, value in self.state_dict().items():
            digest.update(f"\0{key}{tuple(value.shape)}{value.dtype}".encode())
            digest.update(value.detach().cpu().reshape(-1).view(torch.uint8).numpy())
        return digest.hexdigest()

    def folded(self) -> Self:
        """Return a network with the same evaluation output that may be faster."""
        return self

    def planes(self, pixels: Tensor) -> Tensor:
        """Rearrange pixels to (batch, 3, size, size), in the weights' precision.

        The result keeps colours innermost in memory (channels last), which is
        how convolutions are fastest.
        """
        weight = next(self.parameters())
        return pixels.permute(0, 3, 1, 2).to(weight.dtype)
