"""Both networks in one pass, by a loss that may learn and remember on its own."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from fdch.training.batches import TrainingPairs
from fdch.training.devices.shared_batches import gather_rows
from fdch.training.loop import Sweep, network_tensors, output_figures


class JointOutputs(NamedTuple):
    """What a joint loss is given of a batch.

    Args:
        rows: Which training pairs, (b,).
        F: Outputs of their images between -1 and 1, (b, bits).
        G: Outputs of their texts, (b, bits).
        image_buffer: The latest F of the training pairs that the batch is compared
            with, held fixed, (n, bits).
        text_buffer: Their latest G, (n, bits).
        others: Which these are.
        scale: What makes a sum over them stand for all training pairs.
    """

    rows: Tensor
    F: Tensor
    G: Tensor
    image_buffer: Tensor
    text_buffer: Tensor
    others: Tensor | slice = slice(None)
    scale: float = 1.0


class JointStage:
    """One network per modality, both taught by the same batches.

    Args:
        pairs: The training pairs.
        image_network: Gives outputs of images, whose tanh is F.
        text_network: Gives outputs of texts, whose tanh is G.
        loss: Gives the loss of `JointOutputs` and its terms by name. Its parameters
            learn with the networks; its buffers belong to the checkpoints.
        is_bounded: Whether F and G are the tanh; else they are the outputs themselves.
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
        """Return the loss of a batch, all other rows of F and G as they were."""
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
