"""Read ready features: an .npz file with image, text, labels and perhaps ids."""

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fdch.data.pairs import PairedSet, name_repeated
from fdch.data.pictures.images import ImageFeatures
from fdch.data.readers.array_files import DAMAGE, ArrayHeader, array_headers, read_texts
from fdch.data.rows import MAX_LABELS, MAX_ROWS, objects
from fdch.data.texts import WordVectors
from fdch.errors import DataError, LabelError, suggestion
from fdch.machine import available_memory

MAX_BYTES = 64 * 2**30
_VALUE_BYTES = 5  # besides a value as it is in the file: as float32, and a boolean
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
        numbered="ids" not in arrays,
    )


def _load(path: Path) -> dict[str, NDArray[Any]]:
    """Check what the headers declare, and only then load."""
    there, headers = array_headers(path, _READ)
    for name in _NEEDED:
        if name not in there:
            found = ", ".join(f"'{other[:40]}'" for other in there[:20]) or "nothing"
            raise DataError(
                f"'{path}' has no array '{name}'; it has {found}"
                f"{suggestion(name, there) or '.'} {_WRITING}"
            )
    for name, header in headers.items():
        if trouble := _find_trouble(name, header, headers["image"].shape[:1]):
            raise DataError(f"'{path}': array '{name}' {trouble} {_WRITING}")
    _require_size(path, headers)
    with np.load(path, allow_pickle=False) as file:
        return {name: file[f"{name}.npy"] for name in headers}


def _find_trouble(name: str, header: ArrayHeader, rows: tuple[int, ...]) -> str:
    """Say what is wrong with one array, or nothing."""
    shape, is_ids = header.shape, name == "ids"
    kinds, dimensions = ("USiu", 1) if is_ids else ("fbiu", 2)
    if header.dtype.kind not in kinds or len(shape) != dimensions:
        what = "a row of names" if is_ids else "numbers in rows and columns"
        return f"must be {what}; got {header.dtype} of shape {shape}."
    if header.declared != header.held:
        counts = f"{header.declared:,} bytes and holds {header.held:,}"
        return f"declares {counts}; it is damaged."
    if shape[:1] != rows:
        return f"has {shape[0]} rows; 'image' has {rows[0]}. Row by row they belong."
    if name in _NEEDED and shape[1] == 0:
        return "has no columns; nothing can be learned from it."
    if name == "labels" and shape[1] > MAX_LABELS:
        return f"has {shape[1]:,} columns of labels; at most {MAX_LABELS:,} are read."
    return ""


def _require_size(path: Path, headers: dict[str, ArrayHeader]) -> None:
    """Refuse no pairs, and more than can be held.

    The size of a file does not bound what it unpacks to: zeros grow a thousandfold,
    and sparse word counts nearly as much.
    """
    rows = headers["image"].shape[0]
    if rows == 0:
        raise DataError(f"'{path}' has no rows to use. {_WRITING}")
    total = sum(header.declared for header in headers.values())
    if rows > MAX_ROWS or total > MAX_BYTES:
        raise DataError(
            f"'{path}' has {rows:,} rows of {total:,} bytes; at most {MAX_ROWS:,} rows "
            f"and {MAX_BYTES:,} bytes are read. Split it into several."
        )
    values = sum(prod(headers[name].shape) for name in _NEEDED)
    needed = total + _VALUE_BYTES * values + _ROW_BYTES * rows
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
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise LabelError(
            f"'{path}': labels are 0 or 1, a column per class; got "
            f"{values[row, column]} in row {row}."
        )
    return values.astype(np.uint8)


def _ids(path: Path, values: NDArray[Any] | None, rows: int) -> NDArray[np.object_]:
    if values is None:
        return objects([str(number) for number in range(1, rows + 1)])
    if values.dtype.kind == "S":
        try:
            values = np.char.decode(values, "utf-8")
        except UnicodeDecodeError:
            raise DataError(f"'{path}': array 'ids' is not UTF-8 text.") from None
    ids = objects(read_texts(values))
    empty = np.flatnonzero([not name.strip() for name in ids])
    if len(empty):
        raise DataError(
            f"'{path}': array 'ids' has {len(empty):,} empty names, the first in row "
            f"{empty[0]}. Name every pair, or leave 'ids' out to number them."
        )
    if len(set(ids)) != len(ids):
        raise DataError(
            f"'{path}': ids must be unique; {name_repeated(ids)}. Name every pair once."
        )
    return ids
