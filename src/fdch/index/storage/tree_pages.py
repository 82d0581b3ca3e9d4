"""Tables of the catalogue read page by page, from pages that are as written.

SQLite reads what a damaged page says as well. The seal and the log tell which
pages to believe; the format of pages is that of SQLite's documentation, "Database
File Format", sections 1.6 and 2.1.
"""

import sqlite3
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fdch.index.storage.catalogue import PAGE_BYTES
from fdch.index.storage.layout import CATALOGUE, WAL
from fdch.index.storage.seal import Seal
from fdch.index.storage.wal import read_log

_TABLE_INSIDE, _TABLE_LEAF = 5, 13
_INDEX_INSIDE, _INDEX_LEAF = 2, 10
_HEADS = {_TABLE_INSIDE: 12, _INDEX_INSIDE: 12, _TABLE_LEAF: 8, _INDEX_LEAF: 8}
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


@dataclass
class Found:
    """What was read of a table or an index.

    Args:
        rows: Key of the row (None in an index), and its integers; None for others.
        is_whole: Whether every page of it was as written.
    """

    rows: list[tuple[int | None, tuple[int | None, ...]]] = field(default_factory=list)
    is_whole: bool = True


class ProvenPages:
    """The pages of a catalogue that are as written, by its seal or its log.

    Args:
        folder: The index.
        seal: Without one, every page is believed.
        connection: Tells where tables begin.
    """

    def __init__(
        self, folder: Path, seal: Seal | None, connection: sqlite3.Connection
    ) -> None:
        self._folder = folder
        self._seal = seal
        self._log = read_log(folder / WAL)
        query = "SELECT name, rootpage FROM sqlite_schema"
        self._roots: dict[str, int] = dict(connection.execute(query))

    def rows(self, name: str) -> Found:
        """Read a table, or an index of one."""
        found = Found()
        waiting, seen = [self._roots.get(name, 0)], set()
        while waiting:
            page = waiting.pop()
            content = None if page in seen else self._page(page)
            seen.add(page)
            if content is None:
                found.is_whole = False
                continue
            try:
                for cell in _cells(content):
                    waiting += [cell.child] if cell.child else []
                    if cell.payload is not None:
                        found.rows.append((cell.key, _integers(cell.payload)))
            except (IndexError, struct.error, KeyError):
                found.is_whole = False
        return found

    def _page(self, page: int) -> bytes | None:
        if page in self._log.content:
            return _read(self._folder / WAL, self._log.content[page])
        if page < 1:
            return None
        content = _read(self._folder / CATALOGUE, (page - 1) * PAGE_BYTES)
        if len(content) < PAGE_BYTES:
            return None
        is_right = self._seal is None or self._seal.holds(page, content)
        return content if is_right else None


@dataclass(frozen=True)
class _Cell:
    child: int = 0
    key: int | None = None
    payload: bytes | None = None


def _read(path: Path, place: int) -> bytes:
    with path.open("rb") as file:
        file.seek(place)
        return file.read(PAGE_BYTES)


def _cells(page: bytes) -> Iterator[_Cell]:
    kind = page[0]
    head = _HEADS[kind]
    (count,) = struct.unpack_from(">H", page, 3)
    if head == 12:
        yield _Cell(child=struct.unpack_from(">I", page, 8)[0])
    for (place,) in struct.iter_unpack(">H", page[head : head + 2 * count]):
        child = 0
        if head == 12:
            (child,) = struct.unpack_from(">I", page, place)
            place += 4
        if kind == _TABLE_INSIDE:
            yield _Cell(child=child)
            continue
        length, place = _varint(page, place)
        key = None
        if kind == _TABLE_LEAF:
            key, place = _varint(page, place)
        yield _Cell(child, key, page[place : place + length])


def _varint(content: bytes, place: int) -> tuple[int, int]:
    """Read a number of one to nine bytes; give it and the place behind it."""
    value = 0
    for _ in range(8):
        byte = content[place]
        place += 1
        value = value << 7 | byte & 127
        if byte < 128:
            return value, place
    return value << 8 | content[place], place + 1


def _integers(record: bytes) -> tuple[int | None, ...]:
    """Read the integers of a record; None for what is none, or does not fit in."""
    end, place = _varint(record, 0)
    values: list[int | None] = []
    body = end
    while place < end:
        kind, place = _varint(record, place)
        if kind in _INTEGER_BYTES:
            content = record[body : body + _INTEGER_BYTES[kind]]
            body += _INTEGER_BYTES[kind]
            whole = len(content) == _INTEGER_BYTES[kind]
            values.append(
                int.from_bytes(content, "big", signed=True) if whole else None
            )
            continue
        values.append(kind - 8 if kind in (8, 9) else None)
        body += 8 if kind == 7 else max(kind - 12, 0) // 2
    return tuple(values)
