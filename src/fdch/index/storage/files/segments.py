"""Files of rows: a checked header, then rows that are only ever appended to.

The log says how many rows count, and has a checksum for each few hundred of them. What
lies behind them is an unfinished change; the next writer cuts it off.
"""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.index.search.rows import row_length, row_type
from fdch.index.storage.files.layout import (
    CHUNK_BYTES,
    FORMAT,
    VECTORS,
    damaged,
    digest,
    open_plainly,
    part_file,
    sync,
    sync_folder,
    write_all,
)

ROWS, NUMBERS = "rows", "numbers"
_MAGIC = b"fdchrows"
_HEAD = struct.Struct("<8sII16sQ8s")
HEADER_BYTES = 64
_CHUNKS_AT_A_TIME = 1024


def owner_of_rows(folder: Path, head: bytes) -> Path | None:
    """Return which file of rows begins like this, None if none does."""
    if len(head) != HEADER_BYTES or not head.startswith(_MAGIC):
        return None
    content, check = head[: _HEAD.size], head[_HEAD.size :]
    _, _, _, uid, part, padded = _HEAD.unpack(content)
    kind = padded.rstrip(b"\0").decode("ascii", "replace")
    is_whole = check == digest(content, uid, "header")
    is_known = kind in (ROWS, VECTORS, NUMBERS)
    return part_file(folder, part, kind) if is_whole and is_known else None


@dataclass(frozen=True)
class Segment:
    """Where the rows of one part lie, and how they look."""

    folder: Path  # the index
    uid: bytes  # its identity
    part: int  # number of the part
    kind: str  # "rows" for codes, "vectors", "numbers" for which items they belong to
    dtype: np.dtype[np.integer[Any]]  # of one value
    width: int = 1  # values in a row

    @property
    def path(self) -> Path:
        """Return the path of the file."""
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
        """Return the first bytes of the file."""
        kind = self.kind.encode()
        content = _HEAD.pack(_MAGIC, FORMAT, self.row_bytes, self.uid, self.part, kind)
        return content + digest(content, self.uid, "header")

    def has_header(self) -> bool:
        """Return whether the first bytes are those of this file."""
        with self.path.open("rb") as file:
            return file.read(HEADER_BYTES) == self.header()

    def size(self, rows: int) -> int:
        """Count the bytes of a file with so many rows."""
        return HEADER_BYTES + rows * self.row_bytes

    def create(self, rows: NDArray[np.integer[Any]] | None = None) -> bytes:
        """Make the file, with some rows in it; return the checksums of its chunks."""
        with open(self.path, "wb", opener=open_plainly) as file:
            file.write(self.header())
            file.flush()
            sync(file.fileno())
        sync_folder(self.path.parent)
        return b"" if rows is None else self.append(0, rows, b"")[1]

    def append(
        self, before: int, rows: NDArray[np.integer[Any]], last: bytes
    ) -> tuple[int, bytes]:
        """Write rows behind those that count before, and flush them to disk.

        `last` is the checksum of the last chunk, where it is not full. Returns the
        first chunk that is new or grew, and the checksums from there on.
        """
        content = np.ascontiguousarray(rows).reshape(-1).view(np.uint8).data
        first, inside = divmod(before, self.chunk_rows)
        step, start = self.chunk_rows * self.row_bytes, self.size(before)
        held = inside * self.row_bytes
        with open(self.path, "r+b", opener=open_plainly) as file:
            begun = os.pread(file.fileno(), held, start - held)
            if held and self.digest(first, begun) != last:
                raise damaged(
                    f"'{self.path}': the last rows do not match their checksum"
                )
            os.truncate(file.fileno(), start)
            write_all(file.fileno(), content, start)
            sync(file.fileno())
        checks = [self.digest(first, begun + content[: step - held])]
        for chunk, place in enumerate(
            range(step - held, len(content), step), first + 1
        ):
            checks.append(self.digest(chunk, content[place : place + step]))
        return first, b"".join(checks)

    def cut(self, rows: int) -> None:
        """Take away what lies behind the rows that count."""
        with open(self.path, "r+b", opener=open_plainly) as file:
            self._require_rows(file.read(HEADER_BYTES), file.fileno(), rows)
            if os.fstat(file.fileno()).st_size > self.size(rows):
                os.truncate(file.fileno(), self.size(rows))

    def map_rows(self, rows: int) -> NDArray[Any]:
        """Map the rows that count, read-only, after a look at the header."""
        with self.path.open("rb") as file:
            self._require_rows(file.read(HEADER_BYTES), file.fileno(), rows)
            shape = (rows,) if self.width == 1 else (rows, self.width)
            mapped = np.memmap(file, self.dtype, "r", HEADER_BYTES, shape)
            return mapped.view(np.ndarray)  # whose rows are picked in less time

    def _require_rows(self, head: bytes, handle: int, rows: int) -> None:
        """Refuse a file that is short or belongs elsewhere."""
        if head != self.header():
            raise damaged(f"'{self.path}' has the wrong header")
        size = os.fstat(handle).st_size
        if size < self.size(rows):
            raise damaged(
                f"'{self.path}' has {size:,} bytes; {self.size(rows):,} were written"
            )

    def chunks(self, rows: int) -> Iterator[tuple[int, memoryview]]:
        """Read chunk after chunk of the rows that count, as far as the file goes."""
        step, size = self.chunk_rows * self.row_bytes, rows * self.row_bytes
        with self.path.open("rb") as file:
            file.seek(HEADER_BYTES)
            for start in range(0, size, _CHUNKS_AT_A_TIME * step):
                length = min(_CHUNKS_AT_A_TIME * step, size - start)
                some = memoryview(file.read(length))
                for place in range(0, length, step):
                    yield (start + place) // step, some[place : place + step]

    def restore(self, rows: int) -> None:
        """Restore the header and the length of a damaged file."""
        with open(self.path, "ab", opener=open_plainly):
            pass  # it may be missing
        with open(self.path, "r+b", opener=open_plainly) as file:
            file.write(self.header())
            file.truncate(self.size(rows))
        sync_folder(self.path)
        sync_folder(self.path.parent)

    def write_at(self, row: int, content: bytes) -> None:
        """Write rows over those from a row on, and flush them to disk."""
        with open(self.path, "r+b", opener=open_plainly) as file:
            write_all(file.fileno(), memoryview(content), self.size(row))
            sync(file.fileno())

    def digest(self, chunk: int, content: bytes | memoryview) -> bytes:
        """Return the checksum of a chunk."""
        return digest(content, self.uid, self.kind, self.part, chunk)


@dataclass(frozen=True)
class Place:
    """An index folder, its identity, the length of its codes and of its vectors."""

    folder: Path
    uid: bytes
    bits: int
    vector_bytes: int = 0  # of an item; 0 for an index without vectors

    @property
    def kinds(self) -> tuple[str, ...]:
        """What gets a row with every item."""
        return (ROWS, VECTORS) if self.vector_bytes else (ROWS,)

    def segment(self, part: int, kind: str) -> Segment:
        """Return the segment of a part that has codes, vectors or numbers of items."""
        dtype, width = {
            ROWS: (row_type(self.bits), row_length(self.bits)),
            VECTORS: (np.dtype(np.int8), self.vector_bytes),
            NUMBERS: (np.dtype(np.uint32), 1),
        }[kind]
        return Segment(self.folder, self.uid, part, kind, dtype, width)

    def row_segments(self, part: int) -> list[Segment]:
        """Return the segments of a part that get a row with every item."""
        return [self.segment(part, kind) for kind in self.kinds]

    def segments(self, part: int, has_gaps: bool) -> list[Segment]:
        """Return all segments of a part."""
        gaps = [self.segment(part, NUMBERS)] if has_gaps else []
        return [*self.row_segments(part), *gaps]
