"""Parquet manifests, with pictures as paths or embedded in the file.

Embedded pictures are a column of binary values, or of structures with the
field `bytes`, as the `datasets` library writes them. They are read when they are
needed, a row group at a time. A structure without bytes names a file by its `path`.
"""

import json
import os
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import Any

from fdch.data.readers.columns import Layout, find_image_column
from fdch.data.readers.tables.arrow_cells import (
    MAX_ROW_BYTES,
    convert_rows,
    measure_budget,
    measure_rows,
    measure_width,
)
from fdch.data.readers.tables.parquet_pages import Plan, plan_reading
from fdch.data.readers.tables.table import Row, Table
from fdch.errors import DataError, MissingExtra

ReadPicture = Callable[[int], bytes]  # of a row, counted from 0
_GROUPS_KEPT = 2  # threads reach into the next one while some finish the last


def open_parquet(path: Path, layout: Layout) -> Table:
    """Read a Parquet file, a few rows at a time."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("reading Parquet", "parquet") from None
    with parquet.ParquetFile(path) as file:
        plan, schema = plan_reading(path, file), file.schema_arrow
        pictures = None
        if (name := find_pictures(schema, layout)) is not None:
            pictures = name, PictureColumn(path, name, file, plan).read
    batches = _read_batches(path, plan)
    return Table(tuple(schema.names), read_rows(path, schema, batches, pictures))


def read_rows(
    path: Path,
    schema: Any,
    batches: Iterable[Any],
    pictures: tuple[str, ReadPicture] | None,
) -> Iterator[Row]:
    """Yield the rows of batches; embedded pictures as their locations.

    Pictures are a column, and what reads that of a row.
    """
    most, taken, number = measure_budget(path), 0, 0
    classes = read_class_names(schema)
    for batch in batches:
        lengths: Sequence[int | None] = [None] * len(batch)
        if pictures is not None:
            name, read = pictures
            column = batch.column(name)
            lengths = _measure_pictures(take_pictures(column))
            batch = batch.set_column(
                batch.schema.get_field_index(name), name, _take_paths(column)
            )
        sizes = measure_rows(batch)
        taken += int(sizes[sizes <= MAX_ROW_BYTES].sum())
        if taken > most:
            raise DataError(
                f"its cells take more than {most:,} bytes once they are unpacked. "
                "Split it, or leave out long columns."
            )
        rows = zip(convert_rows(batch, sizes), sizes, lengths, strict=True)
        for cells, size, length in rows:
            number += 1
            if cells is None:
                trouble = f"it has {size:,} bytes; the limit is {MAX_ROW_BYTES:,}."
                yield Row(f"row {number}", {}, trouble)
                continue
            if pictures is not None:
                cells[name] = (
                    _find_picture(path, cells[name])
                    if length is None
                    else EmbeddedPicture(path, number - 1, length, read)
                )
            for column, names in classes.items():
                cells[column] = _name_classes(cells.get(column), names)
            yield Row(f"row {number}", cells)


def _read_batches(path: Path, plan: Plan) -> Iterator[Any]:
    """Read and validate some rows at a time; a batch never spans two row groups."""
    from pyarrow import parquet

    with parquet.ParquetFile(path, read_dictionary=plan.dictionaries) as file:
        for group in range(len(plan.groups)):
            for batch in file.iter_batches(plan.rows, row_groups=[group]):
                batch.validate(full=True)
                yield batch


@dataclass(frozen=True, eq=False, slots=True)
class EmbeddedPicture:
    """The location of a picture in a table."""

    path: Path
    row: int
    size: int
    load: ReadPicture

    @property
    def name(self) -> str:
        """Its name in error messages."""
        return f"the picture in row {self.row + 1} of '{self.path}'"

    def read(self) -> bytes:
        """Read its file; OSError where the table was changed since."""
        try:
            return self.load(self.row)
        except Exception as error:  # pyarrow has errors of its own
            raise OSError(str(error)) from error


class PictureColumn:
    """The pictures in a Parquet file; threads may share it."""

    def __init__(self, path: Path, name: str, file: Any, plan: Plan) -> None:
        self._path, self._name, self._dictionaries = path, name, plan.dictionaries
        groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
        self._starts = [0, *accumulate(group.num_rows for group in groups)]
        width = measure_width(file.schema_arrow.field(name).type)
        for number, sizes in enumerate(plan.groups):
            own = [s for key, s in sizes.items() if f"{key}.".startswith(f"{name}.")]
            size = sum(s.total + s.repeats * s.values * s.largest for s in own)
            size += groups[number].num_rows * width
            if size > plan.most:
                raise DataError(
                    f"row group {number} has {size:,} bytes of pictures; at "
                    f"most {plan.most:,} are read at once. Write it with smaller ones, "
                    "such as row_group_size=500."
                )
        self._kept: OrderedDict[int, Any] = OrderedDict()
        self._lock = Lock()

    def read(self, row: int) -> bytes:
        """Read the picture of a row, counted from 0."""
        group = bisect_right(self._starts, row) - 1
        with self._lock:
            if group not in self._kept:
                self._kept[group] = self._load(group)
                while len(self._kept) > _GROUPS_KEPT:
                    self._kept.popitem(last=False)
            contents = self._kept[group]
        content: bytes = contents[row - self._starts[group]].as_py()
        return content

    def _load(self, group: int) -> Any:
        from pyarrow import parquet

        dictionaries = self._dictionaries
        with parquet.ParquetFile(self._path, read_dictionary=dictionaries) as file:
            table = file.read_row_group(group, columns=[self._name])
        table.validate(full=True)
        return take_pictures(table.column(self._name).combine_chunks())


def find_pictures(schema: Any, layout: Layout) -> str | None:
    """Return the column that holds pictures themselves and not their paths."""
    from pyarrow import types

    name = find_image_column(schema.names, layout)
    if name is None:
        return None
    kind = schema.field(name).type
    if types.is_struct(kind):
        names = [kind.field(i).name for i in range(kind.num_fields)]
        kind = kind.field("bytes").type if "bytes" in names else kind
    return name if types.is_binary(kind) or types.is_large_binary(kind) else None


def take_pictures(column: Any) -> Any:
    """Return the pictures' bytes, of structures their field."""
    from pyarrow import compute, types

    is_structure = types.is_struct(column.type)
    return compute.struct_field(column, "bytes") if is_structure else column


def _take_paths(column: Any) -> Any:
    """Return the paths of pictures, of structures their field, if it holds texts."""
    import pyarrow
    from pyarrow import compute, types

    if types.is_struct(column.type) and column.type.get_field_index("path") >= 0:
        paths = compute.struct_field(column, "path")
        kind = paths.type.value_type if types.is_dictionary(paths.type) else paths.type
        if types.is_string(kind) or types.is_large_string(kind):
            return paths
    return pyarrow.nulls(len(column))


def _find_picture(table: Path, name: str | None) -> str | None:
    """Return where a picture is: beside the table, else as the path stands."""
    if name and not os.path.exists(table.parent / name) and os.path.exists(name):
        return os.path.abspath(name)
    return name


def _measure_pictures(column: Any) -> list[int | None]:
    """Return the size of each picture in bytes; None if missing."""
    from pyarrow import compute, types

    if not types.is_dictionary(column.type):
        sizes: list[int | None] = compute.binary_length(column).to_pylist()
        return sizes
    known = compute.binary_length(column.dictionary).to_pylist()
    indices = column.indices.to_pylist()
    return [None if index is None else known[index] for index in indices]


def read_class_names(schema: Any) -> dict[str, list[str]]:
    """Return the names of classes that the `datasets` library writes as numbers."""
    found: dict[str, list[str]] = {}
    try:
        document = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
        features = document.get("info", {}).get("features", {})
        for column, kind in features.items():
            inner = kind[0] if isinstance(kind, list) else kind.get("feature", kind)
            if inner.get("_type") == "ClassLabel" and column in schema.names:
                found[column] = [str(name) for name in inner["names"]]
    except (ValueError, AttributeError, KeyError, TypeError, IndexError):
        return {}  # numbers stay numbers
    return found


def _name_classes(value: Any, names: Sequence[str]) -> Any:
    if isinstance(value, list):
        return [_name_classes(each, names) for each in value]
    if isinstance(value, int) and value < len(names):
        return names[value] if value >= 0 else None  # -1 stands for none
    return value
