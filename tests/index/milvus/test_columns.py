"""Types of columns, without a server; test_column_types.py uses a real one."""

from typing import Any

from fdch.index.milvus.columns import Columns
from fdch.index.milvus.schema import make_row
from fdch.index.store import Item


class Rows:
    """A collection of which all is read, whatever is demanded."""

    def __init__(self, *cells):
        self.hold(*cells)

    def hold(self, *cells):
        items = [Item(f"{i}", columns={"year": cell}) for i, cell in enumerate(cells)]
        self.rows = [make_row(item, i, b"\0") for i, item in enumerate(items)]

    def some(self, fields, count, filter=""):
        return self.rows[:count]


def test_a_type_given_at_creation_stays_whatever_items_hold():
    rows: Any = Rows(1990, 2010)
    assert Columns(rows, {}).types() == {"year": "number"}
    assert Columns(rows, {"year": "text"}).types() == {"year": "text"}
    assert Columns(rows, {"made": "date"}).types() == {"made": "date", "year": "number"}


def test_a_type_once_found_stays():
    rows: Any = Rows(1990, 2010)
    columns = Columns(rows, {})
    assert columns.types_of(["year", "label"]) == {"year": "number"}
    rows.hold("long ago")
    assert columns.types() == {"year": "number"}
    assert Columns(rows, {}).types() == {"year": "text"}
