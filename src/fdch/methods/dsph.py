"""DSPH: Deep Semantic-aware Proxy Hashing (Huo et al., IEEE TCSVT 2023).

Every label has a learned proxy, shared by both modalities. Outputs lie near the
proxies of their labels and below a cosine τ with all others, and so do items of a
batch that share no label, within and between the modalities. A batch costs its
items times the labels, not times all training items.

Re-implemented from its equations on our inputs: the authors train CLIP's two
transformers; here are frozen or fine-tuned image features and a network over words.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from fdch.data.pairs import PairedSet
from fdch.methods._base import About
from fdch.methods._deep import DeepMethod
from fdch.methods._settings.space import Range, SearchSpace
from fdch.objectives.pairwise import shares_label
from fdch.objectives.proxies import packing_threshold, proxy_loss, unrelated_loss
from fdch.objectives.reduction import add_weighted
from fdch.training.batches import TrainingPairs
from fdch.training.context import Context
from fdch.training.joint import JointOutputs, JointStage
from fdch.training.randomness import derive_seed

FIRST_DEVIATION = 0.03  # of the entries of proxies


@dataclass
class DSPH(DeepMethod):
    """Deep semantic-aware proxy hashing, on our inputs.

    >>> DSPH(bits=16, epochs=10).bits
    16

    Args:
        unrelated_weight: α, weight of pushing items apart that share no label.
        epochs: Passes over the training pairs; by default 60, or more on small data.
    """

    unrelated_weight: float = 0.8
    epochs: int | None = None

    about: ClassVar[About] = About(
        paper="Deep Semantic-aware Proxy Hashing for Multi-label Cross-modal "
        "Retrieval, Huo et al., IEEE TCSVT 2023 (re-implemented on our inputs)",
        supervision="labels",
        unified=False,
    )
    search_space: ClassVar[SearchSpace] = {
        **DeepMethod.search_space,
        "unrelated_weight": Range(0.0, 3.0),
    }

    def _train(
        self, training: TrainingPairs, pairs: PairedSet, context: Context
    ) -> None:
        generator = torch.Generator().manual_seed(derive_seed(self.seed, "proxies"))
        loss = ProxyLoss(training.labels, self.bits, self.unrelated_weight, generator)
        loss.to(training.device)
        image, text = self._networks["image"], self._networks["text"]
        self._run(
            lambda part: JointStage(part, image, text, loss),
            training,
            (self.epochs, 60),
            context,
        )


class ProxyLoss(nn.Module):
    """The loss of DSPH, with the proxies that it learns.

    Labels Y are those of all training pairs, 0 or 1, (n, classes). The first proxies
    are drawn from the generator. Encoding needs none, so that they are not saved with
    the method.
    """

    def __init__(
        self,
        Y: Tensor,
        bits: int,
        unrelated_weight: float,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.Y, self.unrelated_weight = Y, unrelated_weight
        self.threshold = packing_threshold(bits, Y.shape[1])
        first = torch.randn(Y.shape[1], bits, generator=generator)
        # A departure: the authors draw them with variance 2 / classes. Only their
        # directions count, and short ones turn faster at the networks' rate.
        self.P = nn.Parameter(FIRST_DEVIATION * first)

    def forward(self, outputs: JointOutputs) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of a batch, a sum of means, and its terms."""
        F, G, Y = outputs.F, outputs.G, self.Y[outputs.rows]
        S = shares_label(Y, Y)
        means = {
            "image proxies": (1.0, proxy_loss(F, Y, self.P, self.threshold)),
            "text proxies": (1.0, proxy_loss(G, Y, self.P, self.threshold)),
        }
        for name, sides in {"image": (F, F), "text": (G, G), "": (F, G)}.items():
            apart = unrelated_loss(*sides, S, self.threshold)
            means[f"{name} unrelated".strip()] = (self.unrelated_weight, apart)
        return add_weighted(means)
