"""Dataclasses as JSON documents: plain values out, checked values in.

What a member must be follows from the type of its field; a wrong value is an error
that names its place.
"""

import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, asdict, fields, is_dataclass
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin
from typing import get_type_hints as list_types

from fdch.errors import DataError

ROUNDING = 1e-9  # sums in floating point may end slightly outside their range
MAX_KEY_DIGITS = 12
MAX_WHOLE = 2**62
RANGES = {float: (-1e300, 1e300), int: (0, MAX_WHOLE)}  # of numbers without their own

Share = Annotated[float, (0, 1)]
Positive = Annotated[int, (1, MAX_WHOLE)]
Ends = tuple[Share, Share]  # of an interval
Kind = TypeVar("Kind")


def to_plain(value: Any) -> dict[str, Any]:
    """Return a dataclass as plain values.

    >>> from fdch.evaluation.protocol import Protocol
    >>> to_plain(Protocol("data", "split", queries=2, database=9, train=0))["database"]
    9
    """
    # tuples become lists, and numbers that are keys become text
    return json.loads(json.dumps(asdict(value)))


def from_plain(kind: type[Kind], document: object, place: str) -> Kind:
    """Read a dataclass; members it does not have are ignored, defaults filled in."""
    members = read_value(dict[str, Any], document, place)
    types = list_types(kind, include_extras=True)
    found = {}
    for each in fields(kind):  # type: ignore[arg-type]
        if each.name in members:
            part = f"{place}.{each.name}"
            found[each.name] = read_value(types[each.name], members[each.name], part)
        elif _is_required(each):
            raise DataError(f"{place} has no {each.name!r}; is it written by fdch?")
    return kind(**found)


def read_value(kind: Any, value: Any, place: str) -> Any:
    """Read a value of a type: a number, text, list, mapping, choice or dataclass.

    >>> read_value(dict[int, Share], {"10": 0.5}, "precision_at")
    {10: 0.5}
    """
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if is_dataclass(kind):
        return from_plain(kind, value, place)  # type: ignore[arg-type]
    if origin in (Union, UnionType):  # the other one is None
        return None if value is None else read_value(parts[0], value, place)
    if origin is Literal:
        expected = " or ".join(map(str, parts))
        return _require(value in parts, value, place, expected)
    if origin in (dict, Mapping):
        _require(isinstance(value, Mapping), value, place, "a JSON object")
        return {
            _read_key(parts[0], name, place): read_value(
                parts[1], each, f"{place}.{name}"
            )
            for name, each in value.items()
        }
    if origin in (list, tuple):
        _require(isinstance(value, list), value, place, "a list")
        if origin is tuple and parts[-1] is not Ellipsis:
            _require(len(value) == len(parts), value, place, f"{len(parts)} values")
        return origin(read_value(parts[0], each, place) for each in value)
    if kind is str:
        return _require(isinstance(value, str), value, place, "text")
    number, (least, most) = parts if parts else (kind, RANGES[kind])
    expected = f"a number from {least} to {most}"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if number is int:
        expected = f"a whole number of {least} or more"
        is_number = is_number and isinstance(value, int)
    is_inside = is_number and least - ROUNDING <= value <= most + ROUNDING
    return number(_require(is_inside, value, place, expected))


def _read_key(kind: Any, text: str, place: str) -> Any:
    if kind is not int:
        return text
    is_whole = text.isdecimal() and len(text) <= MAX_KEY_DIGITS
    return int(_require(is_whole, text, place, "by ranks"))


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _require(is_right: bool, value: Any, place: str, expected: str) -> Any:
    if not is_right:
        shown = repr(value)
        shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
        raise DataError(f"{place} must be {expected}; got {shown}.")
    return value
