"""What a reader sees of an index: its parts as of one commit.

Items are numbered as they come, and a number is never used again. Compaction
leaves gaps between numbers, so the search runs over positions, which have none:
the place of a row among all rows, in order of insertion.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.errors import DamagedIndex
from fdch.index.search.gallery import Gallery
from fdch.index.search.rows import row_codes, row_length, row_type
from fdch.index.storage.layout import CATALOGUE, CODES, PART_FILE
from fdch.index.storage.parts import (
    NOWHERE,
    OpenPart,
    Place,
    fact,
    open_part,
    read_parts,
)
from fdch.index.storage.segments import REPAIR

# in a text, 20 letters each: SQLite's longest has a thousand million
NUMBERS_AT_A_TIME = 2**25


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
            part.searched(int(start))
            for part, start in zip(self.parts, self.starts, strict=False)
        ]
        return Gallery(self.place.bits, tuple(parts))

    def positions(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Find items by number: their positions, -1 for those not there."""
        positions = np.full(len(numbers), NOWHERE, dtype=np.int64)
        firsts = [part.record.first for part in self.parts]
        for at, here in _groups(np.searchsorted(firsts, numbers, side="right") - 1):
            part = self.parts[at]
            offsets = part.offsets(numbers[here])
            alive = offsets >= 0
            if part.dead is not None:
                alive[alive] = ~part.dead[offsets[alive]]
            positions[here[alive]] = self.starts[at] + offsets[alive]
        return positions

    def living(self) -> NDArray[np.int64]:
        """Give the numbers of all items, rising."""
        numbers = [np.empty(0, dtype=np.int64)]
        for part in self.parts:
            numbers.append(part.item_numbers(part.living()))
        return np.concatenate(numbers)

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
            gathered[here] = part.rows[offsets].reshape(-1, shape[1])
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
    for owner in np.flatnonzero(np.bincount(owners + 1)[1:]):
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
    sidecars = _sidecars(connection)
    parts = [
        open_part(
            place,
            record,
            known.get(record.part),
            sidecars.get(record.part, frozenset()),
        )
        for record in read_parts(connection, place)
    ]
    entry, removed = _removed(connection, before.entry if before else 0)
    ranges = connection.execute(
        "SELECT first, first + count - 1 FROM ranges ORDER BY 1"
    ).fetchall()
    if not all(type(value) is int for bounds in ranges for value in bounds):
        raise DamagedIndex(
            f"'{place.folder / CATALOGUE}' describes running numbers wrongly. {REPAIR}"
        )
    return Snapshot(
        place,
        commit,
        generation,
        entry,
        tuple(part.without(removed) for part in parts)
        if len(removed)
        else tuple(parts),
        np.array(ranges, dtype=np.int64).reshape(-1, 2),
    )


def _sidecars(connection: sqlite3.Connection) -> dict[int, frozenset[str]]:
    """Read which parts have files that make searching faster."""
    query = f"SELECT path FROM files WHERE path LIKE '{CODES}/%'"
    found: dict[int, frozenset[str]] = {}
    for (path,) in connection.execute(query):
        name = PART_FILE.fullmatch(path.removeprefix(f"{CODES}/"))
        if name:
            kinds = found.get(int(name[1]), frozenset())
            found[int(name[1])] = kinds | {name[2]}
    return found


def _removed(
    connection: sqlite3.Connection, after: int
) -> tuple[int, NDArray[np.int64]]:
    """Read the items removed since some entry of their list."""
    query = (
        "SELECT max(entry), group_concat(number) FROM "
        "(SELECT entry, CAST(number AS INTEGER) AS number FROM removed "
        "WHERE entry > ? ORDER BY entry LIMIT ?)"
    )
    found, is_last = [np.empty(0, np.int64)], False
    while not is_last:
        page = (after, NUMBERS_AT_A_TIME)
        last, listed = connection.execute(query, page).fetchone()
        found.append(np.fromstring(listed or "", dtype=np.int64, sep=","))
        is_last = len(found[-1]) < NUMBERS_AT_A_TIME
        after = last or after
    return after, np.concatenate(found)
