"""The rows of a manifest file of text: CSV or JSON lines."""

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

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
    """The columns of a file (of JSON lines, those of the first) and its rows."""

    columns: tuple[str, ...]
    rows: Iterable[Row]


def open_csv(path: Path) -> Table:
    """Read comma-separated values in UTF-8, with a line of column names."""
    lines = _csv_lines(path)
    _, header = next(lines, (0, []))
    columns = tuple(name.strip() for name in header)
    if len(set(columns)) != len(columns):
        raise DataError(f"'{path}' has a column name twice: {', '.join(columns)}.")
    return Table(columns, (_csv_row(columns, *line) for line in lines))


def _csv_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    # a limit of the whole process; other readers' cells must not be cut shorter
    earlier = csv.field_size_limit()
    csv.field_size_limit(max(earlier, CELL_BYTES))
    reader: Any = None
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            for cells in reader:
                if cells:
                    yield reader.line_num, cells
    except csv.Error as error:
        what = f"{error}. Look for a double quote that is missing or too many."
        if "field limit" in str(error):
            longest = f"a cell is longer than {CELL_BYTES:,} characters"
            what = f"{longest}. Shorten it, or close its double quote."
        raise DataError(f"'{path}', line {reader.line_num}: {what}") from None
    except UnicodeDecodeError as error:
        after = f" after line {reader.line_num}" if reader.line_num else ""
        raise DataError(
            f"'{path}' is not UTF-8 text ({error.reason}{after}); save it as UTF-8."
        ) from None
    finally:
        csv.field_size_limit(earlier)


def _csv_row(columns: tuple[str, ...], line: int, cells: list[str]) -> Row:
    where = f"line {line}"
    if len(cells) != len(columns):
        trouble = f"{len(cells)} cells for {len(columns)} columns."
        return Row(where, {}, f"{trouble} Put cells with commas in double quotes.")
    return Row(where, dict(zip(columns, cells, strict=True)))


def open_json_lines(path: Path) -> Table:
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
