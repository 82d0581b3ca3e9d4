"""What the columns of a collection hold: types, counts, values that no item has.

Milvus 2.3 counts nothing by value: all rows are read, in pages of insertion numbers,
so there is a maximum. Types and notes look at some rows only.
"""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fdch.index.column_types import ColumnCounter, find_types
from fdch.index.condition_notes import note_missing, note_range
from fdch.index.milvus.collection import ALL, Collection
from fdch.index.milvus.expressions import (
    CELLS,
    LABELS,
    expression,
    has_column,
    misfit_expression,
)
from fdch.index.milvus.schema import columns_of, read_item
from fdch.index.storage.catalogue.facets import other_conditions
from fdch.index.storage.catalogue.filters import require_columns
from fdch.index.storage.catalogue.items import Value, cell_rows, spelled
from fdch.index.store import (
    LABEL,
    Cell,
    ColumnFacts,
    ColumnType,
    Condition,
    Contents,
    Facets,
    Item,
    Operator,
)

MAX_COUNTED = 100_000
ROWS_AT_A_TIME = 500  # cells of 64 KiB: 33 MB at most, where labels are not long too
SAMPLED = 200  # rows that types and notes are found by
SHOWN = 100  # items whose columns an error names
FIELDS = [LABELS, CELLS, "about"]


class Columns:
    """The columns of a collection, and the types that were chosen or found for them."""

    def __init__(
        self, collection: Collection, chosen: Mapping[str, ColumnType]
    ) -> None:
        self._collection, self._types = collection, dict(chosen)
        self._chosen = chosen

    def types(self) -> dict[str, ColumnType]:
        """Return the types chosen at first, and those found in some items."""
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
        types, notes = self.types_of(each.column for each in where), list[str]()
        for condition in where:
            type = types.get(condition.column, "text")
            look = _Look(self._collection, condition.column, type)
            if condition.operator in ("<", "<=", ">", ">="):
                is_empty = not look.has(condition)
                notes += note_range(condition, type, look, is_empty)
                continue
            equal: Operator = "^=" if condition.operator == "^=" else "="
            for value in dict.fromkeys(condition.values):
                if not look.has(Condition(condition.column, equal, (value,))):
                    notes.append(note_missing(condition, value, type, look))
        return tuple(dict.fromkeys(notes))

    def contents(self, most: int) -> Contents:
        """Count all rows, or say why not."""
        if why := _uncounted(self._collection.count()):
            return Contents(uncounted=why)
        return count_items(_items(self._collection), most, self._chosen)

    def facets(
        self, where: Sequence[Condition], most: int, near: Container[str] | None
    ) -> Facets:
        """Count values of the items that match conditions, and have some ids."""
        if why := _uncounted(items := self._collection.count()):
            return Facets(items, {}, {LABEL: why})
        counted: dict[tuple[Condition, ...], _Counts] = {}

        def count(conditions: tuple[Condition, ...]) -> _Counts:
            if conditions not in counted:
                counted[conditions] = _Counts()
                for item in _items(self._collection, self.expression(conditions)):
                    if near is None or item.id in near:
                        counted[conditions].take(item)
            return counted[conditions]

        names = {LABEL, *count(()).columns}
        columns = {
            name: count(other_conditions(where, name)).rank(name, most)
            for name in sorted(names)
        }
        return Facets(count(tuple(where)).items, columns)

    def _names(self) -> set[str]:
        return columns_of(self._collection.some([CELLS], SHOWN))


def count_items(
    items: Iterable[Item], most: int, types: Mapping[str, ColumnType] | None = None
) -> Contents:
    """Count items by kind and by cell, as an index folder does, ties in its order."""
    kinds, values = Counter[str](), _Counts()
    counters: dict[str, ColumnCounter] = {}
    for item in items:
        kinds[item.kind] += 1
        values.take(item)
        for name, cell in item.columns.items():
            counters.setdefault(name, ColumnCounter()).take(item.id, cell)
    columns: dict[str, ColumnFacts] = {}
    extremes: dict[str, tuple[float, float]] = {}
    for name in values.columns.keys() - {LABEL}:
        facts = counters[name].facts(values.items, (types or {}).get(name))
        assert facts is not None
        columns[name] = facts
        numbers = [each for each in values.columns[name] if not isinstance(each, str)]
        if facts.type == "number" and numbers:
            extremes[name] = (min(numbers), max(numbers))
    facets = {name: values.rank(name, most) for name in values.columns}
    distinct = {column: len(counted) for column, counted in values.columns.items()}
    return Contents(facets, extremes, dict(kinds), None, distinct, columns)


class _Counts:
    """Counts items by column and value, each with one of its spellings."""

    def __init__(self) -> None:
        self.items = 0
        self.columns: dict[str, dict[Value, tuple[int, Cell]]] = {}

    def take(self, item: Item) -> None:
        self.items += 1
        for column, value, written in cell_rows(item.labels, dict(item.columns)):
            values = self.columns.setdefault(column, {})
            count, shown = values.get(value, (0, written or value))
            values[value] = (count + 1, shown)

    def rank(self, column: str, most: int) -> list[tuple[Cell, int]]:
        """Return the most frequent values; ties as SQLite sorts, numbers first."""
        values = self.columns.get(column, {})
        ranked = sorted(values, key=lambda v: (-values[v][0], isinstance(v, str), v))
        return [(values[v][1], values[v][0]) for v in ranked[:most]]


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
        return list(dict.fromkeys(map(spelled, self.cells())))

    def ends(self) -> None:
        """Return nothing: a server does not say what is least."""

    def beside(self, number: float) -> list[str]:
        return []  # a server does not say what is next to a number

    def misfits(self) -> tuple[int, str]:
        filter = misfit_expression(self.column, self.type)
        count = self.collection.count(filter)
        for item in _read(self.collection.some(FIELDS, 1, filter)):
            return count, spelled(item.columns[self.column])
        return 0, ""

    def cells(self) -> list[Cell]:
        filter = ALL if self.column == LABEL else has_column(self.column)
        items = _read(self.collection.some(FIELDS, SAMPLED, filter))
        if self.column == LABEL:
            return [label for item in items for label in item.labels]
        return [cell for i in items if (cell := i.columns.get(self.column)) is not None]


def _items(collection: Collection, filter: str = "") -> Iterable[Item]:
    numbers = collection.numbers(f"({filter})" if filter else ALL)
    for start in range(0, len(numbers), ROWS_AT_A_TIME):
        some = numbers[start : start + ROWS_AT_A_TIME]
        yield from _read(collection.between(some[0], some[-1], FIELDS, filter))


def _read(rows: Iterable[Mapping[str, object]]) -> Iterable[Item]:
    """Read items from rows without their texts."""
    return (read_item({**row, "text": ""}) for row in rows)


def _uncounted(items: int) -> str | None:
    if items <= MAX_COUNTED:
        return None
    return (
        f"a collection on Milvus is counted by value up to {MAX_COUNTED:,} items; this "
        f"one has {items:,}."
    )
