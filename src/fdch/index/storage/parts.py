"""Parts of an index: their files, and how items are found in them."""

import logging
import sqlite3
import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DamagedIndex
from fdch.index.search.buckets import Buckets
from fdch.index.search.gallery import Part
from fdch.index.search.groups import Grouping
from fdch.index.search.rows import Rows, row_length, row_type
from fdch.index.storage.layout import CATALOGUE, MOST_PART_ROWS, digest
from fdch.index.storage.segments import REPAIR, Segment
from fdch.index.storage.sidecars import map_sidecar

_log = logging.getLogger(__name__)

MOST_SPAN = 2**32
GROUPING = "grouping"
BUCKETS = "buckets"
NOWHERE = -1
_MOST_COUNT = 2**62  # what is counted can be counted on
_BYTES_AT_A_TIME = 1 << 20


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


@dataclass(frozen=True)
class PartRecord:
    """What the catalogue says of a part.

    Args:
        part: Number of its files.
        first: Number of its first item.
        rows: How many rows count.
        span: Its last item's number less the first's, and 1.
    """

    part: int
    first: int
    rows: int
    span: int

    def row(self, uid: bytes) -> tuple[int, int, int, int, bytes]:
        """Give the part's row in the catalogue, with a checksum."""
        content = struct.pack("<3Q", self.first, self.rows, self.span)
        check = digest(content, uid, "part", self.part)
        return self.part, self.first, self.rows, self.span, check

    @property
    def has_gaps(self) -> bool:
        """Tell whether some numbers between the first and the last are gone."""
        return self.span != self.rows


@dataclass(frozen=True, eq=False)
class OpenPart:
    """A part's files, mapped.

    Args:
        record: What the catalogue says of it.
        rows: Its codes, in order of insertion.
        numbers: Of its items, less the first's, where there are gaps.
        dead: Which of its rows were removed.
        grouped: The codes again, as the grouping orders them.
        grouping: Blocks with bounds.
        buckets: Tables for small radii.
    """

    record: PartRecord
    rows: Rows
    numbers: NDArray[np.unsignedinteger] | None
    dead: NDArray[np.bool_] | None = None
    grouped: Rows | None = None
    grouping: Grouping | None = None
    buckets: Buckets | None = None

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


def fact(connection: sqlite3.Connection, place: Place, name: str) -> int:
    """Read a fact that is a count."""
    query = "SELECT value FROM facts WHERE name = ?"
    (value,) = connection.execute(query, (name,)).fetchone() or (None,)
    if not isinstance(value, int) or not 0 <= value < _MOST_COUNT:
        raise DamagedIndex(f"'{place.folder / CATALOGUE}' has no '{name}'. {REPAIR}")
    return value


def read_parts(connection: sqlite3.Connection, place: Place) -> list[PartRecord]:
    """Read what the catalogue says of the parts, in order of insertion."""
    parts, end = [], 0
    for row in connection.execute("SELECT * FROM parts ORDER BY first"):
        part = PartRecord(*row[:4])
        if not _is_right(part, row, place.uid, end):
            raise DamagedIndex(
                f"'{place.folder / CATALOGUE}' describes part {part.part} wrongly. "
                f"{REPAIR}"
            )
        parts.append(part)
        end = part.first + part.span
    return parts


def _is_right(part: PartRecord, row: tuple[object, ...], uid: bytes, end: int) -> bool:
    """Tell whether a part's row is as written and goes on after the last part."""
    if not all(isinstance(value, int) and 0 <= value < 2**63 for value in row[:4]):
        return False
    fits = end <= part.first and 0 < part.rows <= min(part.span, MOST_PART_ROWS)
    return fits and part.span <= MOST_SPAN and part.row(uid) == row


def open_part(
    place: Place, record: PartRecord, known: OpenPart | None, kinds: frozenset[str]
) -> OpenPart:
    """Map a part's files, keeping what is known of it.

    Args:
        place: The index.
        record: What the catalogue says of the part.
        known: The part as it was seen before.
        kinds: Which files there are to make searching it faster.
    """
    if known is not None and known.record == record:
        return known
    rows = place.rows(record.part).mapped(record.rows)
    numbers = None
    if record.has_gaps:
        numbers = place.numbers(record.part).mapped(record.rows)
    dead = None
    if known is not None and known.dead is not None:
        dead = np.zeros(record.rows, dtype=bool)
        dead[: len(known.dead)] = known.dead
    return _with_sidecars(place, OpenPart(record, rows, numbers, dead), kinds)


def _with_sidecars(place: Place, part: OpenPart, kinds: frozenset[str]) -> OpenPart:
    """Take up what makes searching faster; go on without what is damaged."""
    record, whole = part.record, part
    try:
        if GROUPING in kinds:
            arrays = map_sidecar(place.folder, place.uid, record.part, GROUPING)
            grouped = arrays.pop("rows")
            _require_below(record, arrays, ["order", "places"])
            if grouped.shape != part.rows.shape or grouped.dtype != part.rows.dtype:
                raise DamagedIndex(f"its rows are {grouped.dtype} {grouped.shape}.")
            grouping = Grouping.from_arrays(arrays, place.bits, record.rows)
            whole = replace(whole, grouped=grouped, grouping=grouping)
        if BUCKETS in kinds:
            arrays = map_sidecar(place.folder, place.uid, record.part, BUCKETS)
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
    """Give the largest value of a map, read by the way: a map keeps what it showed."""
    if not isinstance(values, np.memmap) or values.filename is None:
        return int(values.max())
    largest, most = 0, _BYTES_AT_A_TIME // values.itemsize
    with open(values.filename, "rb") as file:
        file.seek(values.offset)
        for start in range(0, values.size, most):
            count = min(most, values.size - start)
            read = np.fromfile(file, values.dtype, count)
            if read.size < count:
                raise DamagedIndex(f"'{values.filename}' ends too soon.")
            largest = max(largest, int(read.max()))
    return largest
