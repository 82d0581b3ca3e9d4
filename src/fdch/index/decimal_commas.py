"""Numbers with a decimal comma or a currency, such as 12,50 or $5, read by column.

"1.234" and "1,234" may mean either number, so a column is read only where each of its
figures is a whole number or has a decimal comma beyond doubt. Prices of one currency
may also have decimal points and thousands, written alike in the whole column.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fdch.data.rows import objects
from fdch.index.cells import as_number
from fdch.index.column_types import find_types
from fdch.index.store import Cell, ColumnType

_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})*|\d+),\d{1,2}", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_FIGURE = re.compile(r"[+-]?[.,]*\d[\d.,]*", re.ASCII)
_CURRENCIES = (
    "EUR|USD|GBP|CHF|SEK|NOK|DKK|ISK|PLN|CZK|HUF|RON|BGN|RUB|UAH|TRY|ILS|JPY|CNY|KRW|"
    "INR|IDR|THB|PHP|VND|SGD|HKD|TWD|MYR|AED|SAR|EGP|ZAR|NGN|KES|CAD|AUD|NZD|BRL|MXN|"
    "ARS|CLP|COP|PEN|[A-Z]{0,2}[$]|[€£¥₹₽₩₺₴₫₪₱₦฿]|Fr[.]|kr[.]?|zł|Kč|Ft|lei|лв|Rs[.]?"
)
_PRICE = re.compile(
    rf"(?P<before>{_CURRENCIES})?\s?"
    r"(?P<number>[+-]?\d(?:[\d.,\s'\u2019]{0,30}\d)?)"
    rf"\s?(?P<after>{_CURRENCIES})?"
)
_SPACES = re.compile(r"(?<=\d)[\s'\u2019](?=\d{3}(?!\d))")
# prices by their decimal mark; the other mark parts their thousands
_PRICES = {
    ",": re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d{1,2})?", re.ASCII),
    ".": re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d{1,2})?", re.ASCII),
}
Columns = Mapping[str, NDArray[np.object_]]


def read_decimal_commas(
    columns: Columns,
    types: Mapping[str, ColumnType] | None = None,
    chosen: Mapping[str, ColumnType] | None = None,
) -> dict[str, NDArray[np.object_]]:
    """Replace decimal commas and prices by numbers in columns that are written so.

    Args:
        columns: Cells by the columns' names.
        types: Types that are known; columns of other types than numbers stay.
        chosen: Types that a user has chosen for these cells. Where it is numbers,
            every cell with a decimal comma is one, and prices may be few.

    >>> cells = np.array(["12,50", "40", "1.234,5"], object)
    >>> read_decimal_commas({"price": cells})["price"].tolist()
    [12.5, '40', 1234.5]
    >>> read_decimal_commas({"price": np.array(["$5", "$1,299.50"], object)})
    {'price': array([5, 1299.5], dtype=object)}
    """
    chosen = chosen or {}
    known = {**(types or {}), **chosen}
    return {
        name: _read(cells, name in chosen)
        if known.get(name, "number") == "number"
        else cells
        for name, cells in columns.items()
    }


def _read(cells: NDArray[np.object_], is_chosen: bool) -> NDArray[np.object_]:
    if (prices := _read_prices(cells, is_chosen)) is not None:
        return prices
    if is_chosen or _has_decimal_commas(cells):
        return objects([_convert(cell) for cell in cells])
    return cells


def _read_prices(
    cells: NDArray[np.object_], is_chosen: bool
) -> NDArray[np.object_] | None:
    """Read a column whose figures all have one currency; None for any other."""
    figures = _find_prices(cells)
    mark = _find_decimal_mark([each for each in figures if each])
    if not mark:
        return None
    other = "." if mark == "," else ","
    read = [
        as_number(figure.replace(other, "").replace(mark, ".")) if figure else cell
        for cell, figure in zip(cells, figures, strict=True)
    ]
    is_price = is_chosen or find_types({"": read}) == {"": "number"}
    return objects(read) if is_price else None


def _find_prices(cells: NDArray[np.object_]) -> list[str]:
    """Return the figures of cells, "" for texts; none where currencies differ."""
    figures, marks = [], set()
    for cell in cells:
        found = _PRICE.fullmatch(str(cell))
        figures.append(_SPACES.sub("", found["number"]) if found else "")
        if found:
            marks.add((found["before"], found["after"]))
            if len(marks) > 1 or (found["before"] is None) == (found["after"] is None):
                return []
    return figures


def _find_decimal_mark(figures: Sequence[str]) -> str:
    """Return the decimal mark of prices, "." for whole ones; "" where in doubt."""
    if figures and all(map(_WHOLE.fullmatch, figures)):
        return "."
    for mark, written in _PRICES.items():
        if all(map(written.fullmatch, figures)) and any(mark in f for f in figures):
            return mark
    return ""


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
