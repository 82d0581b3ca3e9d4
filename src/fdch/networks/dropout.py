"""Dropout that draws from a generator of its own, not from torch's global one."""

import torch
from torch import Tensor, nn

from fdch.errors import SettingError


class Dropout(nn.Module):
    """Set entries to zero at random while training; do nothing otherwise.

    Args:
        rate: Probability that an entry is dropped.
        generator: Seeds the draws, which then differ between devices only.
        rescaled: Whether kept entries grow by 1 / (1 - rate), so that sums keep
            their expected size.

    >>> draw = Dropout(0.5, torch.Generator().manual_seed(0))
    >>> sorted(set(draw(torch.ones(100)).tolist()))
    [0.0, 2.0]
    """

    def __init__(
        self,
        rate: float,
        generator: torch.Generator | None = None,
        *,
        rescaled: bool = True,
    ) -> None:
        super().__init__()
        if not 0 <= rate < 1:
            raise SettingError(f"a dropout rate is from 0 to below 1; got {rate}.")
        self.rate, self.rescaled = rate, rescaled
        generator = generator or torch.Generator().manual_seed(0)
        draw = torch.randint(2**62, (), generator=generator, device=generator.device)
        self._seed = int(draw)
        self._generators: dict[torch.device, torch.Generator] = {}

    def forward(self, values: Tensor) -> Tensor:
        """Drop entries of values, of any shape."""
        if not self.training or self.rate == 0:
            return values
        draws = torch.rand(
            values.shape, generator=self.generator(values.device), device=values.device
        )
        kept = values * (draws >= self.rate).to(values.dtype)
        return kept / (1 - self.rate) if self.rescaled else kept

    def generator(self, device: torch.device) -> torch.Generator:
        """Give the generator that draws on a device."""
        if device not in self._generators:
            generator = torch.Generator(device).manual_seed(self._seed)
            self._generators[device] = generator
        return self._generators[device]
