"""Conditions answered by SQLite, before the search begins."""

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DataError, suggestion
from fdch.index.search.gallery import Gallery
from fdch.index.storage.contents import number_columns
from fdch.index.storage.items import MAX_EXACT, Value, as_number, as_whole, spellings
from fdch.index.storage.snapshot import View
from fdch.index.store import LABEL, Condition

# in a text, 20 letters each: SQLite's longest has a thousand million
NUMBERS_AT_A_TIME = 2**25
MAX_BYTES = 256 * 2**20
_MAX_KNOWN = 64
Numbers = NDArray[np.int64]
Clause = tuple[str, tuple[Value, ...]]  # of a query, with what to fill in
_TEXT = "CASE spelled WHEN '' THEN CAST(value AS TEXT) ELSE spelled END"


def require_columns(conditions: Iterable[Condition], known: Iterable[str]) -> None:
    """Refuse conditions on a column that no item has; name the nearest known one."""
    names = list(dict.fromkeys([LABEL, *known]))
    for condition in conditions:
        if condition.column not in names:
            hint = suggestion(condition.column, names)
            listed = ", ".join(f"'{name}'" for name in names[:20])
            raise DataError(
                f"no item has a column '{condition.column}'{hint or '.'} "
                f"Filters may name: {listed}{', ...' if len(names) > 20 else ''}."
            )


class Allowed:
    """A cache of the latest filters' answers, limited in bytes."""

    def __init__(self, most: int = MAX_BYTES) -> None:
        self._most = most
        self._guard = threading.Lock()
        self._known: OrderedDict[tuple[Condition, ...], Gallery] = OrderedDict()
        self._commit = -1

    def gallery(self, view: View, where: Sequence[Condition]) -> Gallery:
        """Give the gallery in which only items that fulfil conditions are found."""
        key, commit = tuple(where), view.snapshot.state.commit
        with self._guard:
            if commit != self._commit:  # nor hold files that were replaced
                self._known.clear()
                self._commit = commit
            if not where:
                return view.snapshot.gallery
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        numbers = allowed_numbers(view, where)
        positions = view.snapshot.positions(numbers)
        found = view.snapshot.gallery.only(positions[positions >= 0])
        with self._guard:
            if commit == self._commit:
                self._known[key] = found
                self._drop_oldest()
        return found

    def _drop_oldest(self) -> None:
        """Keep what there is space for; the last one whatever it takes."""
        size = sum(map(_bytes, self._known.values()))
        while len(self._known) > 1 and (
            size > self._most or len(self._known) > _MAX_KNOWN
        ):
            size -= _bytes(self._known.popitem(last=False)[1])


def _bytes(gallery: Gallery) -> int:
    """Count what tells which rows may be found."""
    return sum(
        part.flat_dead.nbytes
        if part.numbers is None
        else part.numbers.nbytes + part.rows.nbytes
        for part in gallery.parts
    )


def allowed_numbers(view: View, conditions: Sequence[Condition]) -> Numbers:
    """Give the numbers of all items that fulfil all conditions, rising."""
    names = number_columns(view)
    require_columns(conditions, names)
    allowed: Numbers | None = None
    for condition in conditions:
        column = names.get(condition.column, -1)
        numbers = _numbers(view.connection, column, condition)
        if allowed is not None:
            numbers = numbers[np.isin(numbers, allowed, assume_unique=True)]
        allowed = numbers
        if not len(allowed):
            break
    return np.empty(0, np.int64) if allowed is None else allowed


def _numbers(
    connection: sqlite3.Connection, column: int, condition: Condition
) -> Numbers:
    operator, values = condition.operator, list(dict.fromkeys(condition.values))
    if not values or (len(condition.values) > 1 and operator != "in"):
        raise DataError(
            f"a condition with '{operator}' on '{condition.column}' has "
            f"{len(condition.values)} values; it takes one."
        )
    if operator not in ("=", "!=", "in"):
        return _fetch(connection, column, _ordered(operator, values[0]))
    alike = [clause for text in values for clause in _alike(connection, column, text)]
    numbers = _fetch(connection, column, alike)
    if operator != "!=":
        return numbers
    others = _fetch(connection, column, [("value IS NOT NULL", ())])
    return np.setdiff1d(others, numbers, assume_unique=True)


def _alike(connection: sqlite3.Connection, column: int, text: str) -> list[Clause]:
    """Give parts of a query that together find the cells equal to a value."""
    number = as_number(text)
    if number is None:
        return [("value = ?", (each,)) for each in spellings(text)]
    if isinstance(number, int) or abs(number) < MAX_EXACT:
        return [("value = ?", (number,))]
    # beyond 64 bits several whole numbers are one value here; spellings part them
    query = 'SELECT DISTINCT spelled FROM cells WHERE "column" = ? AND value = ?'
    wanted, rows = as_whole(text), connection.execute(query, (column, number))
    return [
        ("value = ? AND spelled = ?", (number, each))
        for (each,) in rows.fetchall()
        if as_whole(each) == wanted
    ]


def _ordered(operator: str, text: str) -> list[Clause]:
    """Give parts of a query that together find the cells before or after a value.

    SQLite sorts every number before every text, so '' divides the two.
    """
    number = as_number(text)
    texts = (f"value {operator} ? AND value >= ''", (text,))
    if number is None:
        return [texts, (f"value < '' AND {_TEXT} {operator} ?", (text,))]
    return [texts, (f"value {operator} ? AND value < ''", (number,))]


def _fetch(
    connection: sqlite3.Connection, column: int, clauses: list[Clause]
) -> Numbers:
    """Give the numbers of the items that fulfil one of some clauses, rising.

    They are fetched as one text, three times faster than row by row, or as some
    where SQLite has none that is long enough.
    """
    found = [np.empty(0, np.int64)]
    for clause, values in clauses:
        query = (
            "SELECT group_concat(number) FROM "
            "(SELECT CAST(number AS INTEGER) AS number FROM cells "
            f'WHERE "column" = ? AND {clause} LIMIT ? OFFSET ?)'
        )
        offset, is_last = 0, False
        while not is_last:
            page = (NUMBERS_AT_A_TIME, offset)
            (listed,) = connection.execute(query, (column, *values, *page)).fetchone()
            found.append(np.fromstring(listed or "", dtype=np.int64, sep=","))
            is_last = len(found[-1]) < NUMBERS_AT_A_TIME
            offset += NUMBERS_AT_A_TIME
    numbers = np.sort(np.concatenate(found))
    # without repeats, ten times faster than np.unique
    return numbers[np.flatnonzero(np.diff(numbers, prepend=-1))]
