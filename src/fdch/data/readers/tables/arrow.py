"""Arrow files, as the `datasets` library saves them, read with pyarrow alone.

A file is mapped into memory: pictures in it are read when they are needed.
"""

import struct
from pathlib import Path
from typing import Any

from fdch.data.readers.columns import Layout
from fdch.data.readers.tables.arrow_cells import measure_width
from fdch.data.readers.tables.parquet import find_pictures, read_rows, take_pictures
from fdch.data.readers.tables.table import Table
from fdch.data.rows import reading
from fdch.errors import DataError, MissingExtra
from fdch.files import load_json

STATE, SPLITS = "state.json", "dataset_dict.json"
_ADVICE = "Save it again with save_to_disk."
_MAX_STATE_BYTES = 2**24
_ROWS = 1024
_MAGIC_BYTES = 8
_HEADER = 2  # a field of a message
_DATA = 1  # of a dictionary, its batch
_PACKING = 3  # of a batch


def list_dataset_files(folder: Path) -> list[Path] | None:
    """Return the Arrow files of a saved dataset in order; None for no dataset."""
    path = folder / STATE
    if (folder / SPLITS).is_file() and not path.is_file():
        raise DataError(
            f"'{folder}' holds several splits of a dataset; name one of the folders in "
            "it, such as 'train'."
        )
    if not path.is_file():
        return None
    with reading(path, "list of a dataset's files", _ADVICE):
        state = load_json(path, _MAX_STATE_BYTES)
        names = [str(each["filename"]) for each in state["_data_files"]]
        is_own = (Path(n).name == n and n.endswith(".arrow") for n in names)
        if not names or not all(is_own):
            raise ValueError("it names no files of its own")
        if state.get("_indices_data_files"):
            raise ValueError("its rows were chosen by indices; call flatten_indices()")
    return [folder / name for name in names]


def open_arrow(path: Path, layout: Layout) -> Table:
    """Read an Arrow file, as a stream or with an index."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtra("reading Arrow files", "parquet") from None
    table = _map(path)
    schema, batches, pictures = table.schema, table.to_batches(_ROWS), None
    if (name := find_pictures(schema, layout)) is not None:
        contents = take_pictures(table.column(name))
        pictures = name, lambda row: contents[row].as_py()
    return Table(tuple(schema.names), read_rows(path, schema, batches, pictures))


def _map(path: Path) -> Any:
    """Return the table in a file, checked: pyarrow trusts what it maps."""
    import pyarrow
    from pyarrow import ipc

    source = pyarrow.memory_map(str(path))
    # what comes before the index of a file is a stream
    start = _MAGIC_BYTES if source.read(6) == b"ARROW1" else 0
    source.seek(start)
    if any(map(_is_packed, ipc.MessageReader.open_stream(source))):
        raise DataError("its buffers are compressed. Save it without compression.")
    source.seek(start)
    stream = ipc.open_stream(source)
    names = stream.schema.names
    if len(set(names)) != len(names):
        raise ValueError("it has two columns of the same name")
    for kind in stream.schema.types:
        measure_width(kind)
    batches = []
    for batch in stream:
        batch.validate(full=True)
        batches.append(batch)
    if not batches:
        raise ValueError("it has no rows")
    return pyarrow.Table.from_batches(batches)


def _is_packed(message: Any) -> bool:
    """Return whether the buffers of a message may unpack to any size.

    Messages are FlatBuffers; see "Serialization and interprocess communication" in
    Arrow's columnar format.
    """
    if message.type not in ("record batch", "dictionary"):
        return False
    content = memoryview(message.metadata)
    table = _follow(content, _find_field(content, _follow(content, 0), _HEADER))
    if message.type == "dictionary":
        table = _follow(content, _find_field(content, table, _DATA))
    return _find_field(content, table, _PACKING) > 0


def _find_field(content: memoryview, table: int, field: int) -> int:
    """Return the position of a field of a table; 0 if it is not set."""
    offsets = table - _read_number(content, table, "<i")
    entry = 4 + 2 * field
    if entry >= _read_number(content, offsets, "<H"):
        return 0
    offset = _read_number(content, offsets + entry, "<H")
    return table + offset if offset else 0


def _follow(content: memoryview, place: int) -> int:
    """Return the position of the table that an offset points to."""
    return place + _read_number(content, place, "<I")


def _read_number(content: memoryview, place: int, kind: str) -> int:
    if place < 0:
        raise ValueError("a message is damaged")
    return int(struct.unpack_from(kind, content, place)[0])
