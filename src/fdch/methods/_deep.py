"""What methods with an image network and a text network share."""

import logging
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import nn

from fdch.data.fitting import split_static
from fdch.data.pairs import PairedSet
from fdch.errors import DamagedRun, SettingError
from fdch.methods._base import Array, HashMethod
from fdch.methods._ranges import with_values
from fdch.methods._space import Range, SearchSpace
from fdch.networks import image as image_networks
from fdch.networks.head import FineTunedNetwork, ImageHead, fit_standardization
from fdch.networks.initialization import Initialization
from fdch.networks.text import TextNetwork
from fdch.training import batches
from fdch.training.batches import TrainingPairs
from fdch.training.context import Context
from fdch.training.inputs import Inputs
from fdch.training.loop import Schedule
from fdch.training.randomness import derive_seed

logger = logging.getLogger(__name__)
SIZES = ("_width", "_hidden", "batch_size", "learning_rate", "epoch_scale")
WEIGHTS = ("_weight", "epochs", "weight_decay", "backbone_rate")
SHARES = ("_dropout",)
# training pairs on which the usual numbers of epochs were chosen
CHOSEN_ON = 4500
# what must hold for settings whose names end so
RULES: tuple[tuple[str, tuple[str, ...], Callable[[float], bool]], ...] = (
    ("these settings must be positive", SIZES, lambda x: x > 0),
    ("these must not be negative", WEIGHTS, lambda x: x >= 0),
    ("these must be at least 0, below 1", SHARES, lambda x: 0 <= x < 1),
)
# What the releases of this family of methods do, as a preset states it. They train
# the image network too; that is left to be asked for, as with `finetune` a preset
# would refuse ready features.
RELEASED: Mapping[str, Any] = {
    "text_hidden": 8192,
    "reduction": "paper",
    "optimizer": "sgd",
    "learning_rate": 10**-1.5,
    "final_learning_rate": 10**-3,
    "weight_decay": 5e-4,
    "initialization": "normal",
    "standardize": False,
    "image_dropout": 0.0,
    "word_dropout": 0.0,
    "static_dropout": 0.0,
    "backbone_rate": 1.0,
}


@dataclass
class DeepMethod(HashMethod):
    """A method that trains networks; the settings that all of them have.

    Args:
        text_hidden: Hidden units of the text networks.
        batch_size: Pairs in a batch.
        epoch_scale: Factor on the number of epochs, given or usual.
        optimizer: "adamw" or "sgd".
        learning_rate: Rate of the first epoch, of each stage where there are two.
        final_learning_rate: Rate of the last.
        weight_decay: Decay of all weights.
        initialization: Of new layers: "torch", "he", or "normal" for N(0, 0.01²).
        standardize: Scale image and static text features by training mean and
            deviation; not those of images with `finetune`, which change in training.
        image_dropout: Share of image features dropped while training.
        word_dropout: Share of words dropped while training.
        static_dropout: Share of static text features dropped while training.
        finetune: Train the image network too, instead of freezing it.
        backbone_rate: Share of the learning rate that the image network gets.
    """

    text_hidden: int = 2048
    batch_size: int = 128
    epoch_scale: float = 1.0
    optimizer: Literal["adamw", "sgd"] = "adamw"
    learning_rate: float = 1e-3
    final_learning_rate: float = 1e-5
    weight_decay: float = 0.6
    initialization: Initialization = "torch"
    standardize: bool = True
    image_dropout: float = 0.5
    word_dropout: float = 0.5
    static_dropout: float = 0.5
    finetune: bool = False
    backbone_rate: float = 0.1

    # Sentences want less dropout than a handful of tags, so that comes first.
    search_space: ClassVar[SearchSpace] = {
        "image_dropout": Range(0.0, 0.7, first=0.2),
        "word_dropout": Range(0.0, 0.7, first=0.2),
        "weight_decay": Range(0.02, 1.5, log=True),
        "learning_rate": Range(3e-4, 3e-3, log=True),
        "epoch_scale": Range(0.5, 2.0, log=True),
    }

    _least_pairs: ClassVar[int] = 2  # they learn how alike two pairs are

    def check(self) -> None:
        """Refuse settings outside their range."""
        super().check()
        names = [field.name for field in fields(self)]
        for rule, endings, holds in RULES:
            ruled = [name for name in names if name.endswith(endings)]
            wrong = [name for name in ruled if not holds(getattr(self, name))]
            if wrong:
                raise SettingError(f"{rule}: {with_values(self, wrong)}.")

    def image_outputs(self, images: Array) -> NDArray[np.float32]:
        """Give F."""
        return batches.image_outputs(self._networks["image"], images)

    def text_outputs(self, texts: csr_array) -> NDArray[np.float32]:
        """Give G."""
        return batches.text_outputs(self._networks["text"], texts)

    @property
    def functions(self) -> Mapping[str, nn.Module]:
        """The networks by their roles."""
        return self._networks

    def _build(
        self, inputs: Inputs, generator: torch.Generator
    ) -> dict[str, nn.Module]:
        """Make the networks by their roles, "image" and "text" among them."""
        return {
            "image": self._image_network(inputs, self.bits, generator),
            "text": self._text_network(inputs, self.bits, generator),
        }

    @abstractmethod
    def _train(
        self, training: TrainingPairs, pairs: PairedSet, context: Context
    ) -> None:
        """Teach the networks."""

    def _learn(
        self,
        inputs: Inputs,
        pairs: PairedSet,
        validation: PairedSet | None,
        context: Context,
    ) -> None:
        device = context.torch_device()
        if len(pairs) < self.batch_size:
            logger.warning(
                "%d training pairs are fewer than one batch of %d; "
                "each step takes all of them.",
                len(pairs),
                self.batch_size,
            )
        images = inputs.images(pairs.images, context, keep=True)
        words, static = split_static(inputs.texts(pairs.texts), inputs.static_width)
        self._networks = self._build(inputs, self._generator())
        for network in self._networks.values():
            if self.standardize and not inputs.finetune:
                fit_standardization(network, images)
            if self.standardize and static is not None:
                fit_standardization(network, static, of="text")
            network.to(device)
        training = TrainingPairs(images, words, pairs.labels, device, static)
        self._train(training, pairs, context)

    def _generator(self) -> torch.Generator:
        return torch.Generator().manual_seed(derive_seed(self.seed, "weights"))

    def _image_network(
        self, inputs: Inputs, outputs: int, generator: torch.Generator
    ) -> nn.Module:
        head = ImageHead(
            inputs.image_width,
            outputs,
            dropout=self.image_dropout,
            initialization=self.initialization,
            generator=generator,
        )
        if not inputs.finetune:
            return head
        weights = Path(inputs.image_weights) if inputs.image_weights else None
        with torch.device("cpu"):
            network = image_networks.load(
                inputs.image_network, weights, generator=generator
            )
        return FineTunedNetwork(network, head)

    def _text_network(
        self, inputs: Inputs, outputs: int, generator: torch.Generator
    ) -> nn.Module:
        return TextNetwork(
            inputs.text_width - inputs.static_width,
            outputs,
            static=inputs.static_width,
            hidden=self.text_hidden,
            word_dropout=self.word_dropout,
            static_dropout=self.static_dropout,
            initialization=self.initialization,
            generator=generator,
        )

    def _schedule(self, asked: int, usual: int, items: int) -> Schedule:
        """Plan the epochs asked for; 0 asks for as many as the data needs.

        That is the usual number, which was chosen on 4,500 pairs, or for fewer
        pairs as many as take as many steps as it took there.
        """
        steps = usual * math.ceil(CHOSEN_ON / self.batch_size)
        enough = math.ceil(steps / math.ceil(items / self.batch_size))
        epochs = asked or max(usual, enough)
        return Schedule(
            max(1, round(self.epoch_scale * epochs)),
            self.batch_size,
            self.learning_rate,
            self.final_learning_rate,
            self.weight_decay,
            self.optimizer,
            self.backbone_rate,
        )

    def _learned(self) -> dict[str, Array]:
        return {
            f"{role}.{name}": tensor.detach().cpu().numpy()
            for role, network in self._networks.items()
            for name, tensor in network.state_dict().items()
        }

    def _take_up(
        self, inputs: Inputs, state: Mapping[str, Array], context: Context
    ) -> None:
        # Without memory at first: sizes in a saved file may be anybody's.
        with torch.device("meta"):
            self._networks = self._build(inputs, self._generator())
        for role, network in self._networks.items():
            prefix = f"{role}."
            weights = {
                name.removeprefix(prefix): array
                for name, array in state.items()
                if name.startswith(prefix)
            }
            _require_fit(role, network, weights)
            network.to_empty(device=context.torch_device())
            network.load_state_dict(
                {k: torch.from_numpy(np.array(v)) for k, v in weights.items()}
            )


def _require_fit(role: str, network: nn.Module, weights: Mapping[str, Array]) -> None:
    expected = {
        name: f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"
        for name, tensor in network.state_dict().items()
    }
    found = {name: f"{array.dtype} {array.shape}" for name, array in weights.items()}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            raise DamagedRun(
                f"the saved state does not fit its settings: {role}.{name} is "
                f"{found.get(name, 'missing')}, expected {expected.get(name, 'none')}. "
                "Train the run again."
            )
