"""MITH's losses on given features.

Multi-granularity Interactive Transformer Hashing for Cross-modal Retrieval (Liu et
al., ACM MM 2023) hashes the tokens of pictures and texts by a transformer, beside
whole ones. Our features have no tokens, so that only its losses are here: the
likelihood of a batch against the latest outputs of all training pairs, between the
modalities and within each; InfoNCE between the two outputs of a pair; and the
distance of both to their common code. Its distillation from whole to token codes
has nothing to distil.

Re-implemented from its equations on our inputs: the authors train CLIP's two
transformers; here are frozen or fine-tuned image features and a network over words.
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from fdch.data.pairs import PairedSet
from fdch.methods._base import About
from fdch.methods._deep import DeepMethod
from fdch.methods._settings.checks import require_positive
from fdch.methods._settings.space import Range, SearchSpace
from fdch.objectives.contrastive import contrastive_loss
from fdch.objectives.pairwise import half_products, pairwise_loss, shares_label
from fdch.objectives.quantization import binary, quantization_loss
from fdch.objectives.reduction import WeightedSum
from fdch.training.batches import TrainingPairs
from fdch.training.context import Context
from fdch.training.joint import JointOutputs, JointStage


@dataclass
class MITH(DeepMethod):
    """The losses of multi-granularity interactive transformer hashing.

    >>> MITH(bits=16, epochs=10).bits
    16

    Args:
        intra_weight: Weight of the likelihood within each modality.
        contrastive_weight: δ, weight of InfoNCE.
        quantization_weight: γ, on the distance between outputs and codes.
        temperature: Of InfoNCE, what cosines are divided by.
        epochs: Passes over the training pairs; by default 60, or more on small data.
    """

    # Chosen on validation pairs, relative to the likelihood between the modalities.
    # The authors' 0.1, 5 and 0.8 / bits weigh terms of token codes and of features of
    # 512 numbers, which are not here.
    intra_weight: float = 1.0
    contrastive_weight: float = 0.01
    quantization_weight: float = 0.01
    temperature: float = 0.07
    epochs: int | None = None

    about: ClassVar[About] = About(
        paper="Multi-granularity Interactive Transformer Hashing for Cross-modal "
        "Retrieval, Liu et al., ACM MM 2023 (its losses alone, re-implemented on our "
        "inputs)",
        supervision="labels",
        unified=False,
    )
    search_space: ClassVar[SearchSpace] = {
        **DeepMethod.search_space,
        "intra_weight": Range(0.1, 3.0, log=True),
        "contrastive_weight": Range(1e-3, 0.1, log=True),
        "quantization_weight": Range(1e-3, 0.1, log=True),
    }

    def check(self) -> None:
        """Refuse settings outside their range."""
        super().check()
        require_positive(self, "temperature")

    def _train(
        self, training: TrainingPairs, pairs: PairedSet, context: Context
    ) -> None:
        image, text = self._networks["image"], self._networks["text"]
        loss = BufferLoss(self, training.labels)
        self._run(
            lambda part: JointStage(part, image, text, loss),
            training,
            (self.epochs, 60),
            context,
        )


class BufferLoss(nn.Module):
    """The loss of MITH for outputs without tokens.

    Labels Y are those of all training pairs, 0 or 1, (n, classes).
    """

    def __init__(self, settings: MITH, Y: Tensor) -> None:
        super().__init__()
        self.settings, self.Y = settings, Y
        self.add = WeightedSum("per_term", len(Y))

    def forward(self, outputs: JointOutputs) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of a batch and its terms."""
        rows, F, G, all_F, all_G, others, scale = outputs
        settings = self.settings
        S = shares_label(self.Y[rows], self.Y[others])
        B = binary((F + G).detach())

        def compare(left: Tensor, right: Tensor) -> Tensor:
            return pairwise_loss(half_products(left, right), S)

        inter = compare(F, all_G) + compare(G, all_F)
        intra = compare(F, all_F) + compare(G, all_G)
        quantization = quantization_loss(F, B) + quantization_loss(G, B)
        contrastive = contrastive_loss(F, G, settings.temperature)
        return self.add(
            len(rows),
            over_pairs={
                "pairwise": (scale, inter),
                "intra": (settings.intra_weight * scale, intra),
            },
            over_items={"quantization": (settings.quantization_weight, quantization)},
            means={"contrastive": (settings.contrastive_weight, contrastive)},
        )
