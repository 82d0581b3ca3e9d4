"""Settings that are checked when set: their kinds, and the ranges they lie in."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

import numpy as np

from fdch.errors import SettingError

_MAX = 2**63 - 1
_KINDS: dict[Any, tuple[Any, str]] = {
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    str: (str, "a text"),
}


@dataclass(eq=False, repr=False)
class Settings:
    """A dataclass whose fields are checked whenever they are set.

    Two are equal only if they are the same object; `repr` shows what is not default.
    """

    _is_made: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        # where a class has these, `dataclass` writes none of its own
        for name in ("__eq__", "__hash__", "__repr__"):
            setattr(cls, name, getattr(Settings, name))

    def __post_init__(self) -> None:
        self.check()
        self._is_made = True  # type: ignore[misc]

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a setting or refuse it, leaving all unchanged."""
        before = getattr(self, name, None)
        super().__setattr__(name, value)
        if self._is_made and name in self.__dataclass_fields__:
            try:
                self.check()
            except SettingError:
                super().__setattr__(name, before)
                raise

    def __repr__(self) -> str:
        changed = self.changed_settings().items()
        listed = ", ".join(f"{name}={value!r}" for name, value in changed)
        return f"{type(self).__name__}({listed})"

    def changed_settings(self) -> dict[str, Any]:
        """Return the settings that are not the defaults."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.init and getattr(self, field.name) != field.default
        }

    def check(self) -> None:
        """Refuse settings of the wrong kind."""
        make_plain(self)
        require_kinds(self)


def make_plain(method: Any) -> None:
    """Turn NumPy's numbers into Python's, which can be written down."""
    for field in fields(method):
        value = getattr(method, field.name)
        if isinstance(value, np.generic):
            setattr(method, field.name, value.item())


def require_kinds(method: Any) -> None:
    """Refuse settings of another kind than their fields, all of them at once."""
    kinds = get_type_hints(type(method))
    problems = []
    for field in fields(method):
        value = getattr(method, field.name)
        expected = find_mismatch(value, kinds[field.name])
        if expected:
            problems.append(f"setting {field.name}={value!r}: expected {expected}.")
    if problems:
        raise SettingError(" ".join(problems))


def plain_kind(kind: Any) -> tuple[Any, bool]:
    """Return the kind of a setting, and whether it may be left open ("auto", None).

    >>> plain_kind(float | None)
    (<class 'float'>, True)
    """
    members = get_args(kind)
    if get_origin(kind) is UnionType and NoneType in members:
        return next(each for each in members if each is not NoneType), True
    return kind, False


def find_mismatch(value: Any, kind: Any, unset: str = "None") -> str:
    """Say what a value should be by the type of its field; an empty text if it fits.

    `unset` is how a setting that may be left open is left so.
    """
    kind, may_be_open = plain_kind(kind)
    if value is None and may_be_open:
        return ""
    if get_origin(kind) is Literal:
        known = get_args(kind)
        fits, wanted = value in known, f"one of {', '.join(known)}"
    elif kind is bool:
        fits, wanted = isinstance(value, bool), "true or false"
    elif kind in _KINDS:
        base, wanted = _KINDS[kind]
        fits = isinstance(value, base) and not isinstance(value, bool)
        if fits and isinstance(value, Real) and not math.isfinite(value):
            fits, wanted = False, f"{wanted}, and a finite one"
        if fits and kind is int and abs(value) > _MAX:
            fits, wanted = False, f"{wanted} up to {_MAX:,}"
    else:
        return ""
    if fits:
        return ""
    return f"{wanted}, or {unset}" if may_be_open else wanted


# what must hold for settings whose names end so
_RULES: tuple[tuple[str, tuple[str, ...], Callable[[float], bool]], ...] = (
    (
        "these settings must be positive",
        (
            "_width",
            "text_hidden",
            "fusion_hidden",
            "batch_size",
            "learning_rate",
            "tuning_rate",
            "epoch_scale",
            "epochs",
        ),
        lambda x: x > 0,
    ),
    (
        "these must not be negative",
        ("_weight", "image_hidden", "_decay", "backbone_rate"),
        lambda x: x >= 0,
    ),
    ("these must be at least 0, below 1", ("_dropout",), lambda x: 0 <= x < 1),
)


def require_by_names(method: Any) -> None:
    """Refuse settings of networks that break the rule for names like theirs."""
    names = [field.name for field in fields(method)]
    for rule, endings, holds in _RULES:
        ruled = [name for name in names if name.endswith(endings)]
        given = {name: getattr(method, name) for name in ruled}
        wrong = [n for n, x in given.items() if x is not None and not holds(x)]
        if wrong:
            raise SettingError(f"{rule}: {with_values(method, wrong)}.")


def require_positive(method: object, *names: str) -> None:
    """Refuse settings that are not above zero, all of them at once."""
    # "not above" refuses NaN as well
    wrong = [name for name in names if not getattr(method, name) > 0]
    if wrong:
        listed = with_values(method, wrong)
        raise SettingError(f"these settings must be positive: {listed}.")


def with_values(method: object, names: Iterable[str]) -> str:
    """List settings as they are written, such as "batch_size=0, text_hidden=-1"."""
    return ", ".join(f"{name}={getattr(method, name)}" for name in names)


def require_not_negative(method: object, name: str) -> None:
    """Refuse a setting below zero."""
    value = getattr(method, name)
    if not value >= 0:
        raise SettingError(f"{name} must be 0 or more; got {value}.")


def require_share(method: object, name: str) -> None:
    """Refuse a setting that does not lie between 0 and 1."""
    value = getattr(method, name)
    if not 0 < value < 1:
        raise SettingError(f"{name} must lie between 0 and 1; got {value}.")
