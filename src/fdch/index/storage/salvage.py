"""What log and catalogue still prove of a damaged index, record by record."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from fdch.errors import DamagedIndex
from fdch.index.storage.acknowledged import read_acknowledged
from fdch.index.storage.layout import (
    CATALOGUE,
    LOG,
)
from fdch.index.storage.log import (
    COMMIT,
    INDEX,
    ITEM,
    PART,
    RANGE,
    REMOVAL,
    Entry,
    Record,
    read_header,
    salvage_records,
)
from fdch.index.storage.records import (
    About,
    Commit,
    read_item,
)
from fdch.index.storage.tables import State, is_intact_item, is_proven


@dataclass
class Salvage:
    """What log and catalogue prove together.

    Args:
        uid: Identity of the index.
        about: What never changes of it.
        items: Id and content by number, of removed items too.
        expected: Numbers of the items that the log of today had.
        records: Kind and payload of removals, ranges and parts, by sequence number.
        counts: What the last commit said that is known.
        sequence: The highest number that is known to have been used.
        acknowledged: Number of the last commit that was acknowledged.
    """

    uid: bytes
    about: About | None = None
    items: dict[int, tuple[str, str]] = field(default_factory=dict)
    expected: set[int] = field(default_factory=set)
    records: dict[int, Entry] = field(default_factory=dict)
    counts: Commit = field(default_factory=Commit)
    sequence: int = 0
    acknowledged: int = 0


def read_copies(folder: Path, is_whole: bool) -> Salvage:
    """Read everything that log and catalogue prove.

    Args:
        folder: The index.
        is_whole: Whether the log proves all; the catalogue may then be of an older one.
    """
    content = b""
    with suppress(OSError):
        content = (folder / LOG).read_bytes()
    found = Salvage(_identity(folder))
    state = None if is_whole else _proven_state(folder, found.uid)
    records = list(salvage_records(content, found.uid))
    first = _first_sequence(folder, records, state)
    seen, _ = read_acknowledged(folder)
    if seen is not None and seen.uid == found.uid:
        found.acknowledged, found.sequence = seen.commit, seen.sequence
    if state is not None:
        found.about, found.counts = About.read(state.about), state.counts
        found.sequence = max(found.sequence, state.sequence)
    commits = [r.sequence for r in records if r.entry.kind == COMMIT]
    last = max([found.sequence, *commits])  # what follows was never committed
    for record in records:
        if first < record.sequence <= last:
            _take_record(found, record)
    found.sequence = max([last, *(record.sequence for record in records)])
    if not is_whole:
        is_same = state is None or state.first == first
        _salvage_catalogue(folder, found, first, is_same)
    return found


def _take_record(found: Salvage, record: Record) -> None:
    kind, payload = record.entry
    with suppress(DamagedIndex):
        if kind == ITEM:
            number, id, text = read_item(payload)
            found.items[number] = id, text
            found.expected.add(number)
        elif kind == INDEX:
            found.about = About.read(payload)
        elif kind == COMMIT:
            found.counts = _later(found.counts, Commit.read(payload))
        else:
            found.records[record.sequence] = record.entry


def _first_sequence(
    folder: Path, records: Sequence[Record], state: State | None
) -> int:
    """Find where the log begins: what is older was replaced by a compaction."""
    with suppress(DamagedIndex, OSError):
        return read_header(folder).first
    begun = [r.sequence - 1 for r in records if r.entry.kind == INDEX]
    return max(begun, default=state.first if state is not None else -1)


def _proven_state(folder: Path, uid: bytes) -> State | None:
    with (
        suppress(DamagedIndex, sqlite3.Error, OSError),
        closing(_connect(folder)) as connection,
    ):
        state = State.read(connection, folder)
        return state if state.uid == uid else None
    return None


def _later(one: Commit, other: Commit) -> Commit:
    return other if other.commit >= one.commit else one


def _identity(folder: Path) -> bytes:
    """Find the identity of an index in whichever file still says it.

    Raises:
        DamagedIndex: None does.
    """
    with suppress(DamagedIndex, OSError):
        return read_header(folder).uid
    seen, _ = read_acknowledged(folder)
    if seen is not None:
        return seen.uid
    for row in _rows(folder, "SELECT uid FROM state"):
        if isinstance(row[0], bytes) and len(row[0]) == 16:
            return row[0]
    raise DamagedIndex(
        f"index '{folder}' cannot be repaired: no file says which index it is. Restore "
        "it from a copy."
    )


def _salvage_catalogue(folder: Path, found: Salvage, first: int, is_same: bool) -> None:
    """Add what the catalogue proves.

    Args:
        folder: The index.
        found: What the log proves.
        first: Where the log begins.
        is_same: Whether the catalogue was made from this log.
    """
    for order in ("", "DESC"):  # from both ends, as far as SQLite can read
        query = f"SELECT * FROM items ORDER BY number {order}"
        for row in _rows(folder, query):
            if is_intact_item(found.uid, *row):
                found.items.setdefault(row[0], (row[1], row[2]))
                if is_same:
                    found.expected.add(row[0])
        query = f"SELECT * FROM records ORDER BY kind {order}, sequence {order}"
        for kind, sequence, payload, check in _rows(folder, query):
            name = str(kind).encode()
            is_known = name in (REMOVAL, RANGE, PART)
            proven = is_known and is_proven(found.uid, name, sequence, payload, check)
            if proven and sequence > first:
                found.records.setdefault(sequence, Entry(name, payload))
                found.sequence = max(found.sequence, sequence)


def _connect(folder: Path) -> sqlite3.Connection:
    path = (folder / CATALOGUE).absolute()
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _rows(folder: Path, query: str) -> Iterator[tuple]:  # type: ignore[type-arg]
    """Read rows of a catalogue that may be damaged, as far as that goes."""
    try:
        with closing(_connect(folder)) as connection:
            yield from connection.execute(query)
    except (sqlite3.Error, UnicodeDecodeError, OverflowError, OSError):
        return
