"""FDCH: Fusion-supervised Deep Cross-modal Hashing (Wang et al., arXiv 2019).

Stage 1 learns one code per training pair through a fusion network; stage 2 lets
those codes teach an image network and a text network. The defaults are a recipe
that trains well on frozen features; `preset=paper` states the printed one, but for
the image network, which the paper trains too: that takes `finetune=true`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from fdch.data.pairs import PairedSet
from fdch.errors import SettingError
from fdch.files import fingerprint
from fdch.methods._base import About, Array
from fdch.methods._deep import DeepMethod
from fdch.methods._settings.assignments import identifying
from fdch.methods._settings.space import Range, SearchSpace
from fdch.methods.dcmh import RELEASED
from fdch.networks.fusion import FusionNetwork, PairNetwork
from fdch.objectives.reduction import Reduction, WeightedSum
from fdch.training import batches
from fdch.training.batches import TrainingPairs
from fdch.training.context import Context
from fdch.training.inputs import Inputs
from fdch.training.saved_arrays import take
from fdch.training.two_stage import (
    FusionStage,
    FusionWeights,
    ModalityStage,
    ModalityWeights,
    Rarity,
)


@dataclass
class FDCH(DeepMethod):
    """Fusion-supervised deep cross-modal hashing.

    >>> method = FDCH(bits=16, stage_one_epochs=10)
    >>> method.bits
    16

    Args:
        fusion_width: m, width at which image and text are added.
        fusion_hidden: Hidden units of the fusion network.
        reduction: "per_term" or "paper": see `objectives/reduction.py`.
        quantization_weight: λ, stage 1.
        balance_weight: η, stage 1.
        pairwise_weight: Weight of stage 2's pairwise term; 1 in the paper.
        prior_weight: Multiple of the log odds of similar pairs that shifts the
            likelihood, both stages; 0 in the paper.
        neighbour_weight: Weight of the neighbour term that goes with each pairwise
            term; less in short codes unless similar pairs are rare; 0 in the paper.
        imitation_weight: γ, stage 2.
        label_weight: β, stage 2.
        modality_balance_weight: α, stage 2.
        stage_one_epochs: Epochs of stage 1; by default 40, or more on small data.
        stage_two_epochs: Epochs of stage 2; by default 60, or more on small data.
    """

    fusion_width: int = 512
    fusion_hidden: int = 512
    reduction: Reduction = "per_term"
    quantization_weight: float = 0.02
    balance_weight: float = 0.003
    pairwise_weight: float = 3.0
    prior_weight: float = 1.5
    neighbour_weight: float = 1.0
    imitation_weight: float = 0.03
    label_weight: float = 0.02
    modality_balance_weight: float = 0.003
    stage_one_epochs: int | None = None
    stage_two_epochs: int | None = None

    about: ClassVar[About] = About(
        paper="Fusion-supervised Deep Cross-modal Hashing, Wang et al., arXiv 2019",
        supervision="labels",
        unified=True,
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            **RELEASED,
            "fusion_width": 2500,
            "fusion_hidden": 4096,
            "quantization_weight": 1.0,
            "pairwise_weight": 1.0,
            "prior_weight": 0.0,
            "neighbour_weight": 0.0,
            "balance_weight": 1.0,
            "imitation_weight": 1.0,
            "label_weight": 1.0,
            "modality_balance_weight": 1.0,
            "stage_one_epochs": 500,
            "stage_two_epochs": 500,
        }
    }
    search_space: ClassVar[SearchSpace] = {
        **DeepMethod.search_space,
        "quantization_weight": Range(5e-4, 5e-2, log=True),
        "imitation_weight": Range(3e-3, 0.3, log=True),
        "label_weight": Range(2e-3, 0.2, log=True),
    }

    _source: ClassVar["FDCH | None"] = None

    def share_stage_one(self, source: "FDCH") -> None:
        """Let the next `fit` take stage 1 from a fitted FDCH or variant of it."""
        source.inputs  # noqa: B018  refuses one that is not fitted
        self._source = source  # type: ignore[misc]

    def pair_outputs(self, images: Array, texts: csr_array) -> NDArray[np.float32]:
        """Return H."""
        return batches.pair_outputs(self._networks["pair"], images, texts)

    def _build(
        self, inputs: Inputs, generator: torch.Generator
    ) -> dict[str, nn.Module]:
        pair = PairNetwork(
            # the fusion network has a hidden layer of its own
            self._image_network(inputs, self.fusion_width, generator, hidden=0),
            self._text_network(inputs, self.fusion_width, generator),
            FusionNetwork(
                self.fusion_width,
                self.bits,
                hidden=self.fusion_hidden,
                initialization=self.initialization,
                generator=generator,
            ),
        )
        image = self._image_network(inputs, self.bits, generator)
        text = self._text_network(inputs, self.bits, generator)
        return {"pair": pair, "image": image, "text": text}

    def _train(
        self, training: TrainingPairs, pairs: PairedSet, context: Context
    ) -> None:
        self._stage_one_task = self._describe_stage_one(pairs)
        B = self._stage_one(training, context)
        self._stage_two(training, B, context)

    def _stage_one(self, training: TrainingPairs, context: Context) -> Tensor:
        weights = FusionWeights(
            self.quantization_weight, self.balance_weight, self._rarity()
        )
        add = WeightedSum(self.reduction, training.items)

        def build(part: TrainingPairs) -> FusionStage:
            return FusionStage(part, self._networks["pair"], weights, add)

        source, self._source = self._source, None  # type: ignore[misc]
        if source is not None:
            self._copy_stage_one(source)
            return build(training.tuning or training).unified_codes()
        # no side can encode alone yet, so there is nothing to judge
        quiet = replace(context, judge=None)
        stage = self._run(build, training, (self.stage_one_epochs, 40), quiet)
        return stage.unified_codes()

    def _copy_stage_one(self, source: "FDCH") -> None:
        if source._stage_one_task != self._stage_one_task:
            raise SettingError(
                "the first stage offered was trained on other pairs or with other "
                "settings; it can be shared only where data, split, bits, seed and "
                "all settings of stage 1 are the same."
            )
        self._networks["pair"].load_state_dict(source._networks["pair"].state_dict())

    def _describe_stage_one(self, pairs: PairedSet) -> str:
        """Fingerprint everything that stage 1 depends on."""
        later = {
            "stage_two_epochs",
            "pairwise_weight",
            "imitation_weight",
            "label_weight",
            "modality_balance_weight",
        }
        settings = {k: v for k, v in identifying(self).items() if k not in later}
        return fingerprint([settings, pairs.fingerprint])

    def _stage_two(
        self,
        training: TrainingPairs,
        B: Tensor,
        context: Context,
        H: Tensor | None = None,
    ) -> None:
        weights = self._modality_weights()
        add = WeightedSum(self.reduction, training.items)
        image, text = self._networks["image"], self._networks["text"]
        self._run(
            lambda part: ModalityStage(part, image, text, B, weights, add, H),
            training,
            (self.stage_two_epochs, 60),
            context,
        )

    def _modality_weights(self) -> ModalityWeights:
        return ModalityWeights(
            self.pairwise_weight,
            self.imitation_weight,
            self.label_weight,
            self.modality_balance_weight,
            self._rarity(),
        )

    def _rarity(self) -> Rarity:
        return Rarity(self.prior_weight, self.neighbour_weight)

    def _state(self) -> dict[str, Array]:
        task = np.frombuffer(self._stage_one_task.encode(), dtype=np.uint8)
        return {"stage_one_task": task, **super()._state()}

    def _load_state(
        self, inputs: Inputs, state: Mapping[str, Array], context: Context
    ) -> None:
        super()._load_state(inputs, state, context)
        task = take(state, "stage_one_task", None, kind="u")
        self._stage_one_task = task.tobytes().decode()
