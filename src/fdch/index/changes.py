"""What a transaction changes: rows appended, items put in and taken out."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from fdch.errors import DataError
from fdch.index.items import Row, cells_of
from fdch.index.layout import MOST_PART_ROWS
from fdch.index.rows import Rows
from fdch.index.snapshot import Place, fact, read_parts
from fdch.index.store import LABEL


def append_rows(connection: sqlite3.Connection, place: Place, rows: Rows) -> range:
    """Put codes behind the last ones; their items get the next numbers."""
    first = fact(connection, place, "next_number")
    if first + len(rows) > 2**47:
        raise DataError("an index holds at most 2**47 codes in its lifetime.")
    done = 0
    while done < len(rows):
        part, before = _open_part(connection, place, first + done)
        some = rows[done : done + MOST_PART_ROWS - before]
        segment = place.rows(part)
        chunk = before // segment.chunk_rows
        query = (
            "SELECT digest FROM chunks WHERE part = ? AND kind = 'rows' AND chunk = ?"
        )
        (last,) = connection.execute(query, (part, chunk)).fetchone() or (None,)
        put_chunks(connection, part, "rows", segment.append(before, some, last))
        connection.execute(
            "UPDATE parts SET rows = rows + ?1, span = span + ?1 WHERE part = ?2",
            (len(some), part),
        )
        done += len(some)
    set_fact(connection, "next_number", first + len(rows))
    return range(first, first + len(rows))


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


def _open_part(
    connection: sqlite3.Connection, place: Place, number: int
) -> tuple[int, int]:
    """Find the part that goes on with a number, or begin one."""
    parts = read_parts(connection, place)
    if parts:
        last = parts[-1]
        goes_on = last.first + last.rows == number and not last.has_gaps
        sidecar = f"codes/{last.part:08d}.%"
        (sidecars,) = connection.execute(
            "SELECT count(*) FROM files WHERE path LIKE ?", (sidecar,)
        ).fetchone()
        if goes_on and last.rows < MOST_PART_ROWS and not sidecars:
            return last.part, last.rows
    part = new_part(connection, place)
    place.rows(part).begin()
    connection.execute("INSERT INTO parts VALUES (?, ?, 0, 0)", (part, number))
    return part, 0


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
    columns = _columns(connection, rows)
    connection.executemany(
        "INSERT INTO items VALUES (?, ?, ?, ?)",
        (
            (number, row.id, row.content, row.digest(uid, number))
            for number, row in zip(numbers, rows, strict=True)
        ),
    )
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
    columns = dict(connection.execute('SELECT name, "column" FROM columns'))
    connection.executemany(
        'DELETE FROM cells WHERE "column" = ? AND value = ? AND number = ? '
        "AND spelled = ?",
        _dropped_cells(columns, rows),
    )
    numbers = [number for number, _ in rows.values()]
    connection.executemany(
        "DELETE FROM items WHERE number = ?", ((number,) for number in numbers)
    )
    connection.executemany(
        "INSERT INTO removed (number) VALUES (?)",
        ((number,) for number in sorted([*numbers, *running])),
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
