"""The image side of pairs, in rows: files, pixels in an array, or features."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fdch.data.decoding import PictureLimits, decode
from fdch.data.rows import Digest, chosen
from fdch.errors import BrokenPicture, DataError

_SAMPLED_ROWS = 64


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


class PictureFiles(Pictures):
    """Picture files, opened when they are asked for.

    Args:
        paths: Path of each row's picture, None where there is none.
        limits: The largest picture that is read.

    >>> PictureFiles([Path("a.jpg"), None]).present.tolist()
    [True, False]
    """

    def __init__(
        self,
        paths: "NDArray[np.object_] | Sequence[Path | None]",
        limits: PictureLimits | None = None,
    ) -> None:
        self.paths: NDArray[np.object_] = _objects(paths)
        self.limits = limits or PictureLimits()

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, rows: Any) -> "PictureFiles":
        return PictureFiles(self.paths[chosen(rows, len(self))], self.limits)

    @property
    def present(self) -> NDArray[np.bool_]:
        """Tell for each row whether it has a picture."""
        return np.array([path is not None for path in self.paths], dtype=np.bool_)

    def name(self, row: int) -> str:
        """Say what an error calls this row's picture: its path."""
        return f"picture '{self.paths[row]}'"

    def content(self, row: int) -> bytes:
        """Read one row's file, after a look at its size."""
        path: Path | None = self.paths[row]
        if path is None:
            raise DataError(f"row {row} has no picture; choose rows by 'present'.")
        try:
            with open(path, "rb") as file:
                content = file.read(self.limits.bytes + 1)
        except OSError as error:
            reason = error.strerror or error
            raise BrokenPicture(f"{self.name(row)}: {reason}.") from error
        if len(content) > self.limits.bytes:
            raise BrokenPicture(
                f"{self.name(row)}: more than {self.limits.bytes:,} bytes, the limit."
            )
        return content

    def add_to(self, digest: Digest) -> None:
        """Add each file's name and size to a fingerprint, not its folder."""
        digest.add(b"files")
        for row, path in enumerate(self.paths):
            digest.add_text(None if path is None else path.name)
            digest.add(b"" if path is None else self._bytes(row).to_bytes(8, "little"))

    def _bytes(self, row: int) -> int:
        try:
            return int(self.paths[row].stat().st_size)
        except OSError as error:
            reason = error.strerror or error
            raise BrokenPicture(f"{self.name(row)}: {reason}.") from error


class PictureContents(Pictures):
    """Pictures whose files are in memory, such as uploaded ones.

    >>> PictureContents([b"not a picture"]).present.tolist()
    [True]
    """

    def __init__(
        self, contents: Sequence[bytes], limits: PictureLimits | None = None
    ) -> None:
        self.contents = list(contents)
        self.limits = limits or PictureLimits()

    def __len__(self) -> int:
        return len(self.contents)

    def __getitem__(self, rows: Any) -> "PictureContents":
        wanted = chosen(rows, len(self))
        return PictureContents([self.contents[row] for row in wanted], self.limits)

    @property
    def present(self) -> NDArray[np.bool_]:
        """Tell for each row whether it has a picture: all do."""
        return np.ones(len(self), dtype=np.bool_)

    def name(self, row: int) -> str:
        """Say what an error calls this row's picture: nothing but a picture."""
        return "the picture"

    def content(self, row: int) -> bytes:
        """Give one row's file content."""
        content = self.contents[row]
        if len(content) > self.limits.bytes:
            raise BrokenPicture(
                f"{self.name(row)} has {len(content):,} bytes; "
                f"{self.limits.bytes:,} is the limit."
            )
        return content

    def add_to(self, digest: Digest) -> None:
        """Add each picture's bytes to a fingerprint."""
        digest.add(b"contents")
        for content in self.contents:
            digest.add(hashlib.blake2b(content, digest_size=16).digest())


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


def _objects(values: Any) -> NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
