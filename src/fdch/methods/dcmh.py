"""DCMH: Deep Cross-Modal Hashing (Jiang and Li, CVPR 2017).

One network per modality, tied by the pairwise likelihood between the modalities
and by a code that both share while training. The defaults are a recipe that
trains well on frozen features; `preset=paper` states the authors' MATLAB release, but
for the image network, which it trains too: that takes `finetune=true`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fdch.data.pairs import PairedSet
from fdch.methods._base import About
from fdch.methods._deep import DeepMethod
from fdch.methods._settings.space import Range, SearchSpace
from fdch.objectives.reduction import Reduction, WeightedSum
from fdch.training.alternating import AlternatingStage, AlternatingWeights
from fdch.training.batches import TrainingPairs
from fdch.training.context import Context

# What the releases of this family of methods do, as a preset states it. They train
# the image network too; that is left to the user, as with `finetune` a preset
# would refuse ready features.
RELEASED: Mapping[str, Any] = {
    "text_features": "words",
    "image_hidden": 0,
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
    "warm_start": False,
    "backbone_rate": 1.0,
    "backbone_decay": 5e-4,
}


@dataclass
class DCMH(DeepMethod):
    """Deep cross-modal hashing.

    >>> DCMH(bits=16, epochs=10).bits
    16

    Args:
        reduction: "per_term" or "paper": see `objectives/reduction.py`.
        quantization_weight: γ.
        balance_weight: η.
        epochs: Passes over the training pairs; by default 60, or more on small data.
    """

    reduction: Reduction = "per_term"
    quantization_weight: float = 0.01
    balance_weight: float = 0.003
    epochs: int | None = None

    about: ClassVar[About] = About(
        paper="Deep Cross-Modal Hashing, Jiang and Li, CVPR 2017",
        supervision="labels",
        unified=False,
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            **RELEASED,
            "quantization_weight": 1.0,
            "balance_weight": 1.0,
            "epochs": 500,
        }
    }
    search_space: ClassVar[SearchSpace] = {
        **DeepMethod.search_space,
        "quantization_weight": Range(1e-3, 0.1, log=True),
    }

    def _train(
        self, training: TrainingPairs, pairs: PairedSet, context: Context
    ) -> None:
        weights, add = self._weights(), WeightedSum(self.reduction, training.items)
        image, text = self._networks["image"], self._networks["text"]
        self._run(
            lambda part: AlternatingStage(part, image, text, weights, add),
            training,
            (self.epochs, 60),
            context,
        )

    def _weights(self) -> AlternatingWeights:
        return AlternatingWeights(self.quantization_weight, self.balance_weight)
