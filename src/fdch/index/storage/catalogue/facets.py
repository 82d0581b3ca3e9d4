"""How many of the items that a filter lets in have each value of each column."""

import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.index.search.gallery import Gallery
from fdch.index.search.lookup import within
from fdch.index.storage.catalogue.cell_table import NUMBER_BYTES, join_numbers
from fdch.index.storage.catalogue.contents import number_columns
from fdch.index.storage.catalogue.filters import (
    Allowed,
    require_columns,
)
from fdch.index.storage.snapshot import Snapshot, View
from fdch.index.store import LABEL, Cell, Condition, Facets

MAX_VALUES = 10_000  # of a column that is counted
MAX_BYTES = 256 * 2**20
MAX_ITEMS = 2**25
_QUERY = (
    "SELECT value, CASE WHEN spelled = '' THEN value ELSE spelled END, numbers "
    'FROM cells WHERE "column" = ? ORDER BY value'
)
Flags = NDArray[np.bool_]


class Column(NamedTuple):
    """The cells of a column: where the items of each value lie, value by value."""

    values: Sequence[Cell]
    ends: NDArray[np.int64]  # of the positions of each value
    positions: NDArray[np.int64]

    def count_values(
        self, is_allowed: Flags | None, most: int
    ) -> list[tuple[Cell, int]]:
        """Count items by value; return the most frequent, ties in order of value."""
        sums = np.arange(len(self.positions) + 1)
        if is_allowed is not None:
            sums = np.concatenate([[0], np.cumsum(is_allowed[self.positions])])
        counts = np.diff(sums[self.ends], prepend=0)
        order = np.argsort(-counts, kind="stable")[:most]
        return [(self.values[at], int(counts[at])) for at in order if counts[at]]


class FacetCounter:
    """Counts by value; the cells it has read are kept until the next commit."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._known: dict[int, Column | None] = {}
        self._commit = -1

    def count(
        self,
        view: View,
        allowed: Allowed,
        where: Sequence[Condition],
        most: int,
        near: tuple[Codes, int] | None,
    ) -> Facets:
        """Count the items that fulfil conditions, within a radius of a code."""
        names, snapshot = number_columns(view), view.snapshot
        require_columns(where, names)
        if view.items > MAX_ITEMS:
            why = f"values are counted in up to {MAX_ITEMS:,} items."
            return Facets(view.items, {}, dict.fromkeys(names, why))
        fulfils = {each: _fulfils(allowed, view, each) for each in where}
        is_near = []
        if near is not None:
            [found] = within(snapshot.gallery, *near)
            is_near = [_flags(snapshot, found.numbers)]
        flags = {
            asked: _all_of([*is_near, *(fulfils[each] for each in asked)])
            for asked in {
                tuple(where),
                *(other_conditions(where, name) for name in names),
            }
        }
        counted, uncounted = dict[str, list[tuple[Cell, int]]](), dict[str, str]()
        for name, number in names.items():
            column = self._column(view, number)
            if column is None:
                uncounted[name] = f"it has more than {MAX_VALUES:,} values."
            elif len(column.values):
                counted[name] = column.count_values(
                    flags[other_conditions(where, name)], most
                )
        every = flags[tuple(where)]
        return Facets(
            view.items if every is None else int(every.sum()), counted, uncounted
        )

    def _column(self, view: View, number: int) -> Column | None:
        """Read a column's cells; None where it has too many values."""
        commit = view.snapshot.state.commit
        with self._guard:
            if commit != self._commit:
                self._known, self._commit = {}, commit
            if number in self._known:
                return self._known[number]
        column = _read_column(view, number)
        with self._guard:
            held = sum(map(_bytes, self._known.values())) + _bytes(column)
            if commit == self._commit and held <= MAX_BYTES:
                self._known[number] = column
        return column


def _read_column(view: View, number: int) -> Column | None:
    lists, values, ends, end = list[bytes](), list[Cell](), list[int](), 0
    before: object = None
    for value, shown, numbers in view.connection.execute(_QUERY, (number,)):
        if value != before:
            if len(values) == MAX_VALUES:
                return None
            before = value
            values.append(shown)
            ends.append(end)
        lists.append(numbers)
        end += len(numbers) // NUMBER_BYTES
        ends[-1] = end
    positions = view.snapshot.positions(join_numbers(lists))
    return Column(values, np.array(ends, dtype=np.int64), positions)


def other_conditions(where: Sequence[Condition], column: str) -> tuple[Condition, ...]:
    """Return the conditions that rule out values of a column; labels rule out all."""
    return tuple(each for each in where if column == LABEL or each.column != column)


def _fulfils(allowed: Allowed, view: View, condition: Condition) -> Flags:
    """Tell which rows fulfil a condition."""
    gallery = allowed.gallery(view, (condition,))
    return _flags(view.snapshot, _positions(gallery))


def _all_of(flags: Sequence[Flags]) -> Flags | None:
    """Tell which rows all let in; None for all rows."""
    return np.logical_and.reduce(flags) if flags else None


def _positions(gallery: Gallery) -> NDArray[np.int64]:
    """Return the positions of all that can be found in a gallery."""
    found = [np.empty(0, np.int64)]
    for part in gallery.parts:
        if part.numbers is not None:
            found.append(part.numbers)
        elif part.dead is not None:
            found.append(part.first + np.flatnonzero(~part.dead))
        else:
            found.append(np.arange(part.first, part.first + len(part)))
    return np.concatenate(found)


def _flags(snapshot: Snapshot, positions: NDArray[np.int64]) -> Flags:
    flags = np.zeros(int(snapshot.starts[-1]), dtype=np.bool_)
    flags[positions] = True
    return flags


def _bytes(column: Column | None) -> int:
    return 0 if column is None else column.ends.nbytes + column.positions.nbytes
