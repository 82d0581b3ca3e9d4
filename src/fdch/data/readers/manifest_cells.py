"""One row of a manifest, cell by cell; what is wrong is said in its words."""

import json
import math
import os
import stat
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fdch.data.pictures.decoding import PictureLimits
from fdch.data.pictures.places import Place
from fdch.data.readers.manifest_rows import CELL_BYTES

KNOWN = ("id", "image", "text", "labels")


class Unusable(Exception):
    """Why a row cannot be used."""


@dataclass(frozen=True)
class Pair:
    """The cells of one usable row."""

    name: str
    image: Path | Place | None
    text: str | None
    labels: tuple[str, ...]
    others: dict[str, Any]


def pair(
    cells: Mapping[str, Any], number: int, folder: Path, limits: PictureLimits
) -> Pair:
    """Check the cells of one row; its number is its name when there is no id column.

    Relative paths of pictures begin at the folder.

    Raises:
        Unusable: With the reason, for the user.
    """
    image = _picture(cells.get("image"), folder, limits)
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
    """Give a row's id, or its number where there is no id column."""
    if "id" not in cells:
        return str(number)
    name = _as_text(cells["id"], "id", "the id is")
    if not name:
        raise Unusable("the id is empty.")
    return name


def _picture(value: object, folder: Path, limits: PictureLimits) -> Path | Place | None:
    if value is None or value == "":
        return None
    if isinstance(value, Place):
        _require_size(value.name, value.size, limits)
        return value
    if not isinstance(value, str):
        raise Unusable(f"the image is {_shorten(value)}; expected a path.")
    path = folder / _check(value, "image")
    try:
        facts = os.stat(path)
    except (OSError, ValueError):
        raise Unusable(f"there is no picture at '{path}'.") from None
    if not stat.S_ISREG(facts.st_mode):
        raise Unusable(f"'{path}' is not a picture file.")
    _require_size(f"picture '{path}'", facts.st_size, limits)
    return path


def _require_size(name: str, size: int, limits: PictureLimits) -> None:
    if not 0 < size <= limits.bytes:
        raise Unusable(f"{name} has {size:,} bytes; expected 1 to {limits.bytes:,}.")


def _text(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, list) and all(isinstance(tag, str) for tag in value):
        value = " ".join(value)
    if not isinstance(value, str):
        raise Unusable(f"the text is {_shorten(value)}; expected a text.")
    return _check(value, "text").strip() or None


def _labels(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        value = value.split(";")
    if not isinstance(value, list):
        raise Unusable(
            f"the labels are {_shorten(value)}; expected a list, or texts "
            "separated by ';'."
        )
    texts = (_as_text(name, "labels", "a label is") for name in value)
    names = (unicodedata.normalize("NFC", text) for text in texts)
    return tuple(dict.fromkeys(name for name in names if name))


def _as_text(value: object, column: str, what: str) -> str:
    """Take a text or a whole number as a text, without outer spaces."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise Unusable(f"{what} {_shorten(value)}; expected a text or number.")
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


def _shorten(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else f"{shown[:40]}..."
