"""What `fdch tune` may change of a method: a range or a choice to each setting."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Range:
    """Numbers between two ends; whole ones where the setting is a whole number.

    >>> 0.5 in Range(0.0, 0.7)
    True
    """

    low: float
    high: float
    # search evenly in the logarithm, for ranges over orders of magnitude
    log: bool = False
    first: float | None = None  # a value that is tried before any drawn at random

    def __contains__(self, value: float | None) -> bool:
        # None is left to the data, which chooses within reason
        return value is None or self.low <= value <= self.high

    @property
    def middle(self) -> float:
        """What lies between the ends, by the logarithm where that is searched."""
        if self.log:
            return math.sqrt(self.low * self.high)
        return (self.low + self.high) / 2

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Choice:
    """A few values to choose from."""

    values: tuple[Any, ...]
    first: Any = None  # one that is tried before any drawn at random

    def __contains__(self, value: object) -> bool:
        return value in self.values

    def __str__(self) -> str:
        values = ("auto" if value is None else value for value in self.values)
        return " or ".join(str(value).lower() for value in values)


SearchSpace = Mapping[str, Range | Choice]
