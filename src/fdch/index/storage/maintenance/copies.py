"""What the records of an index prove, gathered from every copy that is left."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from fdch.errors import DamagedIndex
from fdch.index.storage.catalogue.tables import State, is_intact_item, is_proven
from fdch.index.storage.files.acknowledged import read_acknowledged
from fdch.index.storage.files.layout import CATALOGUE
from fdch.index.storage.files.log import (
    HEADER_BYTES,
    Entry,
    Kind,
    Position,
    Record,
    read_header,
    read_records,
)
from fdch.index.storage.files.records import (
    About,
    Commit,
    item_entry,
    read_item,
    read_part,
    read_range,
    read_removal,
)

_READERS = {Kind.REMOVAL: read_removal, Kind.RANGE: read_range, Kind.PART: read_part}


@dataclass
class Copies:
    """What log and catalogue prove together, of removed items too."""

    uid: bytes  # identity of the index
    about: About | None = None  # what it is
    counts: Commit = field(default_factory=Commit)  # what the last commit says
    items: dict[int, bytes] = field(default_factory=dict)  # payloads, by number
    # removals, ranges and parts, by sequence number
    records: dict[int, Entry] = field(default_factory=dict)
    expected: set[int] = field(default_factory=set)  # numbers in the log of today
    sequence: int = 0  # the highest number that is known to have been used
    acknowledged: int = 0  # number of the last commit that was acknowledged

    def take(self, sequence: int, entry: Entry) -> None:
        """Apply one record, if a version of this program can have written it."""
        kind, payload = entry
        if kind == Kind.ITEM:
            self.items[read_item(payload)[0]] = payload
        elif kind == Kind.INDEX:
            self.about = About.read(payload)
        elif kind == Kind.COMMIT:
            counts = Commit.read(payload)
            self.counts = max(self.counts, counts, key=lambda each: each.commit)
        else:
            _READERS[kind](payload)
            self.records[sequence] = entry

    def payloads(self, kind: bytes) -> list[bytes]:
        """Return what the removals, ranges or parts say, in their order."""
        found = sorted(self.records.items())
        return [entry.payload for _, entry in found if entry.kind == kind]


def read_copies(folder: Path, is_whole: bool) -> Copies:
    """Read all that log and catalogue prove; the log alone where that is whole."""
    found = Copies(_find_identity(folder))
    state = None if is_whole else _proven_state(folder, found.uid)
    records: list[Record] = []
    with suppress(OSError):
        start = Position(0, HEADER_BYTES, b"")
        records += read_records(folder, found.uid, start, skip_damage=True)
    first = _first_sequence(folder, records, state)
    seen, _ = read_acknowledged(folder)
    if seen is not None and seen.uid == found.uid:
        found.acknowledged, found.sequence = seen.commit, seen.sequence
    if state is not None:
        found.counts = state.counts
        found.sequence = max(found.sequence, state.position.sequence)
    commits = [r.sequence for r in records if r.entry.kind == Kind.COMMIT]
    last = max([found.sequence, *commits])  # what follows was never committed
    for record in records:
        if first < record.sequence <= last:
            with suppress(DamagedIndex):
                found.take(record.sequence, record.entry)
    described = [r.sequence for r in records if r.entry.kind == Kind.INDEX]
    if state is not None and state.position.sequence >= max(described, default=0):
        found.about = state.about
    found.expected = set(found.items)
    found.sequence = max([last, *(record.sequence for record in records)])
    if not is_whole:
        is_same = state is None or state.first == first
        _take_catalogue(folder, found, first, is_same)
    return found


def _first_sequence(folder: Path, records: list[Record], state: State | None) -> int:
    """Find where the log begins: what is older was replaced by a compaction."""
    with suppress(DamagedIndex, OSError):
        header = read_header(folder)
        if state is None or (header.uid == state.uid and header.first >= state.first):
            return header.first
        return state.first  # the log is older than the catalogue, or another index's
    # later ones only change the types of columns
    begun = [r.sequence - 1 for r in records[:1] if r.entry.kind == Kind.INDEX]
    return max(begun, default=state.first if state is not None else -1)


def _find_identity(folder: Path) -> bytes:
    """Find the identity of an index in whichever file still has it."""
    found = []
    with suppress(DamagedIndex, OSError):
        found.append(read_header(folder).uid)
    seen, _ = read_acknowledged(folder)
    found += [] if seen is None else [seen.uid]
    rows = _rows(folder, "SELECT uid FROM state")
    found += [uid for (uid,) in rows if isinstance(uid, bytes) and len(uid) == 16]
    if found:  # what two of three say, else the first
        return max(found, key=found.count)
    raise DamagedIndex(
        f"index '{folder}' cannot be repaired: no file says which index it is. Restore "
        "it from a copy."
    )


def _take_catalogue(folder: Path, found: Copies, first: int, is_same: bool) -> None:
    """Add what the catalogue proves, which may be of an older log than this one."""
    for order in ("", "DESC"):  # from both ends, as far as SQLite can read
        query = f"SELECT * FROM items ORDER BY number {order}"
        for row in _rows(folder, query):
            if is_intact_item(found.uid, *row):
                found.items.setdefault(row[0], item_entry(*row[:3]).payload)
                if is_same:
                    found.expected.add(row[0])
        query = f"SELECT * FROM records ORDER BY kind {order}, sequence {order}"
        for kind, sequence, payload, check in _rows(folder, query):
            entry = Entry(str(kind).encode(), payload)
            is_known = entry.kind in _READERS
            proven = is_known and is_proven(found.uid, entry, sequence, check)
            if proven and sequence > first and sequence not in found.records:
                with suppress(DamagedIndex):
                    found.take(sequence, entry)
                found.sequence = max(found.sequence, sequence)


def look_up_items(folder: Path, found: Copies, numbers: Iterable[int]) -> None:
    """Look for items one by one, between damaged pages that end both scans."""
    for number in numbers:
        for row in _rows(folder, f"SELECT * FROM items WHERE number = {number}"):
            if is_intact_item(found.uid, *row):
                found.items[number] = item_entry(*row[:3]).payload


def _proven_state(folder: Path, uid: bytes) -> State | None:
    with (
        suppress(DamagedIndex, sqlite3.Error, OSError),
        closing(_connect(folder)) as connection,
    ):
        state = State.read(connection, folder)
        return state if state.uid == uid else None
    return None


def _rows(folder: Path, query: str) -> Iterator[tuple]:  # type: ignore[type-arg]
    """Read rows of a catalogue that may be damaged, as far as that goes."""
    try:
        with closing(_connect(folder)) as connection:
            yield from connection.execute(query)
    except (sqlite3.Error, UnicodeDecodeError, OverflowError, OSError):
        return


def _connect(folder: Path) -> sqlite3.Connection:
    path = (folder / CATALOGUE).absolute()
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA writable_schema = ON")  # reads a file that is cut short
    return connection
