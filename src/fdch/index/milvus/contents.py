"""What filters can ask for, counted here: Milvus 2.3 counts nothing by value.

All rows are gone over, in pages of insertion numbers, so there is a most.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from fdch.index.milvus.collection import Collection
from fdch.index.milvus.expressions import CELLS, LABELS
from fdch.index.milvus.schema import read_item
from fdch.index.storage.items import CellRow, Value, cell_rows
from fdch.index.store import Cell, Contents, Item

MAX_COUNTED = 100_000
ROWS_AT_A_TIME = 500  # cells of 64 KiB: 33 MB at most, where labels are not long too


@dataclass
class Counts:
    """Items counted by their cells, as an index folder counts them."""

    _items: Counter[str] = field(default_factory=Counter)
    _cells: dict[str, dict[Value, tuple[int, Cell]]] = field(default_factory=dict)

    def add(self, item: Item) -> None:
        """Count an item."""
        self._items[item.kind] += 1
        for cell in cell_rows(item.labels, dict(item.columns)):
            self._add(cell)

    def _add(self, cell: CellRow) -> None:
        column, value, spelled = cell
        values = self._cells.setdefault(column, {})
        count, shown = values.get(value, (0, spelled or value))
        values[value] = (count + 1, shown)

    def contents(self, most: int) -> Contents:
        """Give the most frequent values of each column, ties as a folder has them."""
        facets: dict[str, list[tuple[Cell, int]]] = {}
        extremes: dict[str, tuple[float, float]] = {}
        for column, values in self._cells.items():
            ranked = sorted(values, key=lambda each: (-values[each][0], _order(each)))
            facets[column] = [(values[v][1], values[v][0]) for v in ranked[:most]]
            numbers = [value for value in values if not isinstance(value, str)]
            if len(numbers) == len(values):
                extremes[column] = (min(numbers), max(numbers))
        distinct = {column: len(values) for column, values in self._cells.items()}
        return Contents(facets, extremes, dict(self._items), distinct=distinct)


def contents(collection: Collection, most: int) -> Contents:
    """Count all rows of a collection, or say why not."""
    items = collection.count()
    if items > MAX_COUNTED:
        return Contents(
            uncounted=f"a collection on Milvus is counted by value up to "
            f"{MAX_COUNTED:,} items; this one has {items:,}."
        )
    counts = Counts()
    for item in _items(collection):
        counts.add(item)
    return counts.contents(most)


def _items(collection: Collection) -> Iterable[Item]:
    numbers = collection.numbers()
    for start in range(0, len(numbers), ROWS_AT_A_TIME):
        some = numbers[start : start + ROWS_AT_A_TIME]
        for row in collection.between(some[0], some[-1], [LABELS, CELLS, "about"]):
            yield read_item({**row, "text": ""})


def _order(value: Value) -> tuple[bool, Value]:
    """Sort numbers before texts, as SQLite does."""
    return isinstance(value, str), value
