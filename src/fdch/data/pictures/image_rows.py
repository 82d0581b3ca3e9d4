"""The image side of pairs, in rows: pictures that are decoded, or features."""

import hashlib
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from fdch.data.pictures.decoding import PictureLimits, decode
from fdch.data.rows import Digest, Rows, chosen
from fdch.errors import BrokenPicture, DataError


class Images(Rows):
    """The image side of a number of pairs, in rows."""


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

    def __getitem__(self, rows: Any) -> Self:
        return type(self)(self.values[chosen(rows, len(self))])

    def add_to(self, digest: Digest) -> None:
        """Add all numbers to a fingerprint."""
        digest.add(b"features")
        digest.add_array(self.values)


class Pictures(Images):
    """Images that are decoded when they are needed."""

    limits: PictureLimits

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


_SAMPLED_ROWS = 64


class PixelRows(Protocol):
    """What PictureArray needs of an array, in memory or on disk."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows, height, width and 3."""

    def __getitem__(self, row: int) -> Any: ...


class PictureArray(Pictures):
    """Decoded pictures of one size, in memory, mapped or in an open HDF5 file.

    Args:
        pixels: RGB values 0 to 255, (n, height, width, 3); read row by row.
        rows: Which of them, in which order; all when not given.
        paths: Files that hold the same pictures, one to each of all, where there
            are any: an index shows them with its items.

    >>> PictureArray(np.zeros((2, 8, 8, 3), np.uint8)).decode(1, 4).shape
    (4, 4, 3)
    """

    def __init__(
        self,
        pixels: PixelRows,
        rows: NDArray[np.intp] | None = None,
        paths: Sequence[Path] | None = None,
    ) -> None:
        if len(pixels.shape) != 4 or pixels.shape[3] != 3:
            raise DataError(
                f"pictures are (n, height, width, 3); got shape {tuple(pixels.shape)}."
            )
        self.pixels = pixels
        self.rows = np.arange(pixels.shape[0]) if rows is None else rows
        self.paths = paths
        self.limits = PictureLimits()

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any) -> Self:
        kept = self.rows[chosen(rows, len(self))]
        return type(self)(self.pixels, kept, self.paths)

    def name(self, row: int) -> str:
        """Say what an error calls this row's picture: its number."""
        return f"picture {self.rows[row]} of the array"

    def content(self, row: int) -> NDArray[np.uint8]:
        """Give one row's pixels, (height, width, 3)."""
        try:
            pixels = np.asarray(self.pixels[int(self.rows[row])])
        except OSError as error:
            raise BrokenPicture(f"{self.name(row)}: {error}.") from error
        if pixels.dtype != np.uint8:
            raise BrokenPicture(
                f"{self.name(row)}: values are {pixels.dtype}; expected uint8."
            )
        return pixels

    def add_to(self, digest: Digest) -> None:
        """Add shape and some rows to a fingerprint: all may be gigabytes."""
        digest.add(f"pixels {len(self)} {tuple(self.pixels.shape[1:])}".encode())
        step = max(1, len(self) // _SAMPLED_ROWS)
        for row in range(0, len(self), step):
            digest.add_array(self.content(row))
