"""Conditions answered by SQLite, before the search begins."""

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fdch.errors import DataError
from fdch.index import condition_notes
from fdch.index.column_types import check_condition, require_names
from fdch.index.search.gallery import Gallery
from fdch.index.storage.catalogue.cell_table import read_numbers
from fdch.index.storage.catalogue.clauses import Clause, find_clauses
from fdch.index.storage.catalogue.columns import ColumnLook, number_columns
from fdch.index.storage.snapshot import View
from fdch.index.store import LABEL, Condition

_BACKWARDS = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
Flags = NDArray[np.bool_]  # of rows, by position


def require_columns(conditions: Iterable[Condition], known: Iterable[str]) -> None:
    """Refuse conditions on a column that no item has; name the nearest known one."""
    names = list(dict.fromkeys([LABEL, *known]))
    for condition in conditions:
        if condition.column not in names and (hint := _swap_sides(condition, names)):
            raise DataError(f"no item has a column '{condition.column}'{hint}")
        require_names("no item has a column '{}'", [condition.column], names)


def _swap_sides(condition: Condition, names: Sequence[str]) -> str:
    """Return what was meant by a condition that begins with its value."""
    [column, *others], operator = condition.values or ("",), condition.operator
    if others or column not in names or operator not in _BACKWARDS:
        return ""
    return f"; did you mean '{column}{_BACKWARDS[operator]}{condition.column}'?"


def filter_gallery(view: View, where: Sequence[Condition]) -> Gallery:
    """Return the gallery in which only items that fulfil all conditions are found."""
    gallery = view.snapshot.gallery
    if not where:
        return gallery
    return view.snapshot.cache.get(
        ("gallery", *where),
        lambda: gallery.only(np.flatnonzero(fulfil_all(view, where))),
    )


def fulfil_all(view: View, where: Sequence[Condition]) -> Flags:
    """Return which rows belong to items that fulfil all of some conditions."""
    require_columns(where, number_columns(view))
    types = view.snapshot.about.types
    for condition in where:
        check_condition(condition, types.get(condition.column, "text"))
    cache = view.snapshot.cache
    flags = [cache.get(("flags", each), partial(_find, view, each)) for each in where]
    return np.logical_and.reduce(flags)


def note_conditions(view: View, where: Sequence[Condition]) -> tuple[str, ...]:
    """Say what is odd about conditions, such as a value that no item has."""

    def find() -> tuple[str, ...]:
        is_empty = not fulfil_all(view, where).any()
        notes = condition_notes.note_conditions(where, partial(_look_at, view))
        if is_empty and len(where) > 1 and not notes:
            notes.append(f"no item fulfils all {len(where)} conditions together.")
        return tuple(notes)

    return view.snapshot.cache.get(("notes", *where), find)


def _look_at(view: View, name: str) -> ColumnLook:
    return ColumnLook.at(view, name, number_columns(view).get(name, -1))


def _find(view: View, condition: Condition) -> Flags:
    look = _look_at(view, condition.column)
    is_found = _flag(view, look, find_clauses(look, condition))
    if condition.operator != "!=":
        return is_found
    return _flag(view, look, [("value IS NOT NULL", ())]) & ~is_found


def _flag(view: View, look: ColumnLook, clauses: Sequence[Clause]) -> Flags:
    """Return which rows have a cell that fulfils one of some clauses."""
    flags = np.zeros(int(view.snapshot.starts[-1]), dtype=np.bool_)
    for clause, values in clauses:
        numbers = read_numbers(view.connection, look.number, clause, *values)
        positions = view.snapshot.positions(numbers)
        flags[positions[positions >= 0]] = True
    return flags
