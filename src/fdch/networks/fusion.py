"""The fusion hash network over a pair (H in the paper)."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from fdch.networks.initialization import Initialization, initialize, linear
from fdch.networks.text import WordBatch


class FusionNetwork(nn.Module):
    """Z = tanh(f~ + g~) through a hidden layer to one output per bit.

    The inputs are m in the paper, which leaves open what follows the hidden layer; ReLU
    is our choice. Weights are drawn with seed 0 without a generator.
    """

    def __init__(
        self,
        inputs: int,
        bits: int,
        *,
        hidden: int = 4096,
        initialization: Initialization = "torch",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.hidden = linear(inputs, hidden)
        self.output = linear(hidden, bits)
        generator = generator or torch.Generator().manual_seed(0)
        initialize(self, initialization, generator)

    def forward(self, image_outputs: Tensor, text_outputs: Tensor) -> Tensor:
        """Fuse both modalities' outputs, (pairs, inputs) each, to (pairs, bits)."""
        Z = torch.tanh(image_outputs + text_outputs)
        return self.output(functional.relu(self.hidden(Z)))


class PairNetwork(nn.Module):
    """The three networks of a pair as one: gives H from its two sides.

    Image and text network lead to the inputs of the fusion.
    """

    def __init__(
        self, image: nn.Module, text: nn.Module, fusion: FusionNetwork
    ) -> None:
        super().__init__()
        self.image, self.text, self.fusion = image, text, fusion

    def forward(self, images: Tensor, texts: WordBatch) -> Tensor:
        """Turn pairs into outputs, (pairs, bits)."""
        return self.fusion(self.image(images), self.text(texts))
