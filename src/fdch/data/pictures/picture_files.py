"""Pictures as files, on disk or in memory."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fdch.data.pictures.decoding import ENDINGS, PictureLimits
from fdch.data.pictures.image_rows import Pictures
from fdch.data.rows import Digest, chosen, objects
from fdch.errors import BrokenPicture, DataError


class PictureFiles(Pictures):
    """Picture files, opened when they are needed.

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
        self.paths: NDArray[np.object_] = objects(paths)
        self.limits = limits or PictureLimits()

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, rows: Any) -> Self:
        return type(self)(self.paths[chosen(rows, len(self))], self.limits)

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
            raise self._unreadable(row, error) from error
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
        return BrokenPicture(f"{self.name(row)}: {reason}.")


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

    def __getitem__(self, rows: Any) -> Self:
        wanted = chosen(rows, len(self))
        return type(self)([self.contents[row] for row in wanted], self.limits)

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
