"""Cells of columns as filters compare them: as texts, and as the numbers in these."""

import math
import re

from fdch.index.store import Cell

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_FIRST_LETTERS = frozenset("+-.0123456789")
_MAX_DIGITS = 400
MAX_EXACT = 2**63  # from here on numbers are kept as those of floating point

Value = int | float | str


def write_cell(cell: Cell) -> str:
    """Write a cell as the text that filters compare."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return str(cell)


def as_number(text: str) -> int | float | None:
    """Read a text as a number, None where it is not one.

    >>> as_number("10"), as_number("1e2"), as_number("ten")
    (10, 100.0, None)
    """
    if text[:1] not in _FIRST_LETTERS or len(text) > _MAX_DIGITS:
        return None
    if not _NUMBER.fullmatch(text):
        return None
    if _WHOLE.fullmatch(text):
        whole = int(text)
        if -MAX_EXACT <= whole < MAX_EXACT:
            return whole
    number = float(text)
    return number if math.isfinite(number) else None


def as_whole(text: str) -> int:
    """Read the text of a number beyond 64 bits, to its last digit.

    >>> as_whole("18446744073709551617") - as_whole("18446744073709551616")
    1
    """
    return int(text) if _WHOLE.fullmatch(text) else int(float(text))


def list_spellings(text: str) -> tuple[str, ...]:
    """Return what a text may be kept as: True and False as JSON writes them, too.

    >>> list_spellings("True"), list_spellings("beach")
    (('True', 'true'), ('beach',))
    """
    return (text, text.lower()) if text in ("True", "False") else (text,)
