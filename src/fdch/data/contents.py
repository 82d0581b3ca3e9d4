"""What tells pairs apart where their ids do not: hashes of images and of texts."""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures, Images, Pictures
from fdch.data.rows import Digest
from fdch.data.texts import Sentences, Texts, WordVectors
from fdch.data.threads import in_threads

# what readers call the first of pairs that have no names
_FIRST_NUMBERS = (0, 1)


def image_digests(images: Images) -> list[bytes]:
    """Hash each row's picture or features, 16 bytes; no bytes where there is none.

    >>> a, b, c = image_digests(ImageFeatures(np.array([[1, 2], [1, 2], [2, 1]])))
    >>> a == b, a == c
    (True, False)
    """
    if isinstance(images, ImageFeatures):
        return [_numbers(row) for row in images.values]
    assert isinstance(images, Pictures)
    present = images.present
    return list(
        in_threads(lambda row: images.digest(row) if present[row] else b"", len(images))
    )


def text_digests(texts: Texts) -> list[bytes]:
    """Hash each row's text or word vector, 16 bytes; no bytes where there is none."""
    if isinstance(texts, Sentences):
        return [b"" if text is None else _text(text) for text in texts.values]
    assert isinstance(texts, WordVectors)
    plain = texts.matrix.copy()
    plain.sum_duplicates()
    plain.eliminate_zeros()
    edges = zip(plain.indptr[:-1], plain.indptr[1:], strict=True)
    return [
        _numbers(plain.indices[a:b].astype(np.int64), plain.data[a:b]) for a, b in edges
    ]


def learned_from(
    pairs: PairedSet, ids: Collection[str], images: Collection[bytes] | None
) -> NDArray[np.bool_]:
    """Tell which pairs a model has learned from.

    These are pairs with an image that it has learned from, whatever they are called,
    and pairs with an id that it knows, whatever was changed in them. An id is
    no sign where it is a mere row number, which other data has too.

    Args:
        pairs: Perhaps other data than the model's.
        ids: Ids of the pairs it has learned from.
        images: Hashes of their images; None where they are not known, so that ids
            alone decide.
    """
    by_id = np.array([name in ids for name in pairs.ids], dtype=np.bool_)
    if images is None:
        return by_id
    known = [digest in images for digest in image_digests(pairs.images)]
    by_image = np.array(known, dtype=np.bool_)
    return by_image if _is_numbered(pairs) else by_id | by_image


def shared_pairs(one: PairedSet, other: PairedSet) -> list[str]:
    """Give the ids of pairs that lie in both sets, image and text being the same."""
    where = {name: row for row, name in enumerate(other.ids)}
    rows = [row for row, name in enumerate(one.ids) if name in where]
    mine, theirs = one[rows], other[[where[name] for name in one.ids[rows]]]
    same = [
        a == b for a, b in zip(_pair_digests(mine), _pair_digests(theirs), strict=True)
    ]
    return [str(name) for name in mine.ids[np.array(same, dtype=np.bool_)]]


def _pair_digests(pairs: PairedSet) -> list[tuple[bytes, bytes]]:
    images, texts = image_digests(pairs.images), text_digests(pairs.texts)
    return list(zip(images, texts, strict=True))


def _is_numbered(pairs: PairedSet) -> bool:
    """Whether the ids are row numbers and nothing else."""
    return any(
        all(name == str(row) for row, name in enumerate(pairs.ids, start=first))
        for first in _FIRST_NUMBERS
    )


def _text(text: str) -> bytes:
    digest = Digest()
    digest.add_text(text)
    return digest.bytes()


def _numbers(*arrays: NDArray[np.float32] | NDArray[np.int64]) -> bytes:
    digest = Digest()
    for values in arrays:
        digest.add_array(values)
    return digest.bytes()
