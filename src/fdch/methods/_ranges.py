"""Ranges that settings must lie in."""

from collections.abc import Iterable

from fdch.errors import SettingError


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
