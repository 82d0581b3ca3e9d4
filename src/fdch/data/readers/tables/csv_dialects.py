"""The encoding and the separator of a CSV file, found from its content."""

import codecs
import csv
import re
from collections.abc import Iterable
from pathlib import Path

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
_HEAD = 4096
_CHUNK = 2**20
# western texts have a few accents; in other alphabets most letters are above ASCII
_MAX_ACCENTS = 0.15
_UNDEFINED = bytes([0x81, 0x8D, 0x8F, 0x90, 0x9D])
_ASCII = bytes(range(0x80))
_WRONG = re.compile("[\udc80-\udcff]")  # bytes that are no UTF-8


def find_encoding(path: Path) -> str:
    """Tell UTF-8, UTF-16 and Windows-1252 apart, by a mark or by what can be read."""
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    if b"\0" in head:
        even, odd = head[0::2].count(0), head[1::2].count(0)
        if max(even, odd) < 2 * min(even, odd) + 1:
            raise DataError(
                f"'{path}' is not text; save it as CSV in UTF-8, or give it the "
                "ending of what it is."
            )
        return "utf-16-le" if odd > even else "utf-16-be"
    return "utf-8" if _is_utf8(path) else _require_western(path)


def _is_utf8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    with open(path, "rb") as file:
        try:
            while chunk := file.read(_CHUNK):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _require_western(path: Path) -> str:
    """Return cp1252 for text that is likely to be; UTF-8 where that is only damaged."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    foreign = wrong = accents = size = undefined = 0
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            accents += len(chunk.translate(None, _ASCII))
            undefined += len(chunk) - len(chunk.translate(None, _UNDEFINED))
            text = decoder.decode(chunk)
            wrong += len(_WRONG.findall(text))
            foreign += len(text) - len(text.encode("ascii", "ignore"))
    if foreign - wrong > wrong:
        return "utf-8"  # reading it will name the place of the damage
    if undefined or accents > _MAX_ACCENTS * size:
        raise DataError(
            f"'{path}' is neither UTF-8 nor UTF-16 text, and not of western Windows "
            f"({WESTERN}) either; save it as UTF-8."
        )
    return WESTERN


def find_separator(header: str, names: Iterable[str]) -> str:
    r"""Choose what separates the columns: most known names, then most columns.

    >>> find_separator("id;text;price, in euros", ["id", "text"])
    ';'
    """
    known = set(names)

    def rate(separator: str) -> tuple[int, int]:
        cells = next(csv.reader([header], delimiter=separator), [])
        return sum(cell.strip().casefold() in known for cell in cells), len(cells)

    return max(SEPARATORS, key=rate)
