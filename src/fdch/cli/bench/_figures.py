"""How the tables of benchmarks show spreads, agreement and memory."""

from collections.abc import Mapping
from typing import Any


def show_spread(values: Mapping[str, Any], digits: int = 2) -> str:
    """Write a median with the least and the most of all turns.

    >>> show_spread({"median": 1200, "min": 900, "max": 1300}, 0)
    '1,200 (900-1,300)'
    """
    middle, low, high = (values[name] for name in ("median", "min", "max"))
    return f"{middle:,.{digits}f} ({low:,.{digits}f}-{high:,.{digits}f})"


def show_three(values: Mapping[str, Any]) -> tuple[str, str, str]:
    """Write the median, the least and the most, for columns of their own."""
    return f"{values['median']:.3g}", f"{values['min']:.3g}", f"{values['max']:.3g}"


def show_agreement(is_same: bool) -> str:
    """Say whether two sides give the same answers."""
    return "the same" if is_same else "DIFFERENT"


def show_mebibytes(*sizes: int) -> list[str]:
    """Write numbers of bytes."""
    return [f"{size / 2**20:,.0f}" for size in sizes]
