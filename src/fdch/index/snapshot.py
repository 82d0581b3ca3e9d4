"""What a reader sees of an index: its parts as of one commit.

Items are numbered as they come, and a number is never used again. Compaction
leaves gaps between numbers, so the search runs over positions, which have none:
the place of a row among all rows, in order of insertion.
"""

import sqlite3
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.errors import DamagedIndex
from fdch.index.gallery import Gallery, Part, Rows
from fdch.index.layout import CATALOGUE, MOST_PART_ROWS, digest
from fdch.index.rows import row_codes, row_length, row_type
from fdch.index.segments import REPAIR, Segment

_NOWHERE = -1
MOST_SPAN = 2**32


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
    """A part's files, mapped, and which of its rows were removed."""

    record: PartRecord
    rows: Rows
    numbers: NDArray[np.unsignedinteger] | None
    dead: NDArray[np.bool_] | None = None

    def offsets(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Find items by number: offsets of their rows, -1 where there is none."""
        relative = numbers - self.record.first
        inside = (relative >= 0) & (relative < self.record.span)
        if self.numbers is None:
            return np.where(inside, relative, _NOWHERE)
        wanted = np.where(inside, relative, 0).astype(self.numbers.dtype)
        found = np.minimum(np.searchsorted(self.numbers, wanted), len(self.rows) - 1)
        return np.where(inside & (self.numbers[found] == wanted), found, _NOWHERE)

    def item_numbers(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the numbers of the items whose rows have these offsets."""
        relative = offsets if self.numbers is None else self.numbers[offsets]
        return self.record.first + relative.astype(np.int64)

    @property
    def is_compacted(self) -> bool:
        """Tell whether the part was made by a compaction."""
        return False

    def stored(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Say where in the file the rows with these offsets lie."""
        return offsets

    def without(self, numbers: NDArray[np.int64]) -> "OpenPart":
        """Give the part with some items removed."""
        offsets = self.offsets(numbers)
        offsets = offsets[offsets >= 0]
        if not len(offsets):
            return self
        dead = np.zeros(len(self.rows), bool) if self.dead is None else self.dead.copy()
        dead[offsets] = True
        return replace(self, dead=dead)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """All parts as of one commit.

    Args:
        place: The folder.
        commit: Number of the commit.
        generation: Counts compactions.
        entry: The last entry of the list of removed items that was heeded.
        parts: In order of insertion.
        ranges: First and last number of items whose ids are running numbers, (n, 2).
    """

    place: Place
    commit: int
    generation: int
    entry: int
    parts: tuple[OpenPart, ...]
    ranges: NDArray[np.int64]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Give the position of each part's first row, and the end of the last."""
        return np.cumsum([0, *(part.record.rows for part in self.parts)])

    @cached_property
    def gallery(self) -> Gallery:
        """Give all rows to the search, under their positions."""
        parts = [
            Part(part.rows, int(start), part.dead)
            for part, start in zip(self.parts, self.starts, strict=False)
        ]
        return Gallery(self.place.bits, tuple(parts))

    def positions(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Find items by number: their positions, -1 for those not there."""
        positions = np.full(len(numbers), _NOWHERE, dtype=np.int64)
        firsts = [part.record.first for part in self.parts]
        for at, here in _groups(np.searchsorted(firsts, numbers, side="right") - 1):
            part = self.parts[at]
            offsets = part.offsets(numbers[here])
            alive = offsets >= 0
            if part.dead is not None:
                alive[alive] = ~part.dead[offsets[alive]]
            positions[here[alive]] = self.starts[at] + offsets[alive]
        return positions

    def numbers(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the numbers of the items at some positions."""
        numbers = np.empty(len(positions), dtype=np.int64)
        for here, part, offsets in self._at(positions):
            numbers[here] = part.item_numbers(offsets)
        return numbers

    def codes(self, positions: NDArray[np.int64]) -> Codes:
        """Gather the codes at some positions."""
        shape = (len(positions), row_length(self.place.bits))
        gathered = np.empty(shape, dtype=row_type(self.place.bits))
        for here, part, offsets in self._at(positions):
            gathered[here] = part.rows[part.stored(offsets)].reshape(-1, shape[1])
        return row_codes(gathered, self.place.bits)

    def is_running(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which items have their number for an id."""
        if not len(self.ranges):
            return np.zeros(len(numbers), dtype=bool)
        at = np.searchsorted(self.ranges[:, 0], numbers, side="right") - 1
        return (at >= 0) & (numbers <= self.ranges[at, 1])

    def _at(
        self, positions: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.intp], OpenPart, NDArray[np.int64]]]:
        """Give, part by part, which of the positions lie in it, and where."""
        starts = self.starts
        for at, here in _groups(np.searchsorted(starts, positions, side="right") - 1):
            yield here, self.parts[at], positions[here] - starts[at]


def _groups(owners: NDArray[np.intp]) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Give each owner from 0 on, with the places where it stands."""
    for owner in np.unique(owners):
        if owner >= 0:
            yield int(owner), np.flatnonzero(owners == owner)


def load_snapshot(
    connection: sqlite3.Connection, place: Place, before: Snapshot | None
) -> Snapshot:
    """See an index as of a read transaction, keeping what has not changed.

    Raises:
        DamagedIndex: The catalogue and the files do not fit.
        FileNotFoundError: A part's file is gone, perhaps by a compaction.
    """
    commit = fact(connection, place, "commit")
    if before is not None and before.commit == commit:
        return before
    generation = fact(connection, place, "generation")
    if before is not None and before.generation != generation:
        before = None
    known = {part.record.part: part for part in before.parts} if before else {}
    parts = [
        _opened(place, record, known.get(record.part))
        for record in read_parts(connection, place)
    ]
    entry, removed = _removed(connection, before.entry if before else 0)
    ranges = connection.execute(
        "SELECT first, first + count - 1 FROM ranges ORDER BY 1"
    )
    return Snapshot(
        place,
        commit,
        generation,
        entry,
        tuple(part.without(removed) for part in parts)
        if len(removed)
        else tuple(parts),
        np.array(ranges.fetchall(), dtype=np.int64).reshape(-1, 2),
    )


def fact(connection: sqlite3.Connection, place: Place, name: str) -> int:
    """Read a fact that is a count."""
    query = "SELECT value FROM facts WHERE name = ?"
    (value,) = connection.execute(query, (name,)).fetchone() or (None,)
    if not isinstance(value, int) or value < 0:
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


def _opened(place: Place, record: PartRecord, known: OpenPart | None) -> OpenPart:
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
    return OpenPart(record, rows, numbers, dead)


def _removed(
    connection: sqlite3.Connection, after: int
) -> tuple[int, NDArray[np.int64]]:
    """Read the items removed since some entry of their list."""
    query = "SELECT max(entry), group_concat(number) FROM removed WHERE entry > ?"
    last, listed = connection.execute(query, (after,)).fetchone()
    return last or after, np.fromstring(listed or "", dtype=np.int64, sep=",")
