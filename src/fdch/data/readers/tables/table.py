"""The common form of all tables: named columns, and rows of cells."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fdch.data.rows import list_names
from fdch.errors import DataError

CELL_BYTES = 2**20


@dataclass(frozen=True)
class Row:
    """One row: its cells by column, or the problem with it."""

    where: str
    cells: dict[str, Any]
    trouble: str = ""


@dataclass(frozen=True)
class Table:
    """The columns of a file (of JSON lines, those of the first) and its rows.

    Where it is open, rows may have other columns too. Notes are for the user, and
    complete when all rows are read. Advice is for a table whose columns are unknown.
    """

    columns: tuple[str, ...]
    rows: Iterable[Row]
    notes: list[str] = field(default_factory=list)
    is_open: bool = False
    advise: Callable[[], str] = str  # which returns an empty text


def make_table(lines: Iterator[tuple[str, list[Any]]], notes: list[str]) -> Table:
    """Make a table of places and cells; the first line names the columns."""
    _, header = next(lines, ("", []))
    columns = [str(name or "").strip() for name in header]
    named = list(filter(None, columns))
    twice = [name for name, count in Counter(named).items() if count > 1]
    if twice:
        raise DataError(f"it has a column name twice: {list_names(twice)}.")
    if nameless := columns.count(""):
        notes.append(
            f"{nameless} of the {len(columns)} columns have no name; they are left out."
        )
    return Table(tuple(named), (_make_row(columns, *line) for line in lines), notes)


def _make_row(columns: list[str], where: str, cells: list[Any]) -> Row:
    if len(cells) != len(columns):
        trouble = f"{len(cells)} cells for {len(columns)} columns."
        return Row(where, {}, f"{trouble} Put cells with separators in double quotes.")
    named = zip(columns, cells, strict=True)
    return Row(where, {name: cell for name, cell in named if name})
