"""Pairs with the same picture or text, found by hashes: counted, put into groups."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures, Images, Pictures
from fdch.data.rows import TOGETHER, Digest, in_threads
from fdch.data.texts import Sentences, Texts, WordVectors
from fdch.errors import SettingError, suggestion

# what readers call the first of pairs that have no names
_FIRST_NUMBERS = (0, 1)


def image_digests(images: Images) -> list[bytes]:
    """Hash each row's picture or features, 16 bytes; empty for rows without.

    >>> a, b, c = image_digests(ImageFeatures(np.array([[1, 2], [1, 2], [2, 1]])))
    >>> a == b, a == c
    (True, False)
    """
    if isinstance(images, ImageFeatures):
        return [_hash_numbers(row) for row in images.values]
    assert isinstance(images, Pictures)
    present = images.present

    def digest(row: int) -> bytes:
        return images.digest(row) if present[row] else b""

    return list(in_threads(digest, len(images), together=TOGETHER))


def text_digests(texts: Texts) -> list[bytes]:
    """Hash each row's text or word vector, 16 bytes; empty for rows without."""
    if isinstance(texts, Sentences):
        return [_hash_text(text) for text in texts.values]
    assert isinstance(texts, WordVectors)
    plain = texts.matrix.copy()
    plain.sum_duplicates()
    plain.eliminate_zeros()
    edges = zip(plain.indptr[:-1], plain.indptr[1:], strict=True)
    return [
        _hash_numbers(plain.indices[a:b].astype(np.int64), plain.data[a:b])
        for a, b in edges
    ]


def find_learned(
    pairs: PairedSet, ids: Collection[str], images: Collection[bytes] | None
) -> NDArray[np.bool_]:
    """Return which pairs a model has learned from, by their ids and image hashes.

    These are pairs with an image that it has learned from, whatever they are called,
    and pairs with an id that it knows, whatever was changed in them. An id is
    no evidence where it is only a row number, which other data has too. Where no hashes
    are known, ids alone decide.
    """
    by_id = np.array([name in ids for name in pairs.ids], dtype=np.bool_)
    if images is None:
        return by_id
    known = [digest in images for digest in image_digests(pairs.images)]
    by_image = np.array(known, dtype=np.bool_)
    return by_image if _is_numbered(pairs) else by_id | by_image


def shared_pairs(one: PairedSet, other: PairedSet) -> list[str]:
    """Return the ids of pairs that are in both sets, with the same image and text."""
    where = {name: row for row, name in enumerate(other.ids)}
    rows = [row for row, name in enumerate(one.ids) if name in where]
    mine, theirs = one[rows], other[[where[name] for name in one.ids[rows]]]
    same = zip(mine.ids, _pair_digests(mine), _pair_digests(theirs), strict=True)
    return [str(name) for name, own, other_one in same if own == other_one]


def _pair_digests(pairs: PairedSet) -> Iterable[tuple[bytes, bytes]]:
    return zip(image_digests(pairs.images), text_digests(pairs.texts), strict=True)


def _is_numbered(pairs: PairedSet) -> bool:
    """Return whether the ids are only row numbers."""
    return any(
        all(name == str(row) for row, name in enumerate(pairs.ids, start=first))
        for first in _FIRST_NUMBERS
    )


def _hash_text(text: str | None) -> bytes:
    if text is None:
        return b""
    digest = Digest()
    digest.add_text(text)
    return digest.bytes()


def _hash_numbers(*arrays: NDArray[np.float32] | NDArray[np.int64]) -> bytes:
    digest = Digest()
    for values in arrays:
        digest.add_array(values)
    return digest.bytes()


Grouping = Literal["pictures", "texts", "both"]
GROUPINGS: tuple[str, ...] = get_args(Grouping)
SIDES = ("pictures", "texts")


@dataclass(frozen=True)
class Duplicates:
    """Counts of pairs with identical content."""

    groups: int  # contents that several pairs have
    pairs: int  # that have one of them
    largest: int  # pairs of the largest group

    def to_json(self) -> dict[str, Any]:
        """Return plain values by name."""
        return asdict(self)


@dataclass(frozen=True)
class QueryDuplicates(Duplicates):
    """Counts of pairs with identical content, and of the queries among them.

    Those are queries with the content of a pair that was learned from (None where
    that is not known), and with that of a pair of the database.
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
    """Count what occurs more than once, and the queries that this concerns, by side.

    `learning` has the rows that were learned from. Where training had other data it
    is None, and `seen_images` has the hashes of its images, if they are known.
    """
    found: dict[str, QueryDuplicates] = {}
    for side in SIDES:
        digests = side_digests(pairs, side)
        learned = seen_images if side == "pictures" else None
        if learning is not None:
            learned = {digests[row] for row in learning}
        own = [digests[row] for row in query if digests[row]]
        held = {digests[row] for row in database}
        in_training = None if learned is None else sum(map(learned.__contains__, own))
        in_database = sum(each in held for each in own)
        found[side] = QueryDuplicates(
            **count_duplicates(digests).to_json(),
            queries_in_training=in_training,
            queries_in_database=in_database,
        )
    return found


def number_groups(pairs: PairedSet, by: Grouping) -> NDArray[np.intp]:
    """Number the groups of pairs that belong together, one number per row.

    They have the same "pictures" or "texts", or for "both" are linked by either,
    through other pairs too.
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
