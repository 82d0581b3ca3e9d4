"""The rows of a manifest file of text: CSV or JSON lines."""

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any

from fdch.data.readers.columns import KNOWN, NEAR, Layout
from fdch.data.readers.tables.csv_dialects import (
    SEPARATORS,
    WESTERN,
    find_encoding,
    find_separator,
)
from fdch.data.rows import list_names
from fdch.errors import DataError

CELL_BYTES = 2**20
_LINE_BYTES = 16 * 2**20
_JSON_LINE = '{"id": "1", "image": "a.jpg", "text": "a dog", "labels": ["dog"]}'


@dataclass(frozen=True)
class Row:
    """One row: its cells by column, or what is wrong with it."""

    where: str
    cells: dict[str, Any]
    trouble: str = ""


@dataclass(frozen=True)
class Table:
    """The columns of a file (of JSON lines, those of the first) and its rows.

    Where it is open, rows may have other columns too. Notes are for the user, and
    complete when all rows are read.
    """

    columns: tuple[str, ...]
    rows: Iterable[Row]
    notes: list[str] = field(default_factory=list)
    is_open: bool = False


def open_csv(path: Path, layout: Layout) -> Table:
    """Read values separated by commas, semicolons or tabs, below their columns' names.

    The encoding is UTF-8, UTF-16 or Windows-1252.
    """
    encoding = find_encoding(path)
    names = {
        *layout.columns.values(),
        *KNOWN,
        *(n for near in NEAR.values() for n in near),
    }
    lines = _csv_lines(path, encoding, {name.casefold() for name in names})
    _, header = next(lines, (0, []))
    columns = name_columns(path, header)
    rows = (_csv_row(columns, *line) for line in lines)
    notes = describe_nameless(columns)
    if encoding == WESTERN:
        notes.append(
            f"the file is no UTF-8; it is read as western Windows text ({WESTERN}). "
            "Save it as UTF-8 if letters are wrong."
        )
    return Table(tuple(filter(None, columns)), rows, notes)


def name_columns(path: Path, header: Iterable[str]) -> tuple[str, ...]:
    """Return the columns' names, "" for none; each other one may stand there once."""
    columns = tuple(name.strip() for name in header)
    named = [name for name in columns if name]
    twice = [name for name, count in Counter(named).items() if count > 1]
    if twice:
        raise DataError(f"'{path}' has a column name twice: {list_names(twice)}.")
    return columns


def make_row(where: str, columns: tuple[str, ...], cells: Iterable[Any]) -> Row:
    """Return the cells below the columns that have a name."""
    named = zip(columns, cells, strict=True)
    return Row(where, {name: cell for name, cell in named if name})


def describe_nameless(columns: tuple[str, ...]) -> list[str]:
    """Say how many columns have no name, if any."""
    nameless = columns.count("")
    if not nameless:
        return []
    return [
        f"{nameless} of the {len(columns)} columns have no name; they are left out."
    ]


def _csv_lines(
    path: Path, encoding: str, names: set[str]
) -> Iterator[tuple[int, list[str]]]:
    # a limit of the whole process; other readers' cells must not be cut shorter
    earlier = csv.field_size_limit()
    csv.field_size_limit(max(earlier, CELL_BYTES))
    reader: Any = None
    before = 0
    try:
        with open(path, encoding=encoding, newline="") as file:
            separator, before = _read_separator(file, names)
            reader = csv.reader(file, delimiter=separator, strict=True)
            for cells in reader:
                if cells:
                    yield before + reader.line_num, cells
    except csv.Error as error:
        what = f"{error}. Look for a double quote that is missing or too many."
        if "field limit" in str(error):
            longest = f"a cell is longer than {CELL_BYTES:,} characters"
            what = f"{longest}. Shorten it, or close its double quote."
        line = before + (reader.line_num if reader else 1)
        raise DataError(f"'{path}', line {line}: {what}") from None
    except UnicodeDecodeError as error:
        after = f" after line {before + reader.line_num}" if reader else ""
        shown = encoding.upper().removesuffix("-SIG")
        raise DataError(
            f"'{path}' is not {shown} text ({error.reason}{after}); save it as UTF-8."
        ) from None
    finally:
        csv.field_size_limit(earlier)


def _read_separator(file: IO[str], names: set[str]) -> tuple[str, int]:
    """Return the separator, and how many lines before the header were read for it."""
    line, blank = "\n", 0
    while line and not line.strip():
        line, blank = file.readline(_LINE_BYTES), blank + 1
    stated = line.rstrip("\r\n").strip('"')
    # Excel writes and obeys a first line such as "sep=;"
    if stated[:4].lower() == "sep=" and stated[4:] in SEPARATORS:
        return stated[4:], blank
    file.seek(0)
    return find_separator(line, names), 0


def _csv_row(columns: tuple[str, ...], line: int, cells: list[str]) -> Row:
    where = f"line {line}"
    if len(cells) != len(columns):
        trouble = f"{len(cells)} cells for {len(columns)} columns."
        return Row(where, {}, f"{trouble} Put cells with separators in double quotes.")
    return make_row(where, columns, cells)


def open_json_lines(path: Path, layout: Layout) -> Table:
    """Read one JSON object per line."""
    rows = _json_rows(path)
    first: list[Row] = []
    for row in rows:
        first.append(row)
        if not row.trouble:
            break
    if first and first[-1].trouble:
        raise DataError(
            f"'{path}' has no line to use; {first[0].where}: {first[0].trouble} "
            f"Write a JSON object on each line, such as {_JSON_LINE}"
        )
    columns = tuple(first[-1].cells) if first else ()
    return Table(columns, chain(first, rows))


def _json_rows(path: Path) -> Iterator[Row]:
    with open(path, "rb") as file:
        number = 0
        while raw := file.readline(_LINE_BYTES + 1):
            number += 1
            if len(raw) > _LINE_BYTES:
                raise DataError(
                    f"'{path}', line {number}: more than {_LINE_BYTES:,} bytes."
                )
            if raw.strip():
                yield _json_row(raw, number)


def _json_row(raw: bytes, number: int) -> Row:
    where = f"line {number}"
    try:
        cells = json.loads(raw.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError:
        return Row(where, {}, "not UTF-8 text.")
    except (ValueError, RecursionError) as error:
        return Row(where, {}, f"not JSON ({error}).")
    if not isinstance(cells, dict):
        return Row(where, {}, f"a JSON object is expected; got {_kind(cells)}.")
    return Row(where, cells)


def _kind(value: object) -> str:
    return "null" if value is None else type(value).__name__
