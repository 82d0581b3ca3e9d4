"""A damaged catalogue written anew from the rows that are provably intact."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DamagedIndex
from fdch.index.storage.catalogue import PAGE_BYTES, create_catalogue
from fdch.index.storage.changes import put_cells
from fdch.index.storage.items import Row, cells_of, from_row, row_digest
from fdch.index.storage.layout import (
    ASIDE,
    CATALOGUE,
    DRAFT,
    PARTIAL,
    SEAL,
    WAL,
    free_path,
    is_damage,
    sync_folder,
)
from fdch.index.storage.parts import PartRecord, Place, fact, read_parts
from fdch.index.storage.seal import Seal
from fdch.index.storage.tree_pages import ProvenPages

_OLD = (WAL, f"{CATALOGUE}-shm", CATALOGUE)


@dataclass
class Salvaged:
    """What could be read of a damaged catalogue."""

    facts: dict[str, Any]
    parts: list[PartRecord]
    tables: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    lost: dict[int, str] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)


def salvage(
    connection: sqlite3.Connection, place: Place, seal: Seal | None
) -> Salvaged:
    """Read all that can be read and is proven: by checksums, or by the page's seal.

    Raises:
        DamagedIndex: Not even what the index is can be read.
    """
    try:
        pages = ProvenPages(place.folder, seal, connection)
        facts = dict(connection.execute("SELECT name, value FROM facts"))
        found = Salvaged(facts, read_parts(connection, place))
        last = fact(connection, place, "next_number")
        least = max((part.first + part.span for part in found.parts), default=0)
        facts["next_number"] = last = max(last, least) if last < 2**47 else least
        fact(connection, place, "commit")
        for name in ("generation", "next_part"):
            if not isinstance(facts.get(name), int) or not 0 <= facts[name] < 2**31:
                facts[name] = 0
        parts = [part.part + 1 for part in found.parts]
        facts["next_part"] = max(facts["next_part"], *parts, 0)
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
    with suppress(sqlite3.Error):
        found.tables["files"] = connection.execute("SELECT * FROM files").fetchall()
    query = "SELECT * FROM items WHERE number BETWEEN ? AND ?"
    found.tables["items"] = [
        row for row in _readable(connection, query, last) if _is_proven(place.uid, row)
    ]
    found.lost = _lost(connection, found, last)
    found.tables["removed"] = _removed(pages, found)
    found.tables["ranges"] = _ranges(pages, found, place)
    return found


def beyond_repair(folder: Path, problem: Exception) -> DamagedIndex:
    """Say that an index cannot be repaired."""
    return DamagedIndex(
        f"index '{folder}' cannot be repaired: what it holds is not readable in "
        f"{CATALOGUE} ({problem}). Restore the folder from a copy."
    )


def rebuild(folder: Path, found: Salvaged) -> None:
    """Write the catalogue anew; the damaged one is put aside.

    The new one is whole under a name of its own before anything is changed; from
    then on, `finish_rebuilding` takes the old one's place however often it is killed.
    """
    draft = folder / (DRAFT + PARTIAL)
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
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
    Seal.of(draft, uid, PAGE_BYTES).write(draft)
    sync_folder(draft / CATALOGUE)  # files too
    sync_folder(draft)
    _keep_aside(folder)
    os.rename(draft, folder / DRAFT)
    sync_folder(folder)
    finish_rebuilding(folder)


def _keep_aside(folder: Path) -> None:
    """Copy the damaged catalogue and its log to names that fit and are free."""
    aside = folder / ASIDE
    aside.mkdir(exist_ok=True)
    free = free_path(aside / CATALOGUE)
    for name in _OLD:
        copy = free.with_name(free.name + name.removeprefix(CATALOGUE))
        copy.unlink(missing_ok=True)  # by a repair that was killed at it
        with suppress(FileNotFoundError):
            shutil.copy2(folder / name, copy)
            sync_folder(copy)
    sync_folder(aside)


def finish_rebuilding(folder: Path) -> None:
    """Let a catalogue that was written anew take its place, if there is one."""
    draft = folder / DRAFT
    if not draft.is_dir():
        return
    if (draft / CATALOGUE).is_file():
        for name in _OLD[:-1]:  # an old log must not meet the new catalogue
            (folder / name).unlink(missing_ok=True)
        sync_folder(folder)
        os.replace(draft / CATALOGUE, folder / CATALOGUE)
        sync_folder(folder)
    if (draft / SEAL).is_file():
        os.replace(draft / SEAL, folder / SEAL)
        sync_folder(folder)
    shutil.rmtree(draft)
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
        except sqlite3.DatabaseError as problem:
            if not is_damage(problem):
                raise
            if low < high:
                middle = (low + high) // 2
                spans += [(middle + 1, high), (low, middle)]


def _removed(pages: ProvenPages, found: Salvaged) -> list[tuple[Any, ...]]:
    """Read the list of removed items, which is there twice: as a table and an index."""
    table, index = pages.rows("removed"), pages.rows("sqlite_autoindex_removed_1")
    entries = {(key, row[1]) for key, row in table.rows if len(row) == 2}
    indexed = {(row[1], row[0]) for _, row in index.rows if len(row) == 2}
    if table.is_whole and index.is_whole and entries != indexed:
        kept = entries & indexed  # not even a seal says which of them is right
    else:
        kept = entries | indexed
    rows = sorted((key, n) for key, n in kept if key is not None and n is not None)
    is_whole = (table.is_whole or index.is_whole) and len(rows) == len(kept)
    codes = sum(part.rows for part in found.parts)
    items = found.facts.get("items")
    missing = codes - items - len(rows) if isinstance(items, int) else -1
    if kept < entries | indexed or (not is_whole and missing):
        many = f"{missing:,}" if missing > 0 else "some"
        found.told.append(
            f"{many} entries of the list of removed items; those of them that had "
            "running numbers for ids are there again"
        )
    return rows


def _ranges(pages: ProvenPages, found: Salvaged, place: Place) -> list[tuple[Any, ...]]:
    """Read which items have running numbers, or conclude it from all other items."""
    table = pages.rows("ranges")
    rows = sorted((key, row[1]) for key, row in table.rows if len(row) == 2)
    last = found.facts["next_number"]
    rows = [
        (first, count)
        for first, count in rows
        if first is not None
        and count is not None
        and 0 <= first < first + count <= last
    ]
    if table.is_whole:
        return rows
    items, ids = pages.rows("items"), pages.rows("sqlite_autoindex_items_1")
    listed = {row[1] for _, row in ids.rows if len(row) == 2}
    if not (items.is_whole or (ids.is_whole and None not in listed)):
        found.told.append("which items had running numbers for ids")
        return rows
    named = {key for key, _ in items.rows} | listed | set(found.lost)
    named |= {row[0] for row in found.tables["items"]}
    with_names = np.array(sorted(n for n in named if n is not None), dtype=np.int64)
    return list(_between(_numbers(found, place), with_names))


def _numbers(found: Salvaged, place: Place) -> NDArray[np.int64]:
    """Give the numbers of all codes, where they can be told."""
    checks = {tuple(row[:3]): row[3] for row in found.tables["chunks"]}
    numbers = [np.empty(0, dtype=np.int64)]
    for part in found.parts:
        if not part.has_gaps:
            numbers.append(np.arange(part.first, part.first + part.rows))
            continue
        segment = place.numbers(part.part)
        with suppress(FileNotFoundError):
            for chunk, content in segment.chunks(part.rows):
                key = (part.part, segment.kind, chunk)
                if checks.get(key) == segment.digest(chunk, content):
                    some = np.frombuffer(content, dtype=segment.dtype)
                    numbers.append(part.first + some.astype(np.int64))
    return np.concatenate(numbers)


def _between(
    numbers: NDArray[np.int64], named: NDArray[np.int64]
) -> Iterator[tuple[int, int]]:
    """Give first and count of each stretch of numbers without a named one inside."""
    bare = np.setdiff1d(numbers, named)
    if not len(bare):
        return
    stretch = np.searchsorted(named, bare)
    starts = np.flatnonzero(np.diff(stretch, prepend=-1))
    ends = np.append(starts[1:], len(bare)) - 1
    for first, last in zip(bare[starts].tolist(), bare[ends].tolist(), strict=True):
        yield first, last - first + 1


def _is_proven(uid: bytes, row: tuple[Any, ...]) -> bool:
    number, id, content, digest = row
    try:
        if row_digest(uid, number, id, content) != digest:
            return False
        from_row(id, content)
    except (TypeError, AttributeError, UnicodeEncodeError, DamagedIndex):
        return False
    return True


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
