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
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from fdch.errors import DamagedIndex, IndexFolderError
from fdch.index.storage.layout import (
    DIGEST_BYTES,
    FORMAT,
    LOG,
    REPAIR,
    digest,
    open_plainly,
    sync,
)

INDEX, ITEM, REMOVAL, RANGE, PART, COMMIT = b"F", b"I", b"R", b"N", b"P", b"C"
KINDS = INDEX + ITEM + REMOVAL + RANGE + PART + COMMIT
_ANY_KIND = re.compile(b"[" + KINDS + b"]")
HEADER_BYTES = 64
MAX_PAYLOAD_BYTES = 2**28
_MAGIC = b"fdch-log"
_HEADER = struct.Struct("<8sII16sQ8x")
_RECORD = struct.Struct("<IcQ")
_READ_BYTES = 2**22


class Entry(NamedTuple):
    """What a record says: its kind and its payload."""

    kind: bytes
    payload: bytes


class Record(NamedTuple):
    """A record of the log.

    Args:
        sequence: Its number; the numbers of a log have no gaps.
        entry: What it says.
        digest: Checksum of its payload.
        end: Offset of the byte behind it.
        check: Its checksum, to which the next one is chained.
    """

    sequence: int
    entry: Entry
    digest: bytes
    end: int
    check: bytes

    @property
    def position(self) -> "Position":
        """Return the end of the record."""
        return Position(self.sequence, self.end, self.check)


@dataclass(frozen=True)
class Position:
    """The end of a log, or of the part of it that is known.

    Args:
        sequence: Number of the last record before it.
        offset: Bytes before it.
        chain: Check of that record.
    """

    sequence: int
    offset: int
    chain: bytes


@dataclass(frozen=True)
class LogHeader:
    """The first bytes of a log.

    Args:
        uid: Identity of the index.
        first: Sequence number before that of the first record.
    """

    uid: bytes
    first: int

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
    """Read and check the header of a folder's log.

    Raises:
        DamagedIndex: It is not as written.
        IndexFolderError: A later version wrote it.
        FileNotFoundError: There is no log.
    """
    with (folder / LOG).open("rb") as file:
        return parse_header(folder, file.read(HEADER_BYTES))


def parse_header(folder: Path, content: bytes) -> LogHeader:
    """Check the first bytes of a folder's log; see `read_header`."""
    path = folder / LOG
    if len(content) == HEADER_BYTES:
        magic, version, _, uid, first = _HEADER.unpack_from(content)
        header = LogHeader(uid, first)
        if content == header.pack():
            return header
        known = content[:-DIGEST_BYTES]
        is_intact = content[-DIGEST_BYTES:] == digest(known, uid, "log")
        if magic == _MAGIC and is_intact and version > FORMAT:
            raise IndexFolderError(
                f"index '{folder}' has format {version}, written by a later version; "
                f"this one reads formats up to {FORMAT}. Upgrade fdch to open it."
            )
    raise DamagedIndex(f"'{path}' does not begin as it was written. {REPAIR}")


def encode_records(
    uid: bytes, position: Position, entries: Iterable[Entry]
) -> tuple[bytes, list[bytes], Position]:
    """Write records to be appended at a position.

    Returns:
        Their bytes, the digest of each payload, and where they end.
    """
    parts: list[bytes] = []
    digests: list[bytes] = []
    sequence, chain = position.sequence, position.chain
    for entry in entries:
        sequence += 1
        head = _RECORD.pack(len(entry.payload), entry.kind, sequence)
        proof = payload_digest(uid, entry)
        chain = _check(uid, chain, head, proof)
        parts += (head, entry.payload, chain)
        digests.append(proof)
    content = b"".join(parts)
    return content, digests, Position(sequence, position.offset + len(content), chain)


def append_records(folder: Path, offset: int, content: bytes) -> None:
    """Write records behind those that count, and flush them to disk."""
    handle = open_plainly(str(folder / LOG), os.O_RDWR)
    try:
        try:
            write_all(handle, memoryview(content), offset)
            sync(handle)
        except OSError:
            os.truncate(handle, offset)
            raise
    finally:
        os.close(handle)


def write_all(handle: int, content: memoryview, offset: int) -> None:
    """Write all of some bytes at an offset."""
    while content:
        written = os.pwrite(handle, content[: 2**26], offset)
        content, offset = content[written:], offset + written


def read_records(
    folder: Path, uid: bytes, start: Position, end: int | None = None
) -> Iterator[Record]:
    """Read records from a position on, as far as the chain holds.

    Args:
        folder: The index.
        uid: Its identity.
        start: Where to begin.
        end: Where to stop; at the end of the file if not given.
    """
    sequence, chain, offset = start.sequence, start.chain, start.offset
    with (folder / LOG).open("rb", buffering=_READ_BYTES) as file:
        size = os.fstat(file.fileno()).st_size
        end = size if end is None else min(end, size)
        file.seek(offset)
        while offset + _RECORD.size + DIGEST_BYTES <= end:
            head = file.read(_RECORD.size)
            length, kind, number = _RECORD.unpack(head)
            offset += _RECORD.size + length + DIGEST_BYTES
            if number != sequence + 1 or offset > end or length > MAX_PAYLOAD_BYTES:
                return
            entry = Entry(kind, file.read(length))
            check, proof = file.read(DIGEST_BYTES), _proof(uid, entry)
            if check != _check(uid, chain, head, proof):
                return
            sequence, chain = number, check
            yield Record(sequence, entry, proof, offset, chain)


def salvage_records(content: bytes, uid: bytes) -> Iterator[Record]:
    """Find every record that proves itself, also behind damage.

    The check before a record stands right in front of it. So a record can be proven
    wherever it begins, without those before it.
    """
    offset, previous = HEADER_BYTES, 0
    while offset + _RECORD.size + DIGEST_BYTES <= len(content):
        record = _record_at(content, uid, offset, previous)
        if record is None:
            offset = _next_candidate(content, offset + 1)
            continue
        yield record
        offset, previous = record.end, record.sequence


def _record_at(content: bytes, uid: bytes, offset: int, after: int) -> Record | None:
    length, kind, sequence = _RECORD.unpack_from(content, offset)
    start = offset + _RECORD.size
    end = start + length + DIGEST_BYTES
    # records between the last one found and this one took some bytes each
    is_likely = kind in KINDS and after < sequence < (
        after + offset if after else 2**62
    )
    if not is_likely or length > MAX_PAYLOAD_BYTES or end > len(content):
        return None
    entry = Entry(kind, content[start : start + length])
    chain = content[offset - DIGEST_BYTES : offset]
    check = content[end - DIGEST_BYTES : end]
    proof = payload_digest(uid, entry)
    if check != _check(uid, chain, content[offset:start], proof):
        return None
    return Record(sequence, entry, proof, end, check)


def _next_candidate(content: bytes, offset: int) -> int:
    """Return the next offset at which the fifth byte names a kind of record."""
    found = _ANY_KIND.search(content, offset + 4)
    return found.start() - 4 if found else len(content)


def cut_log(folder: Path, offset: int) -> None:
    """Remove what lies behind the last commit, and flush the rest to disk.

    What a killed writer wrote may not be on disk yet. It must be before the catalogue
    is: that may never be ahead of the log.
    """
    handle = open_plainly(str(folder / LOG), os.O_RDWR)
    try:
        if os.fstat(handle).st_size > offset:
            os.truncate(handle, offset)
        sync(handle)
    finally:
        os.close(handle)


def _proof(uid: bytes, entry: Entry) -> bytes:
    """Return the digest of a payload, of which the kind may be damaged."""
    return payload_digest(uid, entry) if entry.kind in KINDS else b""


def _check(uid: bytes, chain: bytes, head: bytes, content: bytes) -> bytes:
    hasher = _keyed_hasher(uid, b"record").copy()
    hasher.update(chain + head + content)
    return hasher.digest()


@lru_cache(maxsize=32)
def _keyed_hasher(uid: bytes, kind: bytes) -> "hashlib.blake2b":
    """Return a hash to be copied, as its key and kind are the same for all records."""
    return hashlib.blake2b(digest_size=DIGEST_BYTES, key=uid, person=kind)
