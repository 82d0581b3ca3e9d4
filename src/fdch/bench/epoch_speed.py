"""How fast epochs go by, and what they are run on."""

import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch

from fdch.progress import Update


class EpochClock:
    """A Progress that times epochs, each from the one before it to its own end.

    The first of a stage also holds what prepares the stage.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.values: dict[str, list[dict[str, float]]] = defaultdict(list)
        self._last = time.perf_counter()

    def __call__(self, update: Update) -> None:
        """Take an update."""
        if update.unit == "epoch":
            now = time.perf_counter()
            self.seconds[update.task].append(now - self._last)
            self.values[update.task].append(dict(update.values))
            self._last = now


def time_losses(losses: Iterable[float]) -> tuple[list[float], list[float]]:
    """Draw the losses of epochs; give them, and the seconds that each took."""
    found, took, last = [], [], time.perf_counter()
    for loss in losses:
        now = time.perf_counter()
        found.append(loss)
        took.append(now - last)
        last = now
    return found, took


def machine_facts(device: torch.device) -> dict[str, Any]:
    """Name the device, with the threads and the version of torch."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    return {
        "device": str(device),
        "device_name": name,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


def forget_peak_device_memory(device: torch.device) -> None:
    """Let `peak_device_memory` count from now on."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def peak_device_memory(device: torch.device) -> int | None:
    """Give the most bytes held on an accelerator, where it has its own memory."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None
