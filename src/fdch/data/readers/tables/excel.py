"""The first sheet of an Excel workbook (.xlsx), read with the standard library alone.

The file may be hostile: what it unpacks to is bounded, document types (and so
entities) are refused, and rows are read one by one. Libraries that read Excel load
whole parts before any such check. Formulas count by their saved values.
"""

import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any
from xml.parsers import expat

from fdch.data.readers.array_files import require_sound_entry
from fdch.data.readers.columns import Layout, holds_names
from fdch.data.readers.tables.table import CELL_BYTES, Table, make_table
from fdch.data.rows import shorten

MAX_BYTES = 256 * 2**20  # of the parts that are read, unpacked
MAX_COLUMNS = 1000
MAX_ROW = 2**20  # Excel's own limit
_MAX_DEPTH = 50
_MAX_ADVISED = 20  # sheets, and rows of each, where columns may be named
_CHUNK = 2**16
_WORKBOOK, _RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
_DATE_NUMBERS = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}
# of a number format without quoted parts, colours and conditions
_DATE_LETTERS = re.compile(r"[dmyhs]", re.IGNORECASE)
_NOT_LETTERS = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.|_.')
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")

# name; attributes where it starts, None where it ends; then the text just before
Tag = tuple[str, dict[str, str] | None, str]


def open_excel(path: Path, layout: Layout) -> Table:
    """Read the first sheet that is not hidden, below its columns' names."""
    book = _Workbook(path)
    table = make_table(book.lines(), book.notes)
    return replace(table, advise=lambda: book.advise(layout))


class _Workbook:
    """A workbook whose sheet is to be read; any error where it is broken."""

    def __init__(self, path: Path) -> None:
        self._archive = zipfile.ZipFile(path)
        self._left = MAX_BYTES
        self.notes: list[str] = []
        self.errors = 0
        self._epoch = datetime(1899, 12, 30)
        self._parts = self._find_parts()
        self._sheets = self._find_sheets()
        self._strings = self._read_strings()
        self._dates = self._find_date_styles()

    def lines(self) -> Iterator[tuple[str, list[Any]]]:
        """Yield the places and cells of rows, at least as many cells as the first."""
        width = 0
        for number, cells in self._rows(self._sheets[0][1]):
            last = max(cells) + 1
            width = width or last
            yield f"row {number}", [cells.get(i) for i in range(max(width, last))]
        if self.errors:
            self.notes.append(
                f"{self.errors:,} cells hold errors such as #N/A; they are read as "
                "empty."
            )

    def advise(self, layout: Layout) -> str:
        """Name the row below others, or the other sheet, that names the columns."""
        for sheet, (name, part) in enumerate(self._sheets[:_MAX_ADVISED]):
            if self._archive.getinfo(part).file_size > self._left:
                break
            for place, (row, cells) in enumerate(
                islice(self._rows(part), _MAX_ADVISED)
            ):
                if not holds_names(cells.values(), layout):
                    continue
                if sheet == place == 0:
                    return ""  # these are the columns, and lack one
                above = f"delete the rows above row {row}, which seems to name them"
                if sheet == 0:
                    return f" Or {above}."
                above = f", and {above}" if place else ""
                return f" Or move sheet '{shorten(name)}' to the front{above}."
        return ""

    def _rows(self, sheet: str) -> Iterator[tuple[int, dict[int, Any]]]:
        """Yield the rows that are not empty: their numbers, and cells by column."""
        row, column, kind, style = 0, -1, "n", ""
        cells: dict[int, Any] = {}
        parts: list[str] = []
        for name, given, text in self._tags(sheet):
            if given is None and name in ("v", "t"):
                parts.append(text)
            elif name == "c" and given is not None:
                place = given.get("r")
                column = column + 1 if place is None else _column(place)
                if column >= MAX_COLUMNS:
                    raise ValueError(f"it has more than {MAX_COLUMNS:,} columns")
                kind, style = given.get("t", "n"), given.get("s", "")
                parts.clear()
            elif name == "c":
                found = "".join(parts)
                value = self._value(found, kind, style) if found else None
                if value is not None and value != "":
                    cells[column] = value
            elif name == "row" and given is not None:
                row, column, cells = int(given.get("r", row + 1)), -1, {}
                if not 0 < row <= MAX_ROW:
                    raise ValueError(f"it has a row {row:,}")
            elif name == "row" and cells:
                yield row, cells

    def _value(self, text: str, kind: str, style: str) -> Any:
        """Return a cell's value; None for an error."""
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
        """Find the workbook's parts by their ids and by their kinds."""
        parts: dict[str, str] = {}
        for name, given in self._starts(_RELATIONS):
            if name == "Relationship":
                target = given["Target"]
                part = target[1:] if target.startswith("/") else f"xl/{target}"
                kind = given["Type"].rpartition("/")[2]
                parts.update({given["Id"]: part, kind: part})
        return parts

    def _find_sheets(self) -> list[tuple[str, str]]:
        """Find the names and parts of the visible sheets."""
        sheets: list[tuple[str, str]] = []
        for name, given in self._starts(_WORKBOOK):
            if name == "sheet" and given.get("state", "visible") == "visible":
                sheets.append((given.get("name", ""), given.get("id", "")))
            if name == "workbookPr" and given.get("date1904") in ("1", "true"):
                self._epoch = datetime(1904, 1, 1)
        if not sheets:
            raise ValueError("it has no visible sheet")
        if len(sheets) > 1:
            self.notes.append(
                f"the first of {len(sheets)} sheets is read, '{sheets[0][0]}'."
            )
        parts = [(name, self._parts.get(id, "")) for name, id in sheets]
        return [(sheets[0][0], self._parts[sheets[0][1]]), *parts[1:]]

    def _read_strings(self) -> list[str]:
        strings: list[str] = []
        parts: list[str] = []
        for name, given, text in self._tags(self._parts.get("sharedStrings")):
            if given is None and name == "t":
                parts.append(text)
            elif given is None and name == "si":
                strings.append(_unescape("".join(parts)))
                parts.clear()
        return strings

    def _find_date_styles(self) -> set[str]:
        """Find the numbers of the styles that show a number as a date or a time."""
        own: set[int] = set()
        formats: list[int] = []
        inside = ""
        for name, given in self._starts(self._parts.get("styles")):
            if name in ("cellXfs", "cellStyleXfs"):
                inside = name
            elif name == "xf" and inside == "cellXfs":
                formats.append(int(given.get("numFmtId", 0)))
            elif name == "numFmt":
                code = _NOT_LETTERS.sub("", given["formatCode"])
                if _DATE_LETTERS.search(code):
                    own.add(int(given["numFmtId"]))
        dates = _DATE_NUMBERS | own
        return {str(i) for i, number in enumerate(formats) if number in dates}

    def _starts(self, part: str | None) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield the names and attributes of all tags of a part."""
        for name, given, _ in self._tags(part):
            if given is not None:
                yield name, given

    def _tags(self, part: str | None) -> Iterator[Tag]:
        """Yield the tags of a part, if the workbook has it, a piece at a time."""
        if part is None:
            return
        entry = self._archive.getinfo(part)
        require_sound_entry(entry)
        self._left -= entry.file_size
        if self._left < 0:
            raise ValueError(f"it unpacks to more than {MAX_BYTES:,} bytes")
        parser = _TagParser()
        with self._archive.open(part) as file:
            while chunk := file.read(_CHUNK):
                yield from parser.feed(chunk)
            yield from parser.feed(b"", True)


class _TagParser:
    """Cuts XML into tags under limits; leaves out how texts are read aloud (rPh)."""

    def __init__(self) -> None:
        self._found: list[Tag] = []
        self._text: list[str] = []
        self._letters = self._depth = self._phonetic = 0
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._add_text
        self._parser.StartDoctypeDeclHandler = self._refuse_document_type

    def feed(self, content: bytes, is_last: bool = False) -> list[Tag]:
        """Return the tags that these bytes complete."""
        self._found = []
        self._parser.Parse(content, is_last)
        return self._found

    def _start(self, name: str, given: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ValueError(f"its XML is more than {_MAX_DEPTH} tags deep")
        self._text, self._letters = [], 0
        self._phonetic += _local(name) == "rPh"
        if not self._phonetic:
            own = {_local(key): value for key, value in given.items()}
            self._found.append((_local(name), own, ""))

    def _end(self, name: str) -> None:
        self._depth -= 1
        if not self._phonetic:
            self._found.append((_local(name), None, "".join(self._text)))
        self._phonetic -= _local(name) == "rPh"
        self._text = []

    def _add_text(self, piece: str) -> None:
        self._letters += len(piece)
        if self._letters > CELL_BYTES:
            raise ValueError(f"a text has more than {CELL_BYTES:,} characters")
        self._text.append(piece)

    def _refuse_document_type(self, *_: Any) -> None:
        raise ValueError("its XML states a document type")


def _column(place: str) -> int:
    """Return the number of a cell's column, counted from 0.

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
    """Return a name without its namespace."""
    return name.rpartition(" ")[2]


def _unescape(text: str) -> str:
    r"""Put in the characters that XML cannot hold.

    >>> _unescape("a_x000A_b")
    'a\nb'
    """
    if "_x" not in text:
        return text
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
