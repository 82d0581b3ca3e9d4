"""Read ready features: an .npz file with image, text, labels and perhaps ids."""

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fdch.data.pairs import PairedSet, repeated
from fdch.data.pictures.images import ImageFeatures
from fdch.data.readers.array_files import DAMAGE, ArrayHeader, array_headers
from fdch.data.rows import MAX_LABELS, MAX_ROWS
from fdch.data.texts import WordVectors
from fdch.errors import DataError, LabelError, suggestion
from fdch.machine import available_memory

MAX_BYTES = 64 * 2**30
_VALUE_BYTES = 5  # beside a value as it lies in the file: as float32, and a mark
_ROW_BYTES = 200  # of a name, where it is kept and looked up
_NEEDED = ("image", "text")
_READ = ("image", "text", "labels", "ids")
_WRITING = (
    "Write it with numpy.savez(FILE, image=..., text=..., labels=...), each with a row "
    "per pair."
)


def read(path: Path) -> PairedSet:
    """Read arrays `image`, `text` and `labels` with a row per pair.

    `ids` names the pairs; without it they are named by their numbers. A
    gallery may lack `labels`.
    """
    try:
        return _pairs(path, _load(path))
    except DataError:
        raise
    except MemoryError:
        raise DataError(
            f"'{path}' does not fit into memory. Give fewer rows or columns."
        ) from None
    except DAMAGE as error:
        raise DataError(
            f"'{path}' is not a whole .npz file: {error}. {_WRITING}"
        ) from None


def _pairs(path: Path, arrays: dict[str, NDArray[Any]]) -> PairedSet:
    rows = len(arrays["image"])
    image = _finite(path, "image", arrays["image"])
    text = _finite(path, "text", arrays["text"])
    labels = _labels(path, arrays.get("labels", np.zeros((rows, 0), np.uint8)))
    return PairedSet(
        ids=_ids(path, arrays.get("ids"), rows),
        images=ImageFeatures(image),
        texts=WordVectors(sparse.csr_array(text)),
        labels=labels,
        label_names=tuple(f"label{number}" for number in range(labels.shape[1])),
        name=path.stem,
    )


def _load(path: Path) -> dict[str, NDArray[Any]]:
    """Check what the headers declare, and only then load."""
    there, headers = array_headers(path, _READ)
    _require_arrays(path, there)
    _require_shapes(path, headers)
    _require_size(path, headers)
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in headers}


def _require_arrays(path: Path, there: list[str]) -> None:
    for name in _NEEDED:
        if name not in there:
            found = ", ".join(f"'{other[:40]}'" for other in there[:20]) or "nothing"
            hint = suggestion(name, there)
            raise DataError(
                f"'{path}' has no array '{name}'; it has {found}{hint or '.'} "
                f"{_WRITING}"
            )


def _require_shapes(path: Path, headers: dict[str, ArrayHeader]) -> None:
    rows = headers["image"].shape[:1]
    for name, header in headers.items():
        named = name == "ids"
        kinds, dimensions = ("USiu", 1) if named else ("fbiu", 2)
        if header.dtype.kind not in kinds or len(header.shape) != dimensions:
            what = "a row of names" if named else "numbers in rows and columns"
            raise DataError(
                f"'{path}': array '{name}' must be {what}; "
                f"got {header.dtype} of shape {header.shape}. {_WRITING}"
            )
        if header.declared != header.held:
            raise DataError(
                f"'{path}': array '{name}' declares {header.declared:,} bytes and "
                f"holds {header.held:,}; it is damaged. Write or copy it again."
            )
        if header.shape[:1] != rows:
            raise DataError(
                f"'{path}': array '{name}' has {header.shape[0]} rows; 'image' has "
                f"{rows[0]}. Row by row they must be of the same pairs."
            )


def _require_size(path: Path, headers: dict[str, ArrayHeader]) -> None:
    """Refuse no pairs, no features, and more than can be held."""
    rows = headers["image"].shape[0]
    if rows == 0:
        raise DataError(f"'{path}' has no rows to use. {_WRITING}")
    empty = [name for name in _NEEDED if headers[name].shape[1] == 0]
    if empty:
        raise DataError(
            f"'{path}': array '{empty[0]}' has no columns; nothing can be learned "
            f"from it. {_WRITING}"
        )
    if rows > MAX_ROWS:
        raise DataError(
            f"'{path}' has {rows:,} rows; at most {MAX_ROWS:,} are read. Split it "
            "into several."
        )
    classes = headers["labels"].shape[1] if "labels" in headers else 0
    if classes > MAX_LABELS:
        raise LabelError(
            f"'{path}' has {classes:,} columns of labels; at most {MAX_LABELS:,} are "
            "read. Give a column per class."
        )
    _require_memory(path, headers)


def _require_memory(path: Path, headers: dict[str, ArrayHeader]) -> None:
    """Count what unpacking takes, as the size of the file says little of it.

    A file of zeros grows a thousandfold, and so nearly do honest counts of words.
    """
    total = sum(header.declared for header in headers.values())
    if total > MAX_BYTES:
        raise DataError(
            f"'{path}' declares {total:,} bytes; at most {MAX_BYTES:,} are read."
        )
    values = sum(prod(headers[name].shape) for name in _NEEDED)
    needed = total + _VALUE_BYTES * values + _ROW_BYTES * headers["image"].shape[0]
    free = available_memory()
    if free is not None and needed > free:
        raise DataError(
            f"'{path}' needs about {needed:,} bytes of memory once it is unpacked; "
            f"{free:,} are free. Give fewer rows or columns."
        )


def _finite(path: Path, name: str, values: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        numbers = values.astype(np.float32)
    wrong = np.flatnonzero(~np.isfinite(numbers).all(axis=1))
    if len(wrong):
        raise DataError(
            f"'{path}': array '{name}' has values that are no finite numbers of 32 "
            f"bits in {len(wrong)} rows, the first in row {wrong[0]}. Mend those "
            "rows, or leave them out."
        )
    return numbers


def _labels(path: Path, values: NDArray[Any]) -> NDArray[np.uint8]:
    wrong = np.flatnonzero(((values != 0) & (values != 1)).any(axis=1))
    if len(wrong):
        row = values[wrong[0]]
        value = row[(row != 0) & (row != 1)][0]
        raise LabelError(
            f"'{path}': labels are 0 or 1, a column per class; got {value} in row "
            f"{wrong[0]}."
        )
    return values.astype(np.uint8)


def _ids(path: Path, values: NDArray[Any] | None, rows: int) -> NDArray[np.object_]:
    ids = np.empty(rows, dtype=object)
    if values is None:
        ids[:] = [str(number) for number in range(1, rows + 1)]
        return ids
    if values.dtype.kind == "S":
        try:
            values = np.char.decode(values, "utf-8")
        except UnicodeDecodeError:
            raise DataError(f"'{path}': array 'ids' is not UTF-8 text.") from None
    ids[:] = [str(value) for value in values]
    _require_names(path, ids)
    return ids


def _require_names(path: Path, ids: NDArray[np.object_]) -> None:
    empty = np.flatnonzero([not name.strip() for name in ids])
    if len(empty):
        raise DataError(
            f"'{path}': array 'ids' has {len(empty):,} empty names, the first in row "
            f"{empty[0]}. Name every pair, or leave 'ids' out to number them."
        )
    if len(set(ids)) != len(ids):
        raise DataError(
            f"'{path}': ids must be unique; {repeated(ids)}. Name every pair once."
        )
