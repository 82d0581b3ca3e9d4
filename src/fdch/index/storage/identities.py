"""From the user's ids to numbers of items and back.

Every row that is read is compared with its own checksum.
"""

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DamagedIndex
from fdch.index.search.gallery import Found
from fdch.index.storage.items import from_row
from fdch.index.storage.layout import CATALOGUE, REPAIR
from fdch.index.storage.snapshot import Snapshot
from fdch.index.storage.tables import is_intact_item
from fdch.index.store import Answer, Item, is_whole

_RUNNING = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)


def rows_of(
    connection: sqlite3.Connection, snapshot: Snapshot, ids: Iterable[str]
) -> dict[str, tuple[int, str]]:
    """Return number and content of the items with these ids that have a row."""
    wanted = [id for id in dict.fromkeys(ids) if is_whole(id)]
    rows = _rows_where(connection, snapshot, "id", wanted)
    return {id: (number, content) for number, id, content in rows}


def running_numbers(snapshot: Snapshot, ids: Iterable[str]) -> dict[str, int]:
    """Return the numbers of the items whose ids are running numbers."""
    if not len(snapshot.ranges):
        return {}
    wanted = [id for id in dict.fromkeys(ids) if _RUNNING.fullmatch(id)]
    numbers = np.array([int(id) for id in wanted], dtype=np.int64)
    there = snapshot.is_running(numbers) & (snapshot.positions(numbers) >= 0)
    return {wanted[i]: int(numbers[i]) for i in np.flatnonzero(there)}


def numbers_of(
    connection: sqlite3.Connection, snapshot: Snapshot, ids: Sequence[str]
) -> dict[str, int]:
    """Return the numbers of the items with these ids that are there."""
    rows = rows_of(connection, snapshot, ids)
    running = running_numbers(snapshot, (id for id in ids if id not in rows))
    return running | {id: number for id, (number, _) in rows.items()}


def ids_of(
    connection: sqlite3.Connection, snapshot: Snapshot, numbers: NDArray[np.int64]
) -> list[str]:
    """Return the ids of items that are there."""
    running = snapshot.is_running(numbers)
    rows = _rows_at(connection, snapshot, numbers[~running])
    found = {number: id for number, id, _ in rows}
    return [
        str(number) if is_running else found[number]
        for number, is_running in zip(numbers.tolist(), running.tolist(), strict=True)
    ]


def items_of(
    connection: sqlite3.Connection, snapshot: Snapshot, numbers: NDArray[np.int64]
) -> list[Item]:
    """Return what is known of items that are there."""
    running = snapshot.is_running(numbers)
    rows = _rows_at(connection, snapshot, numbers[~running])
    found = {number: from_row(id, content) for number, id, content in rows}
    for number in set(numbers[running].tolist()):
        found[number] = Item(str(number))
    return [found[number] for number in numbers.tolist()]


def answers_of(
    connection: sqlite3.Connection, snapshot: Snapshot, found: list[Found]
) -> list[Answer]:
    """Return items and codes of what was found, looked up once for all queries."""
    ends = np.cumsum([len(one.numbers) for one in found])
    positions = np.concatenate([np.empty(0, np.int64), *(one.numbers for one in found)])
    items = items_of(connection, snapshot, snapshot.numbers(positions))
    codes = snapshot.codes(positions)
    return [
        Answer(
            tuple(item.id for item in items[end - len(one.numbers) : end]),
            one.distances,
            codes[end - len(one.numbers) : end],
            one.scanned,
            tuple(items[end - len(one.numbers) : end]),
        )
        for one, end in zip(found, ends, strict=True)
    ]


def _rows_at(
    connection: sqlite3.Connection, snapshot: Snapshot, numbers: NDArray[np.int64]
) -> list[tuple[int, str, str]]:
    """Read the rows of items that are there."""
    wanted = np.unique(numbers).tolist()
    found = list(_rows_where(connection, snapshot, "number", wanted))
    if len(found) != len(wanted):
        raise DamagedIndex(
            f"'{snapshot.place.folder / CATALOGUE}' lacks {len(wanted) - len(found)} "
            f"items that have a code. {REPAIR}"
        )
    return found


def _rows_where(
    connection: sqlite3.Connection,
    snapshot: Snapshot,
    column: str,
    values: Sequence[str] | Sequence[int],
) -> Iterator[tuple[int, str, str]]:
    """Read number, id and content of rows, each compared with its checksum."""
    if not values:
        return
    query = (
        "SELECT number, id, content, digest FROM items "
        f"WHERE {column} IN (SELECT value FROM json_each(?))"
    )
    for row in connection.execute(query, (json.dumps(values),)):
        if not is_intact_item(snapshot.place.uid, *row):
            raise DamagedIndex(
                f"'{snapshot.place.folder / CATALOGUE}': what is known of item "
                f"{str(row[1])[:80]!r} is damaged. {REPAIR}"
            )
        yield row[:3]
