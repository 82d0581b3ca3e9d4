"""A damaged catalogue written anew from the rows that are provably intact."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fdch.errors import DamagedIndex
from fdch.index.catalogue import PAGE_BYTES, create_catalogue
from fdch.index.changes import put_cells
from fdch.index.items import Row, cells_of, row_digest
from fdch.index.layout import ASIDE, CATALOGUE, WAL, sync_folder
from fdch.index.parts import PartRecord, Place, fact, read_parts
from fdch.index.seal import Seal

DRAFT = "rebuilt"


@dataclass
class Salvaged:
    """What could be read of a damaged catalogue."""

    facts: dict[str, Any]
    parts: list[PartRecord]
    tables: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    lost: dict[int, str] = field(default_factory=dict)


def salvage(connection: sqlite3.Connection, place: Place) -> Salvaged:
    """Read all that can be read.

    Raises:
        DamagedIndex: Not even what the index is can be read.
    """
    try:
        facts = dict(connection.execute("SELECT name, value FROM facts"))
        found = Salvaged(facts, read_parts(connection, place))
        last = fact(connection, place, "next_number")
    except (sqlite3.Error, DamagedIndex) as problem:
        raise beyond_repair(place.folder, problem) from problem
    found.tables["chunks"] = [
        row
        for part in found.parts
        for kind in ("rows", "numbers")
        for row in _readable(
            connection,
            f"SELECT * FROM chunks WHERE part = {part.part} AND kind = '{kind}' "
            "AND chunk BETWEEN ? AND ?",
            part.rows,
        )
    ]
    for table, key in (("ranges", "first"), ("removed", "entry")):
        query = f"SELECT * FROM {table} WHERE {key} BETWEEN ? AND ?"
        rows = _readable(connection, query, last)
        found.tables[table] = [row for row in rows if _are_whole(row)]
    with suppress(sqlite3.Error):
        found.tables["files"] = connection.execute("SELECT * FROM files").fetchall()
    query = "SELECT * FROM items WHERE number BETWEEN ? AND ?"
    found.tables["items"] = [
        row for row in _readable(connection, query, last) if _is_proven(place.uid, row)
    ]
    found.lost = _lost(connection, found, last)
    return found


def beyond_repair(folder: Path, problem: Exception) -> DamagedIndex:
    """Say that an index cannot be repaired."""
    return DamagedIndex(
        f"index '{folder}' cannot be repaired: what it holds is not readable in "
        f"{CATALOGUE} ({problem}). Restore the folder from a copy."
    )


def rebuild(folder: Path, found: Salvaged) -> None:
    """Write the catalogue anew; the damaged one is put aside."""
    draft = folder / DRAFT
    draft.mkdir(exist_ok=True)
    (draft / CATALOGUE).unlink(missing_ok=True)
    uid = bytes.fromhex(found.facts["uid"])
    create_catalogue(draft, found.facts)
    with closing(sqlite3.connect(draft / CATALOGUE)) as connection, connection:
        for table, rows in found.tables.items():
            if rows:
                marks = ",".join("?" * len(rows[0]))
                insert = f"INSERT OR IGNORE INTO {table} VALUES ({marks})"
                connection.executemany(insert, rows)
        parts = [part.row(uid) for part in found.parts]
        connection.executemany("INSERT INTO parts VALUES (?, ?, ?, ?, ?)", parts)
        kept = [
            (number, Row(id, content, cells_of(id, content)))
            for number, id, content, _ in found.tables["items"]
        ]
        put_cells(connection, [n for n, _ in kept], [row for _, row in kept])
    aside = folder / ASIDE
    aside.mkdir(exist_ok=True)
    for name in (WAL, f"{CATALOGUE}-shm", CATALOGUE):
        with suppress(FileNotFoundError):
            os.replace(folder / name, aside / name)
    os.replace(draft / CATALOGUE, folder / CATALOGUE)
    Seal.of(folder, uid, PAGE_BYTES).write(folder)
    for left in draft.iterdir():
        left.unlink()
    draft.rmdir()
    sync_folder(folder)


def _readable(
    connection: sqlite3.Connection, query: str, last: int
) -> Iterator[tuple[Any, ...]]:
    """Give the rows between two keys that can be read, however few around a wound."""
    spans = [(0, last)]
    while spans:
        low, high = spans.pop()
        try:
            yield from connection.execute(query, (low, high)).fetchall()
        except sqlite3.DatabaseError:
            if low < high:
                middle = (low + high) // 2
                spans += [(middle + 1, high), (low, middle)]


def _are_whole(row: tuple[Any, ...]) -> bool:
    return all(isinstance(value, int) and value >= 0 for value in row)


def _is_proven(uid: bytes, row: tuple[Any, ...]) -> bool:
    number, id, content, digest = row
    try:
        return row_digest(uid, number, id, content) == digest
    except (TypeError, AttributeError, UnicodeEncodeError):
        return False


def _lost(connection: sqlite3.Connection, found: Salvaged, last: int) -> dict[int, str]:
    """Name the items whose rows could not be read, by the index of ids if it can."""
    known = {row[0] for row in found.tables["items"]}
    named: dict[int, str] = {}
    with suppress(sqlite3.Error):
        query = "SELECT number, id FROM items ORDER BY id"
        for number, id in connection.execute(query):
            fits = isinstance(number, int) and isinstance(id, str)
            if fits and 0 <= number < last and number not in known:
                named[number] = id
    return named
