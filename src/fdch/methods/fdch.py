"""FDCH: Fusion-supervised Deep Cross-modal Hashing (Wang et al., arXiv 2019).

Stage 1 learns one code per training pair through a fusion network; stage 2 lets
those codes teach an image network and a text network. The defaults are a recipe
that trains well on frozen features; `preset=paper` states the printed one.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from fdch.data.pairs import PairedSet
from fdch.errors import SettingError
from fdch.methods._base import About, Array, HashMethod
from fdch.networks import image as image_networks
from fdch.networks.fusion import FusionNetwork
from fdch.networks.head import FineTunedNetwork, ImageHead, fit_standardization
from fdch.networks.initialization import Initialization
from fdch.networks.pair import PairNetwork
from fdch.networks.text import TextNetwork
from fdch.objectives.reduction import Reduction, WeightedSum
from fdch.training import batches
from fdch.training.batches import TrainingPairs
from fdch.training.context import Context
from fdch.training.inputs import Inputs
from fdch.training.loop import Schedule, train
from fdch.training.randomness import derive_seed
from fdch.training.two_stage import (
    FusionStage,
    FusionWeights,
    ModalityStage,
    ModalityWeights,
)


@dataclass
class FDCH(HashMethod):
    """Fusion-supervised deep cross-modal hashing.

    >>> method = FDCH(bits=16, stage_one_epochs=10)
    >>> method.bits
    16

    Args:
        fusion_width: m, width at which image and text are added.
        text_hidden: Hidden units of the text networks.
        fusion_hidden: Hidden units of the fusion network.
        quantization_weight: λ, stage 1.
        balance_weight: η, stage 1.
        pairwise_weight: Weight of stage 2's pairwise term; 1 in the paper.
        imitation_weight: γ, stage 2.
        label_weight: β, stage 2.
        modality_balance_weight: α, stage 2.
        reduction: "per_term" or "paper": see `objectives/reduction.py`.
        stage_one_epochs: Epochs of stage 1.
        stage_two_epochs: Epochs of stage 2.
        batch_size: Pairs in a batch.
        optimizer: "adamw" or "sgd".
        learning_rate: Rate of the first epoch of each stage.
        final_learning_rate: Rate of the last.
        weight_decay: Decay of all weights.
        initialization: Of new layers: "torch", "he", or "normal" for N(0, 0.01²).
        standardize: Scale image features by training mean and deviation.
        image_dropout: Share of image features dropped while training.
        word_dropout: Share of words dropped while training.
        finetune: Train the image network too, instead of freezing it.
        backbone_rate: Share of the learning rate that the image network gets.
    """

    fusion_width: int = 1024
    text_hidden: int = 2048
    fusion_hidden: int = 1024
    quantization_weight: float = 0.02
    balance_weight: float = 0.003
    pairwise_weight: float = 1.0
    imitation_weight: float = 0.02
    label_weight: float = 0.02
    modality_balance_weight: float = 0.003
    reduction: Reduction = "per_term"
    stage_one_epochs: int = 25
    stage_two_epochs: int = 40
    batch_size: int = 128
    optimizer: Literal["adamw", "sgd"] = "adamw"
    learning_rate: float = 1e-3
    final_learning_rate: float = 1e-5
    weight_decay: float = 0.6
    initialization: Initialization = "torch"
    standardize: bool = True
    image_dropout: float = 0.5
    word_dropout: float = 0.5
    finetune: bool = False
    backbone_rate: float = 0.1

    about: ClassVar[About] = About(
        paper="Fusion-supervised Deep Cross-modal Hashing, Wang et al., arXiv 2019",
        supervision="labels",
        unified=True,
        image_input="pictures or features",
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            "fusion_width": 2500,
            "text_hidden": 8192,
            "fusion_hidden": 4096,
            "quantization_weight": 1.0,
            "balance_weight": 1.0,
            "imitation_weight": 1.0,
            "label_weight": 1.0,
            "modality_balance_weight": 1.0,
            "reduction": "paper",
            "stage_one_epochs": 500,
            "stage_two_epochs": 500,
            "optimizer": "sgd",
            "learning_rate": 10**-1.5,
            "final_learning_rate": 10**-3,
            "weight_decay": 5e-4,
            "initialization": "normal",
            "standardize": False,
            "image_dropout": 0.0,
            "word_dropout": 0.0,
            "backbone_rate": 1.0,
        }
    }

    _donor: ClassVar["FDCH | None"] = None

    def check(self) -> None:
        """Refuse settings outside their range."""
        super().check()
        positive = (
            "fusion_width text_hidden fusion_hidden stage_one_epochs stage_two_epochs "
            "batch_size learning_rate final_learning_rate"
        )
        wrong = [name for name in positive.split() if getattr(self, name) <= 0]
        if wrong:
            raise SettingError(f"these settings must be positive: {', '.join(wrong)}.")
        weights = [name for name in asdict(self) if name.endswith("_weight")]
        rest = (*weights, "weight_decay", "backbone_rate")
        wrong = [name for name in rest if getattr(self, name) < 0]
        if wrong:
            raise SettingError(f"these must not be negative: {', '.join(wrong)}.")
        shares = ("image_dropout", "word_dropout")
        wrong = [name for name in shares if not 0 <= getattr(self, name) < 1]
        if wrong:
            raise SettingError(
                f"these must be at least 0, below 1: {', '.join(wrong)}."
            )

    def share_stage_one(self, donor: "FDCH") -> None:
        """Let the next `fit` take stage 1 from a fitted FDCH or variant of it."""
        donor.inputs  # noqa: B018  refuses one that is not fitted
        self._donor = donor  # type: ignore[misc]

    def image_outputs(self, images: Array) -> NDArray[np.float32]:
        """Give F."""
        return batches.image_outputs(self._image, images)

    def text_outputs(self, texts: csr_array) -> NDArray[np.float32]:
        """Give G."""
        return batches.text_outputs(self._text, texts)

    def pair_outputs(self, images: Array, texts: csr_array) -> NDArray[np.float32]:
        """Give H."""
        return batches.pair_outputs(self._pair, images, texts)

    def _learn(
        self,
        inputs: Inputs,
        pairs: PairedSet,
        validation: PairedSet | None,
        context: Context,
    ) -> None:
        device = context.torch_device()
        images, texts = inputs.images(pairs.images, context), inputs.texts(pairs.texts)
        training = TrainingPairs(images, texts, pairs.labels, device)
        self._build(inputs)
        if self.standardize and not inputs.finetune:
            for network in (self._pair, self._image):
                fit_standardization(network, images)
        for network in self._networks().values():
            network.to(device)
        self._stage_one_task = self._describe_stage_one(pairs)
        B = self._stage_one(training, context)
        self._stage_two(training, B, context)

    def _build(self, inputs: Inputs) -> None:
        generator = torch.Generator().manual_seed(derive_seed(self.seed, "weights"))
        self._pair = PairNetwork(
            self._image_network(inputs, self.fusion_width, generator),
            self._text_network(inputs, self.fusion_width, generator),
            FusionNetwork(
                self.fusion_width,
                self.bits,
                hidden=self.fusion_hidden,
                initialization=self.initialization,
                generator=generator,
            ),
        )
        self._image = self._image_network(inputs, self.bits, generator)
        self._text = self._text_network(inputs, self.bits, generator)

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
        network = image_networks.load(
            inputs.image_network, weights, generator=generator
        )
        return FineTunedNetwork(network, head)

    def _text_network(
        self, inputs: Inputs, outputs: int, generator: torch.Generator
    ) -> nn.Module:
        return TextNetwork(
            inputs.text_width,
            outputs,
            hidden=self.text_hidden,
            word_dropout=self.word_dropout,
            initialization=self.initialization,
            generator=generator,
        )

    def _networks(self) -> dict[str, nn.Module]:
        return {"pair": self._pair, "image": self._image, "text": self._text}

    def _stage_one(self, training: TrainingPairs, context: Context) -> Tensor:
        weights = FusionWeights(self.quantization_weight, self.balance_weight)
        add = WeightedSum(self.reduction, training.items)
        donor, self._donor = self._donor, None  # type: ignore[misc]
        if donor is not None:
            self._copy_stage_one(donor)
        stage = FusionStage(training, self._pair, weights, add)
        if donor is None:
            train(stage, self._schedule(self.stage_one_epochs), self.seed, context)
        return stage.unified_codes()

    def _copy_stage_one(self, donor: "FDCH") -> None:
        if donor._stage_one_task != self._stage_one_task:
            raise SettingError(
                "the first stage offered was trained on other pairs or with other "
                "settings; it can be shared only where data, split, bits, seed and "
                "all settings of stage 1 are the same."
            )
        self._pair.load_state_dict(donor._pair.state_dict())

    def _describe_stage_one(self, pairs: PairedSet) -> str:
        """Fingerprint everything that stage 1 depends on."""
        later = {
            "stage_two_epochs",
            "pairwise_weight",
            "imitation_weight",
            "label_weight",
            "modality_balance_weight",
        }
        settings = {k: v for k, v in asdict(self).items() if k not in later}
        text = json.dumps([settings, pairs.fingerprint], sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def _stage_two(self, training: TrainingPairs, B: Tensor, context: Context) -> None:
        weights = ModalityWeights(
            self.pairwise_weight,
            self.imitation_weight,
            self.label_weight,
            self.modality_balance_weight,
        )
        add = WeightedSum(self.reduction, training.items)
        stage = ModalityStage(training, self._image, self._text, B, weights, add)
        train(stage, self._schedule(self.stage_two_epochs), self.seed, context)

    def _schedule(self, epochs: int) -> Schedule:
        return Schedule(
            epochs,
            self.batch_size,
            self.learning_rate,
            self.final_learning_rate,
            self.weight_decay,
            self.optimizer,
            self.backbone_rate,
        )

    def _learned(self) -> dict[str, Array]:
        task = np.frombuffer(self._stage_one_task.encode(), dtype=np.uint8)
        weights = {
            f"{role}.{name}": tensor.detach().cpu().numpy()
            for role, network in self._networks().items()
            for name, tensor in network.state_dict().items()
        }
        return {"stage_one_task": task, **weights}

    def _take_up(
        self, inputs: Inputs, state: Mapping[str, Array], context: Context
    ) -> None:
        self._build(inputs)
        self._stage_one_task = state["stage_one_task"].tobytes().decode()
        for role, network in self._networks().items():
            prefix = f"{role}."
            network.load_state_dict(
                {
                    name.removeprefix(prefix): torch.from_numpy(np.array(array))
                    for name, array in state.items()
                    if name.startswith(prefix)
                }
            )
            network.to(context.torch_device())
