"""Binary codes: packed bits, made in one place and compared in one place."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fdch.errors import DataError, count_noun


@dataclass(frozen=True, eq=False, repr=False)
class Codes:
    """Codes of a number of items, eight bits to the byte, items in rows.

    A set bit stands for +1, a clear one for -1. Unused bits of the last byte
    are clear.

    >>> codes = binarize([[0.3, -2.0, 0.0]])
    >>> codes.signs().tolist()
    [[1, -1, 1]]
    """

    packed: NDArray[np.uint8]
    bits: int

    def __post_init__(self) -> None:
        if self.bits < 1:
            raise DataError(f"codes need at least one bit; got {self.bits}.")
        width = (self.bits + 7) // 8
        packed = self.packed
        if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != width:
            raise DataError(
                f"codes of {self.bits} bits are rows of {width} bytes (uint8); "
                f"got {packed.dtype} of shape {packed.shape}."
            )
        if self.bits % 8 and np.any(packed[:, -1] & (0xFF >> self.bits % 8)):
            raise DataError(f"bits beyond the {self.bits} of each code must be 0.")

    @classmethod
    def from_signs(cls, signs: "ArrayLike") -> "Codes":
        """Pack codes that any program gives as -1 and +1, (items, bits).

        >>> Codes.from_signs([[1, -1, 1]]).packed.tolist()
        [[160]]
        """
        values = to_array(signs)
        if values.ndim != 2:
            raise DataError(
                "signs are -1 or +1, a row to each item; "
                f"got {values.dtype} of shape {values.shape}."
            )
        is_sign = np.isin(values, (-1, 1))
        if not is_sign.all():
            raise DataError(
                f"signs are -1 or +1; got {values[~is_sign][0]}. "
                "np.where(codes > 0, 1, -1) makes them of 0 and 1, or of outputs."
            )
        return binarize(values)

    def __repr__(self) -> str:
        return f"Codes({count_noun(len(self), 'item')}, {count_noun(self.bits, 'bit')})"

    def __array__(
        self, dtype: Any = None, copy: bool | None = None
    ) -> NDArray[np.int8]:
        """Give the signs where NumPy expects an array."""
        return np.array(self.signs(), dtype=dtype)

    def __len__(self) -> int:
        return self.packed.shape[0]

    def __getitem__(self, rows: Any) -> Self:
        return type(self)(np.atleast_2d(self.packed[rows]), self.bits)

    def take(self, rows: NDArray[np.integer[Any]]) -> Self:
        """Return the codes of some rows, in less time than `codes[rows]`."""
        return type(self)(self.packed.take(rows, axis=0), self.bits)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Codes):
            return NotImplemented
        return self.bits == other.bits and np.array_equal(self.packed, other.packed)

    __hash__ = None  # type: ignore[assignment]

    def signs(self) -> NDArray[np.int8]:
        """Unpack to -1 and +1, shape (items, bits)."""
        ones = np.unpackbits(self.packed, axis=1, count=self.bits)
        return ones.view(np.int8) * np.int8(2) - np.int8(1)

    def words(self) -> NDArray[np.uint64]:
        """Return the codes as 64-bit words, zero-padded, shape (items, words)."""
        padding = -self.packed.shape[1] % 8
        padded = np.pad(self.packed, ((0, 0), (0, padding))) if padding else self.packed
        return np.ascontiguousarray(padded).view(np.uint64)

    @classmethod
    def concatenate(cls, parts: Iterable["Codes"]) -> "Codes":
        """Join codes of equal length, rows in the given order."""
        collected = list(parts)
        lengths = {part.bits for part in collected}
        if len(lengths) != 1:
            raise DataError(f"codes to join must share one length; got {lengths}.")
        return cls(np.concatenate([part.packed for part in collected]), lengths.pop())


def to_array(values: Any) -> NDArray[Any]:
    """Return an array of numbers, of a tensor on any device and of any kind too."""
    if not hasattr(values, "detach"):
        return np.asarray(values)
    tensor = values.detach().cpu()
    try:
        return np.asarray(tensor)
    except TypeError:  # NumPy has no bfloat16
        return np.asarray(tensor.float())


def binarize(outputs: ArrayLike) -> Codes:
    """Take the sign of real outputs, zero counting as +1.

    Args:
        outputs: Finite numbers, (items, bits).

    Returns:
        The packed codes.
    """
    values = np.asarray(outputs)
    if values.ndim != 2 or values.shape[1] == 0:
        raise DataError(f"outputs must be (items, bits); got shape {values.shape}.")
    if values.dtype.kind == "f" and np.isnan(values).any():
        rows = np.flatnonzero(np.isnan(values).any(axis=1))
        raise DataError(
            f"{len(rows)} outputs are not numbers (NaN), the first in row {rows[0]}; "
            "training may have diverged: try a smaller learning rate."
        )
    return Codes(np.packbits(values >= 0, axis=1), values.shape[1])


def hamming_distances(a: Codes, b: Codes) -> NDArray[np.uint16]:
    """Count differing bits between every row of a and every row of b."""
    if a.bits != b.bits:
        raise DataError(f"cannot compare codes of {a.bits} and {b.bits} bits.")
    left, right = a.words(), b.words()
    total = np.zeros((len(a), len(b)), dtype=np.uint16)
    for word in range(left.shape[1]):
        total += np.bitwise_count(left[:, word, None] ^ right[None, :, word])
    return total


def weighted_distances(outputs: ArrayLike, codes: Codes) -> NDArray[np.float32]:
    """Count differing bits by how sure the outputs are of them.

    The weights of a row are the sizes of its outputs, scaled to a mean of 1, so
    that equal outputs give the Hamming distance.

    Args:
        outputs: Real outputs of queries, (queries, bits).
        codes: What they are compared with.

    Returns:
        Numbers from 0 to bits, (queries, codes).

    >>> weighted_distances([[3.0, 1.0]], binarize([[1, -1], [-1, 1]])).tolist()
    [[0.5, 1.5]]
    """
    values = np.asarray(outputs, dtype=np.float32)
    if values.ndim != 2 or values.shape[1] != codes.bits:
        raise DataError(
            f"cannot compare outputs of shape {values.shape} with codes of "
            f"{codes.bits} bits."
        )
    values = np.where(values.any(axis=1, keepdims=True), values, np.float32(1))
    scaled = values / np.abs(values).mean(axis=1, keepdims=True)
    products = scaled @ codes.signs().T.astype(np.float32)  # agreeing less differing
    return np.subtract(codes.bits, products, dtype=np.float32) / np.float32(2)
