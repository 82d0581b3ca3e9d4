"""Networks and codes in turn, for one-stage methods (DCMH, PRDH).

Each epoch sets B to sgn(F + G), then teaches the text network with F fixed and
the image network with G fixed: the order of DCMH's MATLAB release. That release
starts with F = G = 0; here a first pass of the networks fills them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from fdch.objectives.balance import balance_loss
from fdch.objectives.decorrelation import decorrelation_loss
from fdch.objectives.pairwise import half_products, pairwise_loss, shares_label
from fdch.objectives.quantization import binary, quantization_loss
from fdch.objectives.reduction import WeightedSum
from fdch.training.batches import TrainingPairs
from fdch.training.devices.shared_batches import gather_rows
from fdch.training.loop import Sweep, network_tensors, output_figures


@dataclass(frozen=True)
class AlternatingWeights:
    """Weights of the terms beside the pairwise one between the modalities."""

    quantization: float  # of the distance between outputs and codes
    balance: float  # of the summed outputs
    intra: float = 0.0  # of the pairwise terms within a modality; 0 leaves them out
    decorrelation: float = 0.0  # of the covariance between bits; 0 leaves it out


class AlternatingStage:
    """One network per modality and one code per pair learn from each other.

    The image network gives F, the text network G.
    """

    name = "training"

    def __init__(
        self,
        pairs: TrainingPairs,
        image_network: nn.Module,
        text_network: nn.Module,
        weights: AlternatingWeights,
        add: WeightedSum,
    ) -> None:
        self.pairs, self.weights, self.add = pairs, weights, add
        self.image_network, self.text_network = image_network, text_network
        self.items, self.stays_on_device = pairs.items, pairs.stays_on_device
        self.F = pairs.outputs(
            lambda rows: image_network(pairs.images(rows)), [image_network]
        )
        self.G = pairs.outputs(
            lambda rows: text_network(pairs.texts(rows)), [text_network]
        )
        self.B = binary(self.F + self.G)

    def sweeps(self) -> Sequence[Sweep]:
        """A pass for the text network, then one for the image network."""
        return [
            Sweep([self.text_network], self.text_loss),
            Sweep([self.image_network], self.image_loss, self.pairs.deliver_images),
        ]

    def image_loss(self, rows: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss as a function of a batch of F, with G and B fixed."""
        F = gather_rows(self.image_network(self.pairs.images(rows)))
        return self._loss(rows, F, own=self.F, other=self.G, side="image ")

    def text_loss(self, rows: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss as a function of a batch of G, with F and B fixed."""
        G = gather_rows(self.text_network(self.pairs.texts(rows)))
        return self._loss(rows, G, own=self.G, other=self.F, side="text ")

    def end_epoch(self) -> dict[str, float]:
        """Set B to the sign of F + G, the best code for both."""
        self.B.copy_(binary(self.F + self.G))
        return output_figures({"F": self.F, "G": self.G})

    def tensors(self) -> dict[str, Tensor]:
        """Return the networks' weights, F, G and B."""
        weights = network_tensors(image=self.image_network, text=self.text_network)
        return weights | {"F": self.F, "G": self.G, "B": self.B}

    def _loss(
        self, rows: Tensor, out: Tensor, own: Tensor, other: Tensor, side: str
    ) -> tuple[Tensor, dict[str, Tensor]]:
        own[rows] = out.detach()
        Y, weights = self.pairs.labels, self.weights
        others, scale = self.pairs.draw_others()
        S = shares_label(Y[rows], Y[others])
        between = pairwise_loss(half_products(out, other[others]), S)
        rest = own.sum(dim=0) - out.detach().sum(dim=0)
        over_pairs = {
            side + "pairwise": (scale, between),
            side + "balance": (weights.balance, balance_loss(out, rest)),
        }
        if weights.intra:
            # Each pair stands in the sum twice; the buffer is fixed, so the
            # gradient reaches one side only and the sum is doubled.
            within = 2 * pairwise_loss(half_products(out, own[others]), S)
            over_pairs[side + "intra"] = (weights.intra * scale, within)
        quantization = (weights.quantization, quantization_loss(out, self.B[rows]))
        means = {}
        if weights.decorrelation:
            term = (weights.decorrelation, decorrelation_loss(out))
            means[side + "decorrelation"] = term
        over_items = {side + "quantization": quantization}
        return self.add(len(rows), over_pairs, over_items, means)
