"""Files of rows: a checked header, then rows that are only ever appended to.

The log says how many rows count, and has a checksum for each few hundred of them. What
lies behind them is an unfinished change; the next writer cuts it off.
"""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DamagedIndex
from fdch.index.search.rows import row_length, row_type
from fdch.index.storage.layout import (
    CHUNK_BYTES,
    FORMAT,
    REPAIR,
    digest,
    open_plainly,
    part_file,
    sync,
    sync_folder,
)
from fdch.index.storage.log import write_all

_MAGIC = b"fdchrows"
_HEAD = struct.Struct("<8sII16sQ8s")
HEADER_BYTES = 64
_CHUNKS_AT_A_TIME = 1024


@dataclass(frozen=True)
class Segment:
    """Where the rows of one part lie, and how they look.

    Args:
        folder: The index.
        uid: Its identity.
        part: Number of the part.
        kind: "rows" for codes, "numbers" for which items they belong to.
        dtype: Of one value.
        width: Values in a row.
    """

    folder: Path
    uid: bytes
    part: int
    kind: str
    dtype: np.dtype[np.unsignedinteger]
    width: int = 1

    @property
    def path(self) -> Path:
        """Give the path of the file."""
        return part_file(self.folder, self.part, self.kind)

    @property
    def row_bytes(self) -> int:
        """Count the bytes of a row."""
        return self.dtype.itemsize * self.width

    @property
    def chunk_rows(self) -> int:
        """Count the rows that share a checksum."""
        return max(1, CHUNK_BYTES // self.row_bytes)

    def header(self) -> bytes:
        """Give the first bytes of the file."""
        row = self.row_bytes
        kind = self.kind.encode()
        content = _HEAD.pack(_MAGIC, FORMAT, row, self.uid, self.part, kind)
        return content + digest(content, self.uid, "header")

    def size(self, rows: int) -> int:
        """Count the bytes of a file with so many rows."""
        return HEADER_BYTES + rows * self.row_bytes

    def begin(self) -> None:
        """Make the file, with no row in it."""
        with open(self.path, "wb", opener=open_plainly) as file:
            file.write(self.header())
            file.flush()
            sync(file.fileno())
        sync_folder(self.path.parent)

    def append(
        self, before: int, rows: NDArray[np.unsignedinteger], last: bytes | None
    ) -> list[tuple[int, bytes]]:
        """Write rows behind those that count, and flush them to disk.

        Args:
            before: How many rows count so far.
            rows: What to append.
            last: Checksum of the last chunk so far, where it is not full.

        Returns:
            Number and checksum of each chunk that is new or grew.

        Raises:
            DamagedIndex: The chunk to be continued is not as written.
        """
        content = np.ascontiguousarray(rows).reshape(-1).view(np.uint8).data
        chunk, inside = divmod(before, self.chunk_rows)
        with open(self.path, "r+b", opener=open_plainly) as file:
            begun = self._begun(file.fileno(), chunk, inside, last)
            os.truncate(file.fileno(), self.size(before))
            write_all(file.fileno(), content, self.size(before))
            sync(file.fileno())
        return list(self._digests(chunk, begun, content))

    def cut(self, rows: int) -> None:
        """Take away what lies behind the rows that count."""
        with open(self.path, "r+b", opener=open_plainly) as file:
            if file.read(HEADER_BYTES) != self.header():
                raise self.wrong_header()
            size = os.fstat(file.fileno()).st_size
            if size < self.size(rows):
                raise self.too_short(size, rows)
            if size > self.size(rows):
                os.truncate(file.fileno(), self.size(rows))

    def mapped(self, rows: int) -> NDArray[np.unsignedinteger]:
        """Map the rows that count, read-only, after a look at the header.

        Raises:
            DamagedIndex: The file is short or belongs elsewhere.
            FileNotFoundError: It is not there.
        """
        with self.path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if file.read(HEADER_BYTES) != self.header():
                raise self.wrong_header()
            if size < self.size(rows):
                raise self.too_short(size, rows)
            shape = (rows,) if self.width == 1 else (rows, self.width)
            return np.memmap(file, self.dtype, "r", HEADER_BYTES, shape)

    def wrong_header(self) -> DamagedIndex:
        """Say that the file is another, or damaged."""
        return DamagedIndex(f"'{self.path}' does not begin as it was written. {REPAIR}")

    def too_short(self, size: int, rows: int) -> DamagedIndex:
        """Say that rows are missing."""
        return DamagedIndex(
            f"'{self.path}' has {size:,} bytes; {self.size(rows):,} were written. "
            f"{REPAIR}"
        )

    def chunks(
        self, rows: int, path: Path | None = None
    ) -> Iterator[tuple[int, memoryview]]:
        """Read chunk after chunk of the rows that count, as far as the file goes.

        Args:
            rows: How many count.
            path: Where they are read from, where it is not their own place.
        """
        with (path or self.path).open("rb") as file:
            file.seek(HEADER_BYTES)
            left, chunk = rows * self.row_bytes, 0
            step = self.chunk_rows * self.row_bytes
            while left > 0:
                some = memoryview(file.read(min(_CHUNKS_AT_A_TIME * step, left)))
                for place in range(0, min(_CHUNKS_AT_A_TIME * step, left), step):
                    yield chunk, some[place : place + step]
                    chunk += 1
                left -= _CHUNKS_AT_A_TIME * step

    def read(self, low: int, high: int) -> bytes:
        """Read some rows, as they are."""
        with self.path.open("rb") as file:
            file.seek(self.size(low))
            return file.read((high - low) * self.row_bytes)

    def write_at(self, row: int, content: bytes) -> None:
        """Write rows over those from a row on, and flush them to disk."""
        with open(self.path, "r+b", opener=open_plainly) as file:
            write_all(file.fileno(), memoryview(content), self.size(row))
            sync(file.fileno())

    def digest(self, chunk: int, content: bytes | bytearray | memoryview) -> bytes:
        """Give the checksum of a chunk."""
        return digest(content, self.uid, self.kind, self.part, chunk)

    def _begun(self, handle: int, chunk: int, inside: int, last: bytes | None) -> bytes:
        """Read the rows of a chunk that is not full, if they are as written."""
        if not inside:
            return b""
        start = self.size(chunk * self.chunk_rows)
        begun = os.pread(handle, inside * self.row_bytes, start)
        if self.digest(chunk, begun) != last:
            raise DamagedIndex(
                f"'{self.path}': the last rows are not as written. {REPAIR}"
            )
        return begun

    def _digests(
        self, chunk: int, begun: bytes, content: memoryview
    ) -> Iterator[tuple[int, bytes]]:
        step = self.chunk_rows * self.row_bytes
        place = 0
        while place < len(content):
            end = place + step - len(begun)
            part = content[place:end]
            whole = begun + part.tobytes() if begun else part
            yield chunk, self.digest(chunk, whole)
            chunk, begun, place = chunk + 1, b"", end


@dataclass(frozen=True)
class Place:
    """An index folder, its identity and the length of its codes."""

    folder: Path
    uid: bytes
    bits: int

    def rows(self, part: int) -> Segment:
        """Give the segment of a part's codes."""
        dtype, width = row_type(self.bits), row_length(self.bits)
        return Segment(self.folder, self.uid, part, "rows", dtype, width)

    def numbers(self, part: int) -> Segment:
        """Give the segment that says which items a part with gaps holds."""
        return Segment(self.folder, self.uid, part, "numbers", np.dtype("<u4"))
