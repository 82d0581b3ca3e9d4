"""From the user's ids to numbers of items and back."""

import json
import re
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DamagedIndex
from fdch.index.storage.items import from_row, require_texts
from fdch.index.storage.layout import CATALOGUE
from fdch.index.storage.segments import REPAIR
from fdch.index.storage.snapshot import Snapshot
from fdch.index.store import Item, is_whole

_IDS_PER_QUERY = 900
_RUNNING = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)


def rows_of(
    connection: sqlite3.Connection, ids: Iterable[str]
) -> dict[str, tuple[int, str]]:
    """Give number and content of the items with these ids that have a row."""
    wanted = [id for id in dict.fromkeys(ids) if is_whole(id)]
    found: dict[str, tuple[int, str]] = {}
    for start in range(0, len(wanted), _IDS_PER_QUERY):
        some = wanted[start : start + _IDS_PER_QUERY]
        marks = ",".join("?" * len(some))
        query = f"SELECT id, number, content FROM items WHERE id IN ({marks})"
        for id, number, content in connection.execute(query, some):
            found[id] = number, content
    return found


def running_numbers(snapshot: Snapshot, ids: Iterable[str]) -> dict[str, int]:
    """Give the numbers of the items whose ids are running numbers."""
    if not len(snapshot.ranges):
        return {}
    wanted = [id for id in dict.fromkeys(ids) if _RUNNING.fullmatch(id)]
    numbers = np.array([int(id) for id in wanted], dtype=np.int64)
    there = snapshot.is_running(numbers) & (snapshot.positions(numbers) >= 0)
    return {wanted[i]: int(numbers[i]) for i in np.flatnonzero(there)}


def numbers_of(
    connection: sqlite3.Connection, snapshot: Snapshot, ids: Sequence[str]
) -> dict[str, int]:
    """Give the numbers of the items with these ids that are there."""
    rows = rows_of(connection, ids)
    running = running_numbers(snapshot, (id for id in ids if id not in rows))
    return running | {id: number for id, (number, _) in rows.items()}


def ids_of(
    connection: sqlite3.Connection, snapshot: Snapshot, numbers: NDArray[np.int64]
) -> list[str]:
    """Give the ids of items that are there."""
    running = snapshot.is_running(numbers)
    found = dict(_at(connection, snapshot, numbers[~running], "number, id"))
    require_texts(found.values(), "an item's id")
    return [
        str(number) if is_running else found[number]
        for number, is_running in zip(numbers.tolist(), running.tolist(), strict=True)
    ]


def items_of(
    connection: sqlite3.Connection, snapshot: Snapshot, numbers: NDArray[np.int64]
) -> list[Item]:
    """Give what is known of items that are there."""
    running = snapshot.is_running(numbers)
    rows = _at(connection, snapshot, numbers[~running], "number, id, content")
    found = {number: from_row(id, content) for number, id, content in rows}
    for number in set(numbers[running].tolist()):
        found[number] = Item(str(number))
    return [found[number] for number in numbers.tolist()]


def _at(
    connection: sqlite3.Connection,
    snapshot: Snapshot,
    numbers: NDArray[np.int64],
    columns: str,
) -> list[Any]:
    """Read some columns of the rows of items that are there."""
    wanted = np.unique(numbers)
    if not len(wanted):
        return []
    query = (
        f"SELECT {columns} FROM items WHERE number IN (SELECT value FROM json_each(?))"
    )
    found = connection.execute(query, (json.dumps(wanted.tolist()),)).fetchall()
    if len(found) != len(wanted):
        raise DamagedIndex(
            f"'{snapshot.place.folder / CATALOGUE}' lacks {len(wanted) - len(found)} "
            f"items that have a code. {REPAIR}"
        )
    return found
