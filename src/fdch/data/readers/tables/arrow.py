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
    give_batches,
    pictures_of,
    read_class_names,
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
    damage = (pyarrow.ArrowException, OSError, ValueError, ArithmeticError)
    try:
        table = _map(path)
        names = read_class_names(table.schema)
        columns = tuple(table.schema.names)
        image = find_image_column(columns, layout)
        pictures = None
        if image is not None and embeds(table.schema, image):
            pictures = MappedColumn(path, image, pictures_of(table.column(image)))
    except damage as error:
        raise DataError(
            f"'{path}' is not a whole Arrow file: {error}. Save it again."
        ) from None
    batches = table.to_batches(_ROWS)
    return Table(columns, give_batches(path, batches, pictures, names, damage))


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
        size += sum(list_packed_sizes(memoryview(message.metadata), body))
        if size > most:
            raise ValueError(f"it unpacks to more than {most:,} bytes")


def list_packed_sizes(message: memoryview, body: memoryview | bytes) -> Iterator[int]:
    """Give the length of each packed buffer once it is unpacked.

    Raises:
        ValueError: The message is damaged.
    """
    try:
        root = _Table(message, _number(message, 0, "<I"))
        kind = root.place(_HEADER_KIND)
        header = root.table(_HEADER)
        code = 0 if kind is None else message[kind]
        if header is None or code not in (_DICTIONARY, _BATCH):
            return
        batch = header if code == _BATCH else header.table(_DATA)
        if batch is None or batch.place(_PACKING) is None:
            return
        vector = batch.vector(_BUFFERS)
        for place in range(vector[0], vector[0] + 16 * vector[1], 16):
            start, length = struct.unpack_from("<qq", message, place)
            if length >= 8:
                # -1 stands for a buffer that is not packed
                yield max(0, int(struct.unpack_from("<q", body, start)[0]))
    except (struct.error, IndexError) as error:
        raise ValueError(f"a message is damaged ({error})") from None


class _Table:
    """A table of FlatBuffers: its fields lie where its list of offsets says."""

    def __init__(self, content: memoryview, start: int) -> None:
        self._content, self._start = content, start
        self._offsets = start - _number(content, start, "<i")

    def place(self, field: int) -> int | None:
        """Give where a field lies; None where it is not set."""
        entry = 4 + 2 * field
        if self._offsets < 0 or entry >= _number(self._content, self._offsets, "<H"):
            return None
        offset = _number(self._content, self._offsets + entry, "<H")
        return self._start + offset if offset else None

    def table(self, field: int) -> "_Table | None":
        """Give a field that is a table."""
        place = self.place(field)
        if place is None:
            return None
        return _Table(self._content, place + _number(self._content, place, "<I"))

    def vector(self, field: int) -> tuple[int, int]:
        """Give where the items of a vector begin, and how many there are."""
        place = self.place(field)
        if place is None:
            return 0, 0
        start = place + _number(self._content, place, "<I")
        return start + 4, _number(self._content, start, "<I")


def _number(content: memoryview, place: int, kind: str) -> int:
    if place < 0:
        raise IndexError("a negative place")
    return int(struct.unpack_from(kind, content, place)[0])
