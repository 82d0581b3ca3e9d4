"""What the catalogue says of columns: values, ends, cells that do not fit."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from fdch.index.cells import Value
from fdch.index.column_types import (
    MAX_LISTED,
    count_types,
    find_type,
    strip_quotes,
    type_of,
)
from fdch.index.condition_notes import MAX_VALUES
from fdch.index.storage.catalogue.cell_table import COUNT, join_numbers
from fdch.index.storage.catalogue.clauses import (
    FITTING,
    IS_DATE,
    IS_NUMBER,
    IS_TEXT,
    MISFIT,
    TEXT,
    Column,
    find_clauses,
    prefix_clauses,
)
from fdch.index.storage.catalogue.identities import items_of
from fdch.index.storage.catalogue.items import Row
from fdch.index.storage.files.layout import CATALOGUE, damaged
from fdch.index.storage.snapshot import View
from fdch.index.store import LABEL, Cell, ColumnFacts, ColumnType, Condition, Contents

MAX_TYPES = 1000  # columns whose types are kept
_SHOWN = 3
_FACETS = (
    f"SELECT CASE WHEN spelled = '' THEN value ELSE spelled END, {COUNT} AS total "
    'FROM cells WHERE "column" = ? '
    "GROUP BY value ORDER BY total DESC, value LIMIT ?"
)
_DISTINCT = (
    'SELECT count(*) FROM (SELECT 1 FROM cells WHERE "column" = ? GROUP BY value)'
)
_ENDS = "SELECT min(value), max(value) FROM cells WHERE \"column\" = ? AND value < ''"
_WORDS = "lower(value) IN ('true', 'false', 'yes', 'no')"


@dataclass(frozen=True)
class ColumnLook(Column):
    """Answers questions about one column."""

    view: View

    @classmethod
    def at(cls, view: View, name: str, number: int) -> Self:
        """Look at a column of an index."""
        type = view.snapshot.about.types.get(name, "text")
        return cls(view.connection, number, type, view)

    def has(self, condition: Condition) -> bool:
        """Return whether a cell fulfils a condition."""
        return any(
            any(self._rows("SELECT 1", clause, *values, 1))
            for clause, values in find_clauses(self, condition)
        )

    def values_like(self, text: str) -> list[str]:
        """Return some values, those that begin with the same letter first."""
        first = strip_quotes(text)[:1]
        letters = dict.fromkeys((first.lower(), first.upper(), ""))
        return [
            value
            for letter in letters
            for clause, bounds in prefix_clauses(letter)[:1]
            for (value,) in self._rows(
                f"SELECT DISTINCT {TEXT}", clause, *bounds, MAX_VALUES
            )
        ]

    def ends(self) -> tuple[str, str] | None:
        """Return the least and the greatest value that fits the column's type."""
        found = [
            value
            for order in ("", "DESC")
            for (value,) in self._rows(
                f"SELECT {TEXT}", FITTING[self.type], 1, order=f"value {order}"
            )
        ]
        return (found[0], found[1]) if found else None

    def beside(self, number: float) -> list[str]:
        """Return the nearest numbers below and above."""
        sides = (("<", "value DESC"), (">", "value"))
        return [
            value
            for sign, order in sides
            for (value,) in self._rows(
                f"SELECT {TEXT}",
                f"value {sign} ? AND {IS_NUMBER}",
                number,
                1,
                order=order,
            )
        ]

    def misfits(self) -> tuple[int, str]:
        """Count the cells that do not fit the column's type; return one of them."""
        select = f"SELECT {COUNT}, min({TEXT})"
        key, rows = ("misfits", self.number), self._rows(select, MISFIT[self.type], 1)
        [(count, example)] = self.view.snapshot.cache.get(key, lambda: list(rows))
        return count, example or ""

    def facts(self) -> ColumnFacts | None:
        """Describe the column; None without a cell."""
        counts = self.counts()
        if not counts:
            return None
        fit = FITTING[self.type]
        shown = self._rows(f"SELECT DISTINCT {TEXT}", fit, _SHOWN)
        there = sum(counts.values())
        return ColumnFacts(
            self.type,
            count_types(counts, max(0, self.view.items - there)),
            [value for (value,) in shown],
            self._misfit_cells(),
        )

    def _misfit_cells(self) -> list[tuple[str, str]]:
        """Return some cells that do not fit the column's type, with their ids."""
        rows = self._rows(f"SELECT {TEXT}, numbers", MISFIT[self.type], MAX_LISTED)
        found = [(n, text) for text, some in rows for n in join_numbers([some])]
        numbers = [number for number, _ in found[:MAX_LISTED]]
        items = items_of(self.view, np.array(numbers, dtype=np.int64))
        return [(item.id, text) for item, (_, text) in zip(items, found, strict=False)]

    def counts(self) -> dict[ColumnType, int]:
        """Count cells by their own types."""
        parts: dict[ColumnType, str] = {
            "number": IS_NUMBER,
            "date": IS_DATE,
            "boolean": _WORDS,
            "text": IS_TEXT,
        }
        found = {}
        for type, clause in parts.items():
            [(found[type],)] = self._rows(f"SELECT {COUNT}", clause, 1)
        found["text"] -= found["date"] + found["boolean"]
        return {type: count for type, count in found.items() if count}

    def _rows(
        self, select: str, clause: str, *bounds: Value, order: str = ""
    ) -> Iterator[tuple]:  # type: ignore[type-arg]
        """Read rows of the column; the last of the bounds is how many at most."""
        query = f'{select} FROM cells WHERE "column" = ? AND ({clause})'
        query += (f" ORDER BY {order}" if order else "") + " LIMIT ?"
        yield from self.connection.execute(query, (self.number, *bounds))


def find_new_types(view: View, rows: Sequence[Row]) -> dict[str, ColumnType]:
    """Find the types of columns that come with rows to add."""
    known, new = view.snapshot.about.types, dict[str, Counter[ColumnType]]()
    for row in rows:
        for name, value, _ in row.cells:
            if name != LABEL and name not in known:
                new.setdefault(name, Counter())[type_of(value)] += 1
    found = {name: find_type(counts) or "text" for name, counts in new.items()}
    return dict(list(found.items())[: max(0, MAX_TYPES - len(known))])


def number_columns(view: View) -> dict[str, int]:
    """Return the columns that items have had, and the numbers that stand for them."""
    query = 'SELECT name, "column" FROM columns ORDER BY "column"'
    found = dict(view.connection.execute(query))
    if not all(isinstance(name, str) for name in found):
        path = view.snapshot.place.folder / CATALOGUE
        raise damaged(f"'{path}': a column name is not text")
    return found


def contents(view: View, most: int) -> Contents:
    """Return what filters can use: so many values of each column."""
    facets: dict[str, list[tuple[Cell, int]]] = {}
    extremes: dict[str, tuple[float, float]] = {}
    distinct: dict[str, int] = {}
    columns: dict[str, ColumnFacts] = {}
    execute = view.connection.execute
    for name, column in number_columns(view).items():
        values = execute(_FACETS, (column, most)).fetchall()
        if not values:
            continue
        facets[name], distinct[name] = values, len(values)
        if len(values) == most:
            (distinct[name],) = execute(_DISTINCT, (column,)).fetchone()
        look = ColumnLook.at(view, name, column)
        facts = look.facts()
        if facts is not None and name != LABEL:
            columns[name] = facts
        if look.type == "number":
            ends = execute(_ENDS, (column,)).fetchone()
            if None not in ends:
                extremes[name] = ends
    return Contents(facets, extremes, _kinds(view), None, distinct, columns)


def _kinds(view: View) -> dict[str, int]:
    """Count items by what their codes were made of."""
    query = "SELECT json_extract(content, '$[0]'), count(*) FROM items GROUP BY 1"
    found = {str(kind): count for kind, count in view.connection.execute(query)}
    # items with running numbers for ids are not listed
    bare = view.items - sum(found.values())
    return found | ({"code": found.get("code", 0) + bare} if bare else {})
