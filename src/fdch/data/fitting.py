"""Items as a model takes them: of the kind, and of the columns, it learned from."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fdch.data.pictures.images import ImageFeatures, Images
from fdch.data.texts import Sentences, Texts, Vocabulary, WordVectors
from fdch.errors import DataError


def require_fitting(images: Images, network: str, width: int, is_ready: bool) -> None:
    """Refuse images of another kind than a model learned from.

    It learned from ready features of this width, or through this image network.
    """
    if isinstance(images, ImageFeatures) != is_ready:
        given = "pictures" if is_ready else "ready features"
        raise DataError(
            f"these items have {given}; this model was trained with image_network "
            f"'{network}'. Give the same kind of items."
        )
    if isinstance(images, ImageFeatures):
        _require_width("image features", images.values.shape[1], width)


def fitting_vectors(
    texts: Texts, vocabulary: Vocabulary | None, width: int, *, remember: bool = True
) -> csr_array:
    """Return text vectors, (n, width). A text without a known word is all zero.

    The vocabulary has the words that a model knows; it is None for ready vectors.
    With `remember`, what takes long is kept in the cache folder.
    """
    if isinstance(texts, Sentences):
        if vocabulary is None:
            raise DataError(
                "these items have sentences; this model was trained on ready text "
                f"vectors of {width} columns. Give such vectors."
            )
        return vocabulary.vectors(texts, remember=remember)
    assert isinstance(texts, WordVectors)
    _require_width("text vectors", texts.matrix.shape[1], width)
    return texts.matrix


def split_static(
    texts: csr_array, static_width: int
) -> tuple[csr_array, NDArray[np.float32] | None]:
    """Split the vectors of `fitting_vectors`: words, sparse, and the rest, dense.

    Returns:
        Words, (n, words), and static features, (n, static_width), or None.
    """
    if not static_width:
        return texts, None
    words = texts.shape[1] - static_width
    return texts[:, :words], texts[:, words:].toarray().astype(np.float32, copy=False)


def count_words(texts: csr_array, static_width: int) -> NDArray[np.int64]:
    """Count the known words of each row of what `fitting_vectors` gives."""
    words = csr_array(texts[:, : texts.shape[1] - static_width])
    words.eliminate_zeros()
    return np.diff(words.indptr).astype(np.int64)


def _require_width(what: str, found: int, expected: int) -> None:
    if found != expected:
        raise DataError(
            f"{what} have {found} columns; this model was trained on {expected}. Give "
            "items like those."
        )
