"""What the pages of a Parquet file declare, found before any is unpacked.

pyarrow trusts these sizes: a page of some bytes may unpack to gigabytes. The totals
in the metadata of a file are not compared with its pages, so that they prove nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from fdch.data.readers.arrow_cells import measure_width
from fdch.errors import DataError

MAX_GROUP_BYTES = 2**30  # of a row group, as far as it is held at once
MIN_GROUP_BYTES = 2**26  # held whatever the size of the file
_MAX_GROWTH = 1000
_MAX_COLUMNS = 10_000
_ROWS = 1024
_HEADER_BYTES = (2**12, 2**20)  # at first, and of headers with long statistics
_MAX_DEPTH = 8
_MAX_PAGES = 1_000_000
_DICTIONARY = 2
_DELTA_TEXTS = 7  # a value may repeat all of the one before, in no byte
# of Thrift's compact protocol
_TRUTHS, _INT32, _OTHER_WHOLE, _TEXT, _STRUCT = (1, 2), 5, (4, 6), 8, 12


class _Page(NamedTuple):
    kind: int
    packed: int
    unpacked: int
    values: int
    encoding: int


@dataclass
class PageSizes:
    """What the pages of one column in one row group unpack to, in bytes."""

    total: int = 0
    largest: int = 0
    dictionary: int = 0
    values: int = 0
    repeats: bool = False  # whether a value may be as long as its page, again and again


@dataclass
class Plan:
    """How a file can be read in bounded memory."""

    most: int  # bytes held at once
    rows: int = _ROWS  # read together
    dictionaries: set[str] = field(default_factory=set)  # columns to be kept as such
    groups: list[dict[str, PageSizes]] = field(default_factory=list)


def plan_reading(path: Path, file: Any) -> Plan:
    """Look at all pages of an opened file; DataError where they unpack to too much.

    Raises:
        ValueError: The file is damaged, or has columns that are not read.
    """
    growth = _MAX_GROWTH * path.stat().st_size
    plan = Plan(min(MAX_GROUP_BYTES, max(MIN_GROUP_BYTES, growth)))
    widths = {each.name: measure_width(each.type) for each in file.schema_arrow}
    leaves = [file.schema.column(i) for i in range(file.metadata.num_columns)]
    names = [leaf.path for leaf in leaves]
    if len(set(names)) != len(names) or len(widths) != len(file.schema_arrow):
        raise ValueError("it has two columns of the same name")
    if len(names) > _MAX_COLUMNS:
        raise ValueError(f"it has more than {_MAX_COLUMNS:,} columns")
    with path.open("rb") as opened:
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            sizes = {
                name: measure_pages(opened, group.column(i))
                for i, name in enumerate(names)
            }
            plan.groups.append(sizes)
            _add_group(plan, path, number, leaves, widths)
    return plan


def _add_group(
    plan: Plan, path: Path, number: int, leaves: list[Any], widths: dict[str, int]
) -> None:
    held, width = 0, 0  # at once, and for each row that is read
    for leaf in leaves:
        size = plan.groups[number][leaf.path]
        held += size.largest + size.dictionary
        value = max(
            (
                own
                for name, own in widths.items()
                if f"{leaf.path}.".startswith(f"{name}.")
            ),
            default=0,
        ) + (size.largest if size.repeats else 0)
        if leaf.max_repetition_level:
            held += size.values * value
        else:
            width += value
        if size.dictionary and leaf.physical_type == "BYTE_ARRAY":
            plan.dictionaries.add(leaf.path)
    if held + width > plan.most:
        raise DataError(
            f"'{path}': row group {number} unpacks to {held + width:,} bytes at once; "
            f"at most {plan.most:,} are read. Write it with smaller ones, such as "
            "row_group_size=500."
        )
    plan.rows = min(plan.rows, max(1, plan.most // max(1, 4 * width)))


def measure_pages(file: BinaryIO, column: Any) -> PageSizes:
    """Add up what the pages of a column of a row group declare.

    Raises:
        ValueError: They are not whole.
    """
    start, dictionary = column.data_page_offset, column.dictionary_page_offset
    if dictionary is not None and 0 < dictionary < start:
        start = dictionary
    found = PageSizes()
    for page in _list_pages(file, start, start + column.total_compressed_size):
        found.total += page.unpacked
        if page.kind == _DICTIONARY:
            found.dictionary += page.unpacked
        else:
            found.largest = max(found.largest, page.unpacked)
            found.values += page.values
            found.repeats |= page.encoding == _DELTA_TEXTS
    return found


def _list_pages(file: BinaryIO, place: int, end: int) -> Iterator[_Page]:
    if place < 0 or end > file.seek(0, 2):
        raise ValueError("a column lies outside the file")
    for _ in range(_MAX_PAGES):
        if place >= end:
            return
        page, length = _read_page(file, place, end)
        place += length + page.packed
        yield page
    raise ValueError(f"a column has more than {_MAX_PAGES:,} pages")


def _read_page(file: BinaryIO, place: int, end: int) -> tuple[_Page, int]:
    for most in _HEADER_BYTES:
        file.seek(place)
        content = file.read(min(most, end - place))
        try:
            header = _Header(content)
        except IndexError:
            continue
        numbers = header.numbers
        page = _Page(
            kind=numbers.get((1,), -1),
            packed=numbers.get((3,), -1),
            unpacked=numbers.get((2,), -1),
            values=max(numbers.get((part, 1), 0) for part in (5, 7, 8)),
            encoding=max(numbers.get(key, 0) for key in ((5, 2), (8, 4))),
        )
        if min(page.packed, page.unpacked, page.values) < 0:
            raise ValueError("a page has a negative length")
        return page, header.length
    raise ValueError("a page has no whole header")


class _Header:
    """The whole numbers in a page's header, by their fields; IndexError if cut."""

    def __init__(self, content: bytes) -> None:
        self._content, self._place = content, 0
        self.numbers: dict[tuple[int, ...], int] = {}
        self._struct(())
        self.length = self._place

    def _struct(self, path: tuple[int, ...]) -> None:
        if len(path) > _MAX_DEPTH:
            raise ValueError("a page's header is nested too deep")
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else _unsign(self._number())
            self._value(head & 15, (*path, field))

    def _value(self, kind: int, path: tuple[int, ...]) -> None:
        if kind == _INT32:
            if path in self.numbers:
                raise ValueError("a page's header has a field twice")
            self.numbers[path] = _unsign(self._number() & 0xFFFFFFFF)
        elif kind in _OTHER_WHOLE:
            self._number()
        elif kind == _TEXT:
            self._skip(self._number())
        elif kind == _STRUCT:
            self._struct(path)
        elif kind not in _TRUTHS:  # the format has no others here
            raise ValueError(f"a page's header has a field of type {kind}")

    def _byte(self) -> int:
        self._place += 1
        return self._content[self._place - 1]

    def _number(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise ValueError("a page's header has a number without an end")

    def _skip(self, count: int) -> None:
        if count > len(self._content) - self._place:
            raise IndexError
        self._place += count


def _unsign(number: int) -> int:
    """Turn 0, 1, 2, 3 into 0, -1, 1, -2, as the protocol writes whole numbers."""
    return (number >> 1) ^ -(number & 1)
