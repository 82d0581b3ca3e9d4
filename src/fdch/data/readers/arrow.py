"""Arrow files, as the `datasets` library saves them, read with pyarrow alone.

A file is mapped into memory: pictures in it are read when they are needed.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fdch.data.readers.columns import Layout, find_image_column
from fdch.data.readers.manifest_rows import Row, Table
from fdch.data.readers.parquet import embeds, give_cells, pictures_of, read_class_names
from fdch.errors import DataError, MissingExtra
from fdch.files import load_json

STATE, ABOUT, SPLITS = "state.json", "dataset_info.json", "dataset_dict.json"
_MAX_STATE_BYTES = 2**24
_ROWS = 1024
_MAX_GROWTH, _MIN_BYTES = 16, 2**26  # of files whose buffers are compressed


def list_dataset_files(folder: Path) -> list[Path] | None:
    """Give the Arrow files of a saved dataset, in their order; None for no dataset."""
    is_dataset = (folder / STATE).is_file() and (folder / ABOUT).is_file()
    if (folder / SPLITS).is_file() and not is_dataset:
        raise DataError(
            f"'{folder}' holds several splits of a dataset; name one of the folders in "
            "it, such as 'train'."
        )
    if not is_dataset:
        return None
    try:
        state = load_json(folder / STATE, _MAX_STATE_BYTES)
        names = [str(each["filename"]) for each in state["_data_files"]]
        is_own = (Path(n).name == n and n.endswith(".arrow") for n in names)
        if not names or not all(is_own):
            raise ValueError("it names no files of its own")
        if state.get("_indices_data_files"):
            raise ValueError("its rows were chosen by indices; call flatten_indices()")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"'{folder / STATE}' does not list the files of a dataset: {error}. Save "
            "it again with save_to_disk."
        ) from None
    return [folder / name for name in names]


def open_arrow(path: Path, layout: Layout) -> Table:
    """Read an Arrow file, as a stream or with an index."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra("reading Arrow files", "parquet") from None
    damage = (pyarrow.ArrowException, OSError, ValueError, OverflowError)
    try:
        table = _map(path)
        names = read_class_names(table.schema)
    except damage as error:
        raise DataError(
            f"'{path}' is not a whole Arrow file: {error}. Save it again."
        ) from None
    columns = tuple(table.schema.names)
    image = find_image_column(columns, layout)
    pictures = None
    if image is not None and embeds(table.schema, image):
        pictures = MappedColumn(path, image, pictures_of(table.column(image)))

    def rows() -> Iterator[Row]:
        number = 0
        for batch in table.to_batches(_ROWS):
            for cells in give_cells(batch, pictures, number, names):
                number += 1
                yield Row(f"row {number}", cells)

    return Table(columns, rows())


class MappedColumn:
    """The pictures in an Arrow file; threads may share it."""

    def __init__(self, path: Path, name: str, contents: Any) -> None:
        self.path, self.name, self._contents = path, name, contents

    def read(self, row: int) -> bytes:
        """Read the picture of a row, counted from 0."""
        content: bytes = self._contents[row].as_py()
        return content


def _map(path: Path) -> Any:
    """Give the table in a file, checked: pyarrow trusts what it maps."""
    import pyarrow
    from pyarrow import ipc

    most = max(_MAX_GROWTH * path.stat().st_size, _MIN_BYTES)
    source = pyarrow.memory_map(str(path))
    batches, size = [], 0
    for batch in _batches(ipc, source):
        batch.validate(full=True)
        size += batch.nbytes
        if size > most:
            raise ValueError(f"it unpacks to more than {most:,} bytes")
        batches.append(batch)
    if not batches:
        raise ValueError("it has no rows")
    return pyarrow.Table.from_batches(batches)


def _batches(ipc: Any, source: Any) -> Iterator[Any]:
    if source.read(6) == b"ARROW1":
        file = ipc.open_file(source)
        yield from (file.get_batch(i) for i in range(file.num_record_batches))
    else:
        source.seek(0)
        yield from ipc.open_stream(source)
