"""Conditions as a user writes them: `price<=20`, `label in dog,cat`.

A column or a value in double quotes is taken letter by letter, as JSON writes texts:
`"born in year" = " 1900 "`.
"""

import json
import re
from typing import cast

from fdch.errors import SettingError
from fdch.index.store import Condition, Operator, is_whole

MAX_LETTERS = 10_000
_WRITTEN = re.compile(r"\s*(.*?)\s*(!=|<=|>=|=|<|>)(.*)", re.DOTALL)
_LISTED = re.compile(r"\s*(.*?)\s+in\s+(.*)", re.DOTALL)
_TEXT = r'"(?:[^"\\]|\\.)*+"'
_QUOTED = re.compile(_TEXT, re.DOTALL)
_NAMED = re.compile(rf'\s*({_TEXT})\s*(!=|<=|>=|=|<|>|in(?=[\s"[]))(.*)', re.DOTALL)
_PART = re.compile(rf"\s*({_TEXT}(?=\s*(?:,|\Z))|[^,]*)\s*(?:,|\Z)", re.DOTALL)


def parse_condition(text: str) -> Condition:
    """Read a condition on a column, or on the labels by the name `label`.

    Args:
        text: `column=value`, with `!=`, `<`, `<=`, `>`, `>=` in place of `=`, or
            `column in a,b`. A column or value in double quotes is taken as it is;
            a quote or backslash inside has a backslash before it. Several values
            may be a JSON list.

    >>> parse_condition("label in dog, cat")
    Condition(column='label', operator='in', values=('dog', 'cat'))
    >>> parse_condition('"born in year" = " 1900 "')
    Condition(column='born in year', operator='=', values=(' 1900 ',))
    """
    if len(text) > MAX_LETTERS:
        raise SettingError(
            f"a condition has {len(text):,} letters; {MAX_LETTERS:,} is the most."
        )
    column, operator, rest = _parts(text)
    values = _values(text, rest) if operator == "in" else (_value(text, rest),)
    if not column or not values:
        raise _wrong(text)
    if not is_whole("".join((column, *values))):
        raise SettingError(
            f"{text[:100]!a} holds half a character (a surrogate). Write it in UTF-8."
        )
    return Condition(column, cast(Operator, operator), values)


def write_condition(condition: Condition) -> str:
    """Write a condition so that it is read again as it is.

    >>> write_condition(Condition("born in year", ">", ("1900",)))
    '"born in year" > "1900"'
    """
    column, operator, values = condition.column, condition.operator, condition.values
    plain = f"{column} {operator} {','.join(values)}"
    try:
        if parse_condition(plain) == condition:
            return plain
    except SettingError:
        pass
    quoted = json.dumps(values if operator == "in" else values[0], ensure_ascii=False)
    return f"{json.dumps(column, ensure_ascii=False)} {operator} {quoted}"


def _parts(text: str) -> tuple[str, str, str]:
    """Give the column, the operator and what follows it."""
    named = _NAMED.fullmatch(text)
    if named:
        return _unquoted(text, named[1]), named[2], named[3]
    listed, written = _LISTED.fullmatch(text), _WRITTEN.fullmatch(text)
    # whichever operator comes first is the condition's
    if listed and (written is None or listed.start(2) < written.start(2)):
        return listed[1], "in", listed[2]
    if written is None:
        raise _wrong(text)
    return written[1], written[2], written[3]


def _value(text: str, given: str) -> str:
    given = given.strip()
    if not given:
        raise _wrong(text)
    return _unquoted(text, given) if _QUOTED.fullmatch(given) else given


def _unquoted(text: str, quoted: str) -> str:
    try:
        value: str = json.loads(quoted, strict=False)
    except ValueError:
        raise SettingError(
            f"{quoted[:100]} in the condition '{text[:100]}' cannot be read: inside of "
            'double quotes, a quote is written \\" and a backslash \\\\.'
        ) from None
    return value


def _values(text: str, given: str) -> tuple[str, ...]:
    given = given.strip()
    if not given.startswith("["):
        parts = (part[1].strip() for part in _PART.finditer(given))
        return tuple(_value(text, part) for part in parts if part)
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
        "or >= in place of =, or 'column in a,b'; 'label' stands for the labels. Names "
        "and values with spaces at their ends, or with operators in them, stand in "
        "double quotes."
    )
