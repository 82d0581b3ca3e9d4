"""Arrow files, as the `datasets` library saves them, read with pyarrow alone.

A file is mapped into memory: pictures in it are read when they are needed.
"""

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fdch.data.readers.columns import Layout, find_image_column
from fdch.data.readers.tables.arrow_cells import measure_width
from fdch.data.readers.tables.manifest_rows import Table
from fdch.data.readers.tables.parquet import (
    embeds,
    list_damage,
    pictures_of,
    read_rows,
)
from fdch.errors import DataError, MissingExtra
from fdch.files import load_json

STATE, ABOUT, SPLITS = "state.json", "dataset_info.json", "dataset_dict.json"
_MAX_STATE_BYTES = 2**24
_ROWS = 1024
_MAGIC_BYTES = 8
_MAX_GROWTH, _MIN_BYTES = 16, 2**26  # of files whose buffers are compressed
_HEADER_KIND, _HEADER = 1, 2  # fields of a message
_DICTIONARY, _BATCH = 2, 3  # kinds of header
_DATA = 1  # of a dictionary, its batch
_BUFFERS, _PACKING = 2, 3  # of a batch


def list_dataset_files(folder: Path) -> list[Path] | None:
    """Return the Arrow files of a saved dataset in order; None for no dataset."""
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
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtra("reading Arrow files", "parquet") from None
    try:
        table = _map(path)
        image = find_image_column(table.schema.names, layout)
        pictures = None
        if image is not None and embeds(table.schema, image):
            pictures = MappedColumn(path, image, pictures_of(table.column(image)))
    except list_damage() as error:
        raise DataError(
            f"'{path}' is not a whole Arrow file: {error}. Save it again."
        ) from None
    rows = read_rows(path, table.schema, table.to_batches(_ROWS), pictures)
    return Table(tuple(table.schema.names), rows)


class MappedColumn:
    """The pictures in an Arrow file; threads may share it."""

    def __init__(self, path: Path, name: str, contents: Any) -> None:
        self.path, self.name, self._contents = path, name, contents

    def read(self, row: int) -> bytes:
        """Read the picture of a row, counted from 0."""
        content: bytes = self._contents[row].as_py()
        return content


def _map(path: Path) -> Any:
    """Return the table in a file, checked: pyarrow trusts what it maps."""
    import pyarrow
    from pyarrow import ipc

    source = pyarrow.memory_map(str(path))
    # what comes before the index of a file is a stream
    start = _MAGIC_BYTES if source.read(6) == b"ARROW1" else 0
    source.seek(start)
    _require_size(path, ipc.MessageReader.open_stream(source))
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


def _require_size(path: Path, messages: Iterable[Any]) -> None:
    """Add up what packed buffers say they unpack to, before any is."""
    most = max(_MAX_GROWTH * path.stat().st_size, _MIN_BYTES)
    size = 0
    for message in messages:
        body = memoryview(message.body) if message.body is not None else b""
        size += sum(_list_packed_sizes(memoryview(message.metadata), body))
        if size > most:
            raise ValueError(f"it unpacks to more than {most:,} bytes")


def _list_packed_sizes(message: memoryview, body: memoryview | bytes) -> Iterator[int]:
    """Yield what each packed buffer of a message says that it unpacks to.

    Messages are FlatBuffers; see "Serialization and interprocess communication" in
    Arrow's columnar format. ValueError where one is damaged.
    """
    try:
        root = _follow(message, 0)
        kind, header = (_find_field(message, root, i) for i in (_HEADER_KIND, _HEADER))
        code = 0 if kind is None else message[kind]
        if header is None or code not in (_DICTIONARY, _BATCH):
            return
        batch = _follow(message, header)
        if code == _DICTIONARY:
            data = _find_field(message, batch, _DATA)
            if data is None:
                return
            batch = _follow(message, data)
        packing, buffers = (
            _find_field(message, batch, i) for i in (_PACKING, _BUFFERS)
        )
        if packing is None or buffers is None:
            return
        vector = _follow(message, buffers)
        first, count = vector + 4, _read_number(message, vector, "<I")
        for place in range(first, first + 16 * count, 16):
            start, length = struct.unpack_from("<qq", message, place)
            if length >= 8:
                # -1 stands for a buffer that is not packed
                yield max(0, int(struct.unpack_from("<q", body, start)[0]))
    except (struct.error, IndexError) as error:
        raise ValueError(f"a message is damaged ({error})") from None


def _find_field(content: memoryview, table: int, field: int) -> int | None:
    """Return where a field of a table lies; None where it is not set."""
    offsets = table - _read_number(content, table, "<i")
    entry = 4 + 2 * field
    if offsets < 0 or entry >= _read_number(content, offsets, "<H"):
        return None
    offset = _read_number(content, offsets + entry, "<H")
    return table + offset if offset else None


def _follow(content: memoryview, place: int) -> int:
    """Return where the table or vector lies that is named at a place."""
    return place + _read_number(content, place, "<I")


def _read_number(content: memoryview, place: int, kind: str) -> int:
    if place < 0:
        raise IndexError("a negative place")
    return int(struct.unpack_from(kind, content, place)[0])
