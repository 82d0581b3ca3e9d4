"""Requests of a client, checked before they are sent."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np

from fdch.errors import DataError, MissingPicture, SettingError
from fdch.index.store import Cell, is_whole, require_several
from fdch.retrieval.composed import ComposedQuery
from fdch.retrieval.params import SearchParams

Picture = str | Path | bytes | bytearray | memoryview

# what a service gives at most; its fdch.service.http.limits
MAX_RESULTS = 1000
MAX_RESULTS_IN_ALL = 20_000
MAX_TEXTS = 256


def search_fields(params: SearchParams) -> dict[str, Any]:
    """Return the fields of a request: those of `params` that are not the defaults."""
    default = SearchParams().to_json()
    given = {k: v for k, v in params.to_json().items() if v != default[k]}
    return {**given, "k": MAX_RESULTS if params.k is None else params.k}


def form_fields(params: SearchParams) -> dict[str, Any]:
    """Return the same as texts, for a form."""
    return {
        name: value if isinstance(value, list | str) else str(value).lower()
        for name, value in search_fields(params).items()
    }


def query_fields(query: ComposedQuery) -> dict[str, Any]:
    """Return the parts of a query but its picture."""
    found = query.to_json()
    if "text" in found:
        text("the text", found["text"])
    for name in ("like", "unlike", "avoid"):
        for each in found.get(name, ()):
            text(f"each of {name}", each)
    return found


def address(url: str) -> str:
    """Check the address of a service."""
    scheme, mark, rest = str(url).strip().partition("://")
    if scheme and not mark:
        raise DataError(
            f"the address '{url}' lacks its beginning: write 'http://{url}', or "
            "https:// where the service has that."
        )
    try:
        parts = urlsplit(f"{scheme}://{rest}")
        is_right = scheme.lower() in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_right = False
    if not is_right:
        raise DataError(
            f"'{url}' is not the address of a service, such as 'http://127.0.0.1:8000'."
        )
    return f"{scheme}://{rest}".rstrip("/")


def text(what: str, given: object) -> str:
    """Take a text that can be sent."""
    if not isinstance(given, str):
        raise SettingError(f"{what} must be a text; got {type(given).__name__}.")
    if not is_whole(given):
        raise SettingError(
            f"{what} holds half a character (a surrogate): {given[:40]!a}. Write it in "
            "UTF-8."
        )
    return given


def texts(given: Sequence[str]) -> list[str]:
    """Take several texts."""
    require_several("texts", given)
    if len(given) == 1:
        return [text("the text", given[0])]
    return [text(f"text {place}", each) for place, each in enumerate(given, 1)]


def path(name: str) -> str:
    """Return where an item is at a service."""
    if text("an id", name) in ("", ".", ".."):
        raise SettingError(f"an item with the id '{name}' has no address at a service.")
    return f"/v1/items/{quote(name, safe='')}"


def item(
    words: str | None,
    labels: Sequence[str] | None,
    columns: Mapping[str, Cell] | None,
) -> dict[str, Any]:
    """Return an item record to send, without fields that are None."""
    content: dict[str, Any] = {}
    if words is not None:
        content["text"] = text("the text", words)
    if labels is not None:
        if isinstance(labels, str | bytes):
            raise SettingError(f"labels are a list, such as [{labels[:40]!r}].")
        content["labels"] = [text("a label", label) for label in labels]
    if columns is not None:
        if not isinstance(columns, Mapping):
            raise SettingError("columns are names with their cells: {'price': 20}.")
        content["columns"] = {
            text("the name of a column", name): _cell(f"column '{name}'", cell)
            for name, cell in columns.items()
        }
    return content


def file(image: Picture) -> bytes:
    """Return the content of a picture's file."""
    if isinstance(image, bytes | bytearray | memoryview):
        return bytes(image)
    if not isinstance(image, str | Path):
        raise SettingError(
            "a service takes a picture as the path or the content of its file; got "
            f"{type(image).__name__}."
        )
    try:
        return Path(image).read_bytes()
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        is_missing = isinstance(problem, FileNotFoundError)
        kind = MissingPicture if is_missing else DataError
        raise kind(f"picture {str(image)!r}: {reason}.") from problem


def _cell(what: str, given: object) -> Cell:
    cell = given.item() if isinstance(given, np.generic) else given
    if isinstance(cell, str):
        return text(what, cell)
    if isinstance(cell, float) and not math.isfinite(cell):
        raise SettingError(f"{what} is {cell}; give a finite number, or None.")
    if cell is None or isinstance(cell, bool | int | float):
        return cell
    raise SettingError(
        f"{what} must be a text, a number, True, False or None; got "
        f"{type(given).__name__}."
    )
