"""Arrays of a saved state, checked before anything is computed with them.

A checksum says that a state is the one that was written, not who wrote it.
"""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

LARGEST = 1e30  # squares of sums of such numbers are finite in float64
_KINDS = {"f": "floats", "i": "whole numbers", "u": "bytes"}


def require_numbers(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Refuse arrays with anything but finite numbers, by a ValueError."""
    for name, array in arrays.items():
        if array.dtype.kind not in "fiub":
            raise ValueError(f"{name} holds {array.dtype}")
        ends = (float(array.min()), float(array.max())) if array.size else (0.0, 0.0)
        # a NaN is neither above nor below
        if not -LARGEST < ends[0] <= ends[1] < LARGEST:
            raise ValueError(f"{name} holds infinite values or no numbers (NaN)")


def take(
    arrays: Mapping[str, NDArray[Any]], name: str, *shape: int | None, kind: str = "f"
) -> NDArray[Any]:
    """Return a saved array; one that is missing or does not fit is a ValueError.

    In its shape None stands for any size but 0; its kind is "f" for floats, "i" for
    whole numbers or "u" for bytes.

    >>> import numpy as np
    >>> take({"mean": np.zeros(3)}, "mean", None).shape
    (3,)
    """
    found = arrays.get(name)
    if found is None:
        raise ValueError(f"{name} is missing")
    fits = len(found.shape) == len(shape) and all(
        size == wanted or (wanted is None and size > 0)
        for size, wanted in zip(found.shape, shape, strict=True)
    )
    if not fits:
        expected = str(shape).replace("None", "any")
        raise ValueError(f"{name} has shape {found.shape}; expected {expected}")
    if found.dtype.kind != kind:
        raise ValueError(f"{name} holds {found.dtype}; expected {_KINDS[kind]}")
    return found


def take_positive(arrays: Mapping[str, NDArray[Any]], name: str) -> float:
    """Return a number that was saved as an array of one, and must be positive."""
    found = float(take(arrays, name, 1)[0])
    if not found > 0:
        raise ValueError(f"{name} is {found}; expected a positive number")
    return found
