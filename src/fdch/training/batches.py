"""Training pairs as tensors, taken batch by batch."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from fdch.networks.text import WordBatch, sparse_rows, static_width

# pixels go through a whole image network, whose activations are large
FEATURES_AT_ONCE = 1024
PIXELS_AT_ONCE = {"cpu": 32, "cuda": 256}
SHARE_FOR_PIXELS = 0.4  # of an accelerator's free memory


def rows_at_once(images: NDArray[Any], device: torch.device) -> int:
    """Choose how many images go through a network together."""
    if images.dtype != np.uint8:
        return FEATURES_AT_ONCE
    return PIXELS_AT_ONCE.get(device.type, PIXELS_AT_ONCE["cpu"])


class TrainingPairs:
    """The inputs and labels of all training pairs.

    Features and labels are moved to the device once, pixels where they fit there,
    else batch by batch.

    Args:
        images: Features, float32 (n, width), or pixels, uint8 (n, size, size, 3).
        texts: Word vectors, (n, words).
        labels: 0 or 1, (n, classes).
        device: Where the networks are.
        static: Static features of the texts, float32 (n, width), where there are any.
        tuning: The same pairs with pixels, to go on from features with; or None.
    """

    def __init__(
        self,
        images: NDArray[np.float32] | NDArray[np.uint8],
        texts: csr_array,
        labels: NDArray[np.uint8],
        device: torch.device,
        static: NDArray[np.float32] | None = None,
        tuning: "TrainingPairs | None" = None,
    ) -> None:
        self.device, self.tuning = device, tuning
        self.items = len(labels)
        self.labels = torch.from_numpy(labels.astype(np.float32)).to(device)
        self._images = images
        self._rows_at_once = rows_at_once(images, device)
        self._resident = (
            torch.tensor(images, device=device) if _fits(images, device) else None
        )
        self._texts = texts
        self._static = None if static is None else torch.from_numpy(static).to(device)

    def images(self, rows: Tensor) -> Tensor:
        """Give a batch of image inputs on the device."""
        if self._resident is not None:
            return self._resident[rows]
        return torch.tensor(self._images[rows.numpy()], device=self.device)

    def texts(self, rows: Tensor) -> WordBatch:
        """Give a batch of text vectors on the device."""
        words = sparse_rows(self._texts[rows.numpy()]).to(self.device)
        return words if self._static is None else words.with_static(self._static[rows])

    def outputs(
        self, forward: Callable[[Tensor], Tensor], networks: Sequence[nn.Module]
    ) -> Tensor:
        """Run networks over all pairs, in evaluation mode and without gradients."""
        for network in networks:
            network.eval()
        with torch.no_grad():
            parts = [
                forward(rows)
                for rows in torch.split(torch.arange(self.items), self._rows_at_once)
            ]
        return torch.cat(parts)


def _fits(images: NDArray[Any], device: torch.device) -> bool:
    """Tell whether images should lie on the device; pixels only on an accelerator."""
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
            for start in range(0, items, batch)
        ]
    return np.concatenate(parts) if parts else np.zeros((0, 0), np.float32)
