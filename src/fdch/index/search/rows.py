"""Codes as rows of machine words, and found rows as keys: what every search handles."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.errors import DamagedIndex, DataError

Rows: TypeAlias = NDArray[np.unsignedinteger[Any]]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Places: TypeAlias = NDArray[np.uint32]
Int: TypeAlias = Any  # a machine integer, which NumPy and Python type differently
Query: TypeAlias = Any  # inside kernels: the words of one query, a tuple
# What kernels search: rows, flat; a tuple as long as a row; the number of each row less
# that of the first, empty where rows lie in order of their numbers; the number of the
# first; which rows to leave out, in order of numbers, empty for none.
Stored: TypeAlias = tuple[Rows, tuple[int, ...], Places, Int, Flags]
Value = TypeVar("Value", bound=np.generic)

MAX_BITS = 512
WORD = 64
CHUNK = 128  # rows that kernels compare without a branch

# A found row is one integer, its key: the distance above, the row's number below.
# Keys sort by distance and, at one distance, by insertion.
NUMBER_BITS: Final = 48
NUMBER_MASK: Final = (1 << NUMBER_BITS) - 1
NOTHING: Final = (1 << 62) - 1  # sorts after every key


@cache
def row_type(bits: int) -> np.dtype[np.unsignedinteger[Any]]:
    """Return the type of word that codes of so many bits are stored in."""
    if not 1 <= bits <= MAX_BITS:
        raise DataError(f"codes of 1 to {MAX_BITS} bits can be indexed; got {bits}.")
    width = max(8, min(WORD, 1 << (bits - 1).bit_length()))
    return np.dtype(f"uint{width}")


def row_length(bits: int) -> int:
    """Return how many words a code of so many bits takes."""
    return -(-bits // WORD)


@cache
def row_shape(bits: int) -> tuple[int, ...]:
    """Return a zero for each word of a row: kernels are compiled for its length.

    >>> row_shape(64), row_shape(128)
    ((0,), (0, 0))
    """
    return (0,) * row_length(bits)


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
    """View rows as one line of words, read-only."""
    return freeze(rows.reshape(-1))


def freeze(values: NDArray[Value]) -> NDArray[Value]:
    """View values as a read-only array.

    Kernels are compiled separately for read-only arrays, such as maps of files; they
    get every input as one, so that one compilation is enough.
    """
    view = np.ascontiguousarray(values).view(np.ndarray)
    view.flags.writeable = False
    return view


def sort_places(values: Places, count: int) -> tuple[Ints, Places]:
    """Sort rows by a value below a count, those of one value by place.

    Returns:
        Where each value begins, (count + 1,), and the places of the rows in order.

    >>> sort_places(np.array([2, 0, 2], dtype=np.uint32), 3)[1].tolist()
    [1, 0, 2]
    """
    keys = values.astype(np.uint64) << np.uint64(32)
    keys |= np.arange(len(values), dtype=np.uint64)
    keys.sort()  # in less time than np.argsort
    starts = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(values, minlength=count), out=starts[1:])
    return starts, keys.astype(np.uint32)  # the lower half of each


def check_arrays(
    arrays: Mapping[str, NDArray[Any]],
    expected: Mapping[str, tuple[Any, tuple[int, ...]]],
    owner: str,
) -> None:
    """Raise DamagedIndex unless all stored arrays have the expected type and shape."""
    for name, (kind, shape) in expected.items():
        values = arrays.get(name)
        if values is None or values.dtype != kind or values.shape != shape:
            raise DamagedIndex(
                f"'{name}' of {owner} must be {kind} of shape {shape}; "
                "compact the index again."
            )
