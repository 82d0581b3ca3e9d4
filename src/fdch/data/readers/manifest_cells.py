"""One row of a manifest, checked cell by cell, and how its labels are separated."""

import json
import math
import os
import re
import stat
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from fdch.data.pictures.decoding import PictureLimits
from fdch.data.pictures.placed_pictures import Place
from fdch.data.readers.columns import KNOWN
from fdch.data.readers.tables.table import CELL_BYTES
from fdch.data.rows import shorten

_MAX_PARTS = 32  # of a path, where pictures have moved
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{1,20}://", re.IGNORECASE)
SEPARATORS = (";", "|", ",")
Cell = str | tuple[str, ...]


class Unusable(Exception):
    """Why a row cannot be used."""


@dataclass(frozen=True)
class Pair:
    """The cells of one usable row."""

    name: str
    image: Path | Place | None
    text: str | None
    labels: str | tuple[str, ...]  # a text is still to be split
    others: dict[str, Any]


@dataclass(frozen=True)
class PictureFolders:
    """The folder that paths of pictures start from, and one they may have moved to."""

    folder: Path
    moved: Path | None = None

    def find(self, name: str) -> tuple[Path, os.stat_result | None]:
        """Return the first existing path and its facts, or the first and None."""
        places = list(self._places(name))
        for path in places:
            with suppress(OSError, ValueError):
                return path, os.stat(path)
        return places[0], None

    def _places(self, name: str) -> Iterator[Path]:
        names = dict.fromkeys((name, name.replace("\\", "/")))  # Windows' paths too
        if self.moved is None:
            yield from (self.folder / each for each in names)
            return
        for each in names:
            parts = [part for part in PurePosixPath(each).parts if part not in "/.."]
            for start in range(min(len(parts), _MAX_PARTS)):
                yield self.moved.joinpath(*parts[start:])


def pair(
    cells: Mapping[str, Any],
    number: int,
    folders: PictureFolders,
    limits: PictureLimits,
) -> Pair:
    """Check the cells of one row; without an id column, its number is its name.

    Unusable is raised with the reason, for the user.
    """
    image = _picture(cells.get("image"), folders, limits)
    text = _text(cells.get("text"))
    if image is None and text is None:
        raise Unusable("neither an image nor a text.")
    return Pair(
        name=name_of(cells, number),
        image=image,
        text=text,
        labels=_labels(cells.get("labels")),
        others={
            column: _plain(value, column)
            for column, value in cells.items()
            if column not in KNOWN
        },
    )


def name_of(cells: Mapping[str, Any], number: int) -> str:
    """Return a row's id, or its number without an id column."""
    if "id" not in cells:
        return str(number)
    name = _as_text(cells["id"], "id", "the id is")
    if not name:
        raise Unusable("the id is empty.")
    return name


def _picture(
    value: object, folders: PictureFolders, limits: PictureLimits
) -> Path | Place | None:
    if value is None or value == "":
        return None
    if isinstance(value, Place):
        _require_size(value.name, value.size, limits)
        return value
    if not isinstance(value, str):
        raise Unusable(f"the image is {shorten(repr(value), 40)}; expected a path.")
    path, facts = folders.find(_check(value, "image"))
    if facts is None:
        raise Unusable(_explain_missing(value, path, folders.moved is not None))
    if not stat.S_ISREG(facts.st_mode):
        raise Unusable(f"'{path}' is not a picture file.")
    _require_size(f"picture '{path}'", facts.st_size, limits)
    return path


def _explain_missing(value: str, path: Path, is_moved: bool) -> str:
    if _ADDRESS.match(value):
        return (
            f"the image '{shorten(value, 200)}' is an address, and pictures are not "
            "downloaded. Download them and add --pictures DIR, or write paths."
        )
    hint = "" if is_moved else "; if pictures have moved, add --pictures DIR"
    return f"there is no picture at '{path}'{hint}."


def _require_size(name: str, size: int, limits: PictureLimits) -> None:
    if not 0 < size <= limits.bytes:
        raise Unusable(f"{name} has {size:,} bytes; expected 1 to {limits.bytes:,}.")


def _text(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, list) and all(isinstance(tag, str) for tag in value):
        value = " ".join(value)
    return _as_text(value, "text", "the text is") or None  # a title may be a number


def _labels(value: object) -> str | tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return _check(value, "labels")
    if isinstance(value, int) and not isinstance(value, bool):
        value = [value]
    if not isinstance(value, list):
        raise Unusable(
            f"the labels are {shorten(repr(value), 40)}; expected a list, or texts "
            "separated by ';'."
        )
    return clean_labels([_as_text(name, "labels", "a label is") for name in value])


def _as_text(value: object, column: str, what: str) -> str:
    """Take a text or a whole number as a text, without outer spaces."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise Unusable(f"{what} {shorten(repr(value), 40)}; expected a text or number.")
    return _check(value.strip(), column)


def _plain(value: Any, column: str) -> str | int | float | None:
    """Keep what JSON can hold as it is, and the rest as text."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | dict):
        value = json.dumps(value, default=str, ensure_ascii=False)
    return _check(str(value), column) or None


def _check(value: str, column: str) -> str:
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError:
        raise Unusable(f"'{column}' holds half a character (a surrogate).") from None
    if size > CELL_BYTES:
        raise Unusable(f"'{column}' has {size:,} bytes; the limit is {CELL_BYTES:,}.")
    return value


def split_labels(cells: Sequence[Cell]) -> tuple[list[tuple[str, ...]], str]:
    """Split the cells that are texts; return also a note for the user, "" for none.

    Labels are separated by ";". Without any, "|" or "," is taken for the separator
    if the parts recur in other cells, as labels do.

    >>> split_labels(["kitchen, red", "kitchen, blue", "hall, red"])[0]
    [('kitchen', 'red'), ('kitchen', 'blue'), ('hall', 'red')]
    """
    texts = {cell for cell in cells if isinstance(cell, str)}
    present = [mark for mark in SEPARATORS if any(mark in text for text in texts)]
    separator = present[0] if present else SEPARATORS[0]
    note = ""
    if separator != SEPARATORS[0]:
        holding = [
            cell for cell in cells if isinstance(cell, str) and separator in cell
        ]
        shown = min(holding, key=len)[:60]
        if _parts_recur(texts, separator):
            note = (
                f"labels are separated by '{separator}' here, such as '{shown}'. If it "
                "is part of a label, end each label with ';'."
            )
        else:
            note = (
                f"{len(holding):,} cells of labels hold '{separator}' and are read as "
                f"one label each, such as '{shown}'. Separate labels with ';'."
            )
            separator = SEPARATORS[0]
    found = [
        clean_labels(cell.split(separator)) if isinstance(cell, str) else cell
        for cell in cells
    ]
    return found, note


def _parts_recur(texts: Iterable[str], separator: str) -> bool:
    """Return whether half of the parts of divided cells occur in other cells too."""
    split = [clean_labels(text.split(separator)) for text in texts]
    counts = Counter(part for parts in split for part in parts)
    divided = {part for parts in split if len(parts) > 1 for part in parts}
    return 2 * sum(counts[part] > 1 for part in divided) >= len(divided) > 0


def clean_labels(names: Iterable[str]) -> tuple[str, ...]:
    """Return each label once, in one form of Unicode, without outer spaces."""
    plain = (unicodedata.normalize("NFC", name.strip()) for name in names)
    return tuple(dict.fromkeys(name for name in plain if name))
