"""Many pictures decoded by several threads: in batches, kept on disk, or checked."""

import logging
import math
import threading
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fdch.data.cache import ResultCache, default_folder
from fdch.data.pictures.decoders import open_decoders
from fdch.data.pictures.images import Pictures
from fdch.data.rows import TOGETHER, Digest, count_threads, in_threads
from fdch.errors import BrokenPicture, RunError
from fdch.files import write_whole
from fdch.progress import Progress, Update, silent

_log = logging.getLogger(__name__)
Pixels = NDArray[np.uint8]
_WHOLE = b"whole"  # in the keys of pictures that were found whole
# a whole JPEG is read even when it is decoded this small
_CHECK_SIZE = 16
_AHEAD = 2  # what each thread decodes ahead, in turns of some rows


def decode_batches(
    pictures: Pictures,
    size: int,
    batch: int = 64,
    workers: int | None = None,
    ahead: int = 0,
) -> Generator[Pixels]:
    """Decode all rows in threads and yield them in order, a batch at a time.

    All rows must have a picture. Batches are RGB values, (up to batch, size, size, 3).
    At least `ahead` pictures are decoded before they are requested; a few always are.
    """
    threads = workers or count_threads()
    count, batch = len(pictures), max(1, min(batch, len(pictures)))
    # a divisor of the batch, so that a broken picture costs no batch before its own
    together = math.gcd(batch, max(1, min(TOGETHER, batch // threads)))
    turns = max(_AHEAD, ahead // (threads * together))
    begun: dict[int, Pixels] = {}  # batches that threads fill
    guard = threading.Lock()

    def fill(row: int) -> None:
        number, place = divmod(row, batch)
        with guard:
            if number not in begun:
                rows = min(batch, count - number * batch)
                begun[number] = np.empty((rows, size, size, 3), dtype=np.uint8)
        decode(row, size, begun[number][place])

    with (
        open_decoders(pictures, threads) as decode,
        closing(in_threads(fill, count, threads, together, turns)) as decoded,
    ):
        for row, _ in enumerate(decoded):
            if row % batch == batch - 1 or row == count - 1:
                yield begun.pop(row // batch)


def pixel_store(
    pictures: Pictures,
    size: int,
    progress: Progress = silent,
    folder: str | Path | None = None,
) -> Pixels:
    """Decode all pictures once and return their pixels, read-only, (n, size, size, 3).

    They are kept in the folder, by default the user's cache, under a name made from
    every picture's content and the size, or in memory if that folder cannot be written.
    All rows must have a picture.
    """
    shape = (len(pictures), size, size, 3)
    if not len(pictures):
        return np.empty(shape, dtype=np.uint8)
    place = default_folder() if folder is None else Path(folder)
    path = place / f"pixels-{_key(pictures, size)}.npy"
    kept = _map(path, shape)
    if kept is not None:
        return kept

    def write(partial: Path) -> None:
        partial.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        header = {"descr": "|u1", "fortran_order": False, "shape": shape}
        # written, not mapped: a full disk is then an error and not a crash
        with partial.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, header)
            for batch in _decode(pictures, size, progress):
                file.write(batch.data)

    try:
        write_whole(path, write)
        kept = _map(path, shape)
    except RunError as error:
        _log.warning("going on without the cache '%s': %s", path, error)
    if kept is not None:
        return kept
    pixels, done = np.empty(shape, dtype=np.uint8), 0
    for batch in _decode(pictures, size, progress):
        pixels[done : done + len(batch)] = batch
        done += len(batch)
    return pixels


def _key(pictures: Pictures, size: int) -> str:
    digest = Digest(b"fdch pixels 1", str(size).encode())
    for content in in_threads(pictures.digest, len(pictures), together=TOGETHER):
        digest.add(content)
    return digest.hex()


def _map(path: Path, shape: tuple[int, ...]) -> Pixels | None:
    """Map a complete pixel store; None if it is missing or incomplete."""
    try:
        pixels = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return pixels if pixels.shape == shape and pixels.dtype == np.uint8 else None


def _decode(pictures: Pictures, size: int, progress: Progress) -> Iterator[Pixels]:
    done = 0
    for batch in decode_batches(pictures, size):
        yield batch
        done += len(batch)
        progress(Update("decoding pictures", done, len(pictures), "picture"))


def check_pictures(
    pictures: Pictures, progress: Progress = silent, first: bool = False
) -> list[tuple[int, BrokenPicture]]:
    """Decode every picture; return the broken ones, or the first, with rows."""
    rows = np.flatnonzero(pictures.present)

    def trouble(position: int) -> BrokenPicture | None:
        try:
            decode(int(rows[position]), _CHECK_SIZE, None)
        except BrokenPicture as error:
            return error
        return None

    broken = []
    with (
        open_decoders(pictures, count_threads()) as decode,
        closing(in_threads(trouble, len(rows), together=TOGETHER)) as troubles,
    ):
        for position, error in enumerate(troubles):
            if error is not None:
                broken.append((int(rows[position]), error))
                if first:
                    break
            progress(Update("checking pictures", position + 1, len(rows), "picture"))
    return broken


def find_broken_pictures(
    pictures: Pictures, progress: Progress = silent, first: bool = False
) -> list[tuple[int, BrokenPicture]]:
    """Return the broken pictures, or the first, with rows; cache whole ones."""
    known = ResultCache()
    rows = np.flatnonzero(pictures.present)
    keys = _keys(pictures[rows])
    whole = known.get_many(key for key in keys if key is not None)
    unsure = [place for place, key in enumerate(keys) if key not in whole]
    found = check_pictures(pictures[rows[unsure]], progress, first)
    broken = {unsure[place]: error for place, error in found}
    checked = unsure[: found[0][0]] if first and found else unsure
    good = (keys[place] for place in checked if place not in broken)
    known.put_many({key: b"" for key in good if key is not None})
    return [(int(rows[place]), error) for place, error in broken.items()]


def _keys(pictures: Pictures) -> list[bytes | None]:
    """Hash content and limits of each row; none for a file that cannot be read."""
    limits = f"{pictures.limits.bytes} {pictures.limits.pixels}".encode()

    def key(row: int) -> bytes | None:
        try:
            return pictures.digest(row) + _WHOLE + limits
        except BrokenPicture:
            return None

    return list(in_threads(key, len(pictures), together=TOGETHER))
