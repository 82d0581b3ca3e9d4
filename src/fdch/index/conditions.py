"""Conditions as a user writes them: `price<=20`, `label in dog,cat`.

A column or a value in double quotes is taken letter by letter, as JSON writes texts:
`"born in year" = " 1900 "`. What only looks like a condition is refused: `price=>20`,
`price‹20`, `a=1 and b=2`.
"""

import json
import re
from typing import cast

from fdch.errors import SettingError
from fdch.index.store import Condition, Operator, is_whole

MAX_LETTERS = 10_000
_OPERATORS = r"!=|<=|>=|\^=|=|<|>"
_OPERATOR = re.compile(_OPERATORS)
_IN = re.compile(r"(?<=\s)in\s+")
_TEXT = r'"(?:[^"\\]|\\.)*+"'
_QUOTED = re.compile(_TEXT, re.DOTALL)
_NAMED = re.compile(rf'\s*({_TEXT})\s*({_OPERATORS}|in(?=[\s"[]))(.*)', re.DOTALL)
_PART = re.compile(rf"\s*({_TEXT}(?=\s*(?:,|\Z))|[^,]*)\s*(?:,|\Z)", re.DOTALL)
_SIGNS = str.maketrans(
    {"‹": "<", "›": ">", "«": "<", "»": ">", "≠": "!=", "＝": "=", "＜": "<"}
    | {"＞": ">", "≤": "<=", "≥": ">=", "⩽": "<=", "⩾": ">=", "≦": "<=", "≧": ">="}
    | {"﹤": "<", "﹥": ">", "⁼": "=", "≈": "=", "！": "!", "：": ":", "⟨": "<"}
)
_SIGN = "=<>!~:^" + "".join(map(chr, _SIGNS))
_MEANT = {"=>": ">=", "=<": "<=", "==": "=", "===": "=", "<>": "!=", "><": "!="}
_MEANT |= {"=!": "!=", "!==": "!=", "!": "!=", "~": "^=", "~=": "^=", "=~": "^="}
_MEANT |= {":": "=", ":=": "=", "=:": "=", "::": "=", "<<": "<", ">>": ">"}
_MEANT |= {"<==": "<=", ">==": ">=", "^": "^=", "=^": "^=", "^==": "^=", "!~": "!="}
_MEANT |= {":>": ">", ":<": "<", ":>=": ">=", ":<=": "<=", "=>=": ">=", "=<=": "<="}
_MEANT |= {each: each for each in ("=", "!=", "<", "<=", ">", ">=", "^=")}
_ODD = re.compile(rf"[{_SIGN}][{_SIGN}\s]*")
_JOINED = re.compile(
    rf".*?(?:\s(?:and|or)\s|&&|\|\||;)\s*\w[^\s=<>!;&|]*\s*(?:{_OPERATORS}).+",
    re.DOTALL | re.IGNORECASE,
)
QUOTES = "“”„‟«»‘’‚‹›＂"


def parse_condition(text: str) -> Condition:
    """Read a condition on a column, or on the labels by the name `label`.

    Args:
        text: `column=value`, with `!=`, `<`, `<=`, `>`, `>=` in place of `=`, `^=`
            for a beginning, or `column in a,b`. A column or value in double quotes
            is taken as it is;
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
    _refuse_odd(text, column, operator, rest)
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
    """Return the column, the operator and what follows it."""
    named = _NAMED.fullmatch(text)
    if named:
        return _unquote(text, named[1]), named[2], named[3]
    listed, written = _IN.search(text), _OPERATOR.search(text)
    # whichever operator comes first is the condition's
    if listed and (written is None or listed.end() < written.start()):
        return text[: listed.start()].strip(), "in", text[listed.end() :]
    if written is None:
        raise _wrong(text)
    return text[: written.start()].strip(), written[0], text[written.end() :]


def _value(text: str, given: str) -> str:
    given = given.strip()
    if not given:
        raise _wrong(text)
    return _unquote(text, given) if _QUOTED.fullmatch(given) else given


def _unquote(text: str, quoted: str) -> str:
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


def _refuse_odd(text: str, column: str, operator: str, rest: str) -> None:
    """Refuse what can be read, but hardly means what it says."""
    rest = rest.strip()
    if not rest or rest[0] == '"' or _NAMED.fullmatch(text):
        return
    if operator == "in":
        if rest[0] == "(" and rest[-1] == ")":
            raise _wrong(text, f"'{column} in {rest[1:-1].strip()}'")
        return
    if rest[0] in _SIGN or column[-1:] in (*_SIGN, "*"):
        raise _wrong(text)
    if rest[0] in QUOTES and rest[-1] in QUOTES and len(rest) > 2:
        raise _wrong(text, f"'{column}{operator}\"{rest[1:-1]}\"'")
    if _JOINED.fullmatch(rest):
        raise _wrong(text, "several conditions, each on its own")


def _guess_condition(text: str) -> str:
    """Write the condition that odd signs come nearest to; nothing without any."""
    plain = text.translate(_SIGNS)
    found = _ODD.search(plain)
    operator = _MEANT.get("".join(found[0].split())) if found else None
    if found is None or operator is None:
        return ""
    column, value = plain[: found.start()].strip(), plain[found.end() :].strip()
    return f"'{column}{operator}{value}'" if column and value else ""


def _wrong(text: str, meant: str = "") -> SettingError:
    meant = meant or _guess_condition(text)
    hint = f"; did you mean {meant}?" if meant and len(meant) < 300 else "."
    return SettingError(
        f"'{text[:100]}' is not a condition{hint} Write 'column=value', with !=, <, "
        "<=, > or >= in place of =, ^= for a beginning, or 'column in a,b'; 'label' "
        "stands for the labels. Names and values with spaces at their ends, or with "
        "operators in them, must be in double quotes."
    )
