"""Pictures as pixels in an array."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fdch.data.pictures.decoding import PictureLimits
from fdch.data.pictures.rows import Pictures
from fdch.data.rows import Digest, chosen
from fdch.errors import BrokenPicture, DataError

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
            are any: an index tells them to whoever shows its items.

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

    def __getitem__(self, rows: Any) -> "PictureArray":
        kept = self.rows[chosen(rows, len(self))]
        return PictureArray(self.pixels, kept, self.paths)

    @property
    def present(self) -> NDArray[np.bool_]:
        """Tell for each row whether it has a picture: all do."""
        return np.ones(len(self), dtype=np.bool_)

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
