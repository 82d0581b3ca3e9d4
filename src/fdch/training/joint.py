"""Both networks in one pass, by a loss that may learn and remember on its own."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from fdch.training.batches import TrainingPairs
from fdch.training.devices.shared_batches import gather_rows
from fdch.training.loop import Sweep, network_tensors, output_figures


class JointOutputs(NamedTuple):
    """What a joint loss is given of a batch."""

    rows: Tensor  # which training pairs, (b,)
    F: Tensor  # outputs of their images between -1 and 1, (b, bits)
    G: Tensor  # outputs of their texts, (b, bits)
    # the latest F and G of the pairs that the batch is compared with, fixed, (n, bits)
    image_buffer: Tensor
    text_buffer: Tensor
    others: Tensor | slice = slice(None)  # which pairs these are
    scale: float = 1.0  # what makes a sum over them stand for all training pairs


class JointStage:
    """One network per modality, both taught by the same batches.

    F and G are the tanh of the outputs where these are bounded, else the outputs
    themselves. The loss takes `JointOutputs` and gives its terms by name too. Its
    parameters learn with the networks; its buffers belong to the checkpoints.
    """

    name = "training"

    def __init__(
        self,
        pairs: TrainingPairs,
        image_network: nn.Module,
        text_network: nn.Module,
        loss: nn.Module,
        is_bounded: bool = True,
    ) -> None:
        self.pairs, self.loss = pairs, loss
        self._bound = torch.tanh if is_bounded else nn.Identity()
        self.image_network, self.text_network = image_network, text_network
        self.items, self.stays_on_device = pairs.items, pairs.stays_on_device
        self.F = pairs.outputs(self._image_outputs, [image_network])
        self.G = pairs.outputs(self._text_outputs, [text_network])

    def sweeps(self) -> Sequence[Sweep]:
        """One pass teaches both networks and, where it learns, the loss."""
        learning = [self.image_network, self.text_network]
        if next(self.loss.parameters(), None) is not None:
            learning.append(self.loss)
        return [Sweep(learning, self.batch_loss, self.pairs.deliver_images)]

    def batch_loss(self, rows: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of a batch, all other rows of F and G unchanged."""
        F = gather_rows(self._image_outputs(rows))
        G = gather_rows(self._text_outputs(rows))
        self.F[rows], self.G[rows] = F.detach(), G.detach()
        others, scale = self.pairs.draw_others()
        buffers = self.F[others], self.G[others]
        loss, terms = self.loss(JointOutputs(rows, F, G, *buffers, others, scale))
        return loss, terms

    def end_epoch(self) -> dict[str, float]:
        """Return how the outputs lie; there is nothing to solve for."""
        return output_figures({"F": self.F, "G": self.G})

    def tensors(self) -> dict[str, Tensor]:
        """Return the networks' weights, what the loss holds, F and G."""
        weights = network_tensors(
            image=self.image_network, text=self.text_network, loss=self.loss
        )
        return weights | {"F": self.F, "G": self.G}

    def _image_outputs(self, rows: Tensor) -> Tensor:
        return self._bound(self.image_network(self.pairs.images(rows)))

    def _text_outputs(self, rows: Tensor) -> Tensor:
        return self._bound(self.text_network(self.pairs.texts(rows)))
