"""What a reader sees of an index: its parts as of one commit.

Items are numbered as they come, and a number is never used again. Compaction
leaves gaps between numbers, so the search runs over positions, which have none:
the place of a row among all rows, in order of insertion.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.index.search.gallery import Gallery, Part
from fdch.index.search.rows import row_codes, row_length, row_type
from fdch.index.storage.cache import Cache
from fdch.index.storage.catalogue.tables import State, kept_records
from fdch.index.storage.files.layout import CATALOGUE, damaged
from fdch.index.storage.files.log import Kind
from fdch.index.storage.files.parts import NOWHERE, OpenPart, open_part
from fdch.index.storage.files.records import About, read_range, read_removal
from fdch.index.storage.files.segments import Place
from fdch.index.store import Vectors

_NO_NUMBERS = np.empty(0, dtype=np.int64)

_DRAWS = 4  # for each item of a sample: some rows are of removed items


@dataclass(frozen=True, eq=False)
class Snapshot:
    """All parts as of one commit."""

    place: Place  # the folder
    state: State  # what the catalogue says of the commit
    parts: tuple[OpenPart, ...]  # in order of insertion
    ranges: NDArray[np.int64]  # first and last of running numbers, (n, 2)
    cache: Cache = field(default_factory=Cache)  # of what queries computed

    @property
    def about(self) -> About:
        """What the index is, with the types of its columns."""
        return self.state.about

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Return the position of each part's first row, and the end of the last."""
        return np.cumsum([0, *(part.record.rows for part in self.parts)])

    @cached_property
    def gallery(self) -> Gallery:
        """Return all rows as the search takes them, under their positions."""
        parts = [
            Part(part.rows, int(start), part.dead, part.grouping, part.buckets)
            for part, start in zip(self.parts, self.starts, strict=False)
        ]
        return Gallery(self.place.bits, tuple(parts))

    def positions(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Find items by number: their positions, -1 for those not there."""
        if len(self.parts) == 1:  # as most indexes have
            return self._positions_in(0, numbers)
        positions = np.full(len(numbers), NOWHERE, dtype=np.int64)
        firsts = [part.record.first for part in self.parts]
        for at, here in _groups(np.searchsorted(firsts, numbers, side="right") - 1):
            positions[here] = self._positions_in(at, numbers[here])
        return positions

    def _positions_in(self, at: int, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        part, start = self.parts[at], self.starts[at]
        found = part.offsets(numbers)
        if part.dead is not None:
            found[part.dead[found]] = NOWHERE  # and what is nowhere stays there
        return np.where(found >= 0, start + found, NOWHERE) if start else found

    def living(self) -> NDArray[np.int64]:
        """Return the numbers of all items, rising."""
        found = [part.item_numbers(part.living()) for part in self.parts]
        return np.concatenate([_NO_NUMBERS, *found])

    def draw(self, count: int, seed: int) -> NDArray[np.int64]:
        """Draw at most so many numbers of items at random, not looking at all."""
        rng, rows = np.random.default_rng(seed), int(self.starts[-1])
        if rows <= _DRAWS * count:
            numbers = self.living()
        else:
            numbers = self.numbers(np.unique(rng.integers(rows, size=_DRAWS * count)))
            numbers = numbers[self.positions(numbers) >= 0]
        if len(numbers) > count:
            numbers = np.sort(rng.choice(numbers, count, replace=False))
        return numbers

    def numbers(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the items at some positions."""
        numbers = np.empty(len(positions), dtype=np.int64)
        for here, part, offsets in self._at(positions):
            numbers[here] = part.item_numbers(offsets)
        return numbers

    def codes(self, positions: NDArray[np.int64]) -> Codes:
        """Gather the codes at some positions."""
        shape = (len(positions), row_length(self.place.bits))
        gathered = np.empty(shape, dtype=row_type(self.place.bits))
        for here, part, offsets in self._at(positions):
            gathered[here] = part.rows.take(offsets, axis=0).reshape(-1, shape[1])
        return row_codes(gathered, self.place.bits)

    def vectors(self, positions: NDArray[np.int64]) -> Vectors | None:
        """Gather the vectors at some positions, where the index has some."""
        if not self.place.vector_bytes:
            return None
        shape = (len(positions), self.place.vector_bytes)
        gathered = np.empty(shape, dtype=np.int8)
        for here, part, offsets in self._at(positions):
            assert part.vectors is not None
            gathered[here] = part.vectors.take(offsets, axis=0).reshape(-1, shape[1])
        return gathered

    def is_running(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which items have their number for an id."""
        # an odd number of firsts and ends up to one: its range has not ended
        return self._range_ends.searchsorted(numbers, side="right") % 2 == 1

    @cached_property
    def _range_ends(self) -> NDArray[np.int64]:
        """Return the first number of each range, and the one behind its last."""
        return np.add(self.ranges, [0, 1]).ravel()

    def _at(
        self, positions: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.intp] | slice, OpenPart, NDArray[np.int64]]]:
        """Yield, part by part, which of the positions lie in it, and where."""
        starts = self.starts
        if len(self.parts) == 1:  # as most indexes have: a search takes microseconds
            yield slice(None), self.parts[0], positions
            return
        for at, here in _groups(np.searchsorted(starts, positions, side="right") - 1):
            yield here, self.parts[at], positions[here] - starts[at]


@dataclass(frozen=True, eq=False)
class View:
    """An index inside one transaction."""

    connection: sqlite3.Connection
    snapshot: Snapshot

    @property
    def items(self) -> int:
        """Count the items."""
        return self.snapshot.state.counts.items


def _groups(owners: NDArray[np.intp]) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield each owner from 0 on, with the places where it stands."""
    for owner in np.flatnonzero(np.bincount(owners + 1)[1:]):
        yield int(owner), np.flatnonzero(owners == owner)


def load_snapshot(
    connection: sqlite3.Connection, place: Place, before: Snapshot | None
) -> Snapshot:
    """See an index as of a transaction, keeping what has not changed.

    A file that is not found may be gone by a compaction.
    """
    state = State.read(connection, place.folder)
    if before is not None and before.state == state:
        return before
    if before is not None and before.state.first != state.first:
        before = None  # compacted since
    known = {part.record.part: part for part in before.parts} if before else {}
    parts = [open_part(place, record, known.get(record.part)) for record in state.parts]
    seen = before.state.position.sequence if before else -1
    found = map(read_removal, kept_records(connection, place.uid, Kind.REMOVAL, seen))
    removed = np.concatenate([_NO_NUMBERS, *found])
    if len(removed):
        parts = [part.without(removed) for part in parts]
    items, alive = state.counts.items, sum(part.alive for part in parts)
    if items != alive:  # a removal or a part was lost
        raise damaged(
            f"'{place.folder / CATALOGUE}' counts {items:,} items; {alive:,} have a "
            "code"
        )
    ranges = before.ranges.tolist() if before else []
    for numbers in map(
        read_range, kept_records(connection, place.uid, Kind.RANGE, seen)
    ):
        if ranges and ranges[-1][1] + 1 == numbers.start:
            ranges[-1][1] = numbers.stop - 1  # ranges that touch become one
        elif numbers:
            ranges.append([numbers.start, numbers.stop - 1])
    joined = np.array(ranges, dtype=np.int64).reshape(-1, 2)
    return Snapshot(place, state, tuple(parts), joined)
