"""What a transaction changes: rows appended, items put in and taken out."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from fdch.errors import DataError
from fdch.index.search.rows import Rows
from fdch.index.storage.items import Row, cells_of
from fdch.index.storage.layout import CODES, MOST_PART_ROWS
from fdch.index.storage.parts import PartRecord, Place, fact, read_parts
from fdch.index.store import LABEL


def append_rows(connection: sqlite3.Connection, place: Place, rows: Rows) -> range:
    """Put codes behind the last ones; their items get the next numbers."""
    first = fact(connection, place, "next_number")
    if first + len(rows) > 2**47:
        raise DataError("an index holds at most 2**47 codes in its lifetime.")
    done = 0
    while done < len(rows):
        part = _open_part(connection, place, first + done)
        some = rows[done : done + MOST_PART_ROWS - part.rows]
        segment = place.rows(part.part)
        last = connection.execute(
            "SELECT digest FROM chunks WHERE part = ? AND kind = 'rows' AND chunk = ?",
            (part.part, part.rows // segment.chunk_rows),
        ).fetchone()
        digests = segment.append(part.rows, some, last[0] if last else None)
        put_chunks(connection, part.part, "rows", digests)
        count = part.rows + len(some)
        put_part(connection, place, replace(part, rows=count, span=count))
        done += len(some)
    set_fact(connection, "next_number", first + len(rows))
    return range(first, first + len(rows))


def put_part(connection: sqlite3.Connection, place: Place, part: PartRecord) -> None:
    """Keep what is known of a part."""
    connection.execute(
        "INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?)", part.row(place.uid)
    )


def put_chunks(
    connection: sqlite3.Connection,
    part: int,
    kind: str,
    chunks: Iterable[tuple[int, bytes]],
) -> None:
    """Keep the checksums of chunks."""
    connection.executemany(
        "INSERT OR REPLACE INTO chunks VALUES (?, ?, ?, ?)",
        ((part, kind, chunk, check) for chunk, check in chunks),
    )


def _open_part(connection: sqlite3.Connection, place: Place, number: int) -> PartRecord:
    """Find the part that goes on with a number, or begin one."""
    parts = read_parts(connection, place)
    if parts:
        last = parts[-1]
        goes_on = last.first + last.rows == number and not last.has_gaps
        query = "SELECT count(*) FROM files WHERE path LIKE ?"
        sidecars = f"{CODES}/{last.part:08d}.%"
        (compacted,) = connection.execute(query, (sidecars,)).fetchone()
        if goes_on and last.rows < MOST_PART_ROWS and not compacted:
            return last
    part = PartRecord(new_part(connection, place), number, 0, 0)
    place.rows(part.part).begin()
    return part


def new_part(connection: sqlite3.Connection, place: Place) -> int:
    """Give a part's number that was never used."""
    part = fact(connection, place, "next_part")
    set_fact(connection, "next_part", part + 1)
    return part


def set_fact(connection: sqlite3.Connection, name: str, value: int | str) -> None:
    """Write a fact."""
    connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))


def put_range(connection: sqlite3.Connection, numbers: range) -> None:
    """Let items have their numbers for ids."""
    # ids that begin with a digit lie together in the index of ids
    taken = connection.execute("SELECT id FROM items WHERE id >= '0' AND id < ':'")
    for (id,) in taken:
        if (
            len(id) < 19
            and id.isdecimal()
            and id == str(int(id))
            and int(id) in numbers
        ):
            raise DataError(
                f"an item has the id '{id}', which is the running number of another "
                "to be added. Give ids of your own to all, or use another index."
            )
    goes_on = connection.execute(
        "UPDATE ranges SET count = count + ? WHERE first + count = ?",
        (len(numbers), numbers.start),
    ).rowcount
    if not goes_on and len(numbers):
        connection.execute(
            "INSERT INTO ranges VALUES (?, ?)", (numbers.start, len(numbers))
        )


def put_items(
    connection: sqlite3.Connection, uid: bytes, numbers: range, rows: Sequence[Row]
) -> None:
    """Put items in, with the cells to filter by."""
    connection.executemany(
        "INSERT INTO items VALUES (?, ?, ?, ?)",
        (
            (number, row.id, row.content, row.digest(uid, number))
            for number, row in zip(numbers, rows, strict=True)
        ),
    )
    put_cells(connection, numbers, rows)


def put_cells(
    connection: sqlite3.Connection, numbers: Sequence[int], rows: Sequence[Row]
) -> None:
    """Put in the cells to filter items by."""
    columns = _columns(connection, rows)
    cells = [
        (columns[name], value, number, spelled)
        for number, row in zip(numbers, rows, strict=True)
        for name, value, spelled in row.cells
    ]
    # sorted, each page of the table is touched once
    cells.sort(key=lambda cell: (cell[0], isinstance(cell[1], str), cell[1], cell[2]))
    connection.executemany("INSERT INTO cells VALUES (?, ?, ?, ?)", cells)


def drop_items(
    connection: sqlite3.Connection, rows: dict[str, tuple[int, str]], running: set[int]
) -> None:
    """Take items out; their codes stay until the next compaction."""
    forget_items(connection, rows)
    numbers = [number for number, _ in rows.values()]
    connection.executemany(
        "INSERT INTO removed (number) VALUES (?)",
        ((number,) for number in sorted([*numbers, *running])),
    )


def forget_items(
    connection: sqlite3.Connection, rows: dict[str, tuple[int, str]]
) -> None:
    """Take out what is known of items, and say nothing of their codes."""
    columns = dict(connection.execute('SELECT name, "column" FROM columns'))
    connection.executemany(
        'DELETE FROM cells WHERE "column" = ? AND value = ? AND number = ? '
        "AND spelled = ?",
        _dropped_cells(columns, rows),
    )
    connection.executemany(
        "DELETE FROM items WHERE number = ?",
        ((number,) for number, _ in rows.values()),
    )


def _dropped_cells(
    columns: dict[str, int], rows: dict[str, tuple[int, str]]
) -> Iterator[tuple[int, object, int, str]]:
    for id, (number, content) in rows.items():
        for name, value, spelled in cells_of(id, content):
            yield columns[name], value, number, spelled


def _columns(connection: sqlite3.Connection, rows: Sequence[Row]) -> dict[str, int]:
    """Give the number of each column, new ones too."""
    named = {cell[0] for row in rows for cell in row.cells} - {LABEL}
    connection.executemany(
        "INSERT OR IGNORE INTO columns (name) VALUES (?)",
        ((name,) for name in [LABEL, *sorted(named)]),
    )
    return dict(connection.execute('SELECT name, "column" FROM columns'))
