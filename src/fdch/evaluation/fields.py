"""Checked reading of JSON documents: each wrong value is named by its place."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from fdch.errors import DataError

ROUNDING = 1e-9


class Fields:
    """The members of a JSON object, taken out by name and kind.

    >>> Fields({"bits": 16}).whole("bits")
    16
    """

    def __init__(self, document: object, place: str = "scores") -> None:
        if not isinstance(document, Mapping):
            raise DataError(f"{place} must be a JSON object; got {_short(document)}.")
        self.document: Mapping[str, Any] = document
        self.place = place

    def inner(self, name: str) -> "Fields":
        """Take an object."""
        return Fields(self._take(name), f"{self.place}.{name}")

    def optional(self, name: str) -> "Fields":
        """Take an object; an empty one where it is missing."""
        return self.inner(name) if self.has(name) else Fields({})

    def members(self) -> Iterator[tuple[str, "Fields"]]:
        """Take all members, each an object."""
        return ((name, self.inner(name)) for name in self.document)

    def text(self, name: str) -> str:
        """Take a string."""
        value = self._take(name)
        if not isinstance(value, str):
            raise self._wrong(name, "text", value)
        return value

    def choice(self, name: str, *known: str) -> str:
        """Take one of a few strings."""
        value = self._take(name)
        if value not in known:
            raise self._wrong(name, " or ".join(known), value)
        return value

    def whole(self, name: str, least: int = 0) -> int:
        """Take a whole number."""
        value = self._take(name)
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if not is_whole or not least <= value < 2**63:
            raise self._wrong(name, f"a whole number of {least} or more", value)
        return value

    def number(self, name: str, least: float = 0, most: float = 1) -> float:
        """Take a number within a range; what is not finite is outside it."""
        value = self._take(name)
        if not _is_within(value, least, most):
            raise self._wrong(name, f"a number from {least} to {most}", value)
        return float(value)

    def numbers(self, name: str, least: float = 0, most: float = 1) -> list[float]:
        """Take a list of numbers within a range."""
        values = self._take(name)
        if not isinstance(values, list):
            raise self._wrong(name, "a list of numbers", values)
        for value in values:
            if not _is_within(value, least, most):
                raise self._wrong(name, f"numbers from {least} to {most}", value)
        return [float(value) for value in values]

    def numbers_or_null(self, name: str) -> list[float | None]:
        """Take a list of numbers from 0 to 1, where some may be null."""
        values = self._take(name)
        if isinstance(values, list):
            filled = [0.0 if value is None else value for value in values]
            Fields({name: filled}, self.place).numbers(name)
            return [None if value is None else float(value) for value in values]
        return [*self.numbers(name)]

    def by_rank(self, name: str) -> dict[int, float]:
        """Take an object of shares by rank; none where it is missing."""
        given = self.optional(name)
        for text in given.document:
            if not text.isdecimal() or len(text) > 12 or int(text) < 1:
                place = f"{self.place}.{name}"
                raise DataError(f"{place} is by ranks of 1 or more; got {text[:20]!r}.")
        return {int(text): given.number(text) for text in given.document}

    def intervals(self) -> dict[str, tuple[float, float]]:
        """Take an object of intervals by measure; none where it is missing."""
        given = self.optional("intervals")
        found = {}
        for name in given.document:
            ends = given.numbers(name)
            if len(ends) != 2 or ends[0] > ends[1]:
                raise given._wrong(name, "a lower and an upper end", ends)
            found[name] = ends[0], ends[1]
        return found

    def has(self, name: str) -> bool:
        """Tell whether a member is there and not null."""
        return self.document.get(name) is not None

    def _take(self, name: str) -> Any:
        if name not in self.document:
            raise DataError(f"{self.place} has no {name!r}; is it written by fdch?")
        return self.document[name]

    def _wrong(self, name: str, expected: str, value: object) -> DataError:
        return DataError(
            f"{self.place}.{name} must be {expected}; got {_short(value)}."
        )


def _is_within(value: object, least: float, most: float) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # sums in floating point may end a hair outside
    return is_number and least - ROUNDING <= cast(float, value) <= most + ROUNDING


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
