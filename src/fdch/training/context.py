"""The circumstances of training that do not change what is learned."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from fdch.progress import Progress, silent

if TYPE_CHECKING:
    import torch

    from fdch.training.checkpoints import Checkpoints


@dataclass(frozen=True)
class Context:
    """Where work runs, what it reports to, and where it keeps its checkpoints.

    `judge` is called after each epoch of the networks that encode, with its number and
    the number of all. The method being fitted can encode by then; an exception ends the
    training.
    """

    progress: Progress = silent  # called at every epoch and in long preparations
    device: str = "auto"  # "auto", or a torch device such as "cpu" or "cuda"
    checkpoints: "Checkpoints | None" = None  # of unfinished work; None keeps none
    # keep features of pictures in the cache folder, and look there
    remember: bool = True
    judge: Callable[[int, int], None] | None = None

    def __repr__(self) -> str:
        changed = (
            f"{each.name}={value!r}"
            for each in fields(self)
            if (value := getattr(self, each.name)) != each.default
        )
        return f"Context({', '.join(changed)})"

    def torch_device(self) -> "torch.device":
        """Resolve the device's name, "auto" meaning an accelerator if there is one."""
        # not above: an index is opened and searched with an export without torch
        from fdch.networks.device import resolve_device

        return resolve_device(self.device)


PLAIN = Context()
