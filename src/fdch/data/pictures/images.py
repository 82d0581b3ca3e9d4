"""The image side of pairs, in rows: pictures that are decoded, or features."""

import hashlib
import os
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fdch.data.pictures.decoding import ENDINGS, USUAL_LIMITS, decode, shrink
from fdch.data.pictures.decoding import PictureLimits as PictureLimits
from fdch.data.rows import (
    HASH_BYTES,
    Digest,
    Rows,
    choose,
    find_present,
    objects,
)
from fdch.errors import BrokenPicture, DataError, MissingPicture

_SAMPLED_ROWS = 64


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
        return type(self)(self.values[choose(rows, len(self))])

    def add_to(self, digest: Digest) -> None:
        """Add all numbers to a fingerprint."""
        digest.add(b"features")
        digest.add_array(self.values)


class Pictures(Images):
    """Images that are decoded when they are needed."""

    limits: PictureLimits

    @abstractmethod
    def content(self, row: int) -> bytes | NDArray[np.uint8]:
        """Return one row's file content, or its pixels."""

    @abstractmethod
    def name(self, row: int) -> str:
        """Return what errors call this row's picture."""

    def decode(
        self, row: int, size: int, out: NDArray[np.uint8] | None = None
    ) -> NDArray[np.uint8]:
        """Decode one row to RGB, shape (size, size, 3), into `out` where given."""
        return decode(self.content(row), size, self.limits, self.name(row), out)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        raise DataError(
            "pictures become an array one at a time and at a size: decode(0, 224) "
            "gives row 0 as 224 rows of 224 pixels."
        )

    def digest(self, row: int) -> bytes:
        """Hash one row's content, 16 bytes: equal pictures, equal digests."""
        content = self.content(row)
        if isinstance(content, np.ndarray):
            digest = Digest(b"pixels")
            digest.add_array(content)
            return digest.bytes()
        return hashlib.blake2b(content, digest_size=HASH_BYTES).digest()


class PictureArray(Pictures):
    """Decoded pictures of one size, in memory, mapped or in an open HDF5 file.

    Args:
        pixels: RGB values 0 to 255, (n, height, width, 3), of which `shape` and single
            rows are read.
        rows: Which of them, in which order; all when not given.
        paths: Files that hold the same pictures, one to each of all, where there
            are any: an index shows them with its items.

    >>> PictureArray(np.zeros((2, 8, 8, 3), np.uint8)).decode(1, 4).shape
    (4, 4, 3)
    """

    def __init__(
        self,
        pixels: Any,
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
        self.limits = USUAL_LIMITS

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any) -> Self:
        kept = self.rows[choose(rows, len(self))]
        return type(self)(self.pixels, kept, self.paths)

    def name(self, row: int) -> str:
        """Return what errors call this row's picture: its number."""
        return f"picture {self.rows[row]} of the array"

    def content(self, row: int) -> NDArray[np.uint8]:
        """Return one row's pixels, (height, width, 3)."""
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


class SeparatePictures(Pictures):
    """Pictures read one by one from a place such as a path; None if missing."""

    def __init__(
        self,
        places: "NDArray[np.object_] | Sequence[Any]",
        limits: PictureLimits = USUAL_LIMITS,
    ) -> None:
        self.places: NDArray[np.object_] = objects(places)
        self.limits = limits

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, rows: Any) -> Self:
        return type(self)(self.places[choose(rows, len(self))], self.limits)

    @property
    def present(self) -> NDArray[np.bool_]:
        """Return for each row whether it has a picture."""
        return find_present(self.places)

    def require_place(self, row: int) -> Any:
        """Return what reads a row's picture."""
        if self.places[row] is None:
            raise DataError(f"row {row} has no picture; choose rows by 'present'.")
        return self.places[row]


class PictureFiles(SeparatePictures):
    """Picture files, opened when needed; None for rows without a picture.

    >>> PictureFiles([Path("a.jpg"), None]).present.tolist()
    [True, False]
    """

    @property
    def paths(self) -> NDArray[np.object_]:
        """The files' paths."""
        return self.places

    def name(self, row: int) -> str:
        """Return what errors call this row's picture: its path."""
        return f"picture '{self.paths[row]}'"

    def content(self, row: int) -> bytes:
        """Read one row's file, under the limit of bytes."""
        path: Path = self.require_place(row)
        try:
            content = _read(path, self.limits.bytes + 1)
        except OSError as error:
            raise self._unreadable(row, error) from error
        return _require_size(content, self.limits, self.name(row))

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
            raise self._unreadable(row, error) from error

    def _unreadable(self, row: int, error: OSError) -> BrokenPicture:
        path: Path = self.paths[row]
        folder = path.absolute().parent
        if os.path.isdir(path):
            reason = f"it is a folder; name one picture, as {', '.join(ENDINGS)}"
        elif not os.path.isdir(folder):
            reason = f"there is no folder '{folder}'; check the path"
        elif isinstance(error, FileNotFoundError):
            reason = f"there is no such file in '{folder}'; check the name"
        else:
            reason = f"{error.strerror or error}; check that it may be read"
        is_missing = isinstance(error, FileNotFoundError)
        kind = MissingPicture if is_missing else BrokenPicture
        return kind(f"{self.name(row)}: {reason}.")


class PictureContents(SeparatePictures):
    """Picture files held in memory, such as uploads; None if missing.

    >>> PictureContents([b"not a picture"]).present.tolist()
    [True]
    """

    def name(self, row: int) -> str:
        """Return what errors call this row's picture."""
        return "the picture"

    def content(self, row: int) -> bytes:
        """Return one row's file content."""
        return _require_size(self.require_place(row), self.limits, self.name(row))

    def add_to(self, digest: Digest) -> None:
        """Add each picture's bytes to a fingerprint."""
        digest.add(b"contents")
        for content in self.places:
            known = b"" if content is None else content
            digest.add(hashlib.blake2b(known, digest_size=HASH_BYTES).digest())


def _read(path: Path, most: int) -> bytes:
    """Read a file up to a number of bytes."""
    with open(path, "rb") as file:
        # memory for `most` bytes would be mapped and unmapped for every file
        size = os.fstat(file.fileno()).st_size
        content = file.read(min(size + 1, most))
        return content if len(content) <= size else content + file.read(most - size - 1)


def _require_size(content: bytes, limits: PictureLimits, name: str) -> bytes:
    if len(content) > limits.bytes:
        raise BrokenPicture(f"{name}: more than {limits.bytes:,} bytes, the limit.")
    return content


def thumbnail(pictures: Pictures, row: int, size: int) -> bytes:
    """Make a small JPEG of one row, its longer side at most size pixels."""
    content = pictures.content(row)
    return shrink(content, size, pictures.limits, pictures.name(row))
