"""Conditions as a user writes them: `price<=20`, `label in dog,cat`.

A column or a value in double quotes is taken letter by letter, as JSON writes texts:
`"born in year" = " 1900 "`. What only looks like a condition is refused, with the
condition that was probably meant: `price=>20`, `price‹20`, `a=1 and b=2`.
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
_WORDS = {"is": "=", "equals": "=", "equal to": "=", "eq": "=", "has": "="}
_WORDS |= {"is not": "!=", "ne": "!=", "not": "!=", "isnt": "!=", "lt": "<"}
_WORDS |= {"le": "<=", "gt": ">", "ge": ">=", "below": "<", "under": "<", "above": ">"}
_WORDS |= {"over": ">", "before": "<", "after": ">", "since": ">=", "until": "<="}
_WORDS |= {"less than": "<", "more than": ">", "greater than": ">", "at most": "<="}
_WORDS |= {"at least": ">=", "from": ">=", "up to": "<=", "like": "^=", "ilike": "^="}
_WORDS |= {"starts with": "^=", "startswith": "^=", "begins with": "^=", "in": "in"}
_WORDED = re.compile(
    r"\s*(\S+)\s+("
    + "|".join(sorted(map(re.escape, _WORDS), key=len, reverse=True))
    + r")\s+(\S.*)",
    re.DOTALL | re.IGNORECASE,
)
_ODD = re.compile(rf"[{_SIGN}][{_SIGN}\s]*")
_BETWEEN = re.compile(
    r"\s*(\S+)\s+(?:is\s+)?between\s+(\S+)\s+and\s+(\S+)\s*", re.IGNORECASE
)
_NONE_OF = re.compile(r"\s*(\S+)\s+not\s+in\s+(\S.*)", re.DOTALL | re.IGNORECASE)
_JOINED = re.compile(
    rf"(.*?)(\s(?:and|or)\s|&&|\|\||;)\s*(\w[^\s=<>!;&|]*\s*(?:{_OPERATORS}).+)",
    re.DOTALL | re.IGNORECASE,
)
_RANGES = ("<", "<=", ">", ">=")
_QUOTES = "“”„‟«»‘’‚‹›＂"


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
    return _around(text, written)


def _around(text: str, found: re.Match[str]) -> tuple[str, str, str]:
    """Part a text at an operator: what is before it, the operator, what follows."""
    return text[: found.start()].strip(), found[0], text[found.end() :]


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
        if column.lower().endswith(" not"):
            raise _wrong(text, _guess_condition(text))
        return
    if rest[0] in _SIGN or column[-1:] in (*_SIGN, "*"):
        raise _wrong(text, _guess_condition(text))
    if rest[0] in _QUOTES and rest[-1] in _QUOTES and len(rest) > 2:
        raise _wrong(text, f"'{column}{operator}\"{rest[1:-1]}\"'")
    if joined := _JOINED.fullmatch(rest):
        first, other = f"{column}{operator}{joined[1].strip()}", joined[3].strip()
        word = joined[2].strip().lower()
        raise _wrong(text, _several(first, other, is_any=word in ("or", "||")))
    chain = _OPERATOR.search(rest) if operator in _RANGES else None
    if chain and chain[0] in _RANGES and (middle := rest[: chain.start()].strip()):
        back = operator.translate(str.maketrans("<>", "><"))
        last = f"{middle}{chain[0]}{rest[chain.end() :].strip()}"
        raise _wrong(text, f"'{middle}{back}{column}' and '{last}', two conditions")


def _several(first: str, other: str, *, is_any: bool) -> str:
    """Write conditions that were given as one."""
    found = [_OPERATOR.search(each) for each in (first, other)]
    if not is_any or found[0] is None or found[1] is None:
        return f"'{first}' and '{other}', two conditions"
    left, right = _around(first, found[0]), _around(other, found[1])
    if left[0] == right[0] and left[1] == right[1] == "=":
        return f"'{left[0]} in {left[2].strip()},{right[2].strip()}'"
    return ""


def _guess_condition(text: str) -> str:
    """Write the condition that a text comes nearest to; nothing where there is none."""
    if found := _BETWEEN.fullmatch(text):
        column, low, high = found.groups()
        return f"'{column}>={low}' and '{column}<={high}', two conditions"
    if found := _NONE_OF.fullmatch(text):
        parts = [part.strip() for part in found[2].strip("()").split(",")]
        return " and ".join(f"'{found[1]}!={part}'" for part in parts if part)
    plain = text.translate(_SIGNS)
    if found := _ODD.search(plain):
        column, signs, value = _around(plain, found)
        operator = _MEANT.get("".join(signs.split()))
        if operator and column and value:
            return f"'{column}{operator}{value.strip()}'"
    if found := _WORDED.fullmatch(plain):
        operator = _WORDS[" ".join(found[2].lower().split())]
        space, value = " " if operator == "in" else "", found[3].strip()
        value = value.strip("%'") if operator == "^=" else value
        return f"'{found[1]}{space}{operator}{space}{value}'"
    words = plain.split()
    return f"'{words[0]}={words[1]}'" if len(words) == 2 else ""


def _wrong(text: str, meant: str | None = None) -> SettingError:
    meant = _guess_condition(text) if meant is None else meant
    hint = f"; did you mean {meant}?" if meant and len(meant) < 300 else "."
    return SettingError(
        f"'{text[:100]}' is not a condition{hint} Write 'column=value', with !=, <, "
        "<=, > or >= in place of =, ^= for a beginning, or 'column in a,b'; 'label' "
        "stands for the labels. Names and values with spaces at their ends, or with "
        "operators in them, must be in double quotes."
    )
