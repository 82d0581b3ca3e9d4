"""Parts of an index: their files, and how items are found in them."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DamagedIndex
from fdch.index.search.buckets import Buckets
from fdch.index.search.groups import Grouping
from fdch.index.search.rows import Rows
from fdch.index.storage.files.checking import file_problems, sidecar_rows
from fdch.index.storage.files.layout import open_plainly, part_file, sync, sync_folder
from fdch.index.storage.files.records import BUCKETS, GROUPING, PartRecord
from fdch.index.storage.files.segments import Place
from fdch.index.store import Vectors

_log = logging.getLogger(__name__)

NOWHERE = -1
_ALIGNMENT = 64
# what makes searching faster, and which of its arrays has numbers of rows
_TABLES: dict[str, tuple[type[Grouping] | type[Buckets], str]] = {
    GROUPING: (Grouping, "order"),
    BUCKETS: (Buckets, "places"),
}
CHECKED_BYTES = 2**26  # of a file that is checked when it is mapped


@dataclass(frozen=True, eq=False)
class OpenPart:
    """A part's files, mapped."""

    record: PartRecord  # what the catalogue says of it
    rows: Rows  # its codes, in order of insertion
    numbers: NDArray[np.unsignedinteger] | None = None  # less the first's, with gaps
    dead: NDArray[np.bool_] | None = None  # which of its rows were removed
    grouping: Grouping | None = None  # the codes again, in groups with bounds
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
        """Return the offsets of the rows that were not removed."""
        if self.dead is None:
            return np.arange(self.record.rows)
        return np.flatnonzero(~self.dead)

    def item_numbers(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the items whose rows have these offsets."""
        relative = offsets if self.numbers is None else self.numbers[offsets]
        return self.record.first + relative.astype(np.int64)

    @property
    def alive(self) -> int:
        """Count the rows that were not removed."""
        return self.record.rows - (0 if self.dead is None else int(self.dead.sum()))

    @property
    def is_compacted(self) -> bool:
        """Return whether the part has what makes searching it faster."""
        return self.grouping is not None or self.buckets is not None

    def without(self, numbers: NDArray[np.int64]) -> "OpenPart":
        """Return the part with some items removed."""
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
    segments = place.segments(record.part, record.has_gaps)
    maps: dict[str, Any] = {each.kind: each.map_rows(record.rows) for each in segments}
    if known is not None and known.dead is not None:
        maps["dead"] = np.zeros(record.rows, dtype=bool)
        maps["dead"][: len(known.dead)] = known.dead
    try:
        return OpenPart(record, **maps, **_open_tables(place, record))
    except (DamagedIndex, OSError, ValueError, TypeError, LookupError) as problem:
        name = f"{place.folder}, part {record.part}"
        _log.warning("searching '%s' without its tables: %s", name, problem)
        return OpenPart(record, **maps)


def _open_tables(place: Place, record: PartRecord) -> dict[str, Any]:
    """Map what makes searching faster; refuse what is damaged."""
    small = [row for row in sidecar_rows(record) if row[1] <= CHECKED_BYTES]
    for problem in file_problems(place.folder, small):
        raise DamagedIndex(str(problem))
    found: dict[str, Any] = {}
    for kind, (table, name) in _TABLES.items():
        if kind in record.sidecars:
            path = part_file(place.folder, record.part, kind)
            # A map takes up memory for whatever was read through it. So numbers, which
            # could lead a compiled loop out of the rows, are read through another.
            if map_arrays(path)[name].max() >= record.rows:
                raise DamagedIndex(f"'{name}' of part {record.part} leads out of it.")
            found[kind] = table.from_arrays(map_arrays(path), place.bits, record.rows)
    return found


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays into one file behind a table of them, and flush it to disk."""
    offset, table = 0, []
    for name, values in arrays.items():
        table.append([name, values.dtype.str, values.shape, offset])
        offset = _align(offset + values.nbytes)
    head = json.dumps(table).encode()
    with open(path, "wb", opener=open_plainly) as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for values in arrays.values():
            file.write(bytes(-file.tell() % _ALIGNMENT))
            file.write(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
        file.flush()
        sync(file.fileno())
    sync_folder(path.parent)


def map_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Map the arrays of a file. Its checksum, which the log has, is not compared."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        table, start = json.loads(file.read(min(length, 2**16))), _align(8 + length)
        return {
            name: np.memmap(file, dtype, "r", start + offset, tuple(shape))
            for name, dtype, shape, offset in table
        }


def _align(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
