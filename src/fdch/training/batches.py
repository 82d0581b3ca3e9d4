"""Training pairs as tensors, taken batch by batch."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from fdch.networks.share import current_share
from fdch.networks.text import WordBatch, sparse_rows, static_width
from fdch.training.devices.streams import PixelStream

# pixels go through a whole image network, whose activations are large
FEATURES_AT_ONCE = 1024
PIXELS_AT_ONCE = {"cpu": 32, "cuda": 128}
SHARE_FOR_PIXELS = 0.4  # of an accelerator's free memory

Pairwise = Literal["auto", "exact", "sampled"]
EXACT_UP_TO = 20_000  # training pairs that "auto" compares each batch with
SAMPLE = 4_096


def rows_at_once(images: NDArray[Any], device: torch.device) -> int:
    """Choose how many images go through a network together."""
    if images.dtype != np.uint8:
        return FEATURES_AT_ONCE
    return PIXELS_AT_ONCE.get(device.type, PIXELS_AT_ONCE["cpu"])


class TrainingPairs:
    """The inputs and labels of all training pairs, on the device of the networks.

    Features and labels are moved there once, pixels where they fit, else batch by batch
    while the device works.

    Args:
        images: Features, float32 (n, width), or pixels, uint8 (n, size, size, 3).
        texts: Word vectors, (n, words).
        labels: 0 or 1, (n, classes).
        device: Where the networks are.
        static: Static features of the texts, float32 (n, width), where there are any.
        tuning: The same pairs with pixels, to go on from features with; or None.
        pairwise: Whether a batch is compared with all pairs or a sample of them.
    """

    _stream: PixelStream | None = None

    def __init__(
        self,
        images: NDArray[np.float32] | NDArray[np.uint8],
        texts: csr_array,
        labels: NDArray[np.uint8],
        device: torch.device,
        static: NDArray[np.float32] | None = None,
        tuning: "TrainingPairs | None" = None,
        pairwise: Pairwise = "auto",
    ) -> None:
        self.device, self.tuning, self._pairwise = device, tuning, pairwise
        self.items = len(labels)
        is_large = self.items > EXACT_UP_TO
        self.is_sampled = pairwise == "sampled" or (pairwise == "auto" and is_large)
        self.labels = torch.from_numpy(labels.astype(np.float32)).to(device)
        self._images = images
        self._rows_at_once = rows_at_once(images, device)
        self._resident = (
            torch.tensor(images, device=device) if _fits(images, device) else None
        )
        if self._resident is None and device.type == "cuda":
            self._stream = PixelStream(images, device)
        is_near = device.type == "cpu"
        self._texts = texts if is_near else ResidentWords(texts, device)
        self._static = None if static is None else torch.from_numpy(static).to(device)

    def select(self, rows: NDArray[np.intp]) -> "TrainingPairs":
        """Return some of the pairs, in the order of the rows."""
        texts = self._texts
        return TrainingPairs(
            self._images[rows],
            texts.matrix[rows] if isinstance(texts, ResidentWords) else texts[rows],
            self.labels[torch.from_numpy(rows).to(self.device)].cpu().numpy(),
            self.device,
            None if self._static is None else self._static.cpu().numpy()[rows],
            None if self.tuning is None else self.tuning.select(rows),
            self._pairwise,
        )

    @property
    def stays_on_device(self) -> bool:
        """Whether a step finds its inputs on the device."""
        is_there = self._resident is not None or self._stream is not None
        return is_there and isinstance(self._texts, ResidentWords)

    def images(self, rows: Tensor) -> Tensor:
        """Return image inputs of some pairs on the device.

        Where processes share the batch, only the inputs of the share are given.
        """
        if self._stream is not None and (pixels := self._stream.pixels) is not None:
            return pixels
        if (share := current_share()) is not None:
            rows = rows[share.rows]
        if self._resident is not None:
            return self._resident[rows]
        return torch.tensor(self._images[rows.cpu().numpy()], device=self.device)

    def deliver_images(self, batches: Sequence[Tensor]) -> Iterable[Tensor]:
        """Return the rows of each batch in turn, once its images are there."""
        return batches if self._stream is None else self._stream.deliver(batches)

    def texts(self, rows: Tensor) -> WordBatch:
        """Return a batch of text vectors on the device, shared or not."""
        if isinstance(self._texts, ResidentWords):
            words = self._texts.take(rows)
        else:
            words = sparse_rows(self._texts[rows.numpy()])
        return words if self._static is None else words.with_static(self._static[rows])

    def draw_others(self) -> tuple[Tensor | slice, float]:
        """Choose the pairs that a batch is compared with: their rows, and a factor.

        The factor makes a sum over them an unbiased estimate of the sum over all pairs.
        """
        if not self.is_sampled:
            return slice(None), 1.0
        rows = torch.randint(self.items, (SAMPLE,), device=self.device)
        return rows, self.items / SAMPLE

    def outputs(
        self, forward: Callable[[Tensor], Tensor], networks: Sequence[nn.Module]
    ) -> Tensor:
        """Run networks over all pairs, in evaluation mode and without gradients."""
        for network in networks:
            network.eval()
        rows = torch.arange(self.items, device=self.device)
        if self.device.type == "cuda" and self._images.dtype == np.uint8:
            # libraries prepare every layer for each new size of a batch
            rows = fill_last(rows, self._rows_at_once)
        with torch.no_grad():
            parts = [forward(part) for part in torch.split(rows, self._rows_at_once)]
        return torch.cat(parts)[: self.items]


def fill_last(rows: Tensor, size: int) -> Tensor:
    """Repeat the last row until all batches are of one size.

    >>> fill_last(torch.arange(5), 3).tolist()
    [0, 1, 2, 3, 4, 4]
    """
    return torch.cat([rows, rows[-1:].expand(-len(rows) % size)])


class ResidentWords:
    """Word vectors, (n, words), on an accelerator, where batches are gathered too.

    Rows are padded to the longest, so that all batches have the same shape.
    """

    def __init__(self, texts: csr_array, device: torch.device) -> None:
        self.matrix, self._columns = texts, texts.shape[1]
        lengths = np.diff(texts.indptr)
        is_taken = np.arange(lengths.max(initial=0)) < lengths[:, None]
        indices = np.full(is_taken.shape, self._columns)  # a column that is cut off
        values = np.zeros(is_taken.shape, np.float32)
        indices[is_taken], values[is_taken] = texts.indices, texts.data
        self._indices = torch.from_numpy(indices).to(device)
        self._values = torch.from_numpy(values).to(device)

    def take(self, rows: Tensor) -> WordBatch:
        """Gather a batch, all entries of each row."""
        dense = self._values.new_zeros(len(rows), self._columns + 1)
        dense.scatter_(1, self._indices[rows], self._values[rows])
        nothing = rows.new_empty(0)
        return WordBatch(nothing, nothing, nothing, dense[:, :-1])


def _fits(images: NDArray[Any], device: torch.device) -> bool:
    """Return whether images should lie on the device; pixels only on an accelerator."""
    if images.dtype != np.uint8:
        return True
    if device.type != "cuda":
        return False
    free, _ = torch.cuda.mem_get_info(device)
    return images.nbytes < SHARE_FOR_PIXELS * free


def image_outputs(
    network: nn.Module, images: NDArray[np.float32] | NDArray[np.uint8]
) -> NDArray[np.float32]:
    """Run an image network over features or pixels, batch by batch."""
    device = _device(network)
    return _in_batches(
        network,
        len(images),
        rows_at_once(images, device),
        # copied, because a store of pixels is read-only and torch wants to write
        lambda rows: (torch.tensor(images[rows], device=device),),
    )


def text_outputs(network: nn.Module, texts: csr_array) -> NDArray[np.float32]:
    """Run a text network over text vectors, batch by batch."""
    device, static = _device(network), static_width(network)
    return _in_batches(
        network,
        texts.shape[0],
        FEATURES_AT_ONCE,
        lambda rows: (sparse_rows(texts[rows], static).to(device),),
    )


def pair_outputs(
    network: nn.Module,
    images: NDArray[np.float32] | NDArray[np.uint8],
    texts: csr_array,
) -> NDArray[np.float32]:
    """Run a fusion network over pairs, batch by batch."""
    device, static = _device(network), static_width(network)
    return _in_batches(
        network,
        len(images),
        rows_at_once(images, device),
        lambda rows: (
            torch.tensor(images[rows], device=device),
            sparse_rows(texts[rows], static).to(device),
        ),
    )


def _device(network: nn.Module) -> torch.device:
    return next(network.parameters()).device


def _in_batches(
    network: nn.Module,
    items: int,
    batch: int,
    inputs: Callable[[slice], tuple[object, ...]],
) -> NDArray[np.float32]:
    network.eval()
    with torch.inference_mode():
        parts = [
            network(*inputs(slice(start, start + batch))).float().cpu().numpy()
            for start in range(0, items, batch) or [0]
        ]
    return np.concatenate(parts)
