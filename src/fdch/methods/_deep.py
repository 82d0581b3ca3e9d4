"""What methods with an image network and a text network share."""

import logging
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import nn

from fdch.data.fitting import split_static
from fdch.data.pairs import PairedSet
from fdch.methods._base import Array, HashMethod
from fdch.methods._settings.checks import require_by_names
from fdch.methods._settings.space import Range, SearchSpace
from fdch.networks import image as image_networks
from fdch.networks.device import Precision, choose_precision, quick_products
from fdch.networks.head import FineTunedNetwork, ImageHead, fit_standardization
from fdch.networks.initialization import Initialization
from fdch.networks.text import TextNetwork
from fdch.networks.weights import load_weights, weights_to_arrays
from fdch.training import batches
from fdch.training.batches import Pairwise, TrainingPairs
from fdch.training.context import Context
from fdch.training.devices.processes import take_turns
from fdch.training.dropout_choice import (
    choose_image_dropout,
    choose_static_dropout,
    choose_word_dropout,
)
from fdch.training.inputs import Inputs
from fdch.training.loop import Schedule, Shape, Stage, train
from fdch.training.randomness import derive_seed

AnyStage = TypeVar("AnyStage", bound=Stage)
logger = logging.getLogger(__name__)
# training pairs on which the usual numbers of epochs were chosen
CHOSEN_ON = 4500


@dataclass
class DeepMethod(HashMethod):
    """A method that trains networks; the settings that all of them have.

    Args:
        image_hidden: Hidden units between image features and bits; 0 for none, as
            in the paper.
        text_hidden: Hidden units of the text networks.
        batch_size: Pairs in a batch.
        pairwise: Compare a batch with all training pairs ("exact") or with a random
            4,096 of them ("sampled": the gradient is unbiased, but for that of the
            neighbour term); "auto" samples beyond 20,000 pairs.
        epoch_scale: Factor on the number of epochs, given or usual.
        optimizer: "adamw" or "sgd".
        learning_rate: Rate of the first epoch, of each stage where there are two.
        final_learning_rate: Rate of the last.
        weight_decay: Decay of all weights.
        initialization: Of new layers: "torch", "he", or "normal" for N(0, 0.01²).
        standardize: Scale image and static text features by training mean and
            deviation; not those of an image network without weights.
        image_dropout: Share of image features dropped while training; by
            default chosen by how much they say about the labels.
        word_dropout: Share of words dropped while training; chosen as for images.
        static_dropout: Share of static text features dropped while training;
            chosen as for images.
        finetune: Train the image network too, instead of freezing it.
        precision: With `finetune`, the arithmetic of the image network: "float32",
            "bfloat16", or "auto" for bfloat16 on an accelerator of NVIDIA's alone.
            There, other products are in TF32 unless it is "float32".
        augment: With `finetune`, crop, mirror and recolour pictures at random while
            training.
        warm_start: With `finetune`, train each stage on frozen features first; of no
            effect on an image network without weights.
        tuning_epochs: Epochs that a stage then goes on for with the image network.
        tuning_rate: Learning rate of these.
        backbone_rate: Share of the rate that the image network gets.
        backbone_decay: Decay of its weights.
    """

    image_hidden: int = 1024
    text_hidden: int = 1024
    batch_size: int = 128
    pairwise: Pairwise = "auto"
    epoch_scale: float = 1.0
    optimizer: Literal["adamw", "sgd"] = "adamw"
    learning_rate: float = 1e-3
    final_learning_rate: float = 1e-5
    weight_decay: float = 0.6
    initialization: Initialization = "torch"
    standardize: bool = True
    image_dropout: float | None = None
    word_dropout: float | None = None
    static_dropout: float | None = None
    finetune: bool = False
    precision: Precision = "auto"
    augment: bool = False
    warm_start: bool = True
    tuning_epochs: int = 10
    tuning_rate: float = 3e-4
    backbone_rate: float = 0.7
    backbone_decay: float = 0.01

    search_space: ClassVar[SearchSpace] = {
        "image_dropout": Range(0.0, 0.7, first=0.2),
        "word_dropout": Range(0.0, 0.7, first=0.2),
        "weight_decay": Range(0.02, 1.5, log=True),
        "learning_rate": Range(3e-4, 3e-3, log=True),
        "epoch_scale": Range(0.5, 2.0, log=True),
    }

    _min_pairs: ClassVar[int] = 2  # they learn how alike two pairs are

    def check(self) -> None:
        """Refuse settings outside their range."""
        super().check()
        require_by_names(self)

    def image_outputs(self, images: Array) -> NDArray[np.float32]:
        """Return F."""
        return batches.image_outputs(self._networks["image"], images)

    def text_outputs(self, texts: csr_array) -> NDArray[np.float32]:
        """Return G."""
        return batches.text_outputs(self._networks["text"], texts)

    @property
    def chosen(self) -> Mapping[str, str | float]:
        """The dropout of each side, and the precision, where they were left open."""
        is_open = {name: getattr(self, name) is None for name in self._dropout}
        found: dict[str, str | float] = {
            name: x for name, x in self._dropout.items() if is_open[name]
        }
        if self.finetune and self.precision == "auto":
            device = next(self._networks["image"].parameters()).device
            found["precision"] = choose_precision(self.precision, device)
        return {**super().chosen, **found}

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
        is_warm = inputs.finetune and self.warm_start and inputs.is_pretrained
        with take_turns():  # features and pixels are cached
            pixels = inputs.images(pairs.images, context, keep=True)
            images = inputs.features(pairs.images, context) if is_warm else pixels
        words, static = split_static(inputs.texts(pairs.texts), inputs.static_width)
        self._dropout = self._choose_dropout(images, words, static, pairs.labels)
        self._networks = self._build(inputs, self._generator())
        for network in self._networks.values():
            if self.standardize and images.dtype != np.uint8:
                fit_standardization(network, images)
            if self.standardize and static is not None:
                fit_standardization(network, static, of="text")
            network.to(device)
        given = words, pairs.labels, device, static
        tuning = None
        if is_warm:
            tuning = TrainingPairs(pixels, *given, pairwise=self.pairwise)
        training = TrainingPairs(images, *given, tuning, self.pairwise)
        with quick_products(self.precision, device):
            self._train(training, pairs, context)

    def _run(
        self,
        build: Callable[[TrainingPairs], AnyStage],
        training: TrainingPairs,
        epochs: tuple[int | None, int],
        context: Context,
        weight_decay: float | None = None,
    ) -> AnyStage:
        """Train a stage, and go on with the image network where it is tuned.

        `build` makes the stage for some inputs of the training pairs; epochs are those
        set, and the usual number. Returns the stage as it ended.
        """
        decay = self.weight_decay if weight_decay is None else weight_decay
        stage = build(training)
        schedule = self._schedule(*epochs, training.items)
        train(stage, replace(schedule, weight_decay=decay), self.seed, context)
        if training.tuning is None:
            return stage
        stage = build(training.tuning)
        stage.name += " tuned"
        tuning = self._plan(
            self.tuning_epochs, self.tuning_rate, self.tuning_rate, "cosine"
        )
        train(stage, replace(tuning, weight_decay=decay), self.seed, context)
        return stage

    def _choose_dropout(
        self,
        images: Array,
        words: csr_array,
        static: NDArray[np.float32] | None,
        labels: NDArray[np.uint8],
    ) -> dict[str, float]:
        """Return the dropout of each side: as set, or by pairs with labels."""
        if not self.about.uses_labels:
            labels = labels[:, :0]
        if labels.any() and not (is_labelled := labels.any(axis=1)).all():
            images, words, labels = (x[is_labelled] for x in (images, words, labels))
            static = None if static is None else static[is_labelled]
        choices = {
            "image_dropout": lambda: choose_image_dropout(images, labels),
            "word_dropout": lambda: choose_word_dropout(words, labels),
        }
        if static is not None:
            choices["static_dropout"] = lambda: choose_static_dropout(static, labels)
        given = {name: getattr(self, name) for name in choices}
        return {name: choices[name]() if x is None else x for name, x in given.items()}

    def _generator(self) -> torch.Generator:
        return torch.Generator().manual_seed(derive_seed(self.seed, "weights"))

    def _image_network(
        self,
        inputs: Inputs,
        outputs: int,
        generator: torch.Generator,
        hidden: int | None = None,
        dropout: float | None = None,
    ) -> nn.Module:
        """Make an image network, with the method's hidden layer unless another."""
        head = ImageHead(
            inputs.image_width,
            outputs,
            hidden=self.image_hidden if hidden is None else hidden,
            dropout=self._dropout["image_dropout"] if dropout is None else dropout,
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
        return FineTunedNetwork(network, head, self.precision, self.augment)

    def _text_network(
        self,
        inputs: Inputs,
        outputs: int,
        generator: torch.Generator,
        dropout: float | None = None,
    ) -> nn.Module:
        return TextNetwork(
            inputs.text_width - inputs.static_width,
            outputs,
            static=inputs.static_width,
            hidden=self.text_hidden,
            word_dropout=self._dropout["word_dropout"] if dropout is None else dropout,
            static_dropout=self._dropout.get("static_dropout", 0.0),
            initialization=self.initialization,
            generator=generator,
        )

    def _schedule(self, epochs: int | None, usual: int, items: int) -> Schedule:
        """Plan the epochs as set; None takes as many as the data needs.

        That is the usual number, which was chosen on 4,500 pairs, or for fewer
        pairs as many as take as many steps as it took there.
        """
        steps = usual * math.ceil(CHOSEN_ON / self.batch_size)
        enough = math.ceil(steps / math.ceil(items / self.batch_size))
        epochs = max(usual, enough) if epochs is None else epochs
        return self._plan(epochs, self.learning_rate, self.final_learning_rate)

    def _plan(
        self, epochs: int, first: float, last: float, shape: Shape = "log"
    ) -> Schedule:
        return Schedule(
            max(1, round(self.epoch_scale * epochs)),
            self.batch_size,
            first,
            last,
            self.weight_decay,
            self.optimizer,
            self.backbone_rate,
            self.backbone_decay,
            shape,
        )

    def _state(self) -> dict[str, Array]:
        return weights_to_arrays(self._networks)

    def _load_state(
        self, inputs: Inputs, state: Mapping[str, Array], context: Context
    ) -> None:
        self._dropout = dict.fromkeys(("image_dropout", "word_dropout"), 0.0)
        with torch.device("meta"):
            self._networks = self._build(inputs, self._generator())
        load_weights(self._networks, state, context.torch_device())
