"""The pair learns B; then B teaches each modality (FDCH, algorithms 1 and 2)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from fdch.objectives.balance import balance_loss
from fdch.objectives.classification import (
    classification_loss,
    factor_labels,
    fit_label_map,
)
from fdch.objectives.contrastive import contrastive_loss
from fdch.objectives.neighbours import neighbour_loss, neighbour_share
from fdch.objectives.pairwise import (
    half_products,
    log_odds,
    pairwise_loss,
    shares_label,
    suppose_similarity,
)
from fdch.objectives.quantization import binary, quantization_loss
from fdch.objectives.reduction import WeightedSum
from fdch.training.batches import TrainingPairs
from fdch.training.devices.shared_batches import gather_rows
from fdch.training.loop import Sweep, network_tensors, output_figures


@dataclass(frozen=True)
class Rarity:
    """What makes up for similar pairs being rare; the paper has neither."""

    # multiple of the log odds of similar pairs that shifts the likelihood
    prior: float = 0.0
    # weight of the neighbour term, beside each pairwise term of 1, where similar pairs
    # are rare; see `objectives/neighbours.py`
    neighbours: float = 0.0

    def weigh(self, Y: Tensor, bits: int) -> tuple[float, float]:
        """Return the shift of the likelihood and the weight of the neighbour term.

        Labels Y are those of all training items, (n, classes).
        """
        odds = log_odds(Y)
        return self.prior * odds, self.neighbours * neighbour_share(odds, bits)


@dataclass(frozen=True)
class FusionWeights:
    """Weights of stage 1: λ and η of Eq. 2."""

    quantization: float
    balance: float
    rarity: Rarity = Rarity()


@dataclass(frozen=True)
class ModalityWeights:
    """Weights of stage 2: the pairwise term's own, then γ, β and α of Eq. 10.

    The paper has no contrastive term: each half of a pair finds the other among all
    of the batch.
    """

    pairwise: float
    imitation: float
    classification: float
    balance: float
    rarity: Rarity = Rarity()
    contrastive: float = 0.0
    temperature: float = 0.1


class FusionStage:
    """Stage 1: image, text and fusion networks learn one code per pair.

    The network gives H from a batch of images and texts.
    """

    name = "stage 1"

    def __init__(
        self,
        pairs: TrainingPairs,
        network: nn.Module,
        weights: FusionWeights,
        add: WeightedSum,
    ) -> None:
        self.pairs, self.network, self.weights, self.add = pairs, network, weights, add
        self.items, self.stays_on_device = pairs.items, pairs.stays_on_device
        self.H = self._outputs()
        self.B = binary(self.H)
        rarity = weights.rarity.weigh(pairs.labels, self.B.shape[1])
        self._shift, self._neighbours = rarity

    def sweeps(self) -> Sequence[Sweep]:
        """One pass teaches all three networks together."""
        return [Sweep([self.network], self.loss, self.pairs.deliver_images)]

    def loss(self, rows: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Return Eq. 2 on a batch, all other rows of H held unchanged."""
        H = gather_rows(self.network(self.pairs.images(rows), self.pairs.texts(rows)))
        self.H[rows] = H.detach()
        Y = self.pairs.labels
        others, scale = self.pairs.draw_others()
        # Each pair stands in Eq. 2 twice; the buffer is fixed, so the gradient
        # reaches one side only and the sum is doubled.
        S = shares_label(Y[rows], Y[others])
        theta = half_products(H, self.H[others])
        pairwise = 2 * scale * pairwise_loss(theta, S, self._shift)
        rest = self.H.sum(dim=0) - H.detach().sum(dim=0)
        over_items = {
            "quantization": (
                self.weights.quantization,
                quantization_loss(H, self.B[rows]),
            )
        }
        if self._neighbours:
            over_items["neighbours"] = (
                2 * self._neighbours,
                neighbour_loss(theta, S, scale),
            )
        return self.add(
            len(rows),
            over_pairs={
                "pairwise": (1.0, pairwise),
                "balance": (self.weights.balance, balance_loss(H, rest)),
            },
            over_items=over_items,
        )

    def end_epoch(self) -> dict[str, float]:
        """Set B to the sign of H (Eq. 5)."""
        self.B.copy_(binary(self.H))
        return output_figures({"H": self.H})

    def tensors(self) -> dict[str, Tensor]:
        """Return the networks' weights, H and B."""
        return network_tensors(network=self.network) | {"H": self.H, "B": self.B}

    def unified_codes(self) -> Tensor:
        """Recompute H with the final weights and give its sign: B, frozen."""
        self.H.copy_(self._outputs())
        return binary(self.H)

    def _outputs(self) -> Tensor:
        return self.pairs.outputs(
            lambda rows: self.network(self.pairs.images(rows), self.pairs.texts(rows)),
            [self.network],
        )


class ModalityStage:
    """Stage 2: frozen codes B, (items, bits), teach one network per modality.

    The image network gives F, the text network G. H has the outputs of stage 1,
    (items, bits), by which pairs without labels are as similar to others as they
    suppose; it is None where all pairs have labels.
    """

    name = "stage 2"

    def __init__(
        self,
        pairs: TrainingPairs,
        image_network: nn.Module,
        text_network: nn.Module,
        B: Tensor,
        weights: ModalityWeights,
        add: WeightedSum,
        H: Tensor | None = None,
    ) -> None:
        self.pairs, self.weights, self.add = pairs, weights, add
        self.image_network, self.text_network = image_network, text_network
        self.items, self.stays_on_device = pairs.items, pairs.stays_on_device
        self._is_labelled = pairs.labels.any(dim=1)
        known = pairs.labels if H is None else pairs.labels[self._is_labelled]
        rarity = weights.rarity.weigh(known, B.shape[1])
        self._shift, self._neighbours = rarity
        self.B, self.H = B, H
        self.F = pairs.outputs(
            lambda rows: image_network(pairs.images(rows)), [image_network]
        )
        self.G = pairs.outputs(
            lambda rows: text_network(pairs.texts(rows)), [text_network]
        )
        self._factor = factor_labels(pairs.labels)
        self.W1, self.W2 = self._label_maps()

    def sweeps(self) -> Sequence[Sweep]:
        """A pass for the image network, then one for the text network."""
        return [
            Sweep([self.image_network], self.image_loss, self.pairs.deliver_images),
            Sweep([self.text_network], self.text_loss),
        ]

    def image_loss(self, rows: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Return Eq. 10 as a function of a batch of F, with G, W1 and B fixed."""
        F = gather_rows(self.image_network(self.pairs.images(rows)))
        return self._loss(rows, F, own=self.F, other=self.G, W=self.W1, side="image ")

    def text_loss(self, rows: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Return Eq. 10 as a function of a batch of G, with F, W2 and B fixed."""
        G = gather_rows(self.text_network(self.pairs.texts(rows)))
        return self._loss(rows, G, own=self.G, other=self.F, W=self.W2, side="text ")

    def end_epoch(self) -> dict[str, float]:
        """Refit W1 and W2 (Eq. 13 and 14)."""
        W1, W2 = self._label_maps()
        self.W1.copy_(W1)
        self.W2.copy_(W2)
        return output_figures({"F": self.F, "G": self.G})

    def tensors(self) -> dict[str, Tensor]:
        """Return the networks' weights, F, G, W1 and W2."""
        return network_tensors(image=self.image_network, text=self.text_network) | {
            "F": self.F,
            "G": self.G,
            "W1": self.W1,
            "W2": self.W2,
        }

    def _similarity(self, rows: Tensor, others: Tensor | slice) -> Tensor:
        """Return S by the labels, and by stage 1 where one of two has none."""
        Y, H = self.pairs.labels, self.H
        S = shares_label(Y[rows], Y[others])
        if H is None:
            return S
        known = self._is_labelled[rows][:, None] & self._is_labelled[others]
        return torch.where(
            known, S, suppose_similarity(H[rows], H[others], self._shift)
        )

    def _label_maps(self) -> tuple[Tensor, Tensor]:
        Y = self.pairs.labels
        W1, W2 = (fit_label_map(Y, part, self._factor) for part in (self.F, self.G))
        return W1, W2

    def _loss(
        self,
        rows: Tensor,
        out: Tensor,
        own: Tensor,
        other: Tensor,
        W: Tensor,
        side: str,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        own[rows] = out.detach()
        Y = self.pairs.labels
        rest = own.sum(dim=0) - out.detach().sum(dim=0)
        over_pairs: dict[str, tuple[float, Tensor]] = {
            side + "balance": (self.weights.balance, balance_loss(out, rest))
        }
        over_items = {
            side + "imitation": (
                self.weights.imitation,
                quantization_loss(out, self.B[rows]),
            )
        }
        if self.weights.pairwise:
            others, scale = self.pairs.draw_others()
            S = self._similarity(rows, others)
            theta = half_products(out, other[others])
            over_pairs[side + "pairwise"] = (
                self.weights.pairwise * scale,
                pairwise_loss(theta, S, self._shift),
            )
            if self._neighbours:
                over_items[side + "neighbours"] = (
                    self.weights.pairwise * self._neighbours,
                    neighbour_loss(theta, S, scale),
                )
        if self.weights.classification:
            known = out if self.H is None else out * self._is_labelled[rows][:, None]
            over_items[side + "classification"] = (
                self.weights.classification,
                classification_loss(known, Y[rows], W),
            )
        means = {}
        if self.weights.contrastive:
            means[side + "contrastive"] = (
                self.weights.contrastive,
                contrastive_loss(out, other[rows], self.weights.temperature),
            )
        return self.add(len(rows), over_pairs, over_items, means)
