"""Conditions answered by SQLite, before the search begins."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DataError, suggestion
from fdch.index.column_types import check_condition
from fdch.index.condition_notes import note_missing, note_range, note_together
from fdch.index.search.gallery import Gallery
from fdch.index.storage.catalogue.cell_table import read_numbers
from fdch.index.storage.catalogue.clauses import Clause, alike, beginning, ordered
from fdch.index.storage.catalogue.column_look import (
    ColumnLook,
    find_missing_types,
    kept_types,
)
from fdch.index.storage.catalogue.contents import number_columns
from fdch.index.storage.snapshot import View
from fdch.index.store import LABEL, ColumnType, Condition

MAX_BYTES = 256 * 2**20
_MAX_KNOWN = 64
_BACKWARDS = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
Flags = NDArray[np.bool_]  # of rows, by position


def require_columns(conditions: Iterable[Condition], known: Iterable[str]) -> None:
    """Refuse conditions on a column that no item has; name the nearest known one."""
    names = list(dict.fromkeys([LABEL, *known]))
    for condition in conditions:
        if condition.column not in names:
            hint = _swapped(condition, names) or suggestion(condition.column, names)
            listed = ", ".join(f"'{name}'" for name in names[:20])
            raise DataError(
                f"no item has a column '{condition.column}'{hint or '.'} "
                f"Filters may name: {listed}{', ...' if len(names) > 20 else ''}."
            )


def _swapped(condition: Condition, names: Sequence[str]) -> str:
    """Return what was meant by a condition that begins with its value."""
    [column, *others], operator = condition.values or ("",), condition.operator
    if others or column not in names or operator not in _BACKWARDS:
        return ""
    return f"; did you mean '{column}{_BACKWARDS[operator]}{condition.column}'?"


class Answered(NamedTuple):
    """What conditions let in."""

    gallery: Gallery  # in which only these items are found
    notes: tuple[str, ...]  # what is odd about the conditions


class Allowed:
    """A cache of the latest filters' answers, limited in bytes."""

    def __init__(self, most: int = MAX_BYTES) -> None:
        self._most = most
        self._guard = threading.Lock()
        self._known: OrderedDict[tuple[Condition, ...], Answered] = OrderedDict()
        self._types: dict[str, ColumnType] | None = None
        self._misfits: dict[int, tuple[int, str]] = {}
        self._commit = -1

    def gallery(self, view: View, where: Sequence[Condition]) -> Gallery:
        """Give the gallery in which only items that fulfil conditions are found."""
        if not where:
            self._follow(view)
            return view.snapshot.gallery
        return self.answer(view, where).gallery

    def answer(self, view: View, where: Sequence[Condition]) -> Answered:
        """Give the gallery of some conditions, and what is odd about them."""
        key = tuple(where)
        commit = self._follow(view)
        with self._guard:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        is_allowed, notes = apply_conditions(
            view, where, self.types(view), self._misfits
        )
        found = view.snapshot.gallery.only(np.flatnonzero(is_allowed))
        answered = Answered(found, notes)
        with self._guard:
            if commit == self._commit:
                self._known[key] = answered
                self._drop_oldest()
        return answered

    def types(self, view: View) -> dict[str, ColumnType]:
        """Give the types of all columns."""
        commit = self._follow(view)
        if (types := self._types) is not None:
            return types
        kept = kept_types(view)
        types = find_missing_types(view, number_columns(view), kept) | kept
        with self._guard:
            if commit == self._commit:
                self._types = types
        return types

    def _follow(self, view: View) -> int:
        """Forget what was known before a commit, and hold no replaced files."""
        commit = view.snapshot.state.commit
        with self._guard:
            if commit != self._commit:
                self._known.clear()
                self._types, self._misfits, self._commit = None, {}, commit
        return commit

    def _drop_oldest(self) -> None:
        """Keep what there is space for; the last one whatever it takes."""
        size = sum(_bytes(known.gallery) for known in self._known.values())
        while len(self._known) > 1 and (
            size > self._most or len(self._known) > _MAX_KNOWN
        ):
            size -= _bytes(self._known.popitem(last=False)[1].gallery)


def _bytes(gallery: Gallery) -> int:
    """Count what tells which rows may be found."""
    return sum(
        part.flat_dead.nbytes
        if part.numbers is None
        else part.numbers.nbytes + part.rows.nbytes
        for part in gallery.parts
    )


def apply_conditions(
    view: View,
    conditions: Sequence[Condition],
    types: Mapping[str, ColumnType],
    misfits: dict[int, tuple[int, str]],
) -> tuple[Flags, tuple[str, ...]]:
    """Tell which items fulfil all conditions, and what is odd about these.

    `misfits` keeps, by column, how many cells do not fit its type.
    """
    names = number_columns(view)
    require_columns(conditions, names)
    for condition in conditions:
        check_condition(condition, types.get(condition.column, "text"))
    is_allowed, notes = np.ones(int(view.snapshot.starts[-1]), np.bool_), list[str]()
    for condition in conditions:
        type = types.get(condition.column, "text")
        column = names.get(condition.column, -1)
        look = ColumnLook(view.connection, column, type, misfits)
        fulfils = _find(view, look, condition)
        notes += _notes(look, condition, is_empty=not fulfils.any())
        is_allowed &= fulfils
    if len(conditions) > 1 and not notes and not is_allowed.any():
        notes.append(note_together(conditions))
    return is_allowed, tuple(dict.fromkeys(notes))


def _find(view: View, look: ColumnLook, condition: Condition) -> Flags:
    """Tell which items fulfil a condition."""
    connection, column, type = look.connection, look.column, look.type
    operator, values = condition.operator, list(dict.fromkeys(condition.values))
    if operator == "^=":
        return _flag(view, column, beginning(values[0]))
    if operator not in ("=", "!=", "in"):
        clauses = ordered(connection, column, operator, values[0], type)
        return _flag(view, column, clauses)
    parts = [part for text in values for part in alike(connection, column, text, type)]
    is_equal = _flag(view, column, parts)
    if operator != "!=":
        return is_equal
    return _flag(view, column, [("value IS NOT NULL", ())]) & ~is_equal


def _notes(look: ColumnLook, condition: Condition, is_empty: bool) -> Iterator[str]:
    """Say what is odd about a condition."""
    if condition.operator in ("<", "<=", ">", ">="):
        yield from note_range(condition, look.type, look, is_empty)
        return
    for value in dict.fromkeys(condition.values):
        if condition.operator == "^=":
            is_there = not is_empty
        else:
            parts = alike(look.connection, look.column, value, look.type)
            is_there = any(_exists(look, part) for part in parts)
        if not is_there:
            yield note_missing(condition, value, look.type, look)


def _exists(look: ColumnLook, clause: Clause) -> bool:
    query = f'SELECT 1 FROM cells WHERE "column" = ? AND {clause[0]} LIMIT 1'
    found = look.connection.execute(query, (look.column, *clause[1]))
    return found.fetchone() is not None


def _flag(view: View, column: int, clauses: Sequence[Clause]) -> Flags:
    """Tell which items have a cell that fulfils one of some clauses."""
    flags = np.zeros(int(view.snapshot.starts[-1]), dtype=np.bool_)
    for clause, values in clauses:
        numbers = read_numbers(view.connection, column, clause, *values)
        positions = view.snapshot.positions(numbers)
        flags[positions[positions >= 0]] = True
    return flags
