"""Lists, paths, arrays and frames as the sides of pairs."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import sparse

from fdch.codes import to_array
from fdch.data.pictures.images import (
    ImageFeatures,
    Images,
    PictureArray,
    PictureContents,
    PictureFiles,
)
from fdch.data.rows import MAX_LABELS, objects
from fdch.data.texts import Sentences, Texts, WordVectors
from fdch.errors import DataError, LabelError

_LABEL_BYTES = 8 * 2**30


def as_images(values: Any) -> Images:
    """Take the image side of pairs as a user has it.

    That is paths or contents of picture files, None where there is none; pictures of
    Pillow, or pixels, (n, height, width, 3) uint8; features, (n, width) numbers, dense
    or sparse; or Images.

    >>> as_images([[0.5, 1.0], [0.0, 2.0]]).values.shape
    (2, 2)
    """
    if isinstance(values, Images):
        return values
    rows = _list_arrays(_take_rows(values, "images"))
    if isinstance(rows, list):
        rows = [_take_pixels(row) for row in rows]
    if sparse.issparse(rows):
        rows = rows.toarray()
    if _are_all(rows, str, Path, type(None)):
        return PictureFiles([None if row is None else Path(row) for row in rows])
    if _are_all(rows, bytes, type(None)):
        return PictureContents(rows)
    array = _take_numbers(rows)
    if array is not None and array.ndim == 4 and array.dtype == np.uint8:
        return PictureArray(array)
    if array is not None and array.ndim == 2:
        return ImageFeatures(require_finite(array, "image features"))
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
    rows = _list_arrays(_take_rows(values, "texts"))
    if _are_all(rows, str, type(None)):
        return Sentences(rows)
    array = rows if sparse.issparse(rows) else _take_numbers(rows)
    if array is not None and array.ndim == 2:
        matrix = sparse.csr_array(array)
        matrix.data = require_finite(matrix.data, "text vectors", matrix)
        return WordVectors(matrix)
    raise DataError(
        f"texts are strings or vectors (n, words); got {_describe(rows, array)}."
    )


def as_labels(
    values: Any, names: Sequence[str] | None = None
) -> tuple[NDArray[np.uint8], tuple[str, ...]]:
    """Take labels as a user has them; return 0 or 1, (n, classes), and the names.

    That is 0 and 1, (n, classes), dense, sparse or a data frame, whose columns name
    them; or for each pair its label, a list of them, or None.

    >>> as_labels(["dog", ["cat", "dog"], None])[1]
    ('cat', 'dog')
    """
    rows = _take_rows(values, "labels")
    array = rows.toarray() if sparse.issparse(rows) else _take_numbers(rows)
    if array is not None and array.ndim == 2:
        classes = array.shape[1]
        if names is None:
            names = [str(name) for name in getattr(values, "columns", ())]
        if names and len(names) != classes:
            raise LabelError(
                f"{len(names)} names were given for {classes} columns of labels; give "
                "one to each."
            )
        if (wrong := (array != 0) & (array != 1)).any():
            row, column = np.argwhere(wrong)[0]
            raise LabelError(
                "labels as numbers are 0 or 1, a column to each class; got "
                f"{array[row, column]} in row {row}."
            )
        known = names or [f"label {i}" for i in range(classes)]
        return array.astype(np.uint8), tuple(known)
    return mark_labels([_label_set(row) for row in rows], names)


def as_columns(values: Any) -> dict[str, NDArray[np.object_]]:
    """Take further columns as a user has them: a data frame, or values by name.

    >>> as_columns({"price": [20, None]})["price"].tolist()
    [20, None]
    """
    is_frame = hasattr(values, "columns")
    if not is_frame and not isinstance(values, Mapping):
        raise DataError(
            "columns are a data frame, or values by name such as {'price': [20, 35]}; "
            f"got {type(values).__name__}."
        )
    names = values.columns if is_frame else values
    return {str(name): _take_cells(str(name), values[name]) for name in names}


def mark_labels(
    rows: Sequence[Collection[str]], names: Sequence[str] | None = None
) -> tuple[NDArray[np.uint8], tuple[str, ...]]:
    """Return 1 where a row has a label, else 0, (n, classes), and the names."""
    known = tuple(names or sorted({name for own in rows for name in own}))
    if len(known) > MAX_LABELS or len(known) * len(rows) > _LABEL_BYTES:
        raise LabelError(
            f"{len(known):,} different labels for {len(rows):,} rows; at most "
            f"{MAX_LABELS:,} labels and {_LABEL_BYTES:,} in a table of both are read. "
            "Are the labels texts by mistake?"
        )
    numbers = {name: number for number, name in enumerate(known)}
    labels = np.zeros((len(rows), len(known)), dtype=np.uint8)
    for row, own in enumerate(rows):
        if not numbers.keys() >= set(own):
            unknown = min(set(own) - numbers.keys())
            raise LabelError(f"'{unknown}' is not among the label names given.")
        labels[row, [numbers[name] for name in own]] = 1
    return labels, known


def require_finite(
    values: NDArray[Any], what: str, within: sparse.csr_array | None = None
) -> NDArray[np.float32]:
    """Convert to float32; refuse rows with infinite values or NaN.

    Values in rows, or the stored ones of a sparse matrix.
    """
    with np.errstate(over="ignore"):
        numbers = values.astype(np.float32, copy=False)
    is_right = np.isfinite(numbers).all(axis=tuple(range(1, numbers.ndim)))
    wrong = np.flatnonzero(~is_right)
    if len(wrong) and within is not None:
        wrong = np.unique(np.searchsorted(within.indptr, wrong, side="right") - 1)
    if len(wrong):
        raise DataError(
            f"the {what} of {len(wrong):,} rows have values that are not finite "
            f"32-bit numbers, the first in row {wrong[0]}. Repair or leave out those "
            "rows."
        )
    return numbers


def _label_set(row: Any) -> set[str]:
    if row is None:
        return set()
    if isinstance(row, str) or not isinstance(row, Iterable):
        return {str(row)}
    return {str(label) for label in row}


def _take_rows(values: Any, what: str) -> Any:
    """Return an array, a sparse matrix or a list, of a data frame or column too."""
    if hasattr(values, "to_numpy"):
        is_missing = values.isna().to_numpy() if hasattr(values, "isna") else False
        values = values.to_numpy()
        if values.dtype == object:  # NaN and NA stand for cells without a value
            values = np.where(is_missing, None, values)
    elif hasattr(values, "__array__"):
        values = to_array(values)
    if isinstance(values, np.ndarray) or sparse.issparse(values):
        return values
    if isinstance(values, (str, bytes, Path)) or not isinstance(values, Iterable):
        raise DataError(
            f"give {what} as a list or an array, a row to each; got "
            f"{type(values).__name__}. A single one is a list of one."
        )
    return list(values)


def _list_arrays(rows: Any) -> Any:
    """Return a column of arrays, such as a frame's with features, as a list of them."""
    is_column = isinstance(rows, np.ndarray) and rows.dtype == object and rows.ndim == 1
    return list(rows) if is_column and _are_all(rows, np.ndarray, list, tuple) else rows


def _take_pixels(row: Any) -> Any:
    """Return a picture of Pillow as an array, anything else as it is."""
    return np.asarray(row.convert("RGB")) if isinstance(row, Image.Image) else row


def _take_cells(name: str, values: Any) -> NDArray[np.object_]:
    """Return a column's values as they are, None for empty cells and NaN."""
    is_series = hasattr(values, "isna")
    rows = values if is_series else _take_rows(values, f"column '{name}'")
    if getattr(rows, "ndim", 1) != 1:
        raise DataError(
            f"column '{name}' needs one value to each row; got shape {rows.shape}. "
            "Is its name used twice?"
        )
    cells = objects(rows)
    cells[[isinstance(each, float) and each != each for each in cells]] = None
    if is_series:
        cells[np.asarray(values.isna())] = None
    return cells


def _are_all(rows: Any, *kinds: type) -> bool:
    is_listed = isinstance(rows, list) or (
        isinstance(rows, np.ndarray) and rows.dtype.kind in "OUS"
    )
    return is_listed and all(isinstance(row, kinds) for row in rows)


def _take_numbers(rows: Any) -> NDArray[Any] | None:
    """Return rows as an array of numbers; None where they are none."""
    array = rows
    if isinstance(rows, list):
        if not rows or not _are_all(rows, np.ndarray, list, tuple):
            return None
        try:
            array = np.asarray(rows)
        except ValueError:  # rows of different lengths
            return None
    elif rows.dtype == object and rows.ndim > 1:  # a frame's columns of several kinds
        try:
            array = rows.astype(np.float64)
        except (TypeError, ValueError):
            return None
    return array if array.dtype.kind in "fiub" else None


def _describe(rows: Any, array: NDArray[Any] | None) -> str:
    if array is not None:
        return f"{array.dtype} of shape {array.shape}"
    kinds = dict.fromkeys(type(row).__name__ for row in rows)
    if not kinds:
        return "nothing"
    shapes = {np.shape(row) for row in rows if isinstance(row, np.ndarray)}
    differ = " of different shapes" if len(shapes) > 1 else ""
    return f"a list of {' and '.join(list(kinds)[:3])}{differ}"


def number_ids(ids: Any, count: int) -> NDArray[np.object_]:
    """Take ids as strings; number the rows where there are none."""
    given = range(count) if ids is None else _take_rows(ids, "ids")
    for row, each in enumerate(given):
        if each is None or each != each:  # NaN is the cell of a frame without a value
            raise DataError(f"row {row} has no id. Give every row one, or none any.")
    return objects([str(each) for each in given])
