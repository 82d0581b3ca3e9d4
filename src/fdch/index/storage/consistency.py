"""Whether what the catalogue says of items, parts and cells fits together."""

import sqlite3
from collections.abc import Iterator

import numpy as np

from fdch.errors import DamagedIndex
from fdch.index.storage.items import cells_of, row_digest
from fdch.index.storage.parts import Place, fact, read_parts
from fdch.index.storage.snapshot import load_snapshot

Finding = tuple[str, str]  # where, what


def check_catalogue(connection: sqlite3.Connection, place: Place) -> Iterator[Finding]:
    """Give what does not fit, table by table."""
    parts = read_parts(connection, place)
    next_number = fact(connection, place, "next_number")
    if parts and parts[-1].first + parts[-1].span > next_number:
        yield "parts", f"there are items from number {next_number} on"
    yield from _check_chunks(connection, place)
    yield from _check_ranges(connection, next_number)
    try:
        snapshot = load_snapshot(connection, place, None)
    except (DamagedIndex, FileNotFoundError):
        return  # told of when the files are looked at
    numbers = _column(connection, "SELECT number FROM items ORDER BY number")
    positions = snapshot.positions(numbers)
    if not (positions >= 0).all():
        yield "items", f"{np.sum(positions < 0)} have no code"
    if snapshot.is_running(numbers).any():
        yield "items", "some have a running number"
    removed = _column(connection, "SELECT number FROM removed ORDER BY number")
    known = sum(int(np.sum(part.offsets(removed) >= 0)) for part in snapshot.parts)
    if known != len(removed):
        yield "removed", f"{len(removed) - known} never had a code"
    rows = sum(part.record.rows for part in snapshot.parts)
    items = fact(connection, place, "items")
    if rows - len(removed) != items:
        yield "facts", f"{items} items are counted, {rows - len(removed)} have a code"
    if snapshot.commit and not len(snapshot.ranges) and len(numbers) != items:
        yield "facts", f"{items} items are counted, {len(numbers)} are there"
    yield from _check_items(connection, place)


def _column(connection: sqlite3.Connection, query: str) -> np.ndarray:
    cursor = connection.execute(query)
    return np.fromiter((number for (number,) in cursor), dtype=np.int64)


def _check_chunks(connection: sqlite3.Connection, place: Place) -> Iterator[Finding]:
    query = "SELECT part, kind, count(*), max(chunk) FROM chunks GROUP BY part, kind"
    found = {(part, kind): rest for part, kind, *rest in connection.execute(query)}
    for part in read_parts(connection, place):
        segments = [place.rows(part.part), place.numbers(part.part)]
        for segment in segments[: 2 if part.has_gaps else 1]:
            count = -(-part.rows // segment.chunk_rows)
            if found.pop((part.part, segment.kind), None) != [count, count - 1]:
                yield "chunks", f"part {part.part} has not {count} of {segment.kind}"
    for part, kind in found:
        yield "chunks", f"some are of {kind} of part {part}, which is not there"


def _check_ranges(
    connection: sqlite3.Connection, next_number: int
) -> Iterator[Finding]:
    end = 0
    query = "SELECT first, count FROM ranges ORDER BY first"
    for first, count in connection.execute(query):
        if first < end or count < 1 or first + count > next_number:
            yield "ranges", f"the one from number {first} on does not fit"
        end = first + count


def _check_items(connection: sqlite3.Connection, place: Place) -> Iterator[Finding]:
    """Compare each item with its checksum, and the cells with the items."""
    columns = dict(connection.execute('SELECT name, "column" FROM columns'))
    expected = count = 0
    for number, id, content, digest in connection.execute("SELECT * FROM items"):
        if row_digest(place.uid, number, id, content) != digest:
            yield "items", f"item '{id}' is not as written"
            continue
        for name, value, spelled in cells_of(id, content):
            expected += hash((columns.get(name), value, number, spelled))
            count += 1
    found = 0
    for cell in connection.execute("SELECT * FROM cells"):
        found += hash(cell)
        count -= 1
    if count or expected != found:
        yield "cells", "they are not those of the items"
