"""Products of matrices while learning, as fast as the processor allows.

Torch multiplies with MKL, which leaves out half of the vector units (AVX-512) of
processors that are not Intel's. oneDNN, which torch has too, uses them.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional


def multiply(values: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return values times the transposed weight, (outputs, inputs), plus the bias.

    Without gradients that is torch's own product, to the last bit.
    """
    if not _suits_onednn(values):
        return functional.linear(values, weight, bias)
    return functional.linear(values.to_mkldnn(), weight, bias).to_dense()


def _suits_onednn(values: Tensor) -> bool:
    is_near = values.device.type == "cpu" and values.dtype == torch.float32
    is_there = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    learns = torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")
    return is_near and is_there and learns


class Linear(nn.Linear):
    """Torch's linear layer, which learns by `multiply`."""

    def forward(self, values: Tensor) -> Tensor:
        """Multiply rows by the weight and add the bias."""
        return multiply(values, self.weight, self.bias)
