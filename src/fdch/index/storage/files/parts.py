"""Parts of an index: their files, and how items are found in them."""

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DamagedIndex
from fdch.index.search.buckets import Buckets
from fdch.index.search.gallery import Part
from fdch.index.search.groups import Grouping
from fdch.index.search.rows import Rows
from fdch.index.storage.files.layout import (
    DIGEST_BYTES,
    digest,
    open_plainly,
    part_file,
    sync,
    sync_folder,
)
from fdch.index.storage.files.records import BUCKETS, GROUPING, PartRecord
from fdch.index.storage.files.segments import Place
from fdch.index.storage.maintenance.checking import file_problems, sidecar_rows
from fdch.index.store import Vectors

_log = logging.getLogger(__name__)

NOWHERE = -1
_MAGIC = b"fdcharrs"
_ALIGNMENT = 64
_MAX_HEADER = 2**16
_KINDS = {"u1", "u2", "u4", "u8", "i8"}
_BYTES_AT_A_TIME = 1 << 20
CHECKED_BYTES = 2**26  # of a file that is checked when it is mapped


@dataclass(frozen=True, eq=False)
class OpenPart:
    """A part's files, mapped."""

    record: PartRecord  # what the catalogue says of it
    rows: Rows  # its codes, in order of insertion
    numbers: NDArray[np.unsignedinteger] | None  # less the first's, where gaps are
    dead: NDArray[np.bool_] | None = None  # which of its rows were removed
    grouped: Rows | None = None  # the codes again, as the grouping orders them
    grouping: Grouping | None = None  # blocks with bounds
    buckets: Buckets | None = None  # tables for small radii
    vectors: Vectors | None = None  # of its items, where the index has some

    def offsets(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Find items by number: offsets of their rows, -1 where there is none."""
        relative = numbers - self.record.first
        inside = (relative >= 0) & (relative < self.record.span)
        if self.numbers is None:
            return np.where(inside, relative, NOWHERE)
        wanted = np.where(inside, relative, 0).astype(self.numbers.dtype)
        found = np.minimum(np.searchsorted(self.numbers, wanted), len(self.rows) - 1)
        return np.where(inside & (self.numbers[found] == wanted), found, NOWHERE)

    def living(self) -> NDArray[np.int64]:
        """Give the offsets of the rows that were not removed."""
        if self.dead is None:
            return np.arange(self.record.rows)
        return np.flatnonzero(~self.dead)

    def item_numbers(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the numbers of the items whose rows have these offsets."""
        relative = offsets if self.numbers is None else self.numbers[offsets]
        return self.record.first + relative.astype(np.int64)

    @property
    def alive(self) -> int:
        """Count the rows that were not removed."""
        return self.record.rows - (0 if self.dead is None else int(self.dead.sum()))

    @property
    def is_compacted(self) -> bool:
        """Tell whether the part has what makes searching it faster."""
        return self.grouping is not None or self.buckets is not None

    def searched(self, position: int) -> Part:
        """Give the part to the search, under the position of its first row."""
        rows = self.rows if self.grouped is None else self.grouped
        return Part(rows, position, self.dead, self.grouping, self.buckets)

    def without(self, numbers: NDArray[np.int64]) -> "OpenPart":
        """Give the part with some items removed."""
        offsets = self.offsets(numbers)
        offsets = offsets[offsets >= 0]
        if not len(offsets):
            return self
        dead = np.zeros(len(self.rows), bool) if self.dead is None else self.dead.copy()
        dead[offsets] = True
        return replace(self, dead=dead)


def open_part(place: Place, record: PartRecord, known: OpenPart | None) -> OpenPart:
    """Map a part's files, keeping what is known of it from before."""
    if known is not None and known.record == record:
        return known
    rows = place.rows(record.part).map_rows(record.rows)
    numbers = vectors = None
    if place.vector_bytes:
        vectors = place.vectors(record.part).map_rows(record.rows)
    if record.has_gaps:
        numbers = place.numbers(record.part).map_rows(record.rows)
    dead = None
    if known is not None and known.dead is not None:
        dead = np.zeros(record.rows, dtype=bool)
        dead[: len(known.dead)] = known.dead
    return _with_sidecars(place, OpenPart(record, rows, numbers, dead, vectors=vectors))


def _with_sidecars(place: Place, part: OpenPart) -> OpenPart:
    """Map what makes searching faster; go on without what is damaged."""
    record, whole = part.record, part
    kinds = record.sidecars
    try:
        small = [row for row in sidecar_rows(record) if row[1] <= CHECKED_BYTES]
        for problem in file_problems(place.folder, small):
            raise DamagedIndex(str(problem))
        if GROUPING in kinds:
            arrays = map_sidecar(place, record.part, GROUPING)
            grouped = arrays.pop("rows")
            _require_below(record, arrays, ["order", "places"])
            if grouped.shape != part.rows.shape or grouped.dtype != part.rows.dtype:
                raise DamagedIndex(f"its rows are {grouped.dtype} {grouped.shape}.")
            grouping = Grouping.from_arrays(arrays, place.bits, record.rows)
            whole = replace(whole, grouped=grouped, grouping=grouping)
        if BUCKETS in kinds:
            arrays = map_sidecar(place, record.part, BUCKETS)
            _require_below(record, arrays, ["places"])
            buckets = Buckets.from_arrays(arrays, place.bits, record.rows)
            whole = replace(whole, buckets=buckets)
    except (DamagedIndex, OSError, ValueError, TypeError, LookupError) as problem:
        name = f"{place.folder}, part {record.part}"
        _log.warning("searching '%s' without its tables: %s", name, problem)
        return part
    return whole


def _require_below(
    record: PartRecord, arrays: dict[str, NDArray[Any]], names: list[str]
) -> None:
    """Let no forged number lead a compiled loop out of the rows."""
    for name in names:
        values = arrays.get(name)
        if values is None or not values.size or _largest(values) >= record.rows:
            raise DamagedIndex(f"'{name}' of part {record.part} leads out of it.")


def _largest(values: NDArray[Any]) -> int:
    """Give the largest value of a map, read beside it: a map keeps what it showed."""
    if not isinstance(values, np.memmap) or values.filename is None:
        return int(values.max())
    largest, most = 0, _BYTES_AT_A_TIME // values.itemsize
    with open(values.filename, "rb") as file:
        file.seek(values.offset)
        for start in range(0, values.size, most):
            read = np.fromfile(file, values.dtype, min(most, values.size - start))
            largest = max(largest, int(read.max()))  # empty, if the file is too short
    return largest


def write_sidecar(
    place: Place, part: int, kind: str, arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write arrays into one file, and flush it to disk."""
    offset, table = 0, []
    for name, values in arrays.items():
        table.append([name, values.dtype.str[1:], list(values.shape), offset])
        offset += -(-values.nbytes // _ALIGNMENT) * _ALIGNMENT
    words = json.dumps(table).encode()
    head = _MAGIC + len(words).to_bytes(8, "little") + words
    head += digest(head, place.uid, kind, part)
    path = part_file(place.folder, part, kind)
    with open(path, "wb", opener=open_plainly) as file:
        file.write(head.ljust(_aligned(len(head)), b"\0"))
        for values in arrays.values():
            content = np.ascontiguousarray(values).reshape(-1).view(np.uint8).data
            file.write(content)
            file.write(bytes(-len(content) % _ALIGNMENT))
        file.flush()
        sync(file.fileno())
    sync_folder(path.parent)


def map_sidecar(place: Place, part: int, kind: str) -> dict[str, NDArray[Any]]:
    """Map the arrays of a file, after a look at its header."""
    path = part_file(place.folder, part, kind)
    with path.open("rb") as file:
        head = file.read(len(_MAGIC) + 8)
        length = int.from_bytes(head[len(_MAGIC) :], "little")
        head += file.read(min(length, _MAX_HEADER))
        check = file.read(DIGEST_BYTES)
        if head[: len(_MAGIC)] != _MAGIC or check != digest(
            head, place.uid, kind, part
        ):
            raise DamagedIndex(f"'{path}' does not begin as it was written.")
        size = os.fstat(file.fileno()).st_size
        start = _aligned(len(head) + DIGEST_BYTES)
        arrays: dict[str, NDArray[Any]] = {}
        for name, code, shape, offset in json.loads(head[len(_MAGIC) + 8 :]):
            end = start + offset + prod(shape) * int(code[1])
            if code not in _KINDS or min(*shape, offset) < 0 or end > size:
                raise DamagedIndex(f"'{path}' is shorter than it was written.")
            arrays[name] = np.memmap(
                file, f"<{code}", "r", start + offset, tuple(shape)
            )
        return arrays


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
