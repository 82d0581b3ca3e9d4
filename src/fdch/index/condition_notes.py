"""Notes on conditions that can be read but find nothing, or not all that was meant."""

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from fdch.index.cells import as_number
from fdch.index.column_types import (
    KINDS,
    nearest_meaning,
    read_date,
    read_truth,
    strip_quotes,
)
from fdch.index.conditions import write_condition
from fdch.index.store import ColumnType, Condition, Operator

MAX_VALUES = 1000  # that are compared with one that no item has
_SHOWN = 60


class Look(Protocol):
    """What a store can say of one column, at a bounded cost."""

    @property
    def type(self) -> ColumnType:
        """How its cells are compared."""

    def has(self, condition: Condition) -> bool:
        """Return whether an item fulfils a condition on the column."""

    def values_like(self, text: str) -> Sequence[str]:
        """Return some values, those that begin alike first."""

    def ends(self) -> tuple[str, str] | None:
        """Return the least and the greatest value that fits the column's type."""

    def beside(self, number: float) -> Sequence[str]:
        """Return the nearest numbers below and above."""

    def misfits(self) -> tuple[int, str]:
        """Count the cells that do not fit the column's type; return one of them."""


def note_conditions(
    where: Sequence[Condition], look_at: Callable[[str], Look]
) -> list[str]:
    """Say what is odd about each of some conditions, by a look at their columns."""
    notes: list[str] = []
    for condition in where:
        look = look_at(condition.column)
        if condition.operator in ("<", "<=", ">", ">="):
            notes += _note_range(condition, look)
            continue
        equal: Operator = "^=" if condition.operator == "^=" else "="
        for value in dict.fromkeys(condition.values):
            if not look.has(Condition(condition.column, equal, (value,))):
                notes.append(_note_missing(condition, value, look))
    return list(dict.fromkeys(notes))


def _note_missing(condition: Condition, value: str, look: Look) -> str:
    """Say that no item has a value, and which one comes nearest."""
    column, type, shown = condition.column, look.type, value[:_SHOWN]
    if condition.operator == "^=":
        begins = {each[: len(value)]: each for each in look.values_like(value)}
        near = nearest(value, begins)
        hint = f"; did you mean '{column}^={near}'?" if near else "."
        return f"no item has a {column} that begins with '{shown}'{hint}"
    said = f"no item has {column} '{shown}'"
    if value[-1:] in ("*", "%") and len(value) > 1:
        return f"{said}; for a beginning, write '{column}^={value[:-1]}'."
    if type == "number" and (number := as_number(value)) is not None:
        beside = " and ".join(look.beside(number))
        return f"{said}; next to it are {beside}." if beside else f"{said}."
    if type == "date" and read_date(value):
        return said + _span(look)
    if type == "boolean" and read_truth(value) is not None:
        return f"{said}."
    if type != "text" and (meant := nearest_meaning(column, "=", value, type)):
        return f"{said}, which is not a {KINDS[type]}; did you mean {meant}?"
    near = nearest(value, look.values_like(value))
    if near:
        return f"{said}; did you mean '{near}'?"
    return f"{said}." if type == "text" else f"{said}, which is not a {KINDS[type]}."


def _note_range(condition: Condition, look: Look) -> Iterable[str]:
    """Say why a range finds nothing, and which cells match no range."""
    column, type = condition.column, look.type
    if not look.has(condition):
        yield f"no item has {write_condition(condition)}{_span(look)}"
    if type in ("number", "date"):
        count, example = look.misfits()
        if count:
            has, matches = ("has", "matches") if count == 1 else ("have", "match")
            items = "1 item" if count == 1 else f"{count:,} items"
            yield (
                f"{items} {has} a {column} that is not a {KINDS[type]}, such as "
                f"'{example[:_SHOWN]}', and {matches} no range."
            )
    elif as_number(condition.values[0]) is not None:
        yield (
            f"'{column}' is a column of texts: '{condition.values[0][:_SHOWN]}' is "
            "compared with numbers in it as a number, with all else letter by letter. "
            f"'fdch index add INDEX --type {column}=number' makes it a column of "
            "numbers."
        )


def nearest(text: str, known: Iterable[str]) -> str | None:
    """Return the known text nearest to one, capitals and accents aside first."""
    values = list(known)[: 3 * MAX_VALUES]
    bare = strip_quotes(text).casefold()
    folded = {each.strip().casefold(): each for each in reversed(values)}
    if bare in folded:
        return folded[bare]
    close = difflib.get_close_matches(bare, folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def _span(look: Look) -> str:
    ends = look.ends()
    if ends is None:
        return "."
    low, high = (end[:_SHOWN] for end in ends)
    return f"; all are '{low}'." if low == high else f"; they go from {low} to {high}."
