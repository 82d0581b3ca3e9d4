"""One step of learning; on an accelerator of NVIDIA's, replayed as a CUDA graph.

A step of these small networks is about a hundred kernels of a few microseconds
each. Launched one by one they take ten times as long as they run.
"""

import ctypes
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from fdch.networks.share import compute_share
from fdch.training.devices.processes import count_processes
from fdch.training.devices.shared_batches import average_gradients, own_share

Loss = Callable[[Tensor], tuple[Tensor, dict[str, Tensor]]]
WARM_UP_STEPS = 3  # libraries choose kernels and take memory in these
# options of glibc's mallopt, and the values that it reaches by itself with large blocks
_TRIM_BEYOND, _MAP_FROM, _MAX_MAPPED = -1, -3, -4
_USUAL = ((_MAX_MAPPED, 65536), (_MAP_FROM, 32 * 2**20), (_TRIM_BEYOND, 64 * 2**20))


class Step:
    """Teaches networks by one batch, and sums up the terms of the loss.

    `items` are the training pairs in an epoch. `is_captured` says that the whole step
    stays on the device, so that a graph can replay it; it has no effect elsewhere, nor
    where processes share a batch.
    """

    def __init__(
        self,
        loss: Loss,
        optimizers: Sequence[torch.optim.Optimizer],
        items: int,
        device: torch.device,
        is_captured: bool,
    ) -> None:
        self._loss, self._optimizers, self._items = loss, optimizers, items
        is_alone = count_processes() == 1
        self._is_captured = is_captured and device.type == "cuda" and is_alone
        self._stream: torch.cuda.Stream | None = None
        if self._is_captured:
            self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._graphs: dict[int, tuple[torch.cuda.CUDAGraph, Tensor]] = {}
        self._steps = 0
        self._seen: set[int] = set()  # sizes of batches that warmed up
        self._names: tuple[str, ...] = ()
        self._sums: Tensor | None = None  # of the terms, in the order of their names

    def __call__(self, rows: Tensor) -> None:
        """Teach the networks by some rows."""
        self._steps += 1
        if not self._is_captured:
            self._learn(rows)
        elif self._steps <= WARM_UP_STEPS or len(rows) not in self._seen:
            self._warm_up(rows)
            self._seen.add(len(rows))
        else:
            graph, own_rows = self._graphs.get(len(rows)) or self._capture(rows)
            own_rows.copy_(rows)
            graph.replay()

    def take_terms(self) -> dict[str, float]:
        """Return the mean of each term since the last call."""
        if self._sums is None:
            return {}
        terms = dict(zip(self._names, self._sums.tolist(), strict=True))
        self._sums.zero_()
        return terms

    def _learn(self, rows: Tensor) -> None:
        for optimizer in self._optimizers:
            optimizer.zero_grad(set_to_none=True)
        with compute_share(own_share(len(rows))):
            loss, terms = self._loss(rows)
        loss.backward()  # type: ignore[no-untyped-call]
        average_gradients(self._optimizers)
        for optimizer in self._optimizers:
            optimizer.step()
        # together: one by one they are as many kernels as a layer
        values = torch.stack(list(terms.values()))
        if self._sums is None:
            self._names, self._sums = tuple(terms), torch.zeros_like(values)
        self._sums += values * (len(rows) / self._items)

    def _warm_up(self, rows: Tensor) -> None:
        """Learn on a stream of its own, as capturing demands of the steps before."""
        assert self._stream is not None
        self._stream.wait_stream(torch.cuda.current_stream(rows.device))
        with torch.cuda.stream(self._stream):
            self._learn(rows)
        torch.cuda.current_stream(rows.device).wait_stream(self._stream)

    def _capture(self, rows: Tensor) -> tuple[torch.cuda.CUDAGraph, Tensor]:
        """Record the step of a batch of this size, without running it."""
        own_rows = rows.clone()
        graph = torch.cuda.CUDAGraph()
        # threads that read pictures go on meanwhile
        mode = "thread_local"
        with torch.cuda.graph(graph, stream=self._stream, capture_error_mode=mode):
            self._learn(own_rows)
        self._graphs[len(rows)] = graph, own_rows
        return graph, own_rows


@contextmanager
def keep_freed_memory(device: torch.device) -> Iterator[None]:
    """Let glibc keep what steps on a processor free, so that later ones fault no page.

    It would unmap each large block when it is freed, and return the end of its heap.
    What is free after the block of code goes back to the system.
    """
    library: Any = ctypes.CDLL(None) if sys.platform == "linux" else None
    if device.type != "cpu" or not hasattr(library, "mallopt"):
        yield
        return
    for option, value in (_MAX_MAPPED, 0), (_TRIM_BEYOND, 2**31 - 1):
        library.mallopt(option, value)
    try:
        yield
    finally:
        for option, value in _USUAL:
            library.mallopt(option, value)
        library.malloc_trim(0)
