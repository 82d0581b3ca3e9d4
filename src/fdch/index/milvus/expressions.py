"""Conditions as Milvus' boolean expressions.

Values are data, not syntax: all but plain letters, digits and spaces goes in as
an escape. Column names cannot be escaped there, so cells lie under keys in hex.
"""

from collections.abc import Iterable, Mapping, Sequence

from fdch.errors import DataError
from fdch.index.cells import as_number, list_spellings, write_cell
from fdch.index.column_types import (
    check_condition,
    read_date,
    read_truth,
    truth_spellings,
    type_of,
)
from fdch.index.storage.catalogue.clauses import text_after
from fdch.index.store import LABEL, Cell, ColumnType, Condition

CELLS = "cells"
LABELS = "labels"
NUMBER = "number"
OPERATORS = {"=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def cell_key(column: str) -> str:
    """Name a column in a way that needs no escaping."""
    return "c" + column.encode().hex()


def column_of(key: str) -> str:
    """Undo `cell_key`."""
    return bytes.fromhex(key[1:]).decode()


def cell_forms(cell: Cell) -> dict[str, Cell]:
    """Return what is kept of a cell: text, number or date, the cell where not a text.

    A date has its start and end, in seconds since 1970.
    """
    if cell is None:
        return {"v": None}
    text = write_cell(cell)
    forms: dict[str, Cell] = {"t": text, "n": as_number(text)}
    if forms["n"] is None:
        del forms["n"]
        date = read_date(text) if type_of(text) == "date" else None
        if date is not None:
            forms |= {"d0": date.start.timestamp(), "d1": date.end.timestamp()}
    return forms if isinstance(cell, str) else {**forms, "v": cell}


def literal(text: str) -> str:
    r"""Write a text as a string of Milvus' expressions.

    >>> literal('say "é"')
    '"say \\u0022\\u00e9\\u0022"'
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError(f"{text!a} holds half a character (a surrogate).") from None
    return '"' + "".join(_escape(character) for character in text) + '"'


def has_column(column: str) -> str:
    """Demand that an item has a column, be its cell empty or not."""
    return f'exists {CELLS}["{cell_key(column)}"]'


def id_expression(ids: Iterable[str]) -> str:
    """Demand one of some ids."""
    return f"id in [{', '.join(literal(name) for name in ids)}]"


def expression(
    where: Sequence[Condition], types: Mapping[str, ColumnType] | None = None
) -> str:
    """Demand all conditions; nothing at all gives an empty expression."""
    known = types or {}
    return " and ".join(
        f"({_one(condition, known.get(condition.column, 'text'))})"
        for condition in where
    )


def misfit_expression(column: str, type: ColumnType) -> str:
    """Demand a cell that does not fit a column of numbers or dates."""
    place = f'{CELLS}["{cell_key(column)}"]'
    form = "n" if type == "number" else "d0"
    return f'(exists {place}["t"]) and (not (exists {place}["{form}"]))'


def _one(condition: Condition, type: ColumnType) -> str:
    check_condition(condition, type)
    operator = "=" if condition.operator == "in" else condition.operator
    if condition.column == LABEL and operator not in ("=", "!="):
        raise DataError(
            f"labels on Milvus are compared with =, != and 'in'; got '{operator}' with "
            f"'{condition.values[0][:60]}'. Name whole labels with 'label in a,b', or "
            "use an index folder."
        )
    if operator == "^=":
        return _begin(condition.column, condition.values[0])
    compare = _compare_labels if condition.column == LABEL else _compare_cell
    either, options = " and " if operator == "!=" else " or ", []
    for value in condition.values:
        truth = read_truth(value) if type == "boolean" else None
        if type == "date" and read_date(value):
            options.append(_compare_date(condition.column, operator, value))
        elif truth is not None:
            alike = map(str, truth_spellings(truth))
            options += [compare(condition.column, operator, each) for each in alike]
        elif type == "number" and operator not in ("=", "!="):
            place = f'{CELLS}["{cell_key(condition.column)}"]["n"]'
            options.append(_compare(place, operator, repr(as_number(value))))
        else:
            forms = list_spellings(value) if operator in ("=", "!=") else (value,)
            options += [compare(condition.column, operator, each) for each in forms]
    return either.join(f"({option})" for option in options)


def _begin(column: str, value: str) -> str:
    """Demand a cell that begins with a text."""
    place = f'{CELLS}["{cell_key(column)}"]["t"]'
    after = text_after(value) if value else None
    least = f"({place} >= {literal(value)})"
    return least if after is None else f"{least} and ({place} < {literal(after)})"


def _compare_date(column: str, operator: str, value: str) -> str:
    """Compare by the starts of dates; "=" means within the given day, month or year."""
    place, date = f'{CELLS}["{cell_key(column)}"]', read_date(value)
    assert date is not None
    start, end = repr(date.start.timestamp()), repr(date.end.timestamp())
    is_moment = len(value) > 10  # whose end may be the same number of seconds
    cell = f'{place}["d0"]'
    if operator == "<":
        return f"{cell} < {start}"
    if operator == ">=":
        return f"{cell} >= {start}"
    before = f"{cell} <= {start}" if is_moment else f"{cell} < {end}"
    if operator == "<=":
        return before
    if operator == ">":
        return f"{cell} > {start}" if is_moment else f"{cell} >= {end}"
    inside = f'({cell} >= {start}) and ({before}) and ({place}["d1"] <= {end})'
    if operator == "=":
        return inside
    return f'(exists {place}["t"]) and (not ({inside}))'


def _compare_cell(column: str, operator: str, value: str) -> str:
    """Compare as numbers where both are numbers, else as text.

    A cell that is a number has both forms, another one only its text.
    """
    place = f'{CELLS}["{cell_key(column)}"]'
    by_text = _compare(f'{place}["t"]', operator, literal(value))
    number = as_number(value)
    if number is None:
        return by_text
    by_number = _compare(f'{place}["n"]', operator, repr(number))
    return f'({by_number}) or ((not (exists {place}["n"])) and ({by_text}))'


def _compare_labels(column: str, operator: str, value: str) -> str:
    """Compare with any label; "!=" demands labels of which none is the value."""
    equal = f"array_contains({LABELS}, {literal(value)})"
    if operator == "=":
        return equal
    return f"(array_length({LABELS}) != 0) and (not ({equal}))"


def _compare(place: str, operator: str, value: str) -> str:
    """Compare a cell that may be absent; absent ones fulfil nothing but "!="."""
    comparison = f"{place} {OPERATORS[operator]} {value}"
    return f"(exists {place}) and ({comparison})" if operator == "!=" else comparison


def _escape(character: str) -> str:
    if character.isascii() and (character.isalnum() or character == " "):
        return character
    point = ord(character)
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
