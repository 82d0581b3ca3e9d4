"""What a client sends, checked before it leaves."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np

from fdch.errors import DataError, SettingError
from fdch.index.conditions import write_condition
from fdch.index.store import Cell, is_whole
from fdch.retrieval.results import Demand, Options

Picture = str | Path | bytes | bytearray | memoryview

# what a service gives at most; its fdch.service.http.limits
MOST_RESULTS = 1000
MOST_RESULTS_IN_ALL = 20_000
MOST_TEXTS = 256


@dataclass(frozen=True)
class Search:
    """Options of a search as a service takes them.

    Args:
        fields: Those that are sent.
        wants_all: Whether everything within a radius is asked for, however much.
    """

    fields: Mapping[str, Any]
    wants_all: bool

    @classmethod
    def of(cls, options: Options) -> "Search":
        """Check the options of a Searcher, with its defaults."""
        demand = Demand.of(options)
        fields: dict[str, Any] = {"k": MOST_RESULTS if demand.k is None else demand.k}
        if demand.radius is not None:
            fields["radius"] = demand.radius
        if demand.where:
            fields["where"] = [write_condition(each) for each in demand.where]
        if demand.rerank:
            fields["rerank"] = True
        if demand.min_probability is not None:
            fields["min_probability"] = float(demand.min_probability)
        return cls(fields, demand.k is None)

    @property
    def texts_at_a_time(self) -> int:
        """How many texts a service takes in one request."""
        return max(1, min(MOST_TEXTS, MOST_RESULTS_IN_ALL // self.fields["k"]))

    def form(self) -> dict[str, Any]:
        """Give the options as fields of a form."""
        return {
            name: value if isinstance(value, list) else str(value).lower()
            for name, value in self.fields.items()
        }

    def require_all(self, found: int) -> None:
        """Refuse an answer that may have been cut, where all was asked for."""
        if self.wants_all and found >= MOST_RESULTS:
            raise SettingError(
                f"there are {MOST_RESULTS:,} results or more within the radius, and a "
                f"service gives no more than {MOST_RESULTS:,}. Say how many are wanted "
                "with k, or give a smaller radius."
            )


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
    if isinstance(given, str | bytes):
        raise SettingError(f"several texts are a list, such as [{given[:40]!r}].")
    return [text(f"text {place}", each) for place, each in enumerate(given, 1)]


def path(name: str) -> str:
    """Give where an item is at a service."""
    if text("an id", name) in ("", ".", ".."):
        raise SettingError(f"an item with the id '{name}' has no address at a service.")
    return f"/v1/items/{quote(name, safe='')}"


def item(
    words: str | None,
    labels: Sequence[str] | None,
    columns: Mapping[str, Cell] | None,
) -> dict[str, Any]:
    """Give what is to be known of an item; what is None is left out."""
    content: dict[str, Any] = {}
    if words is not None:
        content["text"] = text("the text", words)
    if labels is not None:
        if isinstance(labels, str | bytes):
            raise SettingError(f"labels are a list, such as [{labels[:40]!r}].")
        content["labels"] = [text("a label", label) for label in labels]
    if columns is not None:
        if not isinstance(columns, Mapping):
            raise SettingError(
                "columns are names with their cells, such as {'price': 20}; got "
                f"{type(columns).__name__}."
            )
        content["columns"] = {
            text("the name of a column", name): _cell(name, cell)
            for name, cell in columns.items()
        }
    return content


def file(image: Picture) -> bytes:
    """Give the content of a picture's file."""
    if isinstance(image, bytes | bytearray | memoryview):
        return bytes(image)
    if not isinstance(image, str | Path):
        raise SettingError(
            "a service takes a picture as the path or the content of its file; got "
            f"{type(image).__name__}."
        )
    try:
        return Path(image).read_bytes()
    except OSError as problem:
        reason = problem.strerror or problem
        raise DataError(f"picture '{image}': {reason}.") from problem
    except ValueError as problem:
        raise DataError(f"{str(image)!r} is not a path: {problem}.") from problem


def _cell(name: str, given: object) -> Cell:
    cell = given.item() if isinstance(given, np.generic) else given
    if isinstance(cell, str):
        return text(f"column '{name}'", cell)
    if isinstance(cell, float) and not math.isfinite(cell):
        raise SettingError(
            f"column '{name}' is {cell}; give a finite number, or None where there is "
            "none."
        )
    if cell is None or isinstance(cell, bool | int | float):
        return cell
    raise SettingError(
        f"column '{name}' must be a text, a number, True, False or None; got "
        f"{type(given).__name__}."
    )
