"""Which pictures are broken, found before long work begins."""

import numpy as np

from fdch.data.cache import ResultCache
from fdch.data.pictures.images import Pictures, check_pictures
from fdch.data.rows import TOGETHER, in_threads
from fdch.errors import BrokenPicture
from fdch.progress import Progress, silent

_WHOLE = b"whole"


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
