"""Tables in text files: CSV in the usual dialects and encodings, and JSON lines."""

import codecs
import csv
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from fdch.data.readers.columns import KNOWN, NEAR, Layout
from fdch.data.readers.tables.table import CELL_BYTES, Row, Table, make_table
from fdch.errors import DataError

SEPARATORS = (",", ";", "\t")
WESTERN = "cp1252"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # it begins as UTF-16 does
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_HEAD, _CHUNK = 4096, 2**20
# western texts have a few accents; in other alphabets most letters are above ASCII
_MAX_ACCENTS = 0.15
_ASCII, _UNDEFINED = bytes(range(0x80)), bytes([0x81, 0x8D, 0x8F, 0x90, 0x9D])
_WRONG = re.compile("[\udc80-\udcff]")  # bytes that are no UTF-8
_LINE_BYTES = 16 * 2**20
_JSON_LINE = '{"id": "1", "image": "a.jpg", "text": "a dog", "labels": ["dog"]}'


def open_csv(path: Path, layout: Layout) -> Table:
    """Read values separated by commas, semicolons or tabs, below their columns' names.

    The encoding is UTF-8, UTF-16 or Windows-1252.
    """
    encoding, notes = find_encoding(path), []
    if encoding == WESTERN:
        notes.append(
            f"the file is no UTF-8; it is read as western Windows text ({WESTERN}). "
            "Save it as UTF-8 if letters are wrong."
        )
    near = chain.from_iterable(NEAR.values())
    return make_table(
        _csv_lines(path, encoding, (*layout.columns.values(), *KNOWN, *near)), notes
    )


def find_encoding(path: Path) -> str:
    """Choose among UTF-8, UTF-16 and Windows-1252, by a mark or by what can be read.

    Where UTF-8 is only damaged, it is returned: reading it will name the place.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    foreign = wrong = accents = size = undefined = 0
    with open(path, "rb") as file:
        head = file.read(_HEAD)
        for mark, encoding in _MARKS:
            if head.startswith(mark):
                return encoding
        if b"\0" in head:
            even, odd = head[0::2].count(0), head[1::2].count(0)
            if max(even, odd) < 2 * min(even, odd) + 1:
                raise DataError(
                    "it is not text; save it as CSV in UTF-8, or give it the ending "
                    "of what it is."
                )
            return "utf-16-le" if odd > even else "utf-16-be"
        for chunk in chain([head], iter(lambda: file.read(_CHUNK), b""), [b""]):
            size += len(chunk)
            text = decoder.decode(chunk, final=not chunk)
            if not text.isascii():
                wrong += len(_WRONG.findall(text))
                foreign += len(text) - len(text.encode("ascii", "ignore"))
                accents += len(chunk.translate(None, _ASCII))
                undefined += len(chunk) - len(chunk.translate(None, _UNDEFINED))
    if foreign - wrong > wrong or not wrong:
        return "utf-8"
    if undefined or accents > _MAX_ACCENTS * size:
        raise DataError(
            "it is neither UTF-8 nor UTF-16 text, and not of western Windows "
            f"({WESTERN}) either; save it as UTF-8."
        )
    return WESTERN


def find_separator(header: str, names: Iterable[str]) -> str:
    r"""Choose what separates the columns: most known names, then most columns.

    >>> find_separator("id;text;price, in euros", ["id", "text"])
    ';'
    """
    known = {name.casefold() for name in names}

    def rate(separator: str) -> tuple[int, int]:
        cells = next(csv.reader([header], delimiter=separator), [])
        return sum(cell.strip().casefold() in known for cell in cells), len(cells)

    return max(SEPARATORS, key=rate)


def _csv_lines(
    path: Path, encoding: str, names: Iterable[str]
) -> Iterator[tuple[str, list[str]]]:
    # of the whole process, so it is never put back: another file may be half read
    csv.field_size_limit(max(csv.field_size_limit(), CELL_BYTES))
    line = 0
    try:
        with open(path, encoding=encoding, newline="") as file:
            starts = iter(lambda: file.readline(_LINE_BYTES), "")
            header = next(filter(str.strip, starts), "")
            file.seek(0)
            separator = find_separator(header, names)
            reader = csv.reader(file, delimiter=separator, strict=True)
            for cells in reader:
                line = reader.line_num
                if cells:
                    yield f"line {line}", cells
    except csv.Error as error:
        raise DataError(
            f"after line {line}: {error}. Look for a double quote that is missing or "
            f"too many; a cell has at most {CELL_BYTES:,} characters."
        ) from None


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
            f"it has no line to use; {first[0].where}: {first[0].trouble} "
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
                raise DataError(f"line {number}: more than {_LINE_BYTES:,} bytes.")
            if raw.strip():
                yield _json_row(raw, number)


def _json_row(raw: bytes, number: int) -> Row:
    where = f"line {number}"
    try:
        cells: Any = json.loads(raw.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError:
        return Row(where, {}, "not UTF-8 text.")
    except (ValueError, RecursionError) as error:
        return Row(where, {}, f"not JSON ({error}).")
    if not isinstance(cells, dict):
        kind = "null" if cells is None else type(cells).__name__
        return Row(where, {}, f"a JSON object is expected; got {kind}.")
    return Row(where, cells)
