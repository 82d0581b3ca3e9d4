"""Pictures inside larger files, or brought along in memory for another process."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fdch.data.pictures.images import Images, Pictures, SeparatePictures
from fdch.data.rows import Digest, in_threads
from fdch.errors import BrokenPicture


@runtime_checkable
class Place(Protocol):
    """The location of one picture."""

    @property
    def name(self) -> str:
        """The name of the picture in error messages."""

    @property
    def size(self) -> int:
        """Bytes of its file."""

    def read(self) -> bytes | NDArray[np.uint8]:
        """Return the content of its file, or its pixels; OSError if that fails."""


class PlacedPictures(SeparatePictures):
    """Pictures at locations of any kind; None for rows without a picture.

    >>> photo = LoadedPicture("picture 'a.jpg'", b"not a picture")
    >>> PlacedPictures([photo, None]).present.tolist()
    [True, False]
    """

    def name(self, row: int) -> str:
        """Return what errors call this row's picture."""
        return str(self.places[row].name)

    def content(self, row: int) -> bytes | NDArray[np.uint8]:
        """Read one row's picture, under the limit of bytes."""
        place: Place = self.require_place(row)
        if place.size > self.limits.bytes:
            raise BrokenPicture(
                f"{place.name}: {place.size:,} bytes; the limit is "
                f"{self.limits.bytes:,}."
            )
        try:
            return place.read()
        except BrokenPicture:  # one that is missing is an OSError too
            raise
        except OSError as error:
            raise BrokenPicture(f"{place.name}: {error}.") from error

    def add_to(self, digest: Digest) -> None:
        """Add each picture's name and size to a fingerprint."""
        digest.add(b"places")
        for place in self.places:
            digest.add_text(None if place is None else place.name)
            digest.add(b"" if place is None else place.size.to_bytes(8, "little"))


@dataclass(frozen=True, eq=False)
class LoadedPicture:
    """A picture in memory, or why it could not be read."""

    name: str
    content: bytes | NDArray[np.uint8] | BrokenPicture

    @property
    def size(self) -> int:
        """Bytes of its file; pixels have none."""
        return len(self.content) if isinstance(self.content, bytes) else 0

    def read(self) -> bytes | NDArray[np.uint8]:
        """Return what was read."""
        if isinstance(self.content, BrokenPicture):
            raise self.content
        return self.content


def load_pictures(images: Images) -> Images:
    """Read pictures into memory, so that a process without their files has them.

    Those that cannot be read raise their error where they are decoded.
    """
    if not isinstance(images, Pictures):
        return images
    present = images.present

    def load(row: int) -> LoadedPicture | None:
        if not present[row]:
            return None
        try:
            return LoadedPicture(images.name(row), images.content(row))
        except BrokenPicture as problem:
            return LoadedPicture(images.name(row), problem)

    return PlacedPictures(list(in_threads(load, len(images))), images.limits)
