"""The first sheet of an Excel workbook (.xlsx), read with the standard library alone.

Anyone may have made the file: what it unpacks to is bounded, document types (and so
entities) are refused, and rows are read one by one. Of formulas the saved values
are taken.
"""

import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any
from xml.parsers import expat

from fdch.data.readers.array_files import require_sound_entry
from fdch.data.readers.columns import Layout
from fdch.data.readers.tables.manifest_rows import (
    CELL_BYTES,
    Row,
    Table,
    describe_nameless,
    make_row,
    name_columns,
)
from fdch.errors import DataError

MAX_BYTES = 256 * 2**20  # of the parts that are read, unpacked
MAX_COLUMNS = 1000
MAX_ROW = 2**20  # Excel's own limit
_MAX_DEPTH = 50
_CHUNK = 2**16
_WORKBOOK, _RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, expat.ExpatError, NotImplementedError),
    *(ValueError, KeyError, IndexError, OverflowError, EOFError, RuntimeError),
)
_DATE_NUMBERS = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}
# of a number format without quoted parts, colours and conditions
_DATE_LETTERS = re.compile(r"[dmyhs]", re.IGNORECASE)
_NOT_LETTERS = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.|_.')
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")

Start = Callable[[str, dict[str, str]], None]
End = Callable[[str, str], None]


def open_excel(path: Path, layout: Layout) -> Table:
    """Read the first sheet that is not hidden, below its columns' names."""
    try:
        book = _Workbook(path)
        rows = book.rows()
        _, header = next(rows, (0, {}))
    except _DAMAGE as error:
        raise _damaged(path, error) from None
    width = max(header, default=-1) + 1
    columns = name_columns(path, (str(header.get(i, "")) for i in range(width)))
    book.notes += describe_nameless(columns)

    def read() -> Iterator[Row]:
        try:
            for number, cells in rows:
                where = f"row {number}"
                beyond = sum(column >= width for column in cells)
                if beyond:
                    trouble = f"{beyond} cells stand beside the named columns."
                    yield Row(where, {}, trouble)
                    continue
                yield make_row(where, columns, map(cells.get, range(width)))
        except _DAMAGE as error:
            raise _damaged(path, error) from None
        if book.errors:
            book.notes.append(
                f"{book.errors:,} cells hold errors such as #N/A; they are read as "
                "empty."
            )

    return Table(tuple(filter(None, columns)), read(), book.notes)


def _damaged(path: Path, error: Exception) -> DataError:
    return DataError(
        f"'{path}' cannot be read as an Excel workbook: {error}. Save it again as "
        ".xlsx without a password, or as CSV in UTF-8."
    )


class _Workbook:
    """A workbook whose sheet is to be read; ValueError and others where it is broken.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._archive = zipfile.ZipFile(path)
        self._left = MAX_BYTES
        self.notes: list[str] = []
        self.errors = 0
        self._epoch = datetime(1899, 12, 30)
        self._parts = self._find_parts()
        self._sheet = self._find_sheet()
        self._strings = self._read_strings()
        self._dates = self._read_date_styles()

    def rows(self) -> Iterator[tuple[int, dict[int, Any]]]:
        """Give the rows that are not empty: their numbers, and cells by column."""
        sheet = _Sheet(self._value)
        for _ in self._parse(self._sheet, sheet.start, sheet.end):
            yield from sheet.finished
            sheet.finished.clear()

    def _value(self, text: str, kind: str, style: str) -> Any:
        """Give a cell's value; None for an error."""
        if kind == "s":
            return self._strings[int(text)]
        if kind == "b":
            return text.strip() not in ("0", "")
        if kind == "e":
            self.errors += 1
            return None
        if kind != "n":  # str, inlineStr, d
            return _unescape(text)
        number = float(text)
        if style in self._dates:
            return self._date(number)
        return int(number) if number.is_integer() and abs(number) < 1e15 else number

    def _date(self, days: float) -> str:
        moment = self._epoch + timedelta(days=days)
        if days < 1:
            return moment.time().isoformat("seconds")
        is_day = not (moment.hour or moment.minute or moment.second)
        return (moment.date() if is_day else moment.replace(microsecond=0)).isoformat()

    def _find_parts(self) -> dict[str, str]:
        """Give the workbook's parts by their ids and by their kinds."""
        parts: dict[str, str] = {}

        def start(name: str, given: dict[str, str]) -> None:
            if name == "Relationship":
                target = given["Target"]
                part = target[1:] if target.startswith("/") else f"xl/{target}"
                kind = given["Type"].rpartition("/")[2]
                parts.update({given["Id"]: part, kind: part})

        self._read(_RELATIONS, start)
        return parts

    def _find_sheet(self) -> str:
        """Give the part of the first visible sheet."""
        sheets: list[tuple[str, str]] = []

        def start(name: str, given: dict[str, str]) -> None:
            if name == "sheet" and given.get("state", "visible") == "visible":
                sheets.append((given.get("name", ""), given.get("id", "")))
            if name == "workbookPr" and given.get("date1904") in ("1", "true"):
                self._epoch = datetime(1904, 1, 1)

        self._read(_WORKBOOK, start)
        if not sheets:
            raise ValueError("it has no visible sheet")
        if len(sheets) > 1:
            self.notes.append(
                f"the first of {len(sheets)} sheets is read, '{sheets[0][0]}'."
            )
        return self._parts[sheets[0][1]]

    def _read_strings(self) -> list[str]:
        strings: list[str] = []
        parts: list[str] = []
        phonetic = 0  # how a text is read aloud is no part of it

        def start(name: str, given: dict[str, str]) -> None:
            nonlocal phonetic
            phonetic += name == "rPh"

        def end(name: str, text: str) -> None:
            nonlocal phonetic
            if name == "t" and not phonetic:
                parts.append(text)
            elif name == "rPh":
                phonetic -= 1
            elif name == "si":
                strings.append(_unescape("".join(parts)))
                parts.clear()

        if part := self._parts.get("sharedStrings"):
            self._read(part, start, end)
        return strings

    def _read_date_styles(self) -> set[str]:
        """Give the numbers of the styles that show a number as a date or a time."""
        own: set[int] = set()
        formats: list[int] = []
        inside = ""

        def start(name: str, given: dict[str, str]) -> None:
            nonlocal inside
            if name in ("cellXfs", "cellStyleXfs"):
                inside = name
            elif name == "xf" and inside == "cellXfs":
                formats.append(int(given.get("numFmtId", 0)))
            elif name == "numFmt":
                code = _NOT_LETTERS.sub("", given["formatCode"])
                if _DATE_LETTERS.search(code):
                    own.add(int(given["numFmtId"]))

        if part := self._parts.get("styles"):
            self._read(part, start)
        dates = _DATE_NUMBERS | own
        return {str(i) for i, number in enumerate(formats) if number in dates}

    def _read(self, part: str, start: Start, end: End = lambda *_: None) -> None:
        for _ in self._parse(part, start, end):
            pass

    def _parse(self, part: str, start: Start, end: End) -> Iterator[None]:
        """Parse a part of the workbook, a piece at a time.

        `end` is called with the text between the tags that are nearest to it.
        """
        entry = self._archive.getinfo(part)
        require_sound_entry(entry)
        self._left -= entry.file_size
        if self._left < 0:
            raise ValueError(f"it unpacks to more than {MAX_BYTES:,} bytes")
        depth, letters = 0, 0
        text: list[str] = []

        def start_element(name: str, given: dict[str, str]) -> None:
            nonlocal depth, letters
            depth, letters = depth + 1, 0
            if depth > _MAX_DEPTH:
                raise ValueError(f"its XML is more than {_MAX_DEPTH} tags deep")
            text.clear()
            start(_local(name), {_local(key): value for key, value in given.items()})

        def end_element(name: str) -> None:
            nonlocal depth
            depth -= 1
            end(_local(name), "".join(text))
            text.clear()

        def add_text(piece: str) -> None:
            nonlocal letters
            letters += len(piece)
            if letters > CELL_BYTES:
                raise ValueError(f"a text has more than {CELL_BYTES:,} characters")
            text.append(piece)

        def refuse_document_type(*_: Any) -> None:
            raise ValueError("its XML states a document type")

        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = start_element
        parser.EndElementHandler = end_element
        parser.CharacterDataHandler = add_text
        parser.StartDoctypeDeclHandler = refuse_document_type
        with self._archive.open(part) as file:
            while chunk := file.read(_CHUNK):
                parser.Parse(chunk)
                yield
            parser.Parse(b"", True)
            yield


class _Sheet:
    """Rows of a sheet, as their tags come."""

    def __init__(self, value: Callable[[str, str, str], Any]) -> None:
        self.finished: list[tuple[int, dict[int, Any]]] = []
        self._value = value
        self._cells: dict[int, Any] = {}
        self._row, self._column = 0, -1
        self._kind, self._style = "n", ""
        self._parts: list[str] = []
        self._phonetic = 0

    def start(self, name: str, given: dict[str, str]) -> None:
        if name == "row":
            self._row = int(given.get("r", self._row + 1))
            self._cells, self._column = {}, -1
            if not 0 < self._row <= MAX_ROW:
                raise ValueError(f"it has a row {self._row:,}")
        elif name == "c":
            place = given.get("r")
            self._column = self._column + 1 if place is None else _column(place)
            if self._column >= MAX_COLUMNS:
                raise ValueError(f"it has more than {MAX_COLUMNS:,} columns")
            self._kind, self._style = given.get("t", "n"), given.get("s", "")
            self._parts.clear()
        elif name == "rPh":
            self._phonetic += 1

    def end(self, name: str, text: str) -> None:
        if name == "rPh":
            self._phonetic -= 1
        elif name == "v" or (name == "t" and not self._phonetic):
            self._parts.append(text)
        elif name == "c":
            found = "".join(self._parts)
            value = self._value(found, self._kind, self._style) if found else None
            if value is not None and value != "":
                self._cells[self._column] = value
        elif name == "row" and self._cells:
            self.finished.append((self._row, self._cells))


def _column(place: str) -> int:
    """Give the number of a cell's column, counted from 0.

    >>> _column("AB7")
    27
    """
    number = 0
    for letter in place[:4].rstrip("0123456789").upper():
        if not "A" <= letter <= "Z":
            raise ValueError(f"it has a cell {place[:20]!r}")
        number = 26 * number + ord(letter) - 64
    return number - 1


@lru_cache(maxsize=1000)
def _local(name: str) -> str:
    """Give a name without its namespace."""
    return name.rpartition(" ")[2]


def _unescape(text: str) -> str:
    r"""Put in the characters that XML cannot hold.

    >>> _unescape("a_x000A_b")
    'a\nb'
    """
    if "_x" not in text:
        return text
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
