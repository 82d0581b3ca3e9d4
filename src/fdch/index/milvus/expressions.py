"""Conditions as Milvus' boolean expressions.

Values are data, not syntax: all but plain letters, digits and spaces goes in as
an escape. Column names cannot be escaped there, so cells lie under keys in hex.
"""

from collections.abc import Iterable, Sequence

from fdch.errors import DataError
from fdch.index.storage.items import as_number, spelled, spellings
from fdch.index.store import LABEL, Cell, Condition

CELLS = "cells"
LABELS = "labels"
NUMBER = "number"
BOUNDS = "labels"  # no key of a column, which begin with "c"
OPERATORS = {"=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def cell_key(column: str) -> str:
    """Name a column in a way that needs no escaping."""
    return "c" + column.encode().hex()


def column_of(key: str) -> str:
    """Undo `cell_key`."""
    return bytes.fromhex(key[1:]).decode()


def cell_forms(cell: Cell) -> dict[str, Cell]:
    """Return what is kept of a cell: text, number, and the cell where not a text."""
    if cell is None:
        return {"v": None}
    text = spelled(cell)
    forms: dict[str, Cell] = {"t": text, "n": as_number(text)}
    if forms["n"] is None:
        del forms["n"]
    return forms if isinstance(cell, str) else {**forms, "v": cell}


def label_bounds(labels: Sequence[str]) -> dict[str, object]:
    """Give the least and greatest label: of all, of words, and of numbers.

    >>> label_bounds(["dog", "7", "cat"])["w1"]
    'dog'
    """
    numbers = [n for n in map(as_number, labels) if n is not None]
    words = [label for label in labels if as_number(label) is None]
    bounds: dict[str, object] = {}
    for form, values in (("t", labels), ("w", words), ("n", numbers)):
        if values:
            bounds |= {f"{form}0": min(values), f"{form}1": max(values)}
    return bounds | ({"n": [_spelled_once(n) for n in numbers]} if numbers else {})


def literal(text: str) -> str:
    r"""Write a text as a string of Milvus' expressions.

    >>> literal('say "é"')
    '"say \\u0022\\u00e9\\u0022"'
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError(f"{text!a} holds half a character (a surrogate).") from None
    return '"' + "".join(_escaped(character) for character in text) + '"'


def has_column(column: str) -> str:
    """Demand that an item has a column, be its cell empty or not."""
    return f'exists {CELLS}["{cell_key(column)}"]'


def id_expression(ids: Iterable[str]) -> str:
    """Demand one of some ids."""
    return f"id in [{', '.join(literal(name) for name in ids)}]"


def expression(where: Sequence[Condition]) -> str:
    """Demand all conditions; nothing at all gives an empty expression."""
    return " and ".join(f"({_one(condition)})" for condition in where)


def _one(condition: Condition) -> str:
    several = len(condition.values) > 1 and condition.operator != "in"
    if several or not condition.values:
        raise DataError(
            f"a condition with '{condition.operator}' on '{condition.column}' has "
            f"{len(condition.values)} values; give one, or several for 'in'."
        )
    compare = _compare_labels if condition.column == LABEL else _compare_cell
    operator = "=" if condition.operator == "in" else condition.operator
    values = condition.values
    if operator in ("=", "!="):
        values = tuple(each for value in values for each in spellings(value))
    options = [compare(condition.column, operator, value) for value in values]
    either = " and " if operator == "!=" else " or "
    return either.join(f"({option})" for option in options)


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
    """Compare with any label, by the least and the greatest of them.

    Labels that are numbers are kept apart from words (see `label_bounds`). "!="
    demands labels of which none is the value.
    """
    place = f'{CELLS}["{BOUNDS}"]'
    number = as_number(value)
    if operator in ("=", "!="):
        if number is None:
            equal = f"array_contains({LABELS}, {literal(value)})"
        else:
            equal = f'json_contains({place}["n"], {literal(_spelled_once(number))})'
        return equal if operator == "=" else f"(exists {place}) and (not ({equal}))"
    bound = 0 if operator in ("<", "<=") else 1
    if number is None:
        return _compare(f'{place}["t{bound}"]', operator, literal(value))
    by_number = _compare(f'{place}["n{bound}"]', operator, repr(number))
    by_word = _compare(f'{place}["w{bound}"]', operator, literal(value))
    return f"({by_number}) or ({by_word})"


def _spelled_once(number: int | float) -> str:
    """Write equal numbers alike."""
    return str(int(number)) if number == int(number) else repr(number)


def _compare(place: str, operator: str, value: str) -> str:
    """Compare a cell that may be absent; absent ones fulfil nothing but "!="."""
    comparison = f"{place} {OPERATORS[operator]} {value}"
    return f"(exists {place}) and ({comparison})" if operator == "!=" else comparison


def _escaped(character: str) -> str:
    if character.isascii() and (character.isalnum() or character == " "):
        return character
    point = ord(character)
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
