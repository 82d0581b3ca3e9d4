"""The three networks of a pair as one: image and text, then their fusion."""

from torch import Tensor, nn

from fdch.networks.fusion import FusionNetwork
from fdch.networks.text import WordBatch


class PairNetwork(nn.Module):
    """Gives H from the two sides of a pair.

    Args:
        image: Images to the fusion's inputs.
        text: Texts to the fusion's inputs.
        fusion: Both sums to one output per bit.
    """

    def __init__(
        self, image: nn.Module, text: nn.Module, fusion: FusionNetwork
    ) -> None:
        super().__init__()
        self.image, self.text, self.fusion = image, text, fusion

    def forward(self, images: Tensor, texts: WordBatch) -> Tensor:
        """Turn pairs into outputs, (pairs, bits)."""
        return self.fusion(self.image(images), self.text(texts))
