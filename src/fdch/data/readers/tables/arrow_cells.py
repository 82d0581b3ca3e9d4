"""Cells of Arrow tables: the bytes that they take, measured before conversion.

A few bytes may stand for many: values of dictionaries, of lists, and of columns with
a fixed width are stored once, or not at all.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.machine import available_memory

MAX_ROW_BYTES = 16 * 2**20
_MAX_GROWTH, _MIN_BYTES = 1000, 2**28  # of all cells, relative to the file
_ROW_BYTES = 100  # beside its cells
_TOGETHER = 64 * 2**20  # bytes of rows converted at once
_PLAIN = 16  # of a number, or of a reference to a text


def measure_width(kind: Any) -> int:
    """Return the bytes that one value takes, without the texts that it holds.

    Raises:
        ValueError: Values of this type are not read.
    """
    import pyarrow
    from pyarrow import types

    if isinstance(kind, pyarrow.BaseExtensionType):
        return measure_width(kind.storage_type)
    if types.is_dictionary(kind):
        return measure_width(kind.value_type)
    if types.is_fixed_size_list(kind):
        return _PLAIN + int(kind.list_size) * measure_width(kind.value_type)
    if types.is_list(kind) or types.is_large_list(kind):
        return _PLAIN + measure_width(kind.value_type)
    if types.is_map(kind):
        return _PLAIN + measure_width(kind.key_type) + measure_width(kind.item_type)
    if types.is_struct(kind):
        parts = [kind.field(i) for i in range(kind.num_fields)]
        if len({part.name for part in parts}) != len(parts):
            raise ValueError("a structure has two fields of the same name")
        return _PLAIN + sum(measure_width(part.type) for part in parts)
    if types.is_fixed_size_binary(kind):
        return _PLAIN + int(kind.byte_width)
    if types.is_primitive(kind) or types.is_decimal(kind) or types.is_null(kind):
        return 2 * _PLAIN
    if _is_text(kind):
        return _PLAIN
    raise ValueError(f"values of the type '{str(kind)[:80]}' are not read")


def measure_budget(path: Path) -> int:
    """Return how many bytes the cells of a file may take in all."""
    free = available_memory()
    growth = max(_MIN_BYTES, _MAX_GROWTH * path.stat().st_size)
    return growth if free is None else min(growth, free // 2)


def measure_rows(batch: Any) -> NDArray[np.int64]:
    """Return the bytes that the cells of each row take."""
    sizes = np.full(len(batch), _ROW_BYTES, np.int64)
    for column in batch.columns:
        sizes += _measure(column)
    return sizes


def convert_rows(
    batch: Any, sizes: NDArray[np.int64]
) -> Iterator[dict[str, Any] | None]:
    """Yield the cells of each row; None for rows of too many bytes."""
    start = 0
    while start < len(batch):
        left = sizes[start:]
        fitting = (np.cumsum(left) <= _TOGETHER) & (left <= MAX_ROW_BYTES)
        count = len(fitting) if fitting.all() else int(fitting.argmin())
        if count and batch.num_columns:
            yield from batch.slice(start, count).to_pylist()
        else:
            yield from ({} for _ in range(count))
        if not count:
            yield None
        start += max(1, count)


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
    )


def _measure(array: Any) -> NDArray[np.int64]:
    """Return the bytes of each value of a checked array."""
    import pyarrow
    from pyarrow import compute, types

    kind = array.type
    if isinstance(kind, pyarrow.BaseExtensionType):
        return _measure(array.storage)
    if _is_text(kind):
        return _PLAIN + compute.binary_length(array).fill_null(0).to_numpy(False)
    if types.is_dictionary(kind):
        known = np.append(_measure(array.dictionary), 0)
        indices = array.indices.cast(pyarrow.int64()).fill_null(len(known) - 1)
        return known[indices.to_numpy(False)]
    if types.is_struct(kind):
        sizes = np.full(len(array), _PLAIN, np.int64)
        for part in array.flatten():
            sizes += _measure(part)
        return sizes
    if types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind):
        parts = (array.keys, array.items) if types.is_map(kind) else (array.values,)
        before = np.append(0, np.cumsum(sum(_measure(part) for part in parts)))
        return _PLAIN + np.diff(before[array.offsets.to_numpy()])
    if types.is_fixed_size_list(kind):
        first, length = array.offset, kind.list_size
        values = _measure(array.values)[first * length : (first + len(array)) * length]
        return _PLAIN + values.reshape(len(array), length).sum(axis=1)
    return np.full(len(array), measure_width(kind), np.int64)
