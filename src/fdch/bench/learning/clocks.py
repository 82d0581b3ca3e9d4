"""Clocks of training: when epochs end, and how busy the device is."""

import time
from collections import defaultdict
from collections.abc import Iterable

import torch
from torch.profiler import ProfilerActivity, profile

from fdch.progress import Update


class EpochClock:
    """A Progress that times epochs, each from the one before it to its own end.

    The first of a stage also holds what prepares the stage.

    Attributes:
        seconds: By stage, of each epoch.
        processor: The same in the processor's time, of all threads.
        values: By stage, what each epoch reported.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.processor: dict[str, list[float]] = defaultdict(list)
        self.values: dict[str, list[dict[str, float]]] = defaultdict(list)
        self._last = time.perf_counter(), time.process_time()

    def __call__(self, update: Update) -> None:
        """Take an update."""
        if update.unit == "epoch":
            now = time.perf_counter(), time.process_time()
            self.seconds[update.task].append(now[0] - self._last[0])
            self.processor[update.task].append(now[1] - self._last[1])
            self.values[update.task].append(dict(update.values))
            self._last = now


class BusyClock:
    """A Progress that records the last epoch of each stage on an accelerator.

    Attributes:
        seconds: By stage, the time in which the device worked in that epoch.
    """

    def __init__(self, device: torch.device) -> None:
        self.seconds: dict[str, float] = {}
        self._device = device
        self._profile: profile | None = None

    def __call__(self, update: Update) -> None:
        """Take an update."""
        if update.unit != "epoch" or self._device.type != "cuda":
            return
        if self._profile is not None:
            torch.cuda.synchronize(self._device)
            self._profile.stop()
            self.seconds[update.task] = _busy_seconds(self._profile)
            self._profile = None
        if update.done == (update.total or 0) - 1:
            torch.cuda.synchronize(self._device)
            self._profile = profile(activities=[ProfilerActivity.CUDA], acc_events=True)
            self._profile.start()


def _busy_seconds(recorded: profile) -> float:
    """Add up the times in which anything ran, overlaps once."""
    spans = [
        (event.time_range.start, event.time_range.end)
        for event in recorded.events() or ()  # type: ignore[no-untyped-call]
        if event.device_type == torch.profiler.DeviceType.CUDA
    ]
    return join_spans(spans) / 1e6


def join_spans(spans: Iterable[tuple[float, float]]) -> float:
    """Measure the union of spans of time.

    >>> join_spans([(5, 6), (0, 2), (1, 3)])
    4.0
    """
    total, end = 0.0, float("-inf")
    for start, stop in sorted(spans):
        total += max(stop - max(start, end), 0)
        end = max(end, stop)
    return total
