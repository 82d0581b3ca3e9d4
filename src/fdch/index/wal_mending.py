"""Single damaged bytes of a write-ahead log, found by its checksums.

The checksum of a frame is linear in its words, so that the byte which explains
a wrong one is computed for all places at once.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fdch.index.wal import (
    FRAME,
    HEADER,
    frames_of,
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
        content = np.fromfile(path, dtype=np.uint8)
    except FileNotFoundError:
        return []
    mends: list[Mend] = []
    while len(mends) < _MOST_MENDS:
        mend = _header_mend(content) or _frame_mend(content)
        if mend is None:
            break
        content[mend[0]] = mend[1]
        mends.append(mend)
    return mends


def _header_mend(content: NDArray[np.uint8]) -> Mend | None:
    header = bytearray(content[:HEADER].tobytes())
    if len(header) < HEADER or read_header(bytes(header)):
        return None
    for place, byte in enumerate(header):
        for trial in range(256):
            header[place] = trial
            if read_header(bytes(header)):
                return place, trial
        header[place] = byte
    return None


def _frame_mend(content: NDArray[np.uint8]) -> Mend | None:
    """Find the byte that is wrong in the first frame that is not right."""
    known = read_header(content[:HEADER].tobytes())
    if known is None:
        return None
    page_size, order = known
    frames = frames_of(content, page_size)
    start = content[24:32].view(">u4").astype(np.uint32)
    found = sums(summed(frames), order, start)
    checks = found.astype(">u4").view(np.uint8)
    salts = np.broadcast_to(content[16:24], (len(frames), 8))
    expected = np.concatenate([salts, checks], axis=1)  # (frames, 16)
    differ = frames[:, 8:FRAME] != expected
    wrong = np.flatnonzero(differ.any(axis=1))
    if not len(wrong):
        return None
    frame = int(wrong[0])
    begin = HEADER + frame * (FRAME + page_size)
    if differ[frame].sum() == 1:
        place = int(np.argmax(differ[frame]))
        return begin + 8 + place, int(expected[frame, place])
    if differ[frame, :8].any():
        return None
    stored = np.ascontiguousarray(frames[frame, 16:FRAME]).view(">u4")
    gap = stored.astype(np.uint32) - found[frame]
    inside = _explained(summed(frames[frame : frame + 1])[0], order, gap)
    if inside is None:
        return None
    place, byte = inside
    return begin + (place if place < 8 else place + FRAME - 8), byte


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
