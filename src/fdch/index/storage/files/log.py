"""items.log: everything that was added, changed or removed, in order.

The log is the truth of an index folder; the catalogue is derived from it. A record is

    length (4 bytes)  kind (1)  sequence number (8)  payload  check (16)

The check covers the check before it, the three numbers and the digest of the payload,
keyed with the identity of the index: a record that is changed, moved, left out or
taken from another index breaks the chain. Records count once a commit follows them.
"""

import hashlib
import os
import re
import struct
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import count, islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from fdch.errors import IndexFolderError
from fdch.index.storage.files.layout import (
    DIGEST_BYTES,
    FORMAT,
    LOG,
    damaged,
    digest,
    open_plainly,
    replace_durably,
    sync,
    write_all,
)

HEADER_BYTES = 64
MAX_PAYLOAD_BYTES = 2**28
MAX_COUNT = 2**62  # of any number; SQLite keeps none from 2**63 on
_MAGIC = b"fdch-log"
_HEADER = struct.Struct("<8sII16sQ8x")
_HEAD = struct.Struct("<IcQ")
_MIN_BYTES = _HEAD.size + DIGEST_BYTES
_READ_BYTES = 2**22
_SCANNED_BYTES = 512
_RECORDS_AT_A_TIME = 10_000


class Kind:
    """Kinds of records."""

    INDEX = b"F"  # what the index is
    ITEM = b"I"
    REMOVAL = b"R"  # numbers of removed items
    RANGE = b"N"  # items whose ids are their numbers
    PART = b"P"  # of the codes
    COMMIT = b"C"  # which lets the records before it count


_KINDS = Kind.INDEX + Kind.ITEM + Kind.REMOVAL + Kind.RANGE + Kind.PART + Kind.COMMIT
_ANY_KIND = re.compile(b"[" + _KINDS + b"]")


class Entry(NamedTuple):
    """What a record says: its kind and its payload."""

    kind: bytes
    payload: bytes


class Position(NamedTuple):
    """The end of a log, or of the part of it that is known."""

    sequence: int  # number of the last record before it; a log has no gaps
    offset: int  # bytes before it
    chain: bytes  # check of that record


class Record(NamedTuple):
    """A record of the log, the digest of its payload, and where it ends."""

    entry: Entry
    digest: bytes
    position: Position

    @property
    def sequence(self) -> int:
        """Return the number of the record."""
        return self.position.sequence


class LogHeader(NamedTuple):
    """The first bytes of a log."""

    uid: bytes  # identity of the index
    first: int  # sequence number before that of the first record

    def pack(self) -> bytes:
        """Return the header as it stands in the file."""
        content = _HEADER.pack(_MAGIC, FORMAT, 0, self.uid, self.first)
        return content + digest(content, self.uid, "log")

    @property
    def start(self) -> Position:
        """Return where the first record begins."""
        return Position(self.first, HEADER_BYTES, self.pack()[-DIGEST_BYTES:])


def payload_digest(uid: bytes, entry: Entry) -> bytes:
    """Return the checksum that proves what a record says, in whichever copy."""
    hasher = _keyed_hasher(uid, entry.kind).copy()
    hasher.update(entry.payload)
    return hasher.digest()


def read_header(folder: Path) -> LogHeader:
    """Read and check the header of a folder's log."""
    with (folder / LOG).open("rb") as file:
        return parse_header(folder, file.read(HEADER_BYTES))


def parse_header(folder: Path, content: bytes) -> LogHeader:
    """Check the first bytes of a folder's log."""
    if len(content) == HEADER_BYTES:
        magic, version, _, uid, first = _HEADER.unpack_from(content)
        header = LogHeader(uid, first)
        if content == header.pack() and first < MAX_COUNT:
            return header
        known, check = content[:-DIGEST_BYTES], content[-DIGEST_BYTES:]
        is_intact = magic == _MAGIC and check == digest(known, uid, "log")
        if is_intact and version != FORMAT:
            written, then = "a later", "Upgrade fdch to open it"
            if version < FORMAT:
                written, then = "an earlier", "Create it again with 'fdch index create'"
            raise IndexFolderError(
                f"index '{folder}' has format {version}, written by {written} version; "
                f"this one reads format {FORMAT}. {then}."
            )
    raise damaged(f"'{folder / LOG}' has the wrong header")


def encode_records(
    uid: bytes, position: Position, entries: Iterable[Entry]
) -> tuple[bytes, list[bytes], Position]:
    """Return records to append at a position, their digests, and where they end."""
    parts: list[bytes] = []
    digests: list[bytes] = []
    sequence, offset, chain = position
    for entry in entries:
        sequence += 1
        head = _HEAD.pack(len(entry.payload), entry.kind, sequence)
        proof = payload_digest(uid, entry)
        chain = _check(uid, chain, head, proof)
        parts += (head, entry.payload, chain)
        digests.append(proof)
    content = b"".join(parts)
    return content, digests, Position(sequence, offset + len(content), chain)


def append_records(folder: Path, offset: int, content: bytes) -> None:
    """Write records behind those that count, and flush them to disk."""
    with open(folder / LOG, "r+b", opener=open_plainly) as file:
        try:
            write_all(file.fileno(), memoryview(content), offset)
            sync(file.fileno())
        except OSError:
            os.truncate(file.fileno(), offset)
            raise


def cut_log(folder: Path, offset: int) -> None:
    """Remove what lies behind the last commit, and flush the rest to disk.

    What a killed writer wrote may not be on disk yet. It must be before the catalogue
    is: that may never be ahead of the log.
    """
    with open(folder / LOG, "r+b", opener=open_plainly) as file:
        if os.fstat(file.fileno()).st_size > offset:
            os.truncate(file.fileno(), offset)
        sync(file.fileno())


def write_log(
    folder: Path, header: LogHeader, entries: Iterable[Entry]
) -> tuple[Position, list[tuple[int, Entry, bytes]]]:
    """Write a whole log beside the old one, and put it in place by one rename.

    Returns:
        The end of the log; and number, entry and digest of records other than items.
    """
    position, kept, left = header.start, [], iter(entries)
    with replace_durably(folder / LOG) as file:
        file.write(header.pack())
        while some := list(islice(left, _RECORDS_AT_A_TIME)):
            content, digests, end = encode_records(header.uid, position, some)
            file.write(content)
            numbered = zip(count(position.sequence + 1), some, digests)
            kept += [record for record in numbered if record[1].kind != Kind.ITEM]
            position = end
    return position, kept


def read_records(
    folder: Path,
    uid: bytes,
    start: Position,
    end: int | None = None,
    *,
    skip_damage: bool = False,
) -> Iterator[Record]:
    """Read records from a position on.

    `skip_damage` goes on behind damage: the check before a record stands right in
    front of it, so that a record proves itself wherever it begins.
    """
    last, offset = start.sequence, start.offset
    with (folder / LOG).open("rb", buffering=_READ_BYTES) as file:
        size = os.fstat(file.fileno()).st_size
        end = size if end is None else min(end, size)
        while offset + _MIN_BYTES <= end:
            most = last + 1
            if skip_damage:  # records that were lost took some bytes each
                most = last + offset if last else 2**62
            record = _read_record(file, uid, offset, end, range(last + 1, most + 1))
            if record is not None:
                yield record
                last, offset, _ = record.position
            elif skip_damage:
                offset = _next_candidate(file, offset + 1)
            else:
                return


def last_commit(folder: Path, uid: bytes, start: Position) -> Position:
    """Find the end of the last commit behind a position."""
    end = start
    for record in read_records(folder, uid, start):
        if record.entry.kind == Kind.COMMIT:
            end = record.position
    return end


def _read_record(
    file: BinaryIO, uid: bytes, offset: int, size: int, expected: range
) -> Record | None:
    """Read the record that begins at an offset, None if it does not prove itself."""
    file.seek(offset - DIGEST_BYTES)
    chain, head = file.read(DIGEST_BYTES), file.read(_HEAD.size)
    length, kind, sequence = _HEAD.unpack(head)
    end = offset + _MIN_BYTES + length
    is_likely = kind in _KINDS and sequence in expected and end <= size
    if not is_likely or length > MAX_PAYLOAD_BYTES:
        return None
    entry = Entry(kind, file.read(length))
    check, proof = file.read(DIGEST_BYTES), payload_digest(uid, entry)
    if check != _check(uid, chain, head, proof):
        return None
    return Record(entry, proof, Position(sequence, end, check))


def _next_candidate(file: BinaryIO, offset: int) -> int:
    """Return the next offset at which the fifth byte names a kind of record."""
    offset += 4
    file.seek(offset)
    while content := file.read(_SCANNED_BYTES):
        if found := _ANY_KIND.search(content):
            return offset + found.start() - 4
        offset += len(content)
    return offset


def _check(uid: bytes, chain: bytes, head: bytes, content: bytes) -> bytes:
    hasher = _keyed_hasher(uid, b"record").copy()
    hasher.update(chain + head + content)
    return hasher.digest()


@lru_cache(maxsize=32)
def _keyed_hasher(uid: bytes, kind: bytes) -> "hashlib.blake2b":
    """Return a hash to be copied, as its key and kind are the same for all records."""
    return hashlib.blake2b(digest_size=DIGEST_BYTES, key=uid, person=kind)
