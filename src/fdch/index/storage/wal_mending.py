"""Single damaged bytes of a write-ahead log, found by its checksums.

The checksum of a frame is linear in its words, so that the byte which explains
a wrong one is computed for all places at once.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from fdch.index.storage.wal import (
    FRAME,
    HEADER,
    begin_of,
    blocks,
    read_header,
    summed,
    sums,
    weights,
)

_MOST_MENDS = 16
Mend = tuple[int, int]  # place in the file, the byte that was written there


def mends_of_log(path: Path) -> list[Mend]:
    """Find the bytes to be changed for the checksums of a log to hold."""
    try:
        with path.open("rb") as file:
            return list(islice(_mends(file), _MOST_MENDS))
    except FileNotFoundError:
        return []


def _mends(file: BinaryIO) -> Iterator[Mend]:
    """Mend one frame after the other, up to the first that cannot be mended."""
    header = bytearray(file.read(HEADER))
    mend = _header_mend(header)
    if mend is not None:
        header[mend[0]] = mend[1]
        yield mend
    known = read_header(bytes(header))
    if known is None:
        return
    page_size, order = known
    salts, state = begin_of(bytes(header))
    begin = HEADER
    for frames in blocks(file, page_size):
        while True:
            found = sums(summed(frames), order, state)
            expected = _expected(salts, found)
            wrong = (frames[:, 8:FRAME] != expected).any(axis=1)
            if not wrong.any():
                break
            row = int(np.argmax(wrong))
            mend = _frame_mend(frames[row], expected[row], order)
            if mend is None:
                return
            frames[row, mend[0]] = mend[1]
            yield begin + row * frames.shape[1] + mend[0], mend[1]
        state = found[-1]
        begin += frames.size


def _header_mend(header: bytearray) -> Mend | None:
    if len(header) < HEADER or read_header(bytes(header)):
        return None
    for place, byte in enumerate(bytes(header)):
        for trial in range(256):
            header[place] = trial
            if read_header(bytes(header)):
                return place, trial
        header[place] = byte
    return None


def _expected(
    salts: NDArray[np.uint32], found: NDArray[np.uint32]
) -> NDArray[np.uint8]:
    """Give the bytes that frames have where salts and checksums stand, (frames, 16)."""
    words = np.concatenate([np.broadcast_to(salts, found.shape), found], axis=1)
    return words.astype(">u4").view(np.uint8)


def _frame_mend(
    frame: NDArray[np.uint8], expected: NDArray[np.uint8], order: str
) -> Mend | None:
    """Find the byte that is wrong in a frame that is not right."""
    differ = frame[8:FRAME] != expected
    if differ.sum() == 1:
        place = int(np.argmax(differ))
        return 8 + place, int(expected[place])
    if differ[:8].any():
        return None
    gap = _words(frame[16:FRAME]) - _words(expected[8:])
    inside = _explained(summed(frame[None])[0], order, gap)
    if inside is None:
        return None
    place, byte = inside
    return place if place < 8 else place + FRAME - 8, byte


def _words(content: NDArray[np.uint8]) -> NDArray[np.uint32]:
    return np.ascontiguousarray(content).view(">u4").astype(np.uint32)


def _explained(
    content: NDArray[np.uint8], order: str, gap: NDArray[np.uint32]
) -> Mend | None:
    """Find the byte whose change adds what a checksum lacks."""
    weight, _ = weights(len(content) // 8)
    places = np.arange(len(content))
    shifts = 8 * (places % 4 if order == "<" else 3 - places % 4)
    change = np.arange(256) - content[:, None].astype(np.int64)  # (places, 256)
    change = (change << shifts[:, None]).astype(np.uint32)
    hits = np.ones(change.shape, dtype=bool)
    for half in range(2):
        hits &= change * weight[places // 4, half][:, None] == gap[half]
    found = np.argwhere(hits)
    return (int(found[0, 0]), int(found[0, 1])) if len(found) else None
