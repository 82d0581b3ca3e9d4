"""The circumstances of training that do not change what is learned."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fdch.progress import Progress, silent

if TYPE_CHECKING:
    import torch

    from fdch.training.checkpoints import Checkpoints


@dataclass(frozen=True)
class Context:
    """Where work runs, what it reports to, and where it keeps its checkpoints.

    Args:
        progress: Called at every epoch and in long preparations.
        device: "auto", or a torch device such as "cpu" or "cuda".
        checkpoints: Where to keep unfinished work; None keeps none.
        remember: Keep features of pictures in the cache folder, and look there.
        judge: Called after each epoch of the networks that encode, with its number
            and the number of all. The method being fitted can encode by then; an
            exception ends the training.
    """

    progress: Progress = silent
    device: str = "auto"
    checkpoints: "Checkpoints | None" = None
    remember: bool = True
    judge: Callable[[int, int], None] | None = None

    def torch_device(self) -> "torch.device":
        """Resolve the device's name, "auto" meaning an accelerator if there is one."""
        # not above: an index is opened and searched with an export without torch
        from fdch.networks.device import resolve_device

        return resolve_device(self.device)


PLAIN = Context()
