"""Pictures to arrays: one at a time, in batches, small, or only checked."""

from collections.abc import Generator
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from fdch.data.pictures.decoding import PictureLimits, decode, shrink
from fdch.data.pictures.image_rows import (
    ImageFeatures,
    Images,
    PictureArray,
    Pictures,
    PixelRows,
)
from fdch.data.pictures.picture_files import PictureContents, PictureFiles
from fdch.data.rows import in_threads
from fdch.errors import BrokenPicture
from fdch.progress import Progress, Update, silent

__all__ = [
    "ImageFeatures",
    "Images",
    "PictureArray",
    "PictureContents",
    "PictureFiles",
    "PictureLimits",
    "Pictures",
    "PixelRows",
    "check_pictures",
    "decode",
    "decode_batches",
    "thumbnail",
]

# a whole JPEG is read even when it is decoded this small
_CHECK_SIZE = 16


def decode_batches(
    pictures: Pictures, size: int, batch: int = 64, workers: int | None = None
) -> Generator[NDArray[np.uint8]]:
    """Decode all rows in threads and give them in order, a batch at a time.

    Yields:
        RGB values, shape (up to batch, size, size, 3).
    """
    work = in_threads(lambda row: pictures.decode(row, size), len(pictures), workers)
    with closing(work) as decoded:
        for start in range(0, len(pictures), batch):
            count = min(batch, len(pictures) - start)
            yield np.stack([next(decoded) for _ in range(count)])


def thumbnail(pictures: Pictures, row: int, size: int) -> bytes:
    """Make a small JPEG of one row, its longer side at most size pixels."""
    content = pictures.content(row)
    return shrink(content, size, pictures.limits, pictures.name(row))


def check_pictures(
    pictures: Pictures, progress: Progress = silent, first: bool = False
) -> list[tuple[int, BrokenPicture]]:
    """Decode every picture there is and give the broken ones with their rows.

    Args:
        pictures: Rows with and without a picture.
        progress: Called for each picture.
        first: Stop at the first broken one.
    """
    rows = np.flatnonzero(pictures.present)

    def trouble(position: int) -> BrokenPicture | None:
        try:
            pictures.decode(int(rows[position]), _CHECK_SIZE)
        except BrokenPicture as error:
            return error
        return None

    broken = []
    with closing(in_threads(trouble, len(rows))) as troubles:
        for position, error in enumerate(troubles):
            if error is not None:
                broken.append((int(rows[position]), error))
                if first:
                    break
            progress(Update("checking pictures", position + 1, len(rows), "picture"))
    return broken
