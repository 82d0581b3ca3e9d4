"""Page sizes that a Parquet file declares, read before any page is unpacked.

pyarrow trusts these sizes: a page of some bytes may unpack to gigabytes. The totals
in the metadata of a file are not compared with its pages, so that they prove nothing.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from fdch.data.readers.tables.arrow_cells import measure_width
from fdch.data.readers.tables.thrift import (
    INT32,
    INT64,
    LIST,
    STRUCT,
    Field,
    read_struct,
)
from fdch.errors import DataError

MAX_GROUP_BYTES = 2**30  # of a row group, as far as it is held at once
MIN_GROUP_BYTES = 2**26  # held whatever the size of the file
_MAX_GROWTH = 1000
_MAX_COLUMNS = 10_000
_ROWS = 1024
_HEADER_BYTES = (2**12, 2**20)  # at first, and of headers with long statistics
_MAX_PAGES = 1_000_000
_DICTIONARY = 2
_DELTA_TEXTS = 7  # a value may repeat all of the one before, in no byte
_GROUPS, _COLUMNS = Field(4, LIST), Field(1, LIST)  # of the file, and of a group
_COLUMN = Field(3, STRUCT)
_PACKED_BYTES, _DATA_PLACE, _DICTIONARY_PLACE = (
    Field(number, INT64) for number in (7, 9, 11)
)
# of a page: its kind and lengths, and its parts with the number and encoding of values
_KIND, _UNPACKED, _PACKED = (Field(number, INT32) for number in (1, 2, 3))
_PARTS = {
    Field(5, STRUCT): (Field(1, INT32), Field(2, INT32)),
    Field(7, STRUCT): (Field(1, INT32), Field(2, INT32)),
    Field(8, STRUCT): (Field(1, INT32), Field(4, INT32)),
}
Described = dict[Field, Any]


@dataclass
class PageSizes:
    """Unpacked sizes of the pages of one column in one row group, in bytes."""

    total: int = 0
    largest: int = 0
    dictionary: int = 0
    values: int = 0
    repeats: bool = False  # whether several values may each be as long as their page


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
        for number, columns in enumerate(_list_groups(opened)):
            if len(columns) != len(names):
                raise ValueError(f"row group {number} lacks a column")
            sizes = (measure_pages(opened, column) for column in columns)
            plan.groups.append(dict(zip(names, sizes, strict=True)))
            _add_group(plan, number, leaves, widths)
    if len(plan.groups) != file.num_row_groups:
        raise ValueError("it says two things of its row groups")
    return plan


def _list_groups(file: BinaryIO) -> list[list[Described]]:
    """Read the description of the columns of each row group.

    pyarrow aborts the process when it looks up a column of a damaged description.
    """
    end = file.seek(0, 2) - 8
    file.seek(max(0, end))
    length = int.from_bytes(file.read(4), "little")
    file.seek(max(0, end - length))
    try:
        about, _ = read_struct(file.read(length))
        return [
            [column[_COLUMN] for column in group.get(_COLUMNS, ())]
            for group in about.get(_GROUPS, ())
        ]
    except (IndexError, KeyError, AttributeError, TypeError):
        raise ValueError("its description is damaged") from None


def _add_group(
    plan: Plan, number: int, leaves: list[Any], widths: dict[str, int]
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
            f"row group {number} unpacks to {held + width:,} bytes at once; "
            f"at most {plan.most:,} are read. Write it with smaller ones, such as "
            "row_group_size=500."
        )
    plan.rows = min(plan.rows, max(1, plan.most // max(1, 4 * width)))


def measure_pages(file: BinaryIO, column: Described) -> PageSizes:
    """Add up what the pages of a column of a row group declare.

    Raises:
        ValueError: They are not whole.
    """
    place, length = column.get(_DATA_PLACE, -1), column.get(_PACKED_BYTES, -1)
    if 0 < column.get(_DICTIONARY_PLACE, 0) < place:
        place = column[_DICTIONARY_PLACE]
    end = place + length
    if not 0 <= place <= end <= file.seek(0, 2):
        raise ValueError("a column lies outside the file")
    found = PageSizes()
    for _ in range(_MAX_PAGES):
        if place >= end:
            return found
        header, length = _read_header(file, place, end)
        packed, unpacked = header.get(_PACKED, -1), header.get(_UNPACKED, -1)
        parts = [(header[p], fields) for p, fields in _PARTS.items() if p in header]
        values = max((part.get(many, -1) for part, (many, _) in parts), default=-1)
        if min(packed, unpacked, values) < 0:
            raise ValueError("a page has no length, or a negative one")
        place += length + packed
        found.total += unpacked
        if header.get(_KIND) == _DICTIONARY:
            found.dictionary += unpacked
        else:
            found.largest = max(found.largest, unpacked)
            found.values += values
            found.repeats |= any(p.get(how) == _DELTA_TEXTS for p, (_, how) in parts)
    raise ValueError(f"a column has more than {_MAX_PAGES:,} pages")


def _read_header(file: BinaryIO, place: int, end: int) -> tuple[Described, int]:
    """Read the header of a page; return its length too."""
    for most in _HEADER_BYTES:
        file.seek(place)
        with suppress(IndexError):
            return read_struct(file.read(min(most, end - place)))
    raise ValueError("a page has no whole header")
