"""Conditions as a user writes them: `price<=20`, `label in dog,cat`."""

import json
import re
from typing import cast

from fdch.errors import SettingError
from fdch.index.store import Condition, Operator, is_whole

MOST_LETTERS = 10_000
_WRITTEN = re.compile(r"\s*(.*?)\s*(!=|<=|>=|=|<|>)(.*)", re.DOTALL)
_LISTED = re.compile(r"\s*(.*?)\s+in\s+(.*)", re.DOTALL)


def parse_condition(text: str) -> Condition:
    """Read a condition on a column, or on the labels by the name `label`.

    Args:
        text: `column=value`, with `!=`, `<`, `<=`, `>`, `>=` in place of `=`, or
            `column in a,b`. Values with a comma are written as a JSON list.

    >>> parse_condition("label in dog, cat")
    Condition(column='label', operator='in', values=('dog', 'cat'))
    """
    if len(text) > MOST_LETTERS:
        raise SettingError(
            f"a condition has {len(text):,} letters; {MOST_LETTERS:,} is the most."
        )
    listed, written = _LISTED.fullmatch(text), _WRITTEN.fullmatch(text)
    # whichever operator comes first is the condition's
    if listed and (written is None or listed.start(2) < written.start(2)):
        column, values = listed[1], _values(text, listed[2])
        operator = "in"
    elif written:
        column, operator, values = written[1], written[2], (written[3].strip(),)
    else:
        raise _wrong(text)
    if not column or not values or any(value == "" for value in values):
        raise _wrong(text)
    if not is_whole("".join((column, *values))):
        raise SettingError(
            f"{text[:100]!a} holds half a character (a surrogate). Write it in UTF-8."
        )
    return Condition(column, cast(Operator, operator), values)


def _values(text: str, given: str) -> tuple[str, ...]:
    given = given.strip()
    if not given.startswith("["):
        return tuple(part.strip() for part in given.split(",") if part.strip())
    try:
        listed = json.loads(given)
    except (ValueError, RecursionError):
        raise _wrong(text) from None
    if not all(isinstance(value, str | int | float) for value in listed):
        raise _wrong(text)
    return tuple(
        value if isinstance(value, str) else json.dumps(value) for value in listed
    )


def _wrong(text: str) -> SettingError:
    return SettingError(
        f"'{text[:100]}' is not a condition. Write 'column=value', with !=, <, <=, > "
        "or >= in place of =, or 'column in a,b'; 'label' stands for the labels."
    )
