"""What the columns of a collection hold: types, and values that no item has.

Types and notes look at some rows only. Milvus 2.3 counts nothing by value.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fdch.index.cells import write_cell
from fdch.index.column_types import find_types
from fdch.index.condition_notes import note_conditions
from fdch.index.milvus.collection import ALL, Collection
from fdch.index.milvus.expressions import (
    CELLS,
    LABELS,
    expression,
    has_column,
    misfit_expression,
)
from fdch.index.milvus.schema import columns_of, read_item
from fdch.index.storage.catalogue.filters import require_columns
from fdch.index.store import LABEL, Cell, ColumnType, Condition, Item

SAMPLED = 200  # rows that types and notes are found by
FIELDS = [LABELS, CELLS, "about"]


class Columns:
    """The columns of a collection, and the types given or found for them."""

    def __init__(
        self, collection: Collection, chosen: Mapping[str, ColumnType]
    ) -> None:
        self._collection, self._types = collection, dict(chosen)
        self._chosen = chosen

    def types(self) -> dict[str, ColumnType]:
        """Return the types given at creation, and those found in some items."""
        return self.types_of(sorted(self._names() | self._chosen.keys()))

    def types_of(self, names: Iterable[str]) -> dict[str, ColumnType]:
        """Return the types known so far, and those of these columns that items have."""
        for name in names:
            if name not in self._types and name != LABEL:
                look = _Look(self._collection, name)
                self._types |= find_types({name: look.cells()})
        return dict(self._types)

    def expression(self, where: Sequence[Condition]) -> str:
        """Write conditions for Milvus, each by its column's type."""
        return expression(where, self.types_of(each.column for each in where))

    def require(self, where: Sequence[Condition]) -> None:
        """Refuse, as a folder does, a column that no item has."""
        named = {one.column for one in where} - {LABEL}
        some = self._collection.some
        known = {name for name in named if some(["id"], 1, has_column(name))}
        if named - known:
            require_columns(where, sorted(known | self._names()))

    def notes(self, where: Sequence[Condition]) -> tuple[str, ...]:
        """Say what is odd about conditions, such as a value that no item has."""
        types = self.types_of(each.column for each in where)

        def look_at(name: str) -> _Look:
            return _Look(self._collection, name, types.get(name, "text"))

        return tuple(note_conditions(where, look_at))

    def _names(self) -> set[str]:
        return columns_of(self._collection.some([CELLS], SAMPLED))


@dataclass(frozen=True)
class _Look:
    """What notes need to know of one column, by some of its rows."""

    collection: Collection
    column: str
    type: ColumnType = "text"

    def has(self, condition: Condition) -> bool:
        filter = expression([condition], {self.column: self.type})
        return bool(self.collection.some(["id"], 1, filter))

    def values_like(self, text: str) -> list[str]:
        return list(dict.fromkeys(map(write_cell, self.cells())))

    def ends(self) -> None:
        """Return nothing: a server does not say what is least."""

    def beside(self, number: float) -> list[str]:
        return []  # a server does not say what is next to a number

    def misfits(self) -> tuple[int, str]:
        filter = misfit_expression(self.column, self.type)
        count = self.collection.count(filter)
        for item in _read(self.collection.some(FIELDS, 1, filter)):
            return count, write_cell(item.columns[self.column])
        return 0, ""

    def cells(self) -> list[Cell]:
        filter = ALL if self.column == LABEL else has_column(self.column)
        items = _read(self.collection.some(FIELDS, SAMPLED, filter))
        if self.column == LABEL:
            return [label for item in items for label in item.labels]
        return [cell for i in items if (cell := i.columns.get(self.column)) is not None]


def _read(rows: Iterable[Mapping[str, object]]) -> Iterable[Item]:
    """Read items from rows without their texts."""
    return (read_item({**row, "text": ""}) for row in rows)
