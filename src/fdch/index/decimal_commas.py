"""Numbers with a decimal comma, such as 12,50 or 1.234,50, read column by column.

"1.234" and "1,234" may mean either number, so a column is read only where each of its
figures is a whole number or has a decimal comma beyond doubt.
"""

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fdch.data.rows import objects
from fdch.index.cells import as_number
from fdch.index.column_types import find_types
from fdch.index.store import Cell, ColumnType

_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})*|\d+),\d{1,2}", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_FIGURE = re.compile(r"[+-]?[.,]*\d[\d.,]*", re.ASCII)
Columns = Mapping[str, NDArray[np.object_]]


def read_decimal_commas(
    columns: Columns,
    types: Mapping[str, ColumnType] | None = None,
    chosen: Mapping[str, ColumnType] | None = None,
) -> dict[str, NDArray[np.object_]]:
    """Replace cells with a decimal comma by numbers in columns that are written so.

    Args:
        columns: Cells by the columns' names.
        types: Types that are known; columns of other types than numbers stay.
        chosen: Types that a user has chosen for these cells. Where it is numbers,
            every cell with a decimal comma is one.

    >>> cells = np.array(["12,50", "40", "1.234,5"], object)
    >>> read_decimal_commas({"price": cells})["price"].tolist()
    [12.5, '40', 1234.5]
    """
    chosen = chosen or {}
    known = {**(types or {}), **chosen}
    return {
        name: objects([_convert(cell) for cell in cells])
        if known.get(name, "number") == "number"
        and (name in chosen or _has_decimal_commas(cells))
        else cells
        for name, cells in columns.items()
    }


def _has_decimal_commas(cells: NDArray[np.object_]) -> bool:
    """Return whether a column's figures have decimal commas: all that are not whole."""
    figures = [str(cell) for cell in cells if _FIGURE.fullmatch(str(cell))]
    commas = sum(_COMMA.fullmatch(each) is not None for each in figures)
    whole = sum(_WHOLE.fullmatch(each) is not None for each in figures)
    if not commas or commas + whole < len(figures):
        return False
    return find_types({"": cells}) != {"": "number"}  # a few commas there are mistakes


def _convert(cell: Cell) -> Cell:
    if not isinstance(cell, str) or not _COMMA.fullmatch(cell):
        return cell
    number = as_number(cell.replace(".", "").replace(",", "."))
    return cell if number is None else number
