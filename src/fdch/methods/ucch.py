"""UCCH: Unsupervised Contrastive Cross-modal Hashing (Hu et al., IEEE TPAMI 2022).

Learns from pairs alone. A memory bank follows the outputs of each pair with
momentum, and its signs are binary keys: each side of a pair is to find the pair's
key among the keys of others, and its other half before all others of the batch.

Re-implemented from its equations on our inputs: the authors have hidden layers over
4,096 features of VGG-19; here is one layer over our image features.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from fdch.data.pairs import PairedSet
from fdch.methods._base import About
from fdch.methods._deep import DeepMethod
from fdch.methods._settings.checks import (
    require_not_negative,
    require_positive,
    require_share,
)
from fdch.methods._settings.space import Range, SearchSpace
from fdch.objectives.contrastive import key_loss
from fdch.objectives.quantization import binary
from fdch.objectives.ranking import ranking_loss
from fdch.objectives.reduction import add_weighted
from fdch.training.batches import TrainingPairs
from fdch.training.context import Context
from fdch.training.joint import JointOutputs, JointStage


@dataclass
class UCCH(DeepMethod):
    """Unsupervised contrastive cross-modal hashing, on our inputs.

    >>> UCCH(bits=16, epochs=10).bits
    16

    Args:
        key_share: β, share of finding the keys; ranking the batch has the rest.
        temperature: τ, what cosines with keys are divided by.
        momentum: δ, how much of a key's source stays when its pair is seen.
        negatives: K, how many keys of others are drawn; all where there are fewer.
        margin: m, by how much others of the batch are to rank below a pair.
        shift: ε, what those that do are lowered by.
        epochs: Passes over the training pairs; by default 60, or more on small data.
    """

    key_share: float = 0.7
    temperature: float = 0.9
    momentum: float = 0.4
    negatives: int = 4096
    margin: float = 0.2
    shift: float = 0.1
    epochs: int | None = None

    about: ClassVar[About] = About(
        paper="Unsupervised Contrastive Cross-modal Hashing, Hu et al., IEEE TPAMI "
        "2022 (re-implemented on our inputs)",
        supervision="pairs only",
        unified=False,
    )
    search_space: ClassVar[SearchSpace] = {
        **DeepMethod.search_space,
        "key_share": Range(0.1, 0.9),
        "temperature": Range(0.1, 2.0, log=True),
        "margin": Range(0.0, 0.5),
    }

    def check(self) -> None:
        """Refuse settings outside their range."""
        super().check()
        require_positive(self, "temperature", "negatives", "shift")
        require_not_negative(self, "margin")
        require_share(self, "key_share")
        require_share(self, "momentum")

    def _train(
        self, training: TrainingPairs, pairs: PairedSet, context: Context
    ) -> None:
        loss = MemoryLoss(self, training.items, self.bits).to(training.device)
        image, text = self._networks["image"], self._networks["text"]

        def build(part: TrainingPairs) -> JointStage:
            stage = JointStage(part, image, text, loss)
            # A departure: the authors take the codes of the batch for keys in a first
            # epoch. Here a first pass of the networks fills the bank.
            loss.remember(
                torch.arange(part.items, device=loss.V.device), stage.F, stage.G, 0.0
            )
            return stage

        self._run(build, training, (self.epochs, 60), context)


class MemoryLoss(nn.Module):
    """The loss of UCCH, with the memory bank V whose signs are the keys."""

    V: Tensor

    def __init__(self, settings: UCCH, items: int, bits: int) -> None:
        super().__init__()
        self.settings = settings
        self.register_buffer("V", torch.zeros(items, bits))

    def forward(self, outputs: JointOutputs) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of a batch, a sum of means, and its terms."""
        settings, rows = self.settings, outputs.rows
        others = self._draw()
        own_keys, other_keys = binary(self.V[rows]), binary(self.V[others])
        is_own = rows[:, None] == others
        keys, rest = settings.key_share, 1 - settings.key_share
        image, text = (
            key_loss(side, own_keys, other_keys, is_own, settings.temperature)
            for side in (outputs.F, outputs.G)
        )
        ranked = ranking_loss(outputs.F, outputs.G, settings.margin, settings.shift)
        self.remember(rows, outputs.F, outputs.G, settings.momentum)
        return add_weighted(
            {
                "image keys": (keys, image),
                "text keys": (keys, text),
                "ranking": (rest, ranked),
            }
        )

    @torch.no_grad()
    def remember(self, rows: Tensor, F: Tensor, G: Tensor, momentum: float) -> None:
        """Move the sources of some keys towards the mean of both sides (Eq. 5)."""
        mean = (functional.normalize(F) + functional.normalize(G)) / 2
        self.V[rows] = momentum * self.V[rows] + (1 - momentum) * mean

    def _draw(self) -> Tensor:
        """Draw the keys of others, once for a batch."""
        items, negatives = len(self.V), self.settings.negatives
        if items <= negatives:
            return torch.arange(items, device=self.V.device)
        return torch.randint(items, (negatives,), device=self.V.device)
