"""The tables of the catalogue, and how records of the log change them."""

import json
import sqlite3
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DamagedIndex
from fdch.index.storage.catalogue.cell_table import (
    CELLS_TABLE,
    Cell,
    drop_cells,
    put_cells,
)
from fdch.index.storage.catalogue.items import Row, read_row
from fdch.index.storage.catalogue.word_table import WORDS_TABLE, drop_words, put_words
from fdch.index.storage.files.layout import CATALOGUE, REPAIR, digest
from fdch.index.storage.files.log import (
    COMMIT,
    INDEX,
    ITEM,
    PART,
    RANGE,
    REMOVAL,
    Entry,
    Position,
    Record,
    payload_digest,
)
from fdch.index.storage.files.records import (
    Commit,
    PartRecord,
    decode_about,
    item_entry,
    read_item,
    read_part,
    read_removal,
)
from fdch.index.store import LABEL

SCHEMA = (
    "CREATE TABLE state (row INTEGER PRIMARY KEY CHECK (row = 0), uid BLOB NOT NULL, "
    "about TEXT NOT NULL, first INTEGER NOT NULL, sequence INTEGER NOT NULL, "
    '"offset" INTEGER NOT NULL, chain BLOB NOT NULL, "commit" INTEGER NOT NULL, '
    "items INTEGER NOT NULL, next_number INTEGER NOT NULL, "
    "next_part INTEGER NOT NULL, digest BLOB NOT NULL)",
    "CREATE TABLE records (kind TEXT NOT NULL, sequence INTEGER NOT NULL, "
    "payload BLOB NOT NULL, digest BLOB NOT NULL, "
    "PRIMARY KEY (kind, sequence)) WITHOUT ROWID",
    "CREATE TABLE parts (part INTEGER PRIMARY KEY, content TEXT NOT NULL, "
    "digest BLOB NOT NULL)",
    "CREATE TABLE items (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, "
    "content TEXT NOT NULL, digest BLOB NOT NULL)",
    'CREATE TABLE columns ("column" INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)',
    CELLS_TABLE,
    WORDS_TABLE,
)
_KEPT = (REMOVAL, RANGE, PART)  # which the table of records has, too
_ITEMS_AT_A_TIME = 10_000


@dataclass(frozen=True)
class State:
    """Up to where the catalogue follows the log, and what it then holds.

    The last fields are those of `Position` and of the last `Commit`.
    """

    uid: bytes  # identity of the index
    about: str  # what never changes of it, as JSON
    first: int  # sequence number before the log's first; changes with each compaction
    sequence: int
    offset: int
    chain: bytes
    commit: int = 0
    items: int = 0
    next_number: int = 0
    next_part: int = 0

    @property
    def position(self) -> Position:
        """Return the end of the log as far as it was applied."""
        return Position(self.sequence, self.offset, self.chain)

    @property
    def counts(self) -> Commit:
        """Return what the last commit said."""
        return Commit(self.commit, self.items, self.next_number, self.next_part)

    def digest(self) -> bytes:
        """Return the checksum that the catalogue keeps beside the state."""
        values = json.dumps(astuple(self), default=bytes.hex)
        return digest(values.encode(), self.uid, "state")

    @classmethod
    def read(cls, connection: sqlite3.Connection, folder: Path) -> "State":
        """Read the state, with its checksum."""
        row = connection.execute("SELECT * FROM state").fetchone()
        if row is not None:
            state, check = cls(*row[1:-1]), row[-1]
            is_typed = isinstance(state.uid, bytes) and len(state.uid) == 16
            if is_typed and state.digest() == check:
                return state
        raise DamagedIndex(f"'{folder / CATALOGUE}' has lost its state. {REPAIR}")


class Applier:
    """Applies records to the catalogue in a transaction, a commit at a time."""

    def __init__(self, connection: sqlite3.Connection, state: State) -> None:
        self._connection = connection
        self._execute, self._execute_many = connection.execute, connection.executemany
        self.state = state
        self._pending: list[tuple[int, str, str, bytes]] = []
        self._cells: list[Cell] = []
        self._words: list[tuple[int, str]] = []
        self._columns: dict[str, int] = {}

    def apply(self, sequence: int, entry: Entry, check: bytes) -> None:
        """Apply one record: its number, what it says, and the digest of that."""
        kind, payload = entry
        if kind == ITEM:
            number, id, content = read_item(payload)
            self.put_items([number], [read_row(id, content)], [check])
        elif kind in _KEPT:
            self._keep(sequence, entry, check)
        elif kind == COMMIT:
            self.state = replace(self.state, **asdict(Commit.read(payload)))
        elif kind == INDEX:
            self.state = replace(self.state, about=decode_about(payload))
        else:
            raise DamagedIndex(f"the log has a record of unknown kind {kind!r}.")

    def put_items(
        self, numbers: Sequence[int], rows: Sequence[Row], checks: Sequence[bytes]
    ) -> None:
        """Apply the records of items whose cells are known."""
        self._number_columns({cell[0] for row in rows for cell in row.cells})
        columns = self._columns
        self._pending += [
            (number, row.id, row.content, check)
            for number, row, check in zip(numbers, rows, checks, strict=True)
        ]
        self._cells += [
            (columns[name], value, number, text)
            for number, row in zip(numbers, rows, strict=True)
            for name, value, text in row.cells
        ]
        self._words += [(n, row.words) for n, row in zip(numbers, rows, strict=True)]
        if len(self._pending) >= _ITEMS_AT_A_TIME:
            self._insert_items()

    def finish(self, end: Position) -> State:
        """Write what is pending, and the state at the end of a commit; return it."""
        self._insert_items()
        self.state = replace(self.state, **end._asdict())
        marks = ", ".join("?" * 11)
        row = (*astuple(self.state), self.state.digest())
        self._execute(f"INSERT OR REPLACE INTO state VALUES (0, {marks})", row)
        return self.state

    def _keep(self, sequence: int, entry: Entry, check: bytes) -> None:
        uid, (kind, payload) = self.state.uid, entry
        check = digest(check, uid, "kept", sequence)
        self._execute(
            "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?)",
            (kind.decode(), sequence, payload, check),
        )
        if kind == PART:
            part = read_part(payload)
            content = part.write()
            row = (part.part, content, digest(content.encode(), uid, "part"))
            self._execute("INSERT OR REPLACE INTO parts VALUES (?, ?, ?)", row)
        elif kind == REMOVAL:
            self._insert_items()
            self._drop_items(read_removal(payload))

    def _insert_items(self) -> None:
        """Put items in, with the cells to filter by and the words to find them by."""
        if not self._pending:
            return
        self._execute_many("INSERT INTO items VALUES (?, ?, ?, ?)", self._pending)
        put_cells(self._connection, self._cells)
        put_words(self._connection, self._words)
        self._pending, self._cells, self._words = [], [], []

    def _number_columns(self, names: set[str]) -> None:
        """Give each column a number, new ones too."""
        if self._columns and names <= self._columns.keys():
            return
        self._execute_many(
            "INSERT OR IGNORE INTO columns (name) VALUES (?)",
            ((name,) for name in [LABEL, *sorted(names - {LABEL})]),
        )
        self._columns = dict(self._execute('SELECT name, "column" FROM columns'))

    def _drop_items(self, numbers: NDArray[np.int64]) -> None:
        """Take items out; their codes stay until the next compaction."""
        self._number_columns(set())
        columns = self._columns
        listed = json.dumps(numbers.tolist())
        inside = "number IN (SELECT value FROM json_each(?))"
        rows = self._execute(
            f"SELECT number, id, content FROM items WHERE {inside}", (listed,)
        ).fetchall()
        stored = [(number, read_row(id, content)) for number, id, content in rows]
        cells = (
            (columns[name], value, number, spelled)
            for number, row in stored
            for name, value, spelled in row.cells
        )
        drop_cells(self._connection, cells)
        drop_words(self._connection, ((number, row.words) for number, row in stored))
        self._execute(f"DELETE FROM items WHERE {inside}", (listed,))


def apply_all(
    connection: sqlite3.Connection, state: State, records: Iterable[Record]
) -> State:
    """Apply records to the catalogue; return its new state."""
    applier, end = Applier(connection, state), state.position
    for record in records:
        applier.apply(record.sequence, record.entry, record.digest)
        end = record.position
    return applier.finish(end)


def read_parts(connection: sqlite3.Connection, state: State) -> list[PartRecord]:
    """Read all parts, in order of insertion, each as written and beside the others."""
    parts = []
    for _, content, check in connection.execute("SELECT * FROM parts"):
        is_proven = digest(str(content).encode(), state.uid, "part") == check
        parts.append(PartRecord.read(content if is_proven else ""))
    parts.sort(key=lambda part: part.first)
    ends = [0, *(part.first + part.span for part in parts)]
    is_wrong = ends[-1] > state.next_number or any(
        part.first < end or part.part >= state.next_part
        for part, end in zip(parts, ends, strict=False)
    )
    if is_wrong:
        raise DamagedIndex(f"{CATALOGUE} describes a part wrongly. {REPAIR}")
    return parts


def kept_records(
    connection: sqlite3.Connection,
    uid: bytes,
    kind: bytes,
    after: int = -1,
    *,
    newest_first: bool = False,
) -> Iterator[bytes]:
    """Read the payloads of records that the catalogue keeps."""
    query = (
        "SELECT sequence, payload, digest FROM records "
        "WHERE kind = ? AND sequence > ? ORDER BY sequence"
        + (" DESC" if newest_first else "")
    )
    rows = connection.execute(query, (kind.decode(), after))
    for sequence, payload, check in rows:
        if not is_proven(uid, Entry(kind, payload), sequence, check):
            raise DamagedIndex(f"a record in {CATALOGUE} is damaged. {REPAIR}")
        yield payload


def is_proven(uid: bytes, entry: Entry, sequence: Any, check: Any) -> bool:
    """Tell whether a row of the table of records is as written."""
    if not isinstance(entry.payload, bytes):
        return False
    if type(sequence) is not int or sequence < 0:
        return False
    return digest(payload_digest(uid, entry), uid, "kept", sequence) == check


def is_intact_item(uid: bytes, number: Any, id: Any, content: Any, check: Any) -> bool:
    """Tell whether an item's row is as written."""
    if type(number) is not int or not 0 <= number < 2**63:
        return False
    if not isinstance(id, str) or not isinstance(content, str) or len(id) > 2**14:
        return False
    try:
        return payload_digest(uid, item_entry(number, id, content)) == check
    except (UnicodeEncodeError, struct.error):  # no text, or too long for a record
        return False
