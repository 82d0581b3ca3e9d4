"""SQLite's write-ahead log, read as its file format says.

SQLite does not tell which pages wait in the log, nor where it stopped to trust
it. Both must be known to say whether every byte of the database is as written.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

HEADER = 32
FRAME = 24
_MAGIC = 0x377F0682
_BLOCK_FRAMES = 256
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
        with path.open("rb") as file:
            header = file.read(HEADER)
            known = read_header(header)
            return EMPTY if known is None else _committed(file, header, *known)
    except FileNotFoundError:
        return EMPTY


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


def begin_of(header: bytes) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Give the salts that every frame repeats, and the checksum they go on from."""
    fields = np.frombuffer(header, dtype=">u4").astype(np.uint32)
    return fields[4:6], fields[6:8]


def blocks(file: BinaryIO, page_size: int) -> Iterator[NDArray[np.uint8]]:
    """Read the whole frames that follow, one in a row, some at a time.

    A log may be as long as the database; no more of it is held than a block.
    """
    size = FRAME + page_size
    while len(content := bytearray(file.read(_BLOCK_FRAMES * size))) >= size:
        count = len(content) // size
        yield np.frombuffer(content, np.uint8, count * size).reshape(count, size)


def summed(frames: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Give the bytes of frames that their checksums cover."""
    return np.concatenate([frames[:, :8], frames[:, FRAME:]], axis=1)


def _committed(
    file: BinaryIO, header: bytes, page_size: int, order: str
) -> WriteAheadLog:
    heads = _sound_heads(file, header, page_size, order)
    commits = np.flatnonzero(heads[:, 1])
    if not len(commits):
        return EMPTY
    last = int(commits[-1])
    size = FRAME + page_size
    pages = int(heads[last, 1])
    places = {
        page: HEADER + frame * size + FRAME
        for frame, page in enumerate(heads[: last + 1, 0].tolist())
        if page <= pages
    }
    return WriteAheadLog(page_size, pages, places, HEADER + (last + 1) * size)


def _sound_heads(
    file: BinaryIO, header: bytes, page_size: int, order: str
) -> NDArray[np.uint32]:
    """Give page and size of database of the frames up to the first that fails."""
    salts, state = begin_of(header)
    sound = [np.empty((0, 2), dtype=np.uint32)]
    for frames in blocks(file, page_size):
        heads = np.ascontiguousarray(frames[:, :FRAME]).view(">u4")  # (frames, 6)
        found = sums(summed(frames), order, state)
        fails = (heads[:, 2:4] != salts).any(axis=1)
        fails |= (heads[:, 4:6] != found).any(axis=1)
        usable = int(np.argmax(fails)) if fails.any() else len(frames)
        sound.append(heads[:usable, :2].astype(np.uint32))
        if usable < len(frames):
            break
        state = found[-1]
    return np.concatenate(sound)


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
