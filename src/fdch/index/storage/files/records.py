"""What the records of the log say: items, removals, ranges, parts, commits."""

import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from fdch.index.search.rows import MAX_BITS
from fdch.index.storage.files.layout import DIGEST_BYTES, MAX_PART_ROWS, damaged
from fdch.index.storage.files.log import MAX_COUNT, Entry, Kind
from fdch.index.storage.files.segments import Place
from fdch.index.store import MAX_VECTOR_BYTES, ColumnType

MAX_SPAN = 2**32
GROUPING, BUCKETS = SIDECARS = ("grouping", "buckets")
NUMBERS_PER_RECORD = 2**20
_ITEM = struct.Struct("<QH")
_RANGE = struct.Struct("<QQ")

FileRow = tuple[str, int, str]  # path inside the index, bytes, checksum in hex


@dataclass(frozen=True)
class About:
    """What an index is: bits, the model that makes codes, its files; types of columns.

    Only the types change; the last record of this kind counts.
    """

    bits: int
    model: str
    facts: Mapping[str, object] = field(default_factory=dict)
    files: Sequence[FileRow] = ()
    vector_bytes: int = 0  # of each item's vector; 0 where there are none
    types: Mapping[str, ColumnType] = field(default_factory=dict)  # by column

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or not isinstance(self.facts, dict):
            raise ValueError("a fact is of the wrong kind")
        _require_counts((self.bits, self.vector_bytes))
        if not 1 <= self.bits <= MAX_BITS or self.vector_bytes > MAX_VECTOR_BYTES:
            raise ValueError(f"{self.bits} bits, vectors of {self.vector_bytes} bytes")
        if not set(self.types.values()) <= set(get_args(ColumnType)):
            raise ValueError("a column is of an unknown type")
        files = [(str(path), int(size), str(sum)) for path, size, sum in self.files]
        object.__setattr__(self, "files", files)

    @property
    def fields(self) -> dict[str, object]:
        """What is not empty; plain values for JSON."""
        known = asdict(self).items()
        return {name: value for name, value in known if value or name == "model"}

    def entry(self) -> Entry:
        """Return the record."""
        return Entry(Kind.INDEX, write_json(self.fields))

    def place(self, folder: Path, uid: bytes) -> Place:
        """Return where the files of such an index lie, and how long their rows are."""
        return Place(folder, uid, self.bits, self.vector_bytes)

    @classmethod
    def read(cls, payload: bytes) -> "About":
        """Read the record again."""
        with damage_of("the index"):
            return cls(**json.loads(payload))


@dataclass(frozen=True)
class Commit:
    """The record that lets those before it count.

    It has its number, how many items there are, and the numbers that the next item and
    the next part will get.
    """

    commit: int = 0
    items: int = 0
    next_number: int = 0
    next_part: int = 0

    def __post_init__(self) -> None:
        _require_counts(astuple(self))

    def entry(self) -> Entry:
        """Return the record."""
        return Entry(Kind.COMMIT, write_json(asdict(self)))

    @classmethod
    def read(cls, payload: bytes) -> "Commit":
        """Read the record again."""
        with damage_of("a commit"):
            return cls(**json.loads(payload))


class Checks(NamedTuple):
    """Checksums of the chunks of a file, one after the other, from a chunk on."""

    start: int = 0
    digests: bytes = b""


@dataclass(frozen=True)
class PartRecord:
    """One part of the codes. The catalogue's state has it without checksums."""

    part: int  # number of its files
    first: int  # number of its first item
    rows: int  # how many rows count
    span: int  # its last item's number less the first's, and 1
    # bytes and checksum of the files that make searching it faster
    sidecars: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    checks: Mapping[str, Checks] = field(default_factory=dict)  # new ones, by kind
    packed: bytes = b""  # numbers of its items, packed; nothing without gaps

    def __post_init__(self) -> None:
        _require_counts((self.part, self.first, self.rows, self.span))
        if self.rows > min(self.span, MAX_PART_ROWS) or self.span > MAX_SPAN:
            raise ValueError(f"{self.rows} rows over a span of {self.span}")
        for kind, (size, check) in self.sidecars.items():
            _require_counts((size,))
            if kind not in SIDECARS or not isinstance(check, str):
                raise ValueError(f"a file of kind {kind!r}")

    @property
    def has_gaps(self) -> bool:
        """Return whether some numbers between the first and the last are gone."""
        return self.span != self.rows

    @property
    def fields(self) -> dict[str, object]:
        """All but the checksums and numbers; plain values for JSON."""
        names = ("part", "first", "rows", "span", "sidecars")
        return {name: getattr(self, name) for name in names}

    def entry(self) -> Entry:
        """Return the record: a line of JSON, then checksums and numbers."""
        sizes = {
            kind: [each.start, len(each.digests)] for kind, each in self.checks.items()
        }
        head = write_json({**self.fields, "checks": sizes})
        digests = b"".join(each.digests for each in self.checks.values())
        return Entry(Kind.PART, head + b"\n" + digests + self.packed)

    def digests(self, kind: str) -> bytes:
        """Return the checksums of a file's chunks, as far as they are known."""
        return self.checks.get(kind, Checks()).digests


def read_part(payload: bytes) -> PartRecord:
    """Read the record of a part again."""
    with damage_of("a part"):
        head, content = payload.split(b"\n", 1)
        known, checks, end = json.loads(head), {}, 0
        for kind, (start, size) in known.pop("checks").items():
            _require_counts((start, size))
            if start > MAX_PART_ROWS:
                raise ValueError("its first row")
            checks[kind] = Checks(start, content[end : end + size])
            end += size
            if size % DIGEST_BYTES or end > len(content):
                raise ValueError("its checksums")
        return PartRecord(**known, checks=checks, packed=content[end:])


def pack_numbers(relative: NDArray[np.unsignedinteger]) -> bytes:
    """Pack rising numbers: most are one more than the one before."""
    return zlib.compress(np.diff(relative, prepend=0).astype("<u4").tobytes(), 1)


def unpack_numbers(packed: bytes, count: int) -> NDArray[np.uint32]:
    """Unpack so many rising numbers, each less the part's first."""
    with damage_of("the numbers of a part"):
        content = zlib.decompressobj().decompress(packed, 4 * count + 1)
        if len(content) != 4 * count:
            raise ValueError(f"{len(content)} bytes for {count} rows")
        return np.cumsum(np.frombuffer(content, "<u4"), dtype=np.uint32)


def join_parts(payloads: Iterable[bytes]) -> dict[int, PartRecord]:
    """Join what the records of parts say, in their order, by the parts' numbers."""
    held: dict[tuple[int, str], bytearray] = {}
    last: dict[int, PartRecord] = {}
    for part in map(read_part, payloads):
        for kind, checks in part.checks.items():
            known = held.setdefault((part.part, kind), bytearray())
            start = checks.start * DIGEST_BYTES
            known.extend(bytes(max(0, start - len(known))))  # of a record that is lost
            known[start:] = checks.digests
        last[part.part] = part
    return {
        number: replace(
            part,
            checks={kind: Checks(0, bytes(held[number, kind])) for kind in part.checks},
        )
        for number, part in last.items()
    }


def item_entry(number: int, id: str, content: str) -> Entry:
    """Return the record of an item."""
    name = id.encode()
    return Entry(Kind.ITEM, _ITEM.pack(number, len(name)) + name + content.encode())


def read_item(payload: bytes) -> tuple[int, str, str]:
    """Read number, id and content of an item again."""
    with damage_of("an item"):
        number, length = _ITEM.unpack_from(payload)
        _require_counts((number,))
        end = _ITEM.size + length
        return number, payload[_ITEM.size : end].decode(), payload[end:].decode()


def removal_entries(numbers: Iterable[int]) -> list[Entry]:
    """Return the records of removed items."""
    gone = np.array(sorted(numbers), dtype="<i8")
    return [
        Entry(Kind.REMOVAL, gone[start : start + NUMBERS_PER_RECORD].tobytes())
        for start in range(0, len(gone), NUMBERS_PER_RECORD)
    ]


def read_removal(payload: bytes) -> NDArray[np.int64]:
    """Read the numbers of removed items again."""
    with damage_of("a removal"):
        return np.frombuffer(payload, dtype="<i8")


def range_entry(numbers: range) -> Entry:
    """Return the record of items whose ids are their numbers."""
    return Entry(Kind.RANGE, _RANGE.pack(numbers.start, len(numbers)))


def read_range(payload: bytes) -> range:
    """Read the numbers of items whose ids they are."""
    with damage_of("a range"):
        first, count = _RANGE.unpack(payload)
        _require_counts((first, count))
        return range(first, first + count)


def log_entries(
    about: About,
    parts: Iterable[PartRecord],
    ranges: Iterable[range],
    removed: Iterable[int],
    items: Iterable[tuple[int, str, str]],
    counts: Commit,
) -> Iterator[Entry]:
    """Return the records of a log that is written again.

    `removed` are numbers whose codes are still in a part; items have number, id and
    content, and come in the order of numbers.
    """
    yield about.entry()
    for part in parts:
        yield part.entry()
    yield from map(range_entry, ranges)
    yield from removal_entries(removed)
    for number, id, content in items:
        yield item_entry(number, id, content)
    yield counts.entry()


def write_json(value: object) -> bytes:
    """Write plain values."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _require_counts(values: Iterable[Any]) -> None:
    for value in values:
        if type(value) is not int or not 0 <= value < MAX_COUNT:
            raise ValueError(f"{value!r} is not a count")


@contextmanager
def damage_of(what: str) -> Iterator[None]:
    """Report a record that no version of this program writes as damage."""
    try:
        yield
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        struct.error,
        zlib.error,
        RecursionError,
    ) as problem:
        raise damaged(
            f"what the index says of {what} cannot be read ({problem})"
        ) from problem
