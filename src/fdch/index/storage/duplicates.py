"""Groups of items whose codes lie near each other, in one pass over the codes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from fdch.codes import Codes
from fdch.index.search.buckets import Buckets
from fdch.index.search.gallery import Gallery, Part
from fdch.index.search.lookup import within
from fdch.index.search.rows import row_codes, row_words
from fdch.index.storage.snapshot import Snapshot
from fdch.progress import Progress, Update, silent

_QUERIES_AT_A_TIME = 256
_PAIRS_AT_A_TIME = 1 << 22


def near_groups(
    snapshot: Snapshot, radius: int, progress: Progress = silent
) -> list[NDArray[np.int64]]:
    """Join items no farther apart than the radius, and whatever these are joined to.

    Equal codes are joined first, and only one of each is searched with. At radius 0
    the vectors of an index count too: codes that say what labels say are equal for
    thousands of items.

    Returns:
        Numbers of the items of each group of two or more, rising; the largest
        groups first, then by their first item.
    """
    numbers = snapshot.living()
    positions = snapshot.positions(numbers)
    codes = snapshot.codes(positions)
    different, owners = _distinct(codes)
    roots = np.arange(len(different))
    if radius > 0:
        roots = _join(different, radius, progress)
    roots = roots[owners]
    if radius == 0 and (vectors := snapshot.vectors(positions)) is not None:
        rows = np.column_stack([roots, _number_rows(vectors)])
        roots = _number_rows(rows)
    order = np.argsort(roots, kind="stable")
    ends = np.flatnonzero(np.diff(roots[order])) + 1
    groups = [group for group in np.split(numbers[order], ends) if len(group) > 1]
    return sorted(groups, key=lambda group: (-len(group), int(group[0])))


def _number_rows(rows: NDArray[Any]) -> NDArray[np.intp]:
    """Return a number for each row, the same for equal ones."""
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)


def _distinct(codes: Codes) -> tuple[Codes, NDArray[np.intp]]:
    """Return each code once, and for every row which of them it has."""
    rows = row_words(codes)
    axis = None if rows.ndim == 1 else 0
    once, owners = np.unique(rows, axis=axis, return_inverse=True)
    return row_codes(once, codes.bits), owners.reshape(-1)


def _join(codes: Codes, radius: int, progress: Progress) -> NDArray[np.intp]:
    """Return for each code the first one that it is joined to, itself perhaps."""
    rows = row_words(codes)
    buckets = Buckets.build(rows, codes.bits)
    gallery = Gallery(codes.bits, (Part(rows, 0, buckets=buckets),))
    roots = np.arange(len(codes))
    pending: list[NDArray[np.intp]] = []
    held = 0
    for start in range(0, len(codes), _QUERIES_AT_A_TIME):
        some = codes[start : start + _QUERIES_AT_A_TIME]
        found = within(gallery, some, radius)
        counts = [len(one.numbers) for one in found]
        queries = np.repeat(np.arange(start, start + len(some)), counts)
        pairs = np.stack([queries, np.concatenate([one.numbers for one in found])])
        # Each pair is seen from both sides; one is enough, whatever is joined between.
        is_new = roots[pairs[0]] != roots[pairs[1]]
        pairs = pairs[:, (pairs[0] < pairs[1]) & is_new]
        pending.append(pairs)
        held += pairs.shape[1]
        if held > _PAIRS_AT_A_TIME:
            roots, pending, held = _merge(roots, pending), [], 0
        progress(Update("comparing", start + len(some), len(codes), "code"))
    return _merge(roots, pending)


def _merge(
    roots: NDArray[np.intp], pending: list[NDArray[np.intp]]
) -> NDArray[np.intp]:
    """Join the codes of all pairs, and what these were joined to before."""
    known = np.stack([np.arange(len(roots)), roots])
    edges = np.concatenate([known, *pending], axis=1)
    shape = (len(roots), len(roots))
    graph = coo_array((np.ones(edges.shape[1], dtype=np.bool_), edges), shape=shape)
    _, components = connected_components(graph, directed=False)
    _, firsts = np.unique(components, return_index=True)
    return firsts[components]
