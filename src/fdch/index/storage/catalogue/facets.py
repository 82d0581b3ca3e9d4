"""How many of the items that a search can return have each value of each column."""

from collections.abc import Sequence
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.index.search.lookup import within
from fdch.index.storage.catalogue.cell_table import NUMBER_BYTES, join_numbers
from fdch.index.storage.catalogue.columns import number_columns
from fdch.index.storage.catalogue.filters import Flags, fulfil_all, require_columns
from fdch.index.storage.catalogue.words import match_words
from fdch.index.storage.snapshot import View
from fdch.index.store import LABEL, Cell, Condition, Facets, WordQuery

MAX_VALUES = 10_000  # of a column that is counted
MAX_ITEMS = 2**25
_QUERY = (
    "SELECT value, CASE WHEN spelled = '' THEN value ELSE spelled END, numbers "
    'FROM cells WHERE "column" = ? ORDER BY value'
)


class Column(NamedTuple):
    """The cells of a column: where the items of each value lie, value by value."""

    values: Sequence[Cell]
    ends: NDArray[np.int64]  # of the positions of each value
    positions: NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        """Count the bytes of its arrays."""
        return self.ends.nbytes + self.positions.nbytes

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


def count_facets(
    view: View,
    where: Sequence[Condition],
    most: int,
    near: tuple[Codes, int] | None,
    words: WordQuery | None = None,
) -> Facets:
    """Count items that fulfil conditions, lie within a radius and match words."""
    names, snapshot = number_columns(view), view.snapshot
    require_columns(where, names)
    if view.items > MAX_ITEMS:
        why = f"values are counted in up to {MAX_ITEMS:,} items."
        return Facets(view.items, {}, dict.fromkeys(names, why))
    is_found = _flag_found(view, near, words)

    @cache
    def allow(conditions: tuple[Condition, ...]) -> Flags | None:
        """Return which rows are counted; None for all rows."""
        if not conditions:
            return is_found
        is_allowed = fulfil_all(view, conditions)
        return is_allowed if is_found is None else is_allowed & is_found

    counted, uncounted = dict[str, list[tuple[Cell, int]]](), dict[str, str]()
    for name, number in names.items():
        read = partial(_read_column, view, number)
        column = snapshot.cache.get(("facets", number), read)
        if column is None:
            uncounted[name] = f"it has more than {MAX_VALUES:,} values."
        elif len(column.values):
            # conditions on a column itself rule out none of its values
            others = (one for one in where if name == LABEL or one.column != name)
            is_allowed = allow(tuple(others))
            counted[name] = column.count_values(is_allowed, most)
    every = allow(tuple(where))
    items = view.items if every is None else int(every.sum())
    return Facets(items, counted, uncounted)


def _flag_found(
    view: View, near: tuple[Codes, int] | None, words: WordQuery | None
) -> Flags | None:
    """Return which rows a radius and words let in; None for all rows."""
    found = list[NDArray[np.int64]]()
    if near is not None:
        [inside] = within(view.snapshot.gallery, *near)
        found.append(inside.numbers)
    if words is not None:
        positions = view.snapshot.positions(match_words(view, words).numbers)
        found.append(positions[positions >= 0])
    flags = np.zeros((len(found), int(view.snapshot.starts[-1])), dtype=np.bool_)
    for row, positions in enumerate(found):
        flags[row, positions] = True
    return np.logical_and.reduce(flags) if found else None


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
