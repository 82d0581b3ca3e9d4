"""Checks of training pairs, and of items against what a model was trained on."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures, Images
from fdch.data.rows import list_names
from fdch.data.texts import Sentences, Texts, Vocabulary, WordVectors
from fdch.errors import DataError, LabelError, suggestion


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

    Returns words, (n, words), and static features, (n, static_width), or None.
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


def require_training(pairs: PairedSet, least: int, needs_labels: bool) -> None:
    """Refuse pairs that a method cannot learn from, saying why."""
    if not len(pairs):
        raise DataError(f"'{pairs.name}' has no pairs to train on.")
    if len(pairs) < least:
        raise DataError(
            f"'{pairs.name}' has too few pairs to train on: {len(pairs)}, where the "
            f"method needs at least {least}. Give more pairs."
        )
    _require_cells(pairs, "image", pairs.images.present)
    _require_cells(pairs, "text", pairs.texts.present)
    if needs_labels:
        _require_labels(pairs)


def _require_cells(pairs: PairedSet, what: str, present: NDArray[np.bool_]) -> None:
    missing = np.flatnonzero(~present)
    if len(missing) == len(pairs):
        hint = suggestion(what, pairs.columns)
        raise DataError(
            f"none of the {len(pairs)} training pairs has a value for '{what}'; "
            f"training needs both sides of every pair{hint or '.'}"
        )
    if len(missing):
        raise DataError(
            f"{len(missing)} of {len(pairs)} training pairs have no {what}: "
            f"{list_names(pairs.ids[missing])}. Training needs both sides of every "
            "pair; complete these rows or leave them out."
        )


def _require_labels(pairs: PairedSet) -> None:
    counts = pairs.labels.sum(axis=0, dtype=np.int64)
    used = np.flatnonzero(counts)
    if not len(used):
        hint = suggestion("labels", pairs.columns)
        raise LabelError(
            f"none of the {len(pairs)} training pairs has a label; training "
            f"learns from the labels{hint or '.'}"
        )
    if len(used) == 1:
        raise LabelError(
            f"the only label is '{pairs.label_names[used[0]]}', so nothing can be "
            "distinguished; training needs at least two labels. Without any, "
            "fdch_plus learns from the pairs alone."
        )
    labelled = int(pairs.labels.any(axis=1).sum())
    shared = np.flatnonzero(counts == labelled)
    if len(shared) and len(pairs) > 1:
        which = "training" if labelled == len(pairs) else "labelled training"
        raise LabelError(
            f"all {labelled} {which} pairs have the label "
            f"'{pairs.label_names[shared[0]]}', so all count as alike and nothing "
            "can be distinguished; remove that label."
        )
