"""Groups of items whose codes lie near each other, in one pass over the codes."""

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.index.bucketed import Buckets
from fdch.index.gallery import Gallery, Part
from fdch.index.lookup import within
from fdch.index.rows import row_codes, row_words
from fdch.index.snapshot import Snapshot
from fdch.progress import Progress, Update, silent

_QUERIES_AT_A_TIME = 1024


def near_groups(
    snapshot: Snapshot, radius: int, progress: Progress = silent
) -> list[NDArray[np.int64]]:
    """Join items no farther apart than the radius, and whatever these are joined to.

    Equal codes are joined first, and only one of each is searched with.

    Returns:
        Numbers of the items of each group of two or more, rising; the largest
        groups first, then by their first item.
    """
    numbers = snapshot.living()
    codes = snapshot.codes(snapshot.positions(numbers))
    different, owners = _different(codes)
    links = np.arange(len(different))
    if radius > 0:
        _link_near(different, radius, links, progress)
    for place in range(len(links)):
        links[place] = links[links[place]]  # a root comes before what it holds
    return _groups(numbers, links[owners])


def _different(codes: Codes) -> tuple[Codes, NDArray[np.intp]]:
    """Give each code once, and for every row which of them it has."""
    rows = row_words(codes)
    if rows.ndim == 1:
        once, owners = np.unique(rows, return_inverse=True)
    else:
        once, owners = np.unique(rows, axis=0, return_inverse=True)
    return row_codes(once, codes.bits), owners.reshape(-1)


def _link_near(
    codes: Codes, radius: int, links: NDArray[np.intp], progress: Progress
) -> None:
    rows = row_words(codes)
    buckets = Buckets.build(rows, codes.bits)
    gallery = Gallery(codes.bits, (Part(rows, 0, buckets=buckets),))
    for start in range(0, len(codes), _QUERIES_AT_A_TIME):
        some = codes[start : start + _QUERIES_AT_A_TIME]
        for place, found in enumerate(within(gallery, some, radius), start):
            for other in found.numbers.tolist():
                if other > place:
                    _link(links, place, other)
        progress(Update("comparing", start + len(some), len(codes), "code"))


def _link(links: NDArray[np.intp], one: int, other: int) -> None:
    """Put two codes under the lesser of their roots."""
    low, high = sorted((_root(links, one), _root(links, other)))
    links[high] = low


def _root(links: NDArray[np.intp], place: int) -> int:
    while links[place] != place:
        links[place] = links[links[place]]
        place = int(links[place])
    return place


def _groups(
    numbers: NDArray[np.int64], roots: NDArray[np.intp]
) -> list[NDArray[np.int64]]:
    order = np.argsort(roots, kind="stable")
    ends = np.flatnonzero(np.diff(roots[order])) + 1
    groups = [group for group in np.split(numbers[order], ends) if len(group) > 1]
    return sorted(groups, key=lambda group: (-len(group), int(group[0])))
