"""The tables of the catalogue, and how records of the log change them."""

import json
import sqlite3
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
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
from fdch.index.storage.files.acknowledged import Acknowledged
from fdch.index.storage.files.layout import CATALOGUE, damaged, digest
from fdch.index.storage.files.log import Entry, Kind, Position, Record, payload_digest
from fdch.index.storage.files.records import (
    About,
    Commit,
    PartRecord,
    damage_of,
    item_entry,
    join_parts,
    read_item,
    read_part,
    read_removal,
    write_json,
)
from fdch.index.store import LABEL

SCHEMA = (
    "CREATE TABLE state (row INTEGER PRIMARY KEY CHECK (row = 0), uid BLOB NOT NULL, "
    "content TEXT NOT NULL, digest BLOB NOT NULL)",
    "CREATE TABLE records (kind TEXT NOT NULL, sequence INTEGER NOT NULL, "
    "payload BLOB NOT NULL, digest BLOB NOT NULL, "
    "PRIMARY KEY (kind, sequence)) WITHOUT ROWID",
    "CREATE TABLE items (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, "
    "content TEXT NOT NULL, digest BLOB NOT NULL)",
    'CREATE TABLE columns ("column" INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)',
    CELLS_TABLE,
    WORDS_TABLE,
)
_KEPT = (Kind.REMOVAL, Kind.RANGE, Kind.PART)  # which the table of records has, too
_ITEMS_AT_A_TIME = 10_000
_NO_COMMIT = Commit()


@dataclass(frozen=True)
class State:
    """Up to where the catalogue follows the log, and what it then holds."""

    uid: bytes  # identity of the index
    first: int  # sequence number before the log's first; changes with each compaction
    position: Position  # the end of the log as far as it was applied
    about: About  # what the index is
    counts: Commit = _NO_COMMIT  # what the last commit said
    parts: tuple[PartRecord, ...] = ()  # in order of insertion, without checksums

    def __post_init__(self) -> None:
        ends = [0, *(part.first + part.span for part in self.parts)]
        is_wrong = ends[-1] > self.counts.next_number or any(
            not part.rows or part.first < end or part.part >= self.counts.next_part
            for part, end in zip(self.parts, ends, strict=False)
        )
        if is_wrong or min(self.first, *self.position[:2]) < 0:
            raise ValueError("a part or a position is wrong")

    @property
    def acknowledged(self) -> Acknowledged:
        """What to put on record when this state is committed."""
        counts = self.counts
        return Acknowledged(
            self.position.sequence, counts.commit, counts.items, self.uid
        )

    def write(self, connection: sqlite3.Connection) -> None:
        """Put the state into the catalogue, with its checksum."""
        known = {
            "first": self.first,
            "position": [*self.position[:2], self.position.chain.hex()],
            "about": self.about.fields,
            "counts": asdict(self.counts),
            "parts": [part.fields for part in self.parts],
        }
        content = write_json(known)
        connection.execute(
            "INSERT OR REPLACE INTO state VALUES (0, ?, ?, ?)",
            (self.uid, content.decode(), digest(content, self.uid, "state")),
        )

    @classmethod
    def read(cls, connection: sqlite3.Connection, folder: Path) -> "State":
        """Read the state, if it is as written."""
        query = "SELECT uid, content, digest FROM state"
        row = connection.execute(query).fetchone()
        if row is None or (state := _parse_state(*row)) is None:
            raise damaged(f"'{folder / CATALOGUE}' has lost its state")
        return state


@lru_cache(maxsize=16)  # every search reads the state
def _parse_state(uid: Any, content: Any, check: Any) -> State | None:
    """Return what a state's row says; None if it is not as written."""
    is_uid = isinstance(uid, bytes) and len(uid) == 16
    if not is_uid or digest(str(content).encode(), uid, "state") != check:
        return None
    with damage_of("the catalogue"):
        known = json.loads(content)
        sequence, offset, chain = known["position"]
        return State(
            uid,
            known["first"],
            Position(sequence, offset, bytes.fromhex(chain)),
            About(**known["about"]),
            Commit(**known["counts"]),
            tuple(PartRecord(**fields) for fields in known["parts"]),
        )


class Applier:
    """Applies records to the catalogue in a transaction, a commit at a time."""

    def __init__(self, connection: sqlite3.Connection, state: State) -> None:
        self._connection = connection
        self._execute, self._execute_many = connection.execute, connection.executemany
        self._state, self._about, self._counts = state, state.about, state.counts
        self._parts = {part.part: part for part in state.parts}
        self._pending: list[tuple[int, Row, bytes]] = []
        self._columns: dict[str, int] = {}

    def apply(self, sequence: int, entry: Entry, check: bytes) -> None:
        """Apply one record: its number, what it says, and the digest of that."""
        kind, payload = entry
        if kind == Kind.ITEM:
            number, id, content = read_item(payload)
            self.put_items([number], [read_row(id, content)], [check])
        elif kind in _KEPT:
            self._keep(sequence, entry, check)
        elif kind == Kind.COMMIT:
            self._counts = Commit.read(payload)
        elif kind == Kind.INDEX:
            self._about = About.read(payload)
        else:
            raise DamagedIndex(f"the log has a record of unknown kind {kind!r}.")

    def put_items(
        self, numbers: Sequence[int], rows: Sequence[Row], checks: Sequence[bytes]
    ) -> None:
        """Apply the records of items whose cells are known."""
        self._pending += zip(numbers, rows, checks, strict=True)
        if len(self._pending) >= _ITEMS_AT_A_TIME:
            self._insert_items()

    def finish(self, end: Position) -> State:
        """Write what is pending, and the state at the end of a commit; return it."""
        self._insert_items()
        parts = sorted(self._parts.values(), key=lambda part: part.first)
        with damage_of("the index"):
            state = replace(
                self._state,
                position=end,
                about=self._about,
                counts=self._counts,
                parts=tuple(parts),
            )
        state.write(self._connection)
        return state

    def _keep(self, sequence: int, entry: Entry, check: bytes) -> None:
        uid, (kind, payload) = self._state.uid, entry
        check = digest(check, uid, "kept", sequence)
        self._execute(
            "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?)",
            (kind.decode(), sequence, payload, check),
        )
        if kind == Kind.PART:
            part = replace(read_part(payload), checks={}, packed=b"")
            self._parts[part.part] = part
        elif kind == Kind.REMOVAL:
            self._insert_items()
            self._drop_items(read_removal(payload))

    def _insert_items(self) -> None:
        """Put items in, with the cells to filter by and the words to find them by."""
        if not self._pending:
            return
        items = [(number, row) for number, row, _ in self._pending]
        self._execute_many(
            "INSERT INTO items VALUES (?, ?, ?, ?)",
            [
                (number, row.id, row.content, check)
                for number, row, check in self._pending
            ],
        )
        put_cells(self._connection, self._cells(items))
        put_words(self._connection, ((number, row.words) for number, row in items))
        self._pending = []

    def _cells(self, items: Sequence[tuple[int, Row]]) -> Iterator[Cell]:
        """Return the cells of items, under the numbers of their columns."""
        names = {name for _, row in items for name, _, _ in row.cells}
        if not self._columns or not names <= self._columns.keys():
            self._execute_many(
                "INSERT OR IGNORE INTO columns (name) VALUES (?)",
                ((name,) for name in [LABEL, *sorted(names - {LABEL})]),
            )
            self._columns = dict(self._execute('SELECT name, "column" FROM columns'))
        for number, row in items:
            for name, value, spelled in row.cells:
                yield self._columns[name], value, number, spelled

    def _drop_items(self, numbers: NDArray[np.int64]) -> None:
        """Take items out; their codes stay until the next compaction."""
        listed = json.dumps(numbers.tolist())
        inside = "number IN (SELECT value FROM json_each(?))"
        query = f"SELECT number, id, content FROM items WHERE {inside}"
        rows = self._execute(query, (listed,)).fetchall()
        items = [(number, read_row(id, content)) for number, id, content in rows]
        drop_cells(self._connection, self._cells(items))
        drop_words(self._connection, ((number, row.words) for number, row in items))
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
            raise damaged(f"a record in {CATALOGUE} is damaged")
        yield payload


def kept_parts(connection: sqlite3.Connection, uid: bytes) -> dict[int, PartRecord]:
    """Read all parts with the checksums of their chunks."""
    return join_parts(kept_records(connection, uid, Kind.PART))


def is_proven(uid: bytes, entry: Entry, sequence: Any, check: Any) -> bool:
    """Return whether a row of the table of records is as written."""
    if not isinstance(entry.payload, bytes):
        return False
    if type(sequence) is not int or sequence < 0:
        return False
    return digest(payload_digest(uid, entry), uid, "kept", sequence) == check


def is_intact_item(uid: bytes, number: Any, id: Any, content: Any, check: Any) -> bool:
    """Return whether an item's row is as written."""
    if type(number) is not int or not 0 <= number < 2**63:
        return False
    if not isinstance(id, str) or not isinstance(content, str) or len(id) > 2**14:
        return False
    try:
        return payload_digest(uid, item_entry(number, id, content)) == check
    except (UnicodeEncodeError, struct.error):  # no text, or too long for a record
        return False
