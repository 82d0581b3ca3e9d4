"""Codes as rows of machine words, the form in which they are kept and compared."""

from functools import cache
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.errors import DataError

Rows: TypeAlias = NDArray[np.unsignedinteger[Any]]
Value = TypeVar("Value", bound=np.generic)
MOST_BITS = 256
WORD = 64
_TYPES: tuple[type[np.unsignedinteger[Any]], ...] = (
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
)


@cache
def row_type(bits: int) -> np.dtype[np.unsignedinteger[Any]]:
    """Give the type of word that codes of so many bits are kept in."""
    if not 1 <= bits <= MOST_BITS:
        raise DataError(f"codes of 1 to {MOST_BITS} bits can be indexed; got {bits}.")
    for choice in _TYPES:
        if bits <= np.dtype(choice).itemsize * 8:
            return np.dtype(choice)
    return np.dtype(np.uint64)


def row_length(bits: int) -> int:
    """Give how many words a code of so many bits takes."""
    return -(-bits // WORD)


def row_words(codes: Codes) -> Rows:
    """Turn codes into rows: (items,) up to 64 bits, (items, words) beyond."""
    kind, length = row_type(codes.bits), row_length(codes.bits)
    width = kind.itemsize * length
    packed = codes.packed
    if packed.shape[1] != width or not packed.flags.c_contiguous:
        packed = np.zeros((len(codes), width), dtype=np.uint8)
        packed[:, : codes.packed.shape[1]] = codes.packed
    words: Rows = packed.view(kind)
    if not words.flags.aligned:
        words = words.copy()
    return words[:, 0] if length == 1 else words


def row_codes(rows: Rows, bits: int) -> Codes:
    """Turn rows back into codes.

    >>> codes = Codes(np.array([[1, 2, 3]], dtype=np.uint8), 24)
    >>> row_codes(row_words(codes), 24) == codes
    True
    """
    words = np.ascontiguousarray(rows).reshape(-1, row_length(bits))
    width = (bits + 7) // 8
    return Codes(np.ascontiguousarray(words.view(np.uint8)[:, :width]), bits)


def flat(rows: Rows) -> Rows:
    """View rows as one line of words that cannot be written to."""
    return frozen(rows.reshape(-1))


def frozen(values: NDArray[Value]) -> NDArray[Value]:
    """View values as ones that cannot be written to.

    Loops would be compiled once more for arrays that cannot be written to, such as
    maps of files; all arrays are shown to them as such.
    """
    view = np.ascontiguousarray(values).view(np.ndarray)
    view.flags.writeable = False
    return view
