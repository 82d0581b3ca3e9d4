"""What an image network is to be chosen by its name, and one of any module."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import torch
from torch import Tensor, nn

from fdch.errors import SettingError
from fdch.networks._base import FeatureNetwork

# of ImageNet's pixels, each colour from 0 to 1
MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)


class ModuleNetwork(FeatureNetwork):
    """A module with the scaling of pixels that it was trained with.

    Args:
        name: What messages call it.
        module: Turns planes, float32 (batch, 3, size, size), into features.
        size: Rows and columns of the pictures it takes.
        width: Number of features it gives.
        mean: Of each colour, from 0 to 1; taken off the pixels.
        deviation: Of each colour; the pixels are divided by it.
        revision: What its features depend on beside its weights.

    Raises:
        SettingError: The module gives other features than (batch, width).
    """

    def __init__(
        self,
        name: str,
        module: nn.Module,
        *,
        size: int,
        width: int,
        mean: Sequence[float] = MEAN,
        deviation: Sequence[float] = DEVIATION,
        revision: str = "",
    ) -> None:
        super().__init__()
        self.name, self.size, self.width = name, size, width
        self.revision = f"\0{size} {revision}"
        self.module = module
        self.mean: Tensor
        self.deviation: Tensor
        self.register_buffer("mean", torch.tensor(mean).reshape(3, 1, 1))
        self.register_buffer("deviation", torch.tensor(deviation).reshape(3, 1, 1))
        self._require_width()

    def forward(self, pixels: Tensor) -> Tensor:
        """Turn pictures (batch, size, size, 3) into features (batch, width)."""
        planes = pixels.permute(0, 3, 1, 2).to(self.mean.dtype) / 255
        return self.module((planes - self.mean) / self.deviation)

    @torch.no_grad()
    def _require_width(self) -> None:
        """Run the module on two black pictures."""
        expected = (2, self.width)
        black = torch.zeros(2, self.size, self.size, 3, dtype=torch.uint8)
        try:
            found = self.eval()(black)
        except Exception as error:  # whatever the module raises
            raise SettingError(
                f"the image network '{self.name}' fails on pictures of {self.size} x "
                f"{self.size} pixels ({type(error).__name__}: {error}). Correct its "
                "size, or the module."
            ) from error
        if not isinstance(found, Tensor) or found.shape != expected:
            shape = tuple(found.shape) if isinstance(found, Tensor) else type(found)
            raise SettingError(
                f"the image network '{self.name}' turns two pictures into {shape}; "
                f"expected features of shape {expected}. Correct its width, or the "
                "module."
            )


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
        require: Refuses, before any work, where what it needs is not installed;
            None where it needs nothing.
    """

    name: str
    size: int
    width: int
    description: str
    pretrained: bool
    advice: str
    build: Callable[[Path | None, torch.Generator], FeatureNetwork]
    require: Callable[[], object] | None = None

    @classmethod
    def from_module(
        cls,
        name: str,
        build: Callable[[], nn.Module],
        *,
        size: int,
        width: int,
        mean: Sequence[float] = MEAN,
        deviation: Sequence[float] = DEVIATION,
        pretrained: bool = True,
        revision: str = "",
        description: str = "",
    ) -> "ImageNetwork":
        """Describe a module of your own.

        Args:
            name: What settings and commands call it.
            build: Makes the module, with its weights, which turns planes, float32
                (batch, 3, size, size), into features (batch, width).
            size: Rows and columns of the pictures it takes.
            width: Number of features it gives.
            mean: Of each colour, from 0 to 1; taken off the pixels.
            deviation: Of each colour; the pixels are divided by it.
            pretrained: Whether the weights are learned; others need `finetune`.
            revision: To be changed when the features change but the weights do not.
            description: One sentence for lists.

        >>> ImageNetwork.from_module("flat", nn.Flatten, size=8, width=192).size
        8
        """
        if isinstance(build, nn.Module):
            raise SettingError(
                f"build is a function that returns the module of '{name}'; got the "
                f"module itself, {type(build).__name__}. Write lambda: module."
            )

        def make(weights: Path | None, generator: torch.Generator) -> FeatureNetwork:
            if weights is not None:
                refuse_weights(name, weights)
            with torch.random.fork_rng(devices=[]):  # the module's own layers draw
                torch.manual_seed(generator.initial_seed())
                module = build()
            return ModuleNetwork(
                name,
                module,
                size=size,
                width=width,
                mean=mean,
                deviation=deviation,
                revision=revision,
            )

        advice = "Set finetune=true to train it along with the codes."
        return cls(name, size, width, description, pretrained, advice, make)

    def register(self) -> "ImageNetwork":
        """Let settings name it in this process."""
        from fdch.networks.image import NETWORKS

        if self.name in NETWORKS:
            raise SettingError(
                f"'{self.name}' is an image network of fdch's own, which settings of "
                "that name mean. Take another name."
            )
        REGISTERED[self.name] = self
        return self


REGISTERED: dict[str, ImageNetwork] = {}


def refuse_weights(name: str, weights: Path) -> NoReturn:
    """Refuse a weights file for a network that takes none."""
    raise SettingError(
        f"the image network '{name}' takes no weights file; got '{weights}'. "
        "Leave image_weights out."
    )
