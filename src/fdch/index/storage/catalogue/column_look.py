"""What the catalogue says of one column: values, ends, cells that do not fit."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fdch.index.column_types import (
    MAX_LISTED,
    count_types,
    find_type,
    read_types,
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
    beginning,
)
from fdch.index.storage.catalogue.items import Row, Value
from fdch.index.storage.files.records import About
from fdch.index.storage.snapshot import View
from fdch.index.store import LABEL, ColumnFacts, ColumnType

MAX_TYPES = 1000  # columns whose types are kept
_SAMPLED = 2000  # cells that tell the type of a column which has none yet
_SHOWN = 3
_WORDS = "lower(value) IN ('true', 'false', 'yes', 'no')"


@dataclass(frozen=True)
class ColumnLook:
    """Answers questions about one column of a given type."""

    connection: sqlite3.Connection
    column: int
    type: ColumnType
    known: dict[int, tuple[int, str]] = field(default_factory=dict)  # misfits, kept

    def values_like(self, text: str) -> list[str]:
        """Return some values, those that begin with the same letter first."""
        first = strip_quotes(text)[:1]
        letters = dict.fromkeys((first.lower(), first.upper(), ""))
        return [
            value
            for letter in letters
            for clause, bounds in beginning(letter)[:1]
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
        if self.column not in self.known:
            select = f"SELECT {COUNT}, min({TEXT})"
            [(count, example)] = self._rows(select, MISFIT[self.type], 1)
            self.known[self.column] = (count, example or "")
        return self.known[self.column]

    def facts(self, items: int) -> ColumnFacts | None:
        """Describe the column of an index with so many items; None without a cell."""
        counts = self.counts()
        if not counts:
            return None
        fit = FITTING[self.type]
        shown = self._rows(f"SELECT DISTINCT {TEXT}", fit, _SHOWN)
        there = sum(counts.values())
        return ColumnFacts(
            self.type,
            count_types(counts, max(0, items - there)),
            [value for (value,) in shown],
            self._misfit_cells(),
        )

    def _misfit_cells(self) -> list[tuple[str, str]]:
        """Return some cells that do not fit the column's type, with their ids."""
        rows = self._rows(f"SELECT {TEXT}, numbers", MISFIT[self.type], MAX_LISTED)
        found = [(n, text) for text, some in rows for n in join_numbers([some])]
        found = found[:MAX_LISTED]
        ids = dict(
            self.connection.execute(
                "SELECT number, id FROM items WHERE number IN "
                "(SELECT value FROM json_each(?))",
                (json.dumps([int(number) for number, _ in found]),),
            )
        )
        return [(ids[number], text) for number, text in found if number in ids]

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

    def sampled_type(self) -> ColumnType | None:
        """Find the type by some of the cells."""
        [(numbers,)] = self._rows(f"SELECT {COUNT}", IS_NUMBER, 1)
        counts: dict[ColumnType, int] = {"number": numbers}
        [(texts,)] = self._rows(f"SELECT {COUNT}", IS_TEXT, 1)
        some = [value for (value,) in self._rows("SELECT value", IS_TEXT, _SAMPLED)]
        for value in some:
            type = type_of(value)
            share = max(1, texts // max(1, len(some)))
            counts[type] = counts.get(type, 0) + share
        return find_type(counts)

    def _rows(
        self, select: str, clause: str, *bounds: Value, order: str = ""
    ) -> Iterator[tuple]:  # type: ignore[type-arg]
        """Read rows of the column; the last of the bounds is how many at most."""
        query = f'{select} FROM cells WHERE "column" = ? AND ({clause})'
        query += (f" ORDER BY {order}" if order else "") + " LIMIT ?"
        yield from self.connection.execute(query, (self.column, *bounds))


def kept_types(view: View) -> dict[str, ColumnType]:
    """Return the types that the index keeps."""
    return read_types(About.read(view.snapshot.state.about).types)


def find_missing_types(
    view: View, names: dict[str, int], known: dict[str, ColumnType]
) -> dict[str, ColumnType]:
    """Find the types of columns for which none is kept, as in an older index."""
    found: dict[str, ColumnType] = {}
    for name, column in list(names.items())[: MAX_TYPES + 1]:
        if name not in known and name != LABEL:
            type = ColumnLook(view.connection, column, "text").sampled_type()
            if type is not None:
                found[name] = type
    return found


def find_new_types(
    view: View, names: dict[str, int], rows: Sequence[Row]
) -> dict[str, ColumnType]:
    """Find the types of columns that come with rows to add, or had none kept."""
    known, new = kept_types(view), dict[str, Counter[ColumnType]]()
    for name in {cell[0] for row in rows for cell in row.cells} - known.keys():
        if name != LABEL and name not in names:
            new[name] = Counter()
    if new:
        for row in rows:
            for name, value, _ in row.cells:
                if name in new:
                    new[name][type_of(value)] += 1
    found = find_missing_types(view, names, known)
    found |= {name: find_type(counts) or "text" for name, counts in new.items()}
    return dict(list(found.items())[: max(0, MAX_TYPES - len(known))])
