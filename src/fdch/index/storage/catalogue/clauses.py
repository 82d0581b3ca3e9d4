"""A condition as parts of a query on the table of cells, by the column's type."""

import json
import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta

from fdch.index.cells import MAX_EXACT, Value, as_number, as_whole, list_spellings
from fdch.index.column_types import (
    compare_dates,
    read_date,
    read_truth,
    truth_spellings,
)
from fdch.index.store import ColumnType, Condition

Clause = tuple[str, tuple[Value, ...]]  # of a query, with what to fill in
TEXT = "CASE spelled WHEN '' THEN CAST(value AS TEXT) ELSE spelled END"
# SQLite sorts every number before every text, so '' divides the two
IS_NUMBER, IS_TEXT = "value < ''", "value >= ''"
# as `column_types.read_date` reads them, without a year alone, which is a number
IS_DATE = (
    "value >= '0002' AND value < '9999' AND CASE length(value) "
    "WHEN 7 THEN date(value || '-01') IS NOT NULL "
    "WHEN 10 THEN date(value, '+0 days') = value "  # February 30 becomes March 1
    "ELSE date(substr(value, 1, 10), '+0 days') = substr(value, 1, 10) "
    "AND (substr(value, 11) GLOB '[T ][01][0-9]:*' "
    "OR substr(value, 11) GLOB '[T ]2[0-3]:*') "
    "AND substr(value, 12) NOT GLOB '*[^0-9:.Z+-]*' "
    "AND julianday(value) IS NOT NULL END"
)
_TRUTHS = [*truth_spellings(True), *truth_spellings(False)]
IS_TRUTH = f"value IN ({', '.join(repr(each) for each in _TRUTHS)})"
FITTING = {"number": IS_NUMBER, "date": IS_DATE, "boolean": IS_TRUTH, "text": "1"}
MISFIT = {name: f"NOT ({clause})" for name, clause in FITTING.items()}
MISFIT["number"] = IS_TEXT  # the same, found without looking at numbers
_SLACK = timedelta(days=2)  # a zone moves a time by less


@dataclass(frozen=True)
class Column:
    """A column of the table of cells."""

    connection: sqlite3.Connection
    number: int
    type: ColumnType


def find_clauses(column: Column, condition: Condition) -> list[Clause]:
    """Return parts of a query that together find the cells that fulfil a condition.

    For "!=", they find the cells to leave out.
    """
    operator, values = condition.operator, list(dict.fromkeys(condition.values))
    if operator == "^=":
        return prefix_clauses(values[0])
    if operator in ("=", "!=", "in"):
        return [clause for text in values for clause in _equal_clauses(column, text)]
    return _range_clauses(column, operator, values[0])


def _equal_clauses(column: Column, text: str) -> list[Clause]:
    """Return parts of a query that together find the cells equal to a value."""
    if column.type == "boolean" and (truth := read_truth(text)) is not None:
        return [("value = ?", (each,)) for each in truth_spellings(truth)]
    if column.type == "date" and read_date(text) is not None:
        return _in_time(column, "=", text)
    number = as_number(text)
    if number is None:
        return [("value = ?", (each,)) for each in list_spellings(text)]
    if isinstance(number, int) or abs(number) < MAX_EXACT:
        return [("value = ?", (number,))]
    # beyond 64 bits several whole numbers are one value here; spellings part them
    query = 'SELECT DISTINCT spelled FROM cells WHERE "column" = ? AND value = ?'
    rows = column.connection.execute(query, (column.number, number)).fetchall()
    return [
        ("value = ? AND spelled = ?", (number, each))
        for (each,) in rows
        if as_whole(each) == as_whole(text)
    ]


def _range_clauses(column: Column, operator: str, text: str) -> list[Clause]:
    """Return parts of a query that together find the cells before or after a value.

    Cells that do not fit the column's type are neither.
    """
    if column.type == "date":
        return _in_time(column, operator, text)
    number = as_number(text)
    texts = (f"value {operator} ? AND {IS_TEXT}", (text,))
    if number is None:
        return [texts, (f"{IS_NUMBER} AND {TEXT} {operator} ?", (text,))]
    numbers = (f"value {operator} ? AND {IS_NUMBER}", (number,))
    return [numbers] if column.type == "number" else [texts, numbers]


def prefix_clauses(text: str) -> list[Clause]:
    """Return parts of a query that together find the cells that begin with a text."""
    if not text:
        return [("value IS NOT NULL", ())]
    size = len(text)
    between, bounds = f"value >= ? AND {IS_TEXT}", (text,)
    if (after := text_after(text)) is not None:
        between, bounds = f"{between} AND value < ?", (text, after)  # type: ignore[assignment]
    return [
        (between, bounds),
        (f"{IS_NUMBER} AND substr({TEXT}, 1, ?) = ?", (size, text)),
    ]


def text_after(text: str) -> str | None:
    """Return the least text behind all that begin with this one; None without one."""
    point = ord(text[-1]) + 1
    if point > 0x10FFFF:
        return text_after(text[:-1]) if len(text) > 1 else None
    return text[:-1] + chr(0xE000 if 0xD800 <= point < 0xE000 else point)


def _in_time(column: Column, operator: str, text: str) -> list[Clause]:
    """Compare dates: those days away as texts, those nearby by their zones too."""
    wanted = read_date(text)
    assert wanted is not None
    bounds = {
        "<": [wanted.start],
        ">=": [wanted.start],
        "=": [wanted.start, wanted.end],
    }
    edges = bounds.get(operator, [wanted.end])
    low, high = _day(edges[0] - _SLACK), _day(edges[-1] + _SLACK)
    near = (
        "SELECT DISTINCT value FROM cells "
        'WHERE "column" = ? AND value >= ? AND value < ?'
    )
    listed = [
        value
        for (value,) in column.connection.execute(near, (column.number, low, high))
        if (cell := read_date(value)) and compare_dates(cell, operator, wanted)
    ]
    found: list[Clause] = [
        ("value IN (SELECT value FROM json_each(?))", (json.dumps(listed),))
    ]
    if operator in ("<", "<="):
        found.append((f"{IS_TEXT} AND value < ? AND {IS_DATE}", (low,)))
    elif operator in (">", ">="):
        found.append((f"value >= ? AND {IS_DATE}", (high,)))
    return found


def _day(moment: datetime) -> str:
    return moment.date().isoformat()
