"""What a server says of one column: its type, some values, cells that do not fit."""

from dataclasses import dataclass

from fdch.index.column_types import find_types
from fdch.index.milvus.collection import Collection
from fdch.index.milvus.expressions import (
    CELLS,
    LABELS,
    expression,
    has_column,
    misfit_expression,
)
from fdch.index.milvus.schema import read_item
from fdch.index.storage.catalogue.items import spelled
from fdch.index.store import LABEL, Cell, ColumnType, Condition

SAMPLED = 200  # rows with cells of up to 64 KiB each


@dataclass(frozen=True)
class MilvusLook:
    """Answers questions about one column, by some of its rows."""

    collection: Collection
    column: str
    type: ColumnType = "text"

    def find_type(self) -> ColumnType | None:
        """Find the type by some of the cells; None where no item has the column."""
        found = find_types({self.column: self._cells()})
        return found.get(self.column)

    def has(self, condition: Condition) -> bool:
        """Tell whether an item fulfils a condition on this column."""
        filter = expression([condition], {self.column: self.type})
        return bool(self.collection.having(filter, ["id"], 1))

    def values_like(self, text: str) -> list[str]:
        """Return some values; which, the server decides."""
        del text
        return list(dict.fromkeys(map(spelled, self._cells())))

    def ends(self) -> None:
        """Return nothing: a server does not say what is least."""

    def beside(self, number: float) -> list[str]:
        """Return nothing: a server does not say what is next to a number."""
        del number
        return []

    def misfits(self) -> tuple[int, str]:
        """Count the cells that do not fit; return one of them."""
        filter = misfit_expression(self.column, self.type)
        count = self.collection.count(filter)
        for row in self.collection.having(filter, [LABELS, CELLS, "about"], 1):
            return count, spelled(read_item({**row, "text": ""}).columns[self.column])
        return 0, ""

    def _cells(self) -> list[Cell]:
        fields = [LABELS, CELLS, "about"]
        if self.column == LABEL:
            rows = self.collection.some(fields, SAMPLED)
        else:
            rows = self.collection.having(has_column(self.column), fields, SAMPLED)
        items = [read_item({**row, "text": ""}) for row in rows]
        if self.column == LABEL:
            return [label for item in items for label in item.labels]
        return [cell for i in items if (cell := i.columns.get(self.column)) is not None]
