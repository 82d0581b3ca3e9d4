"""Lists, paths, arrays and frames as the sides of pairs."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fdch.data.pictures.images import (
    ImageFeatures,
    Images,
    PictureArray,
    PictureContents,
    PictureFiles,
)
from fdch.data.rows import objects
from fdch.data.texts import Sentences, Texts, WordVectors
from fdch.errors import DataError, LabelError


def as_images(values: Any) -> Images:
    """Take the image side of pairs as a user has it.

    That is paths or contents of picture files; pixels, (n, height, width, 3) uint8;
    features, (n, width) numbers, dense or sparse; or Images.

    >>> as_images([[0.5, 1.0], [0.0, 2.0]]).values.shape
    (2, 2)
    """
    if isinstance(values, Images):
        return values
    values = _unframe(values)
    if sparse.issparse(values):
        return ImageFeatures(values.toarray())
    rows = _rows(values, "images")
    if all(isinstance(row, (str, Path)) for row in rows):
        return PictureFiles([Path(row) for row in rows])
    if all(isinstance(row, bytes) for row in rows):
        return PictureContents(rows)
    array = _numbers(rows, values)
    if array is not None and array.ndim == 4 and array.dtype == np.uint8:
        return PictureArray(array)
    if array is not None and array.ndim == 2:
        return ImageFeatures(array)
    raise DataError(
        f"images are paths, file contents, pixels (n, height, width, 3) of uint8 or "
        f"features (n, width); got {_describe(rows, array)}."
    )


def as_texts(values: Any) -> Texts:
    """Take the text side of pairs as a user has it.

    That is texts, None where there is none; vectors, (n, words) numbers, dense or
    sparse; or Texts.

    >>> as_texts(["a dog", None]).present.tolist()
    [True, False]
    """
    if isinstance(values, Texts):
        return values
    values = _unframe(values)
    if sparse.issparse(values):
        return WordVectors(sparse.csr_array(values))
    rows = _rows(values, "texts")
    if all(row is None or isinstance(row, str) for row in rows):
        return Sentences(rows)
    array = _numbers(rows, values)
    if array is not None and array.ndim == 2:
        return WordVectors(sparse.csr_array(array))
    raise DataError(
        f"texts are strings or vectors (n, words); got {_describe(rows, array)}."
    )


def as_labels(
    values: Any, names: Sequence[str] | None = None
) -> tuple[NDArray[np.uint8], tuple[str, ...]]:
    """Take labels as a user has them; return 0 or 1, (n, classes), and the names.

    That is 0 and 1, (n, classes), dense or sparse; or for each pair its label, a
    list of them, or None.

    >>> as_labels(["dog", ["cat", "dog"], None])[1]
    ('cat', 'dog')
    """
    values = values.toarray() if sparse.issparse(values) else _unframe(values)
    rows = _rows(values, "labels")
    array = _numbers(rows, values)
    if array is not None and array.ndim == 2:
        if not np.isin(array, (0, 1)).all():
            raise LabelError("labels as numbers are 0 or 1, a column to each class.")
        known = names or [f"label {i}" for i in range(array.shape[1])]
        return array.astype(np.uint8), tuple(known)
    sets = [_label_set(row) for row in rows]
    known = tuple(names or sorted(set().union(*sets)))
    if unknown := set().union(*sets) - set(known):
        raise LabelError(f"'{min(unknown)}' is not among the label names given.")
    found = [[name in own for name in known] for own in sets]
    return np.array(found, dtype=np.uint8).reshape(len(rows), len(known)), known


def _label_set(row: Any) -> set[str]:
    if row is None:
        return set()
    if isinstance(row, str) or not isinstance(row, Iterable):
        return {str(row)}
    return {str(label) for label in row}


def _unframe(values: Any) -> Any:
    """Take the values of a data frame or of one of its columns."""
    return values.to_numpy() if hasattr(values, "to_numpy") else values


def _rows(values: Any, what: str) -> list[Any]:
    if isinstance(values, (str, bytes, Path)) or not isinstance(values, Iterable):
        raise DataError(
            f"give {what} as a list or an array, a row to each; got "
            f"{type(values).__name__}. A single one is a list of one."
        )
    return list(values)


def _numbers(rows: list[Any], values: Any) -> NDArray[Any] | None:
    """Return rows as an array of numbers; None where they are none."""
    if isinstance(values, np.ndarray):
        array = values
    elif rows and all(isinstance(row, (np.ndarray, list, tuple)) for row in rows):
        try:
            array = np.asarray(rows)
        except ValueError:  # rows of different lengths
            return None
    else:
        return None
    return array if array.dtype.kind in "fiub" else None


def _describe(rows: list[Any], array: NDArray[Any] | None) -> str:
    if array is not None:
        return f"{array.dtype} of shape {array.shape}"
    kinds = dict.fromkeys(type(row).__name__ for row in rows)
    return f"a list of {' and '.join(list(kinds)[:3])}" if kinds else "nothing"


def number_ids(ids: Any, count: int) -> NDArray[np.object_]:
    """Take ids as strings; number the rows where there are none."""
    given = range(count) if ids is None else _rows(ids, "ids")
    return objects([str(each) for each in given])
