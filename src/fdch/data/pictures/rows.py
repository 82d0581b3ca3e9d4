"""The image side of pairs, in rows: pictures that are decoded, or features."""

import hashlib
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.data.pictures.decoding import PictureLimits, decode
from fdch.data.rows import Digest, chosen
from fdch.errors import DataError


class Images(ABC):
    """The image side of a number of pairs, in rows."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, rows: Any) -> "Images": ...

    @property
    @abstractmethod
    def present(self) -> NDArray[np.bool_]:
        """Tell for each row whether it has an image."""

    @abstractmethod
    def add_to(self, digest: Digest) -> None:
        """Add what tells these images from others to a fingerprint."""


class ImageFeatures(Images):
    """Ready features, one row of numbers per image.

    >>> ImageFeatures(np.zeros((2, 3)))[1:].values.shape
    (1, 3)
    """

    def __init__(self, values: NDArray[Any]) -> None:
        if values.ndim != 2 or values.dtype.kind not in "fiub":
            raise DataError(
                "image features are rows of numbers; "
                f"got {values.dtype} of shape {values.shape}."
            )
        self.values: NDArray[np.float32] = values.astype(np.float32, copy=False)

    def __len__(self) -> int:
        return self.values.shape[0]

    def __getitem__(self, rows: Any) -> "ImageFeatures":
        return ImageFeatures(self.values[chosen(rows, len(self))])

    @property
    def present(self) -> NDArray[np.bool_]:
        """Tell for each row whether it has an image: all do."""
        return np.ones(len(self), dtype=np.bool_)

    def add_to(self, digest: Digest) -> None:
        """Add all numbers to a fingerprint."""
        digest.add(b"features")
        digest.add_array(self.values)


class Pictures(Images):
    """Images that are decoded when asked for."""

    limits: PictureLimits

    @abstractmethod
    def __getitem__(self, rows: Any) -> "Pictures": ...

    @abstractmethod
    def content(self, row: int) -> bytes | NDArray[np.uint8]:
        """Give one row's file content, or its pixels."""

    @abstractmethod
    def name(self, row: int) -> str:
        """Say what an error calls this row's picture."""

    def decode(self, row: int, size: int) -> NDArray[np.uint8]:
        """Decode one row to RGB, shape (size, size, 3)."""
        return decode(self.content(row), size, self.limits, self.name(row))

    def digest(self, row: int) -> bytes:
        """Hash one row's content, 16 bytes: equal pictures, equal digests."""
        content = self.content(row)
        if isinstance(content, np.ndarray):
            digest = Digest(b"pixels")
            digest.add_array(content)
            return digest.bytes()
        return hashlib.blake2b(content, digest_size=16).digest()
