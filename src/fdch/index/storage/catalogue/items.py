"""Items as the catalogue keeps them: one JSON text each, and cells to filter by."""

import json
import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, get_args

import numpy as np

from fdch.errors import DamagedIndex, DataError
from fdch.index.cells import MAX_EXACT, Value, as_number, write_cell
from fdch.index.storage.catalogue.word_table import split_words
from fdch.index.store import LABEL, Cell, Item, Kind, is_whole

MAX_ID_CHARACTERS = 1024
MAX_CONTENT_CHARACTERS = 2**24
MAX_COLUMNS = 1000

_KINDS = get_args(Kind)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


_decode = json.JSONDecoder(parse_constant=_refuse_constant).decode
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

CellRow = tuple[str, Value, str]  # column, value, spelling where it is not plain


class Row(NamedTuple):
    """An item ready to be stored."""

    id: str
    content: str
    cells: tuple[CellRow, ...]
    words: str  # of its text, to be found by


def to_row(item: Item) -> Row:
    """Check an item and make its row."""
    columns = _require_item(item)
    content = _encode([item.kind, item.text, item.image, item.labels, columns])
    if len(content) > MAX_CONTENT_CHARACTERS or len(columns) > MAX_COLUMNS:
        raise DataError(
            f"item '{item.id}' has {len(content):,} characters in {len(columns):,} "
            f"columns; at most {MAX_CONTENT_CHARACTERS:,} in {MAX_COLUMNS:,} fit."
        )
    words = " ".join(split_words(item.text))
    return Row(item.id, content, cell_rows(item.labels, columns), words)


def from_row(id: str, content: str) -> Item:
    """Read an item's row again, if it is one that could have been written."""
    try:
        kind, text, image, labels, columns = _decode(content)
        if not isinstance(labels, list):
            raise TypeError(f"labels are {type(labels).__name__}")
        item = Item(id, text, image, tuple(labels), dict(columns), kind)
        _require_item(item)
    except (ValueError, TypeError, RecursionError) as problem:
        raise DamagedIndex(
            f"the record of item '{str(id)[:80]}' is damaged ({problem}). "
            "Run 'fdch index verify' to see what is wrong."
        ) from problem
    return item


def _require_item(item: Item) -> dict[str, Cell]:
    """Refuse what cannot be stored; return the columns with plain values."""
    id = item.id
    _require_text("an item's id", id)
    if not 0 < len(id) <= MAX_ID_CHARACTERS:
        raise DataError(
            f"an item's id has 1 to {MAX_ID_CHARACTERS} characters; "
            f"got {len(id)} ({id[:40]!r})."
        )
    if item.kind not in _KINDS:
        raise DataError(f"item '{id}': kind {item.kind!r} is not in {_KINDS}.")
    if item.text is not None:
        _require_text("the text of item '{}'", item.text, id)
    if item.image is not None:
        _require_text("the image of item '{}'", item.image, id)
    for label in item.labels:
        _require_text("a label of item '{}'", label, id)
    return {
        _column(name): cell if type(cell) is int else _cell(item, name, cell)
        for name, cell in item.columns.items()
    }


def read_row(id: str, content: str) -> Row:
    """Return a stored row with the cells and words that belong to it."""
    item = from_row(id, content)
    cells = cell_rows(item.labels, item.columns)
    return Row(id, content, cells, " ".join(split_words(item.text)))


def cell_rows(
    labels: Iterable[str], columns: Mapping[str, Cell]
) -> tuple[CellRow, ...]:
    """Return the cells by which an item is filtered and counted, each once."""
    found: dict[CellRow, None] = {}
    named: list[tuple[str, Cell]] = [(LABEL, label) for label in labels]
    for name, cell in [*named, *columns.items()]:
        if type(cell) is int and -MAX_EXACT <= cell < MAX_EXACT:
            found[name, cell, ""] = None
        elif type(cell) is float:
            found[name, cell, str(cell)] = None
        elif cell is not None:
            text = write_cell(cell)
            number = as_number(text)
            if number is None:
                found[name, text, ""] = None
            else:
                is_plain = type(number) is int and str(number) == text
                found[name, number, "" if is_plain else text] = None
    return tuple(found)


@lru_cache(maxsize=4096)
def _column(name: str) -> str:
    _require_text("the name of a column", name)
    if name == LABEL:
        raise DataError(
            f"no column may be named '{LABEL}': that name stands for the labels of "
            "items in filters. Rename the column."
        )
    return name


def _cell(item: Item, name: str, cell: Any) -> Cell:
    value = cell.item() if isinstance(cell, np.generic) else cell
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise DataError(
            f"column '{name}' of item '{item.id}' is {value}; give a finite number, "
            "or None where there is none."
        )
    _require_text("column '{}' of item '{}'", value, name, item.id)
    return value


def _require_text(what: str, text: object, *names: str) -> None:
    """Refuse what is no text, or none that can be stored.

    `what` names it in the message, which is made of it and `names` only when needed.
    """
    if not isinstance(text, str):
        wrong = f"must be a text; got {type(text).__name__}."
    elif "\0" in text:
        wrong = "contains the character NUL; remove it."
    elif text.isascii() or is_whole(text):
        return
    else:
        wrong = "is not valid Unicode: it has half of a character."
    raise DataError(f"{what.format(*names)} {wrong}")
