"""Pictures made to take long: small files over which a decoder spends minutes.

A JPEG may come in thousands of scans that each go over all of it, and any format
in a million pieces that are looked at one by one.
"""

import io
import re
import struct
from collections.abc import Iterator

from fdch.errors import BrokenPicture

# of these a decoder makes no smaller picture at once, so that all must be decoded
WHOLE_SHARE = 0.35
MAX_READS = 100_000
MAX_MARKERS = 500
MAX_SCANNED = 10**9  # pixels times scans: twenty scans of 50 million pixels
MAX_VALUES = 65_535
_JPEG, _TIFFS = b"\xff\xd8", {b"II": "<", b"MM": ">"}
_MARKER = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")  # but stuffing and restarts
_ALONE, _START_OF_SCAN, _END = (0x01, 0xD8), 0xDA, 0xD9
_BYTES = (1, 2, 6, 7)  # types of TIFF's values that are kept as they are


class CountedReads(io.BytesIO):
    """A file in memory that may be read from only so often."""

    def __init__(self, content: bytes, name: str) -> None:
        super().__init__(content)
        self._left, self._name = MAX_READS, name

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next bytes."""
        self._left -= 1
        if self._left < 0:
            raise too_many_pieces(self._name)
        return super().read(size)


def require_few_pieces(content: bytes, name: str) -> None:
    """Refuse a file of too many pieces, before it is opened."""
    if content.startswith(_JPEG):
        for number, _ in enumerate(_markers(content)):
            if number == MAX_MARKERS:
                raise too_many_pieces(name)
    elif content[:2] in _TIFFS and _most_values(content) > MAX_VALUES:
        raise too_many_pieces(name)


def require_few_scans(content: bytes, pixels: int, name: str) -> None:
    """Refuse a JPEG of too many scans for its size."""
    scans = sum(kind == _START_OF_SCAN for kind in _markers(content))
    if scans * pixels > MAX_SCANNED:
        raise BrokenPicture(f"{name}: {scans} scans are too many for its size.")


def too_many_pieces(name: str) -> BrokenPicture:
    """Return the error of a file in too many pieces."""
    return BrokenPicture(f"{name}: it is made of too many pieces; save it again.")


def _markers(content: bytes) -> Iterator[int]:
    """Yield the kinds of a JPEG's markers, to the end of its first picture."""
    place = len(_JPEG)
    while found := _MARKER.search(content, place):
        place = found.end()
        kind = content[place - 1]
        yield kind
        if kind == _END:
            return
        if kind not in _ALONE:
            place += int.from_bytes(content[place : place + 2])


def _most_values(content: bytes) -> int:
    """Return the length of the longest list of numbers in a TIFF's first directory."""
    order = _TIFFS[content[:2]]
    try:
        version, start = struct.unpack_from(f"{order}HI", content, 2)
        if version != 42:  # lengths of 64 bits
            return MAX_VALUES + 1
        [entries] = struct.unpack_from(f"{order}H", content, start)
        listed = content[start + 2 : start + 2 + 12 * entries]
        values = struct.iter_unpack(f"{order}2xHI4x", listed)
        return max((count for kind, count in values if kind not in _BYTES), default=0)
    except struct.error:
        return 0  # cut off: the decoder will say so
