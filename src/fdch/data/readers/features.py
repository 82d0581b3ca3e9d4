"""Read ready features: an .npz file with image, text, labels and perhaps ids."""

from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.data.pairs import PairedSet
from fdch.data.readers.array_files import ArrayHeader, array_headers, read_texts
from fdch.data.rows import MAX_LABELS, MAX_ROWS, reading
from fdch.errors import DataError, suggestion
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
    with reading(path, ".npz file", _WRITING):
        arrays = _load(path)
        classes = arrays["labels"].shape[1] if "labels" in arrays else 0
        ids = _ids(arrays.get("ids"), len(arrays["image"]))
        pairs = PairedSet.from_arrays(
            arrays["image"],
            arrays["text"],
            arrays.get("labels"),
            ids=ids,
            label_names=[f"label{number}" for number in range(classes)],
            name=path.stem,
        )
    return replace(pairs, numbered="ids" not in arrays)


def _load(path: Path) -> dict[str, NDArray[Any]]:
    """Check what the headers declare, and only then load."""
    there, headers = array_headers(path, _READ)
    if {"fingerprint", "bits"} <= set(there):
        raise DataError(
            "it holds codes that 'fdch encode' wrote, no features. Add them to an "
            "index with 'fdch index add'."
        )
    for name in _NEEDED:
        if name not in there:
            found = ", ".join(f"'{other[:40]}'" for other in there[:20]) or "nothing"
            raise DataError(
                f"it has no array '{name}'; it has {found}"
                f"{suggestion(name, there) or '.'} {_WRITING}"
            )
    for name, header in headers.items():
        if trouble := _find_trouble(name, header, headers["image"].shape[:1]):
            raise DataError(f"array '{name}' {trouble} {_WRITING}")
    _require_size(headers)
    with np.load(path, allow_pickle=False) as file:
        return {name: file[f"{name}.npy"] for name in headers}


def _find_trouble(name: str, header: ArrayHeader, rows: tuple[int, ...]) -> str:
    """Return the problem with one array, or an empty text."""
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


def _require_size(headers: dict[str, ArrayHeader]) -> None:
    """Refuse no pairs, and more than can be held.

    The size of a file does not bound what it unpacks to: zeros grow a thousandfold,
    and sparse word counts nearly as much.
    """
    rows = headers["image"].shape[0]
    if rows == 0:
        raise DataError(f"it has no rows to use. {_WRITING}")
    total = sum(header.declared for header in headers.values())
    if rows > MAX_ROWS or total > MAX_BYTES:
        raise DataError(
            f"it has {rows:,} rows of {total:,} bytes; at most {MAX_ROWS:,} rows "
            f"and {MAX_BYTES:,} bytes are read. Split it into several."
        )
    values = sum(prod(headers[name].shape) for name in _NEEDED)
    needed = total + _VALUE_BYTES * values + _ROW_BYTES * rows
    free = available_memory()
    if free is not None and needed > free:
        raise DataError(
            f"it needs about {needed:,} bytes of memory once it is unpacked; "
            f"{free:,} are free. Give fewer rows or columns."
        )


def _ids(values: NDArray[Any] | None, rows: int) -> list[str]:
    if values is None:
        return [str(number) for number in range(1, rows + 1)]
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8")
    ids = read_texts(values)
    empty = np.flatnonzero([not name.strip() for name in ids])
    if len(empty):
        raise DataError(
            f"array 'ids' has {len(empty):,} empty names, the first in row {empty[0]}. "
            "Name every pair, or leave 'ids' out to number them."
        )
    return ids
