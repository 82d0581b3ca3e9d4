"""The catalogue's table of cells: for each value of a column, the items that have it.

The numbers of these items lie in lists of 8 bytes each, rising: a million are read
at once, where a row to each cell would be read one by one.
"""

import sqlite3
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from fdch.index.cells import Value
from fdch.index.storage.files.layout import CATALOGUE, damaged

NUMBER_BYTES = 8
LIST_BYTES = 512 * NUMBER_BYTES  # at most; one that has room takes the next items
# 'first' is not above the list's first number, and above all of the list before
CELLS_TABLE = (
    'CREATE TABLE cells ("column" INTEGER NOT NULL, value NOT NULL, '
    "spelled TEXT NOT NULL, first INTEGER NOT NULL, numbers BLOB NOT NULL, "
    'PRIMARY KEY ("column", value, spelled, first)) WITHOUT ROWID'
)
COUNT = f"coalesce(sum(length(numbers)), 0) / {NUMBER_BYTES}"  # of cells, in queries
_KEY = '"column" = ? AND value = ? AND spelled = ?'
_PUT = "INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?)"
_LAST = f"SELECT first, numbers FROM cells WHERE {_KEY} ORDER BY first DESC LIMIT 1"
_BETWEEN = (
    f"SELECT first, numbers FROM cells WHERE {_KEY} AND first <= ? AND first >= "
    f"(SELECT max(first) FROM cells WHERE {_KEY} AND first <= ?)"
)
Numbers = NDArray[np.int64]
Cell = tuple[int, Value, int, str]  # column, value, number of its item, spelling
_Key = tuple[int, Value, str]


def put_cells(connection: sqlite3.Connection, cells: Iterable[Cell]) -> None:
    """Put the cells of new items in, whose numbers are above all others."""
    rows: list[tuple[int, Value, str, int, bytes]] = []
    for key, numbers in _by_value(cells):
        first, content = connection.execute(_LAST, key).fetchone() or (0, b"")
        if not 0 < len(content) < LIST_BYTES:
            first, content = numbers[0], b""
        content += struct.pack(f"<{len(numbers)}q", *numbers)
        for start in range(0, len(content), LIST_BYTES):
            if start:
                (first,) = struct.unpack_from("<q", content, start)
            rows.append((*key, first, content[start : start + LIST_BYTES]))
    connection.executemany(_PUT, rows)


def drop_cells(connection: sqlite3.Connection, cells: Iterable[Cell]) -> None:
    """Take cells out."""
    for key, numbers in _by_value(cells):
        bounds = (*key, max(numbers), *key, min(numbers))
        for first, content in connection.execute(_BETWEEN, bounds).fetchall():
            held = join_numbers([content])
            left = held[~np.isin(held, numbers)].tobytes()
            if left:
                connection.execute(_PUT, (*key, first, left))
            else:
                where = f"DELETE FROM cells WHERE {_KEY} AND first = ?"
                connection.execute(where, (*key, first))


def _by_value(cells: Iterable[Cell]) -> Iterator[tuple[_Key, list[int]]]:
    """Gather numbers by value; in the table's order, each page is touched once."""
    lists = defaultdict[_Key, list[int]](list)
    for column, value, number, spelled in cells:
        lists[column, value, spelled].append(number)
    for key in sorted(lists, key=lambda key: (key[0], isinstance(key[1], str), key[1])):
        yield key, lists[key]


def read_numbers(
    connection: sqlite3.Connection, column: int, clause: str, *values: Value
) -> Numbers:
    """Return the numbers of the items whose cell fulfils a clause, in any order."""
    query = f'SELECT numbers FROM cells WHERE "column" = ? AND {clause}'
    rows = connection.execute(query, (column, *values))
    return join_numbers(content for (content,) in rows)


def join_numbers(lists: Iterable[bytes]) -> Numbers:
    """Read lists of numbers as one."""
    try:
        return np.frombuffer(b"".join(lists), dtype="<i8")
    except (TypeError, ValueError) as problem:
        raise damaged(f"{CATALOGUE} has a damaged list") from problem


def read_cells(connection: sqlite3.Connection) -> Iterator[tuple[str, Value, str, int]]:
    """Return all cells: name of the column, value, spelling and number of the item."""
    query = (
        "SELECT name, value, spelled, numbers FROM cells "
        'LEFT JOIN columns ON columns."column" = cells."column"'
    )
    for name, value, spelled, content in connection.execute(query):
        for number in join_numbers([content]).tolist():
            yield name, value, spelled, number
