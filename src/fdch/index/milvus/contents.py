"""What filters can use, counted here: Milvus 2.3 counts nothing by value.

All rows are read, in pages of insertion numbers, so there is a maximum.
"""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence

from fdch.index.column_types import ColumnCounter
from fdch.index.milvus.collection import Collection
from fdch.index.milvus.expressions import CELLS, LABELS, expression
from fdch.index.milvus.schema import read_item
from fdch.index.storage.catalogue.facets import other_conditions
from fdch.index.storage.catalogue.items import Value, cell_rows
from fdch.index.store import (
    LABEL,
    Cell,
    ColumnFacts,
    ColumnType,
    Condition,
    Contents,
    Facets,
    Item,
)

MAX_COUNTED = 100_000
ROWS_AT_A_TIME = 500  # cells of 64 KiB: 33 MB at most, where labels are not long too


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


def contents(
    collection: Collection, most: int, types: Mapping[str, ColumnType]
) -> Contents:
    """Count all rows of a collection, or say why not."""
    if why := _uncounted(collection.count()):
        return Contents(uncounted=why)
    return count_items(_items(collection), most, types)


def count_facets(
    collection: Collection,
    where: Sequence[Condition],
    types: Mapping[str, ColumnType],
    most: int,
    near: Container[str] | None,
) -> Facets:
    """Count values of the items that fulfil conditions, and have some ids."""
    if why := _uncounted(items := collection.count()):
        return Facets(items, {}, {LABEL: why})
    counted: dict[tuple[Condition, ...], _Counts] = {}

    def count(asked: tuple[Condition, ...]) -> _Counts:
        if asked not in counted:
            counted[asked] = _Counts()
            for item in _items(collection, expression(asked, types)):
                if near is None or item.id in near:
                    counted[asked].take(item)
        return counted[asked]

    names = {LABEL, *count(()).columns}
    columns = {
        name: count(other_conditions(where, name)).rank(name, most)
        for name in sorted(names)
    }
    return Facets(count(tuple(where)).items, columns)


def _uncounted(items: int) -> str | None:
    if items <= MAX_COUNTED:
        return None
    return (
        f"a collection on Milvus is counted by value up to {MAX_COUNTED:,} items; this "
        f"one has {items:,}."
    )


class _Counts:
    """Counts items by column and value, each with one of its spellings."""

    def __init__(self) -> None:
        self.items = 0
        self.columns: dict[str, dict[Value, tuple[int, Cell]]] = {}

    def take(self, item: Item) -> None:
        self.items += 1
        for column, value, spelled in cell_rows(item.labels, dict(item.columns)):
            values = self.columns.setdefault(column, {})
            count, shown = values.get(value, (0, spelled or value))
            values[value] = (count + 1, shown)

    def rank(self, column: str, most: int) -> list[tuple[Cell, int]]:
        """Return the most frequent values; ties as SQLite sorts, numbers first."""
        values = self.columns.get(column, {})
        ranked = sorted(values, key=lambda v: (-values[v][0], isinstance(v, str), v))
        return [(values[v][1], values[v][0]) for v in ranked[:most]]


def _items(collection: Collection, filter: str = "") -> Iterable[Item]:
    inside = (f"({filter})",) if filter else ()
    numbers = collection.numbers(*inside)
    fields = [LABELS, CELLS, "about"]
    for start in range(0, len(numbers), ROWS_AT_A_TIME):
        some = numbers[start : start + ROWS_AT_A_TIME]
        for row in collection.between(some[0], some[-1], fields, filter):
            yield read_item({**row, "text": ""})
