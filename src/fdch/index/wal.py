"""SQLite's write-ahead log, read as its file format says.

SQLite does not tell which pages wait in the log, nor where it stopped to trust
it. Both must be known to say whether every byte of the database is as written.
"""

import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HEADER = 32
FRAME = 24
_MAGIC = 0x377F0682
_STEP = np.array([[1, 1], [1, 2]], dtype=np.uint32)  # one step of the checksum


@dataclass(frozen=True, eq=False)
class WriteAheadLog:
    """The committed frames of a log.

    Args:
        page_size: Bytes of a page.
        pages: Pages of the database after the last commit; 0 without one.
        content: Where the newest content of each page lies in the file.
        trusted: Bytes up to the end of the last commit.
    """

    page_size: int
    pages: int
    content: dict[int, int]
    trusted: int


EMPTY = WriteAheadLog(0, 0, {}, 0)


def read_log(path: Path) -> WriteAheadLog:
    """Read a log up to its last commit whose checksums hold."""
    try:
        content = np.fromfile(path, dtype=np.uint8)
    except FileNotFoundError:
        return EMPTY
    known = read_header(content[:HEADER].tobytes())
    if known is None or len(content) < HEADER + FRAME + known[0]:
        return EMPTY
    page_size, order = known
    return _committed(content, frames_of(content, page_size), order, page_size)


def read_header(header: bytes) -> tuple[int, str] | None:
    """Give page size and byte order of checksums; None for no sound header."""
    if len(header) < HEADER:
        return None
    magic, _, page_size, _ = struct.unpack(">4I", header[:16])
    order = ">" if magic == _MAGIC + 1 else "<"
    is_size = 512 <= page_size <= 65536 and page_size & (page_size - 1) == 0
    if magic not in (_MAGIC, _MAGIC + 1) or not is_size:
        return None
    fields = np.frombuffer(header, dtype=np.uint8)
    state = sums(fields[None, :24], order, np.zeros(2, np.uint32))[0]
    return (page_size, order) if (state == fields[24:].view(">u4")).all() else None


def frames_of(content: NDArray[np.uint8], page_size: int) -> NDArray[np.uint8]:
    """Give the whole frames of a log, one in a row."""
    count = (len(content) - HEADER) // (FRAME + page_size)
    return content[HEADER : HEADER + count * (FRAME + page_size)].reshape(count, -1)


def summed(frames: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Give the bytes of frames that their checksums cover."""
    return np.concatenate([frames[:, :8], frames[:, FRAME:]], axis=1)


def _committed(
    content: NDArray[np.uint8], frames: NDArray[np.uint8], order: str, page_size: int
) -> WriteAheadLog:
    heads = np.ascontiguousarray(frames[:, :FRAME]).view(">u4")  # (frames, 6)
    salts_differ = (heads[:, 2:4] != content[16:24].view(">u4")).any(axis=1)
    usable = int(np.argmax(salts_differ)) if salts_differ.any() else len(frames)
    start = content[24:32].view(">u4").astype(np.uint32)
    fails = (sums(summed(frames[:usable]), order, start) != heads[:usable, 4:6]).any(
        axis=1
    )
    usable = int(np.argmax(fails)) if fails.any() else usable
    commits = np.flatnonzero(heads[:usable, 1])
    if not len(commits):
        return EMPTY
    last = int(commits[-1])
    size = FRAME + page_size
    places = {
        int(page): HEADER + frame * size + FRAME
        for frame, page in enumerate(heads[: last + 1, 0])
    }
    pages = int(heads[last, 1])
    return WriteAheadLog(
        page_size,
        pages,
        {page: place for page, place in places.items() if page <= pages},
        HEADER + (last + 1) * size,
    )


def sums(
    rows: NDArray[np.uint8], order: str, start: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """Give the running checksum after each row, (rows, 2).

    The checksum is linear modulo 2**32: each row adds its own part to the state
    before it, multiplied by a power of the step.
    """
    words = np.ascontiguousarray(rows).view(f"{order}u4").astype(np.uint32)
    weight, power = weights(words.shape[1] // 2)
    own = words @ weight  # wraps modulo 2**32, as it should
    state = [int(start[0]), int(start[1])]
    (a, b), (c, d) = power.tolist()
    found = np.empty((len(rows), 2), dtype=np.uint32)
    for row, (first, second) in enumerate(own.tolist()):
        state = [
            (a * state[0] + b * state[1] + first) & 0xFFFFFFFF,
            (c * state[0] + d * state[1] + second) & 0xFFFFFFFF,
        ]
        found[row] = state
    return found


@lru_cache(maxsize=8)
def weights(steps: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Give the weight of each word in the final state, and the step's power.

    One step adds (x0, x1): s0' = s0 + s1 + x0; s1' = s1 + s0' + x1.
    """
    weight = np.empty((2 * steps, 2), dtype=np.uint32)
    power = np.eye(2, dtype=np.uint32)
    entry = np.array([[1, 0], [1, 1]], dtype=np.uint32)
    for step in reversed(range(steps)):
        weight[2 * step : 2 * step + 2] = (power @ entry).T
        power = power @ _STEP
    return weight, power
