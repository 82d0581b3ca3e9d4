"""Pictures that do not fit on a device, brought there while it works."""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fdch.training.devices.shared_batches import own_share

AHEAD = 4  # batches read before their turn, each by a thread of its own


class PixelStream:
    """Batches of pixels, read by threads and copied from pinned memory.

    Pixels are uint8, (n, size, size, 3), in memory or on disk. The batch whose turn it
    is always lies at the same place on the device, so that a captured step finds it.
    """

    def __init__(self, images: NDArray[Any], device: torch.device) -> None:
        self._images, self._device = images, device
        self._slots: list[_Slot] = []
        self._turn: Tensor | None = None
        self._taken = 0

    def deliver(self, batches: Sequence[Tensor]) -> Iterator[Tensor]:
        """Return the rows of each batch again when its pixels are there.

        Where processes share a batch, only the pixels of the share are brought.
        """
        self._make_room(max(map(len, batches), default=0))
        work = deque(rows.cpu().numpy() for rows in batches)
        waiting: deque[tuple[_Slot, Future[None]]] = deque()
        free = deque(self._slots)
        with ThreadPoolExecutor(AHEAD) as threads:
            for rows in batches:
                while work and free:
                    slot, part = free.popleft(), _take_share(work.popleft())
                    future = threads.submit(slot.fill, self._images, part)
                    waiting.append((slot, future))
                slot, future = waiting.popleft()
                future.result()
                assert self._turn is not None
                self._taken = slot.empty_into(self._turn)
                free.append(slot)
                try:
                    yield rows
                finally:
                    self._taken = 0

    @property
    def pixels(self) -> Tensor | None:
        """Those of the batch whose turn it is; None between the batches."""
        if self._turn is None or self._taken == 0:
            return None
        return self._turn[: self._taken]

    def _make_room(self, items: int) -> None:
        if self._turn is not None and items <= len(self._turn):
            return
        shape = (items, *self._images.shape[1:])
        self._turn = torch.empty(shape, dtype=torch.uint8, device=self._device)
        self._slots = [_Slot(shape, self._device) for _ in range(AHEAD)]


class _Slot:
    """Room for one batch in pinned memory and on the device."""

    def __init__(self, shape: tuple[int, ...], device: torch.device) -> None:
        is_far = device.type == "cuda"
        self._here = torch.empty(shape, dtype=torch.uint8, pin_memory=is_far)
        self._there = self._here
        self._stream: torch.cuda.Stream | None = None
        self._items = 0
        if is_far:
            self._there = torch.empty(shape, dtype=torch.uint8, device=device)
            self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def fill(self, images: NDArray[Any], rows: NDArray[np.int64]) -> None:
        """Read rows, and let the device fetch them on a stream of the slot's own."""
        if self._stream is not None:
            self._stream.synchronize()  # the batch before has left pinned memory
        self._items = len(rows)
        here = self._here[: self._items]
        # "raise" would read into a buffer of NumPy's first
        np.take(images, rows, axis=0, out=here.numpy(), mode="clip")
        if self._stream is not None:
            with torch.cuda.stream(self._stream):
                self._there[: self._items].copy_(here, non_blocking=True)

    def empty_into(self, turn: Tensor) -> int:
        """Copy the batch to where steps look for it; return how many rows it has."""
        if self._stream is not None:
            torch.cuda.current_stream(turn.device).wait_stream(self._stream)
        turn[: self._items].copy_(self._there[: self._items])
        if self._stream is not None:  # the next batch comes after this copy
            self._stream.wait_stream(torch.cuda.current_stream(turn.device))
        return self._items


def _take_share(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    share = own_share(len(rows))
    return rows if share is None else rows[share.rows]
