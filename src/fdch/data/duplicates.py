"""Pairs with the same picture or the same text: counted, and put into groups."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from fdch.data.contents import image_digests, text_digests
from fdch.data.pairs import PairedSet
from fdch.errors import SettingError, suggestion

Grouping = Literal["pictures", "texts", "both"]
GROUPINGS: tuple[str, ...] = get_args(Grouping)
SIDES = ("pictures", "texts")


@dataclass(frozen=True)
class Duplicates:
    """How often the same content occurs in a set of pairs.

    Args:
        groups: Contents that several pairs have.
        pairs: Pairs that have one of them.
        largest: Pairs of the largest group.
    """

    groups: int
    pairs: int
    largest: int

    def to_json(self) -> dict[str, Any]:
        """Give plain values by name."""
        return asdict(self)


@dataclass(frozen=True)
class QueryDuplicates(Duplicates):
    """How often the same content occurs, and how many queries it concerns.

    Args:
        queries_in_training: Queries with the content of a pair that was learned
            from; None where that is not known.
        queries_in_database: Queries with the content of a pair of the database.
    """

    queries_in_training: int | None
    queries_in_database: int


def side_digests(pairs: PairedSet, side: str) -> list[bytes]:
    """Hash all "pictures" or all "texts" of some pairs."""
    if side == "pictures":
        return image_digests(pairs.images)
    return text_digests(pairs.texts)


def count_duplicates(digests: Sequence[bytes]) -> Duplicates:
    """Count contents that occur more than once; rows without any do not count.

    >>> count_duplicates([b"a", b"b", b"a", b"", b""])
    Duplicates(groups=1, pairs=2, largest=2)
    """
    counts = Counter(digest for digest in digests if digest)
    sizes = [size for size in counts.values() if size > 1]
    return Duplicates(len(sizes), sum(sizes), max(sizes, default=0))


def count_query_duplicates(
    pairs: PairedSet,
    query: NDArray[np.intp],
    database: NDArray[np.intp],
    learning: NDArray[np.intp] | None = None,
    seen_images: Collection[bytes] | None = None,
) -> dict[str, QueryDuplicates]:
    """Count what occurs more than once, and the queries that this concerns.

    Args:
        pairs: Queries and database.
        query: Rows of the queries.
        database: Rows of the database.
        learning: Rows that were learned from; None where training had other data.
        seen_images: Hashes of the images of that other data, where they are known.

    Returns:
        Counts by side, "pictures" and "texts".
    """
    found: dict[str, QueryDuplicates] = {}
    for side in SIDES:
        digests = side_digests(pairs, side)
        learned = seen_images if side == "pictures" else None
        if learning is not None:
            learned = {digests[row] for row in learning}
        own = [digests[row] for row in query if digests[row]]
        held = {digests[row] for row in database}
        found[side] = QueryDuplicates(
            **asdict(count_duplicates(digests)),
            queries_in_training=(
                None if learned is None else sum(each in learned for each in own)
            ),
            queries_in_database=sum(each in held for each in own),
        )
    return found


def number_groups(pairs: PairedSet, by: Grouping) -> NDArray[np.intp]:
    """Number the groups of pairs that belong together, one number per row.

    Args:
        pairs: What to group.
        by: "pictures" or "texts" that are the same, or "both": pairs that are linked
            by either, through other pairs too.
    """
    if by not in GROUPINGS:
        hint = suggestion(by, GROUPINGS) or f"; use {', '.join(GROUPINGS)}."
        raise SettingError(f"pairs are not grouped by {by!r}{hint}")
    sides = SIDES if by == "both" else (by,)
    rows: list[int] = []
    others: list[int] = []
    for side in sides:
        first: dict[bytes, int] = {}
        for row, digest in enumerate(side_digests(pairs, side)):
            if digest:
                rows.append(row)
                others.append(first.setdefault(digest, row))
    links = coo_array((np.ones(len(rows)), (rows, others)), shape=(len(pairs),) * 2)
    return connected_components(links, directed=False)[1].astype(np.intp)
