"""What filters can use, counted here: Milvus 2.3 counts nothing by value.

All rows are read, in pages of insertion numbers, so there is a maximum.
"""

from collections import Counter
from collections.abc import Iterable

from fdch.index.milvus.collection import Collection
from fdch.index.milvus.expressions import CELLS, LABELS
from fdch.index.milvus.schema import read_item
from fdch.index.storage.items import Value, cell_rows
from fdch.index.store import Cell, Contents, Item

MAX_COUNTED = 100_000
ROWS_AT_A_TIME = 500  # cells of 64 KiB: 33 MB at most, where labels are not long too


def count_items(items: Iterable[Item], most: int) -> Contents:
    """Count items by kind and by cell, as an index folder does, ties in its order."""
    kinds = Counter[str]()
    cells: dict[str, dict[Value, tuple[int, Cell]]] = {}
    for item in items:
        kinds[item.kind] += 1
        for column, value, spelled in cell_rows(item.labels, dict(item.columns)):
            values = cells.setdefault(column, {})
            count, shown = values.get(value, (0, spelled or value))
            values[value] = (count + 1, shown)
    facets: dict[str, list[tuple[Cell, int]]] = {}
    extremes: dict[str, tuple[float, float]] = {}
    for column, values in cells.items():
        # numbers before texts, as SQLite sorts
        ranked = sorted(values, key=lambda v: (-values[v][0], isinstance(v, str), v))
        facets[column] = [(values[v][1], values[v][0]) for v in ranked[:most]]
        numbers = [value for value in values if not isinstance(value, str)]
        if len(numbers) == len(values):
            extremes[column] = (min(numbers), max(numbers))
    distinct = {column: len(values) for column, values in cells.items()}
    return Contents(facets, extremes, dict(kinds), distinct=distinct)


def contents(collection: Collection, most: int) -> Contents:
    """Count all rows of a collection, or say why not."""
    items = collection.count()
    if items > MAX_COUNTED:
        return Contents(
            uncounted=f"a collection on Milvus is counted by value up to "
            f"{MAX_COUNTED:,} items; this one has {items:,}."
        )
    return count_items(_items(collection), most)


def _items(collection: Collection) -> Iterable[Item]:
    numbers = collection.numbers()
    for start in range(0, len(numbers), ROWS_AT_A_TIME):
        some = numbers[start : start + ROWS_AT_A_TIME]
        for row in collection.between(some[0], some[-1], [LABELS, CELLS, "about"]):
            yield read_item({**row, "text": ""})
